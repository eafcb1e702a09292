//! What tests and benchmarks share.
//!
//! * [`random`]: random functions from a seed, for property tests and fuzzing;
//! * [`workloads`]: the three straight-line shapes that the speed goals are stated on;
//! * [`filetest`]: tests that are files: input, directive and expected output in one place;
//! * [`rng`]: a seeded generator whose sequence never changes.
//! * [`timing`]: medians and growth for benchmarks.

pub mod filetest;
pub mod random;
pub mod rng;
pub mod timing;
pub mod workloads;
