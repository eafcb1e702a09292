//! Goal: anti-dependences of a routine broken before a list strategy orders it, as the knobs ask.

use super::Options;
use super::propose::Subject;
use sassafras_ir::{Block, Function};
use sassafras_knobs::keys;
use sassafras_machine::multiprocessor::Multiprocessor;
use sassafras_passes::{Options as ListOptions, order_blocks};
use sassafras_sass::Lifted;
use sassafras_tepid as tepid;
use sassafras_tepid::rename::{Breaker, Breaking, Broken, Half};

/// Orders for blocks whose registers can change, as if anti-dependences were not there, with registers for that.
pub fn break_dependences(
    lifted: &Lifted,
    list: &ListOptions,
    subject: Subject<'_>,
    options: &Options,
) -> Vec<(Block, Broken)> {
    let breaking = match options.knobs.get(keys::BREAK_ANTI_DEPENDENCES).as_deref() {
        Some("critical") => Breaking::Critical,
        Some("all") => Breaking::All,
        _ => return Vec::new(),
    };
    let on = |key| options.knobs.get(key) == Some(true);
    let half = match (on(keys::ANTI_DEPENDENCES_DIVIDED), on(keys::ANTI_DEPENDENCES_SECOND_HALF)) {
        (true, false) => Some(Half::Even),
        (true, true) => Some(Half::Odd),
        (false, _) => None,
    };
    let registers = subject.launch.registers.filter(|_| !options.keep_registers).unwrap_or(0);
    let registers = registers.saturating_sub(Multiprocessor::of(subject.arch).withheld);
    let prepared = tepid::Code::new(&lifted.function, &lifted.sources, subject.arch);
    let Some(breaker) = Breaker::new(&prepared, registers, breaking, half) else { return Vec::new() };
    let order = |f: &Function| order_blocks(f, list).ok()?.into_iter().next().map(|made| made.order);
    let blocks = lifted.function.blocks().filter(|block| options.bisection.takes(subject.id, block.as_u32()));
    blocks.filter_map(|block| Some((block, breaker.block(block, order)?))).collect()
}
