//! `--forms` and `--coverage`: which forms code holds, and which of them ran rescheduled on a device.

use crate::Args;
use anyhow::{Context as _, Result, bail};
use rayon::prelude::*;
use sassafras_machine::mined::silicon::{Blamed, Proven, parse_blamed};
use sassafras_mine::coverage::{self, Held, Library, Run};
use sassafras_mine::forms::{self, Forms, Naming};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The libraries and runs of `--coverage`.
#[derive(clap::Args)]
pub struct CoverageArgs {
    /// Write which forms of instructions FILES hold to this file, one line per table, source and form, and nothing else. Takes all code,
    /// whatever `--limit` says.
    #[arg(long, value_name = "FILE")]
    pub forms: Option<PathBuf>,
    /// Say which forms ran rescheduled on a device with equal results, and, with `--write`, write TABLE.silicon.csv: the
    /// results of a run (bench/gpu/silicon) and the folder of the original cubins. May be given several times.
    #[arg(long, value_name = "RESULT.json=DIR")]
    pub coverage: Vec<String>,
    /// Files and folders of PyTorch's libraries; without them the counts of the table stay. May be given several times.
    #[arg(long, value_name = "PATH", requires = "coverage")]
    libtorch: Vec<PathBuf>,
    /// The same for bitsandbytes.
    #[arg(long, value_name = "PATH", requires = "coverage")]
    bitsandbytes: Vec<PathBuf>,
    /// The same for the corpus.
    #[arg(long, value_name = "PATH", requires = "coverage")]
    corpus: Vec<PathBuf>,
    /// Tell instructions apart by the whole opcode as a listing spells it, and not only by what changes timing or state.
    #[arg(long)]
    spellings: bool,
    /// A line for the top of the table, such as the date and commit of the run. May be given several times.
    #[arg(long, value_name = "TEXT", requires = "coverage")]
    note: Vec<String>,
}

/// Writes the forms of every source: files of one name are one source.
pub fn forms(path: &Path, args: &Args) -> Result<()> {
    let mut out = String::from("table,source,form,occurrences,functions\n");
    for (source, paths) in crate::sources(&args.files)? {
        for (table, found) in forms::read(&paths, &args.only, naming(args))? {
            for (form, count) in &found.counts {
                let _ = writeln!(out, "{table},{source},{form},{},{}", count.occurrences, count.functions);
            }
        }
    }
    std::fs::write(path, out).with_context(|| format!("cannot write {}", path.display()))
}

