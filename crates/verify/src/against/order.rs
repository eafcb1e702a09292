//! Goal: which instruction of a block went where, and whether it may be there.

use super::baggage::{Baggage, Numbers};
use super::rename::{Limits, Twins};
use super::{Change, Comparison, Difference};
use crate::acquires;
use crate::live::Live;
use crate::reorder::{self, Illegal};
use rustc_hash::FxHashMap;
use sassafras_control::volta;
use sassafras_cubin::{Boundary, Code, Cubin};
use sassafras_ir::{Block, Function, Inst};
use sassafras_machine::{Arch, Category, special};
use sassafras_sass::Decoder;
use sassafras_sass::print::Printer;
use sassafras_sass::program::{Program, Relative, Routine};
use std::cell::OnceCell;
use std::collections::VecDeque;

/// Differences of one block beyond this many say nothing new.
const PER_BLOCK: usize = 32;

/// One side of the comparison: the words of a section, and what they carry.
pub(super) struct Side<'a> {
    pub words: Vec<u128>,
    pub baggage: &'a Baggage,
}

impl<'a> Side<'a> {
    pub fn new(code: &Code<'_>, baggage: &'a Baggage) -> Side<'a> {
        let (words, _) = code.bytes.as_chunks::<16>();
        Side { words: words.iter().map(|&word| u128::from_le_bytes(word)).collect(), baggage }
    }
}

/// Compares the code of one section; `new_code` is its place in the new cubin.
pub(super) fn compare(
    cubin: &Cubin<'_>,
    old_code: &Code<'_>,
    old: &Side<'_>,
    (new_cubin, new_code): (&Cubin<'_>, &Code<'_>),
    new: &Side<'_>,
    numbers: &Numbers,
) -> Comparison {
    let mut found = Comparison { instructions: old.words.len() as u64, ..Comparison::default() };
    let section = cubin.sections()[old_code.section].name;
    if old.words == new.words && old.baggage == new.baggage {
        return found;
    }
    let mut report = |offset, change| found.differences.push(Difference::new(section, offset, change));
    if old.baggage.strays != new.baggage.strays {
        report(None, Change::Unfollowed("offsets of no instruction are not the same".to_owned()));
    }
    let program = match Program::new(cubin) {
        Ok(program) => program,
        Err(error) => {
            report(None, Change::Unreadable(error.problem.to_string()));
            return found;
        }
    };
    let routines = match program.lift(old_code) {
        Ok(routines) => routines,
        Err(error) => {
            report(Some(error.offset), Change::Unreadable(error.problem.to_string()));
            return found;
        }
    };
    let boundaries = match cubin.boundaries(old_code) {
        Ok(boundaries) => boundaries,
        Err(refusal) => {
            report(None, Change::Unreadable(refusal.to_string()));
            return found;
        }
    };
    let arch = program.arch();
    let (twins, limits) = (Twins::new(new_cubin, new_code), Limits::new(old_code, arch, &routines));
    for routine in &routines {
        let compared = Compared {
            cubin,
            section,
            routine,
            old,
            new,
            numbers,
            relative: Relative::new(arch),
            decoder: Decoder::new(arch),
            arch,
            printer: OnceCell::new(),
            twins: &twins,
            limits,
            live: OnceCell::new(),
        };
        let before = found.differences.len();
        let orders: Vec<Option<Vec<u32>>> = routine
            .lifted
            .function
            .blocks()
            .map(|block| compared.block(block, &boundaries, &mut found))
            .collect();
        if found.differences.len() == before && orders.iter().any(Option::is_some) {
            found.differences.extend(compared.acquires(&orders));
        }
        compared.padding(&mut found.differences);
    }
    found
}

/// An instruction apart from its control fields and its place: word without distances, the place it names, what it carries.
type Key = (u128, Option<u64>, Vec<u32>);

pub(super) struct Compared<'a, 'd> {
    cubin: &'a Cubin<'d>,
    section: &'a str,
    pub routine: &'a Routine,
    pub old: &'a Side<'a>,
    pub new: &'a Side<'a>,
    pub numbers: &'a Numbers,
    relative: Relative,
    pub decoder: Decoder,
    arch: Arch,
    printer: OnceCell<Printer<'static>>,
    /// The new file's code; it, the printer and what is live are asked for only where words differ.
    pub twins: &'a Twins<'a, 'd>,
    pub limits: Limits,
    pub live: OnceCell<Live>,
}

impl Compared<'_, '_> {
    fn function(&self) -> &Function {
        &self.routine.lifted.function
    }

