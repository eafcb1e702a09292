//! Goal: a block that was polished once is not polished again.
//!
//! Libraries hold the same closed loops in many functions, and one function may come to the same block several times: in NCCL three of four
//! blocks that are polished were polished before. What comes of it depends on the block as it came and as it stands, on the graph's options
//! and on the warps; so a hash of all of them finds it, whoever asks and in whatever order. What is kept has no influence but on time.
//!
//! Cost: a hash of the block, far less than one evaluation of an order, and up to [`MOST_NUMBERS`] numbers.

use crate::code::index;
use crate::rename::Alone;
use sassafras_deps::Node;
use sassafras_ir::{Operand, Payload};
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// So many numbers of 32 bits are kept; then all are forgotten.
const MOST_NUMBERS: usize = 4 << 20;

/// Everything that decides what comes of polishing, as a hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key([u8; 32]);

impl Key {
    /// Of a block as it came and as it stands, and of what else matters.
    pub fn new(came: &Alone, stands: &Alone, others: impl Hash) -> Key {
        let mut hasher = Blake(blake3::Hasher::new());
        others.hash(&mut hasher);
        [came, stands].into_iter().for_each(|block| add(block, &mut hasher));
        Key(*hasher.0.finalize().as_bytes())
    }
}

/// Adds all that a block is made of, numbers of tables replaced by what they stand for.
fn add(block: &Alone, to: &mut Blake) {
    let f = &block.function;
    let insts = f.block_insts(block.only);
    insts.len().hash(to);
    for &inst in insts {
        let data = f.inst(inst);
        let text = match data.payload {
            Payload::Text(name) => f.text(name),
            Payload::None | Payload::Word(_) => "",
        };
        (inst, f.opcode_text(data.opcode), data.guard, data.effects, data.payload, text).hash(to);
        (f.defs(inst).len(), f.uses(inst).len(), block.sources[index(inst)]).hash(to);
        for operand in f.operands(inst) {
            match *operand {
                Operand::Mem(mem) => (0, f.mem(mem)).hash(to),
                Operand::Symbol(name) => (1, f.text(name)).hash(to),
                other => (2, other).hash(to),
            }
        }
    }
}

/// A hash that no two blocks share.
struct Blake(blake3::Hasher);

impl Hasher for Blake {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = *self.0.finalize().as_bytes();
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }
}

/// What came of polishing: the order and its cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Polished {
    pub order: Box<[Node]>,
    pub cycles: u32,
}

#[derive(Default)]
struct Known {
    by_key: HashMap<Key, Polished>,
    numbers: usize,
}

impl Known {
    fn insert(&mut self, key: Key, polished: Polished) {
        // A key takes as much as eight.
        let numbers = polished.order.len() + 8;
        if self.numbers + numbers > MOST_NUMBERS {
            *self = Known::default();
        }
        self.numbers += numbers;
        self.by_key.insert(key, polished);
    }
}

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

fn known() -> MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What came of polishing a block, which is done by `polish` unless it was before. Two threads may do the same at the same time.
pub(crate) fn once(key: Key, polish: impl FnOnce() -> Polished) -> Polished {
    if let Some(polished) = known().by_key.get(&key) {
        return polished.clone();
    }
    let polished = polish();
    known().insert(key, polished.clone());
    polished
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_not_made_again_and_room_ends() {
        let polished = |nodes: usize| Polished { order: vec![Node(0); nodes].into(), cycles: nodes as u32 };
        let mut known = Known::default();
        known.insert(Key([1; 32]), polished(10));
        known.insert(Key([2; 32]), polished(20));
        assert_eq!((known.by_key.len(), known.numbers), (2, 46));
        known.insert(Key([3; 32]), polished(MOST_NUMBERS - 8));
        assert_eq!(known.by_key.len(), 1, "the others are forgotten");
        let key = Key([4; 32]);
        assert_eq!(once(key, || polished(7)), polished(7));
        assert_eq!(once(key, || unreachable!("known")), polished(7));
    }
}
