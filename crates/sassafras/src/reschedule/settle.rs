//! Goal: as many new orders of a routine as can stand together.
//!
//! All of them are tried at once. What is then wrong is blamed on blocks with new orders; these get back what they came with,
//! registers too, and the others are tried again. In order of priority: nothing wrong is written; few blocks go back; few
//! attempts.

use super::kept::Kept;
use sassafras_ir::cfg::Cfg;
use sassafras_ir::{Block, Function, Inst};
use sassafras_sass::Lifted;
use sassafras_sass::program::Routine;
use sassafras_sass::rename::Renamer;
use sassafras_tepid::rename::Names;
use std::collections::{BTreeMap, BTreeSet};

/// How often single blocks are blamed; then all are.
const ROUNDS: u32 = 8;

/// Another order for a block.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The block.
    pub block: Block,
    /// Its new order.
    pub order: Vec<Inst>,
    /// Its registers, where they are others.
    pub names: Option<Names>,
    /// Who made it.
    pub by: &'static str,
}

/// Something that is wrong with new orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Blocks that may be to blame, the likeliest first.
    pub suspects: Vec<Block>,
    /// What is wrong.
    pub why: Kept,
}

/// A block that has to stay as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptBlock {
    /// The block.
    pub block: Block,
    /// Why.
    pub why: Kept,
}

/// What became of the new orders of a routine.
pub struct Settled<T> {
    /// What the last attempt made of those that stand; or what is wrong even without any, with the routine as it came.
    pub made: Result<T, Kept>,
    /// The orders that stand.
    pub standing: Vec<Proposal>,
    /// The others.
    pub kept: Vec<KeptBlock>,
}

/// Gives a routine those of the proposed orders with which `attempt` finds nothing wrong.
pub fn settle<T>(
    routine: &mut Routine,
    proposals: Vec<Proposal>,
    renamer: &Renamer,
    mut attempt: impl FnMut(&Routine) -> Result<T, Vec<Fault>>,
) -> Settled<T> {
    let came = routine.lifted.clone();
    let (mut standing, mut kept) = (proposals, Vec::new());
    for round in 0.. {
        let put = put(&mut routine.lifted, &standing, renamer);
        let faults = match put.and_then(|()| attempt(routine)) {
            Ok(made) => return Settled { made: Ok(made), standing, kept },
            Err(faults) => faults,
        };
        routine.lifted = came.clone();
        if standing.is_empty() {
            let why = faults.into_iter().next().map(|fault| fault.why);
            let why = why.unwrap_or_else(|| Kept::NoControlFields(String::new()));
            return Settled { made: Err(why), standing, kept };
        }
        let blamed = blame(&faults, &standing, round < ROUNDS);
        standing.retain(|proposal| !blamed.contains_key(&proposal.block));
        kept.extend(blamed.into_iter().map(|(block, why)| KeptBlock { block, why }));
    }
    unreachable!("every round has fewer orders")
}

/// Gives blocks their new orders and registers.
pub fn put(lifted: &mut Lifted, proposals: &[Proposal], renamer: &Renamer) -> Result<(), Vec<Fault>> {
    for Proposal { block, order, names, .. } in proposals {
        lifted.function.reorder(*block, order);
        let Some(names) = names else { continue };
        for inst in names.insts() {
            let (read, written) = (|span| names.read(inst, span), |span| names.written(inst, span));
            let renamed = lifted.rename(renamer, inst, read, written);
            renamed.map_err(|error| {
                vec![Fault { suspects: vec![*block], why: Kept::NotRenamed(error.to_string()) }]
            })?;
        }
    }
    Ok(())
}

/// The blocks that are to blame, at least one: of the suspects of each fault the first that has a new order, or all that have.
fn blame(faults: &[Fault], standing: &[Proposal], singly: bool) -> BTreeMap<Block, Kept> {
    let changed: BTreeSet<Block> = standing.iter().map(|proposal| proposal.block).collect();
    let mut blamed = BTreeMap::new();
    for Fault { suspects, why } in faults {
        let first = suspects.iter().find(|block| singly && changed.contains(block));
        let blocks = match first {
            Some(block) => vec![*block],
            None => changed.iter().copied().collect(),
        };
        for block in blocks {
            blamed.entry(block).or_insert_with(|| why.clone());
        }
    }
    blamed
}

/// The blocks of instructions, then those that lead to the first of them, the nearest first.
pub fn suspects(f: &Function, insts: impl IntoIterator<Item = Inst>) -> Vec<Block> {
    let of = |inst: Inst| f.blocks().find(|&block| f.block_insts(block).contains(&inst));
    let mut suspects: Vec<Block> = insts.into_iter().filter_map(of).collect();
    let cfg = Cfg::new(f);
    let mut seen: BTreeSet<Block> = suspects.first().copied().into_iter().collect();
    let mut queue: Vec<Block> = seen.iter().copied().collect();
    let mut next = 0;
    while let Some(&block) = queue.get(next) {
        next += 1;
        queue.extend(cfg.preds(block).iter().filter(|&&pred| seen.insert(pred)));
    }
    suspects.extend(queue.into_iter().skip(1));
    suspects
}

#[cfg(test)]
mod tests {
    use super::*;
    use sassafras_machine::Arch;
    use sassafras_sass::{Code, lift};

