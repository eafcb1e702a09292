//! Project tasks, run as `cargo xtask <task>`.
//!
//! * [`project`]: where things are, and how cargo is called;
//! * [`steps`]: running steps one after the other, all of them, with a summary;
//! * [`tools`]: installing the pinned tools of `tools.toml`;
//! * [`corpus`]: compiling the corpus of real code;
//! * [`browser`]: the report of an analysis in a real browser;
//! * [`damage`]: files with one thing wrong, and files damaged beyond recognition;
//! * [`first_contact`]: wheels that nobody here has opened, verified and rescheduled, with a ledger;
//! * [`fuzz`]: building and running fuzz targets on a stable toolchain;
//! * [`hazards`]: mining distances, stalls that no rule asks for, and mutants against the hazard checker;
//! * [`relayout`]: code of another length, and what nvdisasm says of it;
//! * [`reach`]: public functions that the command does not reach;
//! * [`silicon`]: rescheduled code on a GPU, and the table of what is proven there;
//! * [`ptx_table`]: what ptxas makes of scheduled PTX; [`tile_table`]: what is made of tile programs;
//! * [`tasks`]: what each task does.

mod browser;
mod corpus;
mod damage;
mod first_contact;
mod fuzz;
mod hazards;
mod project;
mod ptx_table;
mod reach;
mod relayout;
mod silicon;
mod steps;
mod tasks;
mod tile_table;
mod tools;

use anyhow::Result;
use clap::{Parser, Subcommand};
use project::Project;
use std::process::ExitCode;

