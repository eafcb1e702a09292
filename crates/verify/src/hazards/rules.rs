//! The distances that are demanded.
//!
//! Keys are what the machine tables can tell apart: the category of both instructions, how the lane is used, the register
//! file, the half of a wide result. A distance learnt from compiled code is the smallest that was ever left
//! (`observed_min`); a pair that was never seen is unknown and counted, not reported.

use super::walk::{HazardKind, Pair};
use rustc_hash::FxHashMap;
use sassafras_ir::{Function, RegClass};
use sassafras_machine::{Category, constants};

/// How the consumer uses the lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Use {
    /// An operand.
    Operand,
    /// Part of an address.
    Address,
    /// The guard.
    Guard,
    /// The guard of a branch.
    Branch,
    /// It is overwritten.
    Overwrite,
}

impl Use {
    /// A short name for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Use::Operand => "operand",
            Use::Address => "address",
            Use::Guard => "guard",
            Use::Branch => "branch",
            Use::Overwrite => "overwrite",
        }
    }
}

/// What a distance is known for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The hazard.
    pub kind: HazardKind,
    /// The first instruction's category; none when it is not known.
    pub producer: Option<Category>,
    /// The second instruction's.
    pub consumer: Option<Category>,
    /// How the second one uses the lane.
    pub used_as: Use,
    /// The register file.
    pub class: RegClass,
    /// Odd lanes of a result that is a pair or wider.
    pub high: bool,
}

/// What a pair needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// That many cycles from issue to issue.
    Cycles(u16),
    /// A scoreboard, whatever the distance.
    Scoreboard,
    /// Nobody has seen such a pair.
    Unknown,
}

/// The distances of one architecture.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    observed_min: FxHashMap<Key, u16>,
    /// Least cycles from issue to completion of what a scoreboard guards, by category: what a wait may be credited.
    least_latency: FxHashMap<Category, u16>,
}

impl Rules {
    /// No distances at all: every pair is unknown.
    pub fn new() -> Rules {
        Rules::default()
    }

    /// Demands at least `cycles` for such pairs.
    pub fn set(&mut self, key: Key, cycles: u16) {
        self.observed_min.insert(key, cycles);
    }

    /// The distance known for a key.
    pub fn get(&self, key: &Key) -> Option<u16> {
        self.observed_min.get(key).copied()
    }

    /// Lets a wait for such an instruction count for up to `cycles`.
    pub fn set_least_latency(&mut self, category: Category, cycles: u16) {
        self.least_latency.insert(category, cycles);
    }

    /// What a wait for such an instruction may be credited at the most.
    pub fn least_latency(&self, category: Option<Category>) -> u16 {
        category.and_then(|c| self.least_latency.get(&c).copied()).unwrap_or(0)
    }

    /// What a pair needs.
    pub fn need(&self, pair: &Pair<'_>) -> Need {
        match pair.kind {
            HazardKind::WaitTooSoon => Need::Cycles(u16::from(constants().scoreboard_set_to_wait)),
            _ if pair.guarded => Need::Scoreboard,
            _ => self.get(&pair.key()).map_or(Need::Unknown, Need::Cycles),
        }
    }
}

/// The category of every opcode of a function.
pub(super) fn categories(f: &Function) -> Vec<Option<Category>> {
    f.opcodes().map(Category::of).collect()
}
