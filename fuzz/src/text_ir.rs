//! The text IR: any text ends in a function or in an error with a place, and what was parsed survives printing.

use sassafras_ir::cfg::Cfg;
use sassafras_ir::dominators::Dominators;
use sassafras_ir::liveness::Liveness;
use sassafras_ir::loops::Loops;
use sassafras_ir::{Function, pressure, text, verify};

/// Analyses run on functions up to this size, to keep the fuzzer fast.
const MAX_INSTS: usize = 500;

/// Parses; on success prints, parses again, compares, verifies and analyses.
pub fn text_ir(data: &[u8]) -> bool {
    let Ok(source) = std::str::from_utf8(data) else {
        return false;
    };
    let module = match text::parse(source) {
        Ok(module) => module,
        Err(error) => {
            assert!(error.line >= 1 && error.column >= 1, "{error}");
            assert!(error.span.start <= error.span.end && error.span.end <= source.len(), "{error}");
            assert!(!error.render("input", source, false).is_empty());
            return false;
        }
    };
    let printed = text::print(&module);
    let again = match text::parse(&printed) {
        Ok(again) => again,
        Err(error) => panic!("own output does not parse:\n{}", error.render("printed", &printed, false)),
    };
    assert_eq!(text::print(&again), printed);
    for (first, second) in module.functions.iter().zip(&again.functions) {
        assert_eq!(format!("{first:?}"), format!("{second:?}"), "printing lost something");
    }
    for f in &module.functions {
        match verify::verify(f) {
            Ok(()) if f.inst_count() <= MAX_INSTS => analyse(f),
            Ok(()) => {}
            Err(broken) => assert!(broken.iter().all(|b| !b.to_string().is_empty())),
        }
    }
    true
}

fn analyse(f: &Function) {
    let cfg = Cfg::new(f);
    let doms = Dominators::new(f, &cfg);
    let loops = Loops::new(f, &cfg, &doms);
    let Ok(live) = Liveness::new(f, &cfg) else {
        return;
    };
    for block in f.blocks().filter(|&b| cfg.is_reachable(b)) {
        assert!(doms.dominates(block, block));
        if let Some(id) = loops.innermost(block) {
            assert!(doms.dominates(loops.header(id), block));
        }
        for &succ in cfg.succs(block) {
            assert!(cfg.preds(succ).contains(&block));
            let out: Vec<_> = live.live_out(block).collect();
            assert!(live.live_in(succ).all(|lane| out.contains(&lane)));
        }
    }
    pressure::peak(f, &live);
}
