//! What ptxas makes of scheduled PTX.

use crate::corpus;
use crate::project::{Project, run};
use crate::tools;
use anyhow::Result;

/// Writes `docs/ptx-registers.md`.
pub fn write(project: &Project) -> Result<()> {
    tools::all_python(project)?;
    let corpus = corpus::build(project)?;
    // An example of the crate that knows the corpus: this program depends on no crate of the workspace.
    let example = ["run", "--release", "-p", "sassafras-corpus-tests", "--example", "ptx_table", "--"];
    let mut command = project.cargo(example);
    command.env("SASSAFRAS_TOOLS", project.tools()).env("SASSAFRAS_CORPUS", corpus);
    run(command.arg(project.root.join("docs/ptx-registers.md")))
}
