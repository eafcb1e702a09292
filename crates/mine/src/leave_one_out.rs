//! Goal: do the tables hold for code that they were not made of?
//!
//! For every source the table is mined from all others, and the source is asked: how many of its pairs stand closer than that table demands (each would
//! be a false alarm), and of how many it knows nothing (each is a hole). The tables of the project are made of more code than any one source, so this
//! is the worst that a library can say which nobody has opened.
//!
//! Cost: one join of all counts per source; no code is read again.

use crate::{Mined, tables};
use rayon::prelude::*;
use sassafras_machine::mined::{MinedTable, PairQuery};
use sassafras_machine::{Hazard, TableError};
use sassafras_verify::hazards::{HazardKind, Need, Rules};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// So many pairs of a million may stand closer than a table demands that was made without them.
pub const CLOSER: u64 = 5;
/// So many of a thousand may be unknown to it.
pub const UNKNOWN: u64 = 5;
/// A source with fewer pairs says little by its shares.
pub const PAIRS: u64 = 10_000;

/// What one source says of the table of all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The source.
    pub source: String,
    /// Its pairs.
    pub pairs: u64,
    /// Those closer than is demanded.
    pub closer: u64,
    /// Those that nothing is demanded of.
    pub unknown: u64,
    /// Rows that are undercut, with the pairs below them, what is demanded and the least that is left.
    pub undercut: BTreeMap<String, (u64, u16, u16)>,
    /// Kinds of pairs that are unknown, with their number.
    pub holes: BTreeMap<String, u64>,
}

/// What each source says of the table of this name, made of all others. `with`: sources of a table whose code is mined for the distances of this one, too.
///
/// # Errors
/// When a table that was mined cannot be read.
pub fn leave_one_out(
    table: &str,
    sources: &[(&str, &Mined)],
    with: &[(&str, &Mined)],
) -> Result<Vec<Left>, TableError> {
    let ask_one = |(i, (name, left)): (usize, &(&str, &Mined))| {
        let mut others = Mined::default();
        sources.iter().enumerate().filter(|(j, _)| *j != i).for_each(|(_, (_, mined))| others.join(mined));
        let opcodes = tables::write_opcodes(&others);
        with.iter().filter(|(other, _)| other != name).for_each(|(_, mined)| others.join(mined));
        let distances = tables::write_distances(&tables::distances(&others, table));
        let rules = Rules::new(MinedTable::parse(table, &distances, &opcodes)?);
        Ok(ask(name, left, &rules))
    };
    sources.par_iter().enumerate().map(ask_one).collect()
}

/// What a source says of rules.
fn ask(source: &str, mined: &Mined, rules: &Rules) -> Left {
    let mut said = Left {
        source: source.to_owned(),
        pairs: 0,
        closer: 0,
        unknown: 0,
        undercut: BTreeMap::new(),
        holes: BTreeMap::new(),
    };
    for (key, distances) in &mined.pairs {
        let hazard = match key.kind {
            HazardKind::Raw => Hazard::Raw,
            HazardKind::War => Hazard::War,
            HazardKind::Waw => Hazard::Waw,
            _ => continue,
        };
        if key.guarded {
            continue;
        }
        let [producer, consumer] = [key.producer, key.consumer].map(|id| mined.text(id));
        let query = PairQuery {
            hazard,
            file: key.file,
            producer: rules.class(producer),
            high: key.high && hazard != Hazard::War,
            consumer: rules.class(consumer),
            used_as: key.used_as,
            slot: key.slot,
            addend: key.addend,
        };
        let opcode = producer.split(':').next().unwrap_or(producer);
        let pairs = distances.seen + distances.waited;
        let kind = || {
            let [half, odd] = [key.high, key.slot.1];
            let half = if half { "high" } else { "low" };
            let (kind, file, used_as) = (key.kind.name(), key.file.name(), key.used_as.name());
            let place = format!("{}{}", key.slot.0, if odd { "h" } else { "" });
            format!("{kind},{file},{producer},{half},{consumer},{used_as},{place}")
        };
        said.pairs += pairs;
        match rules.asked(&query, rules.is_decoupled(opcode)) {
            Need::Cycles(asked) => {
                let closer: u64 = distances
                    .cells
                    .iter()
                    .filter(|cell| cell.cycles < asked)
                    .map(|cell| u64::from(cell.seen))
                    .sum();
                if closer > 0 {
                    said.closer += closer;
                    said.undercut.insert(kind(), (closer, asked, distances.least().unwrap_or(asked)));
                }
            }
            Need::Unknown => {
                said.unknown += pairs;
                *said.holes.entry(kind()).or_default() += pairs;
            }
            Need::Scoreboard | Need::LegalField => {}
        }
    }
    said
}

