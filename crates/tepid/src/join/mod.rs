//! Goal: the join point: two producers, one control word per instruction.
//!
//! One producer knows *how long*: the scheduling class and its latencies give stalls, scoreboards and waits ([`Timing`]). The
//! other knows *where*: the pipe class gives reuse flags and pairs ([`Encoding`]). [`join`] makes a legal word of both, and says
//! what it could not keep. In order of priority, where they do not go together:
//!
//! 1. the cycles of the stall, up to the cap and the 15 that the field holds; the rest is left to a scoreboard;
//! 2. scoreboards and waits: no rule ties them to anything;
//! 3. whether the turn ends: a stall above 11 ends it on sm_70 and later;
//! 4. a pair: sm_50 to sm_62 only, and only without a stall and when the turn goes on;
//! 5. reuse flags: only when the turn goes on.
//!
//! - [`pool`]: which of the six scoreboards a producer gets;
//! - [`group`]: the words of sm_50 to sm_62, three instructions each; [`regroup`] makes them anew for given pairs;
//! - [`block`]: the whole way for a block, over measured latencies.
//!
//! Source: latency-model document, sections "Join Point" and "Stall Encoding in Control Words"; ptxas-scheduling document, "SASS
//! Control Word Encoding". Which combinations exist is `sassafras_control`'s knowledge, from ptxas output.
//!
//! Readings: the document's stall is what an instruction waits *before* it issues; the field is what the next one waits. The
//! words of [`block`] carry the wait of their successor. Its barrier of 3 bits is the write scoreboard; the read scoreboard and
//! the six wait bits come from the encoder table.

pub mod block;
pub mod group;
pub mod pool;
pub mod regroup;

use sassafras_control::{Control, Family, Issue, Reuse, Scoreboard, Stall, WaitMask};
use sassafras_model::stall::StallCap;

use crate::original::Fields;

/// What the next instruction waits for in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The pipeline drains: code 0, which compiled code has on padding and where everything must end.
    Drain,
    /// At least so many cycles.
    Cycles(u32),
}

/// How long: what follows from the scheduling class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Cycles until the next instruction.
    pub wait: Wait,
    /// The warp's turn ends.
    pub yields: bool,
    /// Says when the result is there.
    pub write: Option<Scoreboard>,
    /// Says when the sources have been read.
    pub read: Option<Scoreboard>,
    /// What this instruction waits for.
    pub boards: WaitMask,
}

/// Where: what follows from the pipe class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Encoding {
    /// Sources that stay at hand.
    pub reuse: Reuse,
    /// The next instruction issues in the same cycle.
    pub pairs: bool,
}

/// A word, and what it does not keep of what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joined {
    /// The word.
    pub control: Control,
    /// Cycles beyond what the stall covers: a scoreboard has to.
    pub uncovered: u32,
    /// The turn ends although it was not asked for.
    pub forced_yield: bool,
    /// The pair was given up.
    pub lost_pair: bool,
    /// Reuse flags that were given up.
    pub lost_reuse: Reuse,
}

impl Timing {
    /// One cycle, nothing set and nothing waited for.
    pub const IDLE: Timing =
        Timing { wait: Wait::Cycles(1), yields: false, write: None, read: None, boards: WaitMask::NONE };
}

/// Joins what both producers say into a word that exists. Never fails: what does not go together is given up in the order of
/// priority, and told.
pub fn join(family: Family, cap: StallCap, timing: &Timing, encoding: &Encoding) -> Joined {
    let (stall, uncovered) = match timing.wait {
        Wait::Drain => (Stall::ZERO, 0),
        Wait::Cycles(wait) => {
            let least = u32::from(sassafras_machine::constants().min_stall);
            let kept = cap.apply(wait).clamp(least, u32::from(Stall::MAX.cycles()));
            (Stall::new(kept as u8).unwrap_or(Stall::MAX), wait.saturating_sub(kept))
        }
    };
    let drains = timing.wait == Wait::Drain;
    let long = family == Family::Volta && stall > Stall::MAX_HOLDING;
    let yields = timing.yields || drains || long;
    let pairs =
        encoding.pairs && family == Family::Maxwell && !yields && matches!(timing.wait, Wait::Cycles(0 | 1));
    let reuse = match (yields, family) {
        (true, _) => Reuse::NONE,
        (false, Family::Maxwell) => encoding.reuse,
        // The fourth bit exists on sm_50 to sm_62 only.
        (false, Family::Volta) => Reuse::from_bits(encoding.reuse.bits() & 7).unwrap_or_default(),
    };
    let issue = match (drains, pairs, yields) {
        (true, ..) => Issue::Drain,
        (_, true, _) => Issue::Dual,
        (_, _, true) => Issue::EndGroup(stall),
        _ => Issue::Hold(stall),
    };
    let word = Control::new(family).with_write(timing.write).with_read(timing.read).with_wait(timing.boards);
    // The rules were kept above: neither step can refuse.
    let word = word.with_issue(issue).unwrap_or(word);
    let control = word.with_reuse(reuse).unwrap_or(word);
    Joined {
        control,
        uncovered,
        forced_yield: yields && !timing.yields && !drains,
        lost_pair: encoding.pairs && !pairs,
        lost_reuse: Reuse::from_bits(encoding.reuse.bits() & !control.reuse().bits()).unwrap_or_default(),
    }
}

