//! `sassafras analyze --report` and `--trace`: files whole or not at all, and nothing printed beside them unless asked for.

use std::path::Path;
use std::process::{Command, Output};

const LOOPED: &str = "tests/cmd/binary.in/looped.cubin";
const STRAIGHT: &str = "tests/cmd/binary.in/good.cubin";

fn analyze(arguments: &[&str], option: &str, file: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sassafras"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .arg("analyze")
        .args(arguments)
        .arg(option)
        .arg(file)
        .output()
        .expect("the command runs")
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).expect("written")
}

#[test]
fn a_page_is_written_and_nothing_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("k.html");
    let output = analyze(&[LOOPED], "--report", &file);
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    let page = read(&file);
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"), "{page:.100}");
    assert!(page.contains("Loop at 0x0000") && page.contains("LDG.E.STRONG.GPU R11"));
    let again = folder.path().join("again.html");
    assert!(analyze(&[LOOPED], "--report", &again).status.success());
    assert!(page == read(&again), "the same input gives the same page");
    let beside = analyze(&[LOOPED, "--view", "summary"], "--report", &again);
    assert!(!beside.stdout.is_empty(), "a view that is asked for is printed, too");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 2, "no temporary file stays");
}

#[test]
fn a_trace_is_of_loops() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("k.json");
    let output = analyze(&[LOOPED, "--loop", "0x0"], "--trace", &file);
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    let trace: serde_json::Value = serde_json::from_str(&read(&file)).expect("JSON");
    assert!(trace["traceEvents"].as_array().is_some_and(|events| events.len() > 100));
    let json = analyze(&[LOOPED, "--json"], "--trace", &file);
    assert!(
        !String::from_utf8_lossy(&json.stdout).contains("\"trace\""),
        "too much for the JSON of the analysis"
    );
}

#[test]
fn what_cannot_be_written_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("k.json");
    let output = analyze(&[STRAIGHT], "--trace", &file);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no loop to trace"), "{output:?}");
    let output = analyze(&[LOOPED, "--loop", "0x30"], "--report", &file);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let output = analyze(&[LOOPED], "--report", &folder.path().join("no/such/folder.html"));
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(analyze(&[LOOPED, STRAIGHT], "--report", &file).status.code(), Some(2), "not of two files");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
}
