//! Tile programs: their loops software-pipelined over agents, with a proof for each.

use crate::error::Error;
use sassafras_machine::Arch;
use sassafras_tile::view::{View, view};
use sassafras_tile::{
    Chosen, GenerateError, MaterialiseError, Options as LoopOptions, buffers, choose, materialise,
};
use sassafras_tileir::cuda::Module;
use sassafras_tileir::file::{self, File};
use sassafras_tileir::lower::{Model, lower, lower_in_parts};
use sassafras_tileir::program::Program;
use sassafras_tileir::scheduled::Scheduled;
use sassafras_verify::tile::{Effort, Limits, Proof, Violation, prove};
use serde::Serialize;
use thiserror::Error as ThisError;

/// How tile programs are scheduled.
#[derive(Clone, Debug, Default)]
pub struct TileOptions {
    /// The architecture; without it sm_90 for CUDA Tile IR, and what loops in their own text form say.
    pub arch: Option<Arch>,
    /// What operations of CUDA Tile IR cost; loops in their own text form say it themselves.
    pub model: Option<Model>,
    /// Divide tiles of CUDA Tile IR into so many parts along the rows of matrix products; without it whatever gives the least II.
    pub parts: Option<u32>,
    /// Only these loops; all where there are none.
    pub loops: Vec<String>,
    /// How a loop is scheduled.
    pub schedule: LoopOptions,
}

/// The architecture that CUDA Tile IR is scheduled for where none is asked for.
pub const DEFAULT_ARCH: Arch = Arch::SM_90;
/// The oldest architecture that tile programs run on.
const OLDEST: u16 = 80;

/// A tile program with its schedules.
#[derive(Debug, Default)]
pub struct ScheduledTile {
    /// Loops that were scheduled.
    pub loops: Vec<ScheduledLoop>,
    /// Loops that were not.
    pub refused: Vec<RefusedLoop>,
}

impl ScheduledTile {
    /// Loops and schedules as text, which can be read back.
    pub fn print(&self) -> String {
        let programs = self.loops.iter().map(|found| found.program.clone()).collect();
        let scheduled = self.loops.iter().map(|found| found.scheduled.clone()).enumerate().collect();
        file::print(&File { programs, scheduled })
    }
}

/// A loop with its schedule.
#[derive(Debug)]
pub struct ScheduledLoop {
    /// The loop in the form that was scheduled.
    pub program: Program,
    /// Agents, pipes and buffers.
    pub scheduled: Scheduled,
    /// What the schedule is made of, for people.
    pub view: View,
    /// What the proof ran.
    pub proof: Proof,
    /// In how many parts tiles are.
    pub parts: u32,
    /// The II with whole tiles, where parts were chosen and whole tiles can be scheduled at all.
    pub whole: Option<u32>,
}

/// A loop of the input that was not scheduled.
#[derive(Clone, Debug, Serialize)]
pub struct RefusedLoop {
    /// Where.
    pub place: String,
    /// Why.
    pub why: String,
}

/// Why there is no schedule.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum TileError {
    /// Loops in their own text form that cannot be read.
    #[error(transparent)]
    Text(#[from] sassafras_tileir::cuda::TextError),
    /// Neither loops nor CUDA Tile IR.
    #[error("{0} (neither loops, which begin with `loop`, nor CUDA Tile IR)")]
    Unknown(sassafras_tileir::cuda::TextError),
    /// CUDA Tile IR without an entry: prose reads as a module of operations that nobody knows.
    #[error("neither loops, which begin with `loop`, nor CUDA Tile IR, which has an `entry`")]
    NoEntry,
    /// An architecture that tile programs do not run on.
    #[error("`{0}` is no architecture that tile programs run on: sm_{OLDEST} and later are")]
    Arch(Arch),
    /// A loop for another architecture than the one asked for.
    #[error("loop `{name}` is for {own}, not for {asked}")]
    OtherArch {
        /// The loop.
        name: String,
        /// Its architecture.
        own: String,
        /// The one asked for.
        asked: String,
    },
    /// Costs were asked for that loops in their own text form say themselves.
    #[error("--model says what operations of CUDA Tile IR cost; these loops say it themselves")]
    ModelGiven,
    /// Something was selected that is not there.
    #[error("no loop is called `{name}`; there are: {known}")]
    NoLoop {
        /// What was selected.
        name: String,
        /// What there is.
        known: String,
    },
    /// A depth was given for a value that is not there.
    #[error("--depth: no loop has a value `{0}`")]
    NoValue(String),
    /// There is no loop.
    #[error("no loop to schedule")]
    NoLoops,
    /// A loop cannot be scheduled.
    #[error("loop `{name}`: {source}")]
    Generate {
        /// The loop.
        name: String,
        /// Why.
        source: GenerateError,
    },
    /// A schedule cannot be made into a program.
    #[error("loop `{name}`: {source}")]
    Materialise {
        /// The loop.
        name: String,
        /// Why.
        source: MaterialiseError,
    },
    /// A schedule that the checker refutes.
    #[error("loop `{name}`: {violation}")]
    Refuted {
        /// The loop.
        name: String,
        /// What is wrong.
        violation: Box<Violation>,
    },
    /// No loop could be scheduled; why each was not.
    #[error("no loop could be scheduled")]
    NoneScheduled(Vec<RefusedLoop>),
}

