//! Goal: anti-dependences of a routine broken before a list strategy orders it, as the knobs ask.

use super::{Job, RoutineId};
use sassafras_cubin::Code;
use sassafras_ir::{Block, Function};
use sassafras_knobs::keys;
use sassafras_machine::Arch;
use sassafras_machine::multiprocessor::Multiprocessor;
use sassafras_passes::{Options, order_blocks};
use sassafras_sass::Lifted;
use sassafras_sass::rename::Renamer;
use sassafras_tepid as tepid;
use sassafras_tepid::rename::{Breaker, Breaking, Half};

/// Orders blocks whose registers can change as if anti-dependences were not there, and gives them registers for that. Returns those
/// blocks.
pub fn break_dependences(
    lifted: &mut Lifted,
    options: &Options,
    (id, arch): (RoutineId, Arch),
    code: &Code<'_>,
    job: &Job,
) -> Result<Vec<Block>, String> {
    let breaking = match job.knobs.get(keys::BREAK_ANTI_DEPENDENCES).as_deref() {
        Some("critical") => Breaking::Critical,
        Some("all") => Breaking::All,
        _ => return Ok(Vec::new()),
    };
    let on = |key| job.knobs.get(key) == Some(true);
    let half = match (on(keys::ANTI_DEPENDENCES_DIVIDED), on(keys::ANTI_DEPENDENCES_SECOND_HALF)) {
        (true, false) => Some(Half::Even),
        (true, true) => Some(Half::Odd),
        (false, _) => None,
    };
    let registers = code.registers.filter(|_| !job.keep_registers).unwrap_or(0);
    let registers = registers.saturating_sub(Multiprocessor::of(arch).withheld);
    let prepared = tepid::Code::new(&lifted.function, &lifted.sources, arch);
    let Some(breaker) = Breaker::new(&prepared, registers, breaking, half) else { return Ok(Vec::new()) };
    let order = |f: &Function| order_blocks(f, options).ok()?.into_iter().next().map(|made| made.order);
    let blocks = lifted.function.blocks().filter(|block| job.bisection.takes(id, block.as_u32()));
    let broken: Vec<_> = blocks.filter_map(|block| Some((block, breaker.block(block, order)?))).collect();
    let renamer = Renamer::new(arch);
    for (block, made) in &broken {
        lifted.function.reorder(*block, &made.order);
        for inst in made.names.insts() {
            let (read, written) = (|span| made.names.read(inst, span), |span| made.names.written(inst, span));
            lifted.rename(&renamer, inst, read, written).map_err(|error| error.to_string())?;
        }
    }
    Ok(broken.into_iter().map(|(block, _)| block).collect())
}
