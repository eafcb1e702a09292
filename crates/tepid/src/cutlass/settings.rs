//! The knobs of matrix kernels.

use sassafras_knobs::{KnobSet, keys};
use sassafras_machine::constants;

use super::worklist::Priority;

/// What knob 646 says about barrier points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insertion {
    /// None are made. By which value is not stated; 0 is read so.
    Off,
    /// They are, with this priority: 1 on the low-latency path (value 2), else 3.
    On(Priority),
}

/// The knobs of one run. Only explicit settings count: no default is stated for any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Knobs 618 and 629: matrix modes that need no recognised kernel.
    pub matrix_modes: [bool; 2],
    /// Knob 646.
    pub insertion: Insertion,
    /// Detection mode 1: the stall count below applies.
    pub overrides_stall: bool,
    /// The stall count at barrier points.
    pub stall_count: Option<i64>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::from(&KnobSet::new())
    }
}

impl From<&KnobSet> for Settings {
    fn from(knobs: &KnobSet) -> Settings {
        let insertion = match knobs.explicit(keys::CUTLASS_BARRIER_INSERTION) {
            Some(0) => Insertion::Off,
            Some(2) => Insertion::On(Priority::FAST),
            _ => Insertion::On(Priority::STANDARD),
        };
        Settings {
            matrix_modes: [keys::MATRIX_MODE_1, keys::MATRIX_MODE_2]
                .map(|key| knobs.explicit(key).unwrap_or(false)),
            insertion,
            overrides_stall: knobs.explicit(keys::CUTLASS_DETECTION_MODE) == Some(1),
            stall_count: knobs.explicit(keys::CUTLASS_STALL_COUNT),
        }
    }
}

impl Settings {
    /// The stall that replaces the modelled one at barrier points, within what a control word holds.
    pub fn stall_override(&self) -> Option<u8> {
        let count = self.stall_count.filter(|_| self.overrides_stall)?;
        let (least, most) = (constants().min_stall, constants().max_stall_hardware);
        u8::try_from(count.clamp(i64::from(least), i64::from(most))).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(assignments: &[&str]) -> Settings {
        let mut knobs = KnobSet::new();
        for assignment in assignments {
            knobs.assign(assignment).expect("a knob");
        }
        Settings::from(&knobs)
    }

    #[test]
    fn insertion_is_off_fast_or_standard() {
        assert_eq!(set(&[]).insertion, Insertion::On(Priority::STANDARD));
        assert_eq!(set(&["knob-646=0"]).insertion, Insertion::Off);
        assert_eq!(set(&["cutlass-barrier-insertion=2"]).insertion, Insertion::On(Priority::FAST));
        assert_eq!(set(&["knob-646=1"]).insertion, Insertion::On(Priority::STANDARD));
    }

    #[test]
    fn the_stall_count_needs_the_detection_mode() {
        assert_eq!(set(&["cutlass-stall-count=4"]).stall_override(), None);
        assert_eq!(set(&["cutlass-detection-mode=1"]).stall_override(), None);
        let both = |count: &str| set(&["cutlass-detection-mode=1", &format!("cutlass-stall-count={count}")]);
        assert_eq!(
            ["0", "4", "15", "16", "900"].map(|c| both(c).stall_override()),
            [1, 4, 15, 15, 15].map(Some)
        );
        let other = set(&["cutlass-detection-mode=2", "cutlass-stall-count=4"]);
        assert_eq!(other.stall_override(), None);
    }

    #[test]
    fn matrix_modes_are_two() {
        assert_eq!(set(&["knob-618=true"]).matrix_modes, [true, false]);
        assert_eq!(set(&["matrix-sched-mode-2=true"]).matrix_modes, [false, true]);
        assert_eq!(Settings::default().matrix_modes, [false; 2]);
    }
}
