//! What is made of every tile program of the corpus, beside what tileiras chose, as tables in Markdown.
//!
//! `cargo xtask tile-table` writes `docs/tile-schedules.md` with it. The first argument is the file to write; the corpus is found
//! through `SASSAFRAS_CORPUS`.

mod tileiras;

use anyhow::{Context, Result};
use rayon::prelude::*;
use sassafras_corpus_tests::tile::texts;
use sassafras_modulo::{Problem, exact, solver};
use sassafras_tile::generate::problem::build;
use sassafras_tile::{Options, buffers, choose, materialise};
use sassafras_tileir::cuda::Module;
use sassafras_tileir::lower::{Lowered, Model, lower, lower_in_parts};
use sassafras_tileir::program::{Execution, Program, Storage};
use sassafras_tileir::scheduled::Backing;
use sassafras_verify::tile::{Effort, Limits, prove};
use std::fmt::Write;
use std::time::Duration;
use std::{env, fs};

const ARCHITECTURES: [u32; 3] = [80, 90, 100];
/// What the exact scheduler may take per II and in all.
const EXACT: Duration = Duration::from_secs(20);

fn main() -> Result<()> {
    let path = env::args_os().nth(1).context("the file to write is missing")?;
    let mut modules = Vec::new();
    for item in texts()?.into_iter().filter(|item| !item.debug) {
        let module = Module::parse(&item.text).with_context(|| item.kernel.clone())?;
        modules.push((item.kernel, module));
    }
    let mut cases: Vec<(&str, &Module, u32, usize, Lowered)> = Vec::new();
    for (kernel, module) in &modules {
        for arch in ARCHITECTURES {
            for (i, found) in lower(module, arch, Model::Hardware).into_iter().enumerate() {
                cases.push((kernel, module, arch, i, found));
            }
        }
    }
    let rows: Vec<(String, bool)> = cases
        .par_iter()
        .map(|(kernel, module, arch, i, found)| match &found.program {
            Ok(program) => row(program, |parts| {
                lower_in_parts(module, *arch, Model::Hardware, parts).swap_remove(*i).program.ok()
            }),
            Err(why) => (format!("| {kernel} | sm_{arch} | not lowered: {} |||||||||\n", why.why), false),
        })
        .collect();
    let optimal = rows.iter().filter(|r| r.1).count();
    let scheduled = rows.iter().filter(|r| !r.0.contains("not lowered")).count();
    let mut out = String::from(HEAD);
    writeln!(
        out,
        "{scheduled} loops were lowered; {optimal} of their schedules are at the least II there is, by the bound or proven by the exact scheduler.\n"
    )?;
    out.push_str(TABLE);
    rows.iter().for_each(|r| out.push_str(&r.0));
    out.push_str(&tileiras::table()?);
    fs::write(&path, out).with_context(|| path.to_string_lossy().into_owned())
}

const HEAD: &str = "\
# Schedules of tile programs

Written by `cargo xtask tile-table`. Every loop of the corpus's tile programs, lowered with the hardware model, scheduled for one agent per
role (`warp-specialize`), proven by `verify::tile` with default effort. `least`: what is known of smaller II (`bound`: the II is the bound;
`proven`: an exact scheduler, our own or the constraint solver, refuted every smaller one within 20 seconds; `or more`: all below that are refuted;
`or less`: one found a schedule, whatever buffers it takes). Budgets are not part of
the exact problem: where they limit slots, `cut` says how often. `slots`: of the loads. `barriers`: barrier objects, two per slot of a pipe between agents or around asynchronous operations.

";

const TABLE: &str = "\
| loop | arch | ops | MII | II | least | stages | slots | shared | registers | tensor | barriers | agents | made by | cut | proof |
|---|---|--:|--:|--:|---|--:|---|--:|--:|--:|--:|--:|---|--:|---|
";

/// What the constraint solver knows of smaller II where the first exact scheduler has not decided them all.
fn second(problem: &Problem, ask: &exact::Options, ii: u32, below: u64) -> (String, bool) {
    match solver::least_ii(problem, ask) {
        Ok(found) if found.schedule.is_none() && found.proven_below >= u64::from(ii) => {
            ("proven".to_owned(), true)
        }
        Ok(found) => match found.schedule {
            Some(schedule) => (format!("{} or less", schedule.ii), false),
            None => (format!("{} or more", found.proven_below.max(below)), false),
        },
        Err(error) => (error.to_string(), false),
    }
}

fn row(whole: &Program, divided: impl FnMut(u32) -> Option<Program>) -> (String, bool) {
    let options = Options::default();
    let arch = whole.arch.as_deref().unwrap_or("");
    let chosen = match choose(whole, divided, &options) {
        Ok(chosen) => chosen,
        Err(error) => {
            let (name, ops) = (&whole.name, whole.ops.len());
            return (format!("| {name} | {arch} | {ops} | not scheduled: {error} |\n"), false);
        }
    };
    let (program, generated) = (&chosen.program, chosen.generated);
    let name = match chosen.parts {
        1 => program.name.clone(),
        parts => format!("{} in {parts} parts", program.name),
    };
    let scheduled = match materialise(program, &generated) {
        Ok(scheduled) => scheduled,
        Err(error) => {
            return (
                format!("| {name} | {arch} | {} | not materialised: {error} |\n", program.ops.len()),
                false,
            );
        }
    };
    let a = &generated.analysis;
    let (least, optimal) = if a.is_optimal() {
        ("bound".to_owned(), true)
    } else {
        let problem = build(program, &generated.plans, &a.caps, 1).problem;
        let ask = exact::Options { total: EXACT, per_ii: EXACT, below: Some(a.ii) };
        match exact::least_ii(&problem, &ask) {
            Ok(found) if found.schedule.is_none() && found.proven_below >= u64::from(a.ii) => {
                ("proven".to_owned(), true)
            }
            Ok(found) if found.schedule.is_none() => second(&problem, &ask, a.ii, found.proven_below),
            Ok(found) => (
                found.least().map_or_else(|| format!("{} or more", found.proven_below), |ii| ii.to_string()),
                false,
            ),
            Err(error) => (error.to_string(), false),
        }
    };
    let table = buffers::table(program);
    let limits = Limits::of(table);
    let proof = match prove(program, &scheduled, &limits, &Effort::default()) {
        Ok(proof) if proof.exact => format!("{} replays, exact", proof.replays),
        Ok(proof) => format!("{} replays", proof.replays),
        Err(violation) => format!("**{violation}**"),
    };
    let loads = scheduled
        .pipes
        .values()
        .filter(|p| p.writers.iter().any(|&w| program.ops[w].execution == Execution::Async));
    let slots: Vec<String> = loads.map(|p| p.depth.to_string()).collect();
    let barriers: u32 =
        scheduled.pipes.values().filter(|p| p.backing == Backing::Mbarrier).map(|p| 2 * p.depth).sum();
    let used = |storage| generated.layout.used.get(&storage).copied().unwrap_or(0);
    let line = format!(
        "| {name} | {arch} | {} | {} | {} | {least} | {} | {} | {} | {} | {} | {barriers} | {} | {} | {} | {proof} |\n",
        program.ops.len(),
        a.mii.most(),
        a.ii,
        a.stages,
        slots.join(", "),
        used(Storage::Shared),
        used(Storage::Register),
        used(Storage::Tensor),
        scheduled.agents.len(),
        a.generator.word(),
        a.constraint_iterations,
    );
    (line, optimal)
}
