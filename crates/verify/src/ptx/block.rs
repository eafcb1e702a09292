//! Functions block by block: which new instruction is which old one, and whether it may be there.

use super::lines::Side;
use super::live::Wanted;
use super::rounding::{self, Broken};
use super::steps::{self, Named};
use super::{Comparison, Illegal, Options, Place, Report, Rule, Sees, locations};
use crate::reorder::What;
use crate::values::{self, Deviation, Match, Step};
use rustc_hash::FxHashMap;
use sassafras_ir::{Block, Lane};
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
        let steps = |side: &Side<'_>, insts: &[InstId], lowered: &Lowered| -> Vec<Named> {
            let ir = lowered.function.block_insts(block);
            let pairs = insts.iter().zip(ir);
            pairs.map(|(&inst, &ir)| steps::step(side.module, inst, &lowered.function, ir)).collect()
        };
        let was = steps(old, &self.was, was_ir);
        let is = steps(new, &self.is, is_ir);
        let label = was_ir.function.block_name(block);
        let illegal = |was: Option<InstId>, is: Option<InstId>, rule| {
            self.functions.illegal(Some(label), was, is, rule)
        };
        let name = |lane: Lane| numbering.name(old.module, lane).unwrap_or_else(|| lane.to_string());
        let mut wanted =
            |lane| wanted.get_or_insert_with(|| Wanted::new(&was_ir.function)).behind(block, lane);
        let mut compare = |located: bool| {
            let only_steps = |side: &Side<'_>, insts: &[InstId], named: &[Named]| -> Vec<Step> {
                let step = |(&inst, named): (&InstId, &Named)| self.step(side, inst, named, located);
                insts.iter().zip(named).map(step).collect()
            };
            let (was, is) = (only_steps(old, &self.was, &was), only_steps(new, &self.is, &is));
            values::compare(&was, &is, &[], &mut wanted)
        };
        let mut places: Vec<Match> = match compare(false) {
            Ok(places) => places,
            Err(Deviation::Other) => {
                let (missing, extra) = self.odd(&was, &is);
                let text = |side: &Side<'_>, inst: Option<InstId>| inst.map(|inst| side.inst(inst));
                let rule = Rule::Instructions { missing: text(old, missing), extra: text(new, extra) };
                return Err(illegal(missing, extra, rule));
            }
            Err(Deviation::Sees { place, like, what }) => {
                let sees = match what {
                    What::Reads(lane) => Sees::Register(name(lane)),
                    What::Memory => Sees::Memory,
                    What::Effects => Sees::Order,
                    What::State => Sees::State,
                };
                let rule = Rule::Differs { inst: new.inst(self.is[place]), sees };
                return Err(illegal(like.map(|at| self.was[at]), Some(self.is[place]), rule));
            }
            Err(Deviation::LiveOut(lane)) => {
                let rule = Rule::LiveOut(name(lane));
                return Err(illegal(self.was.last().copied(), self.is.last().copied(), rule));
            }
            // Nothing enters a block in its middle.
            Err(Deviation::Stop(_)) => {
                return Err(illegal(None, None, Rule::LiveOut("some register".to_owned())));
            }
        };
        let from = |places: &[Match]| places.iter().map(|pair| pair.from).collect::<Vec<u32>>();
        if let Some(at) = locations::mismatch(self, from(&places).into_iter()) {
            // Of instructions that do the same, others may belong together.
            match compare(true) {
                Ok(others) if locations::mismatch(self, from(&others).into_iter()).is_none() => {
                    places = others
                }
                _ => {
                    let (a, b) = (self.was[places[at].from as usize], self.is[at]);
                    let (was, is) = (locations::of(old, a), locations::of(new, b));
                    return Err(illegal(Some(a), Some(b), Rule::Location { inst: new.inst(b), was, is }));
                }
            }
        }
        if self.functions.options.rounding {
            let fragile = rounding::fragile(&was_ir.function, was_ir.function.block_insts(block));
            let now = |from: u32| places.iter().position(|pair| pair.from == from).map(|at| self.is[at]);
            match rounding::check(&fragile, &places) {
                Ok(()) => {}
                Err(Broken::Order(first, second)) => {
                    let (earlier, later) = (self.was[first as usize], self.was[second as usize]);
                    let rule = Rule::Rounding { earlier: old.inst(earlier), later: old.inst(later) };
                    return Err(illegal(Some(later), now(second), rule));
                }
                Err(Broken::Operands(at)) => {
                    let inst = self.was[at as usize];
                    return Err(illegal(Some(inst), now(at), Rule::RoundingOperands(old.inst(inst))));
                }
            }
        }
        Ok(figures(&places, &was, &is))
    }

    /// A step whose registers, and if wanted whose place in the sources, tell it from others that do the same.
    fn step(&self, side: &Side<'_>, inst: InstId, named: &Named, located: bool) -> Step {
        let mut step = named.step.clone();
        let loc = locations::of(side, inst).map_or(0, |loc| steps::text(&loc));
        step.names = steps::fold(named.names, loc);
        if located {
            step.signature = steps::fold(step.signature, loc);
        }
        step
    }

    /// An old instruction that is missing in the new block, and a new one that was not in the old.
    fn odd(&self, was: &[Named], is: &[Named]) -> (Option<InstId>, Option<InstId>) {
        let mut count: FxHashMap<u128, i64> = FxHashMap::default();
        was.iter().for_each(|named| *count.entry(named.step.signature).or_default() += 1);
        is.iter().for_each(|named| *count.entry(named.step.signature).or_default() -= 1);
        let find = |insts: &[InstId], named: &[Named], sign: i64| {
            let odd = |named: &Named| count.get(&named.step.signature).is_some_and(|n| n * sign > 0);
            // Of several of a kind the last is one too many.
            insts.iter().zip(named).rev().find(|(_, named)| odd(named)).map(|(&inst, _)| inst)
        };
        (find(&self.was, was, 1), find(&self.is, is, -1))
    }
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
