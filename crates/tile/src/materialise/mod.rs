//! Materialisation: a published schedule becomes agents, pipes, mutexes and buffers. Nothing is scheduled here.
//!
//! In this order:
//! 1. what generation published is read: where each operation stands, its agent, the skeletons of pipes ([`solve`]) and their
//!    slots, the loop over tiles;
//! 2. mutexes are seeded;
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

use crate::analysis::Generator;
use crate::generate::Generated;
use crate::solve;
use sassafras_tileir::program::Program;
use sassafras_tileir::scheduled::{Scheduled, Sources, Strategy};
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
    /// A pipe that two kinds of asynchronous operations fill.
    #[error("{pipe} is filled by `{first}` and by `{second}`: one barrier cannot wait for both")]
    Producers {
        /// The pipe.
        pipe: String,
        /// A kind.
        first: String,
        /// Another one.
        second: String,
    },
    /// A defect: the result is not what the analysis says.
    #[error("the materialised loop is wrong: {0}")]
    Post(String),
}

/// Materialises what [`generate`](crate::generate()) published of `program`: schedule, agents, pipes and slots are there, and no
/// option can say anything else.
///
/// Cost: near-linear in steps, but for pipes that share buffers.
///
/// # Errors
/// Too few named barriers, a pipe that cannot be waited for, and defects.
pub fn materialise(program: &Program, generated: &Generated) -> Result<Scheduled, MaterialiseError> {
    let Generated { analysis, layout, plans, tile_loop } = generated;
    let mutexes = solve::mutexes(program, analysis);
    let mut scheduled = emit::emit(program, analysis, layout, plans, &mutexes)?;
    scheduled.strategy = match plans.len() {
        0 | 1 if analysis.generator == Generator::Serial => Strategy::None,
        0 | 1 => Strategy::Unspecialize,
        _ => Strategy::WarpSpecialize,
    };
    let links = steps::Links::new(program, &scheduled, plans);
    let sources = Sources::new(program, &scheduled);
    for plan in plans {
        let agent = regions::rebuild(program, analysis, plan, &links, &sources);
        scheduled.agents.push(agent);
    }
    scheduled.short_below = scheduled.agents.values().map(|a| u64::from(a.lead)).max().unwrap_or(0);
    scheduled.tile_loop.clone_from(tile_loop);
    post::check(program, analysis, &scheduled).map_err(MaterialiseError::Post)?;
    Ok(scheduled)
}
