//! Strategies as values of `--strategy`, from the registry.

use anyhow::{Result, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command};
use sassafras_list::registry::{self, Entry, Input, Phase};
use std::ffi::OsStr;

/// Parses the name of a strategy that takes one of these.
#[derive(Clone, Copy)]
pub struct Names(pub &'static [Input]);

impl Names {
    fn entries(self) -> impl Iterator<Item = &'static Entry> {
        registry::STRATEGIES.iter().filter(move |entry| self.0.iter().any(|&input| entry.takes(input)))
    }
}

impl TypedValueParser for Names {
    type Value = &'static Entry;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> clap::error::Result<&'static Entry> {
        let names = PossibleValuesParser::new(self.entries().map(|entry| entry.name));
        let name = names.parse_ref(command, arg, value)?;
        registry::find(&name).ok_or_else(|| clap::Error::new(ErrorKind::InvalidValue).with_cmd(command))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let several = self.0.len() > 1;
        let value = move |entry: &'static Entry| {
            PossibleValue::new(entry.name).help(if several {
                summary(entry)
            } else {
                entry.summary.to_owned()
            })
        };
        Some(Box::new(self.entries().map(value)))
    }
}

/// What a strategy does, and for what it is where that is not everything.
fn summary(entry: &Entry) -> String {
    match entry.restriction() {
        Some(inputs) => format!("For {inputs}: {}", entry.summary),
        None => entry.summary.to_owned(),
    }
}

/// That a strategy takes the input called `name`.
///
/// # Errors
/// When it does not.
pub fn check(name: &str, strategy: &Entry, input: Input) -> Result<()> {
    match (strategy.takes(input), strategy.phase, strategy.restriction()) {
        (false, Phase::Before, Some(inputs)) => {
            bail!("{name}: `--strategy {}` runs before register allocation: for {inputs}", strategy.name)
        }
        (false, _, Some(inputs)) => bail!("{name}: `--strategy {}` is for {inputs}", strategy.name),
        _ => Ok(()),
    }
}
