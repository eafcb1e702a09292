//! Goal: the table of what ran rescheduled on a device (`machine/data/mined/*.silicon.csv`), from the results of runs and the
//! forms of the code that ran.
//!
//! A run is a cubin in one mode (an order with its control fields). It says something only where the rescheduled code is another
//! one: status `same` is no evidence; and where the rescheduled code is at hand, only of the forms that were touched there
//! ([`crate::forms::touched`]): a block that stayed as it was proves nothing of what stands in it. A run that differs, fails or hangs is evidence against every form in it, unless a row of
//! `unproven.csv` says which form the kernel's differences are laid at the door of; without such a row there is no table.
//!
//! Source of results: `bench/gpu/silicon/rare.py run` and `suite.py`, lists of `{kernel, build, mode, status, note}`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use sassafras_machine::mined::silicon::{Blamed, Form, Proven, Shares};
use serde::Deserialize;

use crate::forms::Forms;

/// At least this share of instructions in libraries has to be proven, in tenths of a per cent.
pub const OCCURRENCES: u64 = 995;
/// At least this share of the forms in libraries has to be proven, in tenths of a per cent.
pub const FORMS: u64 = 950;

/// What one mode did to one cubin.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Run {
    /// The kernel.
    pub kernel: String,
    /// How it was compiled.
    pub build: String,
    /// How it was rescheduled.
    pub mode: String,
    /// What came of it.
    pub status: String,
}

impl Run {
    /// The name of the cubin, without its ending.
    pub fn cubin(&self) -> String {
        format!("{}.{}", self.kernel, self.build)
    }

    fn is_shuffle(&self) -> bool {
        self.mode.starts_with("shuffle")
    }

    /// Gave the bits of the original.
    pub fn is_equal(&self) -> bool {
        self.status == "equal"
    }

    /// Ran, and was not what it should be.
    pub fn differs(&self) -> bool {
        matches!(&*self.status, "different" | "error" | "hang")
    }
}

/// The forms of a cubin, or those of them that a mode touched, by the name of the cubin and the mode.
pub type Held = BTreeMap<(String, String), BTreeSet<String>>;

/// The table, row by row, from libraries and runs. `libraries` are the forms of each library by its column; a library that is not
/// given keeps what `before` says.
///
/// # Errors
/// Names every run that differs and is not explained.
pub fn rows(
    before: &[Form],
    libraries: &[(Library, &Forms)],
    runs: &[Run],
    held: &Held,
    blamed: &[&Blamed],
) -> Result<Vec<Form>, Vec<String>> {
    let unexplained = |run: &&Run| run.differs() && !blamed.iter().any(|row| row.kernel == run.kernel);
    let open: Vec<String> = runs
        .iter()
        .filter(unexplained)
        .map(|run| format!("{} {}: {}", run.cubin(), run.mode, run.status))
        .collect();
    if !open.is_empty() {
        return Err(open);
    }
    let mut table: BTreeMap<String, Form> = BTreeMap::new();
    let row = |form: &str| Form { form: form.to_owned(), ..Form::default() };
    for old in before {
        let new = table.entry(old.form.clone()).or_insert_with(|| row(&old.form));
        for library in Library::ALL {
            if !libraries.iter().any(|(given, _)| *given == library) {
                *library.of(new) = *library.of(&mut old.clone());
            }
        }
    }
    for (library, forms) in libraries {
        for (form, count) in &forms.counts {
            *library.of(table.entry(form.clone()).or_insert_with(|| row(form))) = count.occurrences;
        }
    }
    let mut clean: BTreeMap<(String, &str), bool> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.is_equal() || run.differs()) {
        for form in held.get(&(run.cubin(), run.mode.clone())).into_iter().flatten() {
            let row = table.entry(form.clone()).or_insert_with(|| row(form));
            row.runs += u64::from(run.is_equal());
            row.shuffles += u64::from(run.is_equal() && run.is_shuffle());
            row.differed += u64::from(run.differs());
            *clean.entry((run.cubin(), form)).or_insert(true) &= run.is_equal();
        }
    }
    for ((_, form), _) in clean.iter().filter(|(_, clean)| **clean) {
        table.entry((*form).to_owned()).or_insert_with(|| row(form)).kernels += 1;
    }
    // A form that is nowhere any more is no row.
    Ok(table.into_values().filter(|row| row.occurrences() + row.runs + row.differed > 0).collect())
}

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// `libtorch_cuda` and `libtorch_cuda_linalg`.
    Libtorch,
    /// bitsandbytes.
    Bitsandbytes,
    /// This project's own.
    Corpus,
}

