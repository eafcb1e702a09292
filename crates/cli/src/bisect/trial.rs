//! Goal: the user's command, run on one candidate after the other.
//!
//! Every candidate has a path of its own, since programs cache what they load by path. Candidates live in a temporary
//! folder and are removed after their run; the folder goes when the search ends, however it ends.

use crate::signals::{self, Interrupted};
use anyhow::{Context, Result, bail};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How soon the first look at a running command is, and how late the last ones are.
const LOOKS: (Duration, Duration) = (Duration::from_micros(200), Duration::from_millis(20));

/// A command to try candidates with.
pub struct Trial {
    command: Vec<OsString>,
    timeout: Option<Duration>,
    shown: bool,
    name: OsString,
    folder: TempDir,
    interrupted: Interrupted,
    /// How often it has run.
    pub runs: u64,
}

/// What a run says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Exit status 0.
    Passed,
    /// Anything else, in words.
    Failed(String),
}

impl Trial {
    /// A trial of candidates for `input`. `shown` lets the output of runs through.
    ///
    /// # Errors
    /// When there is no temporary folder to be had.
    pub fn new(
        command: Vec<OsString>,
        timeout: Option<Duration>,
        shown: bool,
        input: &Path,
    ) -> Result<Trial> {
        let name = input.file_name().unwrap_or(OsStr::new("candidate")).to_owned();
        let folder =
            tempfile::Builder::new().prefix("sassafras-bisect-").tempdir().context("temporary folder")?;
        Ok(Trial { command, timeout, shown, name, folder, interrupted: Interrupted::watch()?, runs: 0 })
    }

    /// Writes a candidate and runs the command on it.
    ///
    /// # Errors
    /// When the command cannot be started, or when the user ends the search.
    pub fn run(&mut self, candidate: &[u8]) -> Result<Verdict> {
        self.runs += 1;
        let mut name = OsString::from(format!("{}-", self.runs));
        name.push(&self.name);
        let path = self.folder.path().join(name);
        std::fs::write(&path, candidate).with_context(|| path.display().to_string())?;
        let verdict = self.judge(&path);
        std::fs::remove_file(&path).or_else(missing).with_context(|| path.display().to_string())?;
        verdict
    }

    fn judge(&self, path: &Path) -> Result<Verdict> {
        let words = with_path(&self.command, path);
        let Some((program, arguments)) = words.split_first() else { bail!("no command was given") };
        let output = || if self.shown { Stdio::from(std::io::stderr()) } else { Stdio::null() };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(output()).stderr(output());
        signals::own_group(&mut command);
        let mut child = command.spawn().with_context(|| Path::new(program).display().to_string())?;
        let start = Instant::now();
        let mut pause = LOOKS.0;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(verdict(status));
            }
            if self.interrupted.is_set() {
                end(&mut child);
                bail!("interrupted");
            }
            if let Some(limit) = self.timeout.filter(|&limit| start.elapsed() >= limit) {
                end(&mut child);
                return Ok(Verdict::Failed(format!("took longer than {} s", limit.as_secs_f64())));
            }
            std::thread::sleep(pause);
            pause = (2 * pause).min(LOOKS.1);
        }
    }
}

fn verdict(status: ExitStatus) -> Verdict {
    if status.success() { Verdict::Passed } else { Verdict::Failed(status.to_string()) }
}

/// Ends a command and what it started.
fn end(child: &mut Child) {
    signals::kill_group(child);
    let _ = child.kill();
    let _ = child.wait();
}

/// A command may remove or move what it was given.
fn missing(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// The words of a command with a path in place of `{}`, or at their end where there is none.
fn with_path(command: &[OsString], path: &Path) -> Vec<OsString> {
    let mut found = false;
    let mut words: Vec<OsString> = (command.iter())
        .map(|word| {
            let Some(text) = word.to_str().filter(|text| text.contains("{}")) else { return word.clone() };
            found = true;
            let mut parts = text.split("{}");
            let mut word = OsString::from(parts.next().unwrap_or(""));
            for part in parts {
                word.push(path);
                word.push(part);
            }
            word
        })
        .collect();
    if !found {
        words.push(PathBuf::from(path).into_os_string());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn the_path_stands_where_it_is_wanted() {
        let path = Path::new("/c");
        assert_eq!(with_path(&words(&["run", "-x"]), path), words(&["run", "-x", "/c"]));
        assert_eq!(with_path(&words(&["run", "{}", "-x"]), path), words(&["run", "/c", "-x"]));
        assert_eq!(with_path(&words(&["run", "--in={},{}"]), path), words(&["run", "--in=/c,/c"]));
    }

    #[cfg(unix)]
    #[test]
    fn runs_are_judged_and_leave_nothing() {
        let sh = |script: &str| words(&["sh", "-c", script, "sh"]);
        let limit = Some(Duration::from_millis(50));
        let judge = |script: &str| {
            let mut trial = Trial::new(sh(script), limit, false, Path::new("k.cubin")).expect("a folder");
            let verdict = trial.run(b"bytes").expect("it runs");
            let left = std::fs::read_dir(trial.folder.path()).expect("a folder").count();
            assert_eq!((left, trial.runs), (0, 1));
            verdict
        };
        assert_eq!(judge("test \"$(cat $1)\" = bytes"), Verdict::Passed);
        assert_eq!(judge("case $1 in *-k.cubin) rm $1;; *) exit 1;; esac"), Verdict::Passed);
        assert!(matches!(judge("exit 3"), Verdict::Failed(how) if how.contains('3')));
        assert!(matches!(judge("kill -9 $$"), Verdict::Failed(_)));
        assert!(matches!(judge("sleep 60"), Verdict::Failed(how) if how.contains("longer than 0.05 s")));
        let mut trial =
            Trial::new(words(&["/no/such/program"]), None, false, Path::new("k")).expect("a folder");
        assert!(trial.run(b"").is_err());
    }
}
