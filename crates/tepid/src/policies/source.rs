//! The order as it came.

use sassafras_deps::Node;
use sassafras_list::{Candidates, Context, Strategy};

/// Goal: nothing but what the graph adds to the order that came: stores of a line together. Priority: source order. Cost: one key per
/// node.
pub struct Source;

impl Strategy for Source {
    type Key = [i64; 1];
    const NAME: &'static str = "store-lines";
    const COMPONENTS: &'static [&'static str] = &["source order"];
    const CANDIDATES: Candidates = Candidates::Released;

    fn key(&self, _: &Context<'_>, node: Node) -> [i64; 1] {
        [-i64::from(node.0)]
    }
}
