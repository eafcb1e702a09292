//! `sassafras bisect` with a command that fails when the code of one kernel differs.
#![cfg(unix)]

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

fn input(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd/binary.in").join(name)
}

/// A folder for temporary files, so that what is left is seen.
fn bisect(arguments: &[&str], file: &str, command: &[&str]) -> (Output, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut sassafras = Command::new(env!("CARGO_BIN_EXE_sassafras"));
    sassafras
        .arg("bisect")
        .arg(input(file))
        .args(["--strategy", "reverse"].iter().filter(|_| !arguments.contains(&"--strategy")))
        .args(arguments)
        .arg("--")
        .args(command);
    let done = sassafras.env("TMPDIR", folder.path()).output().expect("the command runs");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "temporary files are left");
    (done, folder)
}

fn report(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Fails when the code for sm_80 is in another order, whatever its control fields.
fn differs(file: &str) -> Vec<String> {
    let script = r#"list() { "$1" disasm --arch sm_80 "$2" | sed 's/.*:S[0-9]* *//'; }
        test "$(list "$1" "$2")" = "$(list "$1" "$3")""#;
    let path = input(file).display().to_string();
    ["sh", "-c", script, "sh", env!("CARGO_BIN_EXE_sassafras"), &path].map(str::to_owned).to_vec()
}

#[test]
fn the_kernel_and_the_block_are_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let smallest = folder.path().join("smallest");
    let command = differs("two.fatbin");
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let (done, _folder) = bisect(&["--json", "-o", smallest.to_str().expect("text")], "two.fatbin", &command);
    let report = report(&done);
    assert_eq!((&report["schema"], &report["suspected"]["kernels"]), (&1.into(), &2.into()));
    let kernels = report["kernels"].as_array().expect("kernels");
    assert_eq!(kernels.len(), 1);
    assert_eq!((kernels[0]["name"].as_str(), kernels[0]["arch"].as_str()), (Some("k"), Some("sm_80")));
    assert_eq!(kernels[0]["fields_alone"], false);
    assert_eq!(kernels[0]["hazards"], serde_json::json!([]));
    let blocks = kernels[0]["blocks"].as_array().expect("blocks");
    assert_eq!(blocks.len(), 1);
    assert_eq!(
        (&blocks[0]["block"], &blocks[0]["offset"], &blocks[0]["instructions"]),
        (&0.into(), &0.into(), &7.into())
    );
    let texts = |side: &str| {
        let lines = blocks[0][side].as_array().expect("lines").iter();
        let mut texts: Vec<String> = lines.map(|line| line["text"].to_string()).collect();
        let written = texts.clone();
        texts.sort_unstable();
        (written, texts)
    };
    let ((before, same), (after, others)) = (texts("before"), texts("after"));
    assert!(before != after && same == others, "{before:?} {after:?}");
    assert_eq!((&report["reordering"]["legal"], &report["rejected"]), (&true.into(), &serde_json::json!([])));
    // What was kept fails, and only the one kernel of it differs.
    let ran = Command::new(command[0]).args(&command[1..]).arg(&smallest).status().expect("it runs");
    assert_eq!(ran.code(), Some(1));
    let schedule = |arch: &str| {
        let out = folder.path().join(arch);
        let mut sassafras = Command::new(env!("CARGO_BIN_EXE_sassafras"));
        sassafras
            .args(["schedule", "--strategy", "reverse", "--arch", arch, "-o"])
            .arg(&out)
            .arg(input("two.fatbin"));
        assert!(sassafras.output().expect("it runs").status.success());
        std::fs::read(out).expect("written")
    };
    assert!(std::fs::read(&smallest).expect("kept") == schedule("sm_80"));
    // The original and all of it; then of two kernels and of two changes the first, which passes, and the second.
    assert_eq!((&report["runs"], &report["changes"]), (&6.into(), &1.into()));
}

#[test]
fn a_fault_of_control_fields_is_told_from_one_of_the_order() {
    let path = input("good.cubin").display().to_string();
    let (done, _folder) = bisect(&["--json"], "good.cubin", &["cmp", "-s", &path, "{}"]);
    let report = report(&done);
    assert_eq!(report["kernels"][0]["fields_alone"], true);
    let blocks = report["kernels"][0]["blocks"].as_array().expect("blocks");
    assert!(blocks.iter().any(|block| {
        let text = |side: &str| block[side][0]["text"].clone();
        block["before"] != block["after"] && text("before") == text("after")
    }));
}

#[test]
fn the_report_for_people_has_both_orders() {
    let command = differs("good.cubin");
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let (done, _folder) = bisect(&[], "good.cubin", &command);
    let text = String::from_utf8(done.stdout).expect("text");
    for wanted in [
        "the command fails (exit status: 1) with 1 of 1 kernels and 1 of 2 changes",
        "k (sm_80), .text.k",
        "block 0 at 0x0, 7 instructions",
        "LDG",
        " | /*0000*/",
        "verifier: no hazard in it",
        "verifier: a legal reordering",
    ] {
        assert!(text.contains(wanted), "{wanted}:\n{text}");
    }
}

#[test]
fn nothing_to_find_is_said_with_status_1() {
    for (arguments, command, wanted) in [
        (&[][..], &["false"][..], "fails on the original already (exit status: 1)"),
        (&[], &["true"], "passes with everything rescheduled"),
        (&["--strategy", "original"], &["true"], "rescheduling changes nothing"),
        (&["--timeout", "0.01"], &["sleep", "60", "#"], "fails on the original already"),
    ] {
        let (done, _folder) = bisect(arguments, "two.fatbin", command);
        let message = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(1), "{message}");
        assert!(message.contains(wanted) && message.contains("two.fatbin"), "{message}");
    }
}

#[test]
fn bad_usage_has_status_2() {
    for (arguments, file, command) in [
        (&[][..], "good.cubin", &["/no/such/program"][..]),
        (&[], "nowhere", &["true"]),
        (&[], "later.sir", &["true"]),
        (&["--timeout", "0"], "good.cubin", &["true"]),
        (&["--kernel", "nobody"], "good.cubin", &["true"]),
        (&["-o", "-"], "good.cubin", &["true"]),
        (&[], "good.cubin", &[]),
    ] {
        let (done, _folder) = bisect(arguments, file, command);
        assert_eq!(
            done.status.code(),
            Some(2),
            "{file} {command:?}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
    }
}

/// Shuffled blocks are let change by units, too.
#[test]
fn shuffles_are_searched() {
    let path = input("two.fatbin").display().to_string();
    let arguments = ["--strategy", "shuffle", "--seed", "1", "--json"];
    let (done, _folder) = bisect(&arguments, "two.fatbin", &["cmp", "-s", &path]);
    assert_eq!(report(&done)["kernels"].as_array().map(Vec::len), Some(1));
}

#[test]
fn who_ends_the_search_finds_nothing_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut sassafras = Command::new(env!("CARGO_BIN_EXE_sassafras"));
    sassafras.arg("bisect").arg(input("good.cubin")).args([
        "--verbose",
        "--",
        "sh",
        "-c",
        "echo ready; exec sleep 600",
    ]);
    let mut child = sassafras.env("TMPDIR", folder.path()).stderr(Stdio::piped()).spawn().expect("it runs");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    assert_eq!(lines.next().expect("a line").expect("text"), "ready");
    assert!(Command::new("kill").arg(child.id().to_string()).status().expect("it runs").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(2));
    assert_eq!(
        lines.map(|line| line.expect("text")).collect::<Vec<_>>(),
        ["error: interrupted"],
        "and so has the command"
    );
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
}