/// Makes the table of what ran, and says what is missing.
pub fn coverage(args: &Args) -> Result<()> {
    let [table] = &args.only[..] else { bail!("--coverage is about one table: --only TABLE") };
    let given = &args.coverage;
    let naming = naming(args);
    if naming == Naming::Spelling && args.write {
        bail!("the table is about forms: --spellings cannot be written");
    }
    let (mut runs, mut held) = (Vec::new(), Held::new());
    for pair in &given.coverage {
        let (result, folder) =
            pair.split_once('=').with_context(|| format!("{pair}: RESULT.json=DIR is wanted"))?;
        let text = std::fs::read_to_string(result).with_context(|| format!("cannot read {result}"))?;
        let found: Vec<Run> = serde_json::from_str(&text).with_context(|| result.to_owned())?;
        let (folder, changed) = (Path::new(folder), |run: &&Run| run.is_equal() || run.differs());
        let scheduled = folder.join("scheduled");
        let scheduled = scheduled.is_dir().then_some(&*scheduled);
        match scheduled {
            Some(_) => anstream::println!("{result}: forms count where rescheduling touched them"),
            None => anstream::println!(
                "{result}: no rescheduled cubins at hand; forms count in all of a changed cubin"
            ),
        }
        let changed: Vec<&Run> = found.iter().filter(changed).collect();
        let forms = changed.par_iter().map(|run| of_run(run, folder, scheduled, table, naming));
        for (run, forms) in changed.iter().zip(forms.collect::<Result<Vec<_>>>()?) {
            if held.insert((run.cubin(), run.mode.clone()), forms).is_some() {
                bail!("{} {} ran twice", run.cubin(), run.mode);
            }
        }
        runs.extend(found);
    }
    let path = args.tables.join(format!("{table}.silicon.csv"));
    let old = std::fs::read_to_string(&path).ok().filter(|_| naming == Naming::Form);
    let before = match &old {
        Some(text) => Proven::parse(text, &[]).with_context(|| path.display().to_string())?.forms().to_vec(),
        None => Vec::new(),
    };
    let unproven = args.tables.join("unproven.csv");
    let text = std::fs::read_to_string(&unproven).with_context(|| unproven.display().to_string())?;
    let blamed = parse_blamed(&text).with_context(|| unproven.display().to_string())?;
    let blamed: Vec<&Blamed> = blamed.iter().filter(|row| row.serves(table)).collect();
    let named = [&given.libtorch, &given.bitsandbytes, &given.corpus];
    let mut libraries: Vec<(Library, Forms)> = Vec::new();
    for (library, paths) in Library::ALL.into_iter().zip(named).filter(|(_, paths)| !paths.is_empty()) {
        let found = forms::read(paths, &args.only, naming)?.remove(&**table).unwrap_or_default();
        let Forms { counts, functions, instructions } = &found;
        if *instructions == 0 {
            bail!("{}: no code for {table} in what was given", library.name());
        }
        anstream::println!(
            "{}: {functions} functions, {instructions} instructions, {} forms",
            library.name(),
            counts.len()
        );
        libraries.push((library, found));
    }
    for library in
        Library::ALL.into_iter().filter(|library| !libraries.iter().any(|(given, _)| given == library))
    {
        anstream::println!("{}: not given; counts of the table", library.name());
    }
    let libraries: Vec<(Library, &Forms)> =
        libraries.iter().map(|(library, forms)| (*library, forms)).collect();
    let rows = coverage::rows(&before, &libraries, &runs, &held, &blamed).map_err(|open| {
        anyhow::anyhow!("runs that differ, with no row in unproven.csv that says why:\n{}", open.join("\n"))
    })?;
    for row in blamed.iter().filter(|row| !runs.iter().any(|run| run.kernel == row.kernel && run.differs())) {
        anstream::println!(
            "unproven.csv: no run of {} differs; {} stays unproven until its row goes",
            row.kernel,
            row.form
        );
    }
    let mut notes = given.note.clone();
    if libraries.len() < Library::ALL.len() {
        notes.extend(coverage::library_notes(old.as_deref().unwrap_or_default()));
    }
    let text = coverage::write(&rows, &notes);
    let names: Vec<&str> = blamed.iter().map(|row| &*row.form).collect();
    let proven = Proven::parse(&text, &names).context("what was made")?;
    anstream::println!("{table}: {} of {} forms proven by {} runs", proven.count(), rows.len(), held.len());
    anstream::print!("{}", coverage::report(&proven));
    if args.write {
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// What is counted.
fn naming(args: &Args) -> Naming {
    if args.coverage.spellings { Naming::Spelling } else { Naming::Form }
}

/// The forms that a run says something of.
fn of_run(
    run: &Run,
    folder: &Path,
    scheduled: Option<&Path>,
    table: &str,
    naming: Naming,
) -> Result<BTreeSet<String>> {
    let path = folder.join(format!("{}.cubin", run.cubin()));
    let Some(scheduled) = scheduled else {
        let found = forms::read(std::slice::from_ref(&path), &[table.to_owned()], naming)?;
        let Some(found) = found.get(table) else { bail!("{}: no code for {table}", path.display()) };
        return Ok(found.counts.keys().cloned().collect());
    };
    let other = scheduled.join(format!("{}.{}.cubin", run.cubin(), run.mode));
    let read = |path: &Path| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    let arch = table.parse().map_err(|_| anyhow::anyhow!("{table} is no architecture"))?;
    forms::touched(arch, &read(&path)?, &read(&other)?, naming).with_context(|| other.display().to_string())
}
