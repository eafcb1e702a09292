//! Goal: which forms of instructions compiled code holds, and how often.
//!
//! A *form* is the opcode as the lifter names it: the mnemonic with the modifiers that change timing or state. Words that the
//! tables do not describe are the form `OPAQUE`. `NOP`s behind the end are no instructions. Routines with the same bytes count
//! once: a file that stands in several places, or a kernel that several objects carry, is one piece of code.
//!
//! Cost: one decoding per word, files unpacked in batches on all cores; only [`touched`] lifts.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash as _, Hasher as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use sassafras_control::{Field, volta};
use sassafras_cubin::{Container, Cubin, Image};
use sassafras_machine::Arch;
use sassafras_machine::mined::table_name;
use sassafras_sass::print::Printer;
use sassafras_sass::{Code, Decoded, Decoder};

/// The form of words that the tables do not describe.
pub const OPAQUE: &str = "OPAQUE";
/// Images that are unpacked at once: a library may hold gigabytes.
const BATCH: usize = 256;
/// The size of an instruction.
const INSTRUCTION: usize = 16;

/// What instructions are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// Forms.
    Form,
    /// The whole opcode as a listing spells it, modifiers that change neither timing nor state included.
    Spelling,
}

/// How often a form stands in code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Instructions.
    pub occurrences: u64,
    /// Routines that hold it.
    pub functions: u64,
}

/// The forms of some code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forms {
    /// By form.
    pub counts: BTreeMap<String, Count>,
    /// Routines.
    pub functions: u64,
    /// Instructions.
    pub instructions: u64,
}

impl Forms {
    /// Counts the instructions of a routine.
    pub fn routine(&mut self, arch: Arch, bytes: &[u8], naming: Naming) {
        let mut here: FxHashMap<&str, u64> = FxHashMap::default();
        let names = names(arch, bytes, naming);
        for name in &names {
            *here.entry(name).or_default() += 1;
        }
        self.functions += 1;
        for (form, occurrences) in here {
            self.instructions += occurrences;
            self.add(form, Count { occurrences, functions: 1 });
        }
    }

    /// Adds what was counted elsewhere.
    pub fn join(&mut self, other: &Forms) {
        self.functions += other.functions;
        self.instructions += other.instructions;
        other.counts.iter().for_each(|(form, &count)| self.add(form, count));
    }

    fn add(&mut self, form: &str, count: Count) {
        let entry = match self.counts.get_mut(form) {
            Some(entry) => entry,
            None => self.counts.entry(form.to_owned()).or_default(),
        };
        entry.occurrences += count.occurrences;
        entry.functions += count.functions;
    }
}

/// The names of a routine's instructions, in order.
fn names(arch: Arch, bytes: &[u8], naming: Naming) -> Vec<Cow<'static, str>> {
    let (decoder, printer) = (Decoder::new(arch), Printer::new(arch));
    let (words, _) = bytes.as_chunks::<INSTRUCTION>();
    let decoded: Vec<_> = words.iter().map(|word| decoder.decode(u128::from_le_bytes(*word), 0)).collect();
    let is_padding = |inst: &Decoded| inst.mnemonic() == Some("NOP") && inst.guard().is_none();
    let end = decoded.iter().rposition(|inst| !is_padding(inst)).map_or(0, |last| last + 1);
    let mut text = String::new();
    let mut name = |inst: &Decoded| match (naming, inst.mnemonic()) {
        (_, None) => OPAQUE.into(),
        (Naming::Form, Some(name)) => plain(name).into(),
        (Naming::Spelling, Some(name)) => {
            text.clear();
            match printer.write(&mut text, inst.word(), 0) {
                Ok(_) => spelling(&text).map_or(plain(name).into(), |text| Cow::Owned(text.to_owned())),
                Err(_) => plain(name).into(),
            }
        }
    };
    decoded[..end].iter().map(&mut name).collect()
}

/// The opcode of a line of a listing.
fn spelling(line: &str) -> Option<&str> {
    line.split([' ', ',', ';']).find(|word| !word.is_empty() && !word.starts_with('@'))
}

/// The forms that rescheduling touched: those of blocks in which some word is another one, so that distances to what stands around are others.
/// Whose turn it is next (the yield flag) changes nothing for the code itself. Where a routine cannot be lifted, a place is a block.
///
/// # Errors
/// When one of the two is no cubin, or they have not the same routines.
pub fn touched(arch: Arch, before: &[u8], after: &[u8], naming: Naming) -> Result<BTreeSet<String>> {
    let [before, after] = [before, after].map(Cubin::parse);
    let (before, after) = (before.context("the original")?, after.context("the rescheduled one")?);
    let mut found = BTreeSet::new();
    for old in before.code() {
        let new = after.code_named(old.name).with_context(|| format!("{} is missing", old.name))?;
        if old.bytes == new.bytes {
            continue;
        }
        let [names, others] = [&old.bytes, &new.bytes].map(|bytes| names(arch, bytes, naming));
        let [words, other] = [&old.bytes, &new.bytes].map(|bytes| bytes.as_chunks::<INSTRUCTION>().0);
        for block in blocks(arch, old.name, old.bytes, names.len().max(others.len())) {
            let timing = |words: &[[u8; INSTRUCTION]], place| words.get(place).map(without_yield);
            if block.clone().any(|place| timing(words, place) != timing(other, place)) {
                let here = block.flat_map(|place| [names.get(place), others.get(place)]);
                found.extend(here.flatten().map(|name| name.to_string()));
            }
        }
    }
    Ok(found)
}

/// A word with its yield flag cleared.
fn without_yield(word: &[u8; INSTRUCTION]) -> u128 {
    let word = u128::from_le_bytes(*word);
    volta::read(word).with(Field::Yield, 0).map_or(word, |control| volta::insert(word, control))
}

