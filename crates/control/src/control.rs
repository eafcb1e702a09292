//! The legal control word and the rules that make it so.
//!
//! Each rule was checked both ways on CUDA 12.9 and 13.4: ptxas never breaks it, and for the stall, yield and reuse
//! rules nvdisasm refuses the encoding. Stricter than nvdisasm in two places: it prints scoreboard 6, which no wait bit
//! can name; and reuse codes 1–5 with the yield bit clear, where it prints *no* `.reuse`, so that they must mean
//! something else. (ptxas does write those on texture fetches of sm_50 to sm_8x, 42 times in 3.8 million instructions; such
//! words survive as [`RawControl`] only.)

use std::fmt;

use crate::types::{Family, Issue, Reuse, Scoreboard, ScoreboardRole, Stall, WaitMask};
use crate::{Field, RawControl};

/// The rule that a control word breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Violation {
    /// Stall 0 with the yield bit set means dual issue, which ended with sm_62.
    #[error("stall 0 with the yield bit set (dual issue) does not exist on sm_70 and later")]
    DualIssue,
    /// The five-bit code has no stalls above 11 with the yield bit set.
    #[error("stall {} needs the yield bit clear on sm_70 and later (at most 11 with it set)", .0.cycles())]
    LongHold(Stall),
    /// Reuse with the yield bit clear: another warp would use the reuse cache in between.
    #[error("reuse flags {reuse:#06b} need the yield bit set")]
    ReuseAcrossYield {
        /// The reuse field.
        reuse: u8,
    },
    /// Bit 125 of an sm_70+ instruction is in no field.
    #[error("the fourth reuse bit (bit 125 of the instruction) is reserved on sm_70 and later")]
    ReservedBit,
    /// Only scoreboards 0–5 exist; 7 stands for none.
    #[error("{0} scoreboard 6 does not exist (0-5, or 7 for none)")]
    NoSuchScoreboard(ScoreboardRole),
}

/// A control word that its [`Family`] defines.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Control {
    raw: RawControl,
    family: Family,
}

const NO_SCOREBOARD: u8 = 7;

impl Control {
    /// Stall 1, keep going, no scoreboards, no reuse: what ptxas gives an instruction that nothing depends on.
    pub fn new(family: Family) -> Self {
        const IDLE: RawControl = match RawControl::from_fields([1, 1, NO_SCOREBOARD, NO_SCOREBOARD, 0, 0]) {
            Ok(raw) => raw,
            Err(_) => panic!("the values fit their fields"),
        };
        Self { raw: IDLE, family }
    }

    /// The control word, if no rule of `family` is broken.
    pub fn try_new(raw: RawControl, family: Family) -> Result<Self, Violation> {
        let stall = Stall::new(raw.get(Field::Stall)).unwrap_or(Stall::MAX);
        let holds = raw.get(Field::Yield) == 1;
        let reuse = raw.get(Field::Reuse);
        for (role, field) in [(ScoreboardRole::Write, Field::Write), (ScoreboardRole::Read, Field::Read)] {
            if raw.get(field) == Scoreboard::COUNT {
                return Err(Violation::NoSuchScoreboard(role));
            }
        }
        if reuse != 0 && !holds {
            return Err(Violation::ReuseAcrossYield { reuse });
        }
        if family == Family::Volta {
            if holds && stall.cycles() == 0 {
                return Err(Violation::DualIssue);
            }
            if holds && stall > Stall::MAX_HOLDING {
                return Err(Violation::LongHold(stall));
            }
            if reuse >= 8 {
                return Err(Violation::ReservedBit);
            }
        }
        Ok(Self { raw, family })
    }

    /// The encoding family.
    pub const fn family(self) -> Family {
        self.family
    }

    /// The bits.
    pub const fn raw(self) -> RawControl {
        self.raw
    }

    /// The stall count.
    pub fn stall(self) -> Stall {
        Stall::new(self.raw.get(Field::Stall)).unwrap_or(Stall::MAX)
    }

