//! The order as it came, backwards as far as dependences allow.

use sassafras_deps::Node;
use sassafras_list::{Candidates, Context, Strategy};

/// Goal: an order as far from the one that came as can be, to find faults. Priority: the last of the source. Cost: one key per
/// node. Source: the ptxas-scheduling document's debug switches.
pub struct Reverse;

impl Strategy for Reverse {
    type Key = [i64; 1];
    const NAME: &'static str = "reverse";
    const COMPONENTS: &'static [&'static str] = &["last of the source"];

    fn candidates(&self) -> Candidates {
        Candidates::Released
    }

    fn key(&self, _: &Context<'_>, node: Node) -> [i64; 1] {
        [i64::from(node.0)]
    }
}
