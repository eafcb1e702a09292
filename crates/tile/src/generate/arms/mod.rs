//! The arms that seat candidates, cheapest first.

pub mod cost_based;
pub mod fuse;
pub mod permute;
pub mod retry;

use serde::Serialize;

/// Which arm seated an operation, with the other candidates of its set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arm {
    /// Orders of the candidates, one after the other.
    Permute,
    /// Two operations in one cycle.
    Fuse,
    /// What is in the way is taken out and put back elsewhere.
    Retry,
    /// Every cycle for every operation, by cost.
    CostBased,
    /// [`Arm::Retry`] once more, with all marks forgotten.
    FreshRetry,
    /// [`Arm::CostBased`] once more, with all marks forgotten.
    FreshCostBased,
}

impl Arm {
    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Arm::Permute => "permute",
            Arm::Fuse => "fuse",
            Arm::Retry => "retry",
            Arm::CostBased => "cost-based",
            Arm::FreshRetry => "retry afresh",
            Arm::FreshCostBased => "cost-based afresh",
        }
    }
}