    /// Whether the warp yields after this instruction (the yield bit is clear).
    pub fn yields(self) -> bool {
        self.raw.get(Field::Yield) == 0
    }

    /// Stall and yield as the one code that they are.
    pub fn issue(self) -> Issue {
        match (self.yields(), self.stall()) {
            (true, Stall::ZERO) => Issue::Drain,
            (false, Stall::ZERO) => Issue::Dual,
            (true, stall) => Issue::EndGroup(stall),
            (false, stall) => Issue::Hold(stall),
        }
    }

    /// The scoreboard raised until the result is written.
    pub fn write(self) -> Option<Scoreboard> {
        Scoreboard::new(self.raw.get(Field::Write))
    }

    /// The scoreboard raised until the sources are read.
    pub fn read(self) -> Option<Scoreboard> {
        Scoreboard::new(self.raw.get(Field::Read))
    }

    /// The scoreboards waited for.
    pub fn wait(self) -> WaitMask {
        WaitMask::from_bits(self.raw.get(Field::Wait)).unwrap_or(WaitMask::ALL)
    }

    /// The operand slots kept in the reuse cache.
    pub fn reuse(self) -> Reuse {
        Reuse::from_bits(self.raw.get(Field::Reuse)).unwrap_or_default()
    }

    /// With another stall and yield at once, so that no illegal pair lies on the way.
    pub fn with_issue(self, issue: Issue) -> Result<Self, Violation> {
        let (stall, holds) = match issue {
            Issue::Drain => (Stall::ZERO, false),
            Issue::Dual => (Stall::ZERO, true),
            Issue::Hold(stall) => (stall, true),
            Issue::EndGroup(stall) => (stall, false),
        };
        let raw = self.set(Field::Stall, stall.cycles());
        Self::try_new(Self { raw, ..self }.set(Field::Yield, u8::from(holds)), self.family)
    }

    /// With other reuse flags.
    pub fn with_reuse(self, reuse: Reuse) -> Result<Self, Violation> {
        Self::try_new(self.set(Field::Reuse, reuse.bits()), self.family)
    }

    /// With another write scoreboard. Cannot fail: no rule ties it to another field.
    #[must_use]
    pub fn with_write(self, scoreboard: Option<Scoreboard>) -> Self {
        let raw = self.set(Field::Write, scoreboard.map_or(NO_SCOREBOARD, Scoreboard::index));
        Self { raw, ..self }
    }

    /// With another read scoreboard. Cannot fail: no rule ties it to another field.
    #[must_use]
    pub fn with_read(self, scoreboard: Option<Scoreboard>) -> Self {
        let raw = self.set(Field::Read, scoreboard.map_or(NO_SCOREBOARD, Scoreboard::index));
        Self { raw, ..self }
    }

    /// With another wait mask. Cannot fail: no rule ties it to another field.
    #[must_use]
    pub fn with_wait(self, wait: WaitMask) -> Self {
        Self { raw: self.set(Field::Wait, wait.bits()), ..self }
    }

    /// The typed values fit their fields by construction, so the overflow arm is never taken.
    fn set(self, field: Field, value: u8) -> RawControl {
        self.raw.with(field, value).unwrap_or(self.raw)
    }
}

/// For sm_70 and later, the common case; [`Control::try_new`] takes the family.
impl TryFrom<RawControl> for Control {
    type Error = Violation;

    fn try_from(raw: RawControl) -> Result<Self, Violation> {
        Self::try_new(raw, Family::Volta)
    }
}

impl From<Control> for RawControl {
    fn from(control: Control) -> Self {
        control.raw
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.raw.fmt(f)
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Control({:?}, {self})", self.family)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(fields: [u8; 6]) -> RawControl {
        RawControl::from_fields(fields).expect("fits")
    }

