//! From what threads did to transfers with their slots.

use super::rings::{Groups, Round, stride};
use super::text::steps;
use super::walk::{Ground, Kind, Seen, Walk};
use super::{Launch, Movement, Objects, Transfer};
use sassafras_ir::cfg::Cfg;
use sassafras_ir::dominators::Dominators;
use sassafras_ir::loops::Loops;
use sassafras_ir::{Block, Function, Inst};
use sassafras_sass::print::Printer;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// How often a thread is sent to an instruction.
const TIMES: usize = 64;
/// Bytes of shared memory that the system has for itself, in front of the kernel's.
const RESERVED: u64 = 1024;
/// How far barrier objects are apart.
const OBJECT_BYTES: u32 = 8;
/// A barrier object is made with twice its arrivals below twice this.
const ARRIVALS: u32 = 1 << 20;
/// The most that one copy of a thread moves.
const COPY_BYTES: u32 = 16;

/// An instruction of interest inside a loop, and what threads did there.
struct Site {
    inst: Inst,
    kind: Kind,
    /// Where its loop begins.
    head: Block,
    /// The walk that led here again and again.
    walk: Rc<Walk>,
    /// Of a transfer, the objects that it arrives at, visit by visit.
    arrived: Vec<Option<u32>>,
}

/// What transfers are joined by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// A barrier object that they arrive at, or that a store waits for.
    Object(u32),
    /// The end of a group of copies.
    Commit(Inst),
    /// The same place.
    Place(Kind, u32),
}

/// The sites of one transfer.
struct Group<'a> {
    sites: Vec<&'a Site>,
    /// The places that all of them use.
    places: BTreeSet<u32>,
}

struct Assembly<'f> {
    ground: Ground<'f>,
    launch: Launch,
    /// The barrier objects and their arrivals.
    made: BTreeMap<u32, u32>,
    sites: Vec<Site>,
}

/// The transfers of a function, in the order of its loops.
pub(super) fn transfers(function: &Function, printer: Option<Printer<'_>>, launch: Launch) -> Vec<Transfer> {
    let steps = steps(function, printer);
    let cfg = Cfg::new(function);
    let loops = Loops::new(function, &cfg, &Dominators::new(function, &cfg));
    let ground = Ground { function, steps: &steps, cfg: &cfg, loops: &loops };
    let mut assembly = Assembly { ground, launch, made: BTreeMap::new(), sites: Vec::new() };
    function.blocks().for_each(|block| assembly.visit(block));
    let mut found = assembly.moved();
    found.extend(assembly.registers());
    found.sort_by_key(|(first, transfer)| (transfer.head, *first));
    found.into_iter().map(|(_, transfer)| transfer).collect()
}

