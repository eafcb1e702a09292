//! Does a block compute the same when its instructions stand in another order *and* use other registers?
//!
//! Value numbering. A lane holds a number that says how its value came about: live-in lanes have one of their own, and what
//! an instruction writes gets a number made of everything about the instruction but its registers (the *signature*) and of
//! the numbers that it reads, its guard among them. What it must stay behind (conflicting memory accesses, fences, calls) is
//! part of the number, in the fingerprints of [`crate::precedence`] over the numbers of the instructions there. So two
//! instructions with the same number do the same, whatever registers they use, and can stand for each other.
//!
//! Proven, when [`compare`] finds nothing: both blocks execute the same operations on the same values, in orders that do not
//! differ where order matters, and every wanted lane holds the same when they end. A write into a register that is still
//! wanted shows as another number of some reader or at the end.
//!
//! * A guarded write leaves what it leaves where its guard does not hold: a lane holds a value for either outcome. A reader
//!   under the same predicate sees one of them; a second write under the opposite guard replaces the other.
//! * A call, an opaque instruction or a return may read and write any lane: all must hold the same, under the same names, and
//!   are numbered afresh behind it. So must they at a *stop*, a place that control may enter from elsewhere.
//!
//! Not proven: that the hardware has results ready in time ([`crate::hazards`]), and what the decoder does not say about an
//! instruction.
//!
//! One pass per order, hash maps only. Numbers have 128 bits: two different histories agree with a chance of about 2⁻¹²⁸.

use crate::live::reads_all;
use crate::precedence::{Access, Fences, Kind, Memory, Positions, Print, mix};
use crate::reorder::What;
use rustc_hash::FxHashMap;
use sassafras_ir::{AccessFlags, Effects, Guard, Lane, MemAccess};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::ops::Range;

/// One instruction.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// All of it that is the same in both files, operands that commute left out: two instructions with different signatures never
    /// stand for each other.
    pub signature: Print,
    /// Its registers: of several instructions that do the same, those that also use the same are paired first.
    pub names: u128,
    pub guard: Option<Guard>,
    /// Lanes read besides the guard and written, in an order that follows from the signature.
    pub reads: SmallVec<[Lane; 8]>,
    pub writes: SmallVec<[Lane; 4]>,
    /// Memory accesses, and whether they write.
    pub accesses: SmallVec<[(MemAccess, bool); 1]>,
    pub effects: Effects,
    /// Two operands that may stand in either order.
    pub commuting: Option<[Commuting; 2]>,
}

/// An operand that may change places with another.
#[derive(Clone, Debug)]
pub(crate) struct Commuting {
    /// All of it but its registers; not in the step's signature.
    pub signature: Print,
    /// Its lanes, as places among the step's reads. The second operand's follow the first one's.
    pub reads: Range<usize>,
}

/// Which old instruction a new one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    /// The place in the old block.
    pub from: u32,
    /// Whether operands that commute stand in exchanged places.
    pub commuted: bool,
}

impl Step {
    /// One without operands.
    pub fn new(signature: Print, names: u128, effects: Effects) -> Step {
        let (reads, writes, accesses) = Default::default();
        Step { signature, names, guard: None, reads, writes, accesses, effects, commuting: None }
    }
}

impl Step {
    /// All of it but its registers, whatever the order of operands that commute.
    pub fn operation(&self) -> Print {
        self.commuting.as_ref().map_or(self.signature, |[a, b]| {
            either([a.signature, b.signature]).into_iter().fold(self.signature, fold)
        })
    }
}

/// Two numbers in an order that does not depend on how they stand.
fn either([a, b]: [Print; 2]) -> [Print; 2] {
    [a.min(b), a.max(b)]
}

/// How the new block differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deviation {
    /// The new block holds other operations.
    Other,
    /// The instruction at this place sees something else.
    Sees {
        /// Its place in the new block.
        place: usize,
        /// The instruction of the old block that is most like it.
        like: Option<usize>,
        what: What,
    },
    /// Some lane holds another value at the stop with this index.
    Stop(usize),
    /// A wanted lane holds another value at the end.
    LiveOut(Lane),
}

