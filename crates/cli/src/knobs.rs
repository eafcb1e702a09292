//! `--knob` and `--knobs`, the same for every command that takes them.

use crate::failure::say;
use anyhow::{Context, Result, anyhow};
use clap::Args;
use sassafras_knobs::{KnobSet, keys};
use sassafras_list::registry::{self, Contest};
use std::path::PathBuf;

/// Options that set knobs.
#[derive(Args)]
pub struct KnobArguments {
    /// Set a knob; `sassafras knobs` lists them
    #[arg(long = "knob", value_name = "NAME=VALUE")]
    knobs: Vec<String>,
    /// Read knobs from a TOML file; `--knob` overrides it
    #[arg(long = "knobs", value_name = "FILE")]
    file: Option<PathBuf>,
}

impl KnobArguments {
    /// The settings.
    pub fn read(&self) -> Result<KnobSet> {
        let mut set = KnobSet::new();
        if let Some(path) = &self.file {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(path).with_context(|| name.clone())?;
            set.load_toml(&text, &name)?;
        }
        for assignment in &self.knobs {
            set.assign(assignment).with_context(|| format!("--knob {assignment}"))?;
        }
        Ok(set)
    }

    /// The settings, for a run of which these words hold. Says on standard error which of them have no effect in it.
    pub fn load(&self, run: &[&str]) -> Result<KnobSet> {
        let set = self.read()?;
        warn(&set, run);
        Ok(set)
    }
}

/// Says on standard error which knobs are set that rescheduling this kind of input with this strategy does not read.
pub fn warn_rescheduling(set: &KnobSet, kind: &str, strategy: &str) {
    let mut run = vec!["schedule", kind, strategy];
    if strategy == "auto" {
        run.extend(registry::contestants(Contest::Auto).map(|entry| entry.name));
    }
    warn(set, &run);
}

/// Says on standard error which knobs are set that a run does not read: its command, the kind of its input, its strategies.
fn warn(set: &KnobSet, run: &[&str]) {
    for knob in set.unread(run) {
        let name = &knob.name;
        if knob.used_by.is_empty() {
            say(&format!("warning: nothing reads the knob `{name}` yet; it has no effect"));
        } else {
            let (run, readers) = (run.iter().take(3).copied().collect::<Vec<_>>().join(" "), knob.readers());
            say(&format!(
                "warning: `{run}` does not read the knob `{name}`; it has no effect (read by: {readers})"
            ));
        }
    }
}

/// What a result costs that no latency table speaks of, when the user set it.
pub fn unknown_latency(set: &KnobSet) -> Result<Option<u16>> {
    let key = keys::HIGH_LATENCY_CYCLES;
    let narrow = |cycles| {
        u16::try_from(cycles).map_err(|_| {
            let (name, most) = (key.name(), u16::MAX);
            anyhow!("knob `{name}`: {cycles} is more than a dependence can cost here, {most}")
        })
    };
    set.explicit(key).map(narrow).transpose()
}
