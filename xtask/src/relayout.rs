//! Cubins written again with code of another length, and nvdisasm's word that they say the same.

use crate::corpus;
use crate::hazards::cubins;
use crate::project::Project;
use crate::tools;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every test run takes every so many cubins of the corpus.
const SHORT_STEP: usize = 40;

/// How much is inserted.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Options {
    /// Another seed gives other places
    #[arg(long, default_value_t = 1)]
    seed: u32,
    /// A NOP before one in so many instructions
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    one_in: u32,
}

/// Inserts `NOP`s into cubins; those of the corpus without `files`.
pub fn relayout(project: &Project, options: Options, files: &[PathBuf]) -> Result<()> {
    tools::all_python(project)?;
    let files = match files {
        [] => cubins(&corpus::build(project)?)?,
        files => files.to_vec(),
    };
    check(project, options, &files)
}

/// Some cubins of the corpus.
pub fn short(project: &Project) -> Result<()> {
    let mut files = cubins(&project.corpus())?;
    files.sort();
    let files: Vec<PathBuf> = files.into_iter().step_by(SHORT_STEP).collect();
    check(project, Options { seed: 1, one_in: 4 }, &files)
}

fn check(project: &Project, options: Options, files: &[PathBuf]) -> Result<()> {
    let disassemblers = tools::programs(project, "nvdisasm")?;
    let dumpers = tools::programs(project, "cuobjdump")?;
    let out = project.target.join("relayout");
    let (mut moved, mut kept, mut read, mut wrong) = (0, Vec::new(), 0, 0);
    for (number, files) in files.chunks(200).enumerate() {
        let out = out.join(number.to_string());
        let _ = fs::remove_dir_all(&out);
        fs::create_dir_all(&out).with_context(|| out.display().to_string())?;
        let links = files.iter().enumerate().map(|(index, file)| {
            // Files of different folders may have one name.
            let copy = out.join(format!("{index}.old"));
            fs::copy(file, &copy).with_context(|| file.display().to_string())?;
            Ok(copy)
        });
        let olds: Vec<PathBuf> = links.collect::<Result<_>>()?;
        let news = out.join("new");
        fs::create_dir_all(&news)?;
        let mut command =
            project.cargo(["run", "--quiet", "-p", "sassafras-sass", "--example", "relayout", "--"]);
        command.args([options.seed, options.one_in].map(|number| number.to_string()));
        let output = command.arg(&news).args(&olds).output().context("cannot start the example")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout);
        moved += text.lines().filter(|line| line.starts_with("moved ")).count();
        kept.extend(text.lines().filter(|line| line.starts_with("kept ")).map(str::to_owned));
        for (file, old) in files.iter().zip(&olds) {
            let new = news.join(old.file_name().unwrap_or_default());
            if !new.exists() {
                continue;
            }
            if let Some(dumper) = takes(&dumpers, &["-elf", "-sass"], old) {
                run_quietly(Command::new(dumper).args(["-elf", "-sass"]).arg(&new))?;
            }
            let Some(disassembler) = takes(&disassemblers, &["-c"], old) else {
                continue;
            };
            read += 1;
            let (old, new) = (listing(disassembler, old)?, listing(disassembler, &new)?);
            if old != new {
                wrong += 1;
                let line = old.iter().zip(&new).find(|(old, new)| old != new);
                eprintln!("{}: {:?}", file.display(), line);
            }
        }
    }
    for line in kept.iter().take(20) {
        eprintln!("{line}");
    }
    eprintln!("{moved} functions moved, {} kept; nvdisasm read {read} files, {wrong} as others", kept.len());
    ensure!(moved > 0 && read > 0, "nothing was moved, or nothing could be read");
    ensure!(wrong == 0, "{wrong} files are wrong");
    Ok(())
}

/// The first of the programs that takes a file: none knows all architectures. `None` where none does.
fn takes<'p>(programs: &'p [PathBuf], args: &[&str], file: &Path) -> Option<&'p PathBuf> {
    programs.iter().find(|program| run_quietly(Command::new(program).args(args).arg(file)).is_ok())
}

fn run_quietly(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What nvdisasm says of the code, without offsets, `NOP`s and numbers that are offsets.
fn listing(disassembler: &Path, file: &Path) -> Result<Vec<String>> {
    let text = run_quietly(Command::new(disassembler).arg("-c").arg(file))?;
    Ok(text.lines().filter_map(line_of).collect())
}

fn line_of(line: &str) -> Option<String> {
    let line = line.trim();
    let Some(rest) = line.strip_prefix("/*") else {
        // Labels, and where sections and functions start.
        return line.ends_with(':').then(|| line.to_owned());
    };
    let (_, code) = rest.split_once("*/")?;
    let words: Vec<&str> = code.split_whitespace().collect();
    let opcode = words.iter().find(|word| !word.starts_with('@'))?;
    if opcode.starts_with("NOP") {
        return None;
    }
    let text = words.join(" ");
    // Distances to the start of the section, and return addresses; `sassafras verify` reads those.
    if opcode.starts_with("BRX") {
        let targets = text.split_once("(*").map_or("", |(_, targets)| targets);
        return Some(format!("{} {targets}", words[..2].join(" ")));
    }
    if ["MOV", "IMAD.MOV.U32"].contains(opcode)
        && let Some((start, _)) = text.rsplit_once(", 0x")
    {
        return Some(start.to_owned());
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::line_of;

    #[test]
    fn lines_without_offsets() {
        let line = |text| line_of(text).unwrap_or_default();
        assert_eq!(line("/*0010*/   @P0 BRA `(.L_x_1) ;"), "@P0 BRA `(.L_x_1) ;");
        assert_eq!(line("/*0010*/ MOV R20, 0x130 ;"), line("/*0030*/ MOV R20, 0x150 ;"));
        assert_eq!(line("/*0010*/ BRX R2 -0xf0 (*\"T\"*);"), line("/*0050*/ BRX R2 -0x130 (*\"T\"*);"));
        assert_ne!(line("/*0010*/ MOV R20, R3 ;"), line("/*0010*/ MOV R20, R4 ;"));
        assert_eq!(line(".L_x_1:"), ".L_x_1:");
        assert_eq!(line_of("/*0020*/ NOP;"), None);
        assert_eq!(line_of(".section x"), None);
    }
}
