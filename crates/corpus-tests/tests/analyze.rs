//! The analysis of real code: texts that people have looked at, numbers that add up, and none that the JSON does not have.
#![cfg(feature = "real-tools")]

use rayon::prelude::*;
use sassafras_analyze::critical::Cause;
use sassafras_analyze::steady::Cycles;
use sassafras_analyze::trace::Traced;
use sassafras_analyze::{Kernel, LoopReport, Subject, analyze};
use sassafras_corpus_tests::{Item, Origin, cubins};
use sassafras_cubin::{Cubin, Sm, Variant};
use sassafras_ir::{Inst, Payload};
use sassafras_machine::multiprocessor::Launch;
use sassafras_report::text::{self, Parts, View};
use sassafras_sass::print::Printer;
use sassafras_sass::program::{Program, Routine};
use sassafras_tepid::Code;
use std::collections::HashSet;
use std::path::Path;

/// Kernels of ours whose texts are kept, compiled for sm_90.
const KEPT: [&str; 5] = ["nbody", "sgemm_tile128", "gemm_async", "stencil_f64", "reduce"];

fn kernels(item: &Item) -> Vec<Kernel> {
    let cubin = Cubin::parse(&item.bytes).unwrap_or_else(|error| panic!("{}: {error}", item.name));
    let Ok(program) = Program::new(&cubin) else { return Vec::new() };
    let mut found = Vec::new();
    for code in program.sections() {
        let threads = code.required_threads.or(code.max_threads).map(|size| size.iter().product());
        let launch = Launch { registers: code.registers, threads, shared: code.shared_bytes, blocks: None };
        let printer = Printer::new(program.arch());
        for routine in program.lift(code).unwrap_or_else(|error| panic!("{}: {error}", item.name)) {
            found.push(kernel(&program, &routine, &printer, launch));
        }
    }
    found
}

fn kernel(
    program: &Program<'_, '_>,
    routine: &Routine,
    printer: &Printer<'static>,
    launch: Launch,
) -> Kernel {
    let lifted = &routine.lifted;
    let text = |inst: Inst| match lifted.function.inst(inst).payload {
        Payload::Word(word) => printer.print(word, routine.offset(inst)).text,
        _ => String::new(),
    };
    analyze(&Subject {
        name: &routine.name,
        code: &Code::new(&lifted.function, &lifted.sources, program.arch()),
        launch,
        offset: &|inst| routine.offset(inst),
        text: &text,
        traced: &Traced::No,
    })
}

fn is_kept(item: &Item, name: &str) -> bool {
    let sm_90 = item.sm == Sm { number: 90, variant: Variant::Base };
    sm_90
        && item.origin == Origin::Cuda
        && Path::new(&item.name).file_name().is_some_and(|file| file == format!("{name}.cubin").as_str())
}

