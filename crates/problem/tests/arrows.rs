//! Schedulers know no instructions: what they depend on of this project, by their manifests.

use std::path::Path;

/// The crates of ours that a crate is built with; what only its tests need is left out.
fn ours(name: &str) -> Vec<String> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("Cargo.toml");
    let text = std::fs::read_to_string(manifest).expect("a manifest");
    let section = text.split("\n[").find(|section| section.starts_with("dependencies]")).unwrap_or_default();
    let names = section.lines().filter_map(|line| line.strip_prefix("sassafras-"));
    names.filter_map(|rest| rest.split(['.', ' ']).next()).map(str::to_owned).collect()
}

#[test]
fn schedulers_know_no_instructions() {
    assert_eq!(ours("problem"), [""; 0]);
    // The registry of strategies has those for machine code, too: registers (`ir`) and pipes (`machine`) of a sub-core.
    assert_eq!(ours("list"), ["ir", "machine", "problem"]);
    assert_eq!(ours("modulo"), ["problem"]);
    assert_eq!(ours("deps"), ["ir", "machine", "problem"]);
}
