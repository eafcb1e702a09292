//! Goal: anti-dependences broken by renaming, so that any list strategy can order a block as if they were not there.
//!
//! The values to free are all that can be (`all`), or those whose register is waited for on the critical path (`critical`): what a
//! write with zero slack waits for is freed, the critical path is looked up again, and so on for a few rounds. The strategy then orders
//! the block with virtual registers, and the allocator finds real ones for that order. Where there are not enough, half of the values
//! keep their registers, then three quarters, and so on.
//!
//! Cost: per round a graph, per attempt an order and an allocation. Source: the list-schedulers document (`break-anti-dependencies`).

use super::{Alone, Freed, Names, Room};
use crate::code::Code;
use crate::latency::Mined;
use rustc_hash::FxHashSet;
use sassafras_deps::paths::Paths;
use sassafras_deps::{BuildOptions, EdgeKind, Node, build};
use sassafras_ir::cfg::Cfg;
use sassafras_ir::{Block, Function, Inst, Lane};

/// Which anti-dependences are broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breaking {
    /// Those that the critical path waits for.
    Critical,
    /// All.
    All,
}

/// Of the values that would be freed, every second one only: to find which of them is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// The first, the third, …
    Even,
    /// The second, the fourth, …
    Odd,
}

/// How often the critical path is looked up again.
const ROUNDS: usize = 8;

/// Breaks anti-dependences of a function's blocks.
pub struct Breaker<'c, 'f> {
    code: &'c Code<'f>,
    room: Room,
    breaking: Breaking,
    half: Option<Half>,
}

/// A block in another order with other registers.
pub struct Broken {
    /// The order.
    pub order: Vec<Inst>,
    /// The registers.
    pub names: Names,
}

impl<'c, 'f> Breaker<'c, 'f> {
    /// For a function with so many general registers; none where other code may look at them.
    pub fn new(
        code: &'c Code<'f>,
        registers: u32,
        breaking: Breaking,
        half: Option<Half>,
    ) -> Option<Breaker<'c, 'f>> {
        let room = Room::new(code.f, &Cfg::new(code.f), registers)?;
        Some(Breaker { code, room, breaking, half })
    }

    /// A block as `order` puts it, which gets it as a function of its own. None where nothing can be renamed.
    pub fn block(&self, block: Block, order: impl Fn(&Function) -> Option<Vec<Node>>) -> Option<Broken> {
        let insts = self.code.f.block_insts(block);
        if self.code.has_group(insts) || !self.room.allows(self.code.f, block) {
            return None;
        }
        let came = Alone::new(self.code, block);
        let all = Freed::new(&came, self.code.arch, &self.room, block, |_| true)?.count();
        let mut wanted: Vec<u32> = match self.breaking {
            Breaking::All => (0..all).collect(),
            Breaking::Critical => self.critical(&came, block)?,
        };
        if let Some(half) = self.half {
            let skipped = usize::from(half == Half::Odd);
            wanted = wanted.into_iter().skip(skipped).step_by(2).collect();
        }
        while !wanted.is_empty() {
            let chosen: FxHashSet<u32> = wanted.iter().copied().collect();
            let mut freed =
                Freed::new(&came, self.code.arch, &self.room, block, |value| chosen.contains(&value))?;
            let nodes = order(&freed.block.function)?;
            let new: Vec<Inst> = nodes.iter().map(|node| Inst::from_u32(node.0)).collect();
            if freed.fits_insts(&new) {
                let settled = freed.settle_insts(&new)?;
                let names = Names::between(insts, &came.function, &settled.function);
                return Some(Broken {
                    order: new.iter().map(|at| insts[at.as_u32() as usize]).collect(),
                    names,
                });
            }
            wanted.truncate(wanted.len() / 2);
        }
        None
    }

    /// Values that a write on the critical path waits for.
    fn critical(&self, came: &Alone, block: Block) -> Option<Vec<u32>> {
        let mut wanted: Vec<u32> = Vec::new();
        for _ in 0..ROUNDS {
            let freed = Freed::new(came, self.code.arch, &self.room, block, |value| wanted.contains(&value))?;
            let f = &freed.block.function;
            let code = freed.block.code(self.code.arch);
            let graph = build(f, &freed.block.insts(), &Mined::new(&code), BuildOptions::default());
            let paths = Paths::new(&graph);
            let critical = graph.edges().iter().filter(|e| {
                let length = paths.depth(e.from) + u64::from(e.latency) + paths.height(e.to);
                matches!(e.kind, EdgeKind::War | EdgeKind::Waw) && length == paths.critical_length()
            });
            let mut found: Vec<u32> = critical
                .filter(|e| !graph.is_join(e.to))
                .filter_map(|e| {
                    let written =
                        came.function.defs(Inst::from_u32(e.to.0)).get(usize::from(e.to_end.operand))?;
                    let lane: Lane = written.span()?.lanes().nth(usize::from(e.to_end.part))?;
                    freed.value_written(e.to.0, lane)
                })
                .filter(|value| !wanted.contains(value))
                .collect();
            found.sort_unstable();
            found.dedup();
            if found.is_empty() {
                break;
            }
            wanted.extend(found);
        }
        Some(wanted)
    }
}