    const EXIT: u128 = 0x0380_0000_0000_0000_0000_794d;

    /// `FADD` of two registers to a third.
    fn fadd(d: u128, a: u128, b: u128) -> u128 {
        0x7221 | d << 16 | a << 24 | b << 32
    }

    /// `@P0 BRA` to the next instruction: it ends a block.
    const NEXT: u128 = 0x0380_0000 << 64 | 0x0947;

    /// A routine of so many blocks, each of two sums and a branch, and an end.
    fn routine(blocks: u32) -> Routine {
        let block = |i: u32| [fadd(2 + 2 * u128::from(i), 0, 1), fadd(3 + 2 * u128::from(i), 1, 0), NEXT];
        let words: Vec<u128> = (0..blocks).flat_map(block).chain([EXIT]).collect();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let code = Code { name: "k", arch: Arch::SM_80, bytes: &bytes, indirect: &[], jumps: &[] };
        let lifted = lift(&code).expect("lifts");
        Routine { name: "k".to_owned(), section: 1, range: 0..bytes.len() as u64, entry: true, lifted }
    }

    /// Every block the other way round.
    fn proposals(routine: &Routine) -> Vec<Proposal> {
        let f = &routine.lifted.function;
        let blocks = f.blocks().filter(|&block| f.block_insts(block).len() == 3);
        let swapped = |block: Block| match f.block_insts(block) {
            &[one, other, branch] => vec![other, one, branch],
            _ => unreachable!("three instructions"),
        };
        blocks.map(|block| Proposal { block, order: swapped(block), names: None, by: "test" }).collect()
    }

    /// Blocks with a new order, by number.
    fn moved(routine: &Routine) -> Vec<u32> {
        let f = &routine.lifted.function;
        f.blocks().filter(|&b| !f.block_insts(b).is_sorted()).map(|b| b.as_u32()).collect()
    }

    fn fault(suspects: &[u32], why: &str) -> Fault {
        Fault { suspects: suspects.iter().map(|&b| Block::from_u32(b)).collect(), why: because(why) }
    }

    fn because(why: &str) -> Kept {
        Kept::NoControlFields(why.to_owned())
    }

    fn kept<T>(settled: &Settled<T>) -> Vec<(u32, String)> {
        settled.kept.iter().map(|kept| (kept.block.as_u32(), kept.why.to_string())).collect()
    }

    fn renamer() -> Renamer {
        Renamer::new(Arch::SM_80)
    }

    #[test]
    fn the_block_at_fault_stays_and_the_others_change() {
        let mut routine = routine(4);
        let all = proposals(&routine);
        let mut attempts = 0;
        let settled = settle(&mut routine, all, &renamer(), |routine| {
            attempts += 1;
            match moved(routine).contains(&2) {
                true => Err(vec![fault(&[3, 2], "three"), fault(&[2], "two")]),
                false => Ok(moved(routine)),
            }
        });
        // Block 3 is the first suspect of a fault that block 2 makes; it goes, too, but no other does.
        assert_eq!(kept(&settled), [(2, "two".to_owned()), (3, "three".to_owned())]);
        assert_eq!((settled.made, attempts), (Ok(vec![0, 1]), 2));
        assert_eq!((settled.standing.len(), moved(&routine)), (2, vec![0, 1]));
    }

    #[test]
    fn suspects_without_a_new_order_are_passed_over() {
        let mut routine = routine(3);
        let all = proposals(&routine);
        let settled = settle(&mut routine, all, &renamer(), |routine| match moved(routine)[..] {
            [0, ..] => Err(vec![fault(&[3, 0], "late")]),
            _ => Ok(()),
        });
        assert_eq!((kept(&settled), moved(&routine)), (vec![(0, "late".to_owned())], vec![1, 2]));
    }

    #[test]
    fn what_is_wrong_without_any_new_order_is_told() {
        let mut routine = routine(3);
        let all = proposals(&routine);
        let settled: Settled<()> =
            settle(&mut routine, all, &renamer(), |_| Err(vec![fault(&[], "fields do not settle")]));
        assert_eq!(settled.made, Err(because("fields do not settle")));
        assert!(settled.standing.is_empty() && moved(&routine).is_empty());
        assert_eq!(settled.kept.len(), 3, "nobody is suspected, so all are blamed");
    }

    #[test]
    fn attempts_are_few() {
        let blocks = 100;
        let mut routine = routine(blocks);
        let all = proposals(&routine);
        let mut attempts = 0;
        let settled = settle(&mut routine, all, &renamer(), |routine| {
            attempts += 1;
            match moved(routine).first() {
                Some(&first) => Err(vec![fault(&[first], "never")]),
                None => Ok(()),
            }
        });
        assert_eq!((settled.made, settled.kept.len()), (Ok(()), blocks as usize));
        assert_eq!(attempts, ROUNDS + 2);
    }

    #[test]
    fn suspects_are_near() {
        let routine = routine(4);
        let f = &routine.lifted.function;
        let last = f.block_insts(Block::from_u32(3))[0];
        let found: Vec<u32> = suspects(f, [last]).iter().map(|block| block.as_u32()).collect();
        assert_eq!(found, [3, 2, 1, 0]);
    }
}
