//! What NVIDIA's compilers write has no hazard, so the checker finds none.
#![cfg(feature = "real-tools")]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rayon::prelude::*;
use sassafras_corpus_tests::{Item, cubins};
use sassafras_cubin::{Cubin, Sm};
use sassafras_sass::Decoder;
use sassafras_sass::program::{Program, arch_of};
use sassafras_verify::hazards::{self, Rules};

/// Findings to show in full, per architecture.
const SHOWN: usize = 10;

#[derive(Default)]
struct Tally {
    functions: usize,
    pairs: u64,
    unknown: u64,
    /// `kind: producer, consumer` to how often.
    classes: BTreeMap<String, usize>,
    findings: Vec<String>,
}

/// Whether there is a decoding table.
fn decodable(sm: Sm) -> bool {
    arch_of(sm).is_some_and(|arch| Decoder::new(arch).has_table())
}

fn check(item: &Item) -> Tally {
    let what = &item.name;
    let cubin = Cubin::parse(&item.bytes).unwrap_or_else(|e| panic!("{what}: {e}"));
    let program = Program::new(&cubin).unwrap_or_else(|e| panic!("{what}: {e}"));
    let rules = Rules::of(program.arch());
    let mut tally = Tally::default();
    for code in program.sections() {
        for routine in program.lift(code).unwrap_or_else(|e| panic!("{what}: {e}")) {
            let function = &routine.lifted.function;
            let report = hazards::check(function, rules);
            tally.functions += 1;
            tally.pairs += report.pairs;
            tally.unknown += report.unknown;
            for finding in &report.findings {
                let name = |inst| function.opcode_text(function.inst(inst).opcode);
                let class = format!(
                    "{}: {} then {}",
                    finding.kind.name(),
                    name(finding.producer),
                    name(finding.consumer)
                );
                *tally.classes.entry(class).or_default() += 1;
                let at = routine.offset(finding.consumer);
                tally.findings.push(format!(
                    "{what} {} {at:#x}: {}",
                    routine.name,
                    finding.describe(function)
                ));
            }
        }
    }
    tally
}

#[test]
fn the_corpus_has_no_hazard() {
    let items = cubins().expect("the corpus");
    let decodable: Vec<_> = items.iter().filter(|item| decodable(item.sm)).collect();
    let tallies: Vec<(Sm, Tally)> = decodable.par_iter().map(|item| (item.sm, check(item))).collect();
    let mut sums: BTreeMap<Sm, Tally> = BTreeMap::new();
    for (sm, tally) in tallies {
        let sum = sums.entry(sm).or_default();
        sum.functions += tally.functions;
        sum.pairs += tally.pairs;
        sum.unknown += tally.unknown;
        for (class, count) in tally.classes {
            *sum.classes.entry(class).or_default() += count;
        }
        sum.findings.extend(tally.findings);
    }
    let mut message = String::new();
    for (sm, sum) in &sums {
        eprintln!(
            "{sm}: {} functions, {} pairs, {} of unknown distance, {} findings",
            sum.functions,
            sum.pairs,
            sum.unknown,
            sum.findings.len()
        );
        assert!(sum.pairs > 0, "{sm}: nothing was looked at");
        if sum.findings.is_empty() {
            continue;
        }
        let _ = writeln!(message, "{sm}: {} findings", sum.findings.len());
        for (class, count) in &sum.classes {
            let _ = writeln!(message, "  {count} × {class}");
        }
        for finding in sum.findings.iter().take(SHOWN) {
            let _ = writeln!(message, "    {finding}");
        }
    }
    assert!(message.is_empty(), "{message}");
}
