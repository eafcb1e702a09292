//! Whether a function is worth scheduling for dual issue, and how much.
//!
//! Source: latency-model document, sections "Memory Space Classification for Pairing" and "Pairing Decision Pseudocode".
//!
//! Readings:
//! - The block flags are described as bits 0 and 1 but tested with mask 6; here they are two booleans.
//! - Which bit of the function's flags marks it incompatible is given as 1 and as 2; here the caller says so.
//! - A mixed block disables the function, so the printed `min(hot, cold)` is 0 in every block that gets scored, and the
//!   undefined `cold_total` carries the score. It is read as the **running total of cold weights over the scored blocks
//!   so far**, in the given order: what a hot block could be paired with. (Including the block itself or not makes no
//!   difference, a hot block has no cold weight.)

use sassafras_machine::{Arch, Temperature};

/// A memory instruction that takes part in the score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryInstr {
    /// Hot, cold, or neither.
    pub temperature: Option<Temperature>,
    /// Low byte of the last source operand; its low 3 bits plus one are the weight.
    pub last_source_byte: u8,
}

impl MemoryInstr {
    /// The weight: 1 to 8.
    #[must_use]
    pub fn weight(&self) -> u64 {
        u64::from(self.last_source_byte & 7) + 1
    }
}

/// A basic block for the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockInfo<'a> {
    /// Its low two bits say that entry and exit edges exist; only blocks with both are scored.
    pub edge_flags: u32,
    /// The block's instructions; those without a temperature may be left out.
    pub instrs: &'a [MemoryInstr],
}

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockTemperature {
    /// Some instruction is hot.
    pub hot: bool,
    /// Some instruction is cold.
    pub cold: bool,
}

impl BlockTemperature {
    /// Both at once: pairing has no benefit model for such a block.
    #[must_use]
    pub fn is_mixed(self) -> bool {
        self.hot && self.cold
    }
}

/// The function under test.
#[derive(Debug, Clone, Copy)]
pub struct FunctionInfo<'a> {
    /// The target.
    pub arch: Arch,
    /// The function is marked incompatible.
    pub incompatible: bool,
    /// The architecture's limit on the score.
    pub score_limit: u64,
    /// Blocks in reverse of reverse post-order, as the caller walks them.
    pub blocks: &'a [BlockInfo<'a>],
}

/// The verdict on a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eligibility {
    /// May be scheduled for dual issue.
    Eligible {
        /// Best score of any block; the strategy is chosen when it is positive.
        benefit: u64,
    },
    /// May not, for the first reason found.
    NotEligible(Ineligible),
}

/// Why a function is not scheduled for dual issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Ineligible {
    /// The architecture issues one instruction at a time.
    #[error("the architecture does not dual-issue")]
    Architecture,
    /// The function is marked incompatible.
    #[error("the function is marked incompatible with dual issue")]
    IncompatibleFunction,
    /// A block mixes hot and cold memory instructions.
    #[error("block {block} mixes hot and cold memory instructions")]
    MixedBlock {
        /// Position in the walk.
        block: usize,
    },
    /// A block scores beyond the architecture's limit.
    #[error("block {block} scores {score}, beyond the limit of {limit}")]
    ExceedsLimit {
        /// Position in the walk.
        block: usize,
        /// Its score.
        score: u64,
        /// The limit.
        limit: u64,
    },
}

/// What temperatures a block holds.
#[must_use]
pub fn classify_block(block: &BlockInfo<'_>) -> BlockTemperature {
    let has = |t| block.instrs.iter().any(|i| i.temperature == Some(t));
    BlockTemperature { hot: has(Temperature::Hot), cold: has(Temperature::Cold) }
}

/// Checks a function and scores it.
#[must_use]
pub fn check_eligibility(function: &FunctionInfo<'_>) -> Eligibility {
    match score(function) {
        Ok(benefit) => Eligibility::Eligible { benefit },
        Err(reason) => Eligibility::NotEligible(reason),
    }
}

fn score(function: &FunctionInfo<'_>) -> Result<u64, Ineligible> {
    if !function.arch.info().dual_issue {
        return Err(Ineligible::Architecture);
    }
    if function.incompatible {
        return Err(Ineligible::IncompatibleFunction);
    }
    if let Some(block) = function.blocks.iter().position(|b| classify_block(b).is_mixed()) {
        return Err(Ineligible::MixedBlock { block });
    }
    let limit = function.score_limit;
    let (mut benefit, mut cold_total) = (0, 0);
    for (block, info) in function.blocks.iter().enumerate().filter(|(_, b)| b.edge_flags & 3 == 3) {
        let weight = |t| -> u64 {
            info.instrs.iter().filter(|i| i.temperature == Some(t)).map(MemoryInstr::weight).sum()
        };
        let (hot, cold) = (weight(Temperature::Hot), weight(Temperature::Cold));
        if hot > 0 {
            let score = hot.min(cold) + cold_total;
            benefit = benefit.max(score);
            if score > limit {
                return Err(Ineligible::ExceedsLimit { block, score, limit });
            }
        }
        cold_total += cold;
    }
    Ok(benefit)
}

