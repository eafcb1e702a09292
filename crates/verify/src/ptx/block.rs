//! Functions block by block: which new instruction is which old one, and whether it may be there.

use super::lines::Side;
use super::live::Wanted;
use super::rounding::{self, Broken};
use super::steps::{self, Named};
use super::{Comparison, Illegal, Options, Place, Report, Rule, Sees, locations, pairing};
use crate::reorder::{self, What};
use crate::values::{self, Deviation, Match, Step};
use rustc_hash::FxHashMap;
use sassafras_ir::{Block, Inst, Lane};
use sassafras_ptx::syntax::Function;
use sassafras_ptx::{BlockId, InstId, LowerError, Lowered, Numbering, lower_with};

/// A function in both modules.
pub(super) struct Functions<'a> {
    pub old: &'a Side<'a>,
    pub new: &'a Side<'a>,
    pub was: &'a Function,
    pub is: &'a Function,
    pub options: Options,
}

/// A block in both modules.
pub(super) struct Pair<'a> {
    pub functions: &'a Functions<'a>,
    pub was: Vec<InstId>,
    pub is: Vec<InstId>,
}

/// Both functions as IR, with the same lanes for the same registers.
struct Both {
    old: Lowered,
    new: Lowered,
    numbering: Numbering,
    /// Made when a lane is asked about.
    wanted: Option<Wanted>,
}

impl Both {
    fn new(functions: &Functions<'_>) -> Result<Both, LowerError> {
        let mut numbering = Numbering::default();
        let old = lower_with(functions.old.module, functions.was, &mut numbering)?;
        let new = lower_with(functions.new.module, functions.is, &mut numbering)?;
        Ok(Both { old, new, numbering, wanted: None })
    }
}

impl Functions<'_> {
    pub fn compare(&self) -> Comparison {
        let mut found = Comparison::default();
        let mut both: Option<Both> = None;
        for (number, (was, is)) in (0..).zip(self.was.blocks().zip(self.is.blocks())) {
            let order = |side: &Side<'_>, block: BlockId| side.module.order(block);
            let pair = Pair { functions: self, was: order(self.old, was), is: order(self.new, is) };
            let report = if pair.is_unchanged() {
                Ok(Report::default())
            } else {
                let both = match &mut both {
                    Some(both) => both,
                    None => match Both::new(self) {
                        Ok(made) => both.insert(made),
                        Err(error) => {
                            found.differences.push(self.illegal(
                                None,
                                None,
                                None,
                                Rule::TooLarge(error.to_string()),
                            ));
                            return found;
                        }
                    },
                };
                pair.check(both, Block::from_u32(number))
            };
            match report {
                Ok(mut report) => {
                    (report.blocks, report.instructions) = (1, pair.is.len() as u64);
                    found.report.add(&report);
                }
                Err(illegal) => found.differences.push(illegal),
            }
        }
        found
    }

    fn illegal(&self, block: Option<&str>, was: Option<InstId>, is: Option<InstId>, rule: Rule) -> Illegal {
        let place = Place {
            function: Some(self.new.module.text(self.is.name()).to_owned()),
            block: block.map(str::to_owned),
            old_line: was.map(|inst| self.old.inst_line(inst)),
            new_line: is.map(|inst| self.new.inst_line(inst)),
        };
        Illegal { place: Box::new(place), rule }
    }
}

