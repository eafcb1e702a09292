//! NVIDIA's programs, for tests behind the feature `real-tools`: found below `SASSAFRAS_TOOLS` and run.
//!
//! Everything here panics with a message that says what to do: without the programs such a test has nothing to test.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{LazyLock, Mutex};

/// A version as numbers, so that 12.9 is before 12.10.
type Release = Vec<u32>;

/// Programs by name, each with the release that it says it is, oldest first.
type Programs = BTreeMap<String, Vec<(Release, PathBuf)>>;

/// What was looked for so far.
static FOUND: LazyLock<Mutex<Programs>> = LazyLock::new(Mutex::default);

fn files_named(name: &str, folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let entry = entry.expect("readable entry");
        if entry.file_type().expect("known type").is_dir() {
            files_named(name, &entry.path(), found);
        } else if entry.file_name() == name {
            found.push(entry.path());
        }
    }
}

/// The release in what `--version` prints: `[13, 4]` of `… release 13.4, V13.4.92`.
fn release_in(text: &str) -> Option<Release> {
    let (_, tail) = text.split_once("release ")?;
    let number = tail.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
    number.split('.').map(|part| part.parse().ok()).collect()
}

fn all_named(name: &str) -> Vec<(Release, PathBuf)> {
    let root = std::env::var_os("SASSAFRAS_TOOLS")
        .expect("SASSAFRAS_TOOLS is not set: run `cargo xtask test`, which fetches the tools and sets it");
    let mut paths = Vec::new();
    files_named(name, Path::new(&root), &mut paths);
    let with_release = |path: PathBuf| {
        let version = run(Command::new(&path).arg("--version"));
        Some((release_in(&String::from_utf8_lossy(&version.stdout))?, path))
    };
    let mut found: Vec<_> = paths.into_iter().filter_map(with_release).collect();
    found.sort();
    found
}

/// The newest program called `name` of a release that starts with `release` (`12.` or `12.9`), if there is one.
pub fn find(name: &str, release: &str) -> Option<PathBuf> {
    let wanted: Release = release.split('.').filter_map(|part| part.parse().ok()).collect();
    let mut found = FOUND.lock().expect("no panic while locked");
    let named = found.entry(name.to_owned()).or_insert_with(|| all_named(name));
    named.iter().rev().find(|(release, _)| release.starts_with(&wanted)).map(|(_, path)| path.clone())
}

/// The same, where a test cannot do without.
pub fn tool(name: &str, release: &str) -> PathBuf {
    find(name, release)
        .unwrap_or_else(|| panic!("no {name} {release} below SASSAFRAS_TOOLS: run `cargo xtask test`"))
}

/// Runs a command, whatever comes of it.
pub fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"))
}

/// Runs a command that has to succeed; gives its standard output and error together.
pub fn succeed(command: &mut Command) -> String {
    let out = run(command);
    let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{command:?}: {text}");
    text
}

/// The number of an architecture: 90 of `90a`.
pub fn sm_number(arch: &str) -> u32 {
    arch.trim_end_matches(['a', 'f']).parse().expect("an architecture")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read_and_ordered_as_numbers() {
        let text = "Cuda compilation tools, release 13.4, V13.4.92\nBuild cuda_13.4.r13.4/compiler";
        assert_eq!(release_in(text), Some(vec![13, 4]));
        assert_eq!(release_in("GNU objdump 2.40"), None);
        assert!(release_in("release 12.9, x") < release_in("release 12.10, x"));
    }
}
