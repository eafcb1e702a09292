//! First contacts: wheels that nobody here has opened, verified and rescheduled as they come, with a ledger of what happened.
//!
//! Tables are mined from files, and a checker says little that is new about files that its tables come from. So every wheel is run before anything
//! is mined from it, and what comes out is written down for good: `docs/first-contact.csv` (see [`ledger`]). The commit stands in each row, hence the
//! work tree has to be clean.
//!
//! * [`wheel`]: getting wheels, and the files with device code in them;
//! * [`measure`](mod@measure): children with their time and memory;
//! * [`figures`]: what their reports say;
//! * [`ledger`]: rows, and what was opened before.
//!
//! Cost: five runs of `sassafras` per file, one after the other, so that their times and memory mean something; of the wheel, one unpacked file and one
//! rescheduled copy of it lie on disk at any time. With one thread, torchvision (2 files,
//! 0.9 million instructions) takes 75 seconds, nearly all of them in `schedule`.

mod figures;
mod ledger;
mod measure;
mod wheel;

use crate::project::{Project, run};
use anyhow::{Context, Result, bail};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use figures::{Scheduled, Verified, words};
use ledger::{Contact, Ledger, Row};
use measure::{End, Ended, measure};
use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};
use wheel::{Name, Request, Wheel};

/// The ledger.
const LEDGER: &str = "docs/first-contact.csv";
/// What was opened before there was one.
const OPENED: &str = "docs/opened-wheels.csv";
/// Reasons and pairs of opcodes that a row names.
const MOST_NAMED: usize = 4;
/// What `verify` says, with status 2, of files in which it finds nothing for it to check: PTX alone, host code alone, machines without tables.
const NOTHING: &str = "nothing in it was checked";
/// The longest note about one child, in characters.
const NOTE: usize = 200;

/// What to look at, and how.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Packages (the newest version), NAME==VERSION, or files that end in .whl
    #[arg(required = true, value_name = "WHEEL")]
    wheels: Vec<String>,
    /// Do this alone
    #[arg(long, value_name = "WHAT")]
    only: Option<Only>,
    /// Threads of each child; files are taken one after the other [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// The most seconds that a child may take; the row says where one was ended
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit_seconds: Option<u64>,
    /// Keep the unpacked files here
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Run with changes in the work tree; the commit in the rows gets a `+`
    #[arg(long)]
    dirty: bool,
    /// Where rows go
    #[arg(long, value_name = "FILE", default_value = LEDGER)]
    ledger: PathBuf,
    /// The program to run, instead of building it; of what commit it is cannot be known
    #[arg(long, value_name = "FILE", requires = "dirty")]
    sassafras: Option<PathBuf>,
}

/// A part of the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Only {
    /// Verify files as they come; schedule nothing
    Verify,
}