impl TileError {
    /// Whether the input was understood, and something is wrong with it or with what was made of it.
    pub fn is_verdict(&self) -> bool {
        use TileError::{Generate, Materialise, NoneScheduled, Refuted};
        matches!(self, Generate { .. } | Materialise { .. } | Refuted { .. } | NoneScheduled(_))
    }
}

/// A tile program that was read.
#[derive(Debug, Default)]
pub struct TileInput {
    file: File,
    refused: Vec<RefusedLoop>,
    /// CUDA Tile IR for an architecture: loops of it have other forms.
    module: Option<(Module, u32, Model)>,
}

impl TileInput {
    /// Reads CUDA Tile IR as `tileirdisasm` prints it, or loops in their own text form.
    ///
    /// # Errors
    /// When it is neither, or when what is asked for is not there.
    pub fn parse(text: &str, options: &TileOptions) -> Result<TileInput, Error> {
        let input = TileInput::read(text, options)?;
        let programs = &input.file.programs;
        for wanted in &options.loops {
            if !programs.iter().any(|p| p.name == *wanted) {
                let known: Vec<&str> = programs.iter().map(|p| p.name.as_str()).collect();
                return Err(TileError::NoLoop { name: wanted.clone(), known: known.join(", ") }.into());
            }
        }
        for wanted in options.schedule.depths.keys() {
            if !programs.iter().any(|p| p.values.values().any(|v| v.name == *wanted)) {
                return Err(TileError::NoValue(wanted.clone()).into());
            }
        }
        Ok(input)
    }

    fn read(text: &str, options: &TileOptions) -> Result<TileInput, TileError> {
        let arch = options.arch.map(number).transpose()?;
        // Texts of loops begin with one; CUDA Tile IR begins with an entry, a module or an alias.
        let is_comment = |line: &&str| line.is_empty() || line.starts_with('#') || line.starts_with("//");
        let first = text.lines().map(str::trim).find(|line| !is_comment(line));
        if first.is_some_and(|line| line.starts_with("loop")) {
            let mut file = file::parse(text)?;
            if options.model.is_some() {
                return Err(TileError::ModelGiven);
            }
            if let Some(arch) = arch {
                let asked = format!("sm_{arch}");
                for program in &mut file.programs {
                    let own = program.arch.get_or_insert_with(|| asked.clone());
                    if *own != asked {
                        let (name, own) = (program.name.clone(), own.clone());
                        return Err(TileError::OtherArch { name, own, asked });
                    }
                }
            }
            return Ok(TileInput { file, ..TileInput::default() });
        }
        let module = Module::parse(text).map_err(TileError::Unknown)?;
        if module.entries().next().is_none() {
            return Err(TileError::NoEntry);
        }
        let arch = arch.map_or_else(|| number(DEFAULT_ARCH), Ok)?;
        let model = options.model.unwrap_or(Model::Hardware);
        let (mut file, mut refused) = (File::default(), Vec::new());
        let all = match options.parts {
            Some(parts) => lower_in_parts(&module, arch, model, parts),
            None => lower(&module, arch, model),
        };
        for lowered in all {
            match lowered.program {
                Ok(program) => file.programs.push(program),
                Err(why) => {
                    let place = format!("entry `{}`", lowered.entry);
                    refused.push(RefusedLoop { place, why: why.to_string() });
                }
            }
        }
        Ok(TileInput { file, refused, module: Some((module, arch, model)) })
    }

