//! Register sets of the whole corpus against `nvdisasm -plr`. Its known faults are listed in `testkit::nvdisasm`; any other
//! difference fails, reported by operation, register file and direction.
//!
//! An instruction's registers are in its word. So every distinct word of an architecture is asked about once, without its
//! control field and without the distance that a branch holds, in short functions made for it (`testkit::words`).
#![cfg(feature = "real-tools")]

#[path = "../../sass/tests/support/claim.rs"]
mod claim;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use claim::claim;
use rayon::prelude::*;
use sassafras_corpus_tests::{Item, cubins};
use sassafras_cubin::{Cubin, Sm};
use sassafras_ir::RegClass;
use sassafras_machine::Arch;
use sassafras_sass::print::Printer;
use sassafras_sass::program::{Relative, arch_of};
use sassafras_sass::{Decoded, Decoder, Flow};
use sassafras_testkit::nvdisasm::{self, Class, FAULTS, Line, Verdict};
use sassafras_testkit::tools::tool;
use sassafras_testkit::words::{self, Header};

/// Words per function. nvdisasm's time grows with the square of it.
const PIECE: usize = 500;
/// Functions per run of nvdisasm, whose start takes most of a second.
const PIECES: usize = 16;
/// The bits of the control field, with the marks of register reuse.
const CONTROL: u128 = 0x7f_ffff << 105;
/// Control bits that nvdisasm accepts for every instruction.
const PLAIN: u128 = (4 | 7 << 5 | 7 << 8) << 105;

#[derive(Default)]
struct Tally {
    words: usize,
    opaque: BTreeMap<String, usize>,
    faults: BTreeMap<&'static str, usize>,
    /// How often, and one example.
    differences: BTreeMap<Class, (usize, String)>,
    /// Texts that are nvdisasm's.
    spelled: usize,
    /// Texts that are called complete and differ, by operation.
    misspelled: BTreeMap<String, (usize, String)>,
    /// What nvdisasm does not list, and why.
    refused: BTreeMap<String, (usize, String)>,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.words += other.words;
        for (name, count) in other.opaque {
            *self.opaque.entry(name).or_default() += count;
        }
        for (name, count) in other.faults {
            *self.faults.entry(name).or_default() += count;
        }
        for (class, (count, example)) in other.differences {
            self.differences.entry(class).or_insert((0, example)).0 += count;
        }
        self.spelled += other.spelled;
        for (name, (count, example)) in other.misspelled {
            self.misspelled.entry(name).or_insert((0, example)).0 += count;
        }
        for (why, (count, example)) in other.refused {
            self.refused.entry(why).or_insert((0, example)).0 += count;
        }
    }
}

/// The words of one architecture.
struct Words {
    header: Header,
    /// The one that may be written in a row, and those that leave it.
    straight: Vec<u128>,
    leaving: Vec<u128>,
    instructions: usize,
}

/// The disassembler for an architecture: the newest does not know what is before sm_75.
fn release(sm: Sm) -> &'static str {
    if sm.number < 75 { "12.8" } else { "13." }
}

/// The word that is asked about: without what does not matter, and changed where nvdisasm does not tell. It never marks UR0 to UR3,
/// has no column from UR63 on, and lists an instruction that never runs as if it did.
fn normal(decoder: Decoder, relative: Relative, word: u128) -> u128 {
    let word = word & !relative.mask(word) & !CONTROL | PLAIN;
    let inst = decoder.decode(word, 0);
    let mut out = if inst.never_runs() { word & !(1 << 15) } else { word };
    for reg in inst.registers().iter().filter(|reg| reg.span.class() == RegClass::Uniform) {
        let first = reg.span.first().index();
        if let Some(field) = reg.field.filter(|field| field.len() >= 6)
            && (first < 4 || first + u32::from(reg.span.len()) > 62)
        {
            // The same place in a group of eight: registers of groups stay aligned.
            out = field.set(out, u64::from(first % 8) + 16);
        }
    }
    out
}

/// Whether control may not go on to the next instruction: each of these gets a function of its own.
fn leaves(inst: &Decoded) -> bool {
    !matches!(inst.flow(), Flow::Next)
}

