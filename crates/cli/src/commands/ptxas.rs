//! `sassafras ptxas`

use crate::standin;
use std::ffi::OsString;
use std::process::ExitCode;

/// Stand in for ptxas: run the real one and reschedule the cubin that it writes
///
/// Everything behind the command belongs to ptxas. The same happens, without any option of ours, when this program is called
/// by the name `ptxas`, through a link or as a copy. Output, messages and exit status are those of ptxas; the cubin is
/// replaced by a rescheduled one that was verified, and stays as it is on any doubt. One line on standard error says what
/// became of it.
///
/// The real ptxas is what `SASSAFRAS_PTXAS` names, else the first in `PATH` that is not this program, else
/// `CUDA_HOME/bin/ptxas`. `SASSAFRAS_FLAGS` has options of `schedule` (`--strategy`, `--knob`, `--launch`,
/// `--keep-registers` and so on), `--quiet`, `--no-cache`, `--cache-dir FOLDER` and `--cache-size SIZE`. Results are kept in
/// `SASSAFRAS_CACHE_DIR`, else in `sassafras` below `XDG_CACHE_HOME` or `~/.cache`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Arguments of ptxas
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    arguments: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  sassafras ptxas -- -arch=sm_90 k.ptx -o k.cubin
  SASSAFRAS_FLAGS='--launch block=256 --quiet' sassafras ptxas -- -arch=sm_90 k.ptx -o k.cubin
  nvcc --ptxas-prefix=sassafras -arch=sm_90 -c k.cu
  ln -s \"$(command -v sassafras)\" ~/standin/ptxas; TRITON_PTXAS_PATH=~/standin/ptxas python3 train.py

Exit status: that of ptxas; 2 if there is none.";

pub fn run(arguments: &Arguments) -> ExitCode {
    standin::run(&arguments.arguments)
}
