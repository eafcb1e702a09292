//! What is made of the corpus's tile programs.

use crate::corpus;
use crate::project::{Project, run};
use crate::tools;
use anyhow::Result;

/// Writes `docs/tile-schedules.md`.
pub fn write(project: &Project) -> Result<()> {
    tools::all_python(project)?;
    let corpus = corpus::build(project)?;
    let example = ["run", "--release", "-p", "sassafras-corpus-tests", "--example", "tile_table", "--"];
    let mut command = project.cargo(example);
    command.env("SASSAFRAS_TOOLS", project.tools()).env("SASSAFRAS_CORPUS", corpus);
    run(command.arg(project.root.join("docs/tile-schedules.md")))
}
