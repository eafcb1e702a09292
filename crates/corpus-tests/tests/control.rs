//! Control fields made anew: for the code of the corpus as it stands, with the fields of the compiler thrown away, and for
//! nearly all of it the independent checker finds nothing.
#![cfg(feature = "real-tools")]

use std::collections::BTreeMap;

use rayon::prelude::*;
use sassafras_corpus_tests::{Item, cubins};
use sassafras_cubin::{Capsules, CodeEdit, Cubin, RewriteOptions};
use sassafras_ir::Effects;
use sassafras_sass::program::Program;
use sassafras_tepid::{Code, Original, rebuild};
use sassafras_verify::hazards::{Rules, check};

/// Instructions seen and rebuilt, by architecture.
type Tally = BTreeMap<String, (usize, usize)>;

/// Rebuilds the fields of every section that is understood. Returns how many instructions have fields that verify.
fn rebuilt(item: &Item, tally: &mut Tally) {
    let Ok(cubin) = Cubin::parse(&item.bytes) else { return };
    let Ok(program) = Program::new(&cubin) else { return };
    let mut edits: Vec<(CodeEdit, usize)> = Vec::new();
    let counts = tally.entry(program.arch().to_string()).or_default();
    for section in cubin.code() {
        let Ok(routines) = program.lift(section) else { continue };
        let mut edit = CodeEdit::unchanged(section);
        let mut size = 0;
        let done = routines.iter().all(|routine| {
            let f = &routine.lifted.function;
            let insts = || f.blocks().flat_map(|block| f.block_insts(block));
            size += insts().count();
            if insts().any(|&inst| f.inst(inst).effects.contains(Effects::OPAQUE)) {
                return false;
            }
            let code = Code::new(f, &routine.lifted.sources, program.arch());
            let Ok(fields) = rebuild(&code, &Original::new(&code)) else { return false };
            for &inst in insts() {
                let slot = routine.slot(inst) as usize;
                edit.words[slot] = fields[inst.as_u32() as usize].insert(edit.words[slot]);
            }
            true
        });
        counts.0 += size;
        if done {
            edits.push((edit, size));
        }
    }
    let all: Vec<CodeEdit> = edits.iter().map(|(edit, _)| edit.clone()).collect();
    let Ok(new) = cubin.rewrite_with(&all, RewriteOptions { capsules: Capsules::Keep }) else { return };
    let new = Cubin::parse(&new).expect("the writer's own output");
    let program = Program::new(&new).expect("the same machine");
    let rules = Rules::of(program.arch());
    for (edit, size) in &edits {
        let section = new.code().iter().find(|code| code.section == edit.section).expect("still there");
        let routines = program.lift(section).expect("lifts as before");
        if routines.iter().all(|routine| check(&routine.lifted.function, rules).findings.is_empty()) {
            counts.1 += size;
        }
    }
}

#[test]
fn rebuilt_control_fields_verify() {
    let items = cubins().expect("the corpus");
    let tallies: Vec<Tally> = items
        .par_iter()
        .map(|item| {
            let mut tally = Tally::new();
            rebuilt(item, &mut tally);
            tally
        })
        .collect();
    let mut all = Tally::new();
    for (arch, (seen, rebuilt)) in tallies.into_iter().flatten() {
        let sum = all.entry(arch).or_default();
        *sum = (sum.0 + seen, sum.1 + rebuilt);
    }
    let share = |(seen, rebuilt): (usize, usize)| rebuilt as f64 / seen.max(1) as f64;
    let report: Vec<String> =
        all.iter().map(|(arch, &sum)| format!("{arch} {:.1} %", 100.0 * share(sum))).collect();
    assert!(all.contains_key("sm_90"), "{report:?}");
    for (arch, &sum) in all.iter().filter(|(_, sum)| sum.0 > 1000) {
        assert!(share(sum) >= 0.99, "{arch}: {report:?}");
    }
}
