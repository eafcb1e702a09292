//! Issue cycles of code in its order.
//!
//! One instruction after the other goes as soon as the one before lets it (its least stall), its operands of fixed latency have
//! arrived, and scoreboards that it waits for have been set two cycles ago. How long a scoreboard keeps it waiting is not
//! counted: the cycles are those of a warp whose loads are always there, where issue slots are what counts.
//!
//! Cost: linear in the operands. Source: `sassafras_model::dual_issue::observed` for distances and least stalls.

use sassafras_machine::constants;
use sassafras_model::dual_issue::observed::{Observed, Refusal, RegisterFile, can_pair};

use super::stream::{Slot, Stream};
use crate::code::LANES;

/// Which neighbours issue together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// None.
    Single,
    /// Those that the control words mark.
    Marked,
    /// All that the conditions allow.
    Legal,
}

/// What a walk found.
#[derive(Clone, Debug)]
pub struct Walk {
    /// By instruction: the cycle it issues in.
    pub cycles: Vec<u64>,
    /// By instruction: why it and the next one cannot pair; none when they can. The last one has no next.
    pub verdicts: Vec<Option<Refusal>>,
    /// By instruction: it and the next one issue together.
    pub paired: Vec<bool>,
    /// Cycles of the whole section, each instruction once.
    pub total: u64,
}

/// Walks code in its order.
pub fn walk(stream: &Stream, pairing: Pairing) -> Walk {
    let n = stream.slots.len();
    let mut walk =
        Walk { cycles: Vec::with_capacity(n), verdicts: vec![None; n], paired: vec![false; n], total: 0 };
    let mut state = State { arrival: vec![None; usize::from(LANES)], set: [None; 6] };
    let mut clock = 0;
    for (at, slot) in stream.slots.iter().enumerate() {
        let ready = state.ready(slot);
        let before = at.checked_sub(1).map(|before| (&stream.slots[before], walk.cycles[before]));
        let mut start = clock.max(ready);
        if let Some((first, issued)) = before {
            let delay = u32::try_from(ready.saturating_sub(issued)).unwrap_or(u32::MAX);
            let verdict = can_pair(stream.arch, &first.candidate(), &slot.candidate(), delay);
            walk.verdicts[at - 1] = verdict.err();
            let paired = match pairing {
                Pairing::Single => false,
                Pairing::Marked => first.is_marked(),
                Pairing::Legal => verdict.is_ok(),
            };
            if paired {
                walk.paired[at - 1] = true;
                start = issued.max(ready);
                // The first one waits for its partner.
                walk.cycles[at - 1] = start;
                state.issue(first, start);
            }
        }
        walk.cycles.push(start);
        clock = clock.max(start + u64::from(slot.row.map_or(1, |row| row.least_stall)));
        if slot.ends_path {
            state.clear();
        } else {
            state.issue(slot, start);
        }
    }
    walk.total = clock;
    walk
}

/// What is under way.
struct State {
    /// By lane: when arithmetic that writes it issued.
    arrival: Vec<Option<u64>>,
    /// By scoreboard: when it was set last.
    set: [Option<u64>; 6],
}

impl State {
    fn ready(&self, slot: &Slot) -> u64 {
        let table = Observed::shipped();
        let operand = |&lane: &u32| {
            let issued = (*self.arrival.get(lane as usize)?)?;
            Some(issued + u64::from(table.distance(file(lane), slot.row)))
        };
        let operands = slot.reads.iter().filter_map(operand).max();
        let boards =
            (0..6).filter(|board| slot.waits() >> board & 1 == 1).filter_map(|board| self.set[board]);
        let boards = boards.map(|set| set + u64::from(constants().scoreboard_set_to_wait)).max();
        operands.max(boards).unwrap_or(0)
    }

    fn issue(&mut self, slot: &Slot, cycle: u64) {
        use sassafras_model::dual_issue::observed::Place;
        // Other instructions write when they are done, and a scoreboard says so.
        let fixed = !slot.is_guarded() && slot.row.is_some_and(|row| row.place == Place::Lead);
        for &lane in &slot.writes {
            if let Some(arrival) = self.arrival.get_mut(lane as usize) {
                *arrival = fixed.then_some(cycle);
            }
        }
        for board in (0..6).filter(|board| slot.sets() >> board & 1 == 1) {
            self.set[board] = Some(cycle);
        }
    }

    fn clear(&mut self) {
        self.arrival.fill(None);
        self.set = [None; 6];
    }
}

/// The register file of a lane's number.
fn file(lane: u32) -> RegisterFile {
    match lane {
        0..512 => RegisterFile::General,
        512..544 => RegisterFile::Predicate,
        _ => RegisterFile::Flag,
    }
}
