//! Either model, chosen when the program runs.

use super::{Documented, Measured};
use crate::latency::{LatencyModel, OrderKind};
use sassafras_ir::{Function, Inst, LaneRef};
use sassafras_machine::Arch;

/// Which of the two latency tables counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LatencySource {
    /// Cycles that hardware needs.
    Measured,
    /// Scheduling costs of the documents.
    Documented,
}

/// The model of a source, prepared for one function.
#[derive(Clone, Debug)]
pub enum Latencies {
    /// Cycles.
    Measured(Measured),
    /// Scheduling costs.
    Documented(Documented),
}

impl Latencies {
    /// Looks every opcode of a function up once, by the name that tables know it under. `unknown` replaces what a result costs that no table
    /// speaks of.
    pub fn new(
        source: LatencySource,
        f: &Function,
        arch: Arch,
        unknown: Option<u16>,
        name: impl Fn(&str) -> Option<&str>,
    ) -> Latencies {
        match source {
            LatencySource::Measured => Latencies::Measured(Measured::with_names(f, arch, unknown, name)),
            LatencySource::Documented => {
                Latencies::Documented(Documented::with_names(f, arch, unknown, name))
            }
        }
    }
}

/// Asks whichever model there is.
macro_rules! ask {
    ($self:ident, $model:ident => $answer:expr) => {
        match $self {
            Latencies::Measured($model) => $answer,
            Latencies::Documented($model) => $answer,
        }
    };
}

impl LatencyModel for Latencies {
    fn def_class(&self, f: &Function, inst: Inst, lane: LaneRef) -> u16 {
        ask!(self, model => model.def_class(f, inst, lane))
    }
    fn use_class(&self, f: &Function, inst: Inst, lane: LaneRef) -> u16 {
        ask!(self, model => model.use_class(f, inst, lane))
    }
    fn raw(&self, def: u16, user: u16) -> u16 {
        ask!(self, model => model.raw(def, user))
    }
    fn war(&self, user: u16, def: u16) -> u16 {
        ask!(self, model => model.war(user, def))
    }
    fn waw(&self, first: u16, second: u16) -> u16 {
        ask!(self, model => model.waw(first, second))
    }
    fn order(&self, kind: OrderKind) -> u16 {
        ask!(self, model => model.order(kind))
    }
}
