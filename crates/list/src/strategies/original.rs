//! Keeps the order.

use crate::strategy::{Candidates, Context, Strategy};
use sassafras_problem::graph::Node;

/// Goal: the order that the code came in. The baseline of every comparison, and the answer when nothing is better.
#[derive(Clone, Copy, Debug, Default)]
pub struct Original;

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
