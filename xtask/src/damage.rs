//! Damaged files: wrong ones that a comparison with the original must refuse, and broken ones that must not cost much.

use crate::corpus;
use crate::project::{Project, run};
use crate::tools;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// What the short campaigns of every test run take: few files, small and with every kind of damage.
const SHORT_WRONG: [&str; 8] = ["--count", "260", "--seed", "1", "--bases", "8", "--largest", "12000"];
const SHORT_BROKEN: [&str; 4] = ["--count", "300", "--seed", "1"];
/// A debug build takes its time.
const SHORT_LIMIT: [&str; 2] = ["--seconds", "60"];

/// Rescheduled files with one thing wrong each, compared with their originals.
pub fn wrong_files(project: &Project, count: u32, seed: u32, files: &[PathBuf]) -> Result<()> {
    let args = prepared(project, count, seed)?;
    wrong(project, "release", &args, files)
}

/// A short version of it.
pub fn short_wrong_files(project: &Project) -> Result<()> {
    run(&mut project.cargo(["build", "-p", "sassafras-cli"]))?;
    wrong(project, "debug", &SHORT_WRONG.map(str::to_owned), &[])
}

/// Files damaged beyond recognition, and files made to cost much, under limits of time and memory.
pub fn broken_files(project: &Project, count: u32, seed: u32, files: &[PathBuf]) -> Result<()> {
    let mut args = prepared(project, count, seed)?;
    args.push("--heavy".to_owned());
    broken(project, "release", &args, files)
}

/// A short version of it.
pub fn short_broken_files(project: &Project) -> Result<()> {
    run(&mut project.cargo(["build", "-p", "sassafras-cli"]))?;
    let args = SHORT_BROKEN.iter().chain(&SHORT_LIMIT).map(|&arg| arg.to_owned());
    broken(project, "debug", &args.collect::<Vec<_>>(), &[])
}

fn prepared(project: &Project, count: u32, seed: u32) -> Result<Vec<String>> {
    tools::all_python(project)?;
    corpus::build(project)?;
    run(&mut project.cargo(["build", "--release", "-p", "sassafras-cli"]))?;
    Ok(vec!["--count".to_owned(), count.to_string(), "--seed".to_owned(), seed.to_string()])
}

fn wrong(project: &Project, profile: &str, args: &[String], files: &[PathBuf]) -> Result<()> {
    let mut args = args.to_vec();
    for nvdisasm in tools::programs(project, "nvdisasm")? {
        args.extend(["--nvdisasm".to_owned(), nvdisasm.display().to_string()]);
    }
    let mut all = files_below(&project.corpus(), &["cubin", "ptx"])?;
    all.extend_from_slice(files);
    campaign(project, "wrong", profile, &args, &all)
}

fn broken(project: &Project, profile: &str, args: &[String], files: &[PathBuf]) -> Result<()> {
    let mut all = files_below(&project.corpus(), &["cubin", "ptx", "tileir"])?;
    all.extend(files_below(&project.root.join("crates"), &["sir", "tileir", "tile"])?);
    all.extend_from_slice(files);
    campaign(project, "broken", profile, args, &all)
}

fn campaign(project: &Project, name: &str, profile: &str, args: &[String], files: &[PathBuf]) -> Result<()> {
    if files.is_empty() {
        bail!("no files to damage: `cargo xtask corpus` makes them");
    }
    let out = project.target.join(format!("{name}-files"));
    fs::create_dir_all(&out).with_context(|| out.display().to_string())?;
    let list = out.join("files.txt");
    let names: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    fs::write(&list, names.join("\n")).with_context(|| list.display().to_string())?;
    let mut command = project.command("python3");
    command.arg(format!("tools/mutate/{name}.py")).arg("--out").arg(&out).args(args);
    command.arg("--sassafras").arg(project.target.join(profile).join("sassafras"));
    if let Some(fatbinary) = tools::programs(project, "fatbinary")?.last() {
        command.arg("--fatbinary").arg(fatbinary);
    }
    run(command.arg(format!("@{}", list.display())))
}

/// Files below a folder whose names end so, in order; results that the corpus keeps by their hash are none.
fn files_below(folder: &Path, endings: &[&str]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let read = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        for entry in read {
            let path = entry?.path();
            if path.is_dir() {
                if path.file_name().is_some_and(|name| name != "cache") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|e| endings.iter().any(|&ending| e == ending)) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_their_endings() {
        let corpus = tempfile::tempdir().expect("a folder");
        for name in ["sm_90/k.cubin", "ptx/compute_90/k.ptx", "cache/0123.cubin", "sm_90/k.txt"] {
            let path = corpus.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, "").expect("a file");
        }
        let found = files_below(corpus.path(), &["cubin", "ptx"]).expect("readable");
        let found: Vec<_> = found.iter().map(|p| p.strip_prefix(corpus.path()).expect("inside")).collect();
        assert_eq!(found, [Path::new("ptx/compute_90/k.ptx"), Path::new("sm_90/k.cubin")]);
    }
}
