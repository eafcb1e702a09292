//! The strategies, a file each.
//!
//! `original`, `shuffle` and `critical-path` need the graph alone. The other seven are those of the list-schedulers document; they share
//! [`Terms`] (their switches) and [`Boosted`] (what should start early), and those that look at registers take the [`Values`](crate::values::Values) of the block. The
//! document gives priorities in the sense of the final order; those that grow from the end turn them round where a doc comment says so.

mod converge;
mod critical_path;
mod ilpmax;
mod ilpmin;
mod list_burr;
mod list_hybrid;
mod list_ilp;
mod original;
mod shuffle;
mod source;
mod terms;

pub use converge::Converge;
pub use critical_path::CriticalPath;
pub use ilpmax::IlpMax;
pub use ilpmin::IlpMin;
pub use list_burr::ListBurr;
pub use list_hybrid::ListHybrid;
pub use list_ilp::ListIlp;
pub use original::Original;
pub use shuffle::Shuffle;
pub use source::Source;
pub use terms::{Boosted, Terms};
