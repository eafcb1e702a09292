//! Whoever wants to know how far long work is.

/// Is told about steps of long work, from any thread.
pub trait Progress: Sync {
    /// Work begins, in so many steps.
    fn begin(&self, _steps: usize) {}

    /// One step is done.
    fn step(&self) {}

    /// All steps are done, or none will follow.
    fn end(&self) {}
}

/// Tells nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {}