/// What both producers would have said for a word: the inverse of [`join`].
pub fn split(control: Control) -> (Timing, Encoding) {
    let wait = match control.issue() {
        Issue::Drain => Wait::Drain,
        Issue::Dual => Wait::Cycles(0),
        Issue::Hold(stall) | Issue::EndGroup(stall) => Wait::Cycles(u32::from(stall.cycles())),
    };
    let timing = Timing {
        wait,
        yields: control.yields(),
        write: control.write(),
        read: control.read(),
        boards: control.wait(),
    };
    (timing, Encoding { reuse: control.reuse(), pairs: control.issue() == Issue::Dual })
}

/// Without optimisation: the longest stall, the turn ends, and everything is waited for (`-O0`).
pub fn unoptimised(family: Family) -> Control {
    let timing = Timing { wait: Wait::Cycles(u32::MAX), yields: true, boards: WaitMask::ALL, ..Timing::IDLE };
    join(family, StallCap::Uncapped, &timing, &Encoding::default()).control
}

/// The fields that the passes of this crate made, through the join: a word that exists, whatever they hold.
pub fn of_fields(family: Family, fields: &Fields) -> Joined {
    let timing = Timing {
        wait: if fields.stall == 0 && fields.yields {
            Wait::Drain
        } else {
            Wait::Cycles(u32::from(fields.stall))
        },
        yields: fields.yields,
        write: fields.write.and_then(Scoreboard::new),
        read: fields.read.and_then(Scoreboard::new),
        boards: WaitMask::from_bits(fields.wait & WaitMask::ALL.bits()).unwrap_or(WaitMask::ALL),
    };
    let pairs = fields.stall == 0 && !fields.yields;
    let encoding = Encoding { reuse: Reuse::from_bits(fields.reuse & 15).unwrap_or_default(), pairs };
    join(family, StallCap::Uncapped, &timing, &encoding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sassafras_control::RawControl;

    #[test]
    fn every_legal_word_survives_the_round_trip() {
        for family in [Family::Maxwell, Family::Volta] {
            for bits in 0..1 << RawControl::BITS {
                let raw = RawControl::from_bits_truncate(bits);
                let Ok(control) = Control::try_new(raw, family) else { continue };
                let (timing, encoding) = split(control);
                let joined = join(family, StallCap::Uncapped, &timing, &encoding);
                assert_eq!(joined.control, control);
                assert_eq!((joined.uncovered, joined.forced_yield, joined.lost_pair), (0, false, false));
                assert!(joined.lost_reuse.is_empty());
            }
        }
    }

    #[test]
    fn what_does_not_go_together_is_given_up_in_order() {
        let reuse = Reuse::from_bits(0b1011).expect("fits");
        let both = Encoding { reuse, pairs: true };
        let at = |family, wait, yields| {
            let timing = Timing { wait: Wait::Cycles(wait), yields, ..Timing::IDLE };
            join(family, StallCap::Uncapped, &timing, &both)
        };
        // A pair keeps its reuse flags on sm_50, and does not exist on sm_70.
        let paired = at(Family::Maxwell, 1, false);
        assert_eq!(
            (paired.control.issue(), paired.control.reuse(), paired.lost_pair),
            (Issue::Dual, reuse, false)
        );
        let single = at(Family::Volta, 1, false);
        assert_eq!(single.control.issue(), Issue::Hold(Stall::new(1).expect("fits")));
        assert_eq!((single.lost_pair, single.lost_reuse.bits()), (true, 0b1000));
        // A stall comes before a pair.
        assert!(at(Family::Maxwell, 2, false).lost_pair);
        // A long stall ends the turn, and with it goes reuse: on sm_70 only.
        let long = at(Family::Volta, 12, false);
        assert_eq!((long.control.yields(), long.forced_yield, long.lost_reuse), (true, true, reuse));
        let held = at(Family::Maxwell, 15, false);
        assert_eq!((held.control.yields(), held.forced_yield, held.control.reuse()), (false, false, reuse));
        // What is asked for is not forced.
        let asked = at(Family::Volta, 4, true);
        assert_eq!((asked.forced_yield, asked.lost_reuse), (false, reuse));
    }

    #[test]
    fn stalls_keep_the_cap_the_field_and_the_minimum() {
        let at = |cap, wait| {
            let timing = Timing { wait: Wait::Cycles(wait), ..Timing::IDLE };
            let joined = join(Family::Volta, cap, &timing, &Encoding::default());
            (joined.control.stall().cycles(), joined.uncovered)
        };
        assert_eq!(at(StallCap::Uncapped, 0), (1, 0));
        assert_eq!(at(StallCap::Uncapped, 15), (15, 0));
        // The document's 16 does not fit the field.
        assert_eq!(at(StallCap::Cycles(16), 16), (15, 1));
        assert_eq!(at(StallCap::Cycles(6), 17), (6, 11));
        assert_eq!(at(StallCap::Uncapped, u32::MAX), (15, u32::MAX - 15));
    }

    #[test]
    fn without_optimisation_everything_is_waited_for() {
        for family in [Family::Maxwell, Family::Volta] {
            assert_eq!(unoptimised(family).to_string(), "B012345:R-:W-:Y:S15");
        }
    }

    #[test]
    fn fields_of_any_content_become_words() {
        let mut fields =
            Fields { stall: 0, yields: false, write: Some(9), read: Some(5), wait: 0xff, reuse: 0xff };
        let joined = of_fields(Family::Volta, &fields);
        assert_eq!(joined.control.to_string(), "B012345:R5:W-:-:S01:abc");
        fields = Fields { stall: 200, yields: false, write: Some(2), read: None, wait: 1, reuse: 1 };
        let joined = of_fields(Family::Volta, &fields);
        assert_eq!((joined.control.to_string().as_str(), joined.uncovered), ("B0-----:R-:W2:Y:S15", 185));
    }
}
