//! How soon one instruction of a warp follows another, whatever registers they touch.
//!
//! Four questions, each answered by the smallest distances between two opcodes in compiled code: how soon an opcode is issued
//! behind another ([`GapKind::Issue`]), how soon the warp's turn goes to other threads of it ([`GapKind::Settle`]), how soon a
//! source is overwritten ([`GapKind::Overwrite`]), and how soon a matrix instruction adds to the result of another
//! ([`GapKind::Addend`]). `machine/data/dispatch.csv` and `source_reads.csv` are checked against them.

use rustc_hash::FxHashMap;
use sassafras_control::{Field, volta};
use sassafras_ir::cfg::Cfg;
use sassafras_ir::{Effects, Function, Inst, Lane, Payload, RegClass, Role};
use sassafras_machine::Category;
use sassafras_verify::hazards::rules::{addend, class_name, file};

/// What a distance was left for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GapKind {
    /// Any two instructions of a block.
    Issue,
    /// The second gives the warp's turn to other threads of it; a `+P` marks a first one that writes a predicate.
    Settle,
    /// The second overwrites a source of the first, which sets no scoreboard, in this register file.
    Overwrite(RegClass),
    /// The second adds to the result of the first; matrix instructions that set no scoreboard, named with their shape.
    Addend,
}

impl GapKind {
    /// A short name, with the register file.
    pub fn name(self) -> String {
        match self {
            GapKind::Issue => "issue".to_owned(),
            GapKind::Settle => "settle".to_owned(),
            GapKind::Overwrite(class) => format!("overwrite {}", file(class).name()),
            GapKind::Addend => "addend".to_owned(),
        }
    }
}

/// Distances are counted up to here.
pub const LONGEST: usize = 40;

/// How often each distance was left: with no wait between, and with one between or at the second instruction.
#[derive(Clone, Debug)]
pub struct Counts(pub [[u32; LONGEST + 1]; 2]);

impl Default for Counts {
    fn default() -> Counts {
        Counts([[0; LONGEST + 1]; 2])
    }
}

/// What was seen of one architecture.
#[derive(Clone, Debug, Default)]
pub struct Gaps {
    /// By kind and the two opcodes.
    pub counts: FxHashMap<(GapKind, String, String), Counts>,
}

/// In one function: by the numbers of the two opcodes, and whether the first one writes a predicate; and which matrix
/// instructions add to which, so many cycles later.
#[derive(Default)]
struct Seen {
    opcodes: FxHashMap<(GapKind, u32, bool, u32), Counts>,
    addends: Vec<(Recent, Inst)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Recent {
    inst: Inst,
    ago: u16,
    waited: bool,
    /// Stands in a block before.
    before: bool,
}

impl Gaps {
    /// Counts the pairs of a function.
    pub fn function(&mut self, f: &Function) {
        let cfg = Cfg::new(f);
        let mut exits: Vec<Vec<Recent>> = vec![Vec::new(); f.block_count()];
        let mut seen = Seen::default();
        for round in 0..3 {
            for &block in cfg.reverse_post_order() {
                let mut recent: Vec<Recent> = Vec::new();
                for &pred in cfg.preds(block) {
                    for &theirs in &exits[pred.as_u32() as usize] {
                        match recent.iter_mut().find(|ours| ours.inst == theirs.inst) {
                            Some(ours) if ours.ago <= theirs.ago => {}
                            Some(ours) => *ours = theirs,
                            None => recent.push(theirs),
                        }
                    }
                }
                recent.iter_mut().for_each(|r| r.before = true);
                for &inst in f.block_insts(block) {
                    step(f, inst, &mut recent, (round == 2).then_some(&mut seen));
                }
                exits[block.as_u32() as usize] = recent;
            }
        }
        let texts: Vec<&str> = f.opcodes().collect();
        for (first, second) in seen.addends {
            let key = (GapKind::Addend, class_name(f, first.inst), class_name(f, second));
            self.counts.entry(key).or_default().count(&first);
        }
        for ((kind, first, predicate, second), counts) in seen.opcodes {
            let mark = if predicate { "+P" } else { "" };
            let key = (kind, format!("{}{mark}", texts[first as usize]), texts[second as usize].to_owned());
            self.counts.entry(key).or_default().join(&counts);
        }
    }

