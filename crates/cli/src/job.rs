//! Goal: the options that say how binaries are rescheduled, the same for every command that does it.

use crate::input::SelectionArguments;
use crate::knobs::KnobArguments;
use crate::strategy::{self, Names};
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use sassafras::reschedule::{Bisection, Control, LaunchHint, Options, Orders};
use sassafras_cubin::Capsules;
use sassafras_knobs::{KnobSet, keys};
use sassafras_list::registry::{self, Entry, Input};
use sassafras_passes::Options as ListOptions;
use sassafras_tepid::schedule::Settings;
use std::path::PathBuf;

/// Options of everything that reschedules.
#[derive(clap::Args)]
pub struct JobArguments {
    /// How to order [default: tepid for binaries, auto for PTX, critical-path for the text IR]
    #[arg(long, value_parser = Names(&[Input::Binary, Input::Ptx, Input::Text]))]
    pub strategy: Option<&'static Entry>,
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

impl JobArguments {
    /// The strategy for binaries.
    pub fn for_binaries(&self) -> &'static Entry {
        self.strategy.unwrap_or(const { registry::get("tepid") })
    }

    /// Options of list scheduling; `default` is the strategy where none is asked for.
    pub fn list_options(
        &self,
        unknown_latency: Option<u16>,
        knobs: &KnobSet,
        default: &'static Entry,
    ) -> ListOptions {
        let strategy = self.strategy.unwrap_or(default);
        ListOptions { strategy, seed: self.seed.unwrap_or(0), unknown_latency, ..ListOptions::default() }
            .with_knobs(knobs)
    }

    /// Refuses options that a strategy does not look at.
    ///
    /// # Errors
    /// With the first of them.
    pub fn refuse_unread(&self, name: &str, strategy: &str) -> Result<()> {
        if self.seed.is_some() && strategy != "shuffle" {
            bail!("{name}: `--seed` is for `--strategy shuffle`, and this is `{strategy}`");
        }
        let searches = self.strategy.is_none_or(|entry| entry.is_for_machine_code() && !entry.is_given());
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
        if self.orders.is_some() && !strategy.is_given() {
            bail!("`--orders` is for `--strategy given`");
        }
        strategy::check(name, strategy, Input::Binary)?;
        let level = knobs.explicit(keys::TEPID_AGGRESSIVENESS).unwrap_or(1);
        let level = u32::try_from(level).unwrap_or(u32::MAX);
        let reads = strategy.knobs.contains(&keys::AFTER_ALLOCATION.name());
        let is_off = reads && knobs.get(keys::AFTER_ALLOCATION) == Some(false);
        let strategy = if is_off { const { registry::get("original") } } else { strategy };
        let control = self
            .control
            .map_or_else(|| if strategy.keeps() { Control::Keep } else { Control::Rebuild }, Control::from);
        if control == Control::Keep && !strategy.keeps() {
            bail!("{name}: control fields belong to an order: `--control keep` needs `--strategy original`");
        }
        Ok(Options {
            selection: selection.get(),
            strategy,
            list: *list,
            model: self.settings(level),
            orders: if strategy.is_given() { self.given()? } else { Orders::default() },
            control,
            capsules: if self.keep_capsules { Capsules::KeepLinked } else { Capsules::Refuse },
            launch: self.launch.unwrap_or_default(),
            bisection,
            knobs,
            keep_orders: strategy.is_given(),
            keep_registers: self.keep_registers,
            move_unproven: self.move_unproven,
            watch: Default::default(),
            memo: None,
        })
    }

    fn settings(&self, level: u32) -> Settings {
        let standard = Settings { level, ..Settings::default() };
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