/// Every distinct word, by architecture.
fn distinct(items: &[Item]) -> BTreeMap<Sm, Words> {
    let mut by_sm: BTreeMap<Sm, Vec<&Item>> = BTreeMap::new();
    for item in
        items.iter().filter(|item| arch_of(item.sm).is_some_and(|arch| Decoder::new(arch).has_table()))
    {
        by_sm.entry(item.sm).or_default().push(item);
    }
    let of = |(sm, items): (Sm, Vec<&Item>)| {
        let arch = arch_of(sm).expect("it has a table");
        let (decoder, relative) = (Decoder::new(arch), Relative::new(arch));
        let (mut seen, mut instructions) = (BTreeSet::new(), 0);
        for item in &items {
            let cubin = Cubin::parse(&item.bytes).unwrap_or_else(|e| panic!("{}: {e}", item.name));
            let codes = cubin.code().iter().flat_map(|code| code.bytes.as_chunks::<16>().0);
            let words: Vec<u128> = codes.map(|bytes| u128::from_le_bytes(*bytes) & !CONTROL).collect();
            instructions += words.len();
            seen.extend(words);
        }
        let seen: BTreeSet<u128> = seen.into_iter().map(|word| normal(decoder, relative, word)).collect();
        let (leaving, straight) = seen.into_iter().partition(|&word| leaves(&decoder.decode(word, 0)));
        // The newest format of a file, which the newest disassembler wants.
        let newest = items.iter().max_by_key(|item| item.bytes[8]).expect("a cubin");
        let header = *newest.bytes.first_chunk().expect("a header");
        (sm, Words { header, straight, leaving, instructions })
    };
    by_sm.into_iter().collect::<Vec<_>>().into_par_iter().map(of).collect()
}

/// One run of nvdisasm.
struct Job<'a> {
    sm: Sm,
    decoder: Decoder,
    printer: Printer<'static>,
    header: &'a Header,
    pieces: Vec<&'a [u128]>,
}

fn jobs(words: &BTreeMap<Sm, Words>) -> Vec<Job<'_>> {
    let mut jobs = Vec::new();
    for (&sm, words) in words {
        let arch = arch_of(sm).expect("it has a table");
        let (decoder, printer) = (Decoder::new(arch), Printer::new(arch));
        let straight: Vec<&[u128]> = words.straight.chunks(PIECE).collect();
        let leaving: Vec<&[u128]> = words.leaving.chunks(1).collect();
        let runs = straight.chunks(PIECES).chain(leaving.chunks(8 * PIECES));
        jobs.extend(runs.map(|pieces| Job {
            sm,
            decoder,
            printer,
            header: &words.header,
            pieces: pieces.to_vec(),
        }));
    }
    jobs
}

fn examine(job: &Job<'_>, path: &Path) -> Tally {
    let lines = words::list(&tool("nvdisasm", release(job.sm)), job.header, &job.pieces, path);
    let asked: Vec<u128> = job.pieces.iter().flat_map(|piece| piece.iter().copied()).collect();
    let mut tally = Tally { words: asked.len(), ..Tally::default() };
    assert_eq!(lines.len(), asked.len(), "{}: a word is lost", job.sm);
    for (word, line) in asked.into_iter().zip(&lines) {
        let inst = job.decoder.decode(word, 0);
        match line {
            Err(why) => {
                let example = format!("{word:#034x} {:?}", inst.mnemonic());
                tally.refused.entry(why.clone()).or_insert((0, example)).0 += 1;
            }
            Ok(line) => {
                assert_eq!(line.word, word, "{}: another word is listed", job.sm);
                compare(job.sm, &inst, line, &mut tally);
                if !leaves(&inst) {
                    spell(job, line, &mut tally);
                }
            }
        }
    }
    tally
}

