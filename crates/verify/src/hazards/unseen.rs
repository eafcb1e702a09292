//! Does anything stand closer than compiled code was ever seen to leave it, though no rule says why it must not?
//!
//! Rules of registers, pipes and turns explain most distances. What instructions share besides (`sassafras_machine::state`) is known
//! only by the distances that compilers keep. Two that share hidden state, or of which one reads what the other wrote, and that
//! stand closer than a firm row (`sassafras_machine::mined::seen`) says, are a finding of its own kind. So it is inside a block,
//! where the cycles between two are the sum of the stalls. A pair whose least few have reached says nothing here: whoever moves
//! code keeps it as it came.

use super::collectives;
use super::rules::Rules;
use super::walk::HazardKind;
use super::{Finding, Pair};
use crate::acquires::{self, Awaited};
use rustc_hash::FxHashMap;
use sassafras_control::{Field, volta};
use sassafras_ir::{Effects, Function, Inst, Payload};
use sassafras_machine::mined::seen::{Form, Kind, REACH, Seen, place};
use std::cell::RefCell;

/// The longest stall.
const LONGEST: u8 = 15;

/// An instruction that others keep a distance from.
#[derive(Clone, Copy)]
struct Earlier {
    inst: Inst,
    at: u32,
}

thread_local! {
    /// Forms that were looked up before, by table: functions share their opcodes.
    static KNOWN: RefCell<FxHashMap<usize, FxHashMap<Box<str>, Form>>> = RefCell::default();
}

/// More opcodes than any architecture has: names that a user made up are not kept for ever.
const MOST_KNOWN: usize = 1 << 14;

/// The forms of a function's opcodes.
pub(super) fn forms(f: &Function, rules: &Rules) -> Vec<Form> {
    let Some(seen) = rules.seen else { return Vec::new() };
    KNOWN.with_borrow_mut(|known| {
        let known = known.entry(std::ptr::from_ref(seen).addr()).or_default();
        if known.len() > MOST_KNOWN {
            known.clear();
        }
        let form = |text: &str| match known.get(text) {
            Some(form) => *form,
            None => *known.entry(text.into()).or_insert(seen.form(text)),
        };
        f.opcodes().map(form).collect()
    })
}

/// Pairs inside blocks that stand closer than was ever seen.
pub(super) fn check(f: &Function, rules: &Rules, forms: &[Form]) -> Vec<Finding> {
    let Some(seen) = rules.seen else { return Vec::new() };
    let form = |inst: Inst| forms[f.inst(inst).opcode.as_u32() as usize];
    let mut findings = Vec::new();
    near(
        f,
        |inst| !form(inst).state.is_empty(),
        |near| match near {
            Near::Pair { first, second, ago, next } => {
                let (one, other) = (form(first), form(second));
                if !one.state.keeps_apart(other.state) {
                    return;
                }
                let least = |kind| seen.firm(kind, one, other).unwrap_or(1);
                let next = if next { least(Kind::Next) } else { 1 };
                // Neighbours can be kept apart by the longest stall and no more.
                let needed = u16::from(least(Kind::Near).max(next).min(LONGEST));
                if ago < needed && needed > u16::from(rules.held_back(f, first, second)) {
                    findings.push(finding(first, second, needed, ago));
                }
            }
            Near::Stall { inst, stall, leaves } => {
                let least = u16::from(form(inst).firm_stall);
                // Wherever control goes, getting there takes longer than any stall.
                if stall < least && !leaves {
                    findings.push(finding(inst, inst, least, stall));
                }
            }
        },
    );
    findings
}

/// When each instruction was issued in the code that another was made from, by its stalls, from the beginning of its block.
#[derive(Clone, Debug)]
pub struct Came {
    issued: Vec<u32>,
    stalls: Vec<u16>,
    /// How many waits stand before each instruction in its block, its own included.
    waits: Vec<u32>,
    /// Who waited for reads of memory to order it.
    awaited: Awaited,
}

impl Came {
    /// From words that are as they came. Instructions are numbered in the order of the code that came, wherever they stand now.
    pub fn of(f: &Function) -> Came {
        let count = f.inst_count();
        let order = |block| {
            let mut insts = f.block_insts(block).to_vec();
            insts.sort_unstable();
            insts
        };
        let awaited = acquires::Code { f, order, word: |inst| word(f, inst) }.awaited();
        let mut came =
            Came { issued: vec![0; count], stalls: vec![0; count], waits: vec![0; count], awaited };
        for block in f.blocks() {
            let insts = order(block);
            let (mut clock, mut waits) = (0, 0);
            for inst in insts {
                let (stall, wait) = match f.inst(inst).payload {
                    Payload::Word(word) => {
                        let raw = volta::read(word);
                        (raw.get(Field::Stall), raw.get(Field::Wait) != 0)
                    }
                    _ => (0, false),
                };
                waits += u32::from(wait);
                came.issued[inst.as_u32() as usize] = clock;
                came.stalls[inst.as_u32() as usize] = u16::from(stall);
                came.waits[inst.as_u32() as usize] = waits;
                clock += u32::from(stall);
            }
        }
        came
    }