/// The blocks of a routine as ranges of places; `end` is how many places there are.
fn blocks(arch: Arch, name: &str, bytes: &[u8], end: usize) -> Vec<Range<usize>> {
    let Ok(lifted) = sassafras_sass::lift(&Code { name, arch, bytes, indirect: &[], jumps: &[] }) else {
        return (0..end).map(|place| place..place + 1).collect();
    };
    let f = &lifted.function;
    let starts = f.blocks().filter_map(|block| Some(f.block_insts(block).first()?.as_u32() as usize));
    let mut starts: Vec<usize> = starts.chain([0, end]).collect();
    starts.sort_unstable();
    starts.dedup();
    starts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// Without what tells matrix instructions apart by their registers.
fn plain(opcode: &str) -> &str {
    opcode.split(':').next().unwrap_or(opcode)
}

/// The forms of files and folders of files, by table; only of the tables in `only`, if any is named there.
///
/// # Errors
/// When a file cannot be read. Files that hold no device code have no forms.
pub fn read(paths: &[PathBuf], only: &[String], naming: Naming) -> Result<BTreeMap<&'static str, Forms>> {
    let mut all: BTreeMap<&'static str, Forms> = BTreeMap::new();
    let mut seen: FxHashSet<(&str, u64)> = FxHashSet::default();
    for file in paths.iter().map(|path| files(path)).collect::<Result<Vec<_>>>()?.into_iter().flatten() {
        let bytes = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let Ok(container) = Container::parse(&bytes) else { continue };
        let images: Vec<_> = container.cubins().collect();
        for images in images.chunks(BATCH) {
            let unpack = |image: &&Image| {
                let arch = image.sm.to_string().parse::<Arch>().ok()?;
                let table = table_name(arch)?;
                (only.is_empty() || only.iter().any(|name| name == table)).then_some(())?;
                Some((arch, table, container.bytes(image).ok()?))
            };
            let unpacked: Vec<(Arch, &'static str, Cow<'_, [u8]>)> =
                images.par_iter().filter_map(unpack).collect();
            let mut code: Vec<(Arch, &'static str, &[u8])> = Vec::new();
            for (arch, table, bytes) in &unpacked {
                let Ok(cubin) = Cubin::parse(bytes) else { continue };
                for routine in cubin.code() {
                    let mut hasher = FxHasher::default();
                    routine.bytes.hash(&mut hasher);
                    if seen.insert((table, hasher.finish())) {
                        code.push((*arch, table, routine.bytes));
                    }
                }
            }
            let parts: Vec<BTreeMap<&'static str, Forms>> =
                code.par_chunks(64).map(|codes| count(codes, naming)).collect();
            for (table, part) in parts.iter().flatten() {
                all.entry(table).or_default().join(part);
            }
        }
    }
    Ok(all)
}

fn count(codes: &[(Arch, &'static str, &[u8])], naming: Naming) -> BTreeMap<&'static str, Forms> {
    let mut all: BTreeMap<&'static str, Forms> = BTreeMap::new();
    for (arch, table, bytes) in codes {
        all.entry(table).or_default().routine(*arch, bytes, naming);
    }
    all
}

/// The files behind a name: itself, or what a folder holds.
///
/// # Errors
/// When a folder cannot be read.
pub fn files(path: &Path) -> Result<Vec<PathBuf>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    const NOP: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;
    const EXIT: u128 = 0x000f_ea00_0380_0000_0000_0000_0000_794d;

    fn forms(words: &[u128]) -> Forms {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut forms = Forms::default();
        forms.routine("sm_90".parse().expect("an architecture"), &bytes, Naming::Form);
        forms
    }

    #[test]
    fn padding_is_left_out_and_the_rest_counted() {
        let found = forms(&[NOP, EXIT, NOP, NOP]);
        let one = Count { occurrences: 1, functions: 1 };
        let expected = [("EXIT", one), ("NOP", one)].map(|(form, count)| (form.to_owned(), count));
        assert_eq!(found.counts, expected.into_iter().collect());
        assert_eq!((found.functions, found.instructions), (1, 2));
        assert_eq!(forms(&[NOP]).instructions, 0);
    }

    #[test]
    fn a_routine_falls_into_blocks() {
        let bytes: Vec<u8> = [NOP, EXIT, NOP, EXIT].iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(blocks("sm_90".parse().expect("an architecture"), "k", &bytes, 4), [0..2, 2..4]);
        assert_eq!(blocks("sm_90".parse().expect("an architecture"), "k", &bytes[..3], 2), [0..1, 1..2]);
    }

    #[test]
    fn the_yield_flag_is_no_change() {
        let yields = EXIT ^ 1 << (volta::SHIFT + 4);
        let [one, other, stalls] =
            [EXIT, yields, EXIT ^ 1 << volta::SHIFT].map(|word| without_yield(&word.to_le_bytes()));
        assert!(one == other && one != stalls && yields != EXIT);
    }

    #[test]
    fn spellings_are_what_stands_before_the_operands() {
        assert_eq!(spelling("@!P0 DMMA.8x8x4 R4, R16, R34, R4"), Some("DMMA.8x8x4"));
        assert_eq!((spelling("EXIT"), spelling("EXIT ;"), spelling("")), (Some("EXIT"), Some("EXIT"), None));
    }

    #[test]
    fn what_no_table_describes_is_a_form_too() {
        let mut found = forms(&[0xfff, EXIT]);
        found.join(&forms(&[EXIT, EXIT]));
        assert_eq!(found.counts[OPAQUE], Count { occurrences: 1, functions: 1 });
        assert_eq!(found.counts["EXIT"], Count { occurrences: 3, functions: 2 });
        assert_eq!((found.functions, found.instructions), (2, 4));
    }
}
