//! The table of costs that are not latencies of an instruction.

use crate::latency::OrderKind;
use std::sync::LazyLock;
use thiserror::Error;

/// What edges cost that are not from a write to its read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeCosts {
    /// A write that no latency table speaks of, to its read.
    pub unknown_raw: u16,
    /// A read to the next write.
    pub war: u16,
    /// A write to the next write.
    pub waw: u16,
    memory_raw: u16,
    memory_war: u16,
    memory_waw: u16,
    control: u16,
    barrier: u16,
    order: u16,
}

/// What is wrong with such a table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CostError {
    /// A row that is not `model,edge,cost,source`.
    #[error("line {0}: expected model,edge,cost,source")]
    Row(usize),
    /// An edge without a row, or with two.
    #[error("model {model}: {edge} has {found} rows, not one")]
    Count {
        /// The model.
        model: String,
        /// The edge.
        edge: &'static str,
        /// How many.
        found: usize,
    },
}

impl EdgeCosts {
    /// The rows of one model. Every edge has exactly one; lines with `#` are comments.
    pub fn parse(table: &str, model: &str) -> Result<EdgeCosts, CostError> {
        let mut rows = Vec::new();
        for (i, line) in table.lines().enumerate() {
            if line.starts_with('#') || line.is_empty() || line.starts_with("model,") {
                continue;
            }
            let mut cells = line.splitn(4, ',');
            let row = (cells.next(), cells.next(), cells.next().map(str::parse::<u16>), cells.next());
            match row {
                (Some(of), Some(edge), Some(Ok(cost)), Some(source)) if !source.is_empty() => {
                    if of == model {
                        rows.push((edge, cost));
                    }
                }
                _ => return Err(CostError::Row(i + 1)),
            }
        }
        let cost = |edge: &'static str| {
            let found: Vec<u16> = rows.iter().filter(|r| r.0 == edge).map(|r| r.1).collect();
            match found[..] {
                [one] => Ok(one),
                _ => Err(CostError::Count { model: model.to_owned(), edge, found: found.len() }),
            }
        };
        Ok(EdgeCosts {
            unknown_raw: cost("unknown_raw")?,
            war: cost("war")?,
            waw: cost("waw")?,
            memory_raw: cost("memory_raw")?,
            memory_war: cost("memory_war")?,
            memory_waw: cost("memory_waw")?,
            control: cost("control")?,
            barrier: cost("barrier")?,
            order: cost("order")?,
        })
    }

    /// The same with another cost for results that no table speaks of.
    #[must_use]
    pub fn with_unknown(self, cost: Option<u16>) -> EdgeCosts {
        EdgeCosts { unknown_raw: cost.unwrap_or(self.unknown_raw), ..self }
    }

    /// The same with another cost for results that no table speaks of and for memory order: what the knob
    /// `sched-high-latency-cycles` stands for in the documents.
    #[must_use]
    pub fn with_high_latency(self, cost: Option<u16>) -> EdgeCosts {
        match cost {
            Some(cost) => {
                EdgeCosts { unknown_raw: cost, memory_raw: cost, memory_war: cost, memory_waw: cost, ..self }
            }
            None => self,
        }
    }

    /// The cost of an order that is not about registers.
    pub fn order(&self, kind: OrderKind) -> u16 {
        match kind {
            OrderKind::MemoryRaw => self.memory_raw,
            OrderKind::MemoryWar => self.memory_war,
            OrderKind::MemoryWaw => self.memory_waw,
            OrderKind::Control => self.control,
            OrderKind::Barrier => self.barrier,
            OrderKind::Order => self.order,
        }
    }
}

const TABLE: &str = include_str!("../../data/edge_costs.csv");

fn builtin(model: &str) -> EdgeCosts {
    EdgeCosts::parse(TABLE, model).expect("embedded table, checked by the tests")
}

pub(super) static DOCUMENTED: LazyLock<EdgeCosts> = LazyLock::new(|| builtin("documented"));
pub(super) static MEASURED: LazyLock<EdgeCosts> = LazyLock::new(|| builtin("measured"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_models_are_complete() {
        assert_eq!(DOCUMENTED.order(OrderKind::Barrier), 56);
        assert_eq!(DOCUMENTED.order(OrderKind::MemoryRaw), 25);
        assert_eq!(MEASURED.order(OrderKind::Control), 0);
    }

    #[test]
    fn broken_tables_are_noticed() {
        let without = TABLE.replace("measured,waw", "measured,wax");
        assert_eq!(
            EdgeCosts::parse(&without, "measured"),
            Err(CostError::Count { model: "measured".into(), edge: "waw", found: 0 })
        );
        let twice = format!("{TABLE}measured,waw,2,again\n");
        assert!(matches!(EdgeCosts::parse(&twice, "measured"), Err(CostError::Count { found: 2, .. })));
        let no_source = format!("{TABLE}measured,waw,2,\n");
        assert!(matches!(EdgeCosts::parse(&no_source, "measured"), Err(CostError::Row(_))));
        assert!(matches!(EdgeCosts::parse("measured,waw,x,y\n", "measured"), Err(CostError::Row(1))));
    }
}
