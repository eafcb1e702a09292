//! Goal: what kind of work a block does, in figures, and the class that follows from them.
//!
//! A loop is one of multiply-accumulates (*Mac*), of transfers (*Dma*) or of other arithmetic (*Math*); what a loop leaves
//! through is an *Epilogue*. Arithmetic is weighed against transfers by the cycles of the pipes they keep busy; two ratios
//! say how they stand:
//!
//! * the *tepid ratio*, the one to aim at when both are spread over the block: cycles of arithmetic per cycle of transfer;
//! * the *wait ratio*, how well an order hides transfers: cycles of arithmetic per cycle that a warp by itself waits for them.
//!
//! In an epilogue only stores count as transfers: they are what its arithmetic is for. Both ratios are figures so far; the policy
//! `balance` spreads transfers over arithmetic by the same cycles.
//!
//! Cost: linear. Source: the ptxas-scheduling document (main loop, math-to-DMA ratio balancing), which names the classes and the
//! ratios and prints no thresholds: those here are ours.

use crate::code::Code;
use sassafras_ir::{Inst, Space};
use sassafras_machine::Category;
use sassafras_machine::dispatch::Pipe;

/// A block works in shared memory when it accesses that once in so many instructions.
const SHARED: u32 = 32;
/// And not less often than this in all.
const FEW: u32 = 8;

/// The class of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// A loop of multiply-accumulates.
    Mac,
    /// A loop of transfers.
    Dma,
    /// A loop of other arithmetic.
    Math,
    /// What follows a loop.
    Epilogue,
    /// Neither in a loop nor right behind one.
    Straight,
}

impl Class {
    /// A short name.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Mac => "mac",
            Class::Dma => "dma",
            Class::Math => "math",
            Class::Epilogue => "epilogue",
            Class::Straight => "straight",
        }
    }
}

/// Where a block stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a loop.
    Loop,
    /// Right behind a loop.
    Behind,
    /// Elsewhere.
    Apart,
}

/// What a block does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Multiply-accumulates.
    pub macs: u32,
    /// Cycles of the pipes that they keep busy.
    pub mac_cycles: u32,
    /// Cycles of all arithmetic.
    pub math_cycles: u32,
    /// Cycles of the memory pipe.
    pub transfer_cycles: u32,
    /// Accesses to shared memory.
    pub shared: u32,
    /// Accesses to global memory.
    pub global: u32,
    /// Instructions.
    pub length: u32,
    /// The class that follows.
    pub class: Class,
}

/// What part of a block an instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A multiply-accumulate.
    Mac,
    /// Other arithmetic.
    Math,
    /// A transfer.
    Transfer,
    /// Control and whatever keeps no pipe busy.
    Other,
}

/// The kind of an instruction, and the cycles that it keeps its pipe.
pub fn kind(code: &Code<'_>, inst: Inst) -> (Kind, u32) {
    let op = code.op(inst);
    let busy = op.dispatch.pipes().map(|(_, cycles)| u32::from(cycles)).max().unwrap_or(0);
    let name = code.f.opcode_text(code.f.inst(inst).opcode);
    let kind = match op.category {
        Some(Category::Tensor | Category::WarpgroupMma) => Kind::Mac,
        _ if is_mac(name) => Kind::Mac,
        Some(Category::Control | Category::Barrier) => Kind::Other,
        _ if op.dispatch.busy[Pipe::Memory as usize] > 0 => Kind::Transfer,
        _ if busy > 0 => Kind::Math,
        _ => Kind::Other,
    };
    (kind, busy.max(1))
}

/// Multiplies and adds in one.
fn is_mac(opcode: &str) -> bool {
    let base = opcode.split('.').next().unwrap_or(opcode);
    matches!(base, "FFMA" | "FFMA2" | "DFMA" | "HFMA2" | "IDP") || base == "IMAD" && !opcode.contains("MOV")
}

fn stores(code: &Code<'_>, inst: Inst) -> bool {
    code.f.accesses(inst).any(|(_, write)| write)
}

impl Profile {
    /// Looks at the instructions of a block.
    pub fn new(code: &Code<'_>, insts: &[Inst], place: Place) -> Profile {
        let mut profile = Profile {
            macs: 0,
            mac_cycles: 0,
            math_cycles: 0,
            transfer_cycles: 0,
            shared: 0,
            global: 0,
            length: insts.len() as u32,
            class: Class::Straight,
        };
        for &inst in insts {
            for (access, _) in code.f.accesses(inst) {
                profile.shared += u32::from(access.space == Space::Shared);
                profile.global += u32::from(access.space.is_global());
            }
            let (kind, cycles) = kind(code, inst);
            match kind {
                Kind::Mac => {
                    profile.macs += 1;
                    profile.mac_cycles += cycles;
                    profile.math_cycles += cycles;
                }
                Kind::Math => profile.math_cycles += cycles,
                Kind::Transfer if place == Place::Behind && !stores(code, inst) => {}
                Kind::Transfer => profile.transfer_cycles += cycles,
                Kind::Other => {}
            }
        }
        profile.class = match place {
            Place::Apart => Class::Straight,
            Place::Behind => Class::Epilogue,
            Place::Loop if profile.transfer_cycles > profile.math_cycles => Class::Dma,
            Place::Loop if 2 * profile.mac_cycles >= profile.math_cycles && profile.macs > 0 => Class::Mac,
            Place::Loop => Class::Math,
        };
        profile
    }

    /// Whether the block works in shared memory: that is accessed often, and more than twice as often as global memory.
    pub const fn works_in_shared(&self) -> bool {
        self.shared >= FEW && self.shared * SHARED >= self.length && self.shared > 2 * self.global
    }
}
