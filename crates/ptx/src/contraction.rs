//! Goal: code in an order that lets ptxas round as it did before.
//!
//! A `mul` and an `add` or `sub` without a rounding modifier may become one multiply-add. Where both terms of a sum are such products, only
//! one of them can be fused, and which one depends on the order in which the two come about: another order gives other bits. Whoever keeps
//! these products, and everything of the block that they are made of, in order among themselves keeps the results.
//!
//! Cost: linear. Source: measured on an H200 with ptxas 13.4. Random orders of a Black-Scholes kernel gave other bits, and those of the original with
//! `-fmad=false`; keeping only the two products in order was not enough.

use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;
use sassafras_ir::{Block, Function, Inst, Lane, Operand};

/// Types that are fused.
const TYPES: [&str; 7] = ["f32", "f32x2", "f64", "f16", "f16x2", "bf16", "bf16x2"];
/// Modifiers that say how to round, which rules fusing out.
const ROUNDING: [&str; 4] = ["rn", "rz", "rm", "rp"];

/// The instructions of a block that have to stay in order among themselves, as positions in the block.
pub fn kept(f: &Function, block: Block) -> Vec<u32> {
    let insts = f.block_insts(block);
    // By lane: where it was written last, and where a product stands that was.
    let mut writers: FxHashMap<Lane, u32> = FxHashMap::default();
    let mut products: FxHashMap<Lane, u32> = FxHashMap::default();
    let mut sources: Vec<Vec<u32>> = Vec::with_capacity(insts.len());
    let mut marked = FixedBitSet::with_capacity(insts.len());
    for (place, &inst) in (0u32..).zip(insts) {
        let kind = kind(f, inst);
        if kind == Some(Kind::Sum) {
            let mut terms: Vec<u32> =
                lanes(f.uses(inst)).filter_map(|lane| products.get(&lane).copied()).collect();
            terms.sort_unstable();
            terms.dedup();
            if terms.len() > 1 {
                terms.into_iter().for_each(|term| marked.insert(term as usize));
            }
        }
        let mut read = Vec::new();
        f.for_each_read(inst, |lane| read.extend(writers.get(&lane.lane)));
        sources.push(read);
        f.for_each_write(inst, |write| {
            products.remove(&write.lane);
            writers.insert(write.lane, place);
        });
        if kind == Some(Kind::Product) {
            products.extend(lanes(f.defs(inst)).map(|lane| (lane, place)));
        }
    }
    // What a marked instruction is made of stands before it: once backwards finds all.
    for place in (0..insts.len()).rev().filter(|&place| !sources[place].is_empty()) {
        if marked.contains(place) {
            sources[place].iter().for_each(|&source| marked.insert(source as usize));
        }
    }
    marked.ones().map(|place| place as u32).collect()
}

/// Whether an instruction is a product or a sum that may be fused with another one.
pub fn may_fuse(f: &Function, inst: Inst) -> bool {
    kind(f, inst).is_some()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Product,
    Sum,
}

/// What an instruction is, if it may be fused.
fn kind(f: &Function, inst: Inst) -> Option<Kind> {
    let mut parts = f.opcode_text(f.inst(inst).opcode).split('.').map(str::trim);
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

    /// What is kept in order of a body with these registers.
    fn kept(body: &str) -> Vec<u32> {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{{\n.reg .f32 %f<12>;\n.reg .f64 %d<9>;\n{body}\nret;\n}}\n"
        );
        let module = Module::parse(&text).expect("parses");
        let lowered = lower(&module, &module.functions()[0]).expect("lowers");
        let block = lowered.function.blocks().next().expect("a block");
        super::kept(&lowered.function, block)
    }

    #[test]
    fn two_products_of_a_sum_stay_in_order() {
        let two = "mul.f32 %f1, %f2, %f3;\nmul.ftz.f32 %f4, %f5, %f6;\nsub.f32 %f7, %f4, %f1;";
        assert_eq!(kept(two), [0, 1]);
        let wide = "mul.f64 %d1, %d2, %d3;\nmul.f64 %d4, %d5, %d6;\nadd.f64 %d7, %d4, %d1;";
        assert_eq!(kept(wide), [0, 1]);
    }

    #[test]
    fn what_they_are_made_of_does_too() {
        let body = "ex2.approx.f32 %f2, %f3;\nneg.f32 %f9, %f3;\nmul.f32 %f1, %f2, %f3;\nabs.f32 %f5, %f6;\n\
                    mul.f32 %f4, %f5, %f6;\nsub.f32 %f7, %f4, %f1;\nadd.f32 %f8, %f9, %f7;";
        assert_eq!(kept(body), [0, 2, 3, 4]);
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
            assert_eq!(kept(body), [0u32; 0], "{body}");
        }
    }
}
