//! File tests: a file holds the input, names what to run, and states the output.
//!
//! ```text
//! // test: loops
//! func f sm_90 { … }
//! // expect: loop 0: header=entry depth=1
//! ```
//!
//! Lines that start with `// expect:` are what the run must print, line by line. With `SASSAFRAS_BLESS=1` in the
//! environment they are rewritten to what it printed; look at the difference before you commit it.

use anyhow::{Context, Result, bail};
use libtest_mimic::{Arguments, Failed, Trial};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

const EXPECT: &str = "// expect:";
const DIRECTIVE: &str = "// test:";

/// Runs every `.sir` and `.ptx` file of a folder as one test. `run` gets the directive and the whole text and returns what is to be
/// compared.
pub fn main(folder: &Path, run: fn(&str, &str) -> Result<String>) -> ExitCode {
    let arguments = Arguments::from_args();
    let mut files: Vec<_> = match fs::read_dir(folder) {
        Ok(entries) => entries.filter_map(|e| Some(e.ok()?.path())).collect(),
        Err(_) => Vec::new(),
    };
    files.retain(|path| path.extension().is_some_and(|e| e == "sir" || e == "ptx"));
    files.sort();
    assert!(!files.is_empty(), "no file tests in {}", folder.display());
    let trials = files
        .into_iter()
        .map(|path| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            Trial::test(name, move || check(&path, run).map_err(|e| Failed::from(format!("{e:#}"))))
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn check(path: &Path, run: fn(&str, &str) -> Result<String>) -> Result<()> {
    let source = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let Some(directive) = source.lines().find_map(|l| l.strip_prefix(DIRECTIVE)) else {
        bail!("{}: no `{DIRECTIVE}` line", path.display());
    };
    // The run does not see what it is to print: places in error messages must not move when that changes.
    let input: String = source.lines().filter(|l| !l.starts_with(EXPECT)).map(|l| format!("{l}\n")).collect();
    let output = run(directive.trim(), &input)?;
    let expected: Vec<&str> = source
        .lines()
        .filter_map(|l| l.strip_prefix(EXPECT))
        .map(|l| l.strip_prefix(' ').unwrap_or(l))
        .collect();
    let found: Vec<&str> = output.lines().map(str::trim_end).collect();
    if expected == found {
        return Ok(());
    }
    if std::env::var_os("SASSAFRAS_BLESS").is_some() {
        let mut blessed = input;
        for line in found {
            writeln!(blessed, "{}", format!("{EXPECT} {line}").trim_end())?;
        }
        fs::write(path, blessed)?;
        return Ok(());
    }
    bail!("{}\n--- expected\n{}\n--- found\n{}", path.display(), expected.join("\n"), found.join("\n"));
}
