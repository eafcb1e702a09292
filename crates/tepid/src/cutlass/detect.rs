//! Goal: whether a function is a CUTLASS-style matrix kernel.
//!
//! Two signs, either of which is enough where the function multiplies matrices at all: its name holds `cutlass`; or it has the
//! structure that the ptxas-scheduling document describes, matrix instructions in a loop together with loads from global
//! memory and stores to shared memory. Copies that run by themselves (`LDGSTS`, bulk copies) are both at once; they count
//! wherever they stand, because other warps of the kernel may issue them.
//!
//! The latency-model document sets its flag for every matrix instruction and lets the name decide whether anybody looks; the
//! other one has names and instruction patterns. Read together: matrix instructions, and one of the two signs.
//!
//! Cost: linear in the instructions.

use super::is_matrix;
use crate::code::Code;
use sassafras_ir::cfg::Cfg;
use sassafras_ir::dominators::Dominators;
use sassafras_ir::loops::Loops;
use sassafras_ir::{Block, Inst, Space};

/// The first chips with matrix instructions.
const FIRST_MATRIX_SM: u16 = 70;
/// What the names of such kernels hold.
const NAME: &str = "cutlass";

/// What speaks for a CUTLASS-style kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The name says so.
    pub by_name: bool,
    /// Its loops look so.
    pub by_structure: bool,
    /// How many matrix instructions it has; 0 on chips that have none.
    pub matrix_instructions: usize,
}

/// What a part of a function does.
#[derive(Clone, Copy, Debug, Default)]
struct Deeds {
    multiplies: bool,
    loads_global: bool,
    stores_shared: bool,
    copies: bool,
}

impl Deeds {
    fn of(code: &Code<'_>, inst: Inst) -> Deeds {
        let has = |space: fn(Space) -> bool, write: bool| {
            code.f.accesses(inst).any(|(access, is_write)| is_write == write && space(access.space))
        };
        let global = Space::is_global;
        let shared = |space| matches!(space, Space::Shared | Space::Cluster);
        let (loads_global, stores_shared) = (has(global, false), has(shared, true));
        Deeds {
            multiplies: is_matrix(code, inst),
            loads_global,
            stores_shared,
            copies: loads_global && stores_shared,
        }
    }

    fn and(self, other: Deeds) -> Deeds {
        Deeds {
            multiplies: self.multiplies || other.multiplies,
            loads_global: self.loads_global || other.loads_global,
            stores_shared: self.stores_shared || other.stores_shared,
            copies: self.copies || other.copies,
        }
    }
}

impl Evidence {
    /// Looks at a function.
    pub fn of(code: &Code<'_>, cfg: &Cfg, name: &str) -> Evidence {
        let f = code.f;
        if code.arch.number().is_none_or(|sm| sm < FIRST_MATRIX_SM) {
            return Evidence { by_name: is_named(name), ..Evidence::default() };
        }
        let insts = || f.blocks().flat_map(|block| f.block_insts(block));
        Evidence {
            by_name: is_named(name),
            by_structure: has_structure(code, cfg),
            matrix_instructions: insts().filter(|&&inst| is_matrix(code, inst)).count(),
        }
    }

    /// Whether the kernel is scheduled as one.
    pub fn is_cutlass(&self) -> bool {
        self.matrix_instructions > 0 && (self.by_name || self.by_structure)
    }
}

/// Whether a function's name is that of such a kernel.
pub fn is_named(name: &str) -> bool {
    name.contains(NAME)
}

/// The outermost loop around a block; none outside loops.
fn outermost(loops: &Loops, block: Block) -> Option<usize> {
    let mut id = loops.innermost(block)?;
    while let Some(parent) = loops.parent(id) {
        id = parent;
    }
    Some(id.as_u32() as usize)
}

fn has_structure(code: &Code<'_>, cfg: &Cfg) -> bool {
    let f = code.f;
    let loops = Loops::new(f, cfg, &Dominators::new(f, cfg));
    // A loop that was unrolled entirely is no loop any more: then the whole function counts as one.
    let mut by_loop = vec![Deeds::default(); loops.len().max(1)];
    let mut copies = false;
    for block in f.blocks() {
        let deeds = f
            .block_insts(block)
            .iter()
            .fold(Deeds::default(), |deeds, &inst| deeds.and(Deeds::of(code, inst)));
        copies |= deeds.copies;
        let place = if loops.is_empty() { Some(0) } else { outermost(&loops, block) };
        if let Some(sum) = place.and_then(|place| by_loop.get_mut(place)) {
            *sum = sum.and(deeds);
        }
    }
    let is_gemm = |deeds: &Deeds| deeds.multiplies && (deeds.loads_global && deeds.stores_shared || copies);
    by_loop.iter().any(is_gemm)
}
