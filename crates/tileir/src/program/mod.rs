//! Loops as scheduling problems.
