//! `sassafras tile`

use crate::failure::{of_library, say};
use crate::knobs::KnobArguments;
use crate::output;
use crate::strategy::Names;
use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use sassafras::tile::{RefusedLoop, ScheduledLoop, ScheduledTile, TileError, TileInput};
use sassafras::{Error, TileOptions};
use sassafras_knobs::{Key, KnobSet, keys};
use sassafras_list::registry::{self, Entry, Input};
use sassafras_machine::Arch;
use sassafras_report::tile::{self as show, Loop};
use sassafras_tile::view::View;
use sassafras_tile::{Options, Selection};
use sassafras_tileir::lower::Model;
use sassafras_tileir::scheduled::Strategy;
use sassafras_verify::tile::Proof;
use serde::Serialize;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Schedule the loops of a tile program: the least interval between iterations, agents, pipes and buffers, with a proof
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// CUDA Tile IR as `tileirdisasm` prints it, or loops in their own text form; `-` is standard input, nothing the
    /// built-in sample
    input: Option<PathBuf>,
    /// The architecture that is scheduled for [default: sm_90, or what loops in their own text form say]
    #[arg(long, value_name = "SM", value_parser = str::parse::<Arch>)]
    arch: Option<Arch>,
    /// What operations of CUDA Tile IR cost: cycles of hardware, or the documents' scheduling costs [default: hardware]
    #[arg(long, value_enum)]
    model: Option<ModelArgument>,
    /// How operations are given to warps [default: warp-specialize]
    #[arg(long, value_parser = Names(&[Input::Tile]))]
    strategy: Option<&'static Entry>,
    /// Which generator makes the schedule [default: always]
    #[arg(long, value_enum)]
    generator: Option<GeneratorArgument>,
    /// Divide tiles of CUDA Tile IR into so many parts along the rows of matrix products, each with an agent of its own;
    /// without it whatever gives the least II is taken
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    parts: Option<u32>,
    /// At most so many slots for a value; may be given several times
    #[arg(long = "depth", value_name = "VALUE=SLOTS", value_parser = depth)]
    depths: Vec<(String, u32)>,
    /// Most stages where one agent runs everything, as with `--strategy unspecialize`
    #[arg(long, value_name = "N")]
    stages: Option<u32>,
    /// Rows of the reservation table above which time is quantised; 0 for never
    #[arg(long, value_name = "ROWS")]
    rrt_size_threshold: Option<u32>,
    /// Attempts to fit buffers into memory before iterations run one after the other
    #[arg(long, value_name = "N")]
    max_constraint_iterations: Option<u32>,
    /// Clusters that run a persistent loop
    #[arg(long, value_name = "N")]
    clusters: Option<u64>,
    /// Memory has no end: to see whether it is what binds
    #[arg(long)]
    unlimited: bool,
    /// Only this loop; may be given several times
    #[arg(long = "loop", value_name = "NAME")]
    loops: Vec<String>,
    /// Write the loops and their schedules as text
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write a page for a browser, with the modulo table drawn
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write the steady state as a trace for Perfetto or chrome://tracing
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Knobs: what options say goes before them.
    #[command(flatten)]
    knobs: KnobArguments,
}

const EXAMPLES: &str = "\
Examples:
  sassafras tile                                     the built-in sample
  sassafras tile k.tileir --arch sm_100              loops of CUDA Tile IR on sm_100
  sassafras tile k.tile --report k.html              with the modulo table drawn
  sassafras tile k.tile --depth a=2 -o out.tile      at most two slots for `a`; the schedule as text
  sassafras tile out.tile                            a text that has schedules: they are proven, not made";

const SAMPLE: &str = include_str!("../../samples/matmul.tile");

#[derive(Clone, Copy, ValueEnum)]
enum ModelArgument {
    Hardware,
    Documented,
}

#[derive(Clone, Copy, ValueEnum)]
enum GeneratorArgument {
    /// The cost-based one for everything that may overlap
    Always,
    /// As documented: serial for small loops and those without asynchronous work
    Documented,
    /// One iteration after the other
    Serial,
}

fn depth(text: &str) -> Result<(String, u32), String> {
    let (name, slots) = text.split_once('=').ok_or("expected VALUE=SLOTS")?;
    match slots.parse() {
        Ok(0) | Err(_) => Err(format!("`{slots}` is no number of slots")),
        Ok(slots) => Ok((name.to_owned(), slots)),
    }
}

/// The JSON form. Bump `schema` when a field changes its meaning or goes away.
#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    input: &'a str,
    loops: Vec<Scheduling<'a>>,
    not_scheduled: &'a [RefusedLoop],
}

