//! Operands at hand first.

use crate::request::SubCore;
use crate::strategy::{Candidates, Context, Described, Strategy};
use rustc_hash::FxHashMap;
use sassafras_ir::Span;
use sassafras_problem::graph::{Graph, Node};

/// Goal: few register reads, for code that is bound by register banks. Priorities:
/// loads, which everything waits for; sources that are at hand from the instruction before; the longest path still to go;
/// source order. Cost: keys of the readers of a register are asked again when it comes to hand or leaves.
pub struct ReuseFirst<'b> {
    machine: &'b dyn SubCore,
    /// By source place and bank: the registers at hand.
    kept: [[Option<Span>; 2]; 3],
    readers: FxHashMap<(usize, Span), Vec<Node>>,
    window: i64,
}

impl<'b> ReuseFirst<'b> {
    /// For a block. Paths that differ by less than `window` cycles count as equally long.
    pub fn new(graph: &Graph, machine: &'b dyn SubCore, window: i64) -> ReuseFirst<'b> {
        let mut readers: FxHashMap<(usize, Span), Vec<Node>> = FxHashMap::default();
        for node in graph.insts() {
            for (place, source) in machine.sources(node).into_iter().enumerate() {
                if let Some(span) = source {
                    readers.entry((place, span)).or_default().push(node);
                }
            }
        }
        ReuseFirst { machine, kept: [[None; 2]; 3], readers, window }
    }

    fn hits(&self, node: Node) -> i64 {
        let sources = self.machine.sources(node).into_iter().enumerate();
        sources.filter(|&(place, source)| source.is_some_and(|span| self.has(place, span))).count() as i64
    }

    fn has(&self, place: usize, span: Span) -> bool {
        self.kept[place][span.first().index() as usize % 2] == Some(span)
    }
}

impl Described for ReuseFirst<'_> {
    const SUMMARY: &'static str = "operands that the reuse cache holds first";
    const SOURCE: &'static str = "ours";
}

impl Strategy for ReuseFirst<'_> {
    type Key = [i64; 4];
    const NAME: &'static str = "reuse";
    const COMPONENTS: &'static [&'static str] = &["global load", "long path", "reuse", "critical path"];

    fn candidates(&self) -> Candidates {
        Candidates::Ready
    }

    fn key(&self, context: &Context<'_>, node: Node) -> [i64; 4] {
        let height = context.to_go(node) as i64;
        let load = i64::from(self.machine.is_global_load(node));
        [load, height / self.window.max(1), self.hits(node), height]
    }

    fn placed(&mut self, _: &Context<'_>, node: Node, _: u64, changed: &mut Vec<Node>) {
        let machine = self.machine;
        let mut set = |kept: &mut Option<Span>, place: usize, new: Option<Span>| {
            if *kept == new {
                return;
            }
            for span in [*kept, new].into_iter().flatten() {
                changed.extend(self.readers.get(&(place, span)).into_iter().flatten());
            }
            *kept = new;
        };
        for (place, source) in machine.sources(node).into_iter().enumerate() {
            if let Some(span) = source {
                let bank = span.first().index() as usize % 2;
                set(&mut self.kept[place][bank], place, Some(span));
            }
        }
        for written in machine.writes(node) {
            for place in 0..3 {
                for bank in 0..2 {
                    let kept = self.kept[place][bank];
                    if kept.is_some_and(|span| span.overlaps(*written)) {
                        set(&mut self.kept[place][bank], place, None);
                    }
                }
            }
        }
    }
}
