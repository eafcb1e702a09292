//! Loops of real tile programs become scheduling problems that can be scheduled, or say why not.
#![cfg(feature = "real-tools")]

use rayon::prelude::*;
use sassafras_corpus_tests::tile::{TileItem, texts};
use sassafras_tile::{Options, generate, materialise};
use sassafras_tileir::cuda::Module;
use sassafras_tileir::lower::{Lowered, Model, lower};
use sassafras_tileir::program::{Program, Storage, parse, print};
use sassafras_tileir::scheduled::Strategy;
use std::collections::BTreeSet;

const ARCHITECTURES: [u32; 3] = [80, 90, 100];

/// Loops that are not lowered: program, architecture (0 for all), words of the reason.
const NOT_LOWERED: [(&str, u32, &str); 6] = [
    ("convolution", 0, "a loop inside"),
    ("matmul_persistent", 0, "a loop inside"),
    ("matmul_fp8", 80, "the matrix units of sm_80 do not take `f8E4M3FN`"),
    ("matmul_scaled", 80, "the matrix units of sm_80 do not take scales"),
    ("matmul_scaled", 90, "the matrix units of sm_90 do not take scales"),
    ("newton", 0, "`loop` is left by a condition"),
];

/// Programs that cannot be scheduled: program, architecture, words of the reason.
///
/// Tiles of 128x128 are whole in registers here, one for every step of the arithmetic: more than a block has.
const NOT_SCHEDULED: [(&str, &str, &str); 1] =
    [("attention_causal", "sm_80", "fails to assign register buffers: 297988 bytes are needed")];

fn items() -> Vec<TileItem> {
    texts().expect("the corpus")
}

fn lowered(item: &TileItem, arch: u32, model: Model) -> Vec<Lowered> {
    lower(&Module::parse(&item.text).expect("parsed elsewhere"), arch, model)
}

#[test]
fn every_loop_is_lowered_or_says_why_not() {
    let mut reasons: BTreeSet<usize> = BTreeSet::new();
    let mut programs = 0;
    for item in items() {
        for arch in ARCHITECTURES {
            for model in [Model::Hardware, Model::Documented] {
                let loops = lowered(&item, arch, model);
                assert!(!loops.is_empty(), "{}", item.kernel);
                for found in &loops {
                    let place = format!("{} line {} sm_{arch}", found.entry, found.line);
                    match &found.program {
                        Ok(program) => {
                            programs += 1;
                            program.check().unwrap_or_else(|e| panic!("{place}: {e}"));
                            let text = print(program);
                            let again = parse(&text).unwrap_or_else(|e| panic!("{place}: {e}\n{text}"));
                            assert_eq!(again, std::slice::from_ref(program), "{place}");
                        }
                        Err(error) => {
                            let known = NOT_LOWERED.iter().position(|(kernel, of, why)| {
                                *kernel == item.kernel
                                    && [0, arch].contains(of)
                                    && error.to_string().contains(why)
                            });
                            reasons.insert(known.unwrap_or_else(|| panic!("{place}: {error}")));
                        }
                    }
                }
            }
        }
    }
    assert!(programs > 0);
    assert_eq!(reasons.len(), NOT_LOWERED.len(), "reasons that are none any more: {reasons:?}");
}

/// Debug information changes lines, and nothing else.
#[test]
fn places_in_the_source_change_nothing() {
    let all = items();
    for item in all.iter().filter(|item| !item.debug) {
        let debug = all.iter().find(|other| other.debug && other.kernel == item.kernel).expect("both");
        for arch in ARCHITECTURES {
            let programs = |item: &TileItem| -> Vec<Option<Program>> {
                lowered(item, arch, Model::Hardware).into_iter().map(|l| l.program.ok()).collect()
            };
            let (plain, with_places) = (programs(item), programs(debug));
            assert_eq!(plain.len(), with_places.len());
            for (a, b) in plain.iter().zip(&with_places) {
                let shape =
                    |p: &Program| p.ops.values().map(|o| (o.kind.clone(), o.latency)).collect::<Vec<_>>();
                assert_eq!(a.as_ref().map(shape), b.as_ref().map(shape), "{}", item.kernel);
            }
        }
    }
}

/// Every program can be scheduled and materialised. What came out is written to the file that `SASSAFRAS_TABLE` names.
#[test]
fn lowered_loops_are_scheduled() {
    let mut cases = Vec::new();
    for item in items().into_iter().filter(|item| !item.debug) {
        for arch in ARCHITECTURES {
            for found in lowered(&item, arch, Model::Hardware) {
                let Ok(program) = found.program else { continue };
                cases.extend(Strategy::ALL.map(|strategy| (program.clone(), strategy)));
            }
        }
    }
    let lines: Vec<Result<String, String>> = cases
        .par_iter()
        .map(|(program, strategy)| {
            let arch = program.arch.as_deref().unwrap_or("");
            let place = format!("{} {arch} {}", program.name, strategy.word());
            let options = Options { strategy: *strategy, ..Options::default() };
            let generated = generate(program, &options).map_err(|e| format!("{place}: generate: {e}"))?;
            let scheduled =
                materialise(program, &generated, &options).map_err(|e| format!("{place}: materialise: {e}"))?;
            let a = &generated.analysis;
            Ok(format!(
                "{:<20} {arch:<7} {:<16} {:>3} ops  MII {:>6}  II {:>6}  {:>2} stages  {:>7} shared  {:>6} tensor  {:>7} register  {}  agents {}  [{}] cut {}",
                program.name,
                strategy.word(),
                program.ops.len(),
                a.mii.most(),
                a.ii,
                a.stages,
                scheduled.bytes(Storage::Shared),
                scheduled.bytes(Storage::Tensor),
                scheduled.bytes(Storage::Register),
                a.generator.word(),
                scheduled.agents.len(),
                a.bound,
                a.constraint_iterations,
            ))
        })
        .collect();
    let (mut table, mut failures) = (String::new(), Vec::new());
    for line in lines {
        match line {
            Ok(line) => table.push_str(&format!("{line}\n")),
            Err(error) => failures.push(error),
        }
    }
    if let Some(path) = std::env::var_os("SASSAFRAS_TABLE") {
        std::fs::write(path, &table).expect("a place for the table");
    }
    let known = |error: &String| {
        NOT_SCHEDULED
            .iter()
            .any(|(name, arch, why)| error.starts_with(&format!("{name} {arch} ")) && error.contains(why))
    };
    let (expected, failures): (Vec<String>, Vec<String>) = failures.into_iter().partition(known);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(expected.len(), NOT_SCHEDULED.len() * Strategy::ALL.len(), "reasons that are none any more");
}
