//! `sassafras-mine`: mines files and writes the tables; run by `cargo xtask mine`.

use std::collections::BTreeMap;
use std::hash::{Hash as _, Hasher as _};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Parser;
use rayon::prelude::*;
use rustc_hash::{FxHashSet, FxHasher};
use sassafras_cubin::{Container, Cubin};
use sassafras_machine::Arch;
use sassafras_machine::mined::{mined_with, table_name};
use sassafras_mine::{Mined, tables};
use sassafras_verify::hazards::Rules;

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
    /// Cubins, fatbinaries, libraries, folders of them. Files of one name, whatever folder they are in, count as one:
    /// they were compiled from one source.
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let mut sources: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for path in args.files.iter().map(|path| files(path)).collect::<Result<Vec<_>>>()?.into_iter().flatten() {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        sources.entry(name).or_default().push(path);
    }
    let sources: Vec<Vec<PathBuf>> = sources.into_values().collect();
    let mined: Vec<BTreeMap<&'static str, Mined>> = sources
        .par_iter()
        .enumerate()
        .map(|(i, paths)| mine(paths, i as u32, &args))
        .collect::<Result<_>>()?;
    if let Some(path) = &args.counts {
        write_counts(path, &mined).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let Some(path) = &args.gaps {
        return write_gaps(path, &mined).with_context(|| format!("cannot write {}", path.display()));
    }
    let mut all: BTreeMap<&str, Mined> = BTreeMap::new();
    for (table, mined) in mined.iter().flatten() {
        all.entry(table).or_default().join(mined);
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

/// The files behind a name: itself, or what a folder holds.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    let entries = std::fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
    for entry in entries {
        found.extend(files(&entry?.path())?);
    }
    found.sort();
    Ok(found)
}

fn mine(paths: &[PathBuf], number: u32, args: &Args) -> Result<BTreeMap<&'static str, Mined>> {
    let mut all: BTreeMap<&'static str, Mined> = BTreeMap::new();
    let mut taken: BTreeMap<&str, u64> = BTreeMap::new();
    let mut seen: FxHashSet<(&str, u64)> = FxHashSet::default();
    for file in paths {
        let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let Ok(container) = Container::parse(&bytes) else { continue };
        for image in container.cubins() {
            let Ok(bytes) = container.bytes(image) else { continue };
            let Ok(cubin) = Cubin::parse(&bytes) else { continue };
            let Ok(arch) = cubin.sm().to_string().parse::<Arch>() else { continue };
            let wanted = |table: &&str| args.only.is_empty() || args.only.iter().any(|only| only == table);
            let Some(table) = table_name(arch).filter(wanted) else { continue };
            let taken = taken.entry(table).or_default();
            let mut take = |bytes: &[u8]| {
                let mut hasher = FxHasher::default();
                bytes.hash(&mut hasher);
                let len = bytes.len() as u64 / 16;
                let takes =
                    len <= args.longest && *taken <= args.limit && seen.insert((table, hasher.finish()));
                *taken += if takes { len } else { 0 };
                takes
            };
            let code: Vec<_> = cubin.code().iter().filter(|code| take(code.bytes)).collect();
            let rules = Rules::for_mining(arch);
            let parts = code.par_chunks(64).map(|codes| {
                let mut mined = Mined::default();
                for code in codes {
                    let code = sassafras_sass::Code {
                        name: code.name,
                        arch,
                        bytes: code.bytes,
                        indirect: &[],
                        jumps: &[],
                    };
                    let Ok(lifted) = sassafras_sass::lift(&code) else { continue };
                    match args.gaps {
                        Some(_) => mined.gaps.function(&lifted.function),
                        None => mined.function(&lifted.function, number, &rules),
                    }
                }
                mined
            });
            let parts: Vec<Mined> = parts.collect();
            let mined = all.entry(table).or_default();
            parts.iter().for_each(|part| mined.join(part));
        }
    }
    Ok(all)
}