impl Library {
    /// Every one.
    pub const ALL: [Library; 3] = [Library::Libtorch, Library::Bitsandbytes, Library::Corpus];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Library::Libtorch => "libtorch",
            Library::Bitsandbytes => "bitsandbytes",
            Library::Corpus => "corpus",
        }
    }

    fn of(self, form: &mut Form) -> &mut u64 {
        match self {
            Library::Libtorch => &mut form.libtorch,
            Library::Bitsandbytes => &mut form.bitsandbytes,
            Library::Corpus => &mut form.corpus,
        }
    }
}

/// What stands at the top of every table.
const ABOUT: &str = "\
# Which forms of instructions ran rescheduled on a device with the bits of the original, and how often they stand in compiled code of libraries.
# kernels: cubins that were equal in every mode that touched the form; runs, shuffles: equal runs that touched it; differed: the others, whoever is
# to blame (unproven.csv). Equal routines of a library count once. Written by sassafras-mine --coverage (cargo xtask silicon).
";

/// The notes of a table about libraries: they stay where a library is not counted again.
pub fn library_notes(text: &str) -> Vec<String> {
    let notes = text.lines().filter_map(|line| line.strip_prefix("# "));
    notes.filter(|note| note.starts_with("Libraries:")).map(str::to_owned).collect()
}

/// The table as text; `notes` stand at its top.
pub fn write(rows: &[Form], notes: &[String]) -> String {
    let mut out = ABOUT.to_owned();
    for note in notes {
        let _ = writeln!(out, "# {note}");
    }
    out.push_str("form,libtorch,bitsandbytes,corpus,kernels,runs,shuffles,differed\n");
    for row in rows {
        let Form { form, libtorch, bitsandbytes, corpus, kernels, runs, shuffles, differed } = row;
        let _ =
            writeln!(out, "{form},{libtorch},{bitsandbytes},{corpus},{kernels},{runs},{shuffles},{differed}");
    }
    out
}

/// The bars, and what is missing, for a person to read.
pub fn report(proven: &Proven) -> String {
    let Shares { occurrences, forms } = proven.shares();
    let mut out = String::new();
    for (name, (part, all), bar) in [("instructions", occurrences, OCCURRENCES), ("forms", forms, FORMS)] {
        let verdict = if reaches((part, all), bar) { "reached" } else { "NOT reached" };
        let share = 100.0 * part as f64 / all.max(1) as f64;
        let _ = writeln!(
            out,
            "{name}: {part} of {all} proven, {share:.3} % (bar {}.{} %: {verdict})",
            bar / 10,
            bar % 10
        );
    }
    let missing = proven.missing();
    let _ = writeln!(out, "{} forms missing: occurrences, equal and differing runs", missing.len());
    for row in missing {
        let _ = writeln!(out, "{:>10} {:>5} {:>5}  {}", row.occurrences(), row.runs, row.differed, row.form);
    }
    out
}

