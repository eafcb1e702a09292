//! The per-opcode thresholds of barrier points, from `data/cutlass_thresholds.csv`.
//!
//! A threshold counts source positions from the left: an operand at a smaller one counts. Where a helper that is not printed
//! computes it, the number that the helper is called with stands in; where not even that is printed, the opcode makes no points.

use rustc_hash::FxHashMap;
use std::sync::LazyLock;
use thiserror::Error;

/// What is wrong with a table of thresholds.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cutlass_thresholds.csv, line {line}: {problem}")]
pub struct ThresholdError {
    /// 1-based line.
    pub line: usize,
    /// What is wrong there.
    pub problem: &'static str,
}

/// Where a threshold is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Printed.
    Printed,
    /// The argument of a helper that is not printed.
    Argument,
}

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// The document's number of the opcode.
    pub number: u16,
    /// Source positions below it count; none where nothing is printed.
    pub value: Option<(u8, Origin)>,
}

/// All rows, and which mnemonic has which.
#[derive(Clone, Debug)]
pub struct Thresholds {
    rows: Vec<Threshold>,
    by_mnemonic: FxHashMap<String, usize>,
}

static SHIPPED: LazyLock<Thresholds> = LazyLock::new(|| {
    Thresholds::parse(include_str!("../../data/cutlass_thresholds.csv"))
        .expect("the shipped thresholds are validated by a test")
});

const COLUMNS: &str = "number,role,mnemonics,threshold,argument,reason,source";

impl Thresholds {
    /// The documented ones.
    pub fn shipped() -> &'static Thresholds {
        &SHIPPED
    }

    /// Parses a table; lines that start with `#` are left out, no cell holds a comma.
    ///
    /// # Errors
    /// Names the line of a malformed or repeated row, or of one without number and reason.
    pub fn parse(text: &str) -> Result<Thresholds, ThresholdError> {
        let mut lines = text.lines().zip(1..).filter(|(line, _)| !line.starts_with('#') && !line.is_empty());
        let error = |line, problem| ThresholdError { line, problem };
        if lines.next().is_none_or(|(header, _)| header != COLUMNS) {
            return Err(error(1, "the header is another one"));
        }
        let mut found = Thresholds { rows: Vec::new(), by_mnemonic: FxHashMap::default() };
        for (text, line) in lines {
            let cells: Vec<&str> = text.split(',').collect();
            let [number, _, mnemonics, threshold, argument, reason, source] = cells[..] else {
                return Err(error(line, "not seven cells"));
            };
            let small = |cell: &str| match cell {
                "" => Ok(None),
                cell => cell.parse::<u8>().map(Some).map_err(|_| error(line, "not a small number")),
            };
            let number = number.parse().map_err(|_| error(line, "the opcode number is none"))?;
            let value = match (small(threshold)?, small(argument)?) {
                (Some(value), None) => Some((value, Origin::Printed)),
                (None, Some(value)) => Some((value, Origin::Argument)),
                (None, None) => None,
                (Some(_), Some(_)) => return Err(error(line, "a threshold and an argument")),
            };
            if source.is_empty() || threshold.is_empty() && reason.is_empty() {
                return Err(error(line, "no source, or no threshold and no reason"));
            }
            if found.rows.iter().any(|row| row.number == number) {
                return Err(error(line, "the opcode number has a row"));
            }
            for mnemonic in mnemonics.split_whitespace() {
                if found.by_mnemonic.insert(mnemonic.to_owned(), found.rows.len()).is_some() {
                    return Err(error(line, "the mnemonic has a row"));
                }
            }
            found.rows.push(Threshold { number, value });
        }
        Ok(found)
    }

    /// The row of an opcode, modifiers allowed.
    pub fn of(&self, opcode: &str) -> Option<&Threshold> {
        let mnemonic = opcode.split('.').next().unwrap_or(opcode);
        self.by_mnemonic.get(mnemonic).and_then(|&at| self.rows.get(at))
    }

    /// All rows in the table's order.
    pub fn rows(&self) -> &[Threshold] {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = include_str!("../../data/cutlass_thresholds.csv");

    #[test]
    fn documented_numbers() {
        let of = |opcode| Thresholds::shipped().of(opcode).map(|row| row.value);
        assert_eq!(of("HMMA.16816.F32"), Some(Some((3, Origin::Printed))));
        assert_eq!(of("STS.128"), Some(Some((6, Origin::Printed))));
        assert_eq!(of("IMMA.16832.S8.S8"), Some(Some((2, Origin::Argument))));
        assert_eq!(of("HGMMA.64x128x16.F32"), Some(Some((3, Origin::Argument))));
        assert_eq!(of("FFMA"), None);
        let printed = |number: u16| {
            let row = Thresholds::shipped().rows().iter().find(|row| row.number == number);
            row.and_then(|row| row.value)
        };
        assert_eq!([110, 111, 112, 289].map(printed), [3, 3, 4, 3].map(|v| Some((v, Origin::Printed))));
        assert_eq!(printed(50), None);
        assert_eq!(Thresholds::shipped().rows().len(), 12);
    }

    #[test]
    fn broken_tables_are_noticed() {
        for (from, to) in [
            ("51,HMMA", "22,HMMA"),
            ("HMMA,HMMA,3", "HMMA,IMAD,3"),
            ("HMMA,HMMA,3,", "HMMA,HMMA,three,"),
            ("HMMA,HMMA,3,,", "HMMA,HMMA,,,"),
            ("HMMA,HMMA,3,,", "HMMA,HMMA,3,3,"),
            ("STS,STS,6,,,", "STS,STS,6,,,,"),
            ("number,role", "role,number"),
        ] {
            assert!(TEXT.contains(from), "{from}");
            assert!(Thresholds::parse(&TEXT.replacen(from, to, 1)).is_err(), "{from} -> {to}");
        }
    }

    proptest::proptest! {
        #[test]
        fn the_parser_never_panics(text in "[a-z0-9, #\n]{0,120}") {
            let _ = Thresholds::parse(&text);
            let _ = Thresholds::parse(&format!("{TEXT}{text}"));
        }
    }
}