    /// Cycles between two instructions by their stalls, up to [`REACH`]; as far as that where a wait stands between.
    fn apart(&self, first: Inst, second: Inst) -> u16 {
        let [a, b] = [first, second].map(|inst| inst.as_u32() as usize);
        match self.waits[a] == self.waits[b] {
            true => self.issued[a].abs_diff(self.issued[b]).min(u32::from(REACH)) as u16,
            false => REACH,
        }
    }
}

/// What a scheduler has brought closer than compiled code was ever seen to leave it, firm rows or not, and closer than it came; and pairs
/// of which nothing is known that changed places or lost some of their distance. Code that somebody else compiled is not asked that much. And
/// acquires that are none any more.
pub fn rewritten(f: &Function, came: &Came, rules: &Rules) -> Vec<Finding> {
    let now = acquires::Code { f, order: |block| f.block_insts(block).to_vec(), word: |inst| word(f, inst) };
    let acquire = |(consumer, producer)| Finding {
        kind: HazardKind::Acquire,
        lane: None,
        producer,
        consumer,
        needed: None,
        given: 0,
    };
    let mut findings: Vec<Finding> = now.lost(&came.awaited).into_iter().map(acquire).collect();
    findings.extend(collectives::in_flight(f, rules));
    findings.extend(on_time_alone(f, rules));
    let Some(seen) = rules.seen else { return findings };
    let forms = forms(f, rules);
    let form = |inst: Inst| forms[f.inst(inst).opcode.as_u32() as usize];
    let mut known = Known::new(f, seen, &forms);
    near(
        f,
        |_| true,
        |near| match near {
            Near::Pair { first, second, ago, next } => {
                let (one, other) = (form(first), form(second));
                if !(one.sensitive || other.sensitive) {
                    return;
                }
                let apart = came.apart(first, second);
                let needed = match known.get(first, second, next) {
                    // Compilers may know better than what was seen of them.
                    Some(least) if first < second => least.min(apart),
                    None if first < second => apart.min(u16::from(LONGEST)),
                    // They may change places where enough is known of the order that they came in.
                    _ if apart < REACH && known.get(second, first, true).is_none() => REACH,
                    least => least.unwrap_or(u16::from(LONGEST)),
                };
                if ago < needed {
                    findings.push(finding(first, second, needed, ago));
                }
            }
            Near::Stall { inst, stall, .. } => {
                let least = u16::from(form(inst).stall).min(came.stalls[inst.as_u32() as usize]);
                if stall < least {
                    findings.push(finding(inst, inst, least, stall));
                }
            }
        },
    );
    findings
}

/// What only a rule for code of others accepts: a result that no scoreboard was waited for, since its sources were read long ago
/// (`result_after_reads`).
fn on_time_alone(f: &Function, rules: &Rules) -> Vec<Finding> {
    if !rules.has_after_reads(f) {
        return Vec::new();
    }
    let accepted = super::check(f, rules).findings;
    let mut findings = super::check(f, &rules.without_after_reads()).findings;
    findings.retain(|finding| !accepted.contains(finding));
    findings
}

/// Least distances of pairs of a function's opcodes, remembered.
struct Known<'a> {
    f: &'a Function,
    seen: &'a Seen,
    forms: &'a [Form],
    /// By whether nothing stands between, and two opcodes: the answer, if it was asked for.
    rows: Vec<Option<Option<u8>>>,
}

