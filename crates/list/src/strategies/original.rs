//! Keeps the order.

use crate::strategy::{Candidates, Context, Described, Strategy};
use sassafras_problem::graph::Node;

/// Goal: the order that the code came in. The baseline of every comparison, and the answer when nothing is better.
#[derive(Clone, Copy, Debug, Default)]
pub struct Original;

impl Described for Original {
    const SUMMARY: &'static str = "keep the order";
    const SOURCE: &'static str = "the baseline";
}

impl Strategy for Original {
    type Key = [i64; 0];
    const NAME: &'static str = "original";
    const COMPONENTS: &'static [&'static str] = &[];

    fn candidates(&self) -> Candidates {
        Candidates::Released
    }

    fn key(&self, _: &Context<'_>, _: Node) -> [i64; 0] {
        []
    }
}