/// Whether a table passes: no source with enough pairs undercuts it, or falls through it, too often.
pub fn passes(all: &[Left]) -> bool {
    all.iter().all(Left::passes)
}

impl Left {
    fn passes(&self) -> bool {
        let few = self.pairs < PAIRS;
        few || self.closer * 1_000_000 <= CLOSER * self.pairs && self.unknown * 1000 < UNKNOWN * self.pairs
    }
}

/// One line per source, and the rows and holes behind those that fail; this many of each.
pub fn text(all: &[Left], most: usize) -> String {
    let mut out = String::new();
    for left in all {
        let Left { source, pairs, closer, unknown, .. } = left;
        let million = *closer as f64 * 1e6 / (*pairs).max(1) as f64;
        let share = *unknown as f64 * 100.0 / (*pairs).max(1) as f64;
        let verdict = match (left.passes(), *pairs < PAIRS) {
            (false, _) => "FAILS",
            (true, true) => "few pairs",
            (true, false) => "passes",
        };
        let _ = writeln!(
            out,
            "  {source:32} {pairs:>11} pairs  {million:>7.1} in a million closer  {share:.3} % unknown  {verdict}"
        );
        if left.passes() {
            continue;
        }
        let mut rows: Vec<_> = left.undercut.iter().collect();
        rows.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        for (kind, (pairs, asked, least)) in rows.into_iter().take(most) {
            let _ = writeln!(out, "    closer  {kind}: {pairs} pairs, {least} left, {asked} demanded");
        }
        let mut rows: Vec<_> = left.holes.iter().collect();
        rows.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        for (kind, pairs) in rows.into_iter().take(most) {
            let _ = writeln!(out, "    unknown {kind}: {pairs} pairs");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Distances, PairKey, Place};
    use sassafras_machine::mined::{File, Use};

    /// A source in which `fma` reads what `IADD3` wrote after so many cycles, often.
    fn source(file: u32, cycles: u16, consumer: &str) -> Mined {
        let mut mined = Mined::default();
        let [producer, consumer] = ["IADD3", consumer].map(|name| mined.intern(name));
        let key = PairKey {
            kind: HazardKind::Raw,
            file: File::General,
            producer,
            high: false,
            consumer,
            used_as: Use::Operand,
            slot: (1, false),
            addend: false,
            guarded: false,
        };
        let mut distances = Distances::default();
        (1..=20_000).for_each(|function| distances.add(Place { function, file }, cycles, false, true));
        mined.pairs.insert(key, distances);
        mined
    }

    #[test]
    fn a_source_that_leaves_less_than_all_others_fails_the_gate() {
        let [a, b, c] = [source(0, 5, "FFMA"), source(1, 5, "FFMA"), source(2, 4, "FFMA")];
        let all = leave_one_out("sm_90", &[("a", &a), ("b", &b), ("c", &c)], &[]).expect("tables");
        assert_eq!((all[2].closer, all[2].pairs), (20_000, 20_000));
        assert!(!passes(&all) && passes(&all[..2]));
        assert!(text(&all, 3).contains("4 left, 5 demanded"), "{}", text(&all, 3));
    }

    #[test]
    fn what_no_other_source_has_is_bounded_or_a_hole() {
        let [a, b] = [source(0, 5, "FFMA"), source(1, 5, "FFMA")];
        let of = |file, cycles| {
            let mut c = source(2, cycles, "FFMA");
            let other = c.intern("HMUL2");
            let (mut key, distances) = c.pairs.drain().next().expect("a pair");
            (key.producer, key.file) = (other, file);
            c.pairs.insert(key, distances);
            let all = leave_one_out("sm_90", &[("a", &a), ("b", &b), ("c", &c)], &[]).expect("tables");
            (all[2].unknown, all[2].closer, all[2].passes())
        };
        // No result in registers of a thread is there sooner than the quickest that is known.
        assert_eq!(of(File::General, 5), (0, 0, true));
        assert_eq!(of(File::General, 4), (0, 20_000, false));
        assert_eq!(of(File::Uniform, 5), (20_000, 0, false));
    }
}
