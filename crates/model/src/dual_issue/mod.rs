//! Dual issue: which two instructions may issue together, and whether a function profits from trying.
//!
//! Source: latency-model document, section "Dual-Issue Rules" (four conditions and the benefit score); ptxas-scheduling
//! document, section "Dual-Issue Optimization" (register banks, encoding).
//!
//! - [`pairing`]: the six documented conditions on a pair, each with a named reason when it fails;
//! - [`observed`]: the conditions that compiled code keeps, which are others;
//! - [`matrix`]: which pipes go together, from `data/dual_issue_pipes.csv`;
//! - [`temperature`]: hot (global, texture) and cold (shared, constant) memory instructions;
//! - [`benefit`]: the function-level check and score.

pub mod benefit;
pub mod matrix;
pub mod observed;
pub mod pairing;
pub mod temperature;

#[cfg(test)]
mod tests;
