//! The longest path first, and of equally long ones what needs fewest registers.

use crate::pressure::Pressure;
use crate::strategy::{Candidates, Context, Described, Strategy};
use crate::values::Values;
use sassafras_problem::graph::{Graph, Node};

/// Goal: a schedule as short as that of `critical-path`, with fewer registers live at once. Growing from the end, of what can go next
/// first what has the longest path behind it from the beginning of the block.
///
/// Priorities: the longest path still to go; the least growth of registers in use; source order. In code with many equal paths
/// (unrolled loops) the second decides most picks. Cost: O(log n) per pick and operand.
#[derive(Clone, Debug)]
pub struct CriticalPathRegisters<'v> {
    pressure: Pressure<'v>,
}

impl<'v> CriticalPathRegisters<'v> {
    /// For a block.
    pub fn new(graph: &Graph, values: &'v Values) -> CriticalPathRegisters<'v> {
        CriticalPathRegisters { pressure: Pressure::new(graph, values) }
    }
}

impl Described for CriticalPathRegisters<'_> {
    const SUMMARY: &'static str = "the longest path first, and of equal ones what needs fewest registers";
    const SOURCE: &'static str = "the classic list scheduler, with list-burr's growth of registers";
}

impl Strategy for CriticalPathRegisters<'_> {
    type Key = [i64; 2];
    const NAME: &'static str = "critical-path-registers";
    const COMPONENTS: &'static [&'static str] = &["critical path", "registers freed"];

    fn candidates(&self) -> Candidates {
        Candidates::Ready
    }

    fn begin(&mut self, _: &Context<'_>, region: usize, _: &[Node]) {
        self.pressure.begin(region);
    }

    fn key(&self, context: &Context<'_>, node: Node) -> [i64; 2] {
        [context.to_go(node) as i64, -self.pressure.delta(node)]
    }

    fn placed(&mut self, _: &Context<'_>, node: Node, cycle: u64, changed: &mut Vec<Node>) {
        self.pressure.placed(node, cycle, changed);
    }
}
