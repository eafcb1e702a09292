//! Scheduled loops.