/// For every place of the new block, the place in the old one of an instruction that does the same.
///
/// `stops` are the places that control may enter from elsewhere, ascending; `wanted` says whether a lane matters behind the
/// block, and is asked only about lanes that hold something else there.
pub(crate) fn compare(
    old: &[Step],
    new: &[Step],
    stops: &[usize],
    mut wanted: impl FnMut(Lane) -> bool,
) -> Result<Vec<Match>, Deviation> {
    // Two accesses are at one address when their registers hold the same where their guards hold, or when they hold the same whatever
    // guards say. Either is right; where one does not see it, the other may.
    let found = compare_by(Addresses::Guarded, old, new, stops, &mut wanted);
    let conflicts = matches!(found, Err(Deviation::Sees { .. } | Deviation::LiveOut(_)));
    if conflicts && old.iter().any(|step| step.guard.is_some() && !step.accesses.is_empty()) {
        return compare_by(Addresses::Whole, old, new, stops, &mut wanted).or(found);
    }
    found
}

/// Which value an address register counts with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Addresses {
    /// What it holds where the guard of the access does.
    Guarded,
    /// What it holds, for either outcome.
    Whole,
}

fn compare_by(
    addresses: Addresses,
    old: &[Step],
    new: &[Step],
    stops: &[usize],
    wanted: &mut impl FnMut(Lane) -> bool,
) -> Result<Vec<Match>, Deviation> {
    let sorted = |steps: &[Step]| {
        let mut signatures: Vec<Print> = steps.iter().map(Step::operation).collect();
        signatures.sort_unstable();
        signatures
    };
    if sorted(old) != sorted(new) {
        return Err(Deviation::Other);
    }
    let (was, is) = (Walk::run(addresses, old, stops), Walk::run(addresses, new, stops));
    let stop = was.stops.iter().zip(&is.stops).position(|(was, is)| was != is);
    let paired = pair(old, new, &was.seen, &is.seen);
    // What comes first is the cause: behind a stop that differs, everything does.
    let order = match (paired, stop) {
        (Err(place), Some(stop)) if stops[stop] <= place => return Err(Deviation::Stop(stop)),
        (Err(place), _) => {
            let (like, what) = difference(old, new, &was.seen, &is.seen, place);
            return Err(Deviation::Sees { place, like, what });
        }
        (Ok(_), Some(stop)) => return Err(Deviation::Stop(stop)),
        (Ok(order), None) => order,
    };
    let mut lanes: Vec<Lane> = was.lanes.keys().chain(is.lanes.keys()).copied().collect();
    lanes.sort_unstable();
    lanes.dedup();
    match lanes.into_iter().find(|&lane| was.held(lane).full != is.held(lane).full && wanted(lane)) {
        Some(lane) => Err(Deviation::LiveOut(lane)),
        None => {
            let commuted = |(from, is): (u32, &Seen)| was.seen[from as usize].commuting != is.commuting;
            let paired = order.into_iter().zip(&is.seen);
            Ok(paired.map(|(from, is)| Match { from, commuted: commuted((from, is)) }).collect())
        }
    }
}

/// Pairs instructions with the same number, first those that use the same registers, then any. An error is the first new
/// place without a partner.
fn pair(old: &[Step], new: &[Step], was: &[Seen], is: &[Seen]) -> Result<Vec<u32>, usize> {
    let mut order: Vec<Option<u32>> = vec![None; new.len()];
    for same_names in [true, false] {
        let key = |step: &Step, seen: &Seen| (seen.number, if same_names { step.names } else { 0 });
        let mut left: FxHashMap<(Print, u128), VecDeque<u32>> = FxHashMap::default();
        let mut taken = vec![false; old.len()];
        order.iter().flatten().for_each(|&from| taken[from as usize] = true);
        for from in (0..old.len()).filter(|&from| !taken[from]) {
            left.entry(key(&old[from], &was[from])).or_default().push_back(from as u32);
        }
        for (to, (step, seen)) in order.iter_mut().zip(new.iter().zip(is)).filter(|(to, _)| to.is_none()) {
            *to = left.get_mut(&key(step, seen)).and_then(VecDeque::pop_front);
        }
    }
    order.iter().enumerate().map(|(place, from)| from.ok_or(place)).collect()
}

