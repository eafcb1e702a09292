//! Goal: whether there is arithmetic enough to hide transfers and epilogues behind.
//!
//! The reference is the hottest loop of arithmetic (of multiply-accumulates before any other): its cycles over those of a loop of transfers,
//! or of an epilogue; once with the cycles of one warp alone (*wait*), once with those per warp when all overlap (*tepid*).
//!
//! Cost: linear. Source: the ptxas-scheduling document names the four ratios. Epilogues have budgets divided by a count that only the
//! compiler knows; here it is one.

use crate::blocks::BlockReport;
use crate::rounded;
use sassafras_tepid::classify::Class;
use serde::Serialize;

/// How a block stands to the loop of arithmetic.
#[derive(Clone, Debug, Serialize)]
pub struct Ratios {
    /// The block that is compared.
    pub block: u32,
    /// What it does.
    pub class: Class,
    /// The block of the loop of arithmetic.
    pub against: u32,
    /// `MathToDmaWaitRatio` or `MathToEpilogueWaitRatio`.
    pub wait_name: &'static str,
    /// Cycles alone over cycles alone.
    pub wait: f64,
    /// `MathToDmaTepidRatio` or `MathToEpilogueTepidRatio`.
    pub tepid_name: &'static str,
    /// Cycles per warp over cycles per warp.
    pub tepid: f64,
}

/// The ratios of all loops of transfers and all epilogues. Empty where no loop does arithmetic.
pub fn ratios(blocks: &[BlockReport]) -> Vec<Ratios> {
    let math = blocks.iter().filter(|block| matches!(block.class, Class::Mac | Class::Math));
    let hottest = math.max_by_key(|block| (block.depth, block.class == Class::Mac, block.instructions));
    let Some(math) = hottest else { return Vec::new() };
    let over = |a: f64, b: f64| if b > 0.0 { rounded(a / b) } else { 0.0 };
    let compared = |block: &BlockReport| {
        let (wait_name, tepid_name) = match block.class {
            Class::Dma => ("MathToDmaWaitRatio", "MathToDmaTepidRatio"),
            Class::Epilogue => ("MathToEpilogueWaitRatio", "MathToEpilogueTepidRatio"),
            _ => return None,
        };
        Some(Ratios {
            block: block.block,
            class: block.class,
            against: math.block,
            wait_name,
            wait: over(math.time, block.time),
            tepid_name,
            tepid: over(math.tepid_time, block.tepid_time),
        })
    };
    blocks.iter().filter_map(compared).collect()
}
