//! Materialisation: a published schedule becomes agents, pipes, mutexes and buffers. Nothing is scheduled here.
//!
//! In this order:
//! 1. tables are set up from the analysis: where each operation stands, its group's leader, its agent;
//! 2. mutexes are seeded, then the skeletons of pipes ([`solve`]);
//! 3. skeletons get their slots and what their ends meet at ([`emit`]): nothing where one agent's order of steps is enough,
//!    barrier objects for values, named barriers for what carries none;
//! 4. operands are read through pipes ([`steps`]): every operation's steps, once;
//! 5. regions are rebuilt ([`regions`]): prologue, steady steps, epilogue and the steps for short loops, per agent;
//! 6. what must hold afterwards is checked ([`post`]).
//!
//! Source: `tile-scheduler` ("Schedule::solve", "Pipe and Mutex Emission"), `tile-materialise`, `tile-pipes`.

pub mod emit;
pub mod post;
pub mod regions;
pub mod steps;

use crate::agents::{self, Plan};
use crate::contract::{self, ContractError};
use crate::generate::Generated;
use crate::options::Options;
use crate::solve;
use sassafras_tileir::program::Program;
use sassafras_tileir::scheduled::{Scheduled, Sources};
use thiserror::Error;

/// Why a schedule was not materialised.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum MaterialiseError {
    /// More mutexes and orders between agents than named barriers.
    #[error("fails to assign named barrier: {wanted} are wanted, {have} are there")]
    Barriers {
        /// What is wanted.
        wanted: usize,
        /// What there is.
        have: u32,
    },
    /// A shape that a persistent loop cannot have.
    #[error(transparent)]
    Contract(#[from] ContractError),
    /// A defect: the result is not what the analysis says.
    #[error("the materialised loop is wrong: {0}")]
    Post(String),
}

/// Materialises a schedule of `program` that [`generate`](crate::generate()) made with the same options.
pub fn materialise(
    program: &Program,
    generated: &Generated,
    options: &Options,
) -> Result<Scheduled, MaterialiseError> {
    let analysis = &generated.analysis;
    let plans: Vec<Plan> = agents::plan(program, options.strategy);
    let mutexes = solve::mutexes(program, analysis);
    let skeletons = solve::pipes(program, analysis);
    let mut scheduled = emit::emit(program, analysis, &generated.layout, &plans, &mutexes, &skeletons)?;
    scheduled.strategy = if plans.len() > 1 { options.strategy } else { emit::single(analysis, options) };
    let links = steps::Links::new(program, &scheduled, &plans);
    let sources = Sources::new(program, &scheduled);
    for plan in &plans {
        let agent = regions::rebuild(program, analysis, plan, &links, &sources);
        scheduled.agents.push(agent);
    }
    scheduled.short_below = scheduled.agents.values().map(|a| u64::from(a.lead)).max().unwrap_or(0);
    if let Some(shape) = &program.persistent {
        scheduled.tile_loop = Some(contract::tile_loop(shape, options.clusters)?);
    }
    post::check(program, analysis, &scheduled).map_err(MaterialiseError::Post)?;
    Ok(scheduled)
}