fn compare(sm: Sm, inst: &Decoded, line: &Line, tally: &mut Tally) {
    if inst.is_opaque() {
        *tally.opaque.entry(line.mnemonic().to_owned()).or_default() += 1;
        return;
    }
    let claim = claim(inst);
    match nvdisasm::compare(&claim, line) {
        Verdict::Same => {}
        Verdict::Fault(fault) => *tally.faults.entry(fault.name).or_default() += 1,
        Verdict::Different(difference) => {
            let example = format!(
                "{sm} {:#034x} {}\n      nvdisasm reads {:?} writes {:?}\n      decoder  reads {:?} writes {:?}",
                line.word, line.text, line.reads, line.writes, claim.reads, claim.writes
            );
            for class in difference.classes(line.mnemonic()) {
                tally.differences.entry(class).or_insert((0, example.clone())).0 += 1;
            }
        }
    }
}

/// A text that is called complete is nvdisasm's. Of what names a place it is not: there nvdisasm writes a label.
fn spell(job: &Job<'_>, line: &Line, tally: &mut Tally) {
    let ours = job.printer.print(line.word, line.address);
    // The disassembler puts a blank before some commas and brackets.
    let theirs = line.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let theirs = theirs.replace(" ,", ",").replace("] [", "][");
    if ours.text == theirs {
        tally.spelled += 1;
    } else if ours.coverage.is_complete() {
        let example = format!("{:#034x}\n      nvdisasm {theirs}\n      printer  {}", line.word, ours.text);
        tally.misspelled.entry(line.mnemonic().to_owned()).or_insert((0, example)).0 += 1;
    }
}

/// What all jobs found, by architecture.
fn examine_all(jobs: &[Job<'_>]) -> BTreeMap<Sm, Tally> {
    let folder = tempfile::tempdir().expect("a folder");
    let tallies: Vec<(Sm, Tally)> = (jobs.par_iter().enumerate())
        .map(|(number, job)| (job.sm, examine(job, &folder.path().join(format!("{number}.cubin")))))
        .collect();
    let mut sums: BTreeMap<Sm, Tally> = BTreeMap::new();
    for (sm, tally) in tallies {
        sums.entry(sm).or_default().add(tally);
    }
    sums
}

#[test]
fn register_sets_agree() {
    let items = cubins().expect("the corpus");
    let words = distinct(&items);
    let sums = examine_all(&jobs(&words));
    let mut problems = Vec::new();
    for (sm, sum) in &sums {
        eprintln!(
            "{sm}: {} instructions, {} distinct words, {} texts the same, opaque {:?}, known faults {:?}",
            words[sm].instructions, sum.words, sum.spelled, sum.opaque, sum.faults
        );
        let differences = sum.differences.iter();
        problems.extend(
            differences.map(|(class, (count, example))| {
                format!("{sm}: {count} × {class}, for example\n    {example}")
            }),
        );
        let misspelled = sum.misspelled.iter();
        problems.extend(misspelled.map(|(name, (count, example))| {
            format!("{sm}: {count} × text of {name}, for example {example}")
        }));
        let refused = sum.refused.iter();
        problems.extend(refused.map(|(why, (count, example))| {
            format!("{sm}: {count} not listed: {why}, for example {example}")
        }));
    }
    for fault in FAULTS {
        eprintln!("known fault `{}`: {}", fault.name, fault.why);
    }
    assert!(problems.is_empty(), "{} kinds of difference\n{}", problems.len(), problems.join("\n"));
    assert!(sums.len() >= 15, "{} architectures", sums.len());
}

/// Words of sm_107 read as those of sm_100, which has no 64-bit integers.
#[test]
fn the_table_of_another_family_is_noticed() {
    let mut items = cubins().expect("the corpus");
    items.retain(|item| item.sm.number == 107);
    let words = distinct(&items);
    let mut jobs = jobs(&words);
    for job in &mut jobs {
        job.decoder = Decoder::new(Arch::SM_100);
    }
    let sums = examine_all(&jobs);
    let differences: BTreeSet<String> =
        sums.values().flat_map(|sum| sum.differences.keys()).map(ToString::to_string).collect();
    for wanted in ["MOV R: missing write", "ISETP R: missing read", "IADD R: extra read"] {
        assert!(differences.contains(wanted), "{wanted} is not in {differences:?}");
    }
}
