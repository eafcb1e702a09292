//! The least distances that compiled code leaves, whatever registers connect two instructions: counts, and the tables
//! `machine/data/mined/*.seen.csv` that are made of them.
//!
//! Two questions whatever the registers, both inside a block: which stall an instruction has before a certain next one
//! ([`Kind::Next`]), and how soon another may follow at all ([`Kind::Near`]). A third is asked of the pairs that the checker's data flow
//! finds: how soon a result is read ([`Kind::Reads`]). Rows are written for forms and for classes of forms, a finer one only
//! where it says more than the coarser ones.

use crate::{Mined, PairKey};
use rustc_hash::FxHashMap;
use sassafras_control::{Field, volta};
use sassafras_ir::{Effects, Function, Inst, Payload};
use sassafras_machine::mined::seen::{ENOUGH, Kind, REACH, form_names, is_firm};
use sassafras_verify::hazards::HazardKind;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The least distance, and how often the pair was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Least {
    /// Cycles.
    pub cycles: u16,
    /// Pairs.
    pub seen: u64,
    /// Those of them that are this close.
    pub edge: u64,
    /// The programs that these are from, once [`Spacing::of_one_program`] has said which they are.
    pub programs: u32,
}

impl Default for Least {
    fn default() -> Least {
        Least { cycles: u16::MAX, seen: 0, edge: 0, programs: 0 }
    }
}

impl Least {
    fn one(&mut self, cycles: u16) {
        self.add(Least { cycles, seen: 1, edge: 1, programs: 0 });
    }

    fn add(&mut self, other: Least) {
        (self.edge, self.programs) = match self.cycles.cmp(&other.cycles) {
            Ordering::Less => (self.edge, self.programs),
            Ordering::Equal => (self.edge + other.edge, self.programs + other.programs),
            Ordering::Greater => (other.edge, other.programs),
        };
        self.cycles = self.cycles.min(other.cycles);
        self.seen += other.seen;
    }
}

/// What was seen, by numbers of opcodes.
#[derive(Clone, Debug, Default)]
pub struct Spacing {
    pub(crate) pairs: FxHashMap<(Kind, u32, u32), Least>,
    pub(crate) stalls: FxHashMap<u32, Least>,
}

impl Spacing {
    /// Counts the pairs of a function; `ids` are the numbers of its opcodes.
    pub(crate) fn function(&mut self, f: &Function, ids: &[u32]) {
        let mut seen = [Local::new(ids.len()), Local::new(ids.len())];
        let mut stalls = vec![Least::default(); ids.len()];
        let mut recent: Vec<(usize, u16)> = Vec::new();
        for block in f.blocks() {
            recent.clear();
            let mut before: Option<(usize, u16)> = None;
            for &inst in f.block_insts(block) {
                let Some((stall, waits)) = stall(f, inst) else {
                    recent.clear();
                    before = None;
                    continue;
                };
                // Compilers rely on waits taking time: whatever stands before one says nothing.
                if waits {
                    recent.clear();
                    before = None;
                }
                let opcode = f.inst(inst).opcode.as_u32() as usize;
                recent.iter().for_each(|&(first, ago)| seen[0].add(first, opcode, ago));
                before.into_iter().for_each(|(first, stall)| seen[1].add(first, opcode, stall));
                let to_itself = f.branch_targets(inst).any(|b| f.block_insts(b).first() == Some(&inst));
                if stall > 0 && !to_itself {
                    stalls[opcode].one(stall);
                }
                if stall == 0 || to_itself || f.inst(inst).effects.intersects(Effects::CALL | Effects::RET) {
                    // Draining takes longer than any stall, and so does what is elsewhere.
                    recent.clear();
                    before = None;
                    continue;
                }
                recent.push((opcode, 0));
                recent.iter_mut().for_each(|(_, ago)| *ago += stall);
                recent.retain(|&(_, ago)| ago <= REACH);
                before = Some((opcode, stall));
            }
        }
        for (kind, local) in [Kind::Near, Kind::Next].into_iter().zip(seen) {
            for (first, second, least) in local.found() {
                self.pairs.entry((kind, ids[first], ids[second])).or_default().add(least);
            }
        }
        for (&id, least) in ids.iter().zip(stalls).filter(|(_, least)| least.seen > 0) {
            self.stalls.entry(id).or_default().add(least);
        }
    }