#[test]
fn texts_that_were_looked_at() {
    let all = cubins().expect("the corpus");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/analyze");
    let mut wrong = Vec::new();
    for name in KEPT {
        let items: Vec<&Item> = all.iter().filter(|item| is_kept(item, name)).collect();
        let [item] = items.as_slice() else { panic!("{name}: {} cubins", items.len()) };
        // Pictures and lists of a long loop are long: one kernel is enough for those.
        let long = [View::Instructions, View::Timeline, View::Critical];
        let views = View::ALL.into_iter().filter(|view| name == "reduce" || !long.contains(view)).collect();
        let parts = Parts { views, ..Parts::default() };
        let text: String = kernels(item).iter().map(|kernel| text::kernel(kernel, &parts)).collect();
        let path = folder.join(format!("{name}.txt"));
        let plain = plain(&text);
        if std::env::var_os("SASSAFRAS_BLESS").is_some() {
            std::fs::write(&path, &plain).expect("written");
        } else if std::fs::read_to_string(&path).unwrap_or_default() != plain {
            wrong.push(format!(
                "{name}: differs from tests/analyze/{name}.txt; SASSAFRAS_BLESS=1 rewrites it"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Without colours.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut parts = text.split('\u{1b}');
    out.extend(parts.next());
    for part in parts {
        out.push_str(part.split_once('m').map_or("", |(_, rest)| rest));
    }
    out
}

/// Numbers that stand alone in a text. Offsets, `/*0140*/`, are hexadecimal.
fn numbers(text: &str) -> HashSet<u64> {
    let mut found = HashSet::new();
    for (at, part) in text.split("/*").enumerate() {
        let rest = match part.split_once("*/") {
            Some((offset, rest)) if at > 0 => {
                found.extend(u64::from_str_radix(offset, 16).ok().map(|offset| (offset as f64).to_bits()));
                rest
            }
            _ => part,
        };
        let words = rest.split(|c: char| !(c.is_alphanumeric() || c == '.' || c == '_'));
        let alone = words.filter_map(|word| word.trim_end_matches('.').parse::<f64>().ok());
        found.extend(alone.map(|number| number.abs().to_bits()));
    }
    found
}

#[test]
fn every_number_is_in_the_json() {
    let all = cubins().expect("the corpus");
    let parts = Parts { views: View::ALL.to_vec(), ..Parts::default() };
    for item in all.iter().filter(|item| KEPT.iter().any(|name| is_kept(item, name))) {
        for kernel in kernels(item) {
            let known = numbers(&serde_json::to_string(&kernel).expect("JSON").replace(['"', '['], " "));
            let shown = plain(&text::kernel(&kernel, &parts));
            for line in shown.lines().filter(|line| !line.starts_with("a column is")) {
                // Rows of a timeline cut the text of their instruction.
                let line = line
                    .split_once(" |")
                    .filter(|_| line.contains('▶'))
                    .map_or(line, |(row, _)| row.rsplit_once(' ').map_or("", |(_, issued)| issued));
                let unknown: Vec<f64> = numbers(line)
                    .into_iter()
                    .filter(|number| !known.contains(number))
                    .map(f64::from_bits)
                    .collect();
                assert!(unknown.is_empty(), "{}: {unknown:?} in `{line}`", kernel.name);
            }
        }
    }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 0.02 * a.abs().max(b.abs()) + 1.5
}

fn sum(cycles: &Cycles) -> f64 {
    cycles.issued + cycles.register_banks + cycles.idle()
}

fn check(name: &str, kernel: &Kernel, found: &LoopReport) {
    let what = format!("{name}, {}, loop at {:#x}", kernel.name, found.offset);
    assert!(close(sum(&found.shared), found.cycles), "{what}: {} of {}", sum(&found.shared), found.cycles);
    assert!(close(sum(&found.own), found.latency), "{what}: {} of {}", sum(&found.own), found.latency);
    assert!(
        found.cycles + 0.5 >= f64::from(found.bounds.issue),
        "{what}: more than one instruction per cycle"
    );
    assert!(
        found.cycles <= found.latency * 1.02 + 40.0,
        "{what}: {} with others, {} alone",
        found.cycles,
        found.latency
    );
    assert!(found.units.issue_utilisation <= 100.01, "{what}");
    // Each link starts where the one before ends; the first may reach back into the iteration before, and iterations may differ in turn.
    let chain: u32 = found.critical.iter().map(|link| link.cycles).sum();
    let longest = found.critical.iter().map(|link| link.cycles).max().unwrap_or(0);
    let (least, most) = (0.7 * found.latency - 2.0, 1.3 * found.latency + f64::from(longest));
    assert!(
        found.critical.is_empty() || (least..=most).contains(&f64::from(chain)),
        "{what}: a chain of {chain}, {}",
        found.latency
    );
    assert!(found.critical.first().is_none_or(|link| link.cause == Cause::Start), "{what}");
    for pair in found.timeline.windows(2) {
        assert!(pair[0].issued < pair[1].issued && pair[1].arrives <= pair[1].issued, "{what}: not in order");
    }
    for hiding in found.hiding.iter().filter(|hiding| hiding.num > 0) {
        assert!(
            f64::from(hiding.min) <= hiding.avg + 0.01 && hiding.avg <= f64::from(hiding.max) + 0.01,
            "{what}"
        );
    }
    assert!(found.scoreboards.unordered.peak <= found.scoreboards.all.peak, "{what}");
}

#[test]
fn the_numbers_of_all_code_add_up() {
    let all = cubins().expect("the corpus");
    // Of libraries one generation each is enough.
    let taken = |item: &&Item| item.origin.is_ours() || [80, 90, 120].contains(&item.sm.number);
    let counts: Vec<(usize, usize)> = all
        .iter()
        .filter(taken)
        .collect::<Vec<_>>()
        .par_iter()
        .map(|item| {
            let kernels = kernels(item);
            for kernel in &kernels {
                kernel.loops.iter().for_each(|found| check(&item.name, kernel, found));
                assert_eq!(kernel.summary.instructions as usize, kernel.instructions.len(), "{}", item.name);
                let live = kernel.occupancy.registers.unwrap_or(255);
                assert!(kernel.summary.live_peak <= live.max(255), "{}: {}", item.name, kernel.name);
            }
            (kernels.len(), kernels.iter().map(|kernel| kernel.loops.len()).sum())
        })
        .collect();
    let (kernels, loops) = counts.iter().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    eprintln!("{kernels} functions, {loops} loops");
    assert!(kernels > 1000 && loops > 1000, "{kernels} functions, {loops} loops");
}