impl Pair<'_> {
    /// Whether both texts are the same, instruction by instruction.
    fn is_unchanged(&self) -> bool {
        let (old, new) = (self.functions.old, self.functions.new);
        let same = |(&was, &is): (&InstId, &InstId)| {
            let (a, b) = (old.module.inst(was), new.module.inst(is));
            let text = old.module.text(a.span()) == new.module.text(b.span());
            text && match (a.loc(), b.loc()) {
                (Some(a), Some(b)) => {
                    old.module.text(a) == new.module.text(b) || old.words(a) == new.words(b)
                }
                (a, b) => a.is_none() && b.is_none(),
            }
        };
        self.was.len() == self.is.len() && self.was.iter().zip(&self.is).all(same)
    }

    fn check(&self, both: &mut Both, block: Block) -> Result<Report, Illegal> {
        let Functions { old, new, .. } = self.functions;
        let Both { old: was_ir, new: is_ir, numbering, wanted } = both;
        let check = Check {
            pair: self,
            label: was_ir.function.block_name(block),
            numbering,
            was: steps(old, &self.was, was_ir, block),
            is: steps(new, &self.is, is_ir, block),
        };
        let mut wanted =
            |lane| wanted.get_or_insert_with(|| Wanted::new(&was_ir.function)).behind(block, lane);
        let insts = was_ir.function.block_insts(block);
        let mut places = match check.same_text(&was_ir.function, insts) {
            Some(places) => places,
            None => check.values(false, &mut wanted).map_err(|deviation| check.explain(deviation))?,
        };
        if let Some(at) = locations::mismatch(self, &places) {
            // Of instructions that do the same, others may belong together.
            places = match check.values(true, &mut wanted) {
                Ok(others) if locations::mismatch(self, &others).is_none() => others,
                _ => return Err(check.location(places[at].from as usize, at)),
            };
        }
        if self.functions.options.rounding {
            let fragile = rounding::fragile(&was_ir.function, insts);
            rounding::check(&fragile, &places).map_err(|broken| check.rounding(&broken, &places))?;
        }
        Ok(figures(&places, &check.was, &check.is))
    }
}

fn steps(side: &Side<'_>, insts: &[InstId], lowered: &Lowered, block: Block) -> Vec<Named> {
    let pairs = insts.iter().zip(lowered.function.block_insts(block));
    pairs.map(|(&inst, &ir)| steps::step(side.module, inst, &lowered.function, ir)).collect()
}

/// A block that is not the same text any more.
struct Check<'a> {
    pair: &'a Pair<'a>,
    label: &'a str,
    numbering: &'a Numbering,
    was: Vec<Named>,
    is: Vec<Named>,
}

