//! File tests of the list strategies. Directive: `STRATEGY [registers=N] [+KNOB=VALUE]… [KNOB=VALUE]…`: the picks of every block of more than
//! one instruction, first with the knobs that have a plus, then with all; an order that the others do not change is an error.

use anyhow::{Context, Result, bail};
use sassafras_ir::text::{parse, print_inst};
use sassafras_ir::{Function, Inst};
use sassafras_knobs::KnobSet;
use sassafras_list::{Direction, Schedule, registry};
use sassafras_passes::{Dialect, LatencySource, Options, order_blocks};
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    sassafras_testkit::filetest::main(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests"), run)
}

fn run(directive: &str, source: &str) -> Result<String> {
    let mut words = directive.split(' ');
    let strategy = words.next().context("no strategy")?;
    let strategy = registry::find(strategy).context("no such strategy")?;
    let (mut always, mut knobs, mut set) = (KnobSet::new(), KnobSet::new(), Vec::new());
    let mut options = Options { strategy, ..Options::default() };
    for word in words {
        match word.split_once('=') {
            Some(("registers", count)) => options.terms.budget = count.parse()?,
            Some(_) => {
                knobs.assign(word.trim_start_matches('+'))?;
                match word.strip_prefix('+') {
                    Some(knob) => drop(always.assign(knob)?),
                    None => set.push(word),
                }
            }
            None if word == "documented" => options.latency = LatencySource::Documented,
            None => bail!("neither a knob nor a table: {word}"),
        }
    }
    let functions = functions(source, &mut options)?;
    let mut out = String::new();
    for f in &functions {
        let before = order_blocks(f, &options.with_knobs(&always))?;
        show(f, &options, &before, &mut out)?;
        if set.is_empty() {
            continue;
        }
        let changed = Options { unknown_latency: high_latency(&knobs), ..options.with_knobs(&knobs) };
        let after = order_blocks(f, &changed)?;
        if before.iter().zip(&after).all(|(before, after)| before.order == after.order) {
            bail!("{}: {} changes nothing", f.name, set.join(" "));
        }
        writeln!(out, "{}", set.join(" "))?;
        show(f, &options, &after, &mut out)?;
    }
    Ok(out)
}

fn high_latency(knobs: &KnobSet) -> Option<u16> {
    knobs.explicit(sassafras_knobs::keys::HIGH_LATENCY_CYCLES).and_then(|cycles| cycles.try_into().ok())
}

fn functions(source: &str, options: &mut Options) -> Result<Vec<Function>> {
    if !source.contains("\n.version") {
        let module = parse(source).map_err(|error| anyhow::anyhow!(error.render("input", source, false)))?;
        return Ok(module.functions);
    }
    options.dialect = Dialect::Ptx;
    let module = sassafras_ptx::Module::parse(source)?;
    let bodies = module.functions().iter().filter(|function| function.has_body());
    bodies.map(|function| Ok(sassafras_ptx::lower(&module, function)?.function)).collect()
}

/// The final order of each block, every instruction with its place in the source and the reason of its pick.
fn show(f: &Function, options: &Options, made: &[Schedule], out: &mut String) -> Result<()> {
    let grows_up = options.strategy.name != "converge";
    for (block, schedule) in f.blocks().zip(made).filter(|(_, schedule)| schedule.order.len() > 1) {
        let insts: Vec<Inst> = f.block_insts(block).to_vec();
        let direction = if grows_up { Direction::BottomUp } else { Direction::TopDown };
        writeln!(out, "{} {}, {}:", f.name, f.block_name(block), describe(direction))?;
        for node in &schedule.order {
            let pick = schedule.picks.iter().find(|pick| pick.node == *node).context("picked")?;
            let text = print_inst(f, insts[node.index()]);
            writeln!(out, "  {:>2} {:<40} {}", node.0, text.trim(), pick.reason.name())?;
        }
    }
    Ok(())
}

fn describe(direction: Direction) -> &'static str {
    match direction {
        Direction::TopDown => "picked from the beginning",
        Direction::BottomUp => "picked from the end",
    }
}
