//! Learns from compiled code how close a compiler lets instructions stand.
//!
//! [`Mined::function`] walks a lifted function with the checker's own data flow ([`sassafras_verify::hazards::walk()`]) and
//! keeps, for every kind of pair, how often each distance was left ([`Distances`]); and for every opcode how often it sets
//! scoreboards and which stalls it carries ([`OpcodeCounts`]). Distances across a wait are kept apart: compilers rely on
//! waits taking time.

pub mod coverage;
pub mod forms;
pub mod gaps;
pub mod join;
pub mod leave_one_out;
pub mod residue;
pub mod spacing;
mod stats;
pub mod tables;
pub mod unknown;

pub use stats::{Cell, Distances, OpcodeCounts, Place};

use rustc_hash::FxHashMap;
use sassafras_control::{Field, volta};
use sassafras_ir::{Block, Function, Operand, Payload, RegClass};
use sassafras_machine::Category;
use sassafras_machine::mined::seen::{form_names, place as place_of};
use sassafras_machine::mined::{File, Use};
use sassafras_verify::hazards::rules::class_name;
use sassafras_verify::hazards::{HazardKind, Observer, Pair, Rules, walk};

/// What pairs are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PairKey {
    /// The hazard.
    pub kind: HazardKind,
    /// The register file.
    pub file: File,
    /// The first instruction's class.
    pub producer: u32,
    /// Odd lanes of a result.
    pub high: bool,
    /// The second instruction's class.
    pub consumer: u32,
    /// How it uses the lane.
    pub used_as: Use,
    /// At which operand, in which half.
    pub slot: (u8, bool),
    /// It reads a pair of registers there, as wide multiplications do of what they add to.
    pub addend: bool,
    /// The first one set a scoreboard that was not waited for.
    pub guarded: bool,
}

/// What was seen of one architecture.
#[derive(Clone, Debug, Default)]
pub struct Mined {
    names: FxHashMap<String, u32>,
    texts: Vec<String>,
    /// By class, whether operands are read at different times.
    late: Vec<bool>,
    /// By class, whether results are written one after the other.
    serial: Vec<bool>,
    /// Distances of pairs.
    pub pairs: FxHashMap<PairKey, Distances>,
    /// What opcodes carry.
    pub opcodes: FxHashMap<u32, OpcodeCounts>,
    /// Functions walked.
    pub functions: u32,
    /// Instructions walked.
    pub instructions: u64,
    /// How soon instructions follow each other, if that was asked for.
    pub gaps: gaps::Gaps,
    /// Stall cycles that no rule asks for, if that was asked for.
    pub residue: residue::report::Residue,
    /// The least distances, whatever registers connect two instructions.
    pub spacing: spacing::Spacing,
    /// Pairs that no table knows, if that was asked for.
    pub unknown: unknown::Unknown,
}

impl Mined {
    /// The name of a class.
    pub fn text(&self, id: u32) -> &str {
        &self.texts[id as usize]
    }

    /// The category of a class.
    pub fn category(&self, id: u32) -> Option<Category> {
        let text = self.text(id);
        Category::of(text.split(':').next().unwrap_or(text))
    }

    fn intern(&mut self, name: &str) -> u32 {
        if let Some(&id) = self.names.get(name) {
            return id;
        }
        let id = self.texts.len() as u32;
        let form = form_names("", name);
        self.late.push(form.late);
        self.serial.push(form.serial);
        self.texts.push(name.to_owned());
        self.names.insert(name.to_owned(), id);
        id
    }

