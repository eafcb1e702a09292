//! The commands, a file each.

pub mod analyze;
pub mod assemble;
pub mod bisect;
pub mod deps;
pub mod disasm;
pub mod dual_issue;
pub mod knobs;
pub mod model;
pub mod passes;
pub mod ptxas;
pub mod schedule;
pub mod strategies;
pub mod tile;
pub mod verify;

use clap::ValueEnum;
use sassafras_passes::LatencySource;

/// Which latency table counts.
#[derive(Clone, Copy, ValueEnum)]
pub enum LatencyArgument {
    /// Cycles that hardware needs
    Measured,
    /// Scheduling costs of the documents
    Documented,
}

impl From<LatencyArgument> for LatencySource {
    fn from(argument: LatencyArgument) -> LatencySource {
        match argument {
            LatencyArgument::Measured => LatencySource::Measured,
            LatencyArgument::Documented => LatencySource::Documented,
        }
    }
}
