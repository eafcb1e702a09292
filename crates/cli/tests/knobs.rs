//! Knobs do what their table says: every reader of every knob is shown on a file that the knob changes, and a run that does not
//! read a knob says so.

use sassafras_knobs::registry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A row of `knobs.csv`.
struct Row {
    knob: String,
    value: String,
    reader: String,
    file: PathBuf,
    arguments: Vec<String>,
}

fn rows() -> Vec<Row> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder");
    let lines = include_str!("knobs.csv").lines().filter(|line| !line.starts_with('#')).skip(1);
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let [knob, value, reader, file, arguments] = fields[..] else { panic!("five fields: {line}") };
        Row {
            knob: knob.to_owned(),
            value: value.to_owned(),
            reader: reader.to_owned(),
            file: crates.join(file),
            arguments: arguments.split_whitespace().map(str::to_owned).collect(),
        }
    };
    lines.map(row).collect()
}

/// What a run gives: its report, what it says, and the files that it writes.
type Given = (Vec<u8>, String, BTreeMap<String, Vec<u8>>);

fn run(command: &str, file: &Path, arguments: &[String], knob: Option<&str>) -> Given {
    let folder = tempfile::tempdir().expect("a folder");
    let mut program = Command::new(env!("CARGO_BIN_EXE_sassafras"));
    program.arg(command).arg(file).args(arguments).current_dir(folder.path());
    if command != "deps" {
        program.args(["-o", "out"]);
    }
    let done =
        program.args(knob.map(|knob| ["--knob", knob]).into_iter().flatten()).output().expect("it runs");
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{} {arguments:?} {knob:?}: {said}", file.display());
    let entries = fs::read_dir(folder.path()).expect("a folder").map(|entry| entry.expect("a file"));
    let written = entries.map(|entry| {
        (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).expect("readable"))
    });
    let written = written.collect();
    (done.stdout, said, written)
}

#[test]
fn every_reader_of_every_knob_is_shown() {
    let shown: BTreeSet<(String, String)> = rows().into_iter().map(|row| (row.knob, row.reader)).collect();
    let readers = |knob: &'static sassafras_knobs::Knob| {
        knob.used_by.iter().map(|reader| (knob.name.clone(), reader.clone()))
    };
    let stated: BTreeSet<(String, String)> = registry().iter().flat_map(readers).collect();
    let missing: Vec<_> = stated.difference(&shown).collect();
    assert!(missing.is_empty(), "no row of knobs.csv shows {missing:?}");
    let unstated: Vec<_> = shown.difference(&stated).collect();
    assert!(unstated.is_empty(), "knobs.toml does not name the readers {unstated:?}");
}

#[test]
fn a_knob_changes_what_its_readers_give() {
    let mut plain = BTreeMap::new();
    for Row { knob, value, reader, file, arguments } in rows() {
        let command = reader.split(' ').next().expect("a command");
        let key = (command.to_owned(), file.clone(), arguments.clone());
        let (report, _, written) =
            plain.entry(key).or_insert_with(|| run(command, &file, &arguments, None)).clone();
        let (with_report, said, with_written) =
            run(command, &file, &arguments, Some(&format!("{knob}={value}")));
        assert!(report != with_report || written != with_written, "{knob}={value} changes nothing: {reader}");
        assert!(!said.contains("warning"), "{knob} is read by `{reader}`, and the command says: {said}");
    }
}

#[test]
fn a_run_says_which_knobs_it_does_not_read() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder");
    let cases = [
        (
            "schedule",
            "cli/tests/cmd/binary.in/good.cubin",
            "",
            "enable-post-misched=false",
            "schedule binary tepid",
        ),
        (
            "schedule",
            "cli/tests/cmd/binary.in/good.cubin",
            "",
            "enable-misched=false",
            "schedule binary tepid",
        ),
        (
            "schedule",
            "passes/tests/filetests/stalls.sir",
            "--strategy list-burr",
            "disable-sched-stalls=true",
            "schedule text list-burr",
        ),
        (
            "schedule",
            "passes/tests/filetests/wmma.ptx",
            "--strategy list-burr",
            "max-sched-reorder=0",
            "schedule ptx list-burr",
        ),
        ("tile", "cli/samples/matmul.tile", "", "max-sched-reorder=0", "tile"),
        ("deps", "passes/tests/filetests/stalls.sir", "", "rrt-size-threshold=1", "deps"),
    ];
    for (command, file, arguments, knob, says) in cases {
        let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        let file = crates.join(file);
        let (report, _, written) = run(command, &file, &arguments, None);
        let (with_report, said, with_written) = run(command, &file, &arguments, Some(knob));
        assert_eq!(
            (report, written),
            (with_report, with_written),
            "{knob} is read by {command} {arguments:?}"
        );
        let name = knob.split('=').next().expect("a name");
        let expected = format!("warning: `{says}` does not read the knob `{name}`; it has no effect");
        assert!(said.contains(&expected), "{expected}\n{said}");
    }
    let (_, said, _) = run("schedule", &crates.join(cases[0].1), &[], Some("knob-805=3"));
    assert!(said.contains("nothing reads the knob `knob-805` yet"), "{said}");
    // `auto` draws from all list strategies.
    let (_, said, _) = run("schedule", &crates.join(cases[3].1), &[], Some("max-sched-reorder=0"));
    assert!(!said.contains("warning"), "{said}");
}
