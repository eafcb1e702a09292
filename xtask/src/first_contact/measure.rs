//! Children with the time and the memory that they took, and an end if they take too long.
//!
//! Memory is the peak of the resident set as the kernel counts it for this one child (`wait4`, `ru_maxrss`). The count starts with what the
//! parent had at most when the child was started: a parent that stays small measures well, so nothing here reads a report as a whole.
//!
//! Cost: a thread per child that has a limit; what children say goes to files.

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};
use wait4::Wait4;

/// The most of what a child says on standard error that is kept.
const MOST_SAID: u64 = 64 << 10;

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With this status.
    Exit(i32),
    /// Killed by this signal.
    Signal(i32),
    /// Its time was over, so that it was killed here.
    TimedOut,
}

/// A child that has ended.
#[derive(Debug)]
pub struct Ended {
    /// How.
    pub end: End,
    /// From start to end, by the clock.
    pub seconds: f64,
    /// The peak of its resident set, in bytes.
    pub peak: u64,
    /// What it wrote to standard output.
    output: PathBuf,
    /// What it wrote to standard error.
    said: PathBuf,
}

impl Ended {
    /// Its standard output, read piece by piece.
    pub fn output(&self) -> Result<BufReader<File>> {
        let file = File::open(&self.output).with_context(|| self.output.display().to_string())?;
        Ok(BufReader::new(file))
    }

    /// The line that says why it failed: its error, else where it panicked, else the last one.
    pub fn why(&self) -> String {
        let mut said = Vec::new();
        let _ = File::open(&self.said).and_then(|file| file.take(MOST_SAID).read_to_end(&mut said));
        let text = String::from_utf8_lossy(&said);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        if let Some(error) = lines.iter().find_map(|line| line.strip_prefix("error: ")) {
            return error.to_owned();
        }
        match lines.iter().position(|line| line.starts_with("thread ")) {
            // What is wrong stands in the line behind the place.
            Some(at) => lines[at..].iter().take(2).copied().collect::<Vec<_>>().join(" "),
            None => lines.last().copied().unwrap_or_default().to_owned(),
        }
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.output);
        let _ = fs::remove_file(&self.said);
    }
}

/// Runs a command whose output goes to files in `folder`, for no longer than `limit`.
pub fn measure(command: &mut Command, folder: &Path, limit: Option<Duration>) -> Result<Ended> {
    let [output, said] = ["stdout", "stderr"].map(|name| folder.join(name));
    let create = |path: &Path| File::create(path).with_context(|| path.display().to_string());
    command.stdin(Stdio::null()).stdout(create(&output)?).stderr(create(&said)?);
    let start = Instant::now();
    let child = command.spawn().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    let pid = Pid::from_child(&child);
    let (seconds, late) = thread::scope(|scope| {
        let (ended, wait) = channel::<()>();
        let watch = limit.map(|limit| {
            scope.spawn(move || {
                let late = wait.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
                late && kill_process(pid, Signal::KILL).is_ok()
            })
        });
        // Its number stays taken until it is waited for below: nobody else is killed in its place.
        let exited = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(pid), exited), Err(rustix::io::Errno::INTR)) {}
        let seconds = start.elapsed();
        drop(ended);
        (seconds, watch.is_some_and(|watch| watch.join().unwrap_or(false)))
    });
    let used = child.wait4().context("cannot wait for a child")?;
    let end = end(used.status, late);
    Ok(Ended { end, seconds: seconds.as_secs_f64(), peak: used.rusage.maxrss, output, said })
}

fn end(status: ExitStatus, late: bool) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exit(code),
        (None, Some(signal)) if late && signal == Signal::KILL.as_raw() => End::TimedOut,
        (None, signal) => End::Signal(signal.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Option<Duration>) -> (tempfile::TempDir, Ended) {
        let folder = tempfile::tempdir().expect("a folder");
        let ended =
            measure(Command::new("sh").args(["-c", script]), folder.path(), limit).expect("there is a shell");
        (folder, ended)
    }

    #[test]
    fn ends_are_told_apart() {
        let end = |script| shell(script, Some(Duration::from_secs(60))).1.end;
        assert_eq!(end("exit 0"), End::Exit(0));
        assert_eq!(end("exit 101"), End::Exit(101));
        assert_eq!(end("kill -SEGV $$"), End::Signal(11));
        // Killed, but not by us.
        assert_eq!(end("kill -KILL $$"), End::Signal(9));
    }

    #[test]
    fn a_child_that_takes_too_long_is_ended() {
        let (_folder, ended) = shell("exec sleep 100", Some(Duration::from_millis(200)));
        assert_eq!(ended.end, End::TimedOut);
        assert!((0.2..50.0).contains(&ended.seconds), "{}", ended.seconds);
    }

    #[test]
    fn memory_is_that_of_the_child() {
        // A line without an end, all of which `tail` holds.
        let (_folder, large) = shell("head -c 64000000 /dev/zero | tail -n 1 > /dev/null", None);
        let (_folder, small) = shell("exit 0", None);
        assert!(large.peak > 60_000_000, "{}", large.peak);
        assert!((1..50_000_000).contains(&small.peak), "{}", small.peak);
    }

    #[test]
    fn output_and_errors_are_read_and_go_away() {
        let (folder, ended) = shell("echo '{}'; echo 'warning: x' >&2; echo 'error: no code' >&2", None);
        let mut text = String::new();
        ended.output().expect("a file").read_to_string(&mut text).expect("text");
        assert_eq!((text.as_str(), ended.why().as_str()), ("{}\n", "no code"));
        drop(ended);
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
        let (_folder, panicked) =
            shell("printf \"\\nthread 'main' panicked at x.rs:1:\\nno room\\nnote: y\\n\" >&2", None);
        assert_eq!(panicked.why(), "thread 'main' panicked at x.rs:1: no room");
    }
}