impl Check<'_> {
    /// Which old instruction stands at every new place, when all are there with the registers that they had and nothing that any of them
    /// sees depends on the order.
    fn same_text(&self, f: &sassafras_ir::Function, insts: &[Inst]) -> Option<Vec<Match>> {
        let Functions { old, new, .. } = self.pair.functions;
        let keys = |side: &Side<'_>, insts: &[InstId], named: &[Named]| -> Vec<[u128; 3]> {
            let key = |(&inst, named): (&InstId, &Named)| {
                let [text, other] = named.texts;
                [steps::fold(text, location(side, inst)), text, text.min(other)]
            };
            insts.iter().zip(named).map(key).collect()
        };
        let (was, is) = (keys(old, &self.pair.was, &self.was), keys(new, &self.pair.is, &self.is));
        let places = pairing::pair(&was, &is)?;
        let order: Vec<Inst> = places.iter().map(|&from| insts[from as usize]).collect();
        reorder::check(f, insts, &order).ok()?;
        let commuted = |from: u32, to: usize| was[from as usize][1] != is[to][1];
        Some(
            places
                .into_iter()
                .enumerate()
                .map(|(to, from)| Match { from, commuted: commuted(from, to) })
                .collect(),
        )
    }

    /// Which old instruction stands at every new place, with other registers or without; with `located`, only those with the same `.loc` are
    /// the same.
    fn values(&self, located: bool, wanted: &mut impl FnMut(Lane) -> bool) -> Result<Vec<Match>, Deviation> {
        let steps = |side: &Side<'_>, insts: &[InstId], named: &[Named]| -> Vec<Step> {
            let pairs = insts.iter().zip(named);
            pairs.map(|(&inst, named)| self.step(side, inst, named, located)).collect()
        };
        let Functions { old, new, .. } = self.pair.functions;
        let (was, is) = (steps(old, &self.pair.was, &self.was), steps(new, &self.pair.is, &self.is));
        values::compare(&was, &is, &[], wanted)
    }

    fn illegal(&self, was: Option<InstId>, is: Option<InstId>, rule: Rule) -> Illegal {
        self.pair.functions.illegal(Some(self.label), was, is, rule)
    }

    fn explain(&self, deviation: Deviation) -> Illegal {
        let Pair { functions: Functions { old, new, .. }, was, is } = self.pair;
        let name = |lane: Lane| {
            let name = self.numbering.name(old.module, lane);
            name.unwrap_or_else(|| "the carry flag".to_owned())
        };
        match deviation {
            Deviation::Other => {
                let (missing, extra) = self.odd();
                let text = |side: &Side<'_>, inst: Option<InstId>| inst.map(|inst| side.inst(inst));
                let rule = Rule::Instructions { missing: text(old, missing), extra: text(new, extra) };
                self.illegal(missing, extra, rule)
            }
            Deviation::Sees { place, like, what } => {
                let sees = match what {
                    What::Reads(lane) => Sees::Register(name(lane)),
                    What::Memory => Sees::Memory,
                    What::Effects => Sees::Order,
                    What::State => Sees::State,
                };
                let rule = Rule::Differs { inst: new.inst(is[place]), sees };
                self.illegal(like.map(|at| was[at]), Some(is[place]), rule)
            }
            Deviation::LiveOut(lane) => {
                self.illegal(was.last().copied(), is.last().copied(), Rule::LiveOut(name(lane)))
            }
            // Nothing enters a block in its middle, so there are no stops.
            Deviation::Stop(_) => self.illegal(None, None, Rule::LiveOut("some register".to_owned())),
        }
    }

    fn location(&self, from: usize, to: usize) -> Illegal {
        let Pair { functions: Functions { old, new, .. }, was, is } = self.pair;
        let inst = new.inst(is[to]);
        let rule =
            Rule::Location { inst, was: locations::of(old, was[from]), is: locations::of(new, is[to]) };
        self.illegal(Some(was[from]), Some(is[to]), rule)
    }

    fn rounding(&self, broken: &Broken, places: &[Match]) -> Illegal {
        let Pair { functions: Functions { old, .. }, was, is } = self.pair;
        let text = |at: u32| old.inst(was[at as usize]);
        let (at, rule) = match *broken {
            Broken::Order(first, second) => {
                (second, Rule::Rounding { earlier: text(first), later: text(second) })
            }
            Broken::Operands(at) => (at, Rule::RoundingOperands(text(at))),
        };
        let now = places.iter().position(|pair| pair.from == at).map(|to| is[to]);
        self.illegal(Some(was[at as usize]), now, rule)
    }

    /// A step whose registers, and if wanted whose place in the sources, tell it from others that do the same.
    fn step(&self, side: &Side<'_>, inst: InstId, named: &Named, located: bool) -> Step {
        let mut step = named.step.clone();
        let loc = location(side, inst);
        step.names = steps::fold(named.names, loc);
        if located {
            step.signature = steps::fold(step.signature, loc);
        }
        step
    }

    /// An old instruction that is missing in the new block, and a new one that was not in the old.
    fn odd(&self) -> (Option<InstId>, Option<InstId>) {
        let mut count: FxHashMap<u128, i64> = FxHashMap::default();
        self.was.iter().for_each(|named| *count.entry(named.step.operation()).or_default() += 1);
        self.is.iter().for_each(|named| *count.entry(named.step.operation()).or_default() -= 1);
        let find = |insts: &[InstId], named: &[Named], sign: i64| {
            let odd = |named: &Named| count.get(&named.step.operation()).is_some_and(|n| n * sign > 0);
            // Of several of a kind the last is one too many.
            insts.iter().zip(named).rev().find(|(_, named)| odd(named)).map(|(&inst, _)| inst)
        };
        (find(&self.pair.was, &self.was, 1), find(&self.pair.is, &self.is, -1))
    }
}

/// A number for the `.loc` in force for an instruction.
fn location(side: &Side<'_>, inst: InstId) -> u128 {
    locations::of(side, inst).map_or(0, |loc| steps::text(&loc))
}

fn figures(places: &[Match], was: &[Named], is: &[Named]) -> Report {
    let mut report = Report::default();
    for (to, pair) in places.iter().enumerate() {
        let (was, is) = (&was[pair.from as usize], &is[to]);
        report.moved += u64::from(pair.from as usize != to);
        report.commuted += u64::from(pair.commuted);
        let names = if pair.commuted { is.exchanged } else { is.names };
        report.renamed += u64::from(names != was.names);
    }
    report
}
