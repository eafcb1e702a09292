//! The `sassafras` command.
//!
//! Arguments and printing; the work is done by the library `sassafras`. A file per command under `commands/`; `input` reads and
//! recognises files, `job` says how they are rescheduled, `bisect` finds what of that is at fault, `standin` does it behind ptxas,
//! `output` writes files whole or not at all, `failure` maps errors to exit statuses.

mod bisect;
mod commands;
mod failure;
mod input;
mod job;
mod knobs;
mod output;
mod progress;
mod signals;
mod standin;
mod strategy;
mod words;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Reschedules NVIDIA GPU code: rebuilds the dependences, schedules them against a model of the machine, checks the
/// result and says why.
#[derive(Parser)]
#[command(version, arg_required_else_help = true, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  sassafras schedule                          the built-in sample, before and after
  sassafras schedule k.sir -o fast.sir        reschedule a text-IR file
  sassafras verify k.cubin                    hazards that no stall and no scoreboard covers
  sassafras verify out.so --against in.so     the same, and that the one is a legal reordering of the other
  sassafras analyze k.cubin                   where the cycles go: bottleneck, latencies, what each loop waits for
  sassafras analyze k.cubin fast.cubin        two versions side by side
  sassafras bisect k.cubin -- ./check         the kernel and block whose new order makes a command fail
  sassafras ptxas -- -arch=sm_90 k.ptx        run ptxas and reschedule what it writes
  sassafras disasm k.cubin --kernel saxpy     a listing with the control fields in a column
  sassafras assemble --arch sm_90 'FADD R0, R1, R2'
                                              the machine word of an instruction
  sassafras deps k.sir --block loop --dot     the dependence graph of a block, for Graphviz
  sassafras dual-issue k.cubin                pairs that issue together, on sm_50 to sm_62
  sassafras tile k.tileir --report k.html     schedule the loops of a tile program, with a proof
  sassafras model --arch sm_90                what is known of an architecture
  sassafras knobs stall                       the knobs whose name or meaning has that word
  sassafras strategies                        every way to order: what it takes and where it competes
  sassafras passes                            what `schedule` runs, for --print-after and --stop-after

Exit status: 0 done; 1 the input was understood and something is wrong with it; 2 bad usage or unreadable input.";

#[derive(Subcommand)]
enum Command {
    Schedule(commands::schedule::Arguments),
    Verify(commands::verify::Arguments),
    Analyze(commands::analyze::Arguments),
    Bisect(commands::bisect::Arguments),
    Ptxas(commands::ptxas::Arguments),
    Disasm(commands::disasm::Arguments),
    Assemble(commands::assemble::Arguments),
    Deps(commands::deps::Arguments),
    DualIssue(commands::dual_issue::Arguments),
    Tile(commands::tile::Arguments),
    Model(commands::model::Arguments),
    Knobs(commands::knobs::Arguments),
    Strategies(commands::strategies::Arguments),
    Passes(commands::passes::Arguments),
}

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    if standin::is_called(words.next().as_deref()) {
        return standin::run(&words.collect::<Vec<_>>());
    }
    let result = match Arguments::parse().command {
        Command::Schedule(arguments) => commands::schedule::run(&arguments),
        Command::Verify(arguments) => commands::verify::run(&arguments),
        Command::Analyze(arguments) => commands::analyze::run(&arguments),
        Command::Bisect(arguments) => commands::bisect::run(&arguments),
        Command::Ptxas(arguments) => return commands::ptxas::run(&arguments),
        Command::Disasm(arguments) => commands::disasm::run(&arguments),
        Command::Assemble(arguments) => commands::assemble::run(&arguments),
        Command::Deps(arguments) => commands::deps::run(&arguments),
        Command::DualIssue(arguments) => commands::dual_issue::run(&arguments),
        Command::Tile(arguments) => commands::tile::run(&arguments),
        Command::Model(arguments) => commands::model::run(&arguments),
        Command::Knobs(arguments) => commands::knobs::run(&arguments),
        Command::Strategies(arguments) => commands::strategies::run(&arguments),
        Command::Passes(arguments) => commands::passes::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::report(&error),
    }
}
