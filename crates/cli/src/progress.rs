//! Progress of long work: a line on a terminal, nothing when piped.

use sassafras::progress::Progress;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Short work shows none.
const PATIENCE: Duration = Duration::from_millis(300);

/// Counts the cubins of a file from any thread.
pub struct Bar<'a> {
    name: &'a str,
    steps: AtomicUsize,
    done: AtomicUsize,
    start: Instant,
    shown: bool,
}

impl<'a> Bar<'a> {
    /// For work on a file of this name.
    pub fn new(name: &'a str) -> Bar<'a> {
        let shown = std::io::stderr().is_terminal();
        let (steps, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Bar { name, steps, done, start: Instant::now(), shown }
    }
}

impl Progress for Bar<'_> {
    fn begin(&self, steps: usize) {
        self.steps.store(steps, Ordering::Relaxed);
    }

    fn step(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if self.shown && self.start.elapsed() > PATIENCE {
            let steps = self.steps.load(Ordering::Relaxed);
            let _ = write!(std::io::stderr(), "\r\x1b[K{}: {done} of {steps} cubins", self.name);
        }
    }

    fn end(&self) {
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
