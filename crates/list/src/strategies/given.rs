//! The order that somebody gave, as far as dependences allow.

use crate::strategy::{Candidates, Context, Described, Strategy};
use sassafras_problem::graph::Node;

/// Goal: an order from outside, made legal: of what can go next, what stands first in it. Cost: one key per node.
pub struct Given {
    /// By node: its place in the wanted order.
    place: Vec<u32>,
}

impl Given {
    /// For an order of all nodes of a block.
    pub fn new(order: &[u32]) -> Given {
        let mut place = vec![u32::MAX; order.len()];
        for (at, &node) in (0..).zip(order) {
            if let Some(slot) = place.get_mut(node as usize) {
                *slot = at;
            }
        }
        Given { place }
    }
}

impl Described for Given {
    const SUMMARY: &'static str = "the orders of a file, as far as dependences allow";
    const SOURCE: &'static str = "the user";
}

impl Strategy for Given {
    type Key = [i64; 2];
    const NAME: &'static str = "given";
    const COMPONENTS: &'static [&'static str] = &["given order", "source order"];

    fn candidates(&self) -> Candidates {
        Candidates::Released
    }

    fn key(&self, _: &Context<'_>, node: Node) -> [i64; 2] {
        let place = self.place.get(node.index()).copied().unwrap_or(u32::MAX);
        [-i64::from(place), -i64::from(node.0)]
    }
}
