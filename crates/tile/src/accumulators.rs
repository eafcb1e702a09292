//! Values that are updated where they are.
//!
//! An operand in place is a wish: it is granted where a chain of such operands leads around the loop once, as those of
//! accumulators do. `acc1 = scale(acc[-1] in place)`, `acc = mma(acc1 in place)` is one: `acc1` and `acc` take turns in a
//! single slot. A chain that does not come back would tie iterations to each other for nothing, so its values get slots
//! of their own.

use cranelift_entity::EntityRef;
use sassafras_tileir::program::{Op, Program, Value};

/// The chains of a loop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accumulators {
    /// Each chain: its values in the order of their turns within an iteration, with the operation that defines each.
    pub chains: Vec<Vec<(Value, Op)>>,
}

impl Accumulators {
    /// Finds the chains. Linear in operands.
    pub fn of(program: &Program) -> Accumulators {
        // What each value takes the place of.
        let mut place: Vec<Option<(Value, u32, Op)>> = vec![None; program.values.len()];
        for (op, data) in program.ops.iter() {
            for o in data.operands.iter().filter(|o| o.in_place) {
                if let [result] = data.results[..] {
                    place[result.index()] = Some((o.value, o.distance, op));
                }
            }
        }
        let mut seen = vec![false; program.values.len()];
        let mut chains = Vec::new();
        for start in program.values.keys() {
            if seen[start.index()] {
                continue;
            }
            let (mut chain, mut distance, mut at) = (Vec::new(), 0u64, start);
            let closed = loop {
                let Some((before, d, op)) = place[at.index()] else { break false };
                chain.push((at, op));
                distance += u64::from(d);
                at = before;
                if at == start {
                    break true;
                }
                if chain.len() > program.values.len() {
                    break false;
                }
            };
            if !closed || distance != 1 || !Accumulators::once(program, &chain) {
                continue;
            }
            chain.iter().for_each(|(v, _)| seen[v.index()] = true);
            // Within an iteration turns follow the program's order, which is that of the operations.
            chain.sort_by_key(|&(_, op)| op);
            chains.push(chain);
        }
        Accumulators { chains }
    }

    /// Whether no value of the chain is read after it has been overwritten, nor taken the place of twice.
    fn once(program: &Program, chain: &[(Value, Op)]) -> bool {
        chain.iter().all(|&(value, _)| {
            let mut replaced = 0;
            let replacing = Accumulators::distance(program, chain, value);
            for (op, data) in program.ops.iter() {
                for o in data.operands.iter().filter(|o| o.value == value) {
                    replaced += u32::from(o.in_place && chain.iter().any(|c| c.1 == op));
                    if o.distance > replacing.unwrap_or(0) {
                        return false;
                    }
                }
            }
            replaced == 1
        })
    }

    /// From how many iterations ago a value of the chain is when it is overwritten.
    fn distance(program: &Program, chain: &[(Value, Op)], value: Value) -> Option<u32> {
        chain.iter().find_map(|&(_, op)| {
            let mut operands = program.ops[op].operands.iter();
            operands.find(|o| o.in_place && o.value == value).map(|o| o.distance)
        })
    }

    /// Whether `op`'s result takes the place of an operand.
    pub fn replaces(&self, op: Op) -> bool {
        self.chains.iter().flatten().any(|c| c.1 == op)
    }

    /// The chain of a value.
    pub fn chain(&self, value: Value) -> Option<&[(Value, Op)]> {
        self.chains.iter().find(|c| c.iter().any(|m| m.0 == value)).map(Vec::as_slice)
    }

    /// Which operations must be done before others overwrite what they read: from, to, distance.
    pub fn orders(&self, program: &Program) -> Vec<(Op, Op, u32)> {
        let mut found = Vec::new();
        for chain in &self.chains {
            for &(_, writer) in chain {
                let Some(place) = program.ops[writer].operands.iter().find(|o| o.in_place) else { continue };
                for (reader, data) in program.ops.iter() {
                    for o in data.operands.iter().filter(|o| o.value == place.value) {
                        if reader != writer && o.distance <= place.distance {
                            found.push((reader, writer, place.distance - o.distance));
                        }
                    }
                }
            }
        }
        found
    }
}
