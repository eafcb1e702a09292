//! What `analyze` found, for people: text for a terminal ([`text`], [`side_by_side`]), a page for a browser ([`page`]), and traces for
//! Perfetto ([`trace`]).
//!
//! Nothing is computed here: every number that is shown is one of the analysis, and so is in its JSON, too (but for traces, which
//! would fill it).

mod cause;
mod columns;
pub mod page;
mod rows;
pub mod side_by_side;
pub mod text;
pub mod tile;
pub mod trace;
