//! Tile scheduling.
