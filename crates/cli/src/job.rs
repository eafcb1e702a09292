//! Goal: the options that say how binaries are rescheduled, the same for every command that does it.

use crate::input::SelectionArguments;
use crate::knobs::KnobArguments;
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use sassafras::reschedule::{Bisection, Control, LaunchHint, Options, Order, Orders};
use sassafras_cubin::Capsules;
use sassafras_knobs::{KnobSet, keys};
use sassafras_passes::{Choice, List, Options as ListOptions};
use sassafras_tepid::schedule::{Policy, Settings};
use std::path::PathBuf;

/// Options of everything that reschedules.
#[derive(clap::Args)]
pub struct JobArguments {
    /// How to order [default: tepid for binaries, auto for PTX, critical-path for the text IR]
    #[arg(long, value_enum)]
    pub strategy: Option<StrategyArgument>,
    /// The seed of `--strategy shuffle` [default: 0]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Where the control fields of a binary come from [default: rebuild; keep with `--strategy original`]
    #[arg(long, value_enum)]
    pub control: Option<ControlArgument>,
    /// Knobs.
    #[command(flatten)]
    pub knobs: KnobArguments,
    /// How the kernels of a binary are launched, where the model cannot see it: threads of a block, blocks that a
    /// multiprocessor has at once, bytes of dynamic shared memory [default: what registers, static shared memory and the
    /// declared block size allow]
    #[arg(long, value_name = "block=N,blocks-per-sm=N,smem=N")]
    pub launch: Option<LaunchHint>,
    /// Threads to work with; the result is the same for any number [default: one per core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// The orders of `--strategy given`: lines `kernel NAME` and `block N: …` with the places of its instructions, as
    /// `schedule --orders-out` writes them; where dependences forbid an order, the nearest legal one is taken
    #[arg(long, value_name = "FILE")]
    pub orders: Option<PathBuf>,
    /// Reorder kernels of sm_100 and later too, beside capsules that stay as they were compiled. To look at, and for tests: a driver may make
    /// wrong code of both. Relocatable objects stay as they came: nvlink does (docs/ptxas.md)
    #[arg(long)]
    pub keep_capsules: bool,
    /// Leave values of binaries in the registers that they have: closed loops may otherwise get others, of those that the
    /// kernel has
    #[arg(long)]
    pub keep_registers: bool,
    /// Move instructions of binaries too whose form never ran rescheduled on a device: to try them there
    #[arg(long)]
    pub move_unproven: bool,
    /// How long to look for orders of binaries [default: standard; quick for the stand-in for ptxas]
    #[arg(long, value_enum)]
    pub effort: Option<Effort>,
}

/// Where control fields come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ControlArgument {
    /// The original ones; only for code that stays in order
    Keep,
    /// All computed anew
    Rebuild,
    /// One instruction after the other, slow and right for any order
    Serial,
}

impl From<ControlArgument> for Control {
    fn from(argument: ControlArgument) -> Control {
        match argument {
            ControlArgument::Keep => Control::Keep,
            ControlArgument::Rebuild => Control::Rebuild,
            ControlArgument::Serial => Control::Serial,
        }
    }
}

/// How long to look for orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Effort {
    /// The best of several policies; nothing is searched, and registers stay; closed loops get new control fields at least
    Quick,
    /// Hot loops are searched, and get other registers where they are closed
    Standard,
}