/// What the instruction at a new place sees that none of its like saw. Of those the one that is nearest to it is taken.
fn difference(old: &[Step], new: &[Step], was: &[Seen], is: &[Seen], place: usize) -> (Option<usize>, What) {
    let (step, seen) = (&new[place], &is[place]);
    let kept: FxHashMap<Print, ()> = is.iter().map(|seen| (seen.number, ())).collect();
    let like =
        old.iter().zip(was).enumerate().filter(|(_, (other, _))| other.operation() == step.operation());
    let lost = |was: &Seen| !kept.contains_key(&was.number);
    let nearest = like.min_by_key(|(_, (_, was))| {
        let reads = was.reads.iter().zip(&seen.reads).filter(|(was, is)| was != is).count();
        let others = [was.memory != seen.memory, was.effects != seen.effects, was.state != seen.state];
        (!lost(was), reads, others.iter().filter(|&&differs| differs).count())
    });
    let Some((at, (_, was))) = nearest else { return (None, What::State) };
    let lanes = step.guard.iter().map(|guard| guard.lane).chain(step.reads.iter().copied());
    let read = lanes.zip(was.reads.iter().zip(&seen.reads)).find(|(_, (was, is))| was != is);
    let what = match read {
        Some((lane, _)) => What::Reads(lane),
        None if was.memory != seen.memory => What::Memory,
        None if was.effects != seen.effects => What::Effects,
        None => What::State,
    };
    (Some(at), what)
}

/// What an instruction sees, and the number that says all of it.
struct Seen {
    number: Print,
    /// What guard and operands hold.
    reads: SmallVec<[Print; 8]>,
    memory: Print,
    effects: Print,
    state: Print,
    /// The operands that may change places, as they stand.
    commuting: Option<[Print; 2]>,
}

/// What a lane holds.
#[derive(Clone, Copy)]
struct Held {
    full: Print,
    /// Where it depends on a predicate: what that holds, and the value where it is set and where it is clear.
    split: Option<(Print, [Print; 2])>,
}

impl Held {
    fn plain(full: Print) -> Held {
        Held { full, split: None }
    }

    /// The value where `predicate` is set (0) or clear (1).
    fn when(&self, predicate: Print, clear: usize) -> Print {
        match self.split {
            Some((by, sides)) if by == predicate => sides[clear],
            _ => self.full,
        }
    }
}

/// A sequence and one more.
fn fold(all: Print, next: Print) -> Print {
    mix(mix(all).wrapping_add(next))
}

/// The signature with what was read, and the operands that may change places. `reads` starts with what the guard holds.
fn operands(step: &Step, reads: &[Print]) -> (Option<[Print; 2]>, Print) {
    let all = |number: Print, reads: &[Print]| reads.iter().fold(number, |all, &read| fold(all, read));
    let number = fold(step.signature, reads.len() as Print);
    let Some([a, b]) = &step.commuting else { return (None, all(number, reads)) };
    let guard = usize::from(step.guard.is_some());
    let (first, rest) = reads.split_at((guard + a.reads.start).min(reads.len()));
    let (one, rest) = rest.split_at(a.reads.len().min(rest.len()));
    let (two, rest) = rest.split_at(b.reads.len().min(rest.len()));
    let both = [all(a.signature, one), all(b.signature, two)];
    let number = either(both).into_iter().fold(all(number, first), fold);
    (Some(both), all(number, rest))
}

#[derive(Default)]
struct Walk {
    /// What the lanes held when numbering began, or began afresh, goes by this.
    epoch: Print,
    lanes: FxHashMap<Lane, Held>,
    /// A fingerprint of `lanes`: the sum of what was changed.
    state: Print,
    memory: Memory,
    fences: Fences,
    seen: Vec<Seen>,
    stops: Vec<Print>,
}

