//! Goal: which forms of instructions ran rescheduled on a device with the results of the original.
//!
//! A form is *proven* when at least one run of changed code that holds it was equal bit for bit, and no row of `unproven.csv` lays
//! a difference at its door. Whoever moves code on an architecture that has such a table leaves the other forms where they are.
//!
//! Cost: read once per table, then a hash lookup per question.
//!
//! Source: `data/mined/*.silicon.csv`, written by `sassafras-mine --coverage` (`cargo xtask silicon`) from runs on a device;
//! `data/mined/unproven.csv`, by hand.

use std::sync::LazyLock;

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use serde::Deserialize;

use super::table_name;
use crate::table;
use crate::{Arch, TableError};

/// One form: how often it stands in libraries, and what ran of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Form {
    /// The opcode as the lifter names it.
    pub form: String,
    /// Instructions of this form in `libtorch_cuda` and `libtorch_cuda_linalg`.
    pub libtorch: u64,
    /// In bitsandbytes.
    pub bitsandbytes: u64,
    /// In this project's corpus.
    pub corpus: u64,
    /// Cubins that hold it and were equal in every mode that changed them.
    pub kernels: u64,
    /// Runs of changed code that holds it, all modes, that were equal.
    pub runs: u64,
    /// Those of them in a random order.
    pub shuffles: u64,
    /// Runs of changed code that holds it that were not equal, whoever is to blame.
    pub differed: u64,
}

impl Form {
    /// Instructions of this form in all libraries.
    pub fn occurrences(&self) -> u64 {
        self.libtorch + self.bitsandbytes + self.corpus
    }
}

/// A form that is not proven although it ran, and why.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blamed {
    /// The tables that it holds for, or `*`.
    pub tables: String,
    /// The form.
    pub form: String,
    /// The kernel that differed.
    pub kernel: String,
    /// What is known of it.
    pub source: String,
}

impl Blamed {
    /// Whether it holds for a table.
    pub fn serves(&self, table: &str) -> bool {
        self.tables == "*" || self.tables.split(' ').any(|name| name == table)
    }
}

/// How much of the libraries is proven.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shares {
    /// Instructions of proven forms, and all.
    pub occurrences: (u64, u64),
    /// Proven forms, and all, of those that stand in a library.
    pub forms: (u64, u64),
}

/// What ran on devices of one group of architectures.
#[derive(Debug, Clone, Default)]
pub struct Proven {
    rows: Vec<Form>,
    proven: HashSet<String>,
}

impl Proven {
    /// What ran on an architecture; none where no device was at hand.
    pub fn of(arch: Arch) -> Option<&'static Proven> {
        TABLES.get(table_name(arch)?)
    }

    /// Reads a table.
    ///
    /// # Errors
    /// When a row is malformed, twice there, or counts more than it can.
    pub fn parse(text: &str, blamed: &[&str]) -> Result<Proven, TableError> {
        let rows = table::rows::<Form>("silicon", text)?;
        table::unique(&rows, |row| row.form.clone())?;
        for row in &rows {
            let Form { form, kernels, runs, shuffles, .. } = &row.value;
            if form.is_empty() || form.contains([' ', ':']) {
                return Err(row.error(format!("`{form}` is no form")));
            }
            if shuffles > runs || kernels > runs {
                return Err(
                    row.error(format!("{kernels} kernels and {shuffles} shuffles in {runs} equal runs"))
                );
            }
        }
        let rows: Vec<Form> = rows.into_iter().map(|row| row.value).collect();
        let ran = rows.iter().filter(|row| row.runs > 0 && !blamed.contains(&&*row.form));
        let proven = ran.map(|row| row.form.clone()).collect();
        Ok(Proven { rows, proven })
    }

    /// Whether an opcode ran rescheduled, and was right.
    pub fn proven(&self, opcode: &str) -> bool {
        self.proven.contains(opcode.split(':').next().unwrap_or(opcode))
    }

    /// Every form of the table.
    pub fn forms(&self) -> &[Form] {
        &self.rows
    }

    /// How many forms are proven, in libraries or not.
    pub fn count(&self) -> usize {
        self.proven.len()
    }

    /// How much of the libraries is proven.
    pub fn shares(&self) -> Shares {
        let mut shares = Shares::default();
        for row in self.rows.iter().filter(|row| row.occurrences() > 0) {
            shares.occurrences.1 += row.occurrences();
            shares.forms.1 += 1;
            if self.proven(&row.form) {
                shares.occurrences.0 += row.occurrences();
                shares.forms.0 += 1;
            }
        }
        shares
    }

    /// The forms of libraries that are not proven, the most frequent first.
    pub fn missing(&self) -> Vec<&Form> {
        let mut missing: Vec<&Form> =
            self.rows.iter().filter(|row| row.occurrences() > 0 && !self.proven(&row.form)).collect();
        missing.sort_by(|a, b| b.occurrences().cmp(&a.occurrences()).then_with(|| a.form.cmp(&b.form)));
        missing
    }
}