impl<'a> Known<'a> {
    fn new(f: &'a Function, seen: &'a Seen, forms: &'a [Form]) -> Known<'a> {
        Known { f, seen, forms, rows: vec![None; 2 * forms.len() * forms.len()] }
    }

    /// The least distance of two instructions, as far as neighbours can be kept apart; none where nothing is known.
    fn get(&mut self, first: Inst, second: Inst, next: bool) -> Option<u16> {
        let [a, b] = [first, second].map(|inst| self.f.inst(inst).opcode.as_u32() as usize);
        let (seen, one, other) = (self.seen, self.forms[a], self.forms[b]);
        let row = &mut self.rows[(usize::from(next) * self.forms.len() + a) * self.forms.len() + b];
        let least = *row.get_or_insert_with(|| {
            let next = seen.least(Kind::Next, one, other).filter(|_| next);
            seen.least(Kind::Near, one, other).max(next)
        });
        least.map(|least| u16::from(least.min(LONGEST)))
    }
}

fn finding(producer: Inst, consumer: Inst, needed: u16, given: u16) -> Finding {
    Finding { kind: HazardKind::Unseen, lane: None, producer, consumer, needed: Some(needed), given }
}

/// Something to look at.
enum Near {
    /// Two instructions of a block, so many cycles apart; `next`: nothing stands between.
    Pair { first: Inst, second: Inst, ago: u16, next: bool },
    /// The stall of an instruction, if there is one; `leaves`: it may send control elsewhere.
    Stall { inst: Inst, stall: u16, leaves: bool },
}

/// Goes over the pairs of every block that are less than [`REACH`] cycles apart, of instructions that matter, and over all stalls.
fn near(f: &Function, matters: impl Fn(Inst) -> bool, mut visit: impl FnMut(Near)) {
    let mut recent: Vec<Earlier> = Vec::new();
    for block in f.blocks() {
        recent.clear();
        let mut before = None;
        let mut clock = 0;
        for &inst in f.block_insts(block) {
            let Some((stall, waits)) = stall(f, inst) else {
                recent.clear();
                continue;
            };
            // A wait takes its time.
            if waits {
                recent.clear();
            }
            let matters = matters(inst);
            if matters {
                recent.retain(|earlier| clock - earlier.at < u32::from(REACH));
                for first in recent.iter().rev() {
                    let ago = (clock - first.at) as u16;
                    let next = before == Some(first.inst);
                    visit(Near::Pair { first: first.inst, second: inst, ago, next });
                }
            }
            before = Some(inst);
            if stall > 0 && !is_end(f, inst) {
                let effects = f.inst(inst).effects;
                let last = f.block_insts(block).last() == Some(&inst);
                let leaves = effects.intersects(Effects::TERMINATOR | Effects::CALL)
                    || last && effects.contains(Effects::CONVERGENCE);
                visit(Near::Stall { inst, stall, leaves });
            }
            // Draining takes longer than any stall, and so does what is elsewhere.
            if stall == 0 || f.inst(inst).effects.intersects(Effects::CALL | Effects::RET) {
                recent.clear();
                continue;
            }
            if matters {
                recent.push(Earlier { inst, at: clock });
            }
            clock += u32::from(stall);
        }
    }
}

/// Calls `visit` with pairs inside blocks of which a least distance was seen, firm or not: the two, that distance and the one they
/// have. An instruction meets itself where the least stall of its form is asked for.
pub(super) fn pairs(
    f: &Function,
    rules: &Rules,
    forms: &[Form],
    mut visit: impl FnMut(Inst, Inst, u16, u16),
) {
    let Some(seen) = rules.seen else { return };
    let form = |inst: Inst| forms[f.inst(inst).opcode.as_u32() as usize];
    near(
        f,
        |_| true,
        |near| match near {
            Near::Pair { first, second, ago, next } => {
                let (one, other) = (form(first), form(second));
                if one.sensitive || other.sensitive {
                    let next = seen.least(Kind::Next, one, other).filter(|_| next);
                    let least = seen.least(Kind::Near, one, other).max(next).unwrap_or(1);
                    visit(first, second, u16::from(least.min(LONGEST)), ago);
                }
            }
            Near::Stall { inst, stall, .. } => match form(inst).stall {
                0 | 1 => {}
                least => visit(inst, inst, u16::from(least), stall),
            },
        },
    );
}

/// The firm distance that was seen where the second of a pair reads what the first wrote, if there is less now.
pub(super) fn too_close(seen: &Seen, forms: &[Form], pair: &Pair<'_>) -> Option<u16> {
    let (kind, first, second) = reads(forms, pair)?;
    seen.firm(kind, first, second).map(u16::from).filter(|&least| pair.elapsed < least)
}

/// The least distance that was seen where the second of a pair reads what the first wrote, firm or not.
pub(super) fn least(seen: &Seen, forms: &[Form], pair: &Pair<'_>) -> Option<u16> {
    let (kind, first, second) = reads(forms, pair)?;
    seen.least(kind, first, second).map(u16::from)
}

/// What a pair is called where the second surely reads what the first wrote, and nothing was waited for.
fn reads(forms: &[Form], pair: &Pair<'_>) -> Option<(Kind, Form, Form)> {
    if pair.kind != HazardKind::Raw || pair.guarded || pair.required_stall > 0 || pair.waited {
        return None;
    }
    let f = pair.function;
    // Where guards differ, perhaps only one of the two runs.
    if !pair.same_guard && f.inst(pair.producer).guard.is_some() {
        return None;
    }
    let form = |inst: Inst| forms[f.inst(inst).opcode.as_u32() as usize];
    let (first, second) = (form(pair.producer), form(pair.consumer));
    let place = place(first.serial, pair.predicate(), second.late, pair.slot);
    Some((Kind::reads(pair.file(), pair.part % 2 == 1, pair.used_as, place), first, second))
}

fn word(f: &Function, inst: Inst) -> Option<u128> {
    match f.inst(inst).payload {
        Payload::Word(word) => Some(word),
        Payload::None | Payload::Text(_) => None,
    }
}

/// The stall of an instruction that runs and is understood, and whether it waits for a scoreboard.
fn stall(f: &Function, inst: Inst) -> Option<(u16, bool)> {
    let Payload::Word(word) = f.inst(inst).payload else { return None };
    let runs = word >> 12 & 15 != 15 && !f.inst(inst).effects.contains(Effects::OPAQUE);
    let raw = volta::read(word);
    runs.then(|| (u16::from(raw.get(Field::Stall)), raw.get(Field::Wait) != 0))
}

/// A branch to itself stands behind the end and never stalls.
fn is_end(f: &Function, inst: Inst) -> bool {
    f.branch_targets(inst).any(|block| f.block_insts(block).first() == Some(&inst))
}
