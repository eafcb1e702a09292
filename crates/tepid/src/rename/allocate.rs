//! Registers for the values of a block in a given order.
//!
//! Tuples are placed first, because few places fit them, then single registers, both in the order that they are defined. A value stays where
//! it was if that is free for as long as it is needed; else it goes where the fewest of those would have to go that come later, and
//! of several such places to the one that has been free for longest.

use super::values::{Kept, Value, Values};
use sassafras_ir::{Lane, RegClass};

/// The stack pointer, which is nobody else's.
const STACK: usize = 1;
/// Instructions for which a register that is read late had better not be overwritten.
const LATE: u32 = 12;
/// How many predicates there are.
const PREDICATES: u32 = RegClass::Pred.physical_lanes();

/// Finds registers, with its memory.
pub struct Allocator {
    registers: u32,
    /// By value: how far it goes from where it was.
    moves: Vec<i32>,
    /// By position in the order that came: whether it reads late.
    late: Vec<bool>,
    /// By position in the order that came: the place in the order that is looked at.
    places: Vec<u32>,
    /// By register, general ones first, then predicates: when it is taken, and when those want it that were there.
    taken: Vec<Vec<Needed>>,
    homes: Vec<Vec<Needed>>,
    /// Values in the order that they are placed.
    queue: Vec<(bool, u32, u32)>,
    /// By value and lane: when it is needed.
    needed: Vec<Vec<Needed>>,
}

/// From the place of the first definition to that of the last read. What is overwritten in the instruction that reads it for the last
/// time is not needed there any more.
#[derive(Clone, Copy, Default)]
struct Needed {
    from: u32,
    to: u32,
    /// Until when who writes it may have to wait for a read under way.
    settled: u32,
}

impl Needed {
    fn new(places: &[u32], late: &[bool], defined: &[u32], used: &[u32]) -> Needed {
        let place = |&at: &u32| places[at as usize];
        let last = defined.iter().map(place).max().map_or(0, |place| place + 1);
        let from = defined.iter().map(place).min().unwrap_or(0);
        let to = used.iter().map(place).max().unwrap_or(0).max(last);
        let settles = |&at: &u32| places[at as usize] + if late[at as usize] { LATE } else { 0 };
        Needed { from, to, settled: used.iter().map(settles).max().unwrap_or(0).max(to) }
    }

    const fn overlaps(self, other: Needed) -> bool {
        self.from < other.to && other.from < self.to
    }
}

impl Allocator {
    /// For the values of a block, of whose instructions these read late.
    pub fn new(values: &Values, late: Vec<bool>, registers: u32) -> Allocator {
        let slots = (registers + PREDICATES) as usize;
        Allocator {
            registers,
            moves: vec![0; values.all().len()],
            places: vec![0; late.len()],
            late,
            taken: vec![Vec::new(); slots],
            homes: vec![Vec::new(); slots],
            queue: Vec::new(),
            needed: values.all().iter().map(|value| vec![Needed::default(); value.lanes.len()]).collect(),
        }
    }

    fn slot(&self, lane: Lane) -> Option<usize> {
        match lane.class() {
            RegClass::Gpr => Some(lane.index()).filter(|&index| index < self.registers),
            RegClass::Pred => Some(self.registers + lane.index()),
            _ => None,
        }
        .map(|slot| slot as usize)
    }

    /// Finds registers for an order of positions. Returns whether there are enough.
    pub fn run(&mut self, values: &Values, order: impl Iterator<Item = u32>) -> bool {
        for (place, at) in (0..).zip(order) {
            self.places[at as usize] = place;
        }
        let end = self.places.len() as u32;
        self.queue.clear();
        self.homes.iter_mut().for_each(Vec::clear);
        for (number, value) in (0..).zip(values.all()) {
            let mut first = u32::MAX;
            for (i, &lane) in value.lanes.iter().enumerate() {
                let needed = Needed::new(&self.places, &self.late, &value.defined[i], &value.used[i]);
                self.needed[number as usize][i] = needed;
                first = first.min(needed.from);
                if let Some(slot) = self.slot(lane) {
                    self.homes[slot].push(needed);
                }
            }
            if value.freed {
                self.queue.push((value.lanes.len() == 1, first, number));
            }
        }
        self.queue.sort_unstable();
        // An order in which every value can stay where it was fits.
        [true, false].into_iter().any(|patient| {
            self.keep(&values.kept, end);
            self.keep_unfreed(values.all());
            let queue = std::mem::take(&mut self.queue);
            let all = queue.iter().all(|&(_, first, number)| {
                let value = &values.all()[number as usize];
                let at = self.find(number as usize, value, first, patient);
                at.is_some_and(|at| self.put(number as usize, value, at))
            });
            self.queue = queue;
            all
        })
    }

