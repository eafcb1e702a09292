//! The hazard checker's tables and tests: mining distances from compiled code, the stalls of it that no rule asks for, and mutants.

use crate::corpus;
use crate::project::{Project, run};
use crate::tools;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Below this share of mutants caught the campaign fails, in percent.
const CATCH_RATE: &str = "99";
/// Below this one the short campaign of every test run fails: of so few mutants single ones weigh more.
const SHORT_CATCH_RATE: &str = "98";
/// The short campaign takes every so many kernels of the corpus.
const SHORT_STEP: usize = 9;

/// The machines whose stalls there are reasons for.
const RESIDUE_TABLE: &str = "sm_90";

/// Instructions of each source and table that tables are asked about which were made without it.
const LEFT_OUT_LIMIT: u32 = 400_000;

/// What to do with the mined tables.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
#[group(multiple = false)]
pub struct MineOptions {
    /// Write the tables instead of comparing
    #[arg(long)]
    write: bool,
    /// Say of every source how much of it undercuts, or is unknown to, tables that are mined from all others; fails above 5 pairs in a million, or
    /// at 0.5 % unknown
    #[arg(long)]
    leave_one_out: bool,
    /// Say which kinds of pairs no table knows a distance of
    #[arg(long)]
    unknown: bool,
}

/// Compares the mined tables with what the corpus and other files show, or writes them.
pub fn mine(project: &Project, options: MineOptions, files: &[PathBuf]) -> Result<()> {
    let corpus = corpus::build(project)?;
    let mut command = project.cargo(["run", "--release", "--quiet", "-p", "sassafras-mine", "--"]);
    command.arg("--tables").arg(project.root.join("crates/machine/data/mined"));
    command.args(options.write.then_some("--write")).args(options.leave_one_out.then_some("--leave-one-out"));
    // As many instructions of each source: the verdicts are about as many sources as there are, not about the largest.
    command.args(options.leave_one_out.then(|| format!("--limit={LEFT_OUT_LIMIT}")));
    command.args(options.unknown.then_some("--unknown=40")).arg(corpus).args(files);
    run(&mut command)
}

/// The stall cycles of the corpus and other files that no rule asks for. Fails where reasons explain too little of them.
pub fn residue(project: &Project, kinds: u32, example: &[String], files: &[PathBuf]) -> Result<()> {
    let corpus = corpus::build(project)?;
    let mut command = project.cargo(["run", "--release", "--quiet", "-p", "sassafras-mine", "--"]);
    command.arg("--tables").arg(project.root.join("crates/machine/data/mined"));
    // All of a library counts, and there are reasons for these machines alone.
    command.args(["--only", RESIDUE_TABLE, "--limit", "1000000000", "--residue", &kinds.to_string()]);
    for kind in example {
        command.args(["--example", kind]);
    }
    run(command.arg(corpus).args(files))
}

/// The mutation campaign.
pub fn mutants(project: &Project, count: u32, seed: u32) -> Result<()> {
    tools::all_python(project)?;
    let corpus = corpus::build(project)?;
    run(&mut project.cargo(["build", "--release", "-p", "sassafras-cli"]))?;
    let mut args = vec!["--mutants".to_owned(), count.to_string(), "--seed".to_owned(), seed.to_string()];
    args.extend(["--minimum", CATCH_RATE].map(str::to_owned));
    campaign(project, "release", &args, &cubins(&corpus)?)
}

/// A short campaign by stored rules.
pub fn short_mutants(project: &Project) -> Result<()> {
    run(&mut project.cargo(["build", "-p", "sassafras-cli"]))?;
    let mut names: Vec<PathBuf> = Vec::new();
    let all = cubins(&project.corpus())?;
    names.extend(all.iter().filter_map(|path| path.file_name().map(PathBuf::from)));
    names.sort();
    names.dedup();
    let chosen: Vec<&PathBuf> = names.iter().step_by(SHORT_STEP).collect();
    let is_chosen = |path: &PathBuf| chosen.iter().any(|name| path.ends_with(name));
    let files: Vec<PathBuf> = all.into_iter().filter(is_chosen).collect();
    campaign(project, "debug", &["--fast", "--minimum", SHORT_CATCH_RATE].map(str::to_owned), &files)
}

fn campaign(project: &Project, profile: &str, args: &[String], files: &[PathBuf]) -> Result<()> {
    let out = project.target.join("mutants");
    fs::create_dir_all(&out).with_context(|| out.display().to_string())?;
    // Too many names for a command line that people read.
    let list = out.join("files.txt");
    let names: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    fs::write(&list, names.join("\n")).with_context(|| list.display().to_string())?;
    let mut command = project.command("python3");
    command.arg("tools/mutate/campaign.py").arg("--out").arg(&out).args(args);
    command.arg("--sassafras").arg(project.target.join(profile).join("sassafras"));
    command.arg("--cache").arg(out.join("listings"));
    for nvdisasm in tools::programs(project, "nvdisasm")? {
        command.arg("--nvdisasm").arg(nvdisasm);
    }
    run(command.arg(format!("@{}", list.display())))
}

/// The linked cubins of the corpus for machines with scoreboards.
pub(crate) fn cubins(corpus: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in entries(corpus)? {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let number = name.strip_prefix("sm_").map(|n| n.trim_end_matches(char::is_alphabetic));
        if number.and_then(|n| n.parse::<u32>().ok()).is_some_and(|sm| sm >= 70) {
            found.extend(entries(&folder)?.into_iter().filter(|path| is_linked_cubin(path)));
        }
    }
    Ok(found)
}

fn is_linked_cubin(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".cubin") && !name.ends_with("-relocatable.cubin")
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = read.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_linked_cubins_are_mutated() {
        let linked = |name: &str| is_linked_cubin(Path::new(name));
        assert!(linked("sm_90/saxpy.cubin"));
        assert!(!linked("sm_90/saxpy-relocatable.cubin") && !linked("sm_90/saxpy.ptx"));
    }

    #[test]
    fn folders_of_older_machines_are_left_out() {
        let corpus = tempfile::tempdir().expect("a folder");
        for folder in ["sm_62", "sm_70", "sm_90a", "ptx", "wheels"] {
            fs::create_dir(corpus.path().join(folder)).expect("a folder");
            fs::write(corpus.path().join(folder).join("k.cubin"), "").expect("a file");
        }
        let found = cubins(corpus.path()).expect("readable");
        let found: Vec<_> = found.iter().map(|p| p.strip_prefix(corpus.path()).expect("inside")).collect();
        assert_eq!(found, [Path::new("sm_70/k.cubin"), Path::new("sm_90a/k.cubin")]);
    }
}