    /// Compares a block; returns for every new place the old one, where they are not all the same and can be told.
    fn block(&self, block: Block, boundaries: &[Boundary], found: &mut Comparison) -> Option<Vec<u32>> {
        let insts = self.function().block_insts(block);
        let &first = insts.first()?;
        let first = self.routine.slot(first);
        let end = first + insts.len() as u32;
        let range = first as usize..end as usize;
        let unmoved = self.old.words[range.clone()] == self.new.words[range]
            && self.old.baggage.within(first, end) == self.new.baggage.within(first, end);
        if unmoved {
            return None;
        }
        let mut differences = Vec::new();
        let (mut places, left) = self.recover(first, end);
        let mut order: Option<Vec<u32>> = places.iter().copied().collect();
        let illegal = order.as_ref().and_then(|order| self.illegal(insts, order));
        if order.is_none() || illegal.is_some() {
            // What is no legal order of the same words may compute the same with other registers.
            match (self.renamed(block, boundaries), illegal) {
                (Some(Ok(renamed)), _) => {
                    found.renamed += self.differing(first, &renamed);
                    order = Some(renamed);
                }
                (_, Some(illegal)) => differences.push(illegal),
                (renamed, None) => {
                    self.explain(first, &mut places, left, &mut differences);
                    order = places.into_iter().collect();
                    match (&order, renamed) {
                        (Some(order), _) => differences.extend(self.illegal(insts, order)),
                        // The words are others, and only their registers are.
                        (None, Some(Err(difference))) => differences = vec![difference],
                        (None, _) => {}
                    }
                }
            }
        }
        if let Some(order) = &order {
            differences.extend(self.timed(first, order));
            found.moved += order.iter().enumerate().filter(|&(i, &from)| i as u32 != from).count() as u64;
            for boundary in boundaries {
                let before = (boundary.offset.div_ceil(16)).saturating_sub(first.into());
                let before = before.min(order.len() as u64) as usize;
                if order[..before].iter().any(|&from| from as usize >= before) {
                    differences.push(self.difference(first + before as u32, Change::Crosses(boundary.kind)));
                }
            }
        }
        differences.truncate(PER_BLOCK);
        found.differences.append(&mut differences);
        order
    }

    /// Reads of special registers that change while a thread runs, such as clocks, that something crosses: they would say something else.
    fn timed(&self, first: u32, order: &[u32]) -> Vec<Difference> {
        let mut differences = Vec::new();
        let mut last = None;
        for (place, &from) in order.iter().enumerate() {
            last = last.max(Some(from));
            // As many before it as before, and none of them from behind it.
            let stays = from as usize == place && last == Some(from);
            if !stays && self.reads_what_changes(first + from) {
                let inst = self.text(self.old, first + from);
                differences.push(self.difference(first + place as u32, Change::Timed { inst }));
            }
        }
        differences
    }

    /// Whether the old word at a place reads a special register that changes while the thread runs: bits 72 to 79 name it.
    fn reads_what_changes(&self, slot: u32) -> bool {
        let word = self.old.words[slot as usize];
        special::changes((word >> 72 & 0xff) as u8).is_some()
            && self.decoder.decode(word, u64::from(slot) * 16).category() == Some(Category::SpecialRegister)
    }

    /// Reads of memory that the old code waited for where it orders memory, and the new code does not.
    fn acquires(&self, orders: &[Option<Vec<u32>>]) -> Vec<Difference> {
        let f = self.function();
        let old = |inst: Inst| Some(self.old.words[self.routine.slot(inst) as usize]);
        let awaited = acquires::Code { f, order: |block| f.block_insts(block).to_vec(), word: old }.awaited();
        let order = |block: Block| match &orders[block.as_u32() as usize] {
            Some(order) => order.iter().map(|&from| f.block_insts(block)[from as usize]).collect(),
            None => f.block_insts(block).to_vec(),
        };
        let places: FxHashMap<Inst, u32> = f
            .blocks()
            .flat_map(|block| {
                let first = f.block_insts(block).first().map_or(0, |&inst| self.routine.slot(inst));
                order(block).into_iter().zip(first..)
            })
            .collect();
        let new = |inst: Inst| places.get(&inst).map(|&slot| self.new.words[slot as usize]);
        let lost = acquires::Code { f, order, word: new }.lost(&awaited);
        let text = |inst: Inst| self.text(self.old, self.routine.slot(inst));
        let change = |(inst, read)| {
            self.difference(places[&inst], Change::Acquire { inst: text(inst), read: text(read) })
        };
        lost.into_iter().take(PER_BLOCK).map(change).collect()
    }

    /// Whether an order of the old words is one that computes something else.
    fn illegal(&self, insts: &[Inst], order: &[u32]) -> Option<Difference> {
        let first = self.routine.slot(*insts.first()?);
        let new: Vec<Inst> = order.iter().map(|&from| insts[from as usize]).collect();
        let mut illegal = reorder::check(self.function(), insts, &new).err()?;
        let mut place = first;
        if let Illegal::Differs { inst, position, .. } = &mut illegal {
            place += *position as u32;
            *inst = self.text(self.old, first + order[*position]);
        }
        Some(self.difference(place, Change::Order(illegal)))
    }

