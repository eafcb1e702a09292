//! A random legal order.

use crate::strategy::{Candidates, Context, Described, Strategy};
use sassafras_problem::graph::Node;

/// Goal: any legal order, another one for every seed. If a dependence is missing, results break under some seed: a test
/// of everything else.
#[derive(Clone, Copy, Debug)]
pub struct Shuffle {
    /// Chooses the order.
    pub seed: u64,
}

impl Described for Shuffle {
    const SUMMARY: &'static str = "a random legal order";
    const SOURCE: &'static str = "a test of dependences";
}

impl Strategy for Shuffle {
    type Key = [i64; 1];
    const NAME: &'static str = "shuffle";
    const COMPONENTS: &'static [&'static str] = &["random"];

    fn candidates(&self) -> Candidates {
        Candidates::Released
    }

    fn key(&self, _: &Context<'_>, node: Node) -> [i64; 1] {
        // Two rounds of a 64-bit finaliser: nearby seeds and nodes must not look alike.
        let mixed = mix(mix(self.seed ^ 0x5EED) ^ u64::from(node.0));
        [mixed as i64]
    }
}

fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