/// A way to order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StrategyArgument {
    /// The longest path first
    CriticalPath,
    /// Keep the order
    Original,
    /// A random legal order
    Shuffle,
    /// For binaries: on a model of the machine; a block stays as it came unless another order is clearly better
    Tepid,
    /// For binaries: the longest path first, whatever the model says
    Height,
    /// For binaries: operands at hand first, whatever the model says
    Reuse,
    /// For binaries: global loads first, whatever the model says
    EarlyLoads,
    /// For binaries: the longest path around the loop first, whatever the model says
    Steady,
    /// For binaries: arithmetic and transfers side by side, whatever the model says
    Balance,
    /// For binaries: the last of the source first as far as dependences allow, to find faults
    Reverse,
    /// For binaries: as it came, with stores to the same line of memory together
    StoreLines,
    /// For binaries: operands at hand first, with transfers in their turn, whatever the model says
    Paced,
    /// For binaries: the orders of a file, as far as dependences allow
    Given,
    /// For PTX and the text IR: the best of the seven below and the order that came, by estimate, block by block
    Auto,
    /// For PTX and the text IR: few registers
    ListBurr,
    /// For PTX and the text IR: the order of the source unless registers run out
    Source,
    /// For PTX and the text IR: latency and registers in balance
    ListHybrid,
    /// For PTX and the text IR: the critical path, then live ranges, free units and more
    ListIlp,
    /// Long latencies first
    Converge,
    /// As much side by side as there is
    #[value(name = "ilpmax")]
    IlpMax,
    /// As little side by side as can be
    #[value(name = "ilpmin")]
    IlpMin,
}

impl StrategyArgument {
    /// The one policy that makes its orders, if it is one.
    pub const fn policy(self) -> Option<Policy> {
        match self {
            StrategyArgument::Height => Some(Policy::Height),
            StrategyArgument::Reuse => Some(Policy::Reuse),
            StrategyArgument::EarlyLoads => Some(Policy::EarlyLoads),
            StrategyArgument::Steady => Some(Policy::Steady),
            StrategyArgument::Balance => Some(Policy::Balance),
            StrategyArgument::Reverse => Some(Policy::Reverse),
            StrategyArgument::Paced => Some(Policy::Paced),
            StrategyArgument::StoreLines => Some(Policy::StoreLines),
            _ => None,
        }
    }

    /// The list strategy that makes its orders, if it is one.
    pub const fn list(self) -> Option<List> {
        match self {
            StrategyArgument::ListBurr => Some(List::Burr),
            StrategyArgument::Source => Some(List::Source),
            StrategyArgument::ListHybrid => Some(List::Hybrid),
            StrategyArgument::ListIlp => Some(List::Ilp),
            StrategyArgument::Converge => Some(List::Converge),
            StrategyArgument::IlpMax => Some(List::IlpMax),
            StrategyArgument::IlpMin => Some(List::IlpMin),
            _ => None,
        }
    }

    /// Whether it is for binaries alone.
    pub const fn is_for_binaries(self) -> bool {
        matches!(self, StrategyArgument::Tepid | StrategyArgument::Given) || self.policy().is_some()
    }

    /// Whether it is for code whose registers are not chosen yet.
    pub const fn is_before_allocation(self) -> bool {
        match self.list() {
            Some(list) => !list.is_post_allocation(),
            None => matches!(self, StrategyArgument::Auto),
        }
    }

    /// What the user calls it.
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

impl JobArguments {
    /// The strategy for binaries.
    pub fn for_binaries(&self) -> StrategyArgument {
        self.strategy.unwrap_or(StrategyArgument::Tepid)
    }

    /// Options of list scheduling; `default` is the strategy where none is asked for.
    pub fn list_options(
        &self,
        unknown_latency: Option<u16>,
        knobs: &KnobSet,
        default: Choice,
    ) -> ListOptions {
        let strategy = match self.strategy {
            Some(StrategyArgument::Original) => Choice::Original,
            Some(StrategyArgument::Shuffle) => Choice::Shuffle { seed: self.seed.unwrap_or(0) },
            Some(StrategyArgument::Auto) => Choice::Auto,
            Some(other) => other.list().map_or(Choice::CriticalPath, Choice::List),
            None => default,
        };
        ListOptions { strategy, unknown_latency, ..ListOptions::default() }.with_knobs(knobs)
    }

