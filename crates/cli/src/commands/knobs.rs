//! `sassafras knobs`

use crate::output;
use anyhow::{Result, bail};
use sassafras_knobs::{TABLE_HEADER, registry};

/// List every knob: name, type, default, range, where it is from and what reads it
#[derive(clap::Args)]
pub struct Arguments {
    /// Only knobs whose name, alias or meaning has this word
    word: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let registry = registry();
    let word = arguments.word.as_deref().unwrap_or_default().to_lowercase();
    let matches = |text: &str| text.to_lowercase().contains(&word);
    let wanted: Vec<bool> = registry
        .iter()
        .map(|k| matches(&k.name) || matches(&k.meaning) || k.alias.as_deref().is_some_and(matches))
        .collect();
    if !wanted.contains(&true) {
        bail!("no knob has the word `{word}` in its name or meaning");
    }
    if arguments.json {
        let mut listing = registry.listing();
        let mut keep = wanted.into_iter();
        listing.knobs.retain(|_| keep.next().unwrap_or(false));
        return output::print_json(&listing);
    }
    let mut table = output::table(&TABLE_HEADER, &[]);
    for (row, _) in registry.rows().zip(&wanted).filter(|(_, wanted)| **wanted) {
        table.add_row(row);
    }
    let mut text = output::render(&table);
    if !word.is_empty() {
        text.push('\n');
        for (knob, _) in registry.iter().zip(&wanted).filter(|(_, wanted)| **wanted) {
            text.push_str(&format!("{}: {}\n", knob.name, knob.meaning));
        }
    }
    output::print(&text)
}
