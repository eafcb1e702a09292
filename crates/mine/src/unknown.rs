//! Goal: which pairs of instructions no table knows a distance of.
//!
//! The checker accepts such a pair whatever it leaves, so each is a hole. Pairs are grouped as a table would have them: hazard, register file, classes,
//! how the second uses the register. The least distance says what a row would ask for.
//!
//! Cost: one walk of the checker's data flow per function.

use rustc_hash::FxHashMap;
use sassafras_ir::{Block, Function};
use sassafras_machine::mined::{File, Use, class_of};
use sassafras_verify::hazards::rules::class_name;
use sassafras_verify::hazards::{HazardKind, Need, Observer, Pair, Rules, walk};
use std::fmt::Write as _;

/// Hazard, file, producer, odd half, consumer, use.
type Kind = (HazardKind, File, String, bool, String, Use);

/// Pairs of one kind.
#[derive(Clone, Copy, Debug)]
struct Count {
    pairs: u64,
    least: u16,
}

/// What no table knows.
#[derive(Clone, Debug, Default)]
pub struct Unknown {
    pairs: u64,
    kinds: FxHashMap<Kind, Count>,
}

impl Unknown {
    /// Counts the pairs of a function.
    pub fn function(&mut self, f: &Function, rules: &Rules, table: &str) {
        let mut collector =
            Collector { rules, table, blocks: vec![Unknown::default(); f.block_count()], current: 0 };
        walk(f, rules, &mut collector);
        collector.blocks.iter().for_each(|block| self.join(block));
    }

    /// Adds what was counted elsewhere.
    pub fn join(&mut self, other: &Unknown) {
        self.pairs += other.pairs;
        for (kind, count) in &other.kinds {
            self.add(kind, *count);
        }
    }

    fn add(&mut self, kind: &Kind, count: Count) {
        match self.kinds.get_mut(kind) {
            Some(mine) => {
                mine.pairs += count.pairs;
                mine.least = mine.least.min(count.least);
            }
            None => {
                self.kinds.insert(kind.clone(), count);
            }
        }
    }

    /// The share of pairs, in percent, and this many kinds, the most frequent first.
    pub fn text(&self, most: usize) -> String {
        let mut kinds: Vec<(&Kind, &Count)> = self.kinds.iter().collect();
        kinds.sort_by(|a, b| b.1.pairs.cmp(&a.1.pairs).then_with(|| a.0.cmp(b.0)));
        let unknown: u64 = self.kinds.values().map(|count| count.pairs).sum();
        let share = 100.0 * unknown as f64 / self.pairs.max(1) as f64;
        let mut out =
            format!("{unknown} of {} pairs unknown, {share:.2} %, {} kinds\n", self.pairs, kinds.len());
        for ((kind, file, producer, high, consumer, used_as), count) in kinds.into_iter().take(most) {
            let half = if *high { "high" } else { "low" };
            let (kind, file, used_as) = (kind.name(), file.name(), used_as.name());
            let Count { pairs, least } = count;
            let _ = writeln!(
                out,
                "{pairs:>10}  {kind},{file},{producer},{half},{consumer},{used_as}: {least} cycles and more"
            );
        }
        out
    }
}

struct Collector<'a> {
    rules: &'a Rules,
    table: &'a str,
    blocks: Vec<Unknown>,
    current: usize,
}

impl Observer for Collector<'_> {
    fn block(&mut self, block: Block) {
        self.current = block.as_u32() as usize;
        self.blocks[self.current] = Unknown::default();
    }

    fn pair(&mut self, pair: &Pair<'_>) {
        let block = &mut self.blocks[self.current];
        block.pairs += 1;
        if self.rules.need(pair) != Need::Unknown {
            return;
        }
        let class = |inst| class_of(self.table, &class_name(pair.function, inst)).to_owned();
        let high = pair.part % 2 == 1;
        let kind = (pair.kind, pair.file(), class(pair.producer), high, class(pair.consumer), pair.used_as);
        block.add(&kind, Count { pairs: 1, least: pair.elapsed });
    }
}
