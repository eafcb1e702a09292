//! Which pipes issue together.
//!
//! Source: latency-model document, section "Pipe Compatibility Matrix". Orders that it does not list (SFU first,
//! anything with texture, shared-memory or uniform pipes) do not co-issue: permission needs a row.
//!
//! The matrix summarises the sm_7x table, where 337 classes carry a pairing code from 1 to 35 in their pairing masks; the
//! codes themselves are not printed. The sm_8x and sm_10x tables hold zero there.

use std::sync::LazyLock;

use sassafras_machine::Unit;

use crate::table::{TableError, TableProblem, read_table};

/// One side of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Unit(Unit),
    Any,
    Same,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct MatrixRow {
    first: Side,
    second: Side,
    co_issue: bool,
    line: u64,
}

impl MatrixRow {
    fn covers(&self, first: Unit, second: Unit) -> bool {
        let side = |side, unit, other| match side {
            Side::Unit(u) => u == unit,
            Side::Any => true,
            Side::Same => unit == other,
        };
        side(self.first, first, second) && side(self.second, second, first)
    }
}

/// What the matrix says about two pipes, in issue order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatrixVerdict {
    /// A row allows the pair.
    Allowed,
    /// A row forbids the pair in one order or the other.
    Forbidden,
    /// No row speaks of the pair in this order.
    Unlisted,
}

/// The compatibility matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipeMatrix {
    rows: Vec<MatrixRow>,
}

static SHIPPED: LazyLock<PipeMatrix> = LazyLock::new(|| {
    PipeMatrix::parse(include_str!("../../data/dual_issue_pipes.csv"))
        .expect("the shipped pipe matrix is validated by a test")
});

impl PipeMatrix {
    /// The documented matrix.
    #[must_use]
    pub fn shipped() -> &'static Self {
        &SHIPPED
    }

    /// Parses a matrix with the columns `first`, `second`, `co_issue` and `source`. Pipes go by their documented names;
    /// `any` stands for every pipe and `same`, in the second column, for the first one again.
    ///
    /// # Errors
    /// Names the line of a malformed row, of one that contradicts or repeats another, or the missing same-pipe row.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        const TABLE: &str = "dual_issue_pipes.csv";
        const EXPECTED: &str = "a pipe name, `any`, or in the second column `same`";
        let rows = read_table(TABLE, text, |row| {
            let side = |column| -> Result<Side, TableError> {
                Ok(match row.filled(column)? {
                    "any" => Side::Any,
                    "same" if column == "second" => Side::Same,
                    name => Side::Unit(name.parse().map_err(|_| row.bad(column, EXPECTED))?),
                })
            };
            let co_issue = match row.filled("co_issue")? {
                "yes" => true,
                "no" => false,
                _ => return Err(row.bad("co_issue", "yes or no")),
            };
            Ok(MatrixRow { first: side("first")?, second: side("second")?, co_issue, line: row.line })
        })?;
        let matrix = Self { rows };
        matrix.check(TABLE)?;
        Ok(matrix)
    }

    fn check(&self, table: &'static str) -> Result<(), TableError> {
        let overlap = |line, other| TableError { table, line, problem: TableProblem::Overlap(other) };
        for (i, row) in self.rows.iter().enumerate() {
            let earlier = &self.rows[..i];
            if let Some(twin) = earlier.iter().find(|o| (o.first, o.second) == (row.first, row.second)) {
                return Err(overlap(row.line, twin.line));
            }
            // Forbidding rows may overlap each other; a permission must stand alone, in both orders.
            for other in earlier.iter().filter(|o| o.co_issue != row.co_issue) {
                let clash =
                    pairs().any(|(a, b)| row.covers(a, b) && (other.covers(a, b) || other.covers(b, a)));
                if clash {
                    return Err(overlap(row.line, other.line));
                }
            }
        }
        let same_pipe = |u: &Unit| self.verdict(*u, *u) == MatrixVerdict::Forbidden;
        if !Unit::ALL.iter().all(same_pipe) {
            return Err(TableError { table, line: 0, problem: TableProblem::MissingRow("any,same,no") });
        }
        Ok(())
    }

    /// What the matrix says about `first` issuing together with `second`.
    #[must_use]
    pub fn verdict(&self, first: Unit, second: Unit) -> MatrixVerdict {
        let says = |co_issue, a, b| self.rows.iter().any(|r| r.co_issue == co_issue && r.covers(a, b));
        if says(false, first, second) || says(false, second, first) {
            MatrixVerdict::Forbidden
        } else if says(true, first, second) {
            MatrixVerdict::Allowed
        } else {
            MatrixVerdict::Unlisted
        }
    }
}

fn pairs() -> impl Iterator<Item = (Unit, Unit)> {
    Unit::ALL.iter().flat_map(|&a| Unit::ALL.iter().map(move |&b| (a, b)))
}
