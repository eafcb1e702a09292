//! Goal: which instructions end the warp's turn, so that another warp goes next.
//!
//! As compiled code does it, without exception where there is a number:
//!
//! 1. a stall of more than 11 cycles ends it: there is no other encoding;
//! 2. an instruction of fixed latency ends it when it stalls for three cycles or more; all others keep it;
//! 3. one that stalls for two ends it when the turn has lasted ten cycles: mined, 3 % do below, 97 % do from there on. Only for
//!    code in the order of the compiler: where operands are at hand more often, it costs more than it brings (an H200 runs the
//!    reordered sgemm128 1.4 % faster without).
//!
//! Cost: linear. Source: the ptxas-scheduling document names a yield pass without its rules; these are mined (sm_90).

use crate::code::{Code, index};
use crate::original::Fields;
use sassafras_ir::Inst;

/// Longest stall without ending the turn.
const MAX_HOLDING: u8 = 11;
/// Instructions of fixed latency end the turn from this stall on.
const ALWAYS: u8 = 3;
/// And from this one on when the turn has lasted long.
const AFTER_LONG: u8 = 2;
/// How long, in cycles.
const LONG: u32 = 10;

/// Sets the yield flags of a block's instructions, whose stalls are known.
pub fn assign(code: &Code<'_>, insts: &[Inst], fields: &mut [Fields]) {
    let in_order = insts.is_sorted();
    let mut turn = 0;
    for &inst in insts {
        let field = &mut fields[index(inst)];
        let long = in_order && turn >= LONG && field.stall >= AFTER_LONG;
        let ends = !code.op(inst).holds && (field.stall >= ALWAYS || long);
        field.yields = ends || field.stall > MAX_HOLDING;
        turn = if field.yields { 0 } else { turn + u32::from(field.stall) };
    }
}
