//! Dependence graphs of the blocks of verified functions: longest paths are those of the pairwise oracle.

use sassafras_deps::cyclic::critical_recurrence;
use sassafras_deps::latency::UnitLatency;
use sassafras_deps::paths::Paths;
use sassafras_deps::{BuildOptions, build, oracle};
use sassafras_ir::{Function, Inst, text, verify};

/// Larger functions are left alone, to keep the fuzzer fast.
const MAX_INSTS: usize = 200;
/// The oracle is cubic: it judges blocks below this size only.
const MAX_ORACLE: usize = 40;

/// Parses text IR and builds the graph of every block.
pub fn dep_graph(data: &[u8]) -> bool {
    let Some(module) = std::str::from_utf8(data).ok().and_then(|source| text::parse(source).ok()) else {
        return false;
    };
    let mut built = false;
    for f in &module.functions {
        if f.inst_count() < MAX_INSTS && verify::verify(f).is_ok() {
            for block in f.blocks() {
                check(f, f.block_insts(block));
                built = true;
            }
        }
    }
    built
}

fn check(f: &Function, insts: &[Inst]) {
    for carried in [false, true] {
        let options = BuildOptions { carried };
        let graph = build(f, insts, &UnitLatency, options);
        assert_eq!(graph.inst_count(), insts.len());
        let paths = Paths::new(&graph);
        for node in graph.insts() {
            assert!(paths.depth(node) + paths.height(node) <= paths.critical_length());
        }
        if let Some(recurrence) = critical_recurrence(&graph) {
            assert!(carried && recurrence.distance > 0);
        }
        if insts.len() < MAX_ORACLE {
            assert_eq!(
                oracle::closure_of(&graph),
                oracle::closure(f, insts, &UnitLatency, options),
                "longest paths, carried: {carried}"
            );
        }
    }
}
