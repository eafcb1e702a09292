//! The words of sm_50 to sm_62 made anew from a walk: its cycles and pairs, the scoreboards and waits as they were.
//!
//! The walk counts what it knows: operands, scoreboards and least stalls. Compiled code stalls longer, for expected waits and for
//! what nobody has mined on these chips. These words say what a pairing is worth; they are not for running.

use sassafras_control::maxwell::GroupControl;
use sassafras_control::{Control, Family, Field, Reuse, Scoreboard, WaitMask};
use sassafras_model::stall::StallCap;

use super::group::pack_raw;
use super::{Encoding, Joined, Timing, Wait, join};
use crate::dual_issue::{Stream, Walk};

/// The word of every instruction; of one whose old word is not legal, without its reuse bits (see [`groups`]).
pub fn joined(stream: &Stream, walk: &Walk) -> Vec<Joined> {
    let slots = stream.slots.iter().enumerate();
    slots
        .map(|(at, slot)| {
            let old = Control::try_new(slot.control, Family::Maxwell);
            let next = walk.cycles.get(at + 1).copied().unwrap_or(walk.total);
            let cycles = u32::try_from(next.saturating_sub(walk.cycles[at])).unwrap_or(u32::MAX);
            let board = |field| Scoreboard::new(slot.control.get(field));
            let drains = old.is_ok_and(|old| old.issue() == sassafras_control::Issue::Drain);
            let timing = Timing {
                wait: if drains { Wait::Drain } else { Wait::Cycles(cycles) },
                yields: old.is_ok_and(Control::yields) && !walk.paired[at],
                write: board(Field::Write),
                read: board(Field::Read),
                boards: WaitMask::from_bits(slot.control.get(Field::Wait)).unwrap_or(WaitMask::ALL),
            };
            let reuse = Reuse::from_bits(slot.control.get(Field::Reuse)).unwrap_or_default();
            let encoding = Encoding { reuse, pairs: walk.paired[at] };
            join(Family::Maxwell, StallCap::Uncapped, &timing, &encoding)
        })
        .collect()
}

/// The words of the section's groups. Words that are not legal stay as they are: compiled code has reuse bits beside a clear yield
/// bit on texture fetches, where they mean something else.
pub fn groups(stream: &Stream, walk: &Walk) -> Vec<GroupControl> {
    let made = joined(stream, walk);
    let raw: Vec<_> = stream
        .slots
        .iter()
        .zip(&made)
        .map(|(slot, joined)| match Control::try_new(slot.control, Family::Maxwell) {
            Ok(_) => joined.control.raw(),
            Err(_) => slot.control,
        })
        .collect();
    pack_raw(&raw)
}