impl Assembly<'_> {
    /// Goes to whatever is of interest in a block.
    fn visit(&mut self, block: Block) {
        let insts = self.ground.function.block_insts(block);
        let kind = |inst: &Inst| Kind::of(self.ground.step(*inst)?).map(|kind| (*inst, kind));
        let all: Vec<(Inst, Kind)> = insts.iter().filter_map(kind).collect();
        if all.iter().any(|(_, kind)| *kind == Kind::Init) {
            let once = self.send(block, 1);
            for seen in once.seen.iter().filter(|seen| seen.kind == Kind::Init) {
                if let (Some(address), Some(value)) = (seen.address, seen.other) {
                    self.made.insert(address, ARRIVALS.wrapping_sub(value >> 1));
                }
            }
        }
        let Some(around) = self.ground.loops.innermost(block) else { return };
        let naps =
            insts.iter().filter_map(|&inst| self.ground.step(inst)).any(|step| step.name() == "NANOSLEEP");
        let mut here = all.into_iter().filter(|(_, kind)| match kind {
            Kind::Load | Kind::Store | Kind::Copy | Kind::Fetch => true,
            // Who naps comes there only when a wait fails.
            Kind::Wait => !naps,
            _ => false,
        });
        let Some(first) = here.next() else { return };
        let (head, walk) = (self.ground.loops.header(around), Rc::new(self.send(block, TIMES)));
        for (inst, kind) in [first].into_iter().chain(here) {
            let mut site = Site { inst, kind, head, walk: Rc::clone(&walk), arrived: Vec::new() };
            site.arrived = site.arrivals();
            self.sites.push(site);
        }
    }

    /// Sends the first thread of each warp to a block, until one gets there as often as it should and knows where it is.
    fn send(&self, goal: Block, times: usize) -> Walk {
        let way = self.ground.way(goal);
        let insts = self.ground.function.block_insts(goal);
        let mut best = (0, Reverse(0), Walk::default());
        for warp in 0..self.launch.threads.div_ceil(32).max(1) {
            let walk = self.ground.walk(warp * 32, &way, times);
            let unknown = |seen: &&Seen| seen.address.is_none() && insts.contains(&seen.inst);
            let unknown = Reverse(walk.seen.iter().filter(unknown).count());
            if (walk.visits, unknown) > (best.0, best.1) {
                best = (walk.visits, unknown, walk);
            }
            if (best.0, best.1) == (times, Reverse(0)) {
                break;
            }
        }
        best.2
    }

    /// What moves to and from shared memory: sites that belong together.
    fn moved(&self) -> Vec<(Inst, Transfer)> {
        let sites: Vec<&Site> = self.sites.iter().filter(|site| site.kind.is_transfer()).collect();
        let mut joined = Groups::new(sites.len());
        for (member, site) in sites.iter().enumerate() {
            let mut objects: BTreeSet<u32> = site.arrived.iter().flatten().copied().collect();
            if objects.is_empty() {
                let commit = site.behind(Kind::Commit).next().flatten().map(|seen| Key::Commit(seen.inst));
                let commit = commit.filter(|_| site.kind == Kind::Copy);
                let places = site.own().filter_map(|seen| seen.address).map(|at| Key::Place(site.kind, at));
                places.chain(commit).for_each(|key| joined.key(member, key));
            }
            if site.kind == Kind::Store {
                objects.extend(site.waited_before(&BTreeSet::new()));
            }
            objects.into_iter().for_each(|object| joined.key(member, Key::Object(object)));
        }
        let mut together: BTreeMap<usize, Group<'_>> = BTreeMap::new();
        for (member, site) in sites.into_iter().enumerate() {
            let empty = || Group { sites: Vec::new(), places: BTreeSet::new() };
            let group = together.entry(joined.first(member)).or_insert_with(empty);
            group.sites.push(site);
            group.places.extend(site.own().filter_map(|seen| seen.address));
        }
        let groups: Vec<Group<'_>> = together.into_values().collect();
        (0..groups.len())
            .map(|number| (groups[number].sites[0].inst, self.transfer(&groups, number)))
            .collect()
    }

    fn transfer(&self, groups: &[Group<'_>], number: usize) -> Transfer {
        let group = &groups[number];
        let filled: BTreeSet<u32> =
            self.sites.iter().flat_map(|site| site.arrived.iter().flatten().copied()).collect();
        let objects: BTreeSet<u32> =
            group.sites.iter().flat_map(|site| site.arrived.iter().flatten().copied()).collect();
        let freed: BTreeSet<u32> = group.sites.iter().flat_map(|site| site.waited_before(&filled)).collect();
        let movement = match group.sites[0].kind {
            Kind::Store => Movement::Store,
            Kind::Copy => Movement::Copy,
            _ => Movement::Load,
        };
        let mut transfer = Transfer {
            movement,
            head: group.sites[0].head.as_u32(),
            slots: Ok(0),
            stride: None,
            filled: self.objects(&objects),
            freed: self.objects(&freed),
            ahead: None,
            open: None,
        };
        let rounds = match self.rounds(groups, number, &objects) {
            Ok(rounds) => rounds,
            Err(why) => {
                transfer.slots = Err(why);
                return transfer;
            }
        };
        let first = &rounds[0];
        transfer.slots = Ok(first.1.addresses().len());
        transfer.head = first.0.head.as_u32();
        let common = stride(first.1.addresses());
        transfer.stride =
            common.filter(|_| rounds.iter().all(|(_, round)| stride(round.addresses()) == common));
        match (movement, objects.is_empty()) {
            (Movement::Store, _) => {}
            (_, false) => transfer.ahead = until_wait(&rounds).map(|turns| (turns, turns)),
            (_, true) => {
                let (ahead, open) = self.until_read(&rounds);
                (transfer.ahead, transfer.open) = (ahead.map(|turns| (turns, turns)), open);
            }
        }
        transfer
    }

    /// The sites that come to every place, innermost loops only, with the places in turn. Before and behind its loop, a transfer may
    /// come to some places only.
    fn rounds<'a>(
        &self,
        groups: &[Group<'a>],
        number: usize,
        objects: &BTreeSet<u32>,
    ) -> Result<Vec<(&'a Site, Round)>, String> {
        let group = &groups[number];
        let mut rounds = Vec::new();
        for &site in &group.sites {
            rounds.push((site, self.round(site)?));
        }
        let most = rounds.iter().map(|(_, round)| round.addresses().len()).max().unwrap_or_default();
        let closed = |round: &Round| matches!(round, Round::Closed(addresses) if addresses.len() == most);
        rounds.retain(|(_, round)| closed(round));
        let depth = |site: &Site| self.ground.loops.block_depth(site.head);
        let deepest = rounds.iter().map(|(site, _)| depth(site)).max();
        rounds.retain(|(site, _)| Some(depth(site)) == deepest);
        if rounds.is_empty() {
            return Err(format!("no round was seen to end; at least {most} places"));
        }
        let others = groups.iter().enumerate().filter(|(other, _)| *other != number);
        let mut alike = others.filter(|(_, other)| other.sites[0].kind == group.sites[0].kind);
        let between = |place: &u32| Some(place) > group.places.first() && Some(place) < group.places.last();
        if objects.is_empty() && alike.any(|(_, other)| other.places.iter().any(between)) {
            return Err("places of several transfers lie between each other".to_owned());
        }
        self.check(group, objects, most)?;
        Ok(rounds)
    }

    /// The places of one site in turn.
    fn round(&self, site: &Site) -> Result<Round, String> {
        let addresses: Vec<Option<u32>> = site.own().map(|seen| seen.address).collect();
        if addresses.len() < 2 {
            return Err("no thread was seen to come there twice".to_owned());
        }
        let known: Option<Vec<u32>> = addresses.into_iter().collect();
        let known = known.ok_or("an address depends on what is not known")?;
        let end = self.launch.shared + RESERVED;
        if known.iter().any(|&address| u64::from(address) >= end) {
            return Err("an address lies outside shared memory".to_owned());
        }
        match Round::new(&known) {
            Round::Unruly => Err("its places do not come in turn".to_owned()),
            round => Ok(round),
        }
    }

    /// Whether barrier objects, and those who wait for them, go with this number of slots.
    fn check(&self, group: &Group<'_>, objects: &BTreeSet<u32>, slots: usize) -> Result<(), String> {
        if objects.is_empty() {
            return Ok(());
        }
        if !group.sites.iter().all(|site| site.arrived.iter().all(Option::is_some)) {
            return Err("a barrier object depends on what is not known".to_owned());
        }
        let list: Vec<u32> = objects.iter().copied().collect();
        if list.len() > 1 && stride(&list) != Some(OBJECT_BYTES) {
            return Err("its barrier objects are no array".to_owned());
        }
        if self.objects(objects).is_none() {
            return Err("its barrier objects are not made alike".to_owned());
        }
        // One object for all places: each transfer is waited for before the next.
        if list.len() != slots && list.len() != 1 {
            return Err(format!("{slots} places, {} barrier objects", list.len()));
        }
        self.sites.iter().try_for_each(|site| waits_go(&site.walk, objects))
    }

    /// Barrier objects that were all made for the same number of arrivals.
    fn objects(&self, addresses: &BTreeSet<u32>) -> Option<Objects> {
        let mut arrivals = addresses.iter().map(|address| self.made.get(address).copied());
        let first = arrivals.next()??;
        let alike = arrivals.all(|other| other == Some(first));
        alike.then_some(Objects { count: addresses.len(), arrivals: first })
    }

    /// Turns from a copy to the reads of the same slot, and the groups that are open then.
    fn until_read(&self, rounds: &[(&Site, Round)]) -> (Option<u32>, Option<u32>) {
        let firsts = rounds.iter().filter_map(|(_, round)| round.addresses().iter().min());
        let (Some(&low), Some(&high)) = (firsts.clone().min(), firsts.max()) else { return (None, None) };
        let slots = rounds[0].1.addresses().len() as u32;
        // A slot alone has the bytes that the threads copy.
        let bytes = stride(rounds[0].1.addresses()).unwrap_or(high - low + self.launch.threads * COPY_BYTES);
        let slot = |address: u32| Some(address.checked_sub(low)? / bytes).filter(|slot| *slot < slots);
        let insts: BTreeSet<Inst> = rounds.iter().map(|(site, _)| site.inst).collect();
        let (mut turns, mut open) = (BTreeSet::new(), BTreeSet::new());
        for (site, _) in rounds {
            let (mut written, mut settled) = (BTreeMap::new(), None);
            for seen in &site.walk.seen {
                let place = seen.address.and_then(slot);
                match (seen.kind, place) {
                    (Kind::Copy, Some(place)) if insts.contains(&seen.inst) => {
                        written.insert(place, seen.turn);
                    }
                    (Kind::Settle, _) => settled = seen.other,
                    (Kind::Read, Some(place)) => {
                        if let Some(turn) = written.get(&place) {
                            turns.insert(seen.turn - turn);
                            open.insert(settled);
                        }
                    }
                    _ => {}
                }
            }
        }
        (only(turns), only(open).flatten())
    }

    /// Loops that load into registers and have nothing copied into shared memory.
    fn registers(&self) -> Vec<(Inst, Transfer)> {
        let into_shared = |site: &&Site| matches!(site.kind, Kind::Load | Kind::Copy);
        let others: BTreeSet<Block> = self.sites.iter().filter(into_shared).map(|site| site.head).collect();
        let mut loads: BTreeMap<Block, Vec<&Site>> = BTreeMap::new();
        for site in self.sites.iter().filter(|site| site.kind == Kind::Fetch && !others.contains(&site.head))
        {
            loads.entry(site.head).or_default().push(site);
        }
        let transfer = |(head, sites): (Block, Vec<&Site>)| {
            let lives: Option<Vec<Life>> = sites.iter().map(|site| life(site)).collect();
            let most = |lives: &Vec<Life>, figure: fn(&Life) -> u32| {
                lives.iter().map(figure).max().unwrap_or_default()
            };
            let slots = lives.as_ref().map(|lives| most(lives, |life| life.overlap) as usize);
            let transfer = Transfer {
                movement: Movement::Registers,
                head: head.as_u32(),
                slots: slots.ok_or("what is loaded is used at changing distances, or never".to_owned()),
                stride: None,
                filled: None,
                freed: None,
                ahead: lives.map(|lives| (most(&lives, |life| life.first), most(&lives, |life| life.last))),
                open: None,
            };
            (sites[0].inst, transfer)
        };
        loads.into_iter().map(transfer).collect()
    }
}

