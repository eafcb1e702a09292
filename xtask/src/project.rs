//! Where things are, and how cargo is called.

use anyhow::{Context, Result, bail};
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The checkout and its build folder, both absolute.
#[derive(Debug)]
pub struct Project {
    /// The repository root.
    pub root: PathBuf,
    /// The build folder: `CARGO_TARGET_DIR`, or `target`.
    pub target: PathBuf,
}

impl Project {
    /// The project this program was started in.
    pub fn find() -> Result<Project> {
        // Cargo names the package's folder at run time; a build folder may be shared by several checkouts.
        let xtask = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let root = Path::new(&xtask).parent().context("the xtask package has no parent folder")?.to_owned();
        let target = match env::var_os("CARGO_TARGET_DIR") {
            Some(folder) => std::path::absolute(folder).context("CARGO_TARGET_DIR")?,
            None => root.join("target"),
        };
        Ok(Project { root, target })
    }

    /// Where pinned tools are installed.
    pub fn tools(&self) -> PathBuf {
        self.target.join("tools")
    }

    /// Where the corpus is built.
    pub fn corpus(&self) -> PathBuf {
        self.target.join("corpus")
    }

    /// A command that runs in the root and never waits for input.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root).stdin(Stdio::null());
        command
    }

    /// `cargo` with arguments, with the same toolchain and build folder as this program.
    pub fn cargo<I: IntoIterator<Item: AsRef<OsStr>>>(&self, args: I) -> Command {
        let mut command = self.command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(args).env("CARGO_TARGET_DIR", &self.target);
        // What is built once and thrown away needs no room for building it again.
        if env::var_os("CI").is_some() {
            command.env("CARGO_INCREMENTAL", "0");
        }
        command
    }
}

/// Runs a command, showing it and its output; fails when it does.
pub fn run(command: &mut Command) -> Result<()> {
    let line = shown(command);
    eprintln!("$ {line}");
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed: {status}");
    }
    Ok(())
}

/// Runs a command without showing it; when it fails, its output is in the error.
pub fn quiet(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !output.status.success() {
        let text = [output.stdout, output.stderr].concat();
        bail!(
            "`{}` failed: {}\n{}",
            shown(command),
            output.status,
            String::from_utf8_lossy(&text).trim_end()
        );
    }
    Ok(())
}

/// The command as a person would type it.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
