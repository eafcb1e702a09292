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
//!
//! Where a file holds many functions, [`by_function`] has what is printed of each stand right behind it.

use anyhow::{Context, Result, bail};
use libtest_mimic::{Arguments, Failed, Trial};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXPECT: &str = "// expect:";
const DIRECTIVE: &str = "// test:";

/// What comes of the directive and the text of a file: all that is printed, or what is printed of each function.
type Run<T> = fn(&str, &str) -> Result<T>;

/// Runs every `.sir` and `.ptx` file of a folder as one test. `run` gets the directive and the whole text and returns what is to be
/// compared.
pub fn main(folder: &Path, run: Run<String>) -> ExitCode {
    all(folder, move |path| check(path, run))
}

/// As [`main`], of `.sir` files with several functions; `run` gives what is printed of each of them, in order, and that stands behind its
/// closing brace. Other files are run by `others`.
pub fn by_function(folder: &Path, run: Run<Vec<String>>, others: Option<Run<String>>) -> ExitCode {
    all(folder, move |path| match others {
        Some(others) if path.extension().is_none_or(|e| e != "sir") => check(path, others),
        _ => check_functions(path, run),
    })
}

/// Every file of a folder and of the folders in it.
fn files_of(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            match path.is_dir() {
                true => folders.push(path),
                false => files.push(path),
            }
        }
    }
    files
}

fn all(folder: &Path, run: impl Fn(&Path) -> Result<()> + Copy + Send + 'static) -> ExitCode {
    let arguments = Arguments::from_args();
    let mut files = files_of(folder);
    files.retain(|path| path.extension().is_some_and(|e| e == "sir" || e == "ptx"));
    files.sort();
    assert!(!files.is_empty(), "no file tests in {}", folder.display());
    let trials = files
        .into_iter()
        .map(|path| {
            let inside = path.strip_prefix(folder).unwrap_or(&path).with_extension("");
            let name = inside.to_string_lossy().into_owned();
            Trial::test(name, move || run(&path).map_err(|e| Failed::from(format!("{e:#}"))))
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The text of a file, its directive, and the text without what it is to print: places in error messages must not move when that changes.
fn read(path: &Path) -> Result<(String, String, String)> {
    let source = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let Some(directive) = source.lines().find_map(|l| l.strip_prefix(DIRECTIVE)) else {
        bail!("{}: no `{DIRECTIVE}` line", path.display());
    };
    let directive = directive.trim().to_owned();
    let input: String = source.lines().filter(|l| !l.starts_with(EXPECT)).map(|l| format!("{l}\n")).collect();
    Ok((source, directive, input))
}

fn check_functions(path: &Path, run: Run<Vec<String>>) -> Result<()> {
    let (source, directive, input) = read(path)?;
    let mut outputs = run(&directive, &input).with_context(|| path.display().to_string())?.into_iter();
    let mut whole = String::new();
    for line in input.lines() {
        writeln!(whole, "{line}")?;
        if line.starts_with('}') {
            for line in outputs.next().unwrap_or_default().lines() {
                writeln!(whole, "{}", format!("{EXPECT} {line}").trim_end())?;
            }
        }
    }
    if outputs.next().is_some() {
        bail!("{}: a function without a closing brace on a line of its own", path.display());
    }
    if whole == source {
        return Ok(());
    }
    if std::env::var_os("SASSAFRAS_BLESS").is_some() {
        fs::write(path, whole)?;
        return Ok(());
    }
    let differing = whole.lines().zip(source.lines()).take_while(|(new, old)| new == old).count();
    let part = |text: &str| text.lines().skip(differing).take(24).collect::<Vec<_>>().join("\n");
    let at = differing + 1;
    bail!("{}: line {at}\n--- expected\n{}\n--- found\n{}", path.display(), part(&source), part(&whole))
}

fn check(path: &Path, run: Run<String>) -> Result<()> {
    let (source, directive, input) = read(path)?;
    let output = run(&directive, &input)?;
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
