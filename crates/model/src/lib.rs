//! The documented cost model as algorithms over tables: latency queries, stalls, resource vectors, pipe classes, dual
//! issue.
//!
//! Nothing here knows an IR: every algorithm takes small plain structs that a front-end fills. Facts about machines
//! (architectures, classes, units, memory spaces, constants) come from `sassafras-machine`; the tables of this crate hold
//! what only its algorithms use. Where the document cannot be followed literally, the module says which reading it takes.
//!
//! | question | start at |
//! |---|---|
//! | how long does a consumer wait for this producer | [`latency::LatencyProfile::resolve`], [`latency::class_latency`] |
//! | which memory space, is it long-latency | [`memory_space::classify`], [`memory_space::long_latency`] |
//! | how many stall cycles | [`stall::compute_stall`], [`stall::StallContext::cap`] |
//! | what does an instruction cost its block | [`resource::BlockSlot::charge`], [`register_cost::register_cost`] |
//! | which pipe and pipe class | [`pipe::PipeTable::assign`] |
//! | which classes, reuse test, barrier | [`mod@classify`] |
//! | may two instructions issue together, is it worth it | [`dual_issue`] |

pub mod classify;
pub mod dual_issue;
pub mod latency;
pub mod memory_space;
pub mod params;
pub mod pipe;
pub mod register_cost;
pub mod resource;
pub mod stall;
pub mod table;
