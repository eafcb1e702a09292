//! The ledger of first contacts, and what was opened before there was one.
//!
//! `docs/first-contact.csv` has a row for every file with device code that the task has run on. Rows are only ever added, each as soon as it is
//! known, so that an interrupted run leaves what it found. A wheel of which a version stands in the ledger, or in `docs/opened-wheels.csv`, has
//! been seen: its rows say `again`, since tables may hold what was mined from it.
//!
//! Cost: both files are read once; a row is one write.

use super::wheel::{Name, normal};
use anyhow::{Context, Result, ensure};
use csv::{ReaderBuilder, StringRecord, WriterBuilder};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Whether a wheel is new to the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Contact {
    /// Nothing of this version was ever opened.
    First,
    /// It was.
    Again,
}

/// A file with device code. Empty cells are figures that there are none of: what is missing has its reason in `note`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub contact: Contact,
    pub wheel: String,
    pub version: String,
    pub file: String,
    /// The day, by UTC.
    pub date: String,
    /// Of the project; with `+` where the work tree had changes.
    pub commit: String,
    /// Threads of each child.
    pub jobs: usize,
    pub architectures: String,
    /// Code sections that were checked, and those that were not.
    pub functions: Option<u64>,
    pub unchecked: Option<u64>,
    pub instructions: Option<u64>,
    pub opaque: Option<u64>,
    pub pairs: Option<u64>,
    pub unknown: Option<u64>,
    pub unknown_percent: Option<f64>,
    pub alarms: Option<u64>,
    pub alarm_kinds: String,
    pub alarm_opcodes: String,
    /// By `--strategy height --keep-capsules`: sections that stay as they came and why, instructions that moved, what `verify --against` says.
    pub height_kept: Option<u64>,
    pub height_reasons: String,
    pub height_moved: Option<u64>,
    pub height_verdict: String,
    /// The same by default.
    pub default_kept: Option<u64>,
    pub default_reasons: String,
    pub default_moved: Option<u64>,
    pub default_verdict: String,
    pub verify_s: Option<f64>,
    pub verify_mb: Option<u64>,
    pub height_s: Option<f64>,
    pub height_mb: Option<u64>,
    pub default_s: Option<f64>,
    pub default_mb: Option<u64>,
    /// What did not end as it should, and files that nothing could be said about.
    pub note: String,
    /// Whether a child of this run did not end as it should; not written down.
    #[serde(skip)]
    pub faulty: bool,
}

impl Row {
    /// A row without figures.
    pub fn new(contact: Contact, wheel: &Name, file: &str, date: &str, commit: &str, jobs: usize) -> Row {
        Row {
            contact,
            wheel: wheel.name.clone(),
            version: wheel.version.clone(),
            file: file.to_owned(),
            date: date.to_owned(),
            commit: commit.to_owned(),
            jobs,
            architectures: String::new(),
            functions: None,
            unchecked: None,
            instructions: None,
            opaque: None,
            pairs: None,
            unknown: None,
            unknown_percent: None,
            alarms: None,
            alarm_kinds: String::new(),
            alarm_opcodes: String::new(),
            height_kept: None,
            height_reasons: String::new(),
            height_moved: None,
            height_verdict: String::new(),
            default_kept: None,
            default_reasons: String::new(),
            default_moved: None,
            default_verdict: String::new(),
            verify_s: None,
            verify_mb: None,
            height_s: None,
            height_mb: None,
            default_s: None,
            default_mb: None,
            note: String::new(),
            faulty: false,
        }
    }
}

/// A wheel that was opened before the ledger was begun.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Opened {
    name: String,
    version: String,
}

/// The ledger.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    /// The versions that were opened of each package.
    seen: BTreeMap<String, BTreeSet<String>>,
}

impl Ledger {
    /// Reads a ledger, which may be new, and the list of what was opened before.
    pub fn load(path: PathBuf, opened: &Path) -> Result<Ledger> {
        let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut reader = ReaderBuilder::new().comment(Some(b'#')).from_path(opened)?;
        for row in reader.deserialize() {
            let Opened { name, version } = row.with_context(|| opened.display().to_string())?;
            seen.entry(normal(&name)).or_default().insert(version);
        }
        for row in rows(&path)? {
            seen.entry(row.wheel).or_default().insert(row.version);
        }
        Ok(Ledger { path, seen })
    }

    /// Whether a wheel is new.
    pub fn contact(&self, wheel: &Name) -> Contact {
        match self.seen.get(&wheel.name).is_some_and(|versions| versions.contains(&wheel.version)) {
            true => Contact::Again,
            false => Contact::First,
        }
    }

    /// Other versions of it that were opened.
    pub fn other_versions(&self, wheel: &Name) -> Vec<&str> {
        let versions = self.seen.get(&wheel.name).into_iter().flatten();
        versions.map(String::as_str).filter(|&version| version != wheel.version).collect()
    }

    /// Adds a row, on disk too.
    pub fn append(&mut self, row: &Row) -> Result<()> {
        let file = OpenOptions::new().create(true).append(true).open(&self.path);
        let mut file = file.with_context(|| self.path.display().to_string())?;
        let new = file.metadata()?.len() == 0;
        let mut line = WriterBuilder::new().has_headers(new).from_writer(Vec::new());
        line.serialize(row)?;
        file.write_all(&line.into_inner()?).with_context(|| self.path.display().to_string())?;
        self.seen.entry(row.wheel.clone()).or_default().insert(row.version.clone());
        Ok(())
    }
}

