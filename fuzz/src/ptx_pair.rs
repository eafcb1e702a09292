//! Two PTX modules against each other: any two end in a verdict, a module is a legal reordering of itself, and what is refused is said in words.

use sassafras_ptx::Module;
use sassafras_verify::ptx::{Comparison, Options, compare};

/// Stands between two modules in one input; without it a module is compared with what edits make of it.
const BETWEEN: &str = "// ----\n";
/// Modules up to this size are compared, to keep the fuzzer fast.
const MAX_INSTS: usize = 400;

/// Parses one module or two and compares.
pub fn ptx_pair(data: &[u8]) -> bool {
    let Ok(source) = std::str::from_utf8(data) else {
        return false;
    };
    let (old, new) = match source.split_once(BETWEEN) {
        Some((old, new)) => (Module::parse(old), Module::parse(new)),
        None => (Module::parse(source), Module::parse(source)),
    };
    let (Ok(old), Ok(mut new)) = (old, new) else {
        return false;
    };
    if old.inst_count().max(new.inst_count()) > MAX_INSTS {
        return true;
    }
    for module in [&old, &new] {
        let found = compare(module, module, Options::default());
        assert_eq!((found.differences, found.report.moved, found.report.renamed), (Vec::new(), 0, 0));
    }
    told(&compare(&old, &new, Options::default()));
    edit(&mut new);
    told(&compare(&old, &new, Options { rounding: false }));
    true
}

/// Reverses every block and exchanges all operands that commute.
fn edit(module: &mut Module) {
    let blocks: Vec<_> = module.blocks().collect();
    for block in blocks {
        let mut order = module.order(block);
        for &inst in &order {
            assert_eq!(module.commute(inst).is_ok(), module.is_commuted(inst));
        }
        order.reverse();
        module.reorder(block, &order).expect("a permutation");
    }
}

fn told(found: &Comparison) {
    assert!(
        found.report.moved <= found.report.instructions && found.report.renamed <= found.report.instructions
    );
    found.differences.iter().for_each(|illegal| assert!(!illegal.to_string().is_empty()));
}