/// A loop and what its schedule's proof ran, as data and in words.
#[derive(Serialize)]
struct Scheduling<'a> {
    #[serde(flatten)]
    view: &'a View,
    proof: &'a Proof,
    proof_in_words: &'a [String],
}

/// The JSON form of a text whose schedules were proven, not made.
#[derive(Serialize)]
struct Checked<'a> {
    schema: u32,
    input: &'a str,
    proven: Vec<Proof>,
}

/// The version of both forms.
const SCHEMA: u32 = 2;

/// The largest input that is read.
const MOST_BYTES: u64 = 64 << 20;

fn read(path: &Path) -> Result<String> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin().take(MOST_BYTES + 1).read_to_end(&mut bytes).context("standard input")?;
    } else {
        let file = std::fs::File::open(path).with_context(|| name.clone())?;
        file.take(MOST_BYTES + 1).read_to_end(&mut bytes).with_context(|| name.clone())?;
    }
    if bytes.len() as u64 > MOST_BYTES {
        bail!("{name}: larger than {MOST_BYTES} bytes");
    }
    String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("{name}: not a text"))
}

fn tile_options(arguments: &Arguments, knobs: &KnobSet) -> Result<TileOptions> {
    Ok(TileOptions {
        arch: arguments.arch,
        model: arguments.model.map(|model| match model {
            ModelArgument::Hardware => Model::Hardware,
            ModelArgument::Documented => Model::Documented,
        }),
        parts: arguments.parts,
        loops: arguments.loops.clone(),
        schedule: options(arguments, knobs)?,
    })
}

fn options(arguments: &Arguments, knobs: &KnobSet) -> Result<Options> {
    let default = Options::default();
    let count = |option: Option<u32>, key: Key<i64>, otherwise: u32| match (option, knobs.explicit(key)) {
        (Some(option), _) => Ok(option),
        (None, None) => Ok(otherwise),
        (None, Some(value)) => {
            u32::try_from(value).map_err(|_| anyhow!("knob `{}`: {value} is too large", key.name()))
        }
    };
    let named = knobs.explicit(keys::PIPELINE_STRATEGY);
    let named = named.as_deref().map(|name| {
        let entry = registry::find(name).filter(|entry| entry.takes(Input::Tile));
        entry.ok_or_else(|| {
            anyhow!("knob `{}`: no strategy `{name}` for tile programs", keys::PIPELINE_STRATEGY.name())
        })
    });
    let strategy = arguments.strategy.map(Ok).or(named).transpose()?;
    let strategy =
        strategy.and_then(|entry| Strategy::ALL.into_iter().find(|known| known.word() == entry.name));
    Ok(Options {
        strategy: strategy.unwrap_or(Strategy::WarpSpecialize),
        selection: match arguments.generator.unwrap_or(GeneratorArgument::Always) {
            GeneratorArgument::Always => Selection::Always,
            GeneratorArgument::Documented => Selection::Documented,
            GeneratorArgument::Serial => Selection::Serial,
        },
        depths: arguments.depths.iter().cloned().collect(),
        unspecialized_stages: count(
            arguments.stages,
            keys::UNSPECIALIZED_STAGES,
            default.unspecialized_stages,
        )?,
        rrt_size_threshold: count(
            arguments.rrt_size_threshold,
            keys::RRT_SIZE_THRESHOLD,
            default.rrt_size_threshold,
        )?,
        max_constraint_iterations: count(
            arguments.max_constraint_iterations,
            keys::MAX_CONSTRAINT_ITERATIONS,
            default.max_constraint_iterations,
        )?,
        compute_agents: arguments.parts.unwrap_or(default.compute_agents),
        clusters: arguments.clusters.unwrap_or(default.clusters),
        unlimited: arguments.unlimited,
        ..default
    })
}

/// Refuses options that no loop asked about.
fn refuse_unread(
    name: &str,
    arguments: &Arguments,
    done: &ScheduledTile,
    options: &TileOptions,
) -> Result<()> {
    let single = |found: &ScheduledLoop| found.view.agents.len() == 1;
    if arguments.stages.is_some()
        && (options.schedule.strategy == Strategy::None || !done.loops.iter().any(single))
    {
        bail!(
            "{name}: `--stages` is for loops that one agent runs, and here is none: `--strategy unspecialize` makes them"
        );
    }
    if arguments.clusters.is_some() && done.loops.iter().all(|found| found.program.persistent.is_none()) {
        bail!(
            "{name}: `--clusters` is for persistent loops, and here is none: a line `persistent` makes one"
        );
    }
    Ok(())
}

