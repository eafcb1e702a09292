//! Values in the bank where they are read with the fewest others.
//!
//! Goal: an order whose sources spread over both register banks. Every value that is a single register is tried in the other bank, and
//! stays there if the banks are done sooner, each giving one register per cycle, for one instruction per cycle; or as soon, with fewer
//! registers read. That is repeated until nothing changes, a few times at most. Cost: values times instructions, each time.

use super::Alone;
use super::values::Values;
use crate::banks::Banks;
use crate::code::Code;
use crate::reuse::Kept;
use sassafras_ir::{Lane, RegClass, Span};
use sassafras_machine::multiprocessor::Multiprocessor;

/// How often all values are tried.
const PASSES: usize = 3;

/// Finds a bank for every value.
pub fn choose(code: &Code<'_>, block: &Alone, values: &mut Values) {
    let window = Multiprocessor::of(code.arch).bank_window;
    let mut best = cost(code, block, values, window);
    let mut read: Vec<u32> =
        values.reads().values().copied().filter(|&value| values.has_choice(value)).collect();
    read.sort_unstable();
    read.dedup();
    for _ in 0..PASSES {
        let before = best;
        for &value in &read {
            values.flip(value);
            let new = cost(code, block, values, window);
            if new < best {
                best = new;
            } else {
                values.flip(value);
            }
        }
        if best == before {
            break;
        }
    }
}

/// Cycles until all sources are read, and how many registers that are.
fn cost(code: &Code<'_>, block: &Alone, values: &Values, window: u32) -> (u32, u32) {
    let (mut kept, mut banks, mut now, mut count) = (Kept::default(), Banks::default(), 0u32, 0u32);
    for (at, inst) in block.insts().into_iter().enumerate() {
        let number = inst.as_u32();
        let moved = |span: Span, to: Option<Lane>| super::moved(span, to.as_ref());
        let mut fetched = [0u8; 2];
        if !code.op(inst).decoupled {
            for (place, span) in block.sources[number as usize].iter().enumerate() {
                let Some(span) = span else { continue };
                let span = moved(*span, values.virtual_read(number, span.first()));
                if kept.read(place, span, at).is_none() {
                    span.lanes().for_each(|lane| fetched[lane.index() as usize % 2] += 1);
                }
            }
        }
        for def in block.function.defs(inst).iter().filter_map(|def| def.span()) {
            if def.class() == RegClass::Gpr {
                kept.overwrite(moved(def, values.virtual_written(number, def.first())));
            }
        }
        count += fetched.into_iter().map(u32::from).sum::<u32>();
        now += banks.read(now, fetched, window) + 1;
    }
    (now, count)
}
