//! Takes cycles out of stalls, as many as the distances between instructions allow.
//!
//! Blocks are gone through in order, and in each block stalls are: what a stall could do without is the least that any distance
//! which spans it has left over; that much is taken from all of these. So the same cycle is never taken twice for one distance,
//! and what is left over belongs to the first stall that could do without it.

use super::paths::Part;
use super::stall;
use sassafras_ir::Function;

/// What asks for a distance; whatever comes before counts as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// A rule of the checker.
    Rule,
    /// A distance of a scheduler.
    Usual,
    /// A reason, by its place in the table.
    Reason(u16),
    /// A row of least distances.
    Seen,
}

impl Level {
    const fn rank(self) -> usize {
        match self {
            Level::Rule => 0,
            Level::Usual => 1,
            Level::Reason(_) => 2,
            Level::Seen => 3,
        }
    }
}

/// What could be taken out of one stall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Cycles.
    pub cycles: u8,
    /// The reason that kept more from being taken.
    pub reason: Option<u16>,
}

/// A distance that spans the stalls at some places of a block.
#[derive(Clone, Copy)]
struct Span {
    distance: u32,
    from: u32,
    /// The first place that it does not span.
    to: u32,
}

/// The distances of a function.
pub struct Spare<'a> {
    f: &'a Function,
    /// By distance: who asks, and the cycles that it could do without.
    distances: Vec<(Level, i32)>,
    /// By block.
    spans: Vec<Vec<Span>>,
}

impl<'a> Spare<'a> {
    pub fn new(f: &'a Function) -> Spare<'a> {
        Spare { f, distances: Vec::new(), spans: vec![Vec::new(); f.block_count()] }
    }

    /// A distance that is asked for, and what these stalls give. Where they give less, only a rule counts: what is not kept is no
    /// reason for anything.
    pub fn add(&mut self, level: Level, need: u16, given: u16, parts: &[Part]) {
        if given < need && level != Level::Rule {
            return;
        }
        let distance = self.distances.len() as u32;
        self.distances.push((level, (i32::from(given) - i32::from(need)).max(0)));
        for &Part { block, from, to } in parts {
            self.spans[block.as_u32() as usize].push(Span { distance, from, to });
        }
    }

    /// The cycles that could go, by instruction, when more and more is asked for.
    pub fn take(mut self) -> [Vec<Taken>; 4] {
        for spans in &mut self.spans {
            spans.sort_unstable_by_key(|span| span.from);
        }
        [0, 1, 2, 3].map(|rank| self.up_to(rank))
    }

    fn up_to(&self, rank: usize) -> Vec<Taken> {
        let mut slack: Vec<i32> = self.distances.iter().map(|&(_, slack)| slack).collect();
        let counts = |span: &Span| self.distances[span.distance as usize].0.rank() <= rank;
        let mut taken = vec![Taken::default(); self.f.inst_count()];
        let mut active: Vec<Span> = Vec::new();
        for block in self.f.blocks() {
            active.clear();
            let spans = self.spans[block.as_u32() as usize].iter().copied();
            let mut coming = spans.filter(counts).peekable();
            for (place, &inst) in self.f.block_insts(block).iter().enumerate() {
                active.retain(|span| span.to as usize > place);
                while let Some(span) = coming.next_if(|span| span.from as usize <= place) {
                    active.extend((span.to as usize > place).then_some(span));
                }
                let most = i32::from(stall(self.f, inst).unwrap_or(0)) - 1;
                if most <= 0 {
                    continue;
                }
                let tightest = active.iter().min_by_key(|span| slack[span.distance as usize]);
                let cycles = tightest.map_or(most, |span| slack[span.distance as usize].min(most));
                let binds = |span: &&Span| slack[span.distance as usize] == cycles && cycles < most;
                let reason = active.iter().filter(binds).find_map(|span| {
                    match self.distances[span.distance as usize].0 {
                        Level::Reason(reason) => Some(reason),
                        _ => None,
                    }
                });
                taken[inst.as_u32() as usize] = Taken { cycles: cycles as u8, reason };
                for span in &active {
                    slack[span.distance as usize] -= cycles;
                }
            }
        }
        taken
    }
}