    #[test]
    fn each_rule_is_named() {
        let volta = |fields| Control::try_from(raw(fields)).map(|_| ());
        assert_eq!(volta([2, 1, 7, 7, 0, 0]), Ok(()));
        assert_eq!(volta([0, 0, 7, 7, 0, 0]), Ok(()));
        assert_eq!(volta([0, 1, 7, 7, 0, 0]), Err(Violation::DualIssue));
        assert_eq!(volta([11, 1, 7, 7, 0, 7]), Ok(()));
        assert_eq!(volta([12, 0, 7, 7, 0, 0]), Ok(()));
        assert_eq!(volta([12, 1, 7, 7, 0, 0]), Err(Violation::LongHold(Stall::new(12).expect("fits"))));
        assert_eq!(volta([2, 0, 7, 7, 0, 5]), Err(Violation::ReuseAcrossYield { reuse: 5 }));
        assert_eq!(volta([2, 1, 7, 7, 0, 8]), Err(Violation::ReservedBit));
        assert_eq!(volta([2, 1, 6, 7, 0, 0]), Err(Violation::NoSuchScoreboard(ScoreboardRole::Write)));
        assert_eq!(volta([2, 1, 7, 6, 0, 0]), Err(Violation::NoSuchScoreboard(ScoreboardRole::Read)));
    }

    #[test]
    fn maxwell_issues_twice_and_holds_for_long() {
        let maxwell = |fields| Control::try_new(raw(fields), Family::Maxwell).map(Control::issue);
        assert_eq!(maxwell([0, 1, 7, 7, 0, 1]), Ok(Issue::Dual));
        assert_eq!(maxwell([15, 1, 7, 7, 0, 0]), Ok(Issue::Hold(Stall::MAX)));
        assert_eq!(maxwell([0, 0, 7, 7, 0, 0]), Ok(Issue::Drain));
        assert_eq!(maxwell([1, 0, 7, 7, 0, 1]), Err(Violation::ReuseAcrossYield { reuse: 1 }));
    }

    #[test]
    fn the_number_of_legal_words_is_what_the_rules_say() {
        let count = |family| {
            (0..1 << RawControl::BITS)
                .filter(|&bits| Control::try_new(RawControl::from_bits_truncate(bits), family).is_ok())
                .count()
        };
        // 7 x 7 scoreboards, 64 waits; end-group codes without reuse, holding codes with any.
        assert_eq!(count(Family::Volta), 7 * 7 * 64 * (16 + 11 * 8));
        assert_eq!(count(Family::Maxwell), 7 * 7 * 64 * (16 + 16 * 16));
    }

    #[test]
    fn accessors_and_setters_rebuild_every_legal_word() {
        for family in [Family::Maxwell, Family::Volta] {
            for bits in 0..1 << RawControl::BITS {
                let Ok(control) = Control::try_new(RawControl::from_bits_truncate(bits), family) else {
                    continue;
                };
                let rebuilt = Control::new(family)
                    .with_issue(control.issue())
                    .and_then(|c| c.with_reuse(control.reuse()))
                    .map(|c| {
                        c.with_write(control.write()).with_read(control.read()).with_wait(control.wait())
                    });
                assert_eq!(rebuilt, Ok(control));
            }
        }
    }

    #[test]
    fn a_setter_refuses_what_validation_refuses() {
        let control = Control::new(Family::Volta);
        assert_eq!(control.to_string(), "B------:R-:W-:-:S01");
        let long = Stall::new(13).expect("fits");
        assert_eq!(control.with_issue(Issue::Hold(long)), Err(Violation::LongHold(long)));
        let yielding = control.with_issue(Issue::EndGroup(long)).expect("legal");
        let reuse = Reuse::from_bits(1).expect("fits");
        assert_eq!(yielding.with_reuse(reuse), Err(Violation::ReuseAcrossYield { reuse: 1 }));
        let kept = control.with_reuse(reuse).expect("legal");
        assert_eq!(kept.with_issue(Issue::Drain), Err(Violation::ReuseAcrossYield { reuse: 1 }));
    }
}
