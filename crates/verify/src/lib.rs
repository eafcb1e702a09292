//! Independent checkers.
//!
//! Nothing here shares code with a scheduler or with the dependence graph: what is checked is derived again, in another
//! way, from the code alone.
//!
//! * [`reorder`]: that a block's new order computes what the old one did;
//! * [`against`]: that a file is a legal reordering of another, with registers renamed or not;
//! * [`ptx`]: that a PTX module is a legal reordering of another, likewise;
//! * [`hazards`]: that every hazard of scheduled SASS is covered by stalls or scoreboards;
//! * [`tile`]: that a scheduled loop of tile operations computes what the loop does, without races or deadlocks.

mod acquires;
pub mod against;
pub mod hazards;
mod live;
mod precedence;
pub mod ptx;
pub mod reorder;
pub mod tile;
mod values;
