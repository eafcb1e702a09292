//! PTX: any text ends in a module or in an error with a place; a module prints as it was read, its blocks take any order and give it
//! back, and its functions lower to sound IR with dependence graphs.

use sassafras_deps::latency::UnitLatency;
use sassafras_deps::{BuildOptions, build};
use sassafras_ir::verify;
use sassafras_ptx::{Module, lower};

/// Graphs are built of functions up to this size, to keep the fuzzer fast.
const MAX_INSTS: usize = 200;

/// Parses; on success prints, reverses every block and takes that back, lowers and builds graphs.
pub fn ptx(data: &[u8]) -> bool {
    let Ok(source) = std::str::from_utf8(data) else {
        return false;
    };
    let mut module = match Module::parse(source) {
        Ok(module) => module,
        Err(error) => {
            assert!(error.line >= 1 && error.column >= 1, "{error}");
            assert!(error.span.start <= error.span.end && error.span.end <= source.len(), "{error}");
            assert!(!error.render("input", source, false).is_empty());
            return false;
        }
    };
    assert_eq!(module.print(), source);
    for function in module.functions().iter().filter(|f| f.has_body()) {
        let Ok(lowered) = lower(&module, function) else { continue };
        let f = &lowered.function;
        assert_eq!(verify::verify(f), Ok(()));
        if f.inst_count() <= MAX_INSTS {
            for block in f.blocks() {
                let insts = f.block_insts(block);
                assert_eq!(build(f, insts, &UnitLatency, BuildOptions::default()).inst_count(), insts.len());
            }
        }
    }
    reorder(&mut module, source);
    true
}

fn reorder(module: &mut Module, source: &str) {
    let old: Vec<_> = module.blocks().map(|block| (block, module.order(block))).collect();
    for (block, order) in &old {
        let reversed: Vec<_> = order.iter().rev().copied().collect();
        module.reorder(*block, &reversed).expect("a permutation");
    }
    let printed = module.print();
    match Module::parse(&printed) {
        Ok(again) => assert_eq!(again.inst_count(), module.inst_count()),
        Err(error) => panic!("moved text does not parse:\n{}", error.render("printed", &printed, false)),
    }
    for (block, order) in old {
        module.reorder(block, &order).expect("the old order");
    }
    assert_eq!(module.print(), source);
}