impl Walk {
    fn run(addresses: Addresses, steps: &[Step], stops: &[usize]) -> Walk {
        let accesses = steps.iter().flat_map(|step| &step.accesses);
        let positions = Positions::new(accesses.map(|(access, _)| access));
        let mut walk = Walk::default();
        let mut stops = stops.iter().copied().peekable();
        for (place, step) in steps.iter().enumerate() {
            if stops.next_if_eq(&place).is_some() {
                walk.stops.push(walk.state);
                walk.afresh(fold(walk.state, place as Print));
            }
            walk.step(addresses, step, &positions);
        }
        walk
    }

    fn step(&mut self, addresses: Addresses, step: &Step, positions: &Positions) {
        let guard = step.guard.map(|guard| (self.held(guard.lane).full, usize::from(guard.negated)));
        // Where threads look at each other's registers, theirs count too, whatever their guards say.
        let under = guard.filter(|_| !step.effects.contains(Effects::CROSS_LANE));
        let read = |lane| {
            let held = self.held(lane);
            under.map_or(held.full, |(predicate, clear)| held.when(predicate, clear))
        };
        let mut reads: SmallVec<[Print; 8]> = guard.iter().map(|(predicate, _)| *predicate).collect();
        reads.extend(step.reads.iter().map(|&lane| read(lane)));
        let mut kind = Kind::of(step.effects);
        let accesses: Vec<Access> = (step.accesses.iter())
            .filter_map(|(access, written)| {
                kind.ordered |= access.flags.contains(AccessFlags::VOLATILE);
                match addresses {
                    Addresses::Guarded => Access::new(access, *written, read),
                    Addresses::Whole => Access::new(access, *written, |lane| self.held(lane).full),
                }
            })
            .collect();
        kind.soft |= !accesses.is_empty();
        let memory = self.memory.before(positions, &accesses).into_iter().fold(0, fold);
        let effects = self.fences.before(kind);
        let state = if reads_all(step.effects) { self.state } else { 0 };
        let (commuting, mut number) = operands(step, &reads);
        number = [memory, effects, state].into_iter().fold(number, fold);
        self.memory.add(positions, &accesses, |i| fold(number, i as Print));
        self.fences.add(kind, number);
        for (part, &lane) in (1..).zip(&step.writes) {
            self.write(lane, fold(number, part << 64), guard);
        }
        if reads_all(step.effects) {
            self.afresh(number);
        }
        self.seen.push(Seen { number, reads, memory, effects, state, commuting });
    }

    fn held(&self, lane: Lane) -> Held {
        let unchanged = || Held::plain(fold(self.epoch, lane.bits().into()));
        self.lanes.get(&lane).copied().unwrap_or_else(unchanged)
    }

    fn write(&mut self, lane: Lane, value: Print, guard: Option<(Print, usize)>) {
        let old = self.held(lane);
        let new = match guard {
            None => Held::plain(value),
            Some((predicate, clear)) => {
                let mut sides = [old.when(predicate, 0), old.when(predicate, 1)];
                sides[clear] = value;
                let full = sides.into_iter().fold(predicate, fold);
                Held { full, split: Some((predicate, sides)) }
            }
        };
        let term = |held: Held| fold(lane.bits().into(), held.full);
        self.state = self.state.wrapping_sub(term(old)).wrapping_add(term(new));
        self.lanes.insert(lane, new);
    }

