//! The constants of the strategies, from `data/weights.csv`.

use std::sync::LazyLock;
use thiserror::Error;

const TABLE: &str = include_str!("../data/weights.csv");

static BUILT_IN: LazyLock<Weights> = LazyLock::new(|| match Weights::parse(TABLE) {
    Ok(weights) => weights,
    Err(error) => panic!("the built-in weights are broken: {error}"),
});

/// What is wrong with a table of weights.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WeightError {
    /// A row that is not `name,value,source`.
    #[error("line {0}: expected name,value,source")]
    Row(usize),
    /// A name without a row, or with several.
    #[error("`{name}` has {found} rows, not one")]
    Count {
        /// The name.
        name: &'static str,
        /// How many.
        found: usize,
    },
    /// A name that nothing asks for.
    #[error("line {0}: nothing is called `{1}`")]
    Unknown(usize, String),
}

macro_rules! weights {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// The constants, one field per row.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Weights {
            $($(#[$doc])* pub $name: i64,)*
        }

        impl Weights {
            /// Reads a table; every constant has exactly one row.
            ///
            /// # Errors
            /// Names the line or the constant.
            pub fn parse(table: &str) -> Result<Weights, WeightError> {
                let rows = rows(table)?;
                const NAMES: &[&str] = &[$(stringify!($name)),*];
                if let Some((line, name, _)) = rows.iter().find(|row| !NAMES.contains(&row.1)) {
                    return Err(WeightError::Unknown(*line, (*name).to_owned()));
                }
                Ok(Weights { $($name: one(&rows, stringify!($name))?,)* })
            }
        }
    };
}

weights! {
    /// What an asynchronous tensor copy is preferred by.
    async_tensor_boost,
    /// Places that `source` puts an instruction back that would need too many registers.
    source_penalty,
    /// What the weights of `list-hybrid` are parts of.
    hybrid_parts,
    /// The part of register pressure.
    hybrid_pressure,
    /// The most that it may become.
    hybrid_pressure_most,
    /// A cycle of the path to the end.
    ilp_critical_path,
    /// A cycle of the same path as scheduled so far.
    ilp_scheduled_height,
    /// A cycle of live range.
    ilp_register_pressure,
    /// An operand that is live anyway.
    ilp_live_uses,
    /// A free unit.
    ilp_no_stall,
    /// A point of affinity.
    ilp_physical_join,
    /// Points for a physical register that is read soon after it was written.
    affinity_bonus,
    /// How soon.
    affinity_cycles,
    /// A successor.
    ilpmax_successor,
    /// A successor that waits for the result.
    ilpmax_immediate,
    /// A successor.
    ilpmin_successor,
    /// A pair of successors that do not depend on each other.
    ilpmin_parallel,
}

impl Weights {
    /// The built-in ones.
    pub fn get() -> &'static Weights {
        &BUILT_IN
    }
}

type Row<'t> = (usize, &'t str, i64);

fn rows(table: &str) -> Result<Vec<Row<'_>>, WeightError> {
    let lines = table.lines().enumerate().map(|(at, line)| (at + 1, line));
    let rows =
        lines.filter(|(_, line)| !(line.is_empty() || line.starts_with('#') || line.starts_with("name,")));
    rows.map(|(at, line)| {
        let mut cells = line.splitn(3, ',');
        let row = (cells.next(), cells.next().and_then(|v| v.parse().ok()), cells.next());
        match row {
            (Some(name), Some(value), Some(source)) if !source.is_empty() => Ok((at, name, value)),
            _ => Err(WeightError::Row(at)),
        }
    })
    .collect()
}

fn one(rows: &[Row<'_>], name: &'static str) -> Result<i64, WeightError> {
    let found: Vec<i64> = rows.iter().filter(|row| row.1 == name).map(|row| row.2).collect();
    match found[..] {
        [value] => Ok(value),
        _ => Err(WeightError::Count { name, found: found.len() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_table_is_complete() {
        let weights = Weights::get();
        assert_eq!((weights.ilp_critical_path, weights.ilp_physical_join), (10_000, 1));
    }

    #[test]
    fn broken_tables_are_noticed() {
        let name = "affinity_bonus";
        let without = TABLE.replace("affinity_bonus,", "affinity_bonum,");
        assert!(
            matches!(Weights::parse(&without), Err(WeightError::Unknown(_, other)) if other == "affinity_bonum")
        );
        let twice = format!("{TABLE}affinity_bonus,3,again\n");
        assert_eq!(Weights::parse(&twice), Err(WeightError::Count { name, found: 2 }));
        assert!(matches!(Weights::parse("affinity_bonus,3,\n"), Err(WeightError::Row(1))));
        assert!(matches!(Weights::parse("affinity_bonus,x,y\n"), Err(WeightError::Row(1))));
    }
}