/// The names of the columns.
fn header() -> Result<StringRecord> {
    let name = Name { name: String::new(), version: String::new() };
    let mut lines = WriterBuilder::new().from_writer(Vec::new());
    lines.serialize(Row::new(Contact::First, &name, "", "", "", 1))?;
    Ok(ReaderBuilder::new().from_reader(&*lines.into_inner()?).headers()?.clone())
}

/// The rows of a ledger; none where there is no file.
pub fn rows(path: &Path) -> Result<Vec<Row>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    // A row behind half a row would be neither.
    ensure!(text.is_empty() || text.ends_with('\n'), "{}: the last row is not whole", path.display());
    let mut reader = ReaderBuilder::new().from_reader(text.as_bytes());
    if !text.is_empty() {
        ensure!(*reader.headers()? == header()?, "{}: has other columns than rows have", path.display());
    }
    let rows = reader.deserialize().collect::<Result<Vec<Row>, _>>();
    rows.with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::Project;

    fn name(name: &str, version: &str) -> Name {
        Name { name: name.to_owned(), version: version.to_owned() }
    }

    fn full() -> Row {
        Row {
            architectures: "sm_80 sm_90".to_owned(),
            functions: Some(10),
            instructions: Some(1_000),
            unknown_percent: Some(1.25),
            alarms: Some(15),
            alarm_kinds: "raw 3; war 12".to_owned(),
            height_reasons: "a \"quoted\" reason, with a comma\nand a line 1".to_owned(),
            height_verdict: "legal".to_owned(),
            verify_s: Some(0.5),
            verify_mb: Some(60),
            ..Row::new(Contact::First, &name("tiny", "1.0"), "a/b.so", "2026-01-02", "abc+", 2)
        }
    }

    fn ledger(folder: &Path, opened: &str) -> Result<Ledger> {
        fs::write(folder.join("opened.csv"), opened).expect("written");
        Ledger::load(folder.join("ledger.csv"), &folder.join("opened.csv"))
    }

    #[test]
    fn rows_come_back_as_they_were() {
        let folder = tempfile::tempdir().expect("a folder");
        let empty = Row::new(Contact::Again, &name("tiny", "1.0"), "c.a", "2026-01-02", "abc", 1);
        for row in [full(), empty.clone()] {
            ledger(folder.path(), "name,version\n").expect("read").append(&row).expect("added");
        }
        let path = folder.path().join("ledger.csv");
        assert_eq!(rows(&path).expect("rows"), [full(), empty]);
        let text = fs::read_to_string(&path).expect("text");
        assert_eq!(text.matches("contact,wheel,version,file,date,commit").count(), 1);
    }

    #[test]
    fn a_wheel_is_met_for_the_first_time_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut open =
            ledger(folder.path(), "# before\nname,version\nOld-Lib,2.0\nOld-Lib,2.1\n").expect("read");
        assert_eq!(open.contact(&name("tiny", "1.0")), Contact::First);
        assert_eq!(open.contact(&name("old_lib", "2.0")), Contact::Again);
        // Another version is a contact of its own, and says so.
        assert_eq!(open.contact(&name("old_lib", "3.0")), Contact::First);
        assert_eq!(open.other_versions(&name("old_lib", "3.0")), ["2.0", "2.1"]);
        assert_eq!(open.other_versions(&name("old_lib", "2.1")), ["2.0"]);
        assert!(open.other_versions(&name("tiny", "1.0")).is_empty());
        open.append(&full()).expect("added");
        assert_eq!(open.contact(&name("tiny", "1.0")), Contact::Again);
        let read = ledger(folder.path(), "name,version\n").expect("read again");
        assert_eq!(read.contact(&name("tiny", "1.0")), Contact::Again);
        assert_eq!(read.contact(&name("tiny", "1.1")), Contact::First);
    }

    #[test]
    fn broken_ledgers_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        ledger(folder.path(), "name,version\n").expect("read").append(&full()).expect("added");
        let path = folder.path().join("ledger.csv");
        let text = fs::read_to_string(&path).expect("text");
        for broken in [
            text[..text.len() - 1].to_owned(),
            text.replace("first,", "maybe,"),
            text.replace("functions,", "routines,"),
        ] {
            assert_ne!(broken, text);
            fs::write(&path, broken).expect("written");
            assert!(ledger(folder.path(), "name,version\n").is_err());
        }
        fs::remove_file(&path).expect("removed");
        assert!(ledger(folder.path(), "name\nx\n").is_err());
    }

    #[test]
    fn the_committed_files_are_read() {
        let docs = Project::find().expect("the project").root.join("docs");
        let committed =
            Ledger::load(docs.join("first-contact.csv"), &docs.join("opened-wheels.csv")).expect("readable");
        assert_eq!(committed.contact(&name("torchaudio", "2.11.0")), Contact::Again);
        assert_eq!(committed.contact(&name("nvidia_cusolver", "12.0.4.66")), Contact::Again);
        assert_eq!(committed.other_versions(&name("nvidia_cusolver", "12.0.4.66")), ["12.3.5.3"]);
    }
}
