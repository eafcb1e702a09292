//! Latency models made from the machine tables. Two, never mixed: scheduling costs of the documents, and cycles.
//!
//! | model | unit | from |
//! |---|---|---|
//! | [`Documented`] | scheduling cost | the latency-model document's class table |
//! | [`Measured`] | cycles | measured distances; typical ranges where a scoreboard guards the result |
//!
//! [`Latencies`] is whichever of them the user chose. What no table speaks of costs what `data/edge_costs.csv` says, each row with its source.

mod costs;
mod documented;
mod latencies;
mod measured;

pub use costs::{CostError, EdgeCosts};
pub use documented::Documented;
pub use latencies::{Latencies, LatencySource};
pub use measured::Measured;

use sassafras_ir::Function;

/// One entry per opcode of a function, small numbers first come first served: equal answers share a number.
pub(crate) struct Interned<T> {
    pub of_opcode: Vec<u16>,
    pub values: Vec<T>,
}

impl<T: PartialEq> Interned<T> {
    /// `describe` must give few different values, whatever the opcodes are.
    pub fn new(f: &Function, mut describe: impl FnMut(&str) -> T) -> Interned<T> {
        let mut values: Vec<T> = Vec::new();
        let of_opcode = f
            .opcodes()
            .map(|opcode| {
                let value = describe(opcode);
                let at = values.iter().position(|v| *v == value).unwrap_or_else(|| {
                    values.push(value);
                    values.len() - 1
                });
                u16::try_from(at).unwrap_or(u16::MAX)
            })
            .collect();
        Interned { of_opcode, values }
    }
}