/// Whether a share reaches a bar in tenths of a per cent.
pub fn reaches((part, all): (u64, u64), bar: u64) -> bool {
    part * 1000 >= all * bar
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms::Count;

    fn run(kernel: &str, mode: &str, status: &str) -> Run {
        let [kernel, build, mode, status] = [kernel, "O3", mode, status].map(str::to_owned);
        Run { kernel, build, mode, status }
    }

    fn held(cubins: &[(&str, &[&str])]) -> Held {
        let names =
            |forms: &[&str]| -> BTreeSet<String> { forms.iter().map(|form| (*form).to_owned()).collect() };
        let modes = ["default", "rebuild", "reverse", "shuffle1"];
        let of = |cubin: &str, mode: &str| (format!("{cubin}.O3"), mode.to_owned());
        cubins.iter().flat_map(|(cubin, forms)| modes.map(|mode| (of(cubin, mode), names(forms)))).collect()
    }

    fn library(counts: &[(&str, u64)]) -> Forms {
        let count =
            |&(form, occurrences): &(&str, u64)| (form.to_owned(), Count { occurrences, functions: 1 });
        Forms { counts: counts.iter().map(count).collect(), functions: 1, instructions: 0 }
    }

    fn blame(form: &str, kernel: &str) -> Blamed {
        let [tables, form, kernel, source] = ["*", form, kernel, "a test"].map(str::to_owned);
        Blamed { tables, form, kernel, source }
    }

    #[test]
    fn only_changed_code_is_evidence() {
        let runs = [
            run("a", "default", "same"),
            run("a", "shuffle1", "equal"),
            run("a", "rebuild", "equal"),
            run("b", "default", "same"),
            run("b", "shuffle1", "schedule-failed"),
        ];
        let forms = library(&[("IADD3", 7), ("ELECT", 2)]);
        let held = held(&[("a", &["IADD3", "VOTE"]), ("b", &["ELECT"])]);
        let rows = rows(&[], &[(Library::Corpus, &forms)], &runs, &held, &[]).expect("nothing differs");
        let row = |form: &str| rows.iter().find(|row| row.form == form).cloned().unwrap_or_default();
        assert_eq!(rows.len(), 3);
        let Form { corpus, kernels, runs, shuffles, differed, .. } = row("IADD3");
        assert_eq!((corpus, kernels, runs, shuffles, differed), (7, 1, 2, 1, 0));
        assert_eq!((row("VOTE").corpus, row("VOTE").runs, row("ELECT").runs), (0, 2, 0));
    }

    #[test]
    fn a_difference_needs_somebody_to_blame() {
        let runs =
            [run("a", "default", "different"), run("a", "shuffle1", "equal"), run("b", "reverse", "hang")];
        let held = held(&[("a", &["IADD3", "R2P"]), ("b", &["IADD3"])]);
        let [a, b] = [blame("R2P", "a"), blame("BAR", "b")];
        let open = rows(&[], &[], &runs, &held, &[&a]).expect_err("b is not explained");
        assert_eq!(open, ["b.O3 reverse: hang"]);
        let rows = rows(&[], &[], &runs, &held, &[&a, &b]).expect("both are explained");
        let Form { kernels, runs, differed, .. } = &rows[0];
        assert_eq!((&*rows[0].form, *kernels, *runs, *differed), ("IADD3", 0, 1, 2));
    }

    #[test]
    fn libraries_that_are_not_at_hand_keep_their_counts() {
        let before = [
            Form { form: "IADD3".into(), libtorch: 9, corpus: 4, runs: 8, ..Form::default() },
            Form { form: "OLD".into(), corpus: 4, runs: 1, ..Form::default() },
        ];
        let forms = library(&[("IADD3", 5)]);
        let rows =
            rows(&before, &[(Library::Corpus, &forms)], &[], &BTreeMap::new(), &[]).expect("nothing differs");
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].libtorch, rows[0].corpus, rows[0].runs), (9, 5, 0));
    }

    #[test]
    fn what_is_written_is_read_back() {
        let row =
            Form { form: "IADD3".into(), libtorch: 995, kernels: 1, runs: 3, shuffles: 2, ..Form::default() };
        let other = Form { form: "ELECT".into(), corpus: 5, ..Form::default() };
        let notes = ["Libraries: some".to_owned(), "made by a test".to_owned()];
        let text = write(&[row.clone(), other], &notes);
        assert_eq!(library_notes(&text), notes[..1]);
        let proven = Proven::parse(&text, &[]).expect("a table");
        assert_eq!(proven.forms()[0], row);
        let report = report(&proven);
        assert!(report.contains("995 of 1000 proven, 99.500 % (bar 99.5 %: reached)"), "{report}");
        assert!(report.contains("1 of 2 proven, 50.000 % (bar 95.0 %: NOT reached)"), "{report}");
        assert!(report.ends_with("ELECT\n"), "{report}");
    }
}
