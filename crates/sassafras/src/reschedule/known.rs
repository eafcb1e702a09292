//! Goal: code that a file holds more than once is planned once.
//!
//! Libraries with device code that is still to be linked hold it a second time, linked, and templates often come out the same for several
//! types. What is planned for a routine depends on its words, on how control goes through it, on the launch that is expected and on the
//! options; not on its name or place. Nor on the number that a move of an immediate moves, which is all that the linker changes in most code.
//!
//! Only what stands without anything in the way is known, so that no reason has to be told twice; and whoever gets it checks it as if it
//! had just been made. Cost: a hash of the words of every routine, and up to [`MOST_NUMBERS`] numbers.

use super::propose::Subject;
use super::settle::Proposal;
use sassafras_ir::Effects;
use sassafras_ir::function::Payload;
use sassafras_sass::program::Routine;
use sassafras_tepid as tepid;
use sassafras_tepid::cutlass::detect;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// So many numbers of 32 bits are kept, for instructions that have new fields or another place.
const MOST_NUMBERS: usize = 32 << 20;

/// What became of routines.
#[derive(Debug)]
pub struct Known {
    kept: Mutex<Kept>,
    /// Whether nothing is searched: the file stands for more code than files do.
    pub unsearched: bool,
}

#[derive(Debug, Default)]
struct Kept {
    made: HashMap<Key, Arc<Remade>>,
    numbers: usize,
}

/// What a plan depends on, as a hash.
pub type Key = [u8; 32];

/// What became of a routine that nothing was in the way of.
#[derive(Debug)]
pub struct Remade {
    /// Instructions of a form that never ran rescheduled on a device.
    pub unproven: u64,
    /// Cycles by the clock, before and after.
    pub cycles: (u64, u64),
    /// Its new orders.
    pub standing: Vec<Proposal>,
    fields: Option<Vec<u32>>,
}

/// Where a word has its control fields.
const CONTROL: u32 = 105;

impl Remade {
    /// With new control fields, empty where none are made; none where the routine stays as it came.
    pub fn new(
        unproven: u64,
        cycles: (u64, u64),
        standing: &[Proposal],
        fields: Option<&[tepid::Fields]>,
    ) -> Remade {
        let packed = |fields: &[tepid::Fields]| {
            fields.iter().map(|field| (field.insert(0) >> CONTROL) as u32).collect()
        };
        Remade { unproven, cycles, standing: standing.to_vec(), fields: fields.map(packed) }
    }

    /// The control fields.
    pub fn fields(&self) -> Option<Vec<tepid::Fields>> {
        let unpacked = |&field: &u32| tepid::Fields::of(u128::from(field) << CONTROL);
        self.fields.as_ref().map(|fields| fields.iter().map(unpacked).collect())
    }

    fn numbers(&self) -> usize {
        let orders: usize = self.standing.iter().map(|proposal| proposal.order.len()).sum();
        orders + self.fields.as_ref().map_or(0, Vec::len)
    }
}

impl Known {
    /// Nothing yet.
    pub fn new(unsearched: bool) -> Known {
        Known { kept: Mutex::default(), unsearched }
    }

    /// What became of a routine that is the same in everything that matters.
    pub fn get(&self, key: &Key) -> Option<Arc<Remade>> {
        self.kept().made.get(key).cloned()
    }

    /// Keeps what became of a routine, if there is room.
    pub fn insert(&self, key: Key, remade: Remade) {
        let mut kept = self.kept();
        let numbers = kept.numbers + remade.numbers();
        if numbers <= MOST_NUMBERS {
            kept.numbers = numbers;
            kept.made.insert(key, Arc::new(remade));
        }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Everything that the plan for a routine depends on, for one options.
pub fn key(routine: &Routine, subject: Subject<'_>) -> Key {
    let f = &routine.lifted.function;
    let mut text = format!(
        "{} {:?} {} {}\n",
        subject.arch,
        subject.launch.registers,
        subject.warps(),
        detect::is_named(subject.name)
    )
    .into_bytes();
    text.reserve(f.inst_count() * 18);
    for block in f.blocks() {
        let insts = f.block_insts(block);
        text.extend((insts.len() as u32).to_le_bytes());
        for &inst in insts {
            let data = f.inst(inst);
            let word = match data.payload {
                Payload::Word(word) => word & !immediate(word),
                Payload::None | Payload::Text(_) => 0,
            };
            text.extend(word.to_le_bytes());
            text.extend(data.effects.bits().to_le_bytes());
            // How control goes on is in words, too, but for tables of targets.
            if data.effects.intersects(Effects::TERMINATOR | Effects::CALL | Effects::CONVERGENCE) {
                let labels = f.uses(inst).iter().filter_map(|operand| match operand {
                    sassafras_ir::Operand::Label(block) => Some(block.as_u32()),
                    _ => None,
                });
                labels.for_each(|label| text.extend(label.to_le_bytes()));
                text.extend(u32::MAX.to_le_bytes());
            }
        }
    }
    *blake3::hash(&text).as_bytes()
}

/// The bits of a word that hold the number which `MOV` or `UMOV` moves: nobody asks for it who makes orders or fields.
fn immediate(word: u128) -> u128 {
    const MOV: u128 = 0x802;
    const UMOV: u128 = 0x882;
    match word & 0xfff {
        MOV | UMOV => 0xffff_ffff << 32,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sassafras_ir::{Block, Inst};

    fn remade(insts: u32) -> Remade {
        let order = (0..insts).map(Inst::from_u32).collect();
        let proposal = Proposal { block: Block::from_u32(0), order, names: None, by: "test" };
        let field = |i: u32| tepid::Fields {
            stall: (i % 16) as u8,
            yields: i.is_multiple_of(3),
            write: Some((i % 7) as u8).filter(|&board| board < 6),
            read: Some((i % 5) as u8),
            wait: (i % 64) as u8,
            reuse: (i % 16) as u8,
        };
        let fields: Vec<tepid::Fields> = (0..insts).map(field).collect();
        let made = Remade::new(1, (2, 3), &[proposal], Some(&fields));
        assert_eq!(made.fields(), Some(fields));
        made
    }

    #[test]
    fn fields_come_back_and_room_ends() {
        let known = Known::new(false);
        known.insert([1; 32], remade(200));
        assert_eq!(known.get(&[1; 32]).expect("kept").standing.len(), 1);
        assert!(known.get(&[2; 32]).is_none());
        known.insert([2; 32], remade(MOST_NUMBERS as u32 / 2));
        assert!(known.get(&[2; 32]).is_none(), "no room");
        known.insert([3; 32], remade(200));
        assert!(known.get(&[3; 32]).is_some(), "room enough");
    }

    #[test]
    fn only_moves_of_numbers_are_taken_for_the_same() {
        let mov = 0x0000_1234_0002_7802;
        assert_eq!(mov & !immediate(mov), 0x0000_0000_0002_7802);
        let add = 0x0000_1234_0002_7810;
        assert_eq!(add & !immediate(add), add);
    }
}