    /// Walks a function of the file with this number.
    pub fn function(&mut self, f: &Function, file: u32, rules: &Rules) {
        self.functions += 1;
        self.instructions += f.inst_count() as u64;
        let place = Place { function: self.functions, file };
        let mut ids = vec![0; f.inst_count()];
        for &inst in f.blocks().flat_map(|block| f.block_insts(block)) {
            let id = self.intern(&class_name(f, inst));
            ids[inst.as_u32() as usize] = id;
            let Payload::Word(word) = f.inst(inst).payload else { continue };
            let raw = volta::read(word);
            // Convergence barriers are written at a fixed time, whatever else the instruction does.
            let writes = |op: &Operand| matches!(op, Operand::Reg(span) if span.class() != RegClass::Barrier);
            let writes = f.defs(inst).iter().any(writes);
            let [write, read] = [Field::Write, Field::Read].map(|field| raw.get(field) < 6);
            // A branch to itself stands behind the end and never stalls.
            let to_itself = f.branch_targets(inst).any(|b| f.block_insts(b).first() == Some(&inst));
            if !to_itself {
                self.opcodes.entry(id).or_default().add(place, writes, write, read, raw.get(Field::Stall));
            }
        }
        let opcodes: Vec<String> = f.opcodes().map(str::to_owned).collect();
        let opcodes: Vec<u32> = opcodes.iter().map(|text| self.intern(text)).collect();
        self.spacing.function(f, &opcodes);
        let mut collector = Collector { ids, blocks: vec![Vec::new(); f.block_count()], current: 0 };
        walk(f, rules, &mut collector);
        for seen in collector.blocks.into_iter().flatten() {
            if seen.meets && !seen.waited && !seen.key.guarded {
                let (first, second) = (seen.key.producer as usize, seen.key.consumer as usize);
                let at = place_of(self.serial[first], seen.predicate, self.late[second], seen.key.slot);
                self.spacing.pair(&seen.key, at, seen.cycles);
            }
            self.pairs.entry(seen.key).or_default().add(place, seen.cycles, seen.waited, seen.certain);
        }
    }

    /// Adds what was seen elsewhere; the order of adding does not matter.
    pub fn join(&mut self, other: &Mined) {
        let ids: Vec<u32> = other.texts.iter().map(|text| self.intern(text)).collect();
        let id = |theirs: u32| ids[theirs as usize];
        for (key, distances) in &other.pairs {
            let key = PairKey { producer: id(key.producer), consumer: id(key.consumer), ..*key };
            self.pairs.entry(key).or_default().join(distances);
        }
        for (&opcode, counts) in &other.opcodes {
            self.opcodes.entry(id(opcode)).or_default().join(counts);
        }
        self.gaps.join(&other.gaps);
        self.residue.join(&other.residue);
        self.unknown.join(&other.unknown);
        self.spacing.join(&other.spacing, id);
        self.functions += other.functions;
        self.instructions += other.instructions;
    }
}

#[derive(Clone, Debug)]
struct Seen {
    key: PairKey,
    cycles: u16,
    waited: bool,
    certain: bool,
    /// The number of the predicate, if it is about one.
    predicate: Option<u8>,
    /// The compiler has to keep the two apart: nothing says that only one of them runs.
    meets: bool,
}

struct Collector {
    ids: Vec<u32>,
    blocks: Vec<Vec<Seen>>,
    current: usize,
}

impl Observer for Collector {
    fn block(&mut self, block: Block) {
        self.current = block.as_u32() as usize;
        self.blocks[self.current].clear();
    }

    fn pair(&mut self, pair: &Pair<'_>) {
        let key = PairKey {
            kind: pair.kind,
            file: pair.file(),
            producer: self.ids[pair.producer.as_u32() as usize],
            high: pair.part % 2 == 1,
            consumer: self.ids[pair.consumer.as_u32() as usize],
            used_as: pair.used_as,
            slot: pair.slot,
            addend: pair.is_addend(),
            guarded: pair.guarded,
        };
        self.blocks[self.current].push(Seen {
            key,
            cycles: pair.elapsed,
            waited: pair.waited,
            certain: pair.same_guard,
            predicate: pair.predicate(),
            meets: pair.same_guard || pair.function.inst(pair.producer).guard.is_none(),
        });
    }
}
