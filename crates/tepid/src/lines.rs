//! Goal: which global stores of a block fill the same line of memory, and an order of the lines that leaves none half-way.
//!
//! Stores to neighbouring bytes travel together when nothing else is stored in between; a line that is come back to is sent
//! again. On an H200 each such return costs a Triton softmax 6 % of its time, and loads cost nothing: the first one brings the line
//! near. So stores of a line stand together, line after line, and one that the code behind the block goes on with comes last.
//!
//! Cost: a walk over the graph per line. Source: measured (bench/gpu, the report card of triton_softmax).

use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;
use sassafras_deps::{Graph, Node};
use sassafras_ir::{Function, Inst};

/// More lines than this are not put in order.
const MOST: usize = 64;
/// How far behind the block a line may be gone on with, in instructions.
const BEHIND: usize = 32;

/// The global stores of a block by line.
#[derive(Debug, Default)]
pub struct StoreLines {
    /// By position: the line that a store fills.
    pub of: Vec<Option<u16>>,
    /// By line: the positions of its stores.
    pub members: Vec<Vec<u32>>,
    /// Lines that the code behind the block goes on with.
    pub continued: FixedBitSet,
}

/// Stores through one register with one value, by their offsets: its lane and how often that was written before.
type Base = (u32, u32);

impl StoreLines {
    /// Of a block, with what may follow it. Bytes closer than `line` to each other belong together.
    pub fn new(f: &Function, insts: &[Inst], following: &[&[Inst]], line: u32) -> StoreLines {
        let mut found = StoreLines { of: vec![None; insts.len()], ..StoreLines::default() };
        let none = FxHashMap::default();
        if !insts.iter().any(|&inst| stores(f, inst, &none).next().is_some()) {
            return found;
        }
        let mut versions: FxHashMap<u32, u32> = FxHashMap::default();
        let mut groups: FxHashMap<Base, Vec<(i64, u32)>> = FxHashMap::default();
        for (at, &inst) in (0..).zip(insts) {
            for (base, offset) in stores(f, inst, &versions) {
                groups.entry(base).or_default().push((offset, at));
            }
            f.for_each_write(inst, |lane| *versions.entry(lane.lane.bits()).or_default() += 1);
        }
        let mut behind: FxHashMap<Base, Vec<i64>> = FxHashMap::default();
        for insts in following {
            let mut versions = versions.clone();
            for &inst in insts.iter().take(BEHIND) {
                for (base, offset) in stores(f, inst, &versions) {
                    behind.entry(base).or_default().push(offset);
                }
                f.for_each_write(inst, |lane| *versions.entry(lane.lane.bits()).or_default() += 1);
            }
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_unstable_by_key(|&(base, _)| base);
        for (base, mut stores) in groups {
            stores.sort_unstable();
            for run in stores.chunk_by(|a, b| b.0 - a.0 < i64::from(line)) {
                let number = found.members.len();
                let mut members: Vec<u32> = run.iter().map(|&(_, at)| at).collect();
                members.sort_unstable();
                members.iter().for_each(|&at| found.of[at as usize] = u16::try_from(number).ok());
                found.members.push(members);
                found.continued.grow(number + 1);
                let near =
                    |offset: &i64| run.iter().any(|&(other, _)| (other - offset).abs() < i64::from(line));
                found
                    .continued
                    .set(number, behind.get(&base).is_some_and(|offsets| offsets.iter().any(near)));
            }
        }
        found
    }

    /// What must come before what for no line to be left half-way; nothing where the dependences forbid that.
    pub fn orders(&self, graph: &Graph) -> Vec<(Node, Node)> {
        let mut open: Vec<usize> = (0..self.members.len()).filter(|&line| self.matters(line)).collect();
        if open.len() < 2 || open.len() > MOST {
            return Vec::new();
        }
        let reach: FxHashMap<usize, FixedBitSet> =
            open.iter().map(|&line| (line, self.reached(line, graph))).collect();
        let mut orders = Vec::new();
        let mut last: Option<usize> = None;
        while !open.is_empty() {
            let free =
                |&line: &usize| !open.iter().any(|other| *other != line && reach[other].contains(line));
            let first = |&line: &usize| (self.continued.contains(line), self.members[line].first().copied());
            // Of lines that wait for each other none is free: the one that came first goes on, without a promise.
            let free_line = open.iter().copied().filter(free).min_by_key(first);
            let line = free_line.or_else(|| open.iter().copied().min_by_key(first));
            let Some(line) = line else { break };
            if let Some(before) = last.filter(|before| !reach[&line].contains(*before)) {
                let pairs = self.members[before]
                    .iter()
                    .flat_map(|&a| self.members[line].iter().map(move |&b| (a, b)));
                orders.extend(pairs.map(|(a, b)| (Node(a), Node(b))));
            }
            last = Some(line);
            open.retain(|&other| other != line);
        }
        orders
    }

    /// A line of several stores, or one that goes on behind the block.
    fn matters(&self, line: usize) -> bool {
        self.members[line].len() > 1 || self.continued.contains(line)
    }

    /// The lines with a store that waits for one of this line.
    fn reached(&self, line: usize, graph: &Graph) -> FixedBitSet {
        let mut reached = FixedBitSet::with_capacity(self.members.len());
        let mut seen = FixedBitSet::with_capacity(graph.node_count());
        let mut stack: Vec<Node> = self.members[line].iter().map(|&at| Node(at)).collect();
        while let Some(node) = stack.pop() {
            for edge in graph.succs_here(node) {
                if !seen.put(edge.to.index()) {
                    stack.push(edge.to);
                    if let Some(other) = self.of.get(edge.to.index()).copied().flatten() {
                        reached.insert(usize::from(other));
                    }
                }
            }
        }
        reached.set(line, false);
        reached
    }
}

/// The global stores of an instruction.
fn stores<'a>(
    f: &'a Function,
    inst: Inst,
    versions: &'a FxHashMap<u32, u32>,
) -> impl Iterator<Item = (Base, i64)> + 'a {
    let stored = f.accesses(inst).filter(|(access, write)| *write && access.space.is_global());
    stored.filter_map(|(access, _)| {
        let lane = access.base?.first().bits();
        Some(((lane, versions.get(&lane).copied().unwrap_or(0)), access.offset))
    })
}