    /// Counts a pair that the checker's data flow found, where the second surely meets the first and nothing was waited for.
    pub(crate) fn pair(&mut self, key: &PairKey, place: u8, cycles: u16) {
        let PairKey { file, high, used_as, .. } = *key;
        let kind = match key.kind {
            HazardKind::Raw => Kind::reads(file, high, used_as, place),
            HazardKind::Waw => Kind::Overwrites(file, high),
            _ => return,
        };
        self.pairs.entry((kind, key.producer, key.consumer)).or_default().one(cycles);
    }

    /// All of it is from one program.
    pub fn of_one_program(&mut self) {
        self.pairs.values_mut().chain(self.stalls.values_mut()).for_each(|least| least.programs = 1);
    }

    /// Adds what was seen elsewhere, with its numbers as they are here.
    pub(crate) fn join(&mut self, other: &Spacing, id: impl Fn(u32) -> u32) {
        for (&(kind, a, b), &least) in &other.pairs {
            self.pairs.entry((kind, id(a), id(b))).or_default().add(least);
        }
        for (&a, &least) in &other.stalls {
            self.stalls.entry(id(a)).or_default().add(least);
        }
    }
}

/// The pairs of one function, by its own numbers of opcodes.
struct Local {
    opcodes: usize,
    least: Vec<Least>,
}

impl Local {
    fn new(opcodes: usize) -> Local {
        Local { opcodes, least: vec![Least::default(); opcodes * opcodes] }
    }

    fn add(&mut self, first: usize, second: usize, cycles: u16) {
        self.least[first * self.opcodes + second].one(cycles);
    }

    fn found(self) -> impl Iterator<Item = (usize, usize, Least)> {
        let opcodes = self.opcodes;
        let all = self.least.into_iter().enumerate().filter(|(_, least)| least.seen > 0);
        all.map(move |(i, least)| (i / opcodes, i % opcodes, least))
    }
}

/// The stall of an instruction that runs, and whether it waits for a scoreboard.
fn stall(f: &Function, inst: Inst) -> Option<(u16, bool)> {
    let Payload::Word(word) = f.inst(inst).payload else { return None };
    // Guarded by the constant false, or not understood.
    let runs = word >> 12 & 15 != 15 && !f.inst(inst).effects.contains(Effects::OPAQUE);
    let raw = volta::read(word);
    runs.then(|| (u16::from(raw.get(Field::Stall)), raw.get(Field::Wait) != 0))
}

/// Rows by kind and names.
type Rows<'a> = BTreeMap<(Kind, &'a str, &'a str), Least>;

/// Rows of one kind, first name, distance and firmness: the fewest that any of them counts, and the second names.
type Groups<'a> = BTreeMap<(Kind, &'a str, u16, bool), (Least, Vec<&'a str>)>;

/// What a table of this name counts, by names of forms and classes, and the classes of the forms.
fn rows<'a>(mined: &'a Mined, table: &str) -> (Rows<'a>, FxHashMap<&'a str, &'a str>) {
    let mut rows = Rows::new();
    let mut sensitive = FxHashMap::default();
    let mut add = |kind: Kind, first: u32, second: u32, least: Least| {
        let [a, b] = [first, second].map(|id| form_names(table, mined.text(id)).of(kind));
        // Plain arithmetic keeps to its pipes and latencies.
        let asks = a.sensitive || b.sensitive || matches!(kind, Kind::Reads(..));
        if !asks {
            return;
        }
        for first in [a.own, Some(a.class)].into_iter().flatten() {
            for second in [b.own, Some(b.class)].into_iter().flatten() {
                rows.entry((kind, first, second)).or_default().add(least);
            }
        }
        for names in [&a, &b] {
            if let Some(own) = names.own {
                sensitive.insert(own, names.class);
            }
        }
    };
    for (&(kind, first, second), &least) in &mined.spacing.pairs {
        add(kind, first, second, least);
    }
    (rows, sensitive)
}

