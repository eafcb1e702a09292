//! Every strategy on PTX of nvcc, Triton and clang.
//!
//! What is kept prints byte for byte, and so does what was shuffled and put back. Every strategy's module has passed the checker
//! (`schedule_ptx` returns nothing else) and is taken by ptxas, optimizing: for each of three generations that it may be for.
#![cfg(feature = "real-tools")]

#[path = "../../ptx/tests/support/mod.rs"]
mod shuffle;

use rayon::prelude::*;
use sassafras_corpus_tests::ptx::{PtxItem, modules};
use sassafras_knobs::KnobSet;
use sassafras_list::registry::{self, Contest, Entry};
use sassafras_passes::Options;
use sassafras_passes::ptx::schedule_ptx;
use sassafras_ptx::{InstId, Module};
use sassafras_testkit::rng::Rng;
use sassafras_testkit::tools::{run, tool};
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::time::Instant;

/// So many modules with different texts there are at least.
const MODULES: usize = 200;

/// What modules for a base generation are compiled for.
const GENERATIONS: [&str; 3] = ["sm_80", "sm_90", "sm_100"];

fn parsed() -> Vec<(PtxItem, Module)> {
    let items = modules().expect("the corpus");
    let texts: HashSet<&str> = items.iter().map(|item| item.text.as_str()).collect();
    assert!(texts.len() >= MODULES, "only {} different modules", texts.len());
    let parse = |item: PtxItem| {
        let module = Module::parse(&item.text)
            .unwrap_or_else(|error| panic!("{}", error.render(&item.name, &item.text, false)));
        (item, module)
    };
    items.into_iter().map(parse).collect()
}

fn scheduled(name: &str, module: &Module, strategy: &'static Entry) -> Module {
    let mut new = module.clone();
    let options = Options { strategy, ..Options::default() }.with_knobs(&KnobSet::default());
    let reports = schedule_ptx(&mut new, &options, None, |_| true);
    reports.unwrap_or_else(|error| panic!("{name}, {}: {error}", strategy.name));
    new
}

/// The lines that are more than comments: a comment stays with the instruction that it stands at, which another order changes.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default().trim());
    lines.filter(|line| !line.is_empty())
}

#[test]
fn what_is_kept_or_put_back_prints_byte_for_byte() {
    let items = parsed();
    let moved: usize = items
        .par_iter()
        .enumerate()
        .map(|(number, (item, module))| {
            let kept = scheduled(&item.name, module, registry::get("original"));
            assert!(kept.print() == item.text, "{}: `original` changes the text", item.name);
            let mut new = module.clone();
            let moved = shuffle::shuffle(&mut new, &mut Rng::new(number as u64));
            let shuffled = new.print();
            // A moved instruction takes a copy of its `.loc` along, which the text keeps: no inverse order undoes that.
            if !item.text.contains(".loc") {
                let mut again = Module::parse(&shuffled).expect("what is printed");
                let blocks: Vec<_> = again.blocks().collect();
                assert_eq!(blocks.len(), module.block_count(), "{}", item.name);
                for (old, block) in module.blocks().zip(blocks) {
                    let there: BTreeMap<InstId, InstId> =
                        new.order(old).iter().copied().zip(again.order(block)).collect();
                    let back: Vec<InstId> = module.order(old).iter().map(|inst| there[inst]).collect();
                    again.reorder(block, &back).expect("a permutation");
                }
                let same = code(&again.print()).eq(code(&item.text));
                assert!(same, "{} is not put back from its text", item.name);
            }
            for block in module.blocks() {
                new.reorder(block, &module.order(block)).expect("its own order");
            }
            assert!(new.print() == item.text, "{} is not put back", item.name);
            moved
        })
        .sum();
    eprintln!("{} modules; {moved} instructions moved and put back", items.len());
    assert!(moved > 30_000, "only {moved}");
}

/// What a module is compiled for: its own target where code is for that machine alone or for a later
/// generation, else the generations from its own on.
fn targets(own: &str) -> Vec<&str> {
    let number = |sm: &str| sm.trim_start_matches("sm_").parse::<u32>();
    match number(own) {
        Ok(base) if base <= 100 => {
            GENERATIONS.into_iter().filter(|sm| number(sm).is_ok_and(|number| number >= base)).collect()
        }
        _ => vec![own],
    }
}

#[test]
fn targets_are_not_below_a_module() {
    assert_eq!(targets("sm_75"), GENERATIONS);
    assert_eq!(targets("sm_80"), GENERATIONS);
    assert_eq!(targets("sm_89"), ["sm_90", "sm_100"]);
    assert_eq!(targets("sm_100"), ["sm_100"]);
    assert_eq!(targets("sm_90a"), ["sm_90a"]);
    assert_eq!(targets("sm_120"), ["sm_120"]);
}

/// Compiles; says what ptxas has against it.
fn compile(ptxas: &Path, folder: &Path, name: &str, target: &str, text: &str) -> Result<(), String> {
    let path = folder.join(format!("{name}.ptx"));
    fs::write(&path, text).expect("room");
    let done = run(Command::new(ptxas)
        .arg(format!("-arch={target}"))
        .arg(&path)
        .arg("-o")
        .arg(path.with_extension("cubin")));
    fs::remove_file(&path).expect("written");
    match done.status.success() {
        true => fs::remove_file(path.with_extension("cubin")).map_err(|error| error.to_string()),
        false => Err(String::from_utf8_lossy(&done.stderr).into_owned()),
    }
}

#[test]
fn ptxas_takes_every_strategy() {
    let start = Instant::now();
    let items = parsed();
    let ptxas = tool("ptxas", "13.4");
    let scratch = tempfile::tempdir().expect("a folder");
    let strategies: Vec<&Entry> =
        registry::contestants(Contest::Auto).chain([registry::get("auto")]).collect();
    // Hashes of what was compiled, for what: strategies often agree.
    let compiled: Mutex<HashSet<u64>> = Mutex::default();
    let jobs: Vec<(usize, usize)> =
        (0..items.len()).flat_map(|m| (0..strategies.len()).map(move |s| (m, s))).collect();
    let counts: Vec<(usize, usize)> = jobs
        .par_iter()
        .map(|&(m, s)| {
            let (item, module) = &items[m];
            let new = scheduled(&item.name, module, strategies[s]);
            let text = new.print();
            let own = module.target().expect("a target");
            let targets = targets(own);
            let (mut asked, mut done) = (0, 0);
            for (t, target) in targets.iter().enumerate() {
                asked += 1;
                let mut hasher = DefaultHasher::new();
                (&text, target).hash(&mut hasher);
                if !compiled.lock().expect("no panic while locked").insert(hasher.finish()) {
                    continue;
                }
                done += 1;
                if let Err(why) = compile(&ptxas, scratch.path(), &format!("{m}-{s}-{t}"), target, &text) {
                    panic!("{}, {}, for {target}: {why}", item.name, strategies[s].name);
                }
            }
            assert!(asked > 0, "{} is left out", item.name);
            (asked, done)
        })
        .collect();
    let asked: usize = counts.iter().map(|count| count.0).sum();
    let done: usize = counts.iter().map(|count| count.1).sum();
    eprintln!(
        "{} modules, {} strategies: {asked} results accepted, {done} of them different; {:.0} s",
        items.len(),
        strategies.len(),
        start.elapsed().as_secs_f64()
    );
    assert!(asked >= MODULES * strategies.len(), "only {asked}");
}
