//! `sassafras bisect`

use crate::bisect::{Report, Search, Trial};
use crate::input::{Input, SelectionArguments};
use crate::job::JobArguments;
use crate::knobs::{unknown_latency, warn_rescheduling};
use crate::output;
use anyhow::{Result, bail};
use sassafras::reschedule::{Bisection, Memo};
use sassafras_list::registry;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Find the smallest part of a rescheduling that makes a command fail
///
/// Runs the command on the file as it is, which has to pass, and rescheduled, which has to fail; then on candidates in which
/// only some kernels, and of these only some blocks, are rescheduled, until none can be left out. Every candidate is
/// verified before the command sees it. The report has both orders of the blocks that matter with their control fields, and
/// what the verifier says about them.
///
/// The command gets the path of the candidate as its last argument, or wherever an argument has `{}`. It fails with an exit
/// status other than 0, by a signal, or by taking too long.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The cubin, or what holds cubins
    input: PathBuf,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
    /// Keep the smallest candidate that fails
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// A run that takes longer counts as a failure
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Let the output of the runs through, on standard error
    #[arg(long)]
    verbose: bool,
    #[command(flatten)]
    selection: SelectionArguments,
    #[command(flatten)]
    job: JobArguments,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  sassafras bisect k.cubin -- ./check
  sassafras bisect k.cubin -o smallest.cubin -- python3 check.py --cubin={} --size 4096
  sassafras bisect libkernels.so --arch sm_90 --timeout 30 --json -- ./run-tests.sh
  sassafras bisect k.cubin --strategy shuffle --seed 7 -- ./check

Exit status: 0 found; 1 nothing to look for: the original fails, or the rescheduled file passes; 2 bad usage or unreadable input.";

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "expected a number of seconds".to_owned())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(limit) if !limit.is_zero() => Ok(limit),
        _ => Err("expected a number of seconds above 0".to_owned()),
    }
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let input = match Input::read(&arguments.input)? {
        Input::Binary(input) => input,
        Input::Text(input) => bail!("{}: text IR cannot be run; `bisect` is for binaries", input.name),
        Input::Ptx(input) => bail!("{}: this is PTX; `bisect` is for binaries", input.name),
    };
    let to_stdout = arguments.output.as_deref().is_some_and(|path| path.as_os_str() == "-");
    if to_stdout {
        bail!("`-o -` and a report cannot both go to standard output; write the candidate to a file");
    }
    let selection = arguments.selection.get();
    if !selection.takes_all() {
        input.visit(&input.library()?, &selection, |_| Ok(()))?;
    }
    let knobs = arguments.job.knobs.read()?;
    let strategy = arguments.job.for_binaries().name;
    arguments.job.refuse_unread(&input.name, strategy)?;
    warn_rescheduling(&knobs, "binary", strategy);
    let list = arguments.job.list_options(
        unknown_latency(&knobs)?,
        &knobs,
        const { registry::get("critical-path") },
    );
    let bisection = Bisection::default();
    let mut options = arguments.job.options(&input.name, &arguments.selection, &list, knobs, bisection)?;
    options.memo = Some(Memo::default());
    let trial =
        Trial::new(arguments.command.clone(), arguments.timeout, arguments.verbose, &arguments.input)?;
    let mut search = Search::new(&input, options, trial);
    let culprit = arguments.job.install(None, || search.run())??;
    if let Some(path) = &arguments.output {
        output::write_file(path, &culprit.bytes)?;
    }
    let report = Report::new(&search, &culprit)?;
    if arguments.json { output::print_json(&report) } else { output::print(&report.text()?) }
}