    /// Adds what was seen elsewhere.
    pub fn join(&mut self, other: &Gaps) {
        for (key, counts) in &other.counts {
            self.counts.entry(key.clone()).or_default().join(counts);
        }
    }
}

impl Counts {
    fn count(&mut self, first: &Recent) {
        self.0[usize::from(first.waited)][usize::from(first.ago)] += 1;
    }

    fn join(&mut self, other: &Counts) {
        for (ours, theirs) in self.0.iter_mut().flatten().zip(other.0.iter().flatten()) {
            *ours += theirs;
        }
    }
}

/// The lanes that a matrix instruction adds to.
fn addend_lanes(f: &Function, inst: Inst) -> Vec<Lane> {
    let mut lanes = Vec::new();
    if let Some(place) = addend(f, inst).filter(|_| is_matrix(f, inst)) {
        f.for_each_read(inst, |read| lanes.extend((read.role == Role::Operand(place)).then_some(read.lane)));
    }
    lanes
}

/// Whether a matrix instruction that sets no scoreboard writes any of these lanes.
fn adds_to(f: &Function, inst: Inst, lanes: &[Lane]) -> bool {
    let mut writes = false;
    if is_matrix(f, inst) && !sets(f, inst, &[Field::Write]) {
        f.for_each_write(inst, |write| writes |= lanes.contains(&write.lane));
    }
    writes
}

fn is_matrix(f: &Function, inst: Inst) -> bool {
    Category::of(f.opcode_text(f.inst(inst).opcode)) == Some(Category::Tensor)
}

/// Whether an instruction sets one of these scoreboards.
fn sets(f: &Function, inst: Inst, fields: &[Field]) -> bool {
    let Payload::Word(word) = f.inst(inst).payload else { return false };
    fields.iter().any(|&field| volta::read(word).get(field) < 6)
}

fn step(f: &Function, inst: Inst, recent: &mut Vec<Recent>, seen: Option<&mut Seen>) {
    let Payload::Word(word) = f.inst(inst).payload else { return recent.clear() };
    let raw = volta::read(word);
    let waits = raw.get(Field::Wait) != 0 || f.opcode_text(f.inst(inst).opcode).starts_with("DEPBAR");
    if waits {
        recent.iter_mut().for_each(|r| r.waited = true);
    }
    // Guarded by the constant false.
    let runs = word >> 12 & 15 != 15;
    if let Some(seen) = seen.filter(|_| runs) {
        let second = f.inst(inst).opcode;
        let turns = f.opcode_text(second).starts_with("BSYNC");
        let mut writes: Vec<Lane> = Vec::new();
        f.for_each_write(inst, |write| writes.push(write.lane));
        let added = addend_lanes(f, inst);
        for r in recent.iter() {
            if !added.is_empty() && adds_to(f, r.inst, &added) {
                seen.addends.push((*r, inst));
            }
            let first = f.inst(r.inst).opcode.as_u32();
            let mut count = |kind, predicate| {
                seen.opcodes.entry((kind, first, predicate, second.as_u32())).or_default().count(r);
            };
            if r.ago <= 16 && !r.before {
                count(GapKind::Issue, false);
            }
            if turns {
                let mut predicate = false;
                f.for_each_write(r.inst, |w| {
                    predicate |= matches!(w.lane.class(), RegClass::Pred | RegClass::UPred)
                });
                count(GapKind::Settle, predicate);
            }
            if writes.is_empty() || r.ago > 16 {
                continue;
            }
            if !sets(f, r.inst, &[Field::Read, Field::Write]) {
                let mut classes: Vec<RegClass> = Vec::new();
                f.for_each_read(r.inst, |read| {
                    let class = read.lane.class();
                    if read.role != Role::Guard && writes.contains(&read.lane) && !classes.contains(&class) {
                        classes.push(class);
                    }
                });
                classes.into_iter().for_each(|class| count(GapKind::Overwrite(class), false));
            }
        }
    }
    let stall = u16::from(raw.get(Field::Stall));
    if stall == 0 || f.inst(inst).effects.intersects(Effects::CALL | Effects::RET) {
        return recent.clear();
    }
    if runs {
        recent.retain(|r| r.inst != inst);
        recent.push(Recent { inst, ago: 0, waited: false, before: false });
    }
    recent.iter_mut().for_each(|r| r.ago += stall);
    recent.retain(|r| usize::from(r.ago) <= LONGEST);
}