    /// Whether the text has schedules: then they can be proven, and none is made.
    pub fn has_schedules(&self) -> bool {
        !self.file.scheduled.is_empty()
    }

    /// The text of loops and schedules.
    pub fn print(&self) -> String {
        file::print(&self.file)
    }

    /// Proves the schedules that the text has, loop by loop with the II of each.
    ///
    /// # Errors
    /// With the first that is refuted.
    pub fn prove(&self, options: &TileOptions) -> Result<Vec<(String, u32, Proof)>, Error> {
        let mut proofs = Vec::new();
        for (of, scheduled) in &self.file.scheduled {
            let program = &self.file.programs[*of];
            if options.loops.is_empty() || options.loops.contains(&program.name) {
                let proof = proven(program, scheduled, options.schedule.unlimited)?;
                proofs.push((program.name.clone(), scheduled.ii, proof));
            }
        }
        Ok(proofs)
    }

    /// Schedules the loops and proves every schedule. A loop that cannot be scheduled does not keep others from being so.
    ///
    /// # Errors
    /// When there is no loop, when the only one cannot be scheduled, or when a schedule is refuted: a defect.
    pub fn schedule(self, options: &TileOptions) -> Result<ScheduledTile, Error> {
        let mut done = ScheduledTile { loops: Vec::new(), refused: self.refused.clone() };
        let mut programs = self.file.programs.clone();
        programs.retain(|p| options.loops.is_empty() || options.loops.contains(&p.name));
        if programs.is_empty() {
            return Err(TileError::NoLoops.into());
        }
        let alone = programs.len() == 1 && done.refused.is_empty();
        for program in programs {
            let name = program.name.clone();
            match self.one(&program, options) {
                Ok((chosen, scheduled)) => {
                    let Chosen { program, generated, parts, whole } = chosen;
                    let proof = proven(&program, &scheduled, options.schedule.unlimited)?;
                    let view = view(&program, &generated, &scheduled, &options.schedule);
                    done.loops.push(ScheduledLoop { program, scheduled, view, proof, parts, whole });
                }
                Err(error) if alone => return Err(error.into()),
                Err(error) => {
                    let why = match &error {
                        TileError::Generate { source, .. } => source.to_string(),
                        TileError::Materialise { source, .. } => source.to_string(),
                        other => other.to_string(),
                    };
                    done.refused.push(RefusedLoop { place: format!("loop `{name}`"), why });
                }
            }
        }
        if done.loops.is_empty() { Err(TileError::NoneScheduled(done.refused).into()) } else { Ok(done) }
    }

    fn one(&self, program: &Program, options: &TileOptions) -> Result<(Chosen, Scheduled), TileError> {
        let name = || program.name.clone();
        let divided = |parts| self.divided(program, parts).filter(|_| options.parts.is_none());
        let chosen = choose(program, divided, &options.schedule)
            .map_err(|source| TileError::Generate { name: name(), source })?;
        let scheduled = materialise(&chosen.program, &chosen.generated)
            .map_err(|source| TileError::Materialise { name: name(), source })?;
        Ok((chosen, scheduled))
    }

    /// A loop with its tiles in parts.
    fn divided(&self, program: &Program, parts: u32) -> Option<Program> {
        let (module, arch, model) = self.module.as_ref()?;
        let all = lower_in_parts(module, *arch, *model, parts);
        all.into_iter().filter_map(|l| l.program.ok()).find(|p| p.name == program.name)
    }
}

/// Schedules the loops of a tile program and proves every schedule.
///
/// # Errors
/// When the text cannot be read, when no loop can be scheduled, or when a schedule is refuted: a defect.
pub fn schedule_tile(text: &str, options: &TileOptions) -> Result<ScheduledTile, Error> {
    TileInput::parse(text, options)?.schedule(options)
}

/// The number of an architecture that tile programs run on.
fn number(arch: Arch) -> Result<u32, TileError> {
    match arch.number() {
        Some(number) if number >= OLDEST => Ok(u32::from(number)),
        _ => Err(TileError::Arch(arch)),
    }
}

/// Proves a schedule against the machine's limits.
fn proven(program: &Program, scheduled: &Scheduled, unlimited: bool) -> Result<Proof, TileError> {
    let limits = if unlimited { Limits::NONE } else { Limits::of(buffers::table(program)) };
    prove(program, scheduled, &limits, &Effort::default()).map_err(|violation| TileError::Refuted {
        name: program.name.clone(),
        violation: Box::new(violation),
    })
}
