//! The scalar constants of this crate's algorithms, read from `data/parameters.csv` where each names its source.
//!
//! Constants of the machine itself (stall limits, thresholds, sentinels) are `sassafras_machine::constants()`.

use std::sync::LazyLock;

use crate::table::{TableError, TableProblem, read_table};

/// The shipped constants. A defect of the shipped file is caught by this crate's tests.
pub static PARAMETERS: LazyLock<Parameters> = LazyLock::new(|| {
    Parameters::parse(include_str!("../data/parameters.csv"))
        .expect("the shipped parameters are validated by a test")
});

macro_rules! parameters {
    ($($(#[doc = $doc:literal])* $name:ident: $ty:ty,)*) => {
        /// Scalar constants of the documented model.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Parameters { $($(#[doc = $doc])* pub $name: $ty,)* }

        impl Parameters {
            /// Parses a table with the columns `name`, `value` and `source`; every constant must appear exactly once.
            ///
            /// # Errors
            /// Names the line of a malformed, unknown or repeated row, or the constant that is missing.
            pub fn parse(text: &str) -> Result<Self, TableError> {
                const TABLE: &str = "parameters.csv";
                $(let mut $name: Option<($ty, u64)> = None;)*
                read_table(TABLE, text, |row| {
                    match row.filled("name")? {
                        $(stringify!($name) => {
                            if let Some((_, line)) = $name {
                                return Err(row.error(TableProblem::Overlap(line)));
                            }
                            let value = row.number("value")?;
                            let value = value.ok_or_else(|| row.error(TableProblem::Empty("value")))?;
                            $name = Some((value, row.line));
                        })*
                        _ => return Err(row.bad("name", "the name of a model parameter")),
                    }
                    Ok(())
                })?;
                $(let $name = match $name {
                    Some((value, _)) => value,
                    None => return Err(TableError {
                        table: TABLE,
                        line: 0,
                        problem: TableProblem::MissingRow(stringify!($name)),
                    }),
                };)*
                Ok(Self { $($name,)* })
            }
        }
    };
}

parameters! {
    /// Pipe classes above this skip the reuse check.
    reuse_pipe_class_max: u16,
    /// The highest register class that is a physical file.
    register_class_max: u8,
    /// The class whose registers cost double in wide tracking.
    register_class_wide: u8,
    /// First sentinel register.
    sentinel_register_lo: u32,
    /// Last sentinel register.
    sentinel_register_hi: u32,
    /// The resource bucket that takes the 9-bit pressure field.
    pressure_bucket: u8,
    /// How many cycles arithmetic waits for a partner that is no control flow.
    dual_issue_max_delay: u32,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn parser_never_panics(text in "[0-9a-z_,x\n-]{0,120}") {
            let _ = Parameters::parse(&text);
            let _ = Parameters::parse(&format!("{SHIPPED}{text}"));
        }
    }

    const SHIPPED: &str = include_str!("../data/parameters.csv");

    #[test]
    fn shipped_values() {
        let p = &*PARAMETERS;
        assert_eq!((p.reuse_pipe_class_max, p.register_class_max, p.register_class_wide), (0xCD, 6, 6));
        assert_eq!((p.sentinel_register_lo, p.sentinel_register_hi), (41, 44));
        assert!(usize::from(p.pressure_bucket) < crate::resource::PIPES);
    }

    #[test]
    fn every_line_is_needed_and_checked() {
        let lines: Vec<_> = SHIPPED.lines().collect();
        for broken in 1..lines.len() {
            let without: Vec<_> =
                lines.iter().enumerate().filter(|(i, _)| *i != broken).map(|(_, l)| *l).collect();
            assert!(Parameters::parse(&without.join("\n")).is_err(), "line {broken} removed");
            let twice = format!("{SHIPPED}{}\n", lines[broken]);
            assert!(Parameters::parse(&twice).is_err(), "line {broken} repeated");
        }
        for bad in ["pressure_bucket,-1", "pressure_bucket,", "pressure_buckets,6"] {
            assert!(Parameters::parse(&SHIPPED.replace("pressure_bucket,6", bad)).is_err(), "{bad}");
        }
    }
}
