//! Goal: what a multiprocessor holds, and how many warps of a kernel each of its schedulers has at once.

use crate::table::{Row, rows, unique};
use crate::{Arch, TableError};
use serde::Deserialize;
use std::sync::LazyLock;

/// A multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Multiprocessor {
    /// Sub-cores, each with a scheduler.
    pub schedulers: u32,
    /// Most warps.
    pub warps: u32,
    /// Most blocks.
    pub blocks: u32,
    /// Registers of 32 bits.
    pub registers: u32,
    /// Registers that a warp's share is rounded up to.
    pub register_unit: u32,
    /// Registers of a thread's count that its code cannot name.
    pub withheld: u32,
    /// Bytes of shared memory.
    pub shared: u64,
    /// Bytes of it that every block needs beyond its own.
    pub reserved: u64,
    /// Cycles that an instruction has to read its sources before it holds issue up, each bank giving one register per cycle.
    pub bank_window: u32,
    /// Cycles that the memory pipe may lag behind before it holds issue up.
    pub memory_queue: u32,
    /// Shared accesses of 4 bytes that one of 16 keeps the memory pipe as long as.
    pub wide_shared: u32,
    /// Bytes that one access of a thread may share with the next.
    pub line: u32,
    /// Cycles of the memory pipe that coming back to such bytes costs.
    pub left_line: u32,
}

/// What is known of how a kernel is launched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Threads of a block.
    pub threads: Option<u32>,
    /// Bytes of shared memory of a block.
    pub shared: u64,
    /// Blocks that a multiprocessor has at once, if somebody says so.
    pub blocks: Option<u32>,
}

/// Threads of a block where nobody says: what most kernels use.
const USUAL_THREADS: u32 = 256;
const WARP: u32 = 32;
/// Registers of a thread that an instruction can name.
pub const MOST_REGISTERS: u32 = 255;

impl Multiprocessor {
    /// The one of an architecture.
    pub fn of(arch: Arch) -> &'static Multiprocessor {
        let known = TABLE.iter().find(|row| arch.number().is_some_and(|sm| row.value.archs.contains(&sm)));
        &known.unwrap_or_else(|| TABLE.last().expect("rows")).value.sm
    }

    /// The most registers of a thread with which so many blocks of so many threads fit, as far as registers go.
    pub fn registers_for(&self, threads: u32, blocks: u32) -> u32 {
        let warps = threads.div_ceil(WARP).saturating_mul(blocks).max(1);
        let per_warp = (self.registers / warps / self.register_unit).max(1) * self.register_unit;
        (per_warp / WARP).min(MOST_REGISTERS)
    }

    /// Warps of a kernel that each scheduler has at once: what registers, shared memory and the block size allow.
    pub fn resident_warps(&self, launch: &Launch) -> u32 {
        let per_block = launch.threads.unwrap_or(USUAL_THREADS).div_ceil(WARP).clamp(1, self.warps);
        let blocks = launch.blocks.unwrap_or_else(|| {
            // As many as there are at most: a damaged file may claim any number.
            let registers = launch.registers.unwrap_or(WARP).min(self.registers);
            let per_warp = (registers * WARP).next_multiple_of(self.register_unit);
            let by_registers = self.registers / per_warp.max(self.register_unit) / per_block;
            let by_warps = self.warps / per_block;
            let by_shared = match launch.shared {
                0 => self.blocks,
                bytes => {
                    (self.shared / bytes.saturating_add(self.reserved)).min(u64::from(self.blocks)) as u32
                }
            };
            by_registers.min(by_warps).min(by_shared).min(self.blocks)
        });
        let warps = u64::from(blocks.max(1)) * u64::from(per_block);
        (warps.min(u64::from(self.warps)) as u32).div_ceil(self.schedulers)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    archs: String,
    schedulers: u32,
    warps: u32,
    blocks: u32,
    registers: u32,
    register_unit: u32,
    withheld: u32,
    shared: u64,
    reserved: u64,
    bank_window: u32,
    memory_queue: u32,
    wide_shared: u32,
    line: u32,
    left_line: u32,
    source: String,
}

