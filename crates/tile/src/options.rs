//! What a caller may choose.

use sassafras_machine::tile::threshold;
use sassafras_tileir::scheduled::Strategy;
use std::collections::BTreeMap;

/// Which generator makes the schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// The cost-based one for every loop that may overlap: small loops gain most.
    #[default]
    Always,
    /// As documented: serial where that is forced, under a threshold of operations, or without asynchronous work.
    Documented,
    /// The serial one.
    Serial,
}

/// Choices for [`generate`](crate::generate()).
#[derive(Clone, Debug)]
pub struct Options {
    /// How operations are given to agents.
    pub strategy: Strategy,
    /// Which generator is used.
    pub selection: Selection,
    /// Operations below which the documented selection is serial.
    pub serial_threshold: u32,
    /// Rows above which time is quantised; 0 for never.
    pub rrt_size_threshold: u32,
    /// Attempts to fit buffers into budgets.
    pub max_constraint_iterations: u32,
    /// Most stages where one agent runs everything.
    pub unspecialized_stages: u32,
    /// Most agents that compute, where operations that share no registers can be divided among them.
    pub compute_agents: u32,
    /// Operations that arms choose among, unless a group has more.
    pub candidates: u32,
    /// Orders that the first arm tries for a set of candidates.
    pub permute_budget: u32,
    /// Cycles per operation at which the third arm makes room.
    pub retry_budget: u32,
    /// Budgets are as large as one likes: to see whether they are what binds.
    pub unlimited: bool,
    /// Clusters that run a persistent loop.
    pub clusters: u64,
    /// Most slots per value, by its name.
    pub depths: BTreeMap<String, u32>,
    /// Whether [`modulo`](sassafras_modulo)'s iterative scheduler is asked before an II is given up.
    pub rescue: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            strategy: Strategy::WarpSpecialize,
            selection: Selection::Always,
            serial_threshold: threshold("serial_threshold"),
            rrt_size_threshold: threshold("rrt_size_threshold"),
            max_constraint_iterations: threshold("max_constraint_iterations"),
            unspecialized_stages: threshold("unspecialized_pipeline_num_stages"),
            compute_agents: 1,
            candidates: threshold("candidates"),
            permute_budget: threshold("permute_budget"),
            retry_budget: threshold("retry_budget"),
            unlimited: false,
            clusters: threshold("clusters").into(),
            depths: BTreeMap::new(),
            rescue: true,
        }
    }
}