    /// Refuses options that a strategy does not look at.
    ///
    /// # Errors
    /// With the first of them.
    pub fn refuse_unread(&self, name: &str, strategy: &str) -> Result<()> {
        if self.seed.is_some() && strategy != "shuffle" {
            bail!("{name}: `--seed` is for `--strategy shuffle`, and this is `{strategy}`");
        }
        let searches = self.strategy.is_none_or(|s| s == StrategyArgument::Tepid || s.policy().is_some());
        if self.effort.is_some() && !searches {
            bail!(
                "{name}: `--effort` is for `--strategy tepid` and its policies; `{strategy}` searches nothing"
            );
        }
        Ok(())
    }

    /// What is to be done with a binary called `name`.
    ///
    /// # Errors
    /// When options contradict each other, or when the file with orders cannot be read.
    pub fn options(
        &self,
        name: &str,
        selection: &SelectionArguments,
        list: &ListOptions,
        knobs: KnobSet,
        bisection: Bisection,
    ) -> Result<Options> {
        let strategy = self.for_binaries();
        if self.orders.is_some() && strategy != StrategyArgument::Given {
            bail!("`--orders` is for `--strategy given`");
        }
        if strategy.is_before_allocation() {
            bail!(
                "{name}: `--strategy {}` runs before register allocation: for PTX and the text IR",
                strategy.name()
            );
        }
        let level = knobs.explicit(keys::TEPID_AGGRESSIVENESS).unwrap_or(1);
        let level = u32::try_from(level).unwrap_or(u32::MAX);
        let order = match strategy {
            StrategyArgument::Original => Order::Original,
            StrategyArgument::Shuffle | StrategyArgument::CriticalPath => Order::List(*list),
            _ if strategy.list().is_some() && knobs.get(keys::AFTER_ALLOCATION) == Some(false) => {
                Order::Original
            }
            _ if strategy.list().is_some() => Order::List(*list),
            StrategyArgument::Given => Order::Given(self.given()?),
            _ => Order::Tepid(self.settings(strategy, level)),
        };
        let control = self.control.map_or_else(
            || match order {
                Order::Original => Control::Keep,
                Order::List(_) | Order::Tepid(_) | Order::Given(_) => Control::Rebuild,
            },
            Control::from,
        );
        if control == Control::Keep && !matches!(order, Order::Original) {
            bail!("{name}: control fields belong to an order: `--control keep` needs `--strategy original`");
        }
        Ok(Options {
            selection: selection.get(),
            order,
            control,
            capsules: if self.keep_capsules { Capsules::KeepLinked } else { Capsules::Refuse },
            launch: self.launch.unwrap_or_default(),
            bisection,
            knobs,
            keep_orders: strategy == StrategyArgument::Given,
            keep_registers: self.keep_registers,
            move_unproven: self.move_unproven,
            memo: None,
        })
    }

    fn settings(&self, strategy: StrategyArgument, level: u32) -> Settings {
        let standard = Settings { policy: strategy.policy(), level, ..Settings::default() };
        match self.effort {
            Some(Effort::Quick) => Settings { evaluations: 0, ..standard },
            Some(Effort::Standard) | None => standard,
        }
    }

    /// Runs work on as many threads as the user allows, or on `most`.
    ///
    /// # Errors
    /// When no threads can be had.
    pub fn install<T: Send>(&self, most: Option<u16>, work: impl FnOnce() -> T + Send) -> Result<T> {
        let jobs = most.or(self.jobs).map_or(0, usize::from);
        Ok(rayon::ThreadPoolBuilder::new().num_threads(jobs).build()?.install(work))
    }

    /// The orders that the user gave.
    fn given(&self) -> Result<Orders> {
        let Some(path) = &self.orders else { bail!("`--strategy given` needs `--orders FILE`") };
        let name = path.display();
        let text = std::fs::read_to_string(path).with_context(|| name.to_string())?;
        Orders::parse(&text).map_err(|error| anyhow::anyhow!("{name}: {error}"))
    }
}
