//! What tests and benchmarks share.
//!
//! * [`random`]: random functions from a seed, for property tests and fuzzing;
//! * [`workloads`]: the three straight-line shapes that the speed goals are stated on;
//! * [`filetest`]: tests that are files: input, directive and expected output in one place;
//! * [`rng`]: a seeded generator whose sequence never changes;
//! * [`timing`]: medians and growth for benchmarks;
//! * [`tools`]: NVIDIA's programs, found and run;
//! * [`nvdisasm`]: register sets as NVIDIA's disassembler lists them, and its known faults;
//! * [`words`]: the same for single instructions, quickly.
//!
//! ```
//! use sassafras_testkit::random::{Shape, function};
//! use sassafras_testkit::rng::Rng;
//!
//! // A property test draws a seed; the function that it stands for is the same everywhere.
//! let make = |seed| {
//!     let mut rng = Rng::new(seed);
//!     let shape = Shape::random(&mut rng, 2, 20);
//!     sassafras_ir::text::print(&sassafras_ir::Module { functions: vec![function(&mut rng, &shape)] })
//! };
//! assert_eq!(make(7), make(7));
//! assert_ne!(make(7), make(8));
//! ```

pub mod filetest;
pub mod nvdisasm;
pub mod random;
pub mod rng;
pub mod timing;
pub mod tools;
pub mod words;
pub mod workloads;

/// How many cases a property test runs: `usual`, or more when `PROPTEST_CASES` asks for more (long campaigns do).
pub fn cases(usual: u32) -> u32 {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    asked.map_or(usual, |n: u32| n.max(usual))
}
