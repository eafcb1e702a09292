//! Goal: the order of products that decides which of them ptxas fuses into a sum.
//!
//! A `mul` and an `add` or `sub` without a rounding modifier may become one multiply-add. Where both terms of a sum are such products, only
//! one of them can be fused, and which one depends on their order: another order gives other bits. Whoever keeps these pairs in order keeps
//! the results.
//!
//! Cost: linear. Source: measured on an H200 with ptxas 13.4: four random orders of a Black-Scholes kernel gave other bits, and the same
//! as the original with `-fmad=false`.

use rustc_hash::FxHashMap;
use sassafras_ir::{Block, Function, Inst, Lane, Operand};

/// Types that are fused.
const TYPES: [&str; 6] = ["f32", "f64", "f16", "f16x2", "bf16", "bf16x2"];
/// Modifiers that say how to round, which rules fusing out.
const ROUNDING: [&str; 4] = ["rn", "rz", "rm", "rp"];

/// The products of a block that have to stay in order, as positions in the block.
pub fn pairs(f: &Function, block: Block) -> Vec<(u32, u32)> {
    // By lane: where the product stands that was written to it last.
    let mut products: FxHashMap<Lane, u32> = FxHashMap::default();
    let mut found = Vec::new();
    for (place, &inst) in (0u32..).zip(f.block_insts(block)) {
        let kind = kind(f, inst);
        if kind == Some(Kind::Sum) {
            let mut terms: Vec<u32> =
                lanes(f.uses(inst)).filter_map(|lane| products.get(&lane).copied()).collect();
            terms.sort_unstable();
            terms.dedup();
            found.extend(terms.windows(2).map(|pair| (pair[0], pair[1])));
        }
        f.for_each_write(inst, |write| {
            products.remove(&write.lane);
        });
        if kind == Some(Kind::Product) {
            products.extend(lanes(f.defs(inst)).map(|lane| (lane, place)));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Product,
    Sum,
}

/// What an instruction is, if it may be fused.
fn kind(f: &Function, inst: Inst) -> Option<Kind> {
    let mut parts = f.opcode_text(f.inst(inst).opcode).split('.');
    let kind = match parts.next() {
        Some("mul") => Kind::Product,
        Some("add" | "sub") => Kind::Sum,
        _ => return None,
    };
    let (mut fused, mut rounded) = (false, false);
    for part in parts {
        fused |= TYPES.contains(&part);
        rounded |= ROUNDING.contains(&part);
    }
    (fused && !rounded).then_some(kind)
}

/// The first lanes of registers: products of 64 bits are written as a whole.
fn lanes(operands: &[Operand]) -> impl Iterator<Item = Lane> {
    operands.iter().filter_map(|operand| operand.span()).map(|span| span.first())
}

#[cfg(test)]
mod tests {
    use crate::{Module, lower};

    /// The pairs of a body with these registers.
    fn pairs(body: &str) -> Vec<(u32, u32)> {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{{\n.reg .f32 %f<9>;\n.reg .f64 %d<9>;\n{body}\nret;\n}}\n"
        );
        let module = Module::parse(&text).expect("parses");
        let lowered = lower(&module, &module.functions()[0]).expect("lowers");
        let block = lowered.function.blocks().next().expect("a block");
        super::pairs(&lowered.function, block)
    }

    #[test]
    fn two_products_of_a_sum_stay_in_order() {
        let two = "mul.f32 %f1, %f2, %f3;\nmul.ftz.f32 %f4, %f5, %f6;\nsub.f32 %f7, %f4, %f1;";
        assert_eq!(pairs(two), [(0, 1)]);
        let wide = "mul.f64 %d1, %d2, %d3;\nmul.f64 %d4, %d5, %d6;\nadd.f64 %d7, %d4, %d1;";
        assert_eq!(pairs(wide), [(0, 1)]);
    }

    #[test]
    fn what_is_rounded_or_overwritten_is_not_fused() {
        for body in [
            "mul.rn.f32 %f1, %f2, %f3;\nmul.f32 %f4, %f5, %f6;\nadd.f32 %f7, %f4, %f1;",
            "mul.f32 %f1, %f2, %f3;\nmul.f32 %f4, %f5, %f6;\nadd.rn.f32 %f7, %f4, %f1;",
            "mul.f32 %f1, %f2, %f3;\nmul.f32 %f4, %f5, %f6;\nmov.f32 %f1, %f2;\nadd.f32 %f7, %f4, %f1;",
            "mul.f32 %f1, %f2, %f3;\nadd.f32 %f7, %f1, %f1;",
            "mul.f32 %f1, %f2, %f3;\nmul.f32 %f4, %f5, %f6;\nmul.f32 %f7, %f4, %f1;",
        ] {
            assert_eq!(pairs(body), [], "{body}");
        }
    }
}