impl Eligibility {
    /// Whether the dual-issue strategy is chosen: eligible with a positive score.
    #[must_use]
    pub fn chooses_strategy(self) -> bool {
        matches!(self, Self::Eligible { benefit: 1.. })
    }
}

#[cfg(test)]
mod tests {
    use Temperature::{Cold, Hot};
    use proptest::prelude::*;

    use super::*;

    const fn mem(temperature: Temperature, last_source_byte: u8) -> MemoryInstr {
        MemoryInstr { temperature: Some(temperature), last_source_byte }
    }

    const fn block(instrs: &[MemoryInstr]) -> BlockInfo<'_> {
        BlockInfo { edge_flags: 3, instrs }
    }

    fn check(blocks: &[BlockInfo<'_>]) -> Eligibility {
        check_eligibility(&FunctionInfo { arch: Arch::SM_52, incompatible: false, score_limit: 20, blocks })
    }

    const HOT: BlockInfo<'_> = block(&[mem(Hot, 0)]);
    const COLD_9: BlockInfo<'_> = block(&[mem(Cold, 7), mem(Cold, 0xF8)]);

    #[test]
    fn a_hot_block_scores_the_cold_weight_before_it() {
        assert_eq!(check(&[COLD_9, HOT]), Eligibility::Eligible { benefit: 9 });
        assert_eq!(check(&[HOT, COLD_9]), Eligibility::Eligible { benefit: 0 });
        assert!(check(&[COLD_9, HOT]).chooses_strategy());
        assert!(!check(&[HOT, COLD_9]).chooses_strategy());
        assert!(!check(&[]).chooses_strategy());
    }

    #[test]
    fn only_blocks_with_both_edges_count() {
        for edge_flags in 0..3 {
            assert_eq!(
                check(&[BlockInfo { edge_flags, ..COLD_9 }, HOT]),
                Eligibility::Eligible { benefit: 0 }
            );
            assert_eq!(
                check(&[COLD_9, BlockInfo { edge_flags, ..HOT }]),
                Eligibility::Eligible { benefit: 0 }
            );
        }
        assert_eq!(
            check(&[BlockInfo { edge_flags: 7, ..COLD_9 }, HOT]),
            Eligibility::Eligible { benefit: 9 }
        );
    }

    #[test]
    fn gates_in_order() {
        let instrs = [mem(Hot, 0), mem(Cold, 0)];
        let mixed = [block(&instrs)];
        let mut f = FunctionInfo { arch: Arch::SM_90, incompatible: true, score_limit: 0, blocks: &mixed };
        assert_eq!(check_eligibility(&f), Eligibility::NotEligible(Ineligible::Architecture));
        f.arch = Arch::SM_50;
        assert_eq!(check_eligibility(&f), Eligibility::NotEligible(Ineligible::IncompatibleFunction));
        f.incompatible = false;
        assert_eq!(check_eligibility(&f), Eligibility::NotEligible(Ineligible::MixedBlock { block: 0 }));
        // A mixed block counts even where it would not be scored.
        let skipped = [HOT, BlockInfo { edge_flags: 0, ..mixed[0] }];
        assert_eq!(check(&skipped), Eligibility::NotEligible(Ineligible::MixedBlock { block: 1 }));
    }

    #[test]
    fn limit_is_exclusive() {
        let (two, three) = ([mem(Cold, 1)], [mem(Cold, 2)]);
        let exactly = [COLD_9, COLD_9, block(&two), HOT];
        assert_eq!(check(&exactly), Eligibility::Eligible { benefit: 20 });
        let beyond = [COLD_9, COLD_9, block(&three), HOT];
        let reason = Ineligible::ExceedsLimit { block: 3, score: 21, limit: 20 };
        assert_eq!(check(&beyond), Eligibility::NotEligible(reason));
    }

    proptest! {
        #[test]
        fn the_score_never_exceeds_the_cold_weight(
            blocks in proptest::collection::vec((any::<bool>(), proptest::collection::vec(any::<u8>(), 0..5)), 0..8),
        ) {
            let owned: Vec<Vec<_>> = blocks
                .iter()
                .map(|(hot, bytes)| bytes.iter().map(|&b| mem(if *hot { Hot } else { Cold }, b)).collect())
                .collect();
            let infos: Vec<_> = owned.iter().map(|i| block(i)).collect();
            let cold: u64 = owned.iter().flatten().filter(|i| i.temperature == Some(Cold)).map(MemoryInstr::weight).sum();
            let f = FunctionInfo { arch: Arch::SM_52, incompatible: false, score_limit: u64::MAX, blocks: &infos };
            let Eligibility::Eligible { benefit } = check_eligibility(&f) else { panic!("pure blocks are eligible") };
            prop_assert!(benefit <= cold);
        }
    }
}