    /// Forgets which lanes hold the same: from here on each has a number of its own.
    fn afresh(&mut self, epoch: Print) {
        self.epoch = epoch;
        self.lanes.clear();
        self.state = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sassafras_ir::text::{parse, print_inst};
    use sassafras_ir::{Function, Inst, RegClass, Space};

    fn r(index: u32) -> Lane {
        Lane::physical(RegClass::Gpr, index).expect("there")
    }

    fn op(signature: Print, writes: &[u32], reads: &[u32]) -> Step {
        let mut step = Step::new(signature, 0, Effects::empty());
        step.writes = writes.iter().map(|&i| r(i)).collect();
        step.reads = reads.iter().map(|&i| r(i)).collect();
        step
    }

    fn with(mut step: Step, effects: Effects) -> Step {
        step.effects = effects;
        step
    }

    fn access(mut step: Step, base: u32, offset: i64, written: bool) -> Step {
        let (base, flags) = (Some(r(base).into()), AccessFlags::empty());
        let mem = MemAccess { space: Space::Shared, flags, width: Some(4), base, index: None, offset };
        step.accesses.push((mem, written));
        step.reads.push(r(1));
        step
    }

    fn check(old: &[Step], new: &[Step], stops: &[usize], wanted: &[u32]) -> Result<Vec<u32>, Deviation> {
        let found = compare(old, new, stops, |lane| wanted.iter().any(|&i| r(i) == lane))?;
        assert!(found.iter().all(|pair| !pair.commuted));
        Ok(found.into_iter().map(|pair| pair.from).collect())
    }

    fn sees(place: usize, like: usize, what: What) -> Result<Vec<u32>, Deviation> {
        Err(Deviation::Sees { place, like: Some(like), what })
    }

    #[test]
    fn operands_change_places_only_where_they_may() {
        let sum = |a: u32, b: u32, commutes: bool| {
            let mut step = op(1, &[4], &[a, b]);
            let operand = |at: usize| Commuting { signature: 7, reads: at..at + 1 };
            step.commuting = commutes.then(|| [operand(0), operand(1)]);
            step
        };
        let pair = |commuted| Ok(vec![Match { from: 0, commuted }]);
        let all = |_| true;
        assert_eq!(compare(&[sum(0, 1, true)], &[sum(1, 0, true)], &[], all), pair(true));
        assert_eq!(compare(&[sum(0, 1, true)], &[sum(0, 1, true)], &[], all), pair(false));
        assert!(compare(&[sum(0, 1, false)], &[sum(1, 0, false)], &[], all).is_err());
        assert!(compare(&[sum(0, 1, true)], &[sum(0, 0, true)], &[], all).is_err());
        // What stands in an operand besides registers goes with it.
        let mut negative = sum(0, 1, true);
        negative.commuting.as_mut().expect("commutes")[0].signature = 8;
        let mut exchanged = sum(1, 0, true);
        exchanged.commuting.as_mut().expect("commutes")[1].signature = 8;
        assert_eq!(compare(&[negative.clone()], &[exchanged], &[], all), pair(true));
        assert!(compare(&[negative], &[sum(1, 0, true)], &[], all).is_err());
    }

    #[test]
    fn registers_that_hold_the_same_part_at_a_call() {
        let call = || with(op(9, &[], &[]), Effects::CALL);
        let old = [op(1, &[4], &[0]), op(1, &[6], &[0]), call(), op(2, &[5], &[4])];
        let mut new = old.clone();
        new[3] = op(2, &[5], &[6]);
        assert_eq!(check(&old, &new, &[], &[5]), sees(3, 3, What::Reads(r(6))));
        // Without the call the two are one and the same.
        (new[2], new[3]) = (op(3, &[], &[]), op(2, &[5], &[6]));
        let mut plain = old.clone();
        plain[2] = op(3, &[], &[]);
        assert_eq!(check(&plain, &new, &[], &[5]), Ok(vec![0, 1, 2, 3]));
        // The callee may read what nobody here does.
        let mut other = old.clone();
        other[1] = op(1, &[7], &[0]);
        assert_eq!(check(&old, &other, &[], &[]), sees(2, 2, What::State));
    }

    #[test]
    fn a_place_that_control_enters_finds_every_register_as_it_was() {
        let old = [op(1, &[4], &[0]), op(2, &[5], &[4]), op(3, &[6], &[5])];
        let new = [op(1, &[7], &[0]), op(2, &[5], &[7]), op(3, &[6], &[5])];
        assert_eq!(check(&old, &new, &[], &[6]), Ok(vec![0, 1, 2]));
        assert_eq!(check(&old, &new, &[1], &[6]), Err(Deviation::Stop(0)));
        assert_eq!(check(&old, &new, &[2], &[6]), Err(Deviation::Stop(0)));
        let late = [op(1, &[4], &[0]), op(2, &[5], &[4]), op(3, &[8], &[5])];
        assert_eq!(check(&old, &late, &[2], &[]), Ok(vec![0, 1, 2]));
    }

    #[test]
    fn fences_and_addresses_hold_with_other_registers() {
        let bar = || with(op(9, &[], &[]), Effects::BARRIER);
        let load = |d, base, offset| access(op(1, &[d], &[base]), base, offset, false);
        let store = |base, offset| access(op(2, &[], &[base]), base, offset, true);
        let old = [load(4, 0, 0), bar(), op(3, &[5], &[4])];
        let new = [bar(), load(6, 0, 0), op(3, &[5], &[6])];
        assert_eq!(check(&old, &new, &[], &[5]), sees(0, 1, What::Effects));
        // The same address in another register: bytes beside each other do not conflict, the same ones do.
        let pair = |base, offset, first: bool| {
            let (load, store) = (load(4, base, 8), store(base, offset));
            let address = op(5, &[base], &[1]);
            if first { [address, load, store] } else { [address, store, load] }
        };
        assert_eq!(check(&pair(2, 0, true), &pair(3, 0, false), &[], &[4]), Ok(vec![0, 2, 1]));
        let moved = check(&pair(2, 8, true), &pair(3, 8, false), &[], &[4]);
        assert_eq!(moved, sees(1, 2, What::Memory));
    }

    fn steps(f: &Function, insts: &[Inst]) -> Vec<Step> {
        let step = |&inst: &Inst| {
            let text = print_inst(f, inst);
            let signature = text.bytes().fold(1, |all, byte| fold(all, byte.into()));
            let mut step = Step::new(signature, 0, f.inst(inst).effects);
            step.guard = f.inst(inst).guard;
            f.for_each_read(inst, |read| step.reads.push(read.lane));
            f.for_each_write(inst, |write| step.writes.push(write.lane));
            step.accesses = f.accesses(inst).map(|(access, written)| (*access, written)).collect();
            step
        };
        insts.iter().map(step).collect()
    }

    /// Whatever order the other checker accepts, this one does; what it refuses, this one accepts only where a
    /// register is not wanted, guards exclude each other or values are equal.
    #[test]
    fn legal_orders_are_legal_here() {
        use crate::reorder;
        use sassafras_testkit::random::{Shape, function};
        use sassafras_testkit::rng::Rng;
        let (mut legal, mut refused, mut more) = (0, 0, 0);
        for seed in 0..3_000 {
            let mut rng = Rng::new(seed);
            let shape = Shape::random(&mut rng, 3, 10);
            let f = function(&mut rng, &shape);
            for block in f.blocks() {
                let old = f.block_insts(block);
                let mut new = old.to_vec();
                for _ in 0..rng.below(4) {
                    if new.len() > 1 {
                        let at = rng.below(new.len() - 1);
                        new.swap(at, at + 1);
                    }
                }
                let found = compare(&steps(&f, old), &steps(&f, &new), &[], |_| true);
                match (reorder::check(&f, old, &new), found) {
                    (Ok(()), found) => {
                        assert!(found.is_ok(), "seed {seed}: {found:?}");
                        legal += 1;
                    }
                    (Err(_), Ok(_)) => more += 1,
                    (Err(_), Err(_)) => refused += 1,
                }
            }
        }
        assert!(legal > 1_000 && refused > 500 && more * 20 < refused, "{legal} {refused} {more}");
    }

    #[test]
    fn writes_for_either_outcome_can_change_places() {
        let text = "func f sm_90 (R0, P0) {\n^a:\n  @P0 R4 = MOV R0\n  @!P0 R4 = MOV R1\n  EXIT !exit\n}\n";
        let module = parse(text).expect("parses");
        let f = &module.functions[0];
        let old = f.block_insts(f.blocks().next().expect("a block"));
        let new = [old[1], old[0], old[2]];
        let found = compare(&steps(f, old), &steps(f, &new), &[], |_| true);
        let found = found.map(|pairs| pairs.into_iter().map(|pair| pair.from).collect());
        assert_eq!(found, Ok(vec![1, 0, 2]), "one of the two writes");
    }
}
