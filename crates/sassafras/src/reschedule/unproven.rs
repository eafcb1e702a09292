//! Goal: instructions whose form never ran rescheduled on a device stay where they are.
//!
//! Their block keeps its order, and they keep their distances from those around them. Cost: a look per opcode of a routine. Source:
//! `machine::mined::silicon`; architectures without such a table have no device that could prove anything.

use sassafras_ir::{Block, Function, Inst};
use sassafras_machine::Arch;
use sassafras_machine::mined::silicon::Proven;

/// The instructions of a routine that are not proven, by block.
#[derive(Debug, Default)]
pub struct Unproven {
    /// In program order.
    pub insts: Vec<Inst>,
    /// The blocks that they stand in, in order.
    blocks: Vec<Block>,
}

impl Unproven {
    /// Those of a routine.
    pub fn of(f: &Function, arch: Arch) -> Unproven {
        let Some(proven) = Proven::of(arch) else { return Unproven::default() };
        let opcodes: Vec<bool> = f.opcodes().map(|text| proven.proven(text)).collect();
        let mut unproven = Unproven::default();
        if opcodes.iter().all(|&proven| proven) {
            return unproven;
        }
        for block in f.blocks() {
            let insts = f.block_insts(block).iter().copied();
            let before = unproven.insts.len();
            unproven.insts.extend(insts.filter(|&inst| !opcodes[f.inst(inst).opcode.as_u32() as usize]));
            if unproven.insts.len() > before {
                unproven.blocks.push(block);
            }
        }
        unproven
    }

    /// Whether a block has to keep its order.
    pub fn holds(&self, block: Block) -> bool {
        self.blocks.binary_search(&block).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sassafras_ir::text::parse;

    #[test]
    fn blocks_with_forms_that_never_ran_are_held() {
        let text = "func f sm_90 (R2) {\n^a:\n  R1 = IADD3 R2, R2\n^b:\n  R1 = LDGMC R2\n  EXIT !exit\n}\n";
        let module = parse(text).expect("text IR");
        let f = &module.functions[0];
        let unproven = Unproven::of(f, "sm_90".parse().expect("an architecture"));
        let held: Vec<bool> = f.blocks().map(|block| unproven.holds(block)).collect();
        assert_eq!((unproven.insts.len(), held), (1, vec![false, true]));
        assert!(Unproven::of(f, "sm_80".parse().expect("an architecture")).insts.is_empty(), "no device");
    }
}