/// Project tasks of sassafras.
#[derive(Parser)]
#[command(bin_name = "cargo xtask", max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run every test: unit, integration, file, property and doc tests, and a second of each fuzz target
    ///
    /// Installs the pinned tools into target/tools and compiles the corpus into target/corpus first, which takes g++,
    /// python3 with pip, and the network once.
    Test,
    /// Compile the corpus of real code into target/corpus
    ///
    /// CUDA and Triton kernels for every architecture, and libraries with fatbinaries; manifest.json lists them. Only what
    /// has changed is compiled again.
    Corpus,
    /// Compare the tables of distances with what compiled code leaves
    ///
    /// Mines the corpus and FILES, and says where the tables of crates/machine/data/mined ask for more than some code
    /// leaves (looser), or for less than all of it leaves (tighter). The tables were made from many more files than the
    /// corpus: with --write they hold what these files show and nothing else.
    Mine {
        #[command(flatten)]
        options: hazards::MineOptions,
        /// Cubins, fatbinaries, libraries and folders of them, beside the corpus
        files: Vec<std::path::PathBuf>,
    },
    /// Say which stall cycles of compiled code no rule asks for, and what explains them
    ///
    /// Goes over the sm_90 code of the corpus and FILES with the checker's own rules. The table
    /// crates/machine/data/mined/residue.csv has the reasons for the rest. Fails if less than 95 % of it is explained, or a kind of
    /// pair is unexplained more than 100 times.
    Residue {
        /// How many unexplained kinds are listed
        #[arg(long, default_value_t = 40)]
        kinds: u32,
        /// Show code around unexplained stalls of this kind, named as in the list; may be given several times
        #[arg(long, value_name = "KIND")]
        example: Vec<String>,
        /// Cubins, fatbinaries, libraries and folders of them, beside the corpus
        files: Vec<std::path::PathBuf>,
    },
    /// Break compiled code and see whether the hazard checker notices
    ///
    /// Mutants are made and judged by tools/mutate, from the text of nvdisasm and the raw control bits alone. Tables of what
    /// was caught, and what was not, go to target/mutants.
    Mutants {
        /// How many
        #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
        count: u32,
        /// Another seed gives other mutants
        #[arg(long, default_value_t = 1)]
        seed: u32,
    },
    /// Make rescheduled files wrong, one thing each, and see whether the comparison with the original refuses them
    ///
    /// Cubins and PTX of the corpus, fatbinaries, a grown library and archives made of them, and FILES, rescheduled in several ways. What is accepted must
    /// be proven by tools/mutate, which shares nothing with the checker. Tables and what got through go to target/wrong-files.
    WrongFiles {
        /// How many
        #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
        count: u32,
        /// Another seed gives other damage
        #[arg(long, default_value_t = 1)]
        seed: u32,
        /// Libraries, archives, cubins and PTX, beside the corpus
        files: Vec<std::path::PathBuf>,
    },
    /// Damage files of every kind and see that no command panics, takes over 10 s or over 1 GiB
    ///
    /// Commands run with limits of processor time and address space; files under a megabyte that are made to cost much go through every
    /// command, too. Tables and what failed go to target/broken-files.
    BrokenFiles {
        /// How many
        #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
        count: u32,
        /// Another seed gives other damage
        #[arg(long, default_value_t = 1)]
        seed: u32,
        /// More good files
        files: Vec<std::path::PathBuf>,
    },
    /// Write cubins again with NOPs at random places, every offset another one, and see whether nvdisasm reads the same
    ///
    /// All cubins of the corpus, or FILES. Branches, jump tables, symbols and everything else have to follow; cuobjdump has to take the
    /// files, too. They stay in target/relayout, to be run on a GPU.
    Relayout {
        #[command(flatten)]
        options: relayout::Options,
        /// Cubins
        files: Vec<std::path::PathBuf>,
    },
    /// Run rescheduled code on a GPU and compare every bit: needs one, and PyTorch for some parts
    ///
    /// The benchmark suite, kernels of rare instructions, PyTorch's operators on rescheduled libraries and through torch.compile, and the table of
    /// forms that ran (crates/machine/data/mined/sm_90.silicon.csv). A part can be run alone by its flag; results stay in target/silicon, and a mode
    /// of the operators runs again only when its rescheduled bytes changed.
    Silicon(silicon::Options),
    /// Verify and reschedule the device code of wheels that nobody here has opened, and write down what happened
    ///
    /// Downloads each WHEEL, runs verify and two ways of schedule on every file in it with device code, and adds a row per file to
    /// docs/first-contact.csv: alarms, unknown pairs, kept functions, verdicts, time and memory. Run it before anything is mined from a
    /// wheel; the rows of one that was opened before say `again`. Refuses with status 2 where the work tree has changes.
    FirstContact(first_contact::Options),
    /// Compile PTX in the order of every strategy and write docs/ptx-registers.md
    ///
    /// Registers, spills and ptxas's time per kernel of the corpus. Takes some minutes.
    PtxTable,
    /// Schedule every tile program of the corpus, and write docs/tile-schedules.md
    TileTable,
    /// Run everything that must pass before a change goes in: test, formatting, clippy, rustdoc, reach, licences
    Ci,
    /// Find public functions of libraries that the command does not reach and that have no reason in xtask/data/unreached.csv
    Reach,
    /// Check licences, bans and sources of all dependencies with cargo-deny (built once, some minutes)
    Licences,
    /// Run the long campaigns: every property test with many more cases, then every fuzz target
    Nightly {
        /// Cases per property
        #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..))]
        cases: u32,
        /// Minutes per fuzz target
        #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
        minutes: u32,
    },
    /// Run one fuzz target, or all one after the other
    ///
    /// Inputs that break something are kept in fuzz/artifacts/TARGET. To run one again:
    /// cargo xtask fuzz TARGET --input FILE
    Fuzz {
        /// The target; all of them without it
        target: Option<String>,
        /// How long each target runs
        #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
        seconds: u32,
        /// Run this one input instead
        #[arg(long, value_name = "FILE", requires = "target")]
        input: Option<std::path::PathBuf>,
    },
    /// Run all benchmarks of the workspace one after the other
    Bench {
        /// Passed on to the benchmarks, after `--`
        #[arg(last = true)]
        args: Vec<String>,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            match error.is::<first_contact::Refused>() {
                true => ExitCode::from(2),
                false => ExitCode::FAILURE,
            }
        }
    }
}

fn run(task: Task) -> Result<()> {
    let project = Project::find()?;
    match task {
        Task::Test => tasks::test(&project),
        Task::Corpus => corpus::build(&project).map(drop),
        Task::Mine { options, files } => hazards::mine(&project, options, &files),
        Task::Residue { kinds, example, files } => hazards::residue(&project, kinds, &example, &files),
        Task::Mutants { count, seed } => hazards::mutants(&project, count, seed),
        Task::WrongFiles { count, seed, files } => damage::wrong_files(&project, count, seed, &files),
        Task::BrokenFiles { count, seed, files } => damage::broken_files(&project, count, seed, &files),
        Task::Relayout { options, files } => relayout::relayout(&project, options, &files),
        Task::Silicon(options) => silicon::silicon(&project, &options),
        Task::FirstContact(options) => first_contact::first_contact(&project, &options),
        Task::PtxTable => ptx_table::write(&project),
        Task::TileTable => tile_table::write(&project),
        Task::Ci => tasks::ci(&project),
        Task::Reach => reach::check(&project),
        Task::Licences => tasks::licences(&project),
        Task::Nightly { cases, minutes } => tasks::nightly(&project, cases, minutes),
        Task::Fuzz { target, seconds, input } => {
            fuzz::task(&project, target.as_deref(), seconds, input.as_deref())
        }
        Task::Bench { args } => tasks::bench(&project, &args),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
