//! What code shows about the mnemonics in it: the numbers behind `dual_issue_observed.csv` (`sassafras dual-issue --survey`).
//!
//! Distances are counted in issue cycles by the code's own stalls, from arithmetic that writes a general register to the next
//! instruction that reads it, inside a block and up to nine cycles.
//!
//! A row of the table is made of these so: leads where more often first than second, follows where it is ever second, else alone;
//! `operand_cycles` is the least distance that one in twenty keeps.

use std::collections::BTreeMap;

use sassafras_control::Field;
use sassafras_model::dual_issue::observed::Place;

use super::stream::Stream;
use crate::code::LANES;

/// The longest distance that is counted.
const FAR: u64 = 9;

/// What was seen of a mnemonic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Instructions.
    pub count: usize,
    /// In a pair, first.
    pub leads: usize,
    /// In a pair, second.
    pub follows: usize,
    /// By stall, 0 left out.
    pub stalls: BTreeMap<u8, usize>,
    /// By cycles from arithmetic to its reading a general register.
    pub distances: BTreeMap<u64, usize>,
}

impl Seen {
    /// The place that the counts speak for.
    pub fn place(&self) -> Place {
        match (self.leads, self.follows) {
            (0, 0) => Place::Alone,
            (leads, follows) if leads > follows => Place::Lead,
            _ => Place::Follow,
        }
    }

    /// The least distance that one in twenty keeps.
    pub fn operand_cycles(&self) -> Option<u64> {
        let all: usize = self.distances.values().sum();
        self.distances.iter().find(|&(_, &n)| n * 20 >= all).map(|(&cycles, _)| cycles)
    }

    /// Adds what was seen elsewhere.
    pub fn add(&mut self, other: &Seen) {
        self.count += other.count;
        self.leads += other.leads;
        self.follows += other.follows;
        other.stalls.iter().for_each(|(&stall, n)| *self.stalls.entry(stall).or_default() += n);
        other.distances.iter().for_each(|(&cycles, n)| *self.distances.entry(cycles).or_default() += n);
    }
}

/// Counts the mnemonics of a section, by their names in the table.
pub fn survey(stream: &Stream) -> BTreeMap<String, Seen> {
    let mut all: BTreeMap<String, Seen> = BTreeMap::new();
    // By general register: when arithmetic wrote it.
    let mut written: Vec<Option<u64>> = vec![None; usize::from(LANES)];
    let (mut clock, mut led) = (0u64, None::<String>);
    for slot in &stream.slots {
        if slot.starts_block {
            written.fill(None);
        }
        let name = slot.table_name();
        if let Some(first) = led.take() {
            all.entry(first).or_default().leads += 1;
            all.entry(name.clone()).or_default().follows += 1;
        }
        let seen = all.entry(name.clone()).or_default();
        seen.count += 1;
        let stall = slot.control.get(Field::Stall);
        if stall > 0 {
            *seen.stalls.entry(stall).or_default() += 1;
        }
        let mut read: Vec<u32> = slot.reads.iter().copied().filter(|&lane| lane < 256).collect();
        read.sort_unstable();
        read.dedup();
        for issued in read.iter().filter_map(|&lane| written[lane as usize]) {
            let distance = clock - issued;
            if distance <= FAR {
                *seen.distances.entry(distance).or_default() += 1;
            }
        }
        let arithmetic = !slot.is_guarded() && slot.row.is_some_and(|row| row.place == Place::Lead);
        for &lane in &slot.writes {
            if let Some(place) = written.get_mut(lane as usize) {
                // What runs under a guard may not have run: its reader proves nothing.
                *place = (arithmetic && slot.decoded.guard().is_none()).then_some(clock);
            }
        }
        led = slot.is_marked().then_some(name);
        clock += u64::from(stall);
    }
    all
}
