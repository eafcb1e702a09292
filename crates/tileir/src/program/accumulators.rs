//! Values that are updated where they are.
//!
//! An operand in place belongs to a chain of such operands that leads around the loop once, as those of accumulators do:
//! `acc1 = scale(acc[-1] in place)`, `acc = mma(acc1 in place)` is one. `acc1` and `acc` take turns in a single slot. A value
//! that is read again after it has been overwritten cannot be in one.
//!
//! A synchronous operation's operand of the same iteration that is in no chain is in place by *permission*: the operation
//! bears its result to be in the operand's slot, and whoever gives out slots may put it there if nobody wants the operand
//! any more. Nothing follows for schedules. What is wanted after the loop is overwritten by none but its own later
//! iterations. [`Program::check`] refuses all other operands in place.

use super::{Execution, Op, Operand, Program, Value};
use cranelift_entity::EntityRef;

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
            // After the loop there is what the last iteration put there last, and nothing else.
            let last = chain.last().map(|c| c.0);
            let lost =
                |&(v, _): &(Value, Op)| program.wanted_after(v).is_some_and(|d| d > 0 || Some(v) != last);
            if !chain.iter().any(lost) {
                chains.push(chain);
            }
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
                    // Nor may the operation that overwrites it read it a second time.
                    let twice = !o.in_place && data.operands.iter().any(|p| p.in_place && p.value == value);
                    if o.distance > replacing.unwrap_or(0) || twice {
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

    /// Whether an operand of `op` is in place by permission: of the same iteration, in no chain, and read once by an
    /// operation that is synchronous. One that runs on by itself may not have read everything when its slot is given on.
    pub fn permits(&self, program: &Program, op: Op, operand: &Operand) -> bool {
        let data = &program.ops[op];
        let once = data.operands.iter().filter(|o| o.value == operand.value).count() == 1;
        let sync = data.execution == Execution::Sync;
        let kept = program.wanted_after(operand.value).is_some();
        operand.in_place && operand.distance == 0 && once && sync && !kept && !self.replaces(op)
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
