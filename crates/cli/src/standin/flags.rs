//! Goal: our own options, from the variable `SASSAFRAS_FLAGS`: all others belong to ptxas.

use crate::input::SelectionArguments;
use crate::job::{Effort, JobArguments};
use crate::words::{self, Quotes};
use clap::Parser;
use std::path::PathBuf;

/// The variable.
pub const VARIABLE: &str = "SASSAFRAS_FLAGS";
/// What the cache may take where nobody says.
const CACHE: u64 = 256 << 20;

/// Options of the stand-in.
#[derive(Parser)]
#[command(name = VARIABLE, no_binary_name = true, disable_help_flag = true, disable_version_flag = true)]
pub struct Flags {
    /// How to reschedule.
    #[command(flatten)]
    pub job: JobArguments,
    /// What to reschedule; names that a cubin does not have are no error.
    #[command(flatten)]
    pub selection: SelectionArguments,
    /// Say nothing, whatever happens.
    #[arg(long)]
    pub quiet: bool,
    /// Reschedule anew every time.
    #[arg(long)]
    pub no_cache: bool,
    /// Where to keep what was rescheduled.
    #[arg(long, value_name = "FOLDER")]
    pub cache_dir: Option<PathBuf>,
    /// How much of it to keep.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value_t = CACHE)]
    pub cache_size: u64,
}

impl Flags {
    /// Those of the environment.
    ///
    /// # Errors
    /// In one line, what is wrong with them.
    pub fn of_environment() -> Result<Flags, String> {
        let text = std::env::var_os(VARIABLE).unwrap_or_default();
        let text = text.to_str().ok_or_else(|| format!("{VARIABLE} is not text"))?;
        Flags::parse_text(text)
    }

    /// Those of a text.
    fn parse_text(text: &str) -> Result<Flags, String> {
        let words = words::split(text, Quotes::Both).map_err(|error| format!("{VARIABLE}: {error}"))?;
        let mut flags = Flags::try_parse_from(words).map_err(|error| {
            let message = error.to_string();
            let first = message.lines().next().unwrap_or("not understood");
            format!("{VARIABLE}: {}", first.trim_start_matches("error: "))
        })?;
        // A build is not to take longer than it did.
        flags.job.effort.get_or_insert(Effort::Quick);
        Ok(flags)
    }
}

/// A number of bytes, with K, M or G for powers of 1024.
fn size(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 10),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 20),
        Some(b'G' | b'g') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| "expected a size such as 256M".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "more than any disk holds".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_those_of_schedule_and_some_more() {
        let flags =
            Flags::parse_text("--strategy reverse --quiet --launch block=256 --cache-size 1M --kernel 'a b'");
        let Ok(flags) = flags else { panic!("not understood") };
        assert!(flags.quiet && !flags.no_cache);
        assert_eq!((flags.cache_size, flags.selection.kernels), (1 << 20, vec!["a b".to_owned()]));
        assert_eq!(Flags::parse_text("").ok().map(|flags| flags.cache_size), Some(CACHE));
    }

    #[test]
    fn what_is_wrong_is_one_line() {
        for text in ["--fast", "--strategy best", "--cache-size x", "'", "k.ptx", "--help", "--jobs 0"] {
            let error = Flags::parse_text(text).err().expect(text);
            assert!(
                error.starts_with(VARIABLE) && !error.contains('\n') && !error.contains('\x1b'),
                "{error}"
            );
        }
    }
}