/// The least stalls of opcodes.
fn stalls(mined: &Mined) -> BTreeMap<&str, Least> {
    let mut stalls: BTreeMap<&str, Least> = BTreeMap::new();
    for (&id, &least) in &mined.spacing.stalls {
        let text = mined.text(id);
        let plain = text.split(':').next().unwrap_or(text);
        stalls.entry(plain).or_default().add(least);
    }
    stalls
}

const COLUMNS: &str = "kind,first,second,least,seen,edge,programs\n";

/// A table as text, with what was mined now counted, too: rows that it leaves less than are firm no more, so that a checker does not ask for
/// them. Their distance stays: a scheduler keeps to what a device has run. No row is added.
pub fn lower(old: &str, mined: &Mined, table: &str) -> String {
    let (rows, _) = rows(mined, table);
    let rows: FxHashMap<(String, &str, &str), u16> = rows
        .into_iter()
        .map(|((kind, first, second), least)| ((kind.name(), first, second), least.cycles))
        .collect();
    let stalls = stalls(mined);
    let mut out = String::from(COLUMNS);
    for line in old.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [kind, first, seconds, least, seen, edge, programs] = cells.as_slice() else { continue };
        let Ok(asked) = least.parse::<u16>() else { continue };
        let is_undercut = |second: &&str| {
            let found = match *kind {
                "stall" => stalls.get(first).map(|least| least.cycles),
                kind => rows.get(&(kind.to_owned(), *first, *second)).copied(),
            };
            found.is_some_and(|cycles| cycles < asked)
        };
        let (undercut, stay): (Vec<&str>, Vec<&str>) = seconds.split(' ').partition(is_undercut);
        for (seconds, edge, programs) in [(undercut, &"0", &"0"), (stay, edge, programs)] {
            if !seconds.is_empty() {
                let _ =
                    writeln!(out, "{kind},{first},{},{asked},{seen},{edge},{programs}", seconds.join(" "));
            }
        }
    }
    out
}

/// The table of this name as text.
pub fn write(mined: &Mined, table: &str) -> String {
    let (rows, sensitive) = rows(mined, table);
    let mut out = String::from(COLUMNS);
    for (name, Least { cycles, seen, edge, programs }) in stalls(mined) {
        let _ = writeln!(out, "stall,{name},,{cycles},{seen},{edge},{programs}");
    }
    let class = |name: &str| sensitive.get(name).copied();
    let counts = |kind, first, second| -> Option<&Least> {
        rows.get(&(kind, first, second)).filter(|row| row.seen >= ENOUGH)
    };
    // Rows that say the same of one form stand together, firm ones apart from the others.
    let mut grouped: Groups<'_> = BTreeMap::new();
    for (&(kind, first, second), &least) in rows.iter().filter(|(_, row)| row.seen >= ENOUGH) {
        let cycles = least.cycles;
        let firm = |row: &Least| is_firm(row.edge, row.programs);
        // A row of two names says nothing where those of one name and a class say the same.
        if let (Some(a), Some(b)) = (class(first), class(second))
            && let (Some(one), Some(other)) = (counts(kind, first, b), counts(kind, a, second))
            && one.cycles.max(other.cycles) == cycles
            && (!firm(&least) || [one, other].iter().any(|row| row.cycles == cycles && firm(row)))
        {
            continue;
        }
        let key = (kind, first, cycles.min(u16::from(u8::MAX)), firm(&least));
        let (fewest, seconds) = grouped.entry(key).or_insert((least, Vec::new()));
        fewest.seen = fewest.seen.min(least.seen);
        fewest.edge = fewest.edge.min(least.edge);
        fewest.programs = fewest.programs.min(least.programs);
        seconds.push(second);
    }
    for ((kind, first, cycles, _), (Least { seen, edge, programs, .. }, seconds)) in grouped {
        let (kind, seconds) = (kind.name(), seconds.join(" "));
        let _ = writeln!(out, "{kind},{first},{seconds},{cycles},{seen},{edge},{programs}");
    }
    out
}
