//! `sassafras tile`

use crate::failure::{Failure, say};
use crate::output;
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use sassafras_report::tile::{self as show, Loop};
use sassafras_tile::view::{View, view};
use sassafras_tile::{Options, Selection, buffers, choose, materialise};
use sassafras_tileir::cuda::Module;
use sassafras_tileir::file::{self, File};
use sassafras_tileir::lower::{Model, lower, lower_in_parts};
use sassafras_tileir::program::Program;
use sassafras_tileir::scheduled::{Scheduled, Strategy};
use sassafras_verify::tile::{Effort, Limits, Proof, prove};
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
    #[arg(long, value_name = "SM")]
    arch: Option<String>,
    /// What operations of CUDA Tile IR cost: cycles of hardware, or the documents' scheduling costs [default: hardware]
    #[arg(long, value_enum)]
    model: Option<ModelArgument>,
    /// How operations are given to warps
    #[arg(long, value_enum, default_value = "warp-specialize")]
    strategy: StrategyArgument,
    /// Which generator makes the schedule
    #[arg(long, value_enum, default_value = "always")]
    generator: GeneratorArgument,
    /// Divide tiles of CUDA Tile IR into so many parts along the rows of matrix products, each with an agent of its own;
    /// without it whatever gives the least II is taken
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    parts: Option<u32>,
    /// At most so many slots for a value; may be given several times
    #[arg(long = "depth", value_name = "VALUE=SLOTS", value_parser = depth)]
    depths: Vec<(String, u32)>,
    /// Most stages where one agent runs everything
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
enum StrategyArgument {
    None,
    Unspecialize,
    WarpSpecialize,
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
    not_scheduled: &'a [Refused],
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

/// A loop of the input that was not scheduled.
#[derive(Serialize)]
struct Refused {
    place: String,
    why: String,
}

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

/// What an input holds.
#[derive(Default)]
struct Input {
    /// Loops, and their schedules if it has any.
    file: File,
    /// What could not be lowered.
    refused: Vec<Refused>,
    /// CUDA Tile IR for an architecture: loops of it have other forms.
    module: Option<(Module, u32, Model)>,
}

impl Input {
    /// A loop with its tiles in parts.
    fn divided(&self, program: &Program, parts: u32) -> Option<Program> {
        let (module, arch, model) = self.module.as_ref()?;
        let all = lower_in_parts(module, *arch, *model, parts);
        all.into_iter().filter_map(|l| l.program.ok()).find(|p| p.name == program.name)
    }
}

/// What CUDA Tile IR is scheduled for where nothing else is asked for.
const DEFAULT_ARCH: &str = "sm_90";

/// The number of an architecture that tile programs run on.
fn architecture(name: &str) -> Result<u32> {
    match name.trim_start_matches("sm_").trim_end_matches(['a', 'f']).parse() {
        Ok(arch) if arch >= 80 => Ok(arch),
        _ => bail!("`{name}` is no architecture that tile programs run on: sm_80 and later are"),
    }
}

fn loops(name: &str, text: &str, arguments: &Arguments) -> Result<Input> {
    // Texts of loops begin with one; CUDA Tile IR begins with an entry, a module or an alias.
    let first =
        text.lines().map(str::trim).find(|l| !l.is_empty() && !l.starts_with('#') && !l.starts_with("//"));
    if first.is_some_and(|l| l.starts_with("loop")) {
        let mut file = file::parse(text).map_err(|e| anyhow::anyhow!("{name}:{e}"))?;
        if arguments.model.is_some() {
            bail!("{name}: --model says what operations of CUDA Tile IR cost; these loops say it themselves");
        }
        if let Some(asked) = &arguments.arch {
            let asked = format!("sm_{}", architecture(asked)?);
            for program in &mut file.programs {
                let own = program.arch.get_or_insert_with(|| asked.clone());
                if *own != asked {
                    bail!("{name}: loop `{}` is for {own}, not for {asked}", program.name);
                }
            }
        }
        return Ok(Input { file, ..Input::default() });
    }
    let module = Module::parse(text).map_err(|e| {
        anyhow::anyhow!("{name}:{e} (neither loops, which begin with `loop`, nor CUDA Tile IR)")
    })?;
    // Names and commas are a module of operations that nobody knows: prose reads as one.
    if module.entries().next().is_none() {
        bail!("{name}: neither loops, which begin with `loop`, nor CUDA Tile IR, which has an `entry`");
    }
    let arch = architecture(arguments.arch.as_deref().unwrap_or(DEFAULT_ARCH))?;
    let model = match arguments.model {
        None | Some(ModelArgument::Hardware) => Model::Hardware,
        Some(ModelArgument::Documented) => Model::Documented,
    };
    let (mut file, mut refused) = (File::default(), Vec::new());
    let all = match arguments.parts {
        Some(parts) => lower_in_parts(&module, arch, model, parts),
        None => lower(&module, arch, model),
    };
    for lowered in all {
        match lowered.program {
            Ok(program) => file.programs.push(program),
            Err(why) => {
                refused.push(Refused {
                    place: format!("{name}: entry `{}`", lowered.entry),
                    why: why.to_string(),
                });
            }
        }
    }
    Ok(Input { file, refused, module: Some((module, arch, model)) })
}

fn options(arguments: &Arguments) -> Options {
    let default = Options::default();
    Options {
        strategy: match arguments.strategy {
            StrategyArgument::None => Strategy::None,
            StrategyArgument::Unspecialize => Strategy::Unspecialize,
            StrategyArgument::WarpSpecialize => Strategy::WarpSpecialize,
        },
        selection: match arguments.generator {
            GeneratorArgument::Always => Selection::Always,
            GeneratorArgument::Documented => Selection::Documented,
            GeneratorArgument::Serial => Selection::Serial,
        },
        depths: arguments.depths.iter().cloned().collect(),
        unspecialized_stages: arguments.stages.unwrap_or(default.unspecialized_stages),
        rrt_size_threshold: arguments.rrt_size_threshold.unwrap_or(default.rrt_size_threshold),
        max_constraint_iterations: arguments
            .max_constraint_iterations
            .unwrap_or(default.max_constraint_iterations),
        compute_agents: arguments.parts.unwrap_or(default.compute_agents),
        clusters: arguments.clusters.unwrap_or(default.clusters),
        unlimited: arguments.unlimited,
        ..default
    }
}

/// Proves a schedule against the machine's limits.
fn proven(name: &str, program: &Program, scheduled: &Scheduled, unlimited: bool) -> Result<Proof> {
    let budget = buffers::table(program);
    let limits = if unlimited { Limits::NONE } else { Limits::of(budget) };
    prove(program, scheduled, &limits, &Effort::default())
        .map_err(|violation| Failure::Wrong(format!("{name}: loop `{}`: {violation}", program.name)).into())
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
    let mut input = loops(&name, &text, arguments)?;
    let mut file = std::mem::take(&mut input.file);
    for wanted in &arguments.loops {
        if !file.programs.iter().any(|p| p.name == *wanted) {
            let known: Vec<&str> = file.programs.iter().map(|p| p.name.as_str()).collect();
            bail!("{name}: no loop is called `{wanted}`; there are: {}", known.join(", "));
        }
    }
    for (wanted, _) in &arguments.depths {
        if !file.programs.iter().any(|p| p.values.values().any(|v| v.name == *wanted)) {
            bail!("{name}: --depth: no loop has a value `{wanted}`");
        }
    }
    if !file.scheduled.is_empty() {
        return check(&name, &file, arguments);
    }
    file.programs.retain(|p| arguments.loops.is_empty() || arguments.loops.contains(&p.name));
    for r in &input.refused {
        say(&format!("note: {}: not scheduled: {}", r.place, r.why));
    }
    if file.programs.is_empty() {
        bail!("{name}: no loop to schedule");
    }
    let options = options(arguments);
    let (mut shown, mut proofs) = (Vec::new(), Vec::new());
    let loops = std::mem::take(&mut file.programs);
    let alone = loops.len() == 1 && input.refused.is_empty();
    for program in loops {
        let loop_name = program.name.clone();
        let place = format!("{name}: loop `{loop_name}`");
        let divided = |parts| input.divided(&program, parts).filter(|_| arguments.parts.is_none());
        let made = choose(&program, divided, &options).map_err(|e| e.to_string()).and_then(|chosen| {
            let scheduled = materialise(&chosen.program, &chosen.generated);
            scheduled.map(|s| (chosen, s)).map_err(|e| e.to_string())
        });
        let (chosen, scheduled) = match made {
            Ok(made) => made,
            Err(why) if alone => return Err(Failure::Wrong(format!("{place}: {why}")).into()),
            // One loop that cannot be scheduled does not keep others from being so.
            Err(why) => {
                say(&format!("note: {place}: not scheduled: {why}"));
                input.refused.push(Refused { place, why });
                continue;
            }
        };
        if chosen.parts > 1 {
            let than = match chosen.whole {
                Some(ii) => format!("whole ones need an II of {ii}"),
                None => "whole ones do not fit".to_owned(),
            };
            say(&format!(
                "note: {name}: loop `{loop_name}`: tiles in {} parts along their rows: {than}",
                chosen.parts
            ));
        }
        let (program, generated) = (chosen.program, chosen.generated);
        let proof = proven(&name, &program, &scheduled, arguments.unlimited)?;
        shown.push(Loop { view: view(&program, &generated, &scheduled, &options), proof: words(&proof) });
        proofs.push(proof);
        file.scheduled.push((file.programs.len(), scheduled));
        file.programs.push(program);
    }
    if shown.is_empty() {
        return Err(Failure::Wrong(format!("{name}: no loop could be scheduled")).into());
    }
    // Nothing is written before everything has been proven.
    if let Some(path) = &arguments.output {
        output::write_file(path, file::print(&file).as_bytes())?;
    }
    if let Some(path) = &arguments.trace {
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
            not_scheduled: &input.refused,
        });
    }
    output::print(&show::text(&shown))
}

/// A text that has schedules already: are they right?
fn check(name: &str, file: &File, arguments: &Arguments) -> Result<()> {
    // What a page and a trace show (times, bounds, what binds) is not in a text of schedules.
    for (option, given) in [("--report", &arguments.report), ("--trace", &arguments.trace)] {
        if given.is_some() {
            bail!(
                "{name}: {option} shows how a schedule is made; the schedules of this text are only proven"
            );
        }
    }
    let (mut lines, mut proofs) = (String::new(), Vec::new());
    for (of, scheduled) in &file.scheduled {
        let program = &file.programs[*of];
        if !arguments.loops.is_empty() && !arguments.loops.contains(&program.name) {
            continue;
        }
        let proof = proven(name, program, scheduled, arguments.unlimited)?;
        lines.push_str(&format!(
            "{name}: loop `{}`: II {}: {}\n",
            program.name,
            scheduled.ii,
            words(&proof).join("; ")
        ));
        proofs.push(proof);
    }
    if let Some(path) = &arguments.output {
        output::write_file(path, file::print(file).as_bytes())?;
    }
    if arguments.json {
        return output::print_json(&Checked { schema: SCHEMA, input: name, proven: proofs });
    }
    output::print(&lines)
}
