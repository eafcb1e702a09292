//! `sassafras-mine`: mines files and writes the tables; run by `cargo xtask mine` and `cargo xtask silicon`.

mod coverage_command;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{Hash as _, Hasher as _};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Parser;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use sassafras_cubin::{Container, Cubin, Image};
use sassafras_machine::Arch;
use sassafras_machine::mined::residue::{self, Reason};
use sassafras_machine::mined::{mined_with, table_name};
use sassafras_mine::forms::files;
use sassafras_mine::residue::Reasons;
use sassafras_mine::residue::report::Residue;
use sassafras_mine::{Mined, join, leave_one_out, spacing, tables};
use sassafras_verify::hazards::{Rules, check};

/// Mines compiled code for the smallest distances between dependent instructions.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Where the tables are, one pair of files per group of architectures.
    #[arg(long, value_name = "DIR")]
    tables: PathBuf,
    /// Write the tables. Without it, say where they ask for more or less than these files leave.
    #[arg(long)]
    write: bool,
    /// Write the tables with these files as one more source: rows are lowered and added, none is tightened.
    #[arg(long, conflicts_with = "write")]
    join: bool,
    /// Beyond the limit, take functions in which the checker finds something.
    #[arg(long)]
    alarms: bool,
    /// Take at most this many instructions per source and group of architectures, whole functions in file order.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    limit: u64,
    /// Leave out functions with more instructions than this.
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    longest: u64,
    /// Mine only for this table; may be given several times.
    #[arg(long, value_name = "TABLE")]
    only: Vec<String>,
    /// Also write every count to this file, one line per file, pair and distance.
    #[arg(long, value_name = "FILE")]
    counts: Option<PathBuf>,
    /// Write how soon instructions follow each other to this file instead, one line per pair of opcodes and distance.
    #[arg(long, value_name = "FILE")]
    gaps: Option<PathBuf>,
    /// Write the tables of least distances to this folder, and nothing else.
    #[arg(long, value_name = "DIR")]
    seen: Option<PathBuf>,
    /// Say which pairs of instructions no table knows a distance of, this many kinds per table, and nothing else.
    #[arg(long, value_name = "KINDS", num_args = 0..=1, default_missing_value = "40")]
    unknown: Option<usize>,
    /// Say of every source how much of it undercuts, or is unknown to, tables that are mined from all others. Fails where that is too much.
    #[arg(long)]
    leave_one_out: bool,
    #[command(flatten)]
    coverage: coverage_command::CoverageArgs,
    /// Say which stall cycles no rule asks for, and what the reasons of DIR/residue.csv explain of them; so many unexplained kinds
    /// are listed. Fails where too little is explained.
    #[arg(long, value_name = "KINDS", num_args = 0..=1, default_missing_value = "40")]
    residue: Option<usize>,
    /// With --residue: show code around unexplained stalls of this kind, `FIRST > SECOND STALL` as the report names it; may be given
    /// several times.
    #[arg(long, value_name = "KIND", requires = "residue")]
    example: Vec<String>,
    /// Cubins, fatbinaries, libraries, folders of them. Files whose names are alike up to a dot and the digits before it,
    /// whatever folder they are in, count as one:
    /// they were compiled from one source.
    #[arg(required_unless_present = "coverage")]
    files: Vec<PathBuf>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if !args.coverage.coverage.is_empty() {
        return coverage_command::coverage(&args);
    }
    if let Some(path) = &args.coverage.forms {
        return coverage_command::forms(path, &args);
    }
    let (names, sources): (Vec<String>, Vec<Vec<PathBuf>>) = sources(&args.files)?.into_iter().unzip();
    let reasons = if args.residue.is_some() { reasons(&args.tables)? } else { Vec::new() };
    let mined: Vec<BTreeMap<&'static str, Mined>> = sources
        .par_iter()
        .enumerate()
        .map(|(i, paths)| mine(paths, i as u32, &args, &reasons))
        .collect::<Result<_>>()?;
    if let Some(path) = &args.counts {
        write_counts(path, &mined).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let Some(path) = &args.gaps {
        return write_gaps(path, &mined).with_context(|| format!("cannot write {}", path.display()));
    }
    if let Some(kinds) = args.residue {
        return report_residue(&mined, &reasons, kinds);
    }
    if args.leave_one_out {
        return report_left_out(&names, &mined);
    }
    let mut all: BTreeMap<&str, Mined> = BTreeMap::new();
    for (table, mined) in mined.iter().flatten() {
        all.entry(table).or_default().join(mined);
    }
    if let Some(kinds) = args.unknown {
        for (table, mined) in &all {
            anstream::println!("{table}: {}", mined.unknown.text(kinds));
        }
        return Ok(());
    }
    if let Some(folder) = &args.seen {
        for (table, mined) in &all {
            let path = folder.join(format!("{table}.seen.csv"));
            anstream::println!("{table}: {} functions, {} instructions", mined.functions, mined.instructions);
            std::fs::write(&path, spacing::write(mined, table))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        return Ok(());
    }
    let mut rows: BTreeMap<&str, (Mined, tables::Rows)> = BTreeMap::new();
    for (table, mined) in &all {
        let mut mined_for = mined.clone();
        if let Some(with) = mined_with(table).and_then(|with| all.get(with)) {
            mined_for.join(with);
        }
        let table_rows = tables::distances(&mined_for, table);
        rows.insert(table, (mined_for, table_rows));
    }
    for (table, mined) in &all {
        let (mined_for, rows) = &rows[table];
        let text = tables::write_distances(rows);
        let path = args.tables.join(format!("{table}.distances.csv"));
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        anstream::println!("{table}: {} functions, {} instructions", mined.functions, mined.instructions);
        if args.join {
            // Code of another table may lower rows, but says nothing of pairs that only it has.
            let own = tables::distances(mined, table);
            let text = join::distances(&before, &tables::least(mined_for, table), &own);
            for line in tables::changes(&before, &text) {
                anstream::println!("  {line}");
            }
            std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
            let path = args.tables.join(format!("{table}.opcodes.csv"));
            let before = std::fs::read_to_string(&path).unwrap_or_default();
            std::fs::write(&path, join::opcodes(&before, &tables::write_opcodes(mined)))?;
            let path = args.tables.join(format!("{table}.seen.csv"));
            if let Ok(before) = std::fs::read_to_string(&path) {
                std::fs::write(&path, spacing::lower(&before, mined, table))?;
            }
            continue;
        }
        if !args.write {
            for line in tables::compare(&before, &tables::least(mined_for, table), rows) {
                anstream::println!("  {line}");
            }
            continue;
        }
        for line in tables::changes(&before, &text) {
            anstream::println!("  {line}");
        }
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        std::fs::write(args.tables.join(format!("{table}.opcodes.csv")), tables::write_opcodes(mined))?;
    }
    Ok(())
}

/// The reasons of the folder with the tables.
fn reasons(folder: &Path) -> Result<Vec<Reason>> {
    let path = folder.join("residue.csv");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    residue::parse(&text).with_context(|| path.display().to_string())
}

/// Below this share of the residue explained the report fails, in percent.
const EXPLAINED: f64 = 95.0;

fn report_residue(mined: &[BTreeMap<&'static str, Mined>], reasons: &[Reason], kinds: usize) -> Result<()> {
    let mut all: BTreeMap<&str, Residue> = BTreeMap::new();
    for (table, mined) in mined.iter().flatten() {
        all.entry(table).or_default().join(&mined.residue);
    }
    for (table, residue) in &all {
        anstream::println!("{table}\n{}", residue.text(reasons, kinds));
    }
    anyhow::ensure!(!all.is_empty(), "no code of these architectures");
    let fails = all.values().any(|residue| residue.explained() < EXPLAINED || residue.often() > 0);
    anyhow::ensure!(!fails, "less than {EXPLAINED} % is explained, or a kind is often unexplained");
    Ok(())
}

/// Rows and kinds that are named of a source that fails.
const NAMED: usize = 8;

fn report_left_out(names: &[String], mined: &[BTreeMap<&'static str, Mined>]) -> Result<()> {
    let mut all: BTreeMap<&str, Vec<(&str, &Mined)>> = BTreeMap::new();
    for (name, tables) in names.iter().zip(mined) {
        tables.iter().for_each(|(table, mined)| all.entry(table).or_default().push((name, mined)));
    }
    anyhow::ensure!(!all.is_empty(), "no code of these architectures");
    let mut failed = Vec::new();
    for (table, sources) in &all {
        let with = mined_with(table).and_then(|with| all.get(with)).map_or(&[][..], Vec::as_slice);
        let left = leave_one_out::leave_one_out(table, sources, with)?;
        anstream::println!("{table}\n{}", leave_one_out::text(&left, NAMED));
        if !leave_one_out::passes(&left) {
            failed.push(*table);
        }
    }
    anyhow::ensure!(
        failed.is_empty(),
        "made without a source, tables do not hold for it: {}",
        failed.join(", ")
    );
    Ok(())
}

fn write_counts(path: &Path, mined: &[BTreeMap<&'static str, Mined>]) -> Result<()> {
    let mut out = BufWriter::new(std::fs::File::create(path)?);
    writeln!(out, "file,table,{}", tables::COUNT_COLUMNS)?;
    for (file, (table, mined)) in mined.iter().enumerate().flat_map(|(i, m)| m.iter().map(move |m| (i, m))) {
        for line in tables::counts(mined) {
            writeln!(out, "{file},{table},{line}")?;
        }
    }
    Ok(out.flush()?)
}

fn write_gaps(path: &Path, mined: &[BTreeMap<&'static str, Mined>]) -> Result<()> {
    let mut out = BufWriter::new(std::fs::File::create(path)?);
    writeln!(out, "file,table,kind,first,second,cycles,seen,waited")?;
    for (file, (table, mined)) in mined.iter().enumerate().flat_map(|(i, m)| m.iter().map(move |m| (i, m))) {
        let mut rows: Vec<_> = mined.gaps.counts.iter().collect();
        rows.sort_unstable_by_key(|&(key, _)| key);
        for ((kind, first, second), counts) in rows {
            let [seen, waited] = counts.0;
            for (cycles, (seen, waited)) in
                seen.into_iter().zip(waited).enumerate().filter(|(_, n)| *n != (0, 0))
            {
                writeln!(out, "{file},{table},{},{first},{second},{cycles},{seen},{waited}", kind.name())?;
            }
        }
    }
    Ok(out.flush()?)
}

/// The files of each source, by its name.
fn sources(paths: &[PathBuf]) -> Result<BTreeMap<String, Vec<PathBuf>>> {
    let mut sources: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for path in paths.iter().map(|path| files(path)).collect::<Result<Vec<_>>>()?.into_iter().flatten() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.split('.').find(|part| !part.is_empty()).unwrap_or_default();
        let name = name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
        sources.entry(name).or_default().push(path);
    }
    Ok(sources)
}

fn mine(
    paths: &[PathBuf],
    number: u32,
    args: &Args,
    reasons: &[Reason],
) -> Result<BTreeMap<&'static str, Mined>> {
    let mut all: BTreeMap<&'static str, Mined> = BTreeMap::new();
    let mut taken: BTreeMap<&str, u64> = BTreeMap::new();
    let mut seen: FxHashSet<(&str, u64)> = FxHashSet::default();
    for file in paths {
        let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let Ok(container) = Container::parse(&bytes) else { continue };
        let wanted = |table: &str| args.only.is_empty() || args.only.iter().any(|only| only == table);
        let images: Vec<_> = container.cubins().collect();
        // Unpacked side by side, and not all at once: a library may hold gigabytes.
        for images in images.chunks(BATCH) {
            // Of a table that has enough nothing more is unpacked.
            let has_room = |table: &&str| args.alarms || taken.get(table).is_none_or(|&n| n <= args.limit);
            let unpack = |image: &&Image| {
                let arch = image.sm.to_string().parse::<Arch>().ok()?;
                let table = table_name(arch).filter(|table| wanted(table)).filter(has_room)?;
                Some((arch, table, container.bytes(image).ok()?))
            };
            let unpacked: Vec<(Arch, &'static str, Cow<'_, [u8]>)> =
                images.par_iter().filter_map(unpack).collect();
            let mut code: Vec<Routine> = Vec::new();
            for (arch, table, bytes) in &unpacked {
                let Ok(cubin) = Cubin::parse(bytes) else { continue };
                let taken = taken.entry(table).or_default();
                for routine in cubin.code() {
                    let mut hasher = FxHasher::default();
                    routine.bytes.hash(&mut hasher);
                    let len = routine.bytes.len() as u64 / 16;
                    let fits = *taken <= args.limit;
                    if len <= args.longest && (fits || args.alarms) && seen.insert((table, hasher.finish())) {
                        *taken += len;
                        let (name, bytes) = (routine.name.to_owned(), routine.bytes.to_vec());
                        code.push(Routine { arch: *arch, table, name, bytes, fits });
                    }
                }
            }
            let parts: Vec<BTreeMap<&'static str, Mined>> =
                code.par_chunks(64).map(|codes| mine_some(codes, number, args, reasons)).collect();
            for (table, part) in parts.iter().flatten() {
                all.entry(table).or_default().join(part);
            }
        }
    }
    all.values_mut().for_each(|mined| mined.spacing.of_one_program());
    Ok(all)
}

/// Code with more blocks than this is left out where it branches to an unknown place.
const JUMPY: usize = 64;
/// Images that are unpacked at once.
const BATCH: usize = 256;

/// Code to mine.
struct Routine {
    arch: Arch,
    table: &'static str,
    name: String,
    bytes: Vec<u8>,
    /// It is under the limit.
    fits: bool,
}

fn mine_some(
    codes: &[Routine],
    number: u32,
    args: &Args,
    reasons: &[Reason],
) -> BTreeMap<&'static str, Mined> {
    let mut all: BTreeMap<&'static str, Mined> = BTreeMap::new();
    let mut rules: FxHashMap<Arch, Rules> = FxHashMap::default();
    for Routine { arch, table, name, bytes, fits } in codes {
        let code = sassafras_sass::Code { name, arch: *arch, bytes, indirect: &[], jumps: &[] };
        let Ok(lifted) = sassafras_sass::lift(&code) else { continue };
        // A branch to anywhere joins every block with every other, which takes long and teaches little.
        if lifted.opaque > 0 && lifted.function.block_count() > JUMPY {
            continue;
        }
        if !fits && check(&lifted.function, Rules::of(*arch)).findings.is_empty() {
            continue;
        }
        let mined = all.entry(table).or_default();
        if args.residue.is_some() {
            let reasons = Reasons { rows: reasons, table };
            mined.residue.function(&lifted.function, Rules::of(*arch), reasons, &args.example);
            continue;
        }
        if args.unknown.is_some() {
            mined.unknown.function(&lifted.function, Rules::of(*arch), table);
            continue;
        }
        match args.gaps {
            Some(_) => mined.gaps.function(&lifted.function),
            None => {
                let rules = rules.entry(*arch).or_insert_with(|| Rules::for_mining(*arch));
                mined.function(&lifted.function, number, rules);
            }
        }
    }
    all
}
