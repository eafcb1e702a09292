//! Goal: the code on the page, block by block, with stalls as bars, and what each instruction waits for.
//!
//! Where a page has no room for all of it, the blocks of the deepest loops are shown.
//!
//! Cost: linear. Source: the rows of the analysis.

use super::show;
use askama::Template;
use sassafras_analyze::Kernel;
use sassafras_analyze::blocks::BlockReport;
use sassafras_analyze::table::Row;

#[derive(Template)]
#[template(path = "listing.html")]
pub struct Listing<'a> {
    blocks: Vec<(Option<&'a BlockReport>, Vec<&'a Row>)>,
    shown: usize,
    all: usize,
}

impl<'a> Listing<'a> {
    /// Of so many instructions at most.
    pub fn new(kernel: &'a Kernel, most: usize) -> Listing<'a> {
        let report = |row: &Row| kernel.blocks.get(row.block as usize);
        let mut blocks: Vec<(Option<&BlockReport>, Vec<&Row>)> = (kernel.instructions)
            .chunk_by(|a, b| a.block == b.block)
            .map(|rows| (report(&rows[0]), rows.iter().collect()))
            .collect();
        // The deepest have the first claim on the room that there is.
        let mut order: Vec<usize> = (0..blocks.len()).collect();
        order.sort_by_key(|&at| std::cmp::Reverse(blocks[at].0.map_or(0, |block| block.depth)));
        let mut left = most;
        for at in order {
            let rows = &mut blocks[at].1;
            rows.truncate(left);
            left -= rows.len();
        }
        blocks.retain(|(_, rows)| !rows.is_empty());
        let shown = blocks.iter().map(|(_, rows)| rows.len()).sum();
        Listing { blocks, shown, all: kernel.instructions.len() }
    }

    fn sets(row: &Row) -> String {
        let sets = [("W", row.sets[0]), ("R", row.sets[1])];
        let sets = sets.iter().filter_map(|(name, board)| board.map(|board| format!("{name}{board}")));
        sets.collect::<Vec<_>>().join(" ")
    }

    fn waits(row: &Row) -> String {
        let wait = |wait: &sassafras_analyze::table::Wait| {
            let by: Vec<String> = wait.set_by.iter().map(|offset| format!("{offset:04x}")).collect();
            let by = if by.is_empty() { "an earlier block".to_owned() } else { by.join(" ") };
            format!("SB{} ← {by}", wait.board)
        };
        row.waits.iter().map(wait).collect::<Vec<_>>().join(", ")
    }

    fn latency(row: &Row) -> String {
        let varies = if row.varies && row.latency.is_some() { "~" } else { "" };
        row.latency.map_or_else(String::new, |latency| format!("{varies}{latency}"))
    }

    /// A bar of at most 48 pixels: lost cycles reach from one to hundreds.
    fn lost_bar(lost: &u32) -> u32 {
        *lost.min(&48)
    }
}
