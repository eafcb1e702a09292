//! What `analyze` found, for people: text for a terminal ([`text`], [`side_by_side`]).
//!
//! Nothing is computed here: every number that is shown is one of the analysis, and so is in its JSON, too.

mod columns;
pub mod side_by_side;
pub mod text;
