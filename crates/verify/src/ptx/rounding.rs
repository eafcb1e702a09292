//! Goal: ptxas fuses the same products with the same sums, and so rounds as it did.
//!
//! A sum of two products that carry no rounding modifier can take in only one of them. Which one depends on the order in which they come about
//! (measured; see `sassafras_ptx::contraction`, whose rule this is, found here in another way). So in the old block such products and all that
//! they are made of keep their order, and neither they nor the sum have operands exchanged.
//!
//! Cost: linear in the block.

use crate::values::Match;
use rustc_hash::FxHashMap;
use sassafras_ir::{Function, Inst, Lane, Operand};

/// Places in the old block.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fragile {
    /// These stay in order.
    pub ordered: Vec<u32>,
    /// These keep their operands in place; ascending.
    pub fixed: Vec<u32>,
}

/// What breaks the rule, as places in the old block.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// Two that changed places.
    Order(u32, u32),
    /// One with exchanged operands.
    Operands(u32),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Arithmetic {
    Product,
    Sum,
    Other,
}

impl Arithmetic {
    fn of(opcode: &str) -> Arithmetic {
        let mut words = opcode.split('.').map(str::trim);
        let kind = match words.next() {
            Some("mul") => Arithmetic::Product,
            Some("add" | "sub") => Arithmetic::Sum,
            _ => return Arithmetic::Other,
        };
        let mut floating = false;
        for word in words {
            match word {
                "rn" | "rz" | "rm" | "rp" => return Arithmetic::Other,
                "f16" | "f16x2" | "bf16" | "bf16x2" | "f32" | "f32x2" | "f64" => floating = true,
                _ => {}
            }
        }
        if floating { kind } else { Arithmetic::Other }
    }
}

/// What is fragile in a block.
pub(super) fn fragile(f: &Function, insts: &[Inst]) -> Fragile {
    let kinds: Vec<Arithmetic> =
        insts.iter().map(|&inst| Arithmetic::of(f.opcode_text(f.inst(inst).opcode))).collect();
    if !kinds.contains(&Arithmetic::Product) || !kinds.contains(&Arithmetic::Sum) {
        return Fragile::default();
    }
    // Who wrote what each instruction reads: places, one row after the other.
    let mut writer: FxHashMap<Lane, u32> = FxHashMap::default();
    let (mut sources, mut rows) = (Vec::new(), vec![0]);
    let mut sums = Vec::new();
    let mut waiting = Vec::new();
    for (place, &inst) in (0..).zip(insts) {
        f.for_each_read(inst, |read| sources.extend(writer.get(&read.lane)));
        rows.push(sources.len());
        if kinds[place as usize] == Arithmetic::Sum {
            let terms = f.uses(inst).iter().filter_map(|&operand| term(operand));
            let mut products: Vec<u32> = terms
                .filter_map(|lane| writer.get(&lane).copied())
                .filter(|&from| kinds[from as usize] == Arithmetic::Product)
                .collect();
            products.sort_unstable();
            products.dedup();
            if products.len() > 1 {
                sums.push(place);
                waiting.extend(products);
            }
        }
        f.for_each_write(inst, |write| {
            writer.insert(write.lane, place);
        });
    }
    let mut marked = vec![false; insts.len()];
    while let Some(place) = waiting.pop() {
        if !std::mem::replace(&mut marked[place as usize], true) {
            waiting.extend(&sources[rows[place as usize]..rows[place as usize + 1]]);
        }
    }
    let ordered: Vec<u32> =
        (0..).zip(&marked).filter(|(_, marked)| **marked).map(|(place, _)| place).collect();
    let mut fixed: Vec<u32> = ordered.iter().copied().chain(sums).collect();
    fixed.sort_unstable();
    fixed.dedup();
    Fragile { ordered, fixed }
}

/// The first lane of a term: values of 64 bits are written as a whole.
fn term(operand: Operand) -> Option<Lane> {
    operand.span().map(|span| span.first())
}

/// Checks where the instructions of a block went; `places` says for every new place what stood there before.
pub(super) fn check(fragile: &Fragile, places: &[Match]) -> Result<(), Broken> {
    let mut went = vec![0_u32; places.len()];
    for (to, pair) in (0..).zip(places) {
        went[pair.from as usize] = to;
        if pair.commuted && fragile.fixed.binary_search(&pair.from).is_ok() {
            return Err(Broken::Operands(pair.from));
        }
    }
    match fragile.ordered.windows(2).find(|pair| went[pair[0] as usize] > went[pair[1] as usize]) {
        Some(pair) => Err(Broken::Order(pair[0], pair[1])),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sassafras_ptx::{Module, contraction, lower};
    use sassafras_testkit::rng::Rng;
    use std::fmt::Write;

    /// Random blocks: what stays in order is what the front-end keeps, though found in another way.
    #[test]
    fn the_rule_is_that_of_the_front_end() {
        let mut fragile_blocks = 0;
        for seed in 0..2_000 {
            let mut rng = Rng::new(seed);
            let mut text =
                String::from(".entry k() {\n.reg .f32 %f<9>;\n.reg .f64 %d<9>;\n.reg .pred %p<3>;\n");
            for _ in 0..2 + rng.below(20) {
                let opcode =
                    *rng.pick(&["mul", "mul", "mul", "mul.rn", "add", "add", "sub", "add.rz", "max"]);
                let guard = rng.pick(&["", "", "", "@%p1 ", "@!%p2 "]);
                let (ty, name) = *rng.pick(&[
                    ("f32", "%f"),
                    ("f32", "%f"),
                    ("f64", "%d"),
                    ("ftz.f32", "%f"),
                    ("f32", "%f"),
                ]);
                let [a, b, c] = [(); 3].map(|()| rng.below(4));
                writeln!(text, "{guard}{opcode}.{ty} {name}{a}, {name}{b}, {name}{c};").expect("room");
            }
            let module = Module::parse(&(text + "ret;\n}\n")).expect("sound");
            let f = lower(&module, &module.functions()[0]).expect("small").function;
            let block = f.blocks().next().expect("a block");
            let found = fragile(&f, f.block_insts(block));
            assert_eq!(found.ordered, contraction::kept(&f, block), "seed {seed}: {}", module.source());
            assert!(found.ordered.iter().all(|place| found.fixed.binary_search(place).is_ok()));
            fragile_blocks += usize::from(!found.ordered.is_empty());
        }
        assert!(fragile_blocks > 150, "only {fragile_blocks}");
    }
}
