//! Goal: in a recurrence the value that goes around the loop is the first operand.
//!
//! What carries a value around the loop and what it is computed from, up to `recurrence-chain-limit` instructions, form a chain; a commutative
//! instruction of it that reads a value of the chain second, and something else first, exchanges the two. Products and sums that
//! ptxas may fuse stay as they are: which of them it fuses may depend on it.
//!
//! Cost: a dependence graph per loop of one block. Source: the list-schedulers document (operand commutation).

use rustc_hash::FxHashSet;
use sassafras_deps::latency::UnitLatency;
use sassafras_deps::{BuildOptions, build};
use sassafras_ir::cfg::Cfg;
use sassafras_list::register_cycles::RegisterCycles;
use sassafras_ptx::syntax::{AtomKind, Operand};
use sassafras_ptx::{InstId, Lowered, Module, contraction};

/// The instructions of a function whose commuting operands should change places.
pub fn recurrences(module: &Module, lowered: &Lowered, limit: u32) -> Vec<InstId> {
    let f = &lowered.function;
    let cfg = Cfg::new(f);
    let mut found = Vec::new();
    for block in f.blocks().filter(|block| cfg.succs(*block).contains(block)) {
        let insts = f.block_insts(block);
        let graph = build(f, insts, &UnitLatency, BuildOptions { carried: true });
        for chain in RegisterCycles::new(&graph, limit).chains() {
            let of = |node: &sassafras_deps::Node| lowered.inst(insts[node.index()]);
            let written: FxHashSet<Register> = chain
                .iter()
                .filter_map(|node| register(module, module.operands(of(node)?).first()?))
                .collect();
            for node in chain.iter().filter(|node| !contraction::may_fuse(f, insts[node.index()])) {
                let Some(inst) = of(node) else { continue };
                let Some([first, second]) = module.commuting(inst) else { continue };
                let operands = module.operands(inst);
                let goes_round =
                    |at: usize| register(module, &operands[at]).is_some_and(|r| written.contains(&r));
                if goes_round(second) && !goes_round(first) {
                    found.push(inst);
                }
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// A register as its declaration and its number there.
type Register = (usize, u64);

/// The register that an operand is, if it is one and nothing else.
fn register(module: &Module, operand: &Operand) -> Option<Register> {
    match module.atoms(operand) {
        [atom] => match atom.kind {
            AtomKind::Register { register, index, element: None } => Some((register.index(), index.into())),
            _ => None,
        },
        _ => None,
    }
}
