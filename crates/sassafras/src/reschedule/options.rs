//! How machine code is rescheduled.

use super::bisection::Bisection;
use super::launch::LaunchHint;
use super::memo::Memo;
use super::orders::Orders;
use crate::error::Error;
use crate::selection::Selection;
use sassafras_cubin::Capsules;
use sassafras_knobs::KnobSet;
use sassafras_list::registry::{self, Entry, Input};
use sassafras_passes::{Options as ListOptions, Watch};
use sassafras_tepid::schedule::Settings;

/// What to do with machine code. The default is the post-allocation scheduler with every control field computed anew.
#[derive(Debug)]
pub struct Options {
    /// Which code.
    pub selection: Selection,
    /// How to order: an entry that takes machine code.
    pub strategy: &'static Entry,
    /// Settings for strategies that take more than machine code; which strategy they name does not count.
    pub list: ListOptions,
    /// Settings of the scheduler on the model of a sub-core; which strategy they name does not count.
    pub model: Settings,
    /// The orders of the strategy `given`.
    pub orders: Orders,
    /// Where control fields come from.
    pub control: Control,
    /// What to do with kernels whose code is there in a second form.
    pub capsules: Capsules,
    /// What is known about launches.
    pub launch: LaunchHint,
    /// Which blocks may change.
    pub bisection: Bisection,
    /// Knobs.
    pub knobs: KnobSet,
    /// Whether outcomes say in which order the blocks stand.
    pub keep_orders: bool,
    /// Whether values stay in their registers.
    pub keep_registers: bool,
    /// Whether instructions move that never ran rescheduled on a device.
    pub move_unproven: bool,
    /// Passes after which routines are printed or left.
    pub watch: Watch,
    /// Plans that were made, where the file is rescheduled more than once.
    pub memo: Option<Memo>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            selection: Selection::default(),
            strategy: const { registry::get("tepid") },
            list: ListOptions::default(),
            model: Settings::default(),
            orders: Orders::default(),
            control: Control::Rebuild,
            capsules: Capsules::Refuse,
            launch: LaunchHint::default(),
            bisection: Bisection::default(),
            knobs: KnobSet::new(),
            keep_orders: false,
            keep_registers: false,
            move_unproven: false,
            watch: Watch::default(),
            memo: None,
        }
    }
}

impl Options {
    /// Whether the scheduler chooses the orders, and so answers for them.
    pub(super) fn chooses(&self) -> bool {
        self.strategy.is_contest()
    }

    /// Whether orders are searched for.
    pub(super) fn searches(&self) -> bool {
        self.chooses() && self.model.evaluations > 0
    }

    /// That the strategy takes machine code.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.strategy.takes(Input::Binary) {
            true => Ok(()),
            false => Err(Error::Strategy { strategy: self.strategy.name, input: Input::Binary.name() }),
        }
    }

    /// Whether what is planned for a routine depends on nothing that routines of the same code may differ in.
    pub(super) fn may_know(&self) -> bool {
        self.bisection.takes_everything()
            && !self.strategy.is_given()
            && self.control != Control::Serial
            && self.memo.is_none()
            && !self.watch.is_on()
    }
}

/// Where control fields come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// The original ones; only for code that stays in order.
    Keep,
    /// All computed anew.
    Rebuild,
    /// One instruction after the other, slow and right for any order.
    Serial,
}