    /// How many instructions differ from the ones they were, apart from their control fields and distances.
    fn differing(&self, first: u32, order: &[u32]) -> u64 {
        let word = |side: &Side<'_>, slot: u32| self.key(side, slot).0;
        let pairs = (first..).zip(order);
        pairs.filter(|&(to, from)| word(self.new, to) != word(self.old, first + from)).count() as u64
    }

    /// For every new place of the block, the old one that holds the same, counted from the first; and what is left over.
    fn recover(&self, first: u32, end: u32) -> (Vec<Option<u32>>, Vec<u32>) {
        let mut whole: FxHashMap<Key, VecDeque<u32>> = FxHashMap::default();
        for slot in first..end {
            whole.entry(self.key(self.old, slot)).or_default().push_back(slot - first);
        }
        let mut take = |slot| whole.get_mut(&self.key(self.new, slot)).and_then(VecDeque::pop_front);
        let order = (first..end).map(&mut take).collect();
        let mut left: Vec<u32> = whole.into_values().flatten().collect();
        left.sort_unstable();
        (order, left)
    }

    /// Pairs what is left by less and less, and says what differs.
    fn explain(
        &self,
        first: u32,
        order: &mut [Option<u32>],
        mut left: Vec<u32>,
        differences: &mut Vec<Difference>,
    ) {
        for by_target in [true, false] {
            let part = |key: &Key| (key.0, key.1.filter(|_| by_target));
            let mut like: FxHashMap<(u128, Option<u64>), VecDeque<u32>> = FxHashMap::default();
            for &old in &left {
                like.entry(part(&self.key(self.old, first + old))).or_default().push_back(old);
            }
            for (place, from) in order.iter_mut().enumerate().filter(|(_, from)| from.is_none()) {
                let slot = first + place as u32;
                let key = self.key(self.new, slot);
                let Some(old) = like.get_mut(&part(&key)).and_then(VecDeque::pop_front) else { continue };
                *from = Some(old);
                let (_, target, items) = key;
                let (_, was, carried) = self.key(self.old, first + old);
                let inst = self.text(self.old, first + old);
                if let (Some(was), Some(is)) = (was, target)
                    && was != is
                {
                    differences.push(self.difference(slot, Change::Target { inst: inst.clone(), was, is }));
                }
                let missing = |from: &[u32], other: &[u32]| -> Vec<String> {
                    let missing = from.iter().filter(|item| !other.contains(item));
                    missing.map(|&item| self.numbers.get(item).describe(self.cubin)).collect()
                };
                for what in missing(&carried, &items) {
                    differences.push(self.difference(slot, Change::Lost { what, inst: inst.clone() }));
                }
                for what in missing(&items, &carried) {
                    differences.push(self.difference(slot, Change::Gained { what, inst: inst.clone() }));
                }
            }
            left = like.into_values().flatten().collect();
            left.sort_unstable();
        }
        let unknown = order.iter().enumerate().filter(|(_, from)| from.is_none());
        for ((place, _), was) in unknown.zip(left) {
            let slot = first + place as u32;
            let (was, is) = (self.old.words[(first + was) as usize], self.new.words[slot as usize]);
            differences.push(self.difference(slot, Change::Word { was, is }));
        }
    }

    /// What is behind the last terminator stays as it is.
    fn padding(&self, differences: &mut Vec<Difference>) {
        let end = (self.routine.range.end / 16) as u32;
        for slot in end - self.routine.lifted.padding as u32..end {
            let (was, is) = (self.old.words[slot as usize], self.new.words[slot as usize]);
            if was & !volta::MASK != is & !volta::MASK {
                differences.push(self.difference(slot, Change::Word { was, is }));
            } else if self.old.baggage.of(slot) != self.new.baggage.of(slot) {
                let what = "what names the padding".to_owned();
                differences.push(self.difference(slot, Change::Unfollowed(what)));
            }
        }
    }

    pub fn key(&self, side: &Side<'_>, slot: u32) -> Key {
        let word = side.words[slot as usize];
        let target = self.relative.target(word, u64::from(slot) * 16);
        let items = side.baggage.of(slot).iter().map(|&(_, item)| item).collect();
        (word & !volta::MASK & !self.relative.mask(word), target, items)
    }

    pub fn printer(&self) -> &Printer<'static> {
        self.printer.get_or_init(|| Printer::new(self.arch))
    }

    /// The text of an instruction.
    pub fn text(&self, side: &Side<'_>, slot: u32) -> String {
        self.printer().print(side.words[slot as usize], u64::from(slot) * 16).text
    }

    pub fn difference(&self, slot: u32, change: Change) -> Difference {
        Difference::new(self.section, Some(u64::from(slot) * 16), change)
    }
}