#[derive(Debug)]
struct Entry {
    archs: Vec<u16>,
    sm: Multiprocessor,
}

const NAME: &str = "multiprocessors.csv";

static TABLE: LazyLock<Vec<Row<Entry>>> =
    LazyLock::new(|| parse(include_str!("../data/multiprocessors.csv")).expect("the table is tested"));

fn parse(text: &str) -> Result<Vec<Row<Entry>>, TableError> {
    let raw = rows::<Raw>(NAME, text)?;
    unique(&raw, |row| row.archs.clone())?;
    raw.into_iter().map(entry).collect()
}

fn entry(row: Row<Raw>) -> Result<Row<Entry>, TableError> {
    let Raw { schedulers, warps, blocks, registers, register_unit, shared, reserved, .. } = row.value;
    if [schedulers, warps, blocks, registers, register_unit, row.value.line, row.value.wide_shared]
        .contains(&0)
    {
        return Err(row.error("a multiprocessor holds something of everything"));
    }
    if !warps.is_multiple_of(schedulers) || reserved >= shared {
        return Err(row.error("warps are shared out evenly, and blocks find room"));
    }
    if row.value.source.is_empty() {
        return Err(row.error("no source"));
    }
    let number = |name: &str| name.parse::<Arch>().ok().and_then(Arch::number);
    let archs: Result<Vec<u16>, _> = row
        .value
        .archs
        .split_whitespace()
        .map(|name| number(name).ok_or_else(|| row.error(format!("`{name}` is no architecture"))))
        .collect();
    let archs = archs?;
    let Raw { bank_window, memory_queue, wide_shared, line, left_line, .. } = row.value;
    let sm = Multiprocessor {
        schedulers,
        warps,
        blocks,
        registers,
        register_unit,
        withheld: row.value.withheld,
        shared,
        reserved,
        bank_window,
        memory_queue,
        wide_shared,
        line,
        left_line,
    };
    Ok(Row { table: row.table, line: row.line, value: Entry { archs, sm } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_architecture_has_a_row() {
        for arch in Arch::all() {
            let Some(number) = arch.number() else { continue };
            assert!(TABLE.iter().any(|row| row.value.archs.contains(&number)), "{arch}");
        }
    }

    #[test]
    fn warps_as_the_occupancy_calculator_has_them() {
        let sm = Multiprocessor::of("sm_90".parse().expect("known"));
        let launch = |registers, threads, shared| {
            sm.resident_warps(&Launch {
                registers: Some(registers),
                threads: Some(threads),
                shared,
                blocks: None,
            })
        };
        assert_eq!(launch(128, 256, 0), 4);
        assert_eq!(launch(32, 1024, 0), 16);
        assert_eq!(launch(255, 256, 0), 2);
        assert_eq!(launch(u32::MAX, 256, 0), 2, "a block always runs, whatever a file claims");
        assert_eq!(launch(40, 128, 100 << 10), 2, "two blocks by shared memory");
        assert_eq!(launch(32, 32, 0), 8, "32 blocks of a warp");
        let said = Launch { registers: Some(128), threads: Some(128), shared: 0, blocks: Some(1) };
        assert_eq!(sm.resident_warps(&said), 1);
    }

    #[test]
    fn broken_tables_are_refused() {
        let text = include_str!("../data/multiprocessors.csv");
        for (from, to) in [
            ("sm_75,4,32,16", "sm_75,4,32,0"),
            ("sm_75,4,32", "sm_75,4,33"),
            ("sm_75,4", "sm_x,4"),
            (",65536,0,2", ",65536,65536,2"),
            (",72,as above", ",72,"),
        ] {
            assert!(text.contains(from), "{from}");
            assert!(parse(&text.replacen(from, to, 1)).is_err(), "{from} -> {to}");
        }
        assert!(parse(text).is_ok());
    }
}