    /// Where a lane of a value is now.
    pub fn place(&self, value: u32, lane: Lane) -> Lane {
        let index = lane.index().wrapping_add_signed(self.moves[value as usize]);
        Lane::physical(lane.class(), index).unwrap_or(lane)
    }

    /// Registers that keep their values.
    fn keep(&mut self, kept: &[Kept], end: u32) {
        self.taken.iter_mut().for_each(Vec::clear);
        self.taken[STACK].push(Needed { from: 0, to: u32::MAX, settled: u32::MAX });
        for value in kept {
            let Some(slot) = self.slot(value.lane) else { continue };
            let mut needed = Needed::new(&self.places, &self.late, &value.defined, &value.used);
            needed.from = if value.comes { 0 } else { needed.from };
            needed.to = if value.leaves { end + 1 } else { needed.to };
            needed.settled = needed.settled.max(needed.to);
            self.taken[slot].push(needed);
        }
    }

    /// Registers of values that stay where they were although they could go elsewhere.
    fn keep_unfreed(&mut self, all: &[Value]) {
        for (number, value) in all.iter().enumerate().filter(|(_, value)| !value.freed) {
            self.moves[number] = 0;
            for (i, &lane) in value.lanes.iter().enumerate() {
                if let Some(slot) = self.slot(lane) {
                    self.taken[slot].push(self.needed[number][i]);
                }
            }
        }
    }

    /// The best place for a value, which is defined at `first`. The patient stay where they were only if they need not wait there.
    fn find(&self, number: usize, value: &Value, first: u32, patient: bool) -> Option<u32> {
        let home = value.lanes[0].index();
        let count = if value.lanes[0].class() == RegClass::Gpr { self.registers } else { PREDICATES };
        let width = value.lanes[value.lanes.len() - 1].index() - home + 1;
        let at_home = if home + width <= count { self.judge(number, value, home, first) } else { None };
        if at_home.is_some_and(|(waits, ..)| waits == 0 && !value.flipped || !patient) {
            return Some(home);
        }
        let places = (home % value.step..).step_by(value.step as usize).take_while(|at| at + width <= count);
        // A place in the other bank than wanted costs less than waiting, but more than anything else.
        let free = places.filter_map(|at| {
            let (waits, wanted, since) = self.judge(number, value, at, first)?;
            let other_bank = (at + home + u32::from(value.flipped)) % 2;
            Some(((waits, other_bank, wanted, since), at))
        });
        free.min().map(|(_, at)| at)
    }

    /// How bad a place is: how often something would wait for a read under way, how many want it that are placed later, and since when
    /// it is free. None when it is taken.
    fn judge(&self, number: usize, value: &Value, at: u32, first: u32) -> Option<(u32, u32, u32)> {
        let (mut waits, mut wanted, mut since) = (0, 0, 0);
        for (i, lane) in value.lanes.iter().enumerate() {
            let needed = self.needed[number][i];
            let slot = self.base(value) + (at + lane.index() - value.lanes[0].index()) as usize;
            for taken in &self.taken[slot] {
                if taken.overlaps(needed) {
                    return None;
                }
                if taken.to <= needed.from {
                    since = since.max(taken.to);
                    waits += u32::from(taken.settled > needed.from);
                } else {
                    waits += u32::from(needed.settled > taken.from);
                }
            }
            wanted +=
                self.homes[slot].iter().filter(|home| home.from >= first && home.overlaps(needed)).count();
        }
        Some((waits, wanted as u32, since))
    }

    fn put(&mut self, number: usize, value: &Value, at: u32) -> bool {
        let home = value.lanes[0].index();
        for (i, lane) in value.lanes.iter().enumerate() {
            let slot = self.base(value) + (at + lane.index() - home) as usize;
            self.taken[slot].push(self.needed[number][i]);
        }
        self.moves[number] = at as i32 - home as i32;
        true
    }

    fn base(&self, value: &Value) -> usize {
        if value.lanes[0].class() == RegClass::Gpr { 0 } else { self.registers as usize }
    }
}
