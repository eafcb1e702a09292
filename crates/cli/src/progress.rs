//! Progress of long work: a line on a terminal, nothing when piped.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Short work shows none.
const PATIENCE: Duration = Duration::from_millis(300);

/// Counts steps from any thread.
pub struct Progress<'a> {
    name: &'a str,
    steps: usize,
    done: AtomicUsize,
    start: Instant,
    shown: bool,
}

impl<'a> Progress<'a> {
    /// Work on `name` in so many steps.
    pub fn new(name: &'a str, steps: usize) -> Progress<'a> {
        let shown = std::io::stderr().is_terminal();
        Progress { name, steps, done: AtomicUsize::new(0), start: Instant::now(), shown }
    }

    /// One step is done.
    pub fn step(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if self.shown && self.start.elapsed() > PATIENCE {
            let _ = write!(std::io::stderr(), "\r\x1b[K{}: {done} of {} cubins", self.name, self.steps);
        }
    }

    /// Takes the line away.
    pub fn end(&self) {
        if self.shown && self.start.elapsed() > PATIENCE {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// A line that says where a search stands, on a terminal.
pub struct Status {
    shown: bool,
}

impl Status {
    /// Nothing shown yet.
    pub fn new() -> Status {
        Status { shown: std::io::stderr().is_terminal() }
    }

    /// Shows a line in place of the one before.
    pub fn show(&self, line: &str) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K{line}");
        }
    }
}

impl Drop for Status {
    fn drop(&mut self) {
        self.show("");
    }
}