fn words(proof: &Proof) -> Vec<String> {
    let most = proof.trips.iter().max().copied().unwrap_or(0);
    let mut words = vec![format!(
        "{} replays ({} steps) of 0 to {most} trips with {} kinds of delays: no deadlock, no slot overwritten early, every value of its own iteration, budgets kept",
        proof.replays,
        proof.steps,
        proof.delays.len()
    )];
    if let (true, Some(held)) = (proof.exact, proof.held.iter().max()) {
        words.push(format!("no timing whatsoever makes up to {held} trips go wrong: each operation was held back as long as possible"));
    }
    words.push(match proof.rate {
        Some(ii) => format!(
            "iterations follow each other every {ii} cycles: units, agents, dependences and slots have room at the times of the schedule"
        ),
        None => "of the II nothing is proven: the text does not say when operations start".to_owned(),
    });
    words
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    let (name, text) = match &arguments.input {
        Some(path) => (path.display().to_string(), read(path)?),
        None => ("built-in sample".to_owned(), SAMPLE.to_owned()),
    };
    let knobs = arguments.knobs.load(&["tile"])?;
    let options = tile_options(arguments, &knobs)?;
    let wrong = |error| of_library(&name, error);
    let input = TileInput::parse(&text, &options).map_err(wrong)?;
    if input.has_schedules() {
        return check(&name, &input, &options, arguments);
    }
    let done = input.schedule(&options);
    let refused = match &done {
        Ok(done) => done.refused.as_slice(),
        Err(Error::Tile(TileError::NoneScheduled(refused))) => refused.as_slice(),
        Err(_) => &[],
    };
    for RefusedLoop { place, why } in refused {
        say(&format!("note: {name}: {place}: not scheduled: {why}"));
    }
    let done = done.map_err(wrong)?;
    refuse_unread(&name, arguments, &done, &options)?;
    for found in done.loops.iter().filter(|found| found.parts > 1) {
        let than = match found.whole {
            Some(ii) => format!("whole ones need an II of {ii}"),
            None => "whole ones do not fit".to_owned(),
        };
        let (loop_name, parts) = (&found.program.name, found.parts);
        say(&format!("note: {name}: loop `{loop_name}`: tiles in {parts} parts along their rows: {than}"));
    }
    let text = done.print();
    let (shown, proofs): (Vec<Loop>, Vec<Proof>) = (done.loops.into_iter())
        .map(|found| (Loop { view: found.view, proof: words(&found.proof) }, found.proof))
        .unzip();
    // Nothing is written before everything has been proven.
    if let Some(path) = &arguments.output {
        output::write_file(path, text.as_bytes())?;
    }
    let trace =
        arguments.trace.clone().or_else(|| knobs.explicit(keys::SCHEDULE_TRACE_FILE).map(PathBuf::from));
    if let Some(path) = &trace {
        output::write_file(path, show::json(&name, &shown).as_bytes())?;
    }
    if let Some(path) = &arguments.report {
        output::write_file(path, show::html(&name, &shown).as_bytes())?;
    }
    if arguments.json {
        let loops = shown.iter().zip(&proofs);
        let loops = loops.map(|(l, proof)| Scheduling { view: &l.view, proof, proof_in_words: &l.proof });
        return output::print_json(&Report {
            schema: SCHEMA,
            input: &name,
            loops: loops.collect(),
            not_scheduled: &done.refused,
        });
    }
    output::print(&show::text(&shown))
}

/// A text that has schedules already: are they right?
fn check(name: &str, input: &TileInput, options: &TileOptions, arguments: &Arguments) -> Result<()> {
    // What a page and a trace show (times, bounds, what binds) is not in a text of schedules.
    let given = [
        ("--report", arguments.report.is_some()),
        ("--trace", arguments.trace.is_some()),
        ("--strategy", arguments.strategy.is_some()),
        ("--generator", arguments.generator.is_some()),
        ("--parts", arguments.parts.is_some()),
        ("--depth", !arguments.depths.is_empty()),
        ("--stages", arguments.stages.is_some()),
        ("--rrt-size-threshold", arguments.rrt_size_threshold.is_some()),
        ("--max-constraint-iterations", arguments.max_constraint_iterations.is_some()),
        ("--clusters", arguments.clusters.is_some()),
    ];
    for (option, given) in given {
        if given {
            bail!("{name}: {option} is about making a schedule; the schedules of this text are only proven");
        }
    }
    let proven = input.prove(options).map_err(|error| of_library(name, error))?;
    let (mut lines, mut proofs) = (String::new(), Vec::new());
    for (loop_name, ii, proof) in proven {
        lines.push_str(&format!("{name}: loop `{loop_name}`: II {ii}: {}\n", words(&proof).join("; ")));
        proofs.push(proof);
    }
    if let Some(path) = &arguments.output {
        output::write_file(path, input.print().as_bytes())?;
    }
    if arguments.json {
        return output::print_json(&Checked { schema: SCHEMA, input: name, proven: proofs });
    }
    output::print(&lines)
}
