//! `--knob` and `--knobs`, the same for every command that takes them.

use crate::failure::say;
use anyhow::{Context, Result, anyhow};
use clap::Args;
use sassafras_knobs::{KnobSet, keys};
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

    /// The settings. Says on standard error which of them have no effect here: `readers` are the parts of the project
    /// that the command runs.
    pub fn load(&self, readers: &[&str]) -> Result<KnobSet> {
        let set = self.read()?;
        for (knob, _) in set.iter() {
            let name = &knob.name;
            if knob.used_by.is_empty() {
                say(&format!("warning: nothing reads the knob `{name}` yet; it has no effect"));
            } else if !knob.used_by.iter().any(|user| readers.contains(&user.as_str())) {
                let users = knob.used_by.join(", ");
                say(&format!("warning: this command does not read the knob `{name}` (read by: {users})"));
            }
        }
        Ok(set)
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