/// The task was asked for something that it does not do.
#[derive(Debug)]
pub struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// The whole.
pub fn first_contact(project: &Project, options: &Options) -> Result<()> {
    let commit = commit(project, options)?;
    let mut ledger = Ledger::load(project.root.join(&options.ledger), &project.root.join(OPENED))?;
    let sassafras = match &options.sassafras {
        Some(given) => std::path::absolute(given)?,
        None => {
            run(&mut project.cargo(["build", "--release", "-p", "sassafras-cli"]))?;
            project.target.join("release/sassafras")
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let children = Children {
        sassafras,
        jobs: options.jobs.map_or(cores, usize::from),
        limit: options.limit_seconds.map(Duration::from_secs),
        only: options.only,
    };
    let work = project.target.join("first-contact");
    fs::create_dir_all(&work).with_context(|| work.display().to_string())?;
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    for word in &options.wheels {
        let scratch = tempfile::tempdir_in(&work)?;
        let keep = options.keep.as_deref();
        let done = one_wheel(project, word, &children, &mut ledger, &commit, keep, scratch.path(), &mut rows);
        if let Err(error) = done {
            eprintln!("{word}: {error:#}");
            failures.push(format!("{word}: {error:#}"));
        }
    }
    eprint!("\n{}", table(&rows));
    let faults = rows.iter().filter(|row| is_bad(row)).count();
    if faults > 0 {
        failures.push(format!("{faults} of {} files: see above", rows.len()));
    }
    if !failures.is_empty() {
        bail!("something did not end as it should\n{}", failures.join("\n"));
    }
    Ok(())
}

/// The commit that rows stand beside. The ledger itself may have changed: rows are added to it.
fn commit(project: &Project, options: &Options) -> Result<String> {
    let git = |args: &[&str]| -> Result<String> {
        let output = project.command("git").args(args).output().context("cannot start git")?;
        if !output.status.success() {
            bail!("git {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let head = git(&["rev-parse", "--short=9", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--", ".", &format!(":(exclude){LEDGER}")])?;
    stated(&head, &changed, options.dirty, options.sassafras.is_some()).map_err(Into::into)
}

/// How a row names the commit; refused where that would not be what ran.
fn stated(head: &str, changed: &str, dirty: bool, given: bool) -> Result<String, Refused> {
    match (changed.lines().next(), dirty) {
        (Some(first), false) => Err(Refused(format!(
            "the work tree has changes ({first}), and rows name the commit; commit them, or say --dirty"
        ))),
        (None, _) if !given => Ok(head.to_owned()),
        _ => Ok(format!("{head}+")),
    }
}

/// Gets a wheel and goes through its files.
#[expect(clippy::too_many_arguments, reason = "the parts of one task, in one place")]
fn one_wheel(
    project: &Project,
    word: &str,
    children: &Children,
    ledger: &mut Ledger,
    commit: &str,
    keep: Option<&Path>,
    scratch: &Path,
    rows: &mut Vec<Row>,
) -> Result<()> {
    let [download, unpacked, out] = ["wheel", "unpacked", "out"].map(|name| scratch.join(name));
    for folder in [&download, &unpacked, &out] {
        fs::create_dir(folder)?;
    }
    let path = Request::new(word).get(project, &download)?;
    let name = Name::of(&path)?;
    let contact = ledger.contact(&name);
    let others = ledger.other_versions(&name).join(", ");
    let Name { name: package, version } = &name;
    match contact {
        Contact::First => eprintln!("{package} {version}: a first contact"),
        Contact::Again => eprintln!("{package} {version} was opened before: its rows say `again`"),
    }
    if !others.is_empty() {
        eprintln!("note: {package} was opened before in version {others}");
    }
    let mut opened = Wheel::open(&path)?;
    let members = opened.device_code()?;
    let row = |file: &str| Row::new(contact, &name, file, &today(), commit, children.jobs);
    if members.is_empty() {
        let none = Row { note: "no file holds device code".to_owned(), ..row("") };
        ledger.append(&none)?;
        rows.push(none);
    }
    for (place, member) in members.iter().enumerate() {
        eprintln!("{}/{} {}", place + 1, members.len(), member.path);
        let folder = keep.map(|keep| keep.join(format!("{package}-{version}")));
        let mut row = row(&member.path);
        let file = opened.unpack(member, folder.as_ref().unwrap_or(&unpacked));
        match &file {
            Ok(file) => children.look(file, &out, &mut row)?,
            Err(error) => fault(&mut row, "unpacking", &format!("{error:#}")),
        }
        // Before anything else happens to the wheel.
        ledger.append(&row)?;
        rows.push(row);
        // A child that was killed leaves what it had written so far.
        fs::remove_dir_all(&out)?;
        fs::create_dir(&out)?;
        if let (Ok(file), None) = (file, keep) {
            fs::remove_file(&file).with_context(|| file.display().to_string())?;
        }
    }
    Ok(())
}

/// The runs of the program.
#[derive(Debug)]
struct Children {
    sassafras: PathBuf,
    jobs: usize,
    limit: Option<Duration>,
    only: Option<Only>,
}

/// What a way of scheduling gives a row.
#[derive(Debug, Default)]
struct Way {
    kept: Option<u64>,
    reasons: String,
    moved: Option<u64>,
    verdict: String,
    seconds: Option<f64>,
    megabytes: Option<u64>,
}

impl Children {
    /// All runs for one file.
    fn look(&self, file: &Path, out: &Path, row: &mut Row) -> Result<()> {
        let verified = self.verify(file, out, row)?;
        if self.only == Some(Only::Verify) {
            return Ok(());
        }
        let alarms = verified.map(|verified| verified.alarms());
        let way =
            self.schedule("height", &["--strategy", "height", "--keep-capsules"], file, alarms, out, row)?;
        row.height_kept = way.kept;
        row.height_reasons = way.reasons;
        row.height_moved = way.moved;
        row.height_verdict = way.verdict;
        (row.height_s, row.height_mb) = (way.seconds, way.megabytes);
        let way = self.schedule("default", &[], file, alarms, out, row)?;
        row.default_kept = way.kept;
        row.default_reasons = way.reasons;
        row.default_moved = way.moved;
        row.default_verdict = way.verdict;
        (row.default_s, row.default_mb) = (way.seconds, way.megabytes);
        Ok(())
    }

    fn run(&self, command: &mut Command, out: &Path) -> Result<Ended> {
        measure(command.env("RAYON_NUM_THREADS", self.jobs.to_string()), out, self.limit)
    }

    /// The file as it came.
    fn verify(&self, file: &Path, out: &Path, row: &mut Row) -> Result<Option<Verified>> {
        let ended = self.run(Command::new(&self.sassafras).arg("verify").arg(file).arg("--json"), out)?;
        (row.verify_s, row.verify_mb) = (Some(tenths(ended.seconds)), Some(megabytes(ended.peak)));
        let verified = match read(&ended, &[0, 1], Verified::read) {
            Ok(verified) => verified,
            Err(_) if ended.end == End::Exit(2) && ended.why().contains(NOTHING) => {
                note(row, "verify", &ended.why());
                return Ok(None);
            }
            Err(what) => {
                fault(row, "verify", &what);
                return Ok(None);
            }
        };
        row.architectures = in_order(&verified.archs);
        row.functions = Some(verified.functions);
        row.unchecked = Some(verified.unchecked);
        row.instructions = Some(verified.instructions);
        row.opaque = Some(verified.opaque);
        row.pairs = Some(verified.pairs);
        row.unknown = Some(verified.unknown);
        row.unknown_percent = Some(hundredths(share(verified.unknown, verified.pairs)));
        row.alarms = Some(verified.alarms());
        row.alarm_kinds = words(&verified.kinds, usize::MAX);
        row.alarm_opcodes = words(&verified.opcodes, MOST_NAMED);
        Ok(Some(verified))
    }

    /// A rescheduled copy, and whether it is legal.
    fn schedule(
        &self,
        name: &str,
        options: &[&str],
        file: &Path,
        alarms: Option<u64>,
        out: &Path,
        row: &mut Row,
    ) -> Result<Way> {
        let made = out.join("rescheduled");
        let mut command = Command::new(&self.sassafras);
        command.arg("schedule").arg(file).arg("-o").arg(&made).arg("--json").args(options);
        let ended = self.run(command.args(["--jobs", &self.jobs.to_string()]), out)?;
        let mut way = Way {
            seconds: Some(tenths(ended.seconds)),
            megabytes: Some(megabytes(ended.peak)),
            ..Way::default()
        };
        match read(&ended, &[0], Scheduled::read) {
            Ok(scheduled) => {
                way.kept = Some(scheduled.kept);
                way.reasons = words(&scheduled.reasons, MOST_NAMED);
            }
            Err(what) => {
                fault(row, name, &what);
                let _ = fs::remove_file(&made);
                return Ok(way);
            }
        }
        drop(ended);
        let mut command = Command::new(&self.sassafras);
        command.arg("verify").arg(&made).arg("--against").arg(file).arg("--json");
        let ended = self.run(&mut command, out)?;
        match read(&ended, &[0, 1], Verified::read) {
            Ok(verified) => {
                way.moved = Some(verified.moved);
                way.verdict = verdict(&verified, alarms);
            }
            Err(what) => fault(row, &format!("{name} against"), &what),
        }
        fs::remove_file(&made).with_context(|| made.display().to_string())?;
        Ok(way)
    }
}

/// The report of a child that ended with one of these statuses, or what happened instead.
fn read<T>(
    ended: &Ended,
    expected: &[i32],
    parse: impl FnOnce(std::io::BufReader<fs::File>) -> Result<T>,
) -> Result<T, String> {
    match ended.end {
        End::Exit(status) if expected.contains(&status) => {
            ended.output().and_then(parse).map_err(|error| format!("exit status {status}, and {error:#}"))
        }
        End::Exit(status) => Err(format!("exit status {status}: {}", ended.why())),
        End::Signal(signal) => Err(format!("killed by signal {signal}: {}", ended.why())),
        End::TimedOut => Err(format!("timed out after {:.0} s", ended.seconds)),
    }
}

/// What `verify --against` says, where the original had so many alarms, if that is known.
fn verdict(verified: &Verified, alarms: Option<u64>) -> String {
    let more = alarms.map_or(0, |alarms| verified.alarms().saturating_sub(alarms));
    match (verified.differences, more) {
        (None, _) => "not compared".to_owned(),
        (Some(0), 0) => "legal".to_owned(),
        (Some(0), more) => format!("illegal: {more} more alarms"),
        (Some(differences), _) => format!("illegal: {differences} differences"),
    }
}

/// Notes a child that did not end as it should.
fn fault(row: &mut Row, who: &str, what: &str) {
    row.faulty = true;
    note(row, who, what);
}

/// Adds to the note of a row, in one line without places of this machine.
fn note(row: &mut Row, who: &str, what: &str) {
    let words = what.split_whitespace().map(|word| match word.starts_with('/') {
        true => word.rsplit('/').next().unwrap_or_default(),
        false => word,
    });
    let line = words.collect::<Vec<_>>().join(" ");
    let line: String = line.chars().take(NOTE).collect();
    if !row.note.is_empty() {
        row.note.push_str("; ");
    }
    row.note.push_str(&format!("{who}: {}", line.trim_end_matches([' ', ':'])));
}

/// Whether something in a row must not be: a child that ended otherwise than it should, or a result that is not legal. Alarms are figures.
fn is_bad(row: &Row) -> bool {
    let verdicts = [&row.height_verdict, &row.default_verdict];
    row.faulty || verdicts.iter().any(|verdict| !verdict.is_empty() && *verdict != "legal")
}

/// The rows of this run for people, with a line for all.
fn table(rows: &[Row]) -> String {
    let heading = [
        "file",
        "contact",
        "functions",
        "instructions",
        "alarms",
        "per million",
        "unknown",
        "kept height",
        "kept default",
        "against",
        "verify",
        "height",
        "default",
    ];
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(heading);
    for column in (2..heading.len()).filter(|&column| heading[column] != "against") {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for row in rows {
        let name = row.file.rsplit('/').next().unwrap_or_default();
        let contact = match row.contact {
            Contact::First => "first",
            Contact::Again => "again",
        };
        let mut cells = vec![format!("{} {} {name}", row.wheel, row.version), contact.to_owned()];
        cells.extend(Totals::of(std::slice::from_ref(row)).cells());
        cells.push(against(row));
        cells.extend([
            cost(row.verify_s, row.verify_mb),
            cost(row.height_s, row.height_mb),
            cost(row.default_s, row.default_mb),
        ]);
        table.add_row(cells);
    }
    let mut cells = vec![format!("all {}", rows.len()), String::new()];
    cells.extend(Totals::of(rows).cells());
    let bad = rows.iter().filter(|row| is_bad(row)).count();
    cells.push(if bad == 0 { String::new() } else { format!("{bad} with faults") });
    let sum = |seconds: fn(&Row) -> Option<f64>| {
        let all: Vec<f64> = rows.iter().filter_map(seconds).collect();
        if all.is_empty() { String::new() } else { format!("{:.1} s", all.iter().sum::<f64>()) }
    };
    cells.extend([sum(|row| row.verify_s), sum(|row| row.height_s), sum(|row| row.default_s)]);
    table.add_row(cells);
    let mut text: String = table.to_string().lines().map(|line| format!("{}\n", line.trim_end())).collect();
    for row in rows.iter().filter(|row| !row.note.is_empty()) {
        text.push_str(&format!("{} {} {}: {}\n", row.wheel, row.version, row.file, row.note));
    }
    text
}

/// Both verdicts in a word, where they agree.
fn against(row: &Row) -> String {
    match (row.height_verdict.as_str(), row.default_verdict.as_str()) {
        (height, default) if height == default => height.to_owned(),
        (height, default) => {
            let or_none = |verdict: &str| if verdict.is_empty() { "none" } else { verdict }.to_owned();
            format!("{}, {}", or_none(height), or_none(default))
        }
    }
}

fn cost(seconds: Option<f64>, megabytes: Option<u64>) -> String {
    match (seconds, megabytes) {
        (Some(seconds), Some(megabytes)) => format!("{seconds:.1} s {megabytes} MB"),
        _ => String::new(),
    }
}

/// Figures of several rows.
#[derive(Debug, Default)]
struct Totals {
    /// Whether anything is known.
    verified: bool,
    functions: u64,
    instructions: u64,
    pairs: u64,
    unknown: u64,
    alarms: u64,
    /// Kept, and all functions of the rows where that is known: by height, and by default.
    kept: [(u64, u64); 2],
}

impl Totals {
    fn of(rows: &[Row]) -> Totals {
        let mut totals = Totals::default();
        for row in rows {
            let functions = row.functions.unwrap_or(0) + row.unchecked.unwrap_or(0);
            totals.verified |= row.instructions.is_some();
            totals.functions += functions;
            totals.instructions += row.instructions.unwrap_or(0);
            totals.pairs += row.pairs.unwrap_or(0);
            totals.unknown += row.unknown.unwrap_or(0);
            totals.alarms += row.alarms.unwrap_or(0);
            for (sum, kept) in totals.kept.iter_mut().zip([row.height_kept, row.default_kept]) {
                if let Some(kept) = kept {
                    sum.0 += kept;
                    sum.1 += functions;
                }
            }
        }
        totals
    }

    fn cells(&self) -> Vec<String> {
        let million = self.alarms as f64 * 1e6 / self.instructions.max(1) as f64;
        if !self.verified {
            return vec![String::new(); 7];
        }
        let mut cells = vec![
            self.functions.to_string(),
            self.instructions.to_string(),
            self.alarms.to_string(),
            format!("{million:.1}"),
            format!("{:.2} %", share(self.unknown, self.pairs)),
        ];
        cells.extend(self.kept.map(|(kept, of)| match of {
            0 => String::new(),
            _ => format!("{kept} {:.1} %", share(kept, of)),
        }));
        cells
    }
}

/// Names of architectures by their numbers.
fn in_order(archs: &BTreeSet<String>) -> String {
    let mut names: Vec<&str> = archs.iter().map(String::as_str).collect();
    // Names are in the order of letters, so that sm_90 comes before sm_90a.
    names.sort_by_key(|name| {
        let number: String = name.chars().filter(char::is_ascii_digit).collect();
        number.parse::<u32>().unwrap_or(u32::MAX)
    });
    names.join(" ")
}

/// In percent.
fn share(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// Of 1,000,000 bytes, rounded up.
fn megabytes(bytes: u64) -> u64 {
    bytes.div_ceil(1_000_000)
}

/// The day by UTC, as `2026-01-31`.
fn today() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    date(since.as_secs() / 86_400)
}

/// The day so many days after 1970-01-01. Years are counted from March, so that the day that some years have more is their last.
fn date(days: u64) -> String {
    // From 0000-03-01, in eras of 400 years, which all have as many days.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = match month {
        0..10 => (era * 400 + year_of_era, month + 3),
        _ => (era * 400 + year_of_era + 1, month - 9),
    };
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::os::unix::fs::PermissionsExt;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn row(file: &str) -> Row {
        let name = Name { name: "tiny".to_owned(), version: "1.0".to_owned() };
        Row::new(Contact::First, &name, file, "2026-01-02", "abc", 1)
    }

    /// A stand-in for the program, and a file for it.
    fn stand_in(script: &str, limit: Option<u64>) -> (tempfile::TempDir, Children) {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("sassafras");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("written");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
        fs::write(folder.path().join("k.so"), "").expect("written");
        let limit = limit.map(Duration::from_secs);
        (folder, Children { sassafras: program, jobs: 3, limit, only: None })
    }

    fn look(script: &str, limit: Option<u64>) -> Row {
        let (folder, children) = stand_in(script, limit);
        let mut row = row("lib/k.so");
        children.look(&folder.path().join("k.so"), folder.path(), &mut row).expect("it runs");
        let left = fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, 2, "nothing is left but the program and the file");
        row
    }

    const KERNEL: &str =
        r#"{"arch": "sm_90", "instructions": 8, "opaque": 0, "pairs": 40, "unknown": 1, "hazards": []}"#;

    #[test]
    fn a_row_has_what_the_runs_say() {
        let script = format!(
            r#"case "$1 $*" in
            "verify "*--against*) echo '{{"schema": 1, "kernels": [{KERNEL}], "reordering": {{"moved": 5, "differences": []}}}}' ;;
            "verify "*) echo '{{"schema": 1, "kernels": [{KERNEL}], "unchecked": {{"old": 3}}}}' ;;
            *height*--keep-capsules*"--jobs 3") touch "$4"; echo '{{"schema": 1, "kernels": [{{"kept": null}}]}}' ;;
            *"--jobs 3") touch "$4"; echo '{{"schema": 1, "kernels": [{{"kept": "why"}}]}}' ;;
            esac"#
        );
        let row = look(&script, Some(60));
        assert_eq!(row.note, "");
        assert_eq!((row.functions, row.unchecked, row.unknown_percent), (Some(1), Some(3), Some(2.5)));
        assert_eq!(
            (row.height_kept, row.default_kept, row.default_reasons.as_str()),
            (Some(0), Some(1), "why 1")
        );
        assert_eq!((row.height_moved, row.height_verdict.as_str()), (Some(5), "legal"));
        assert!(row.verify_mb.is_some() && row.height_s.is_some() && row.default_mb.is_some());
        assert!(!is_bad(&row));
        let none = Row { note: "verify: nothing".to_owned(), ..row.clone() };
        assert!(!is_bad(&none));
        let text = table(&[row]);
        assert!(text.contains("tiny 1.0 k.so  first") && text.contains("1 25.0 %"), "{text}");
    }

    #[test]
    fn a_row_says_what_went_wrong() {
        let row = look("echo 'error: cannot read '$2': no image' >&2; exit 2", None);
        assert_eq!(
            row.note,
            "verify: exit status 2: cannot read k.so: no image; height: exit status 2: cannot read k.so: no image; \
             default: exit status 2: cannot read k.so: no image"
        );
        assert!(is_bad(&row) && row.alarms.is_none() && row.verify_s.is_some());
        // That there is nothing for `verify` is no fault.
        let nothing =
            "[ $1 = verify ] && { echo 'error: k.so: nothing in it was checked: PTX' >&2; exit 2; }; exit 3";
        let row = look(nothing, None);
        assert!(
            row.note.starts_with("verify: k.so: nothing in it was checked: PTX; height: exit status 3"),
            "{}",
            row.note
        );
        let row = look("kill -SEGV $$", None);
        assert_eq!(
            row.note,
            "verify: killed by signal 11; height: killed by signal 11; default: killed by signal 11"
        );
        let row = look("[ $1 = verify ] || exec sleep 100; echo '{\"schema\": 1, \"kernels\": []}'", Some(1));
        assert_eq!(row.note, "height: timed out after 1 s; default: timed out after 1 s");
        assert_eq!((row.alarms, row.height_kept, row.height_verdict.as_str()), (Some(0), None, ""));
        let row = look("echo '{\"schema\": 1'", None);
        assert!(row.note.starts_with("verify: exit status 0, and the report of verify: EOF"), "{}", row.note);
    }

    #[test]
    fn verdicts() {
        let mut verified = Verified { differences: Some(0), ..Verified::default() };
        assert_eq!(verdict(&verified, Some(0)), "legal");
        verified.kinds.insert("raw".to_owned(), 3);
        assert_eq!(verdict(&verified, Some(3)), "legal");
        assert_eq!(verdict(&verified, Some(1)), "illegal: 2 more alarms");
        assert_eq!(verdict(&verified, None), "legal");
        verified.differences = Some(2);
        assert_eq!(verdict(&verified, Some(3)), "illegal: 2 differences");
        let bad_row = Row { default_verdict: "illegal: 2 differences".to_owned(), ..row("k.so") };
        assert!(is_bad(&bad_row) && !is_bad(&row("k.so")));
        assert_eq!(against(&bad_row), "none, illegal: 2 differences");
    }

    #[test]
    fn totals_count_each_instruction_once() {
        let one = Row {
            functions: Some(30),
            unchecked: Some(10),
            instructions: Some(1_000_000),
            pairs: Some(1_000),
            unknown: Some(10),
            alarms: Some(4),
            height_kept: Some(4),
            ..row("a.so")
        };
        let other = Row {
            functions: Some(60),
            instructions: Some(3_000_000),
            pairs: Some(3_000),
            unknown: Some(10),
            alarms: Some(0),
            ..row("b.so")
        };
        let cells = Totals::of(&[one, other]).cells();
        // Kept is a share of the functions of files that were scheduled.
        assert_eq!(cells, ["100", "4000000", "4", "1.0", "0.50 %", "4 10.0 %", ""]);
        assert_eq!(Totals::of(&[row("c.so")]).cells(), [""; 7], "what is not known is no zero");
    }

    #[test]
    fn changes_are_refused_unless_said() {
        assert_eq!(stated("abc", "", false, false).expect("clean"), "abc");
        assert_eq!(stated("abc", "", true, false).expect("clean"), "abc");
        assert_eq!(stated("abc", " M x.rs\n?? y", true, false).expect("said"), "abc+");
        assert_eq!(stated("abc", "", true, true).expect("another program"), "abc+");
        let refused = stated("abc", " M x.rs\n?? y", false, false).unwrap_err();
        assert!(
            refused.to_string().contains("M x.rs") && refused.to_string().contains("--dirty"),
            "{refused}"
        );
        assert!(Line::try_parse_from(["x", "torch", "--sassafras", "s"]).is_err());
        assert!(Line::try_parse_from(["x"]).is_err());
        let line = Line::try_parse_from(["x", "torch", "--only", "verify", "--jobs", "2"]).expect("a line");
        assert_eq!((line.options.only, line.options.jobs), (Some(Only::Verify), Some(2)));
    }

    #[test]
    fn architectures_stand_in_order() {
        let archs = ["sm_100", "sm_90a", "sm_75", "sm_90", "sm_120f"].map(str::to_owned);
        assert_eq!(in_order(&archs.into()), "sm_75 sm_90 sm_90a sm_100 sm_120f");
    }

    #[test]
    fn days_have_dates() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (789, "1972-02-29"),
            (11_016, "2000-02-29"),
            (20_453, "2025-12-31"),
            (47_540, "2100-02-28"),
            (47_541, "2100-03-01"),
        ] {
            assert_eq!(date(days), expected);
        }
    }
}