impl Site {
    /// What was done at the site itself.
    fn own(&self) -> impl Iterator<Item = &Seen> {
        self.walk.seen.iter().filter(|seen| seen.inst == self.inst && seen.kind == self.kind)
    }

    /// By visit, the first thing of a kind behind it.
    fn behind(&self, kind: Kind) -> impl Iterator<Item = Option<&Seen>> {
        let seen = &self.walk.seen;
        let visits = seen.iter().enumerate().filter(|(_, seen)| seen.inst == self.inst);
        visits.map(move |(place, _)| seen[place..].iter().find(|later| later.kind == kind))
    }

    /// The objects that its transfers arrive at. Copies of a loop either all arrive at one or none does.
    fn arrivals(&self) -> Vec<Option<u32>> {
        match self.kind {
            Kind::Load => self.own().map(|seen| seen.other).collect(),
            Kind::Copy => {
                let found: Vec<Option<&Seen>> = self.behind(Kind::Arrive).collect();
                let none = found.iter().all(Option::is_none);
                found.into_iter().filter(|_| !none).map(|seen| seen.and_then(|seen| seen.address)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The objects that are waited for before each visit, the last ones that are not in `but`.
    fn waited_before(&self, but: &BTreeSet<u32>) -> BTreeSet<u32> {
        let mut last = None;
        let mut waited = BTreeSet::new();
        for seen in &self.walk.seen {
            match seen.kind {
                Kind::Wait if seen.address.is_some_and(|address| !but.contains(&address)) => {
                    last = seen.address
                }
                _ if seen.inst == self.inst => waited.extend(last),
                _ => {}
            }
        }
        waited
    }
}

/// How long what is loaded into registers is wanted.
struct Life {
    /// Turns from the load to the first use.
    first: u32,
    /// And to the last.
    last: u32,
    /// How many turns have their values at once.
    overlap: u32,
}

/// Follows the loads of a site to their uses. Those of the last turns are left out: what becomes of them is not seen.
fn life(site: &Site) -> Option<Life> {
    let mut uses: BTreeMap<u32, Vec<(usize, u32)>> = BTreeMap::new();
    let mut loads: BTreeMap<u32, usize> = BTreeMap::new();
    for (place, seen) in site.walk.seen.iter().enumerate().filter(|(_, seen)| seen.inst == site.inst) {
        match (seen.kind, seen.other) {
            (Kind::Use, Some(loaded)) => uses.entry(loaded).or_default().push((place, seen.turn)),
            _ => {
                loads.insert(seen.turn, place);
            }
        }
    }
    let end = loads.last_key_value()?.0.checked_sub(TIMES as u32 / 4)?;
    let (mut first, mut last, mut spans) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for (turn, place) in loads.range(..end) {
        let uses = uses.get(turn)?;
        first.insert(uses[0].1 - turn);
        let (behind, used) = uses[uses.len() - 1];
        last.insert(used - turn);
        spans.push(*place..behind);
    }
    let at_once = |at: usize| spans.iter().filter(|span| span.contains(&at)).count() as u32;
    let overlap = spans.iter().map(|span| at_once(span.start)).max()?;
    Some(Life { first: only(first)?, last: only(last)?, overlap })
}

/// Turns from a transfer to the wait for its object, where the same thread does both.
fn until_wait(rounds: &[(&Site, Round)]) -> Option<u32> {
    let mut turns = BTreeSet::new();
    for (site, _) in rounds {
        let seen = &site.walk.seen;
        let visits = seen.iter().enumerate().filter(|(_, seen)| seen.inst == site.inst);
        for ((place, visit), object) in visits.zip(&site.arrived) {
            let waits = |later: &&Seen| later.kind == Kind::Wait && later.address == *object;
            turns.extend(seen[place..].iter().find(waits).map(|wait| wait.turn - visit.turn));
        }
    }
    only(turns)
}

/// The only element.
fn only<T: Ord>(mut set: BTreeSet<T>) -> Option<T> {
    if set.len() == 1 { set.pop_first() } else { None }
}

/// Whether those who wait for some of the objects do so as for a ring: at an instruction that waits for one, for no others, and for
/// another phase each time that an object comes again, unless it was made anew.
fn waits_go(walk: &Walk, objects: &BTreeSet<u32>) -> Result<(), String> {
    let mut phases = BTreeMap::new();
    let (mut inside, mut outside) = (BTreeSet::new(), BTreeSet::new());
    for seen in &walk.seen {
        let Some(address) = seen.address else { continue };
        match (seen.kind, objects.contains(&address)) {
            (Kind::Init, true) => {
                phases.remove(&address);
            }
            (Kind::Wait, true) => {
                inside.insert(seen.inst);
                let phase = seen.other.map(|word| word >> 31);
                if phases.insert(address, phase).flatten().is_some_and(|last| Some(last) == phase) {
                    return Err("the phase that is waited for does not turn".to_owned());
                }
            }
            (Kind::Wait, false) => {
                outside.insert(seen.inst);
            }
            _ => {}
        }
    }
    if inside.is_disjoint(&outside) {
        return Ok(());
    }
    Err("its barrier objects are waited for together with others".to_owned())
}
