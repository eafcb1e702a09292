//! `sassafras passes`

use crate::output;
use anyhow::Result;
use sassafras_list::registry::Input;
use sassafras_passes::Pass;

/// List the passes that `schedule` runs, in order; `--print-after` and `--stop-after` take their names
#[derive(clap::Args)]
pub struct Arguments {}

pub fn run(_: &Arguments) -> Result<()> {
    let mut table = output::table(&["input", "pass", "what it does"], &[]);
    for input in [Input::Binary, Input::Ptx, Input::Text] {
        for pass in Pass::of(input) {
            table.add_row([input.name(), pass.name(), pass.summary()]);
        }
    }
    output::print(&output::render(&table))
}
