//! Goal: which instructions end the warp's turn, so that another warp goes next.
//!
//! A stall of more than 11 cycles ends it: there is no other encoding. Of the rest, instructions of fixed latency end it when they
//! stall for long enough, all others keep it. How long that is:
//!
//! 1. for code in the order of the compiler, as compiled code does it without exception: three cycles; or two when the turn has
//!    lasted ten (mined: 3 % do below, 97 % from there on);
//! 2. for another order four cycles: where operands are at hand more often, giving the turn away costs more than it brings (an H200
//!    runs the reordered sgemm128 2 % faster, cp.async and FFT kernels 1 % faster than by the first rule);
//! 3. for [`streams`](crate::streams) six, in any order: their warps do best far apart.
//!
//! Cost: linear. Source: the ptxas-scheduling document names a yield pass without its rules; the first is mined (sm_90), the others are
//! measured (bench/gpu).

use crate::code::{Code, index};
use crate::original::{Fields, Original};
use crate::streams::Streams;
use sassafras_ir::Inst;

/// Longest stall without ending the turn.
const MAX_HOLDING: u8 = 11;
/// In the order of the compiler, instructions of fixed latency end the turn from this stall on.
const COMPILED: u8 = 3;
/// And from this one on when the turn has lasted long.
const AFTER_LONG: u8 = 2;
/// How long, in cycles.
const LONG: u32 = 10;
/// In another order.
const REORDERED: u8 = 4;
/// In a stream.
const STREAM: u8 = 6;

/// Sets the yield flags of a block's instructions, whose stalls are known.
pub fn assign(code: &Code<'_>, insts: &[Inst], stream: bool, fields: &mut [Fields]) {
    let in_order = insts.is_sorted();
    let ending = match (stream, in_order) {
        (true, _) => STREAM,
        (false, true) => COMPILED,
        (false, false) => REORDERED,
    };
    let mut turn = 0;
    for &inst in insts {
        let field = &mut fields[index(inst)];
        let long = in_order && !stream && turn >= LONG && field.stall >= AFTER_LONG;
        let ends = !code.op(inst).holds && (field.stall >= ending || long);
        field.yields = ends || field.stall > MAX_HOLDING;
        turn = if field.yields { 0 } else { turn + u32::from(field.stall) };
    }
}

/// Control fields as they came, but for the turns that streams give away too soon.
pub fn hold_streams(code: &Code<'_>, original: &Original, streams: &Streams) -> Vec<Fields> {
    let mut fields = original.fields.clone();
    for block in code.f.blocks().filter(|&block| streams.is_stream(block)) {
        for &inst in code.f.block_insts(block) {
            let field = &mut fields[index(inst)];
            field.yields &= field.stall < AFTER_LONG || field.stall >= STREAM || code.op(inst).holds;
        }
    }
    fields
}
