//! Goal: how many warps there are, what holds their number down, and how far the next step is.
//!
//! Cost: a few hundred divisions. Source: `machine/data/multiprocessors.csv`.

use sassafras_machine::Arch;
use sassafras_machine::multiprocessor::{Launch, MOST_REGISTERS, Multiprocessor};
use serde::Serialize;

/// Warps of a multiprocessor.
#[derive(Clone, Debug, Serialize)]
pub struct Occupancy {
    /// Registers per thread.
    pub registers: Option<u32>,
    /// Threads of a block, where they are declared or said.
    pub threads: Option<u32>,
    /// Bytes of shared memory per block.
    pub shared: u64,
    /// Warps per scheduler.
    pub warps: u32,
    /// The most that there can be.
    pub most: u32,
    /// Registers to save before more warps fit; none where registers are not what holds their number down.
    pub registers_to_save: Option<u32>,
    /// Warps per scheduler then.
    pub warps_then: Option<u32>,
    /// Registers that could be used in addition without losing a warp.
    pub registers_to_spare: Option<u32>,
}

impl Occupancy {
    /// Of a launch.
    pub fn new(arch: Arch, launch: &Launch) -> Occupancy {
        let sm = Multiprocessor::of(arch);
        let with = |registers: u32| sm.resident_warps(&Launch { registers: Some(registers), ..*launch });
        let warps = sm.resident_warps(launch);
        // Where the number of blocks is said, it does not follow from registers.
        let counted = launch.registers.filter(|_| launch.blocks.is_none());
        // A damaged file may claim any number.
        let below = |registers: u32| 1..registers.min(MOST_REGISTERS + 1);
        let fewer = counted.and_then(|registers| below(registers).rev().find(|&fewer| with(fewer) > warps));
        let more = counted.map(|registers| {
            let spare = (registers..=MOST_REGISTERS).take_while(|&more| with(more) == warps).last();
            spare.unwrap_or(registers) - registers
        });
        Occupancy {
            registers: launch.registers,
            threads: launch.threads,
            shared: launch.shared,
            warps,
            most: sm.warps / sm.schedulers,
            registers_to_save: counted.zip(fewer).map(|(registers, fewer)| registers - fewer),
            warps_then: fewer.map(with),
            registers_to_spare: more,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_registers() {
        let launch = |registers, shared| Launch {
            registers: Some(registers),
            threads: Some(256),
            shared,
            blocks: None,
        };
        let arch: Arch = "sm_90".parse().expect("known");
        let tight = Occupancy::new(arch, &launch(129, 0));
        assert_eq!((tight.warps, tight.registers_to_save, tight.warps_then), (2, Some(1), Some(4)));
        assert_eq!(tight.registers_to_spare, Some(126), "255 registers give two warps, too");
        let full = Occupancy::new(arch, &launch(32, 0));
        assert_eq!(
            (full.warps, full.most, full.registers_to_save, full.registers_to_spare),
            (16, 16, None, Some(0))
        );
        let claimed = Occupancy::new(arch, &launch(u32::MAX, 0));
        assert_eq!((claimed.warps, claimed.warps_then), (2, Some(4)), "any number that a file claims");
        let shared = Occupancy::new(arch, &launch(128, 100 << 10));
        assert_eq!(
            (shared.warps, shared.registers_to_save),
            (4, None),
            "shared memory holds the number down"
        );
    }
}