/// Reads a table of forms that are not proven although they ran.
///
/// # Errors
/// When a row is malformed.
pub fn parse_blamed(text: &str) -> Result<Vec<Blamed>, TableError> {
    let rows = table::rows::<Blamed>("unproven", text)?;
    table::unique(&rows, |row| format!("{} {} {}", row.tables, row.form, row.kernel))?;
    if let Some(row) = rows.iter().find(|row| row.value.form.is_empty() || row.value.source.is_empty()) {
        return Err(row.error("needs a form and a source"));
    }
    Ok(rows.into_iter().map(|row| row.value).collect())
}

static BLAMED: LazyLock<Vec<Blamed>> = LazyLock::new(|| {
    parse_blamed(include_str!("../../data/mined/unproven.csv")).expect("checked by the tests")
});

static TABLES: LazyLock<HashMap<&'static str, Proven>> = LazyLock::new(|| {
    let tables = [("sm_90", include_str!("../../data/mined/sm_90.silicon.csv"))];
    let read = |(name, text)| {
        let blamed: Vec<&str> = BLAMED.iter().filter(|row| row.serves(name)).map(|row| &*row.form).collect();
        (name, Proven::parse(text, &blamed).expect("checked by the tests"))
    };
    tables.into_iter().map(read).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "# a comment\nform,libtorch,bitsandbytes,corpus,kernels,runs,shuffles,differed\n";

    #[test]
    fn the_table_of_sm_90_loads() {
        let [hopper, with_a, ampere] =
            ["sm_90", "sm_90a", "sm_80"].map(|name| name.parse().expect("an architecture"));
        let proven = Proven::of(hopper).expect("a table");
        assert!(proven.proven("IADD3") && proven.proven("BAR.RED") && proven.count() > 150);
        assert!(proven.proven("R2P"), "mended, and run since");
        assert!(!proven.proven("LDGMC") && !proven.proven("DMMA.8x8x4") && !proven.proven("NOBODY"));
        assert_eq!(Proven::of(with_a).map(Proven::count), Some(proven.count()));
        assert!(Proven::of(ampere).is_none(), "no device was at hand");
        let shares = proven.shares();
        assert!(shares.occurrences.0 * 100 > shares.occurrences.1 * 95);
        assert_eq!(proven.missing().len() as u64, shares.forms.1 - shares.forms.0);
    }

    #[test]
    fn what_ran_and_nobody_blames_is_proven() {
        let text = format!(
            "{HEAD}IADD3,70,20,5,2,9,5,1\nR2P,3,0,0,1,4,2,1\nDMMA.8x8x4,1,0,1,0,0,0,0\nELECT,0,0,0,1,1,0,0\n"
        );
        let proven = Proven::parse(&text, &["R2P"]).expect("a table");
        let each =
            ["IADD3", "R2P", "DMMA.8x8x4", "ELECT", "HMMA.16816.F32:4/4/2/4"].map(|form| proven.proven(form));
        assert_eq!(each, [true, false, false, true, false]);
        assert_eq!(proven.shares(), Shares { occurrences: (95, 100), forms: (1, 3) });
        let missing: Vec<&str> = proven.missing().iter().map(|row| &*row.form).collect();
        assert_eq!((missing, proven.count(), proven.forms().len()), (vec!["R2P", "DMMA.8x8x4"], 2, 4));
    }

    #[test]
    fn malformed_rows_are_refused() {
        for rows in [
            "IADD3,1,1,1,1,1,1",
            "IADD3,1,1,1,1,1,x,0",
            ",1,1,1,1,1,1,0",
            "HMMA:4/4,1,1,1,1,1,1,0",
            "IADD3,1,1,1,2,1,1,0",
            "IADD3,1,1,1,1,1,2,0",
            "IADD3,1,1,1,1,1,1,0\nIADD3,1,1,1,1,1,1,0",
        ] {
            assert!(Proven::parse(&format!("{HEAD}{rows}\n"), &[]).is_err(), "{rows}");
        }
        assert!(Proven::parse("form,libtorch\nIADD3,1\n", &[]).is_err());
        for rows in ["sm_90,R2P,k,", "sm_90,,k,why", "sm_90,R2P,k,why\nsm_90,R2P,k,again"] {
            assert!(parse_blamed(&format!("tables,form,kernel,source\n{rows}\n")).is_err(), "{rows}");
        }
    }
}
