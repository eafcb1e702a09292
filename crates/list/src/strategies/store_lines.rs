//! Stores of a line together.

use super::Original;
use crate::strategy::{Candidates, Context, Described, Strategy};
use sassafras_problem::graph::Node;

/// Goal: a line of memory is written at once; all else stays in its order. The graph that machine code is ordered by has edges that hold
/// the stores of a line together, so source order is all that is left to say. Cost: one key per node.
pub struct StoreLines;

impl Described for StoreLines {
    const SUMMARY: &'static str = "the original order, with stores to the same line of memory together";
    const SOURCE: &'static str = "measured on an H200";
}

impl Strategy for StoreLines {
    type Key = [i64; 0];
    const NAME: &'static str = "store-lines";
    const COMPONENTS: &'static [&'static str] = Original::COMPONENTS;

    fn candidates(&self) -> Candidates {
        Original.candidates()
    }

    fn key(&self, context: &Context<'_>, node: Node) -> [i64; 0] {
        Original.key(context, node)
    }
}
