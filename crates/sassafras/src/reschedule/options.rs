//! How machine code is rescheduled.

use super::bisection::Bisection;
use super::launch::LaunchHint;
use super::memo::Memo;
use super::orders::Orders;
use crate::selection::Selection;
use sassafras_cubin::Capsules;
use sassafras_knobs::KnobSet;
use sassafras_passes::Options as ListOptions;
use sassafras_tepid::schedule::Settings;

/// What to do with machine code. The default is the post-allocation scheduler with every control field computed anew.
#[derive(Debug)]
pub struct Options {
    /// Which code.
    pub selection: Selection,
    /// How to order.
    pub order: Order,
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
    /// Plans that were made, where the file is rescheduled more than once.
    pub memo: Option<Memo>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            selection: Selection::default(),
            order: Order::Tepid(Settings::default()),
            control: Control::Rebuild,
            capsules: Capsules::Refuse,
            launch: LaunchHint::default(),
            bisection: Bisection::default(),
            knobs: KnobSet::new(),
            keep_orders: false,
            keep_registers: false,
            move_unproven: false,
            memo: None,
        }
    }
}

impl Options {
    /// Whether what is planned for a routine depends on nothing that routines of the same code may differ in.
    pub(super) fn may_know(&self) -> bool {
        self.bisection.takes_everything()
            && !matches!(self.order, Order::Given(_))
            && self.control != Control::Serial
            && self.memo.is_none()
    }
}

/// How the blocks of a binary are ordered.
#[derive(Clone, Debug)]
pub enum Order {
    /// The original order.
    Original,
    /// By a strategy that looks at no control field.
    List(ListOptions),
    /// After register allocation, on the model of the machine.
    Tepid(Settings),
    /// As the user says, as far as dependences allow.
    Given(Orders),
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
