//! What of a loop's dependences stays when its iterations overlap.

use crate::build::only_ends_block;
use crate::graph::{EdgeKind, Graph};
use sassafras_ir::{Function, Inst};

/// Which registers the overlapping iterations have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registers {
    /// Those of the code: a value must have been read before the next iteration writes its register.
    AsTheyAre,
    /// As many as it takes: no write waits for a read or a write of the register.
    Renamed,
}

/// The graph of a loop's body (`insts`, built with [`carried`](crate::BuildOptions::carried)) for whoever lets its
/// iterations overlap.
///
/// The branch that closes the loop stands at the end of a kernel whatever iterations the kernel has begun: instructions
/// need not come before it, and it stays tied only to what it reads. Calls and opaque instructions keep their place.
#[must_use]
pub fn overlapping(graph: &Graph, f: &Function, insts: &[Inst], registers: Registers) -> Graph {
    let closing = insts.last().filter(|&&inst| only_ends_block(f.inst(inst).effects));
    let closing = closing.map(|_| insts.len() - 1);
    let stays = |e: &crate::Edge| match e.kind {
        EdgeKind::Control => {
            ![Some(e.from.index()), Some(e.to.index())].contains(&closing) || closing.is_none()
        }
        EdgeKind::War | EdgeKind::Waw => registers == Registers::AsTheyAre,
        _ => true,
    };
    let kept = (0..).zip(graph.edges()).filter(|(_, e)| stays(e)).map(|(at, _)| at);
    graph.with_edges(&kept.collect::<Vec<u32>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cyclic::critical_recurrence;
    use crate::latency::UnitLatency;
    use crate::{BuildOptions, build};
    use sassafras_ir::text;

    fn kinds(source: &str, registers: Registers) -> Vec<EdgeKind> {
        let module = text::parse(source).expect("a right text");
        let f = &module.functions[0];
        let insts = f.block_insts(f.blocks().next().expect("a block"));
        let graph = build(f, insts, &UnitLatency, BuildOptions { carried: true });
        let graph = overlapping(&graph, f, insts, registers);
        let mut kinds: Vec<EdgeKind> = graph.edges().iter().map(|e| e.kind).collect();
        kinds.sort();
        kinds.dedup();
        kinds
    }

    const LOOP: &str = "func f sm_90 {
^a:
  R4 = LDG global.4[R0]
  R0 = IADD3 R0, 4
  R5 = FADD R4, R4
  shared.4[R2] = STS R5
  P0 = ISETP R0, R9
  @P0 BRA ^a !branch
}
";

    #[test]
    fn the_closing_branch_orders_nothing_and_registers_may() {
        use EdgeKind::{Memory, Raw, War, Waw};
        assert_eq!(kinds(LOOP, Registers::AsTheyAre), [Raw, War, Waw, Memory]);
        assert_eq!(kinds(LOOP, Registers::Renamed), [Raw, Memory]);
        // A call is no closing branch.
        let call = LOOP.replace("!branch", "!call");
        assert!(kinds(&call, Registers::Renamed).contains(&EdgeKind::Control));
    }

    #[test]
    fn one_iteration_is_no_bound_of_the_next() {
        let module = text::parse(LOOP).expect("a right text");
        let f = &module.functions[0];
        let insts = f.block_insts(f.blocks().next().expect("a block"));
        let graph = build(f, insts, &UnitLatency, BuildOptions { carried: true });
        // The address alone goes around; with the branch at the end of its iteration the whole way does.
        let free = overlapping(&graph, f, insts, Registers::Renamed);
        assert_eq!(critical_recurrence(&free).map(|r| r.cycles()), Some(1));
    }
}
