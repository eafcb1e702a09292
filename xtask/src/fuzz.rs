//! Fuzz targets on a stable toolchain.
//!
//! `cargo fuzz` wants a nightly compiler for its sanitizers. The code under test has no `unsafe`, so coverage feedback is
//! all that is needed, and LLVM's coverage pass can be asked for with stable options. `fuzz/` keeps the layout of
//! `cargo fuzz`, for those who want a sanitizer as well.

use crate::project::{Project, run};
use crate::steps::Steps;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

/// What makes a build report its coverage to libFuzzer; one codegen unit, as the pass numbers blocks per unit.
const FLAGS: [&str; 7] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "--cfg=fuzzing",
];

/// An input that takes longer, in seconds, or more memory, in MiB, is reported as a failure.
const LIMITS: [&str; 2] = ["-timeout=10", "-rss_limit_mb=1024"];
/// Long enough for a whole hardware profile.
const MAX_LENGTH: &str = "-max_len=16384";

/// `cargo xtask fuzz`.
pub fn task(project: &Project, target: Option<&str>, seconds: u32, input: Option<&Path>) -> Result<()> {
    if let (Some(target), Some(input)) = (target, input) {
        known(project, target)?;
        let input = std::path::absolute(input)?;
        let program = build(project)?.join(target);
        return run(project.command(program).args(LIMITS).arg(input));
    }
    if let Some(target) = target {
        known(project, target)?;
    }
    let mut all = Steps::default();
    steps(project, &mut all, target, seconds);
    all.finish()
}

/// A step that builds, and a step for each target.
pub fn steps(project: &Project, steps: &mut Steps, only: Option<&str>, seconds: u32) {
    let mut names = Vec::new();
    let mut programs = None;
    steps.run("build fuzz targets", || {
        names = targets(project)?;
        names.retain(|name| only.is_none_or(|only| only == name));
        programs = Some(build(project)?);
        Ok(())
    });
    for name in names {
        let label = format!("fuzz {name}");
        match &programs {
            Some(programs) => {
                steps.run(label, || fuzz(project, programs, &name, seconds));
            }
            None => steps.not_run(label, "the build failed"),
        }
    }
}

fn known(project: &Project, target: &str) -> Result<()> {
    let targets = targets(project)?;
    if targets.iter().all(|name| name != target) {
        bail!("no fuzz target `{target}`; there are: {}", targets.join(", "));
    }
    Ok(())
}

/// The names of all targets: one shim each.
fn targets(project: &Project) -> Result<Vec<String>> {
    let folder = project.root.join("fuzz/fuzz_targets");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// Builds all targets, instrumented; returns the folder of the programs.
fn build(project: &Project) -> Result<std::path::PathBuf> {
    let host = host(project)?;
    let folder = project.target.join("fuzz");
    // A target is named so that the flags do not reach build scripts and procedural macros.
    let mut cargo = project.cargo(["build", "--release", "--manifest-path", "fuzz/Cargo.toml", "--bins"]);
    cargo.args(["--features", "libfuzzer", "--target", &host, "--target-dir"]).arg(&folder);
    run(cargo.env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\x1f")))?;
    Ok(folder.join(host).join("release"))
}

fn host(project: &Project) -> Result<String> {
    let output = project.command("rustc").arg("-vV").output().context("cannot start rustc")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`rustc -vV` names no host")?.to_owned())
}

fn fuzz(project: &Project, programs: &Path, target: &str, seconds: u32) -> Result<()> {
    let folder = project.root.join("fuzz");
    let corpus = folder.join("corpus").join(target);
    let artifacts = folder.join("artifacts").join(target);
    fs::create_dir_all(&artifacts).with_context(|| artifacts.display().to_string())?;
    let seeds =
        ["run", "--quiet", "--manifest-path", "fuzz/Cargo.toml", "--example", "write_seeds", "--", target];
    run(project.cargo(seeds).arg(&corpus))?;
    let mut command: Command = project.command(programs.join(target));
    command.args(LIMITS).args([MAX_LENGTH, "-print_final_stats=1"]).arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-artifact_prefix={}/", artifacts.display()));
    let dictionary = folder.join("dictionaries").join(format!("{target}.dict"));
    if dictionary.exists() {
        command.arg(format!("-dict={}", dictionary.display()));
    }
    run(command.arg(corpus)).with_context(|| format!("the input is in fuzz/artifacts/{target}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_found_and_unknown_ones_are_refused() {
        let project = Project::find().expect("the project");
        assert!(known(&project, "text_ir").is_ok());
        let error = known(&project, "text-ir").unwrap_err().to_string();
        assert!(error.contains("text_ir"), "{error}");
    }

    #[test]
    fn every_dictionary_belongs_to_a_target() {
        let project = Project::find().expect("the project");
        for entry in fs::read_dir(project.root.join("fuzz/dictionaries")).expect("dictionaries") {
            let path = entry.expect("entry").path();
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            assert!(known(&project, &name).is_ok(), "{name}");
        }
    }
}
