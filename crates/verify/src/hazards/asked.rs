//! Which distances does anything ask for, whether or not they are kept?
//!
//! The checker reports the pairs that stand too close. Whoever wants to know why a compiler left a stall needs the others, too: every
//! pair that a rule names, with the cycles that it asks for, and by which right ([`Right`]). The rules are the checker's own; rows of
//! least distances (`unseen`) are told apart, since a distance that nobody ever fell short of is no reason for it.
//!
//! Cost: one walk of the data flow. Pairs that any code keeps, because as many instructions stand between, are left out.

use super::rules::{Need, Rules, class_name};
use super::unseen;
use super::walk::{HazardKind, Observer, Pair, walk};
use rustc_hash::FxHashMap;
use sassafras_control::{Field, volta};
use sassafras_ir::{Block, Function, Inst, Payload};
use sassafras_machine::dispatch::{Dispatch, Pipe};
use sassafras_machine::mined::seen::Form;

/// What asks for a distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// A rule of the checker.
    Rule,
    /// What a scheduler leaves where the same rule demands less: `safe` of the mined distances, and all cycles of a pipe that holds
    /// a warp back by itself.
    Usual,
    /// A rule, if nobody noticed that the guards of the two exclude each other.
    Excluded,
    /// A row of least distances.
    Seen,
}

/// Two instructions that something keeps apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The first one.
    pub first: Inst,
    /// The one that must not come too soon. The same as the first where only its own stall is asked for.
    pub second: Inst,
    /// What asks.
    pub right: Right,
    /// Why.
    pub kind: HazardKind,
    /// Cycles from issue to issue.
    pub need: u16,
    /// Fewest cycles between the two on any path, waits credited.
    pub elapsed: u16,
}

/// Every distance that is asked for between instructions of a function.
pub fn asked(f: &Function, rules: &Rules) -> Vec<Asked> {
    let forms = unseen::forms(f, rules);
    let mut collector = Collector {
        rules,
        forms: &forms,
        places: places(f),
        blocks: vec![Vec::new(); f.block_count()],
        current: 0,
    };
    walk(f, rules, &mut collector);
    let mut all: Vec<Asked> = std::mem::take(&mut collector.blocks).into_iter().flatten().collect();
    pipes(f, rules, |first, second, need, elapsed| {
        let asked = Asked { first, second, right: Right::Usual, kind: HazardKind::Pipe, need, elapsed };
        all.extend(collector.asks(first, second, need).then_some(asked));
    });
    unseen::pairs(f, rules, &forms, |first, second, need, elapsed| {
        let asked = Asked { first, second, right: Right::Seen, kind: HazardKind::Unseen, need, elapsed };
        all.extend(collector.asks(first, second, need).then_some(asked));
    });
    all
}

struct Collector<'a> {
    rules: &'a Rules,
    forms: &'a [Form],
    /// By instruction: its block and its place there.
    places: Vec<(u32, u32)>,
    blocks: Vec<Vec<Asked>>,
    current: usize,
}

impl Collector<'_> {
    /// Whether the distance can be missed: every instruction between takes a cycle in any case.
    fn asks(&self, first: Inst, second: Inst, need: u16) -> bool {
        let [a, b] = [first, second].map(|inst| self.places[inst.as_u32() as usize]);
        let between = if a.0 == b.0 && b.1 > a.1 { b.1 - a.1 } else { 1 };
        u32::from(need) > between
    }

    fn add(&mut self, pair: &Pair<'_>, right: Right, need: u16) {
        if self.asks(pair.producer, pair.consumer, need) {
            let Pair { producer: first, consumer: second, kind, elapsed, .. } = *pair;
            self.blocks[self.current].push(Asked { first, second, right, kind, need, elapsed });
        }
    }
}

impl Observer for Collector<'_> {
    fn block(&mut self, block: Block) {
        self.current = block.as_u32() as usize;
        self.blocks[self.current].clear();
    }

    fn pair(&mut self, pair: &Pair<'_>) {
        let mut need = 1;
        if let Need::Cycles(cycles) = self.rules.need(pair) {
            need = cycles;
            self.add(pair, Right::Rule, need);
        }
        if let Some(usual) = self.rules.usual(pair).filter(|&usual| usual > need) {
            self.add(pair, Right::Usual, usual);
        }
        if let Some(least) = self.rules.seen.and_then(|seen| unseen::least(seen, self.forms, pair)) {
            self.add(pair, Right::Seen, least);
        }
    }

    const WANTS_ALL: bool = true;

    fn kept(&mut self, pair: &Pair<'_>) {
        self.pair(pair);
    }

    fn excluded(&mut self, pair: &Pair<'_>) {
        if let Some(usual) = self.rules.usual(pair) {
            self.add(pair, Right::Excluded, usual);
        }
    }
}

/// The pairs that a scheduler keeps apart for a pipe's sake, inside a block: whoever holds it up, and the first to go there.
fn pipes(f: &Function, rules: &Rules, mut visit: impl FnMut(Inst, Inst, u16, u16)) {
    let mut known: FxHashMap<String, Option<Dispatch>> = FxHashMap::default();
    for block in f.blocks() {
        // By pipe: who holds it up, for how long, and how long ago it came.
        let mut held: [Option<(Inst, u16, u16)>; Pipe::ALL.len()] = [None; Pipe::ALL.len()];
        for &inst in f.block_insts(block) {
            let name = class_name(f, inst);
            let dispatch = match known.get(name.as_str()) {
                Some(&dispatch) => dispatch,
                None => {
                    let dispatch = rules.usual_pipes(&name);
                    known.insert(name, dispatch);
                    dispatch
                }
            };
            let dispatch = dispatch.unwrap_or_default();
            for pipe in dispatch.needed() {
                if let Some((first, need, elapsed)) = held[pipe as usize].take() {
                    visit(first, inst, need, elapsed);
                }
            }
            let stall = match f.inst(inst).payload {
                Payload::Word(word) => u16::from(volta::read(word).get(Field::Stall)),
                _ => 1,
            };
            if stall == 0 {
                // Draining takes longer than any pipe.
                held = [None; Pipe::ALL.len()];
                continue;
            }
            for (pipe, cycles) in dispatch.pipes() {
                // What asks for more counts, as long as it does.
                let cycles = u16::from(cycles);
                let left = held[pipe as usize].map_or(0, |(_, need, elapsed)| need.saturating_sub(elapsed));
                if cycles > 1 && cycles >= left {
                    held[pipe as usize] = Some((inst, cycles, 0));
                }
            }
            for (_, _, elapsed) in held.iter_mut().flatten() {
                *elapsed = elapsed.saturating_add(stall);
            }
        }
    }
}

fn places(f: &Function) -> Vec<(u32, u32)> {
    let mut places = vec![(0, 0); f.inst_count()];
    for block in f.blocks() {
        for (place, &inst) in f.block_insts(block).iter().enumerate() {
            places[inst.as_u32() as usize] = (block.as_u32(), place as u32);
        }
    }
    places
}
