//! The pinned tools of `tools.toml`, installed below `target/tools`.
//!
//! A tool is a folder with a stamp file that holds its pins. It is installed under another name and renamed when
//! complete, so a folder with the right stamp is whole.

use crate::project::{Project, run};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The file in a tool's folder that says what is in it.
const STAMP: &str = "pins.txt";

/// What `tools.toml` holds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pins {
    python: BTreeMap<String, PythonTool>,
    cargo: BTreeMap<String, CargoTool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PythonTool {
    packages: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CargoTool {
    version: String,
}

impl Pins {
    fn load(project: &Project) -> Result<Pins> {
        let path = project.root.join("xtask/tools.toml");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        Pins::parse(&text).with_context(|| path.display().to_string())
    }

    fn parse(text: &str) -> Result<Pins> {
        let pins: Pins = toml::from_str(text)?;
        for (name, tool) in &pins.python {
            if let Some(loose) = tool.packages.iter().find(|p| !p.contains("==")) {
                bail!("{name}: `{loose}` is not pinned (NAME==VERSION)");
            }
        }
        Ok(pins)
    }
}

/// A folder of Python packages.
#[derive(Debug)]
pub struct Tool {
    folder: PathBuf,
    /// What is in it: whoever caches results of a tool needs this in the key.
    pub pins: String,
}

impl Tool {
    /// Where its packages are.
    pub fn site_packages(&self) -> PathBuf {
        self.folder.join("site-packages")
    }
}

/// Installs everything that comes as a Python package; returns the folder to search for programs.
pub fn all_python(project: &Project) -> Result<PathBuf> {
    for (name, tool) in &Pins::load(project)?.python {
        install_python(project, name, tool)?;
    }
    Ok(project.tools())
}

/// All installed programs of this name.
pub fn programs(project: &Project, name: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![project.tools()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name() == Some(OsStr::new(name)) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Installs one folder of Python packages.
pub fn python_tool(project: &Project, name: &str) -> Result<Tool> {
    let pins = Pins::load(project)?;
    install_python(
        project,
        name,
        pins.python.get(name).with_context(|| format!("tools.toml has no [python.{name}]"))?,
    )
}

fn install_python(project: &Project, name: &str, tool: &PythonTool) -> Result<Tool> {
    let pins = tool.packages.join("\n");
    let folder = ensure(project, name, &pins, |folder| python(project, &tool.packages, folder))?;
    Ok(Tool { folder, pins })
}

/// Installs a Rust tool; returns its program.
pub fn cargo(project: &Project, name: &str) -> Result<PathBuf> {
    let pins = Pins::load(project)?;
    let version = &pins.cargo.get(name).with_context(|| format!("tools.toml has no [cargo.{name}]"))?.version;
    let folder = ensure(project, name, &format!("{name}=={version}"), |folder| {
        let build = folder.join("build");
        let mut install = project.cargo(["install", name, "--version", version, "--locked"]);
        install.arg("--root").arg(folder).arg("--target-dir").arg(&build);
        run(&mut install)?;
        fs::remove_dir_all(build).context("cannot remove what the build left")
    })?;
    Ok(folder.join("bin").join(name))
}

/// The start of a call of pip, which downloads whatever comes as a Python package.
pub fn pip(project: &Project, command: &str) -> Result<Command> {
    let works = |args: &[&str]| {
        let mut command = project.command("python3");
        command.args(args).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if !works(&["--version"]) {
        bail!("python3 is needed to download packages and was not found");
    }
    if !works(&["-m", "pip", "--version"]) {
        bail!("pip is needed to download packages and `python3 -m pip` does not work");
    }
    let mut pip = project.command("python3");
    pip.args(["-m", "pip", command, "--disable-pip-version-check", "--no-input", "--quiet"]);
    Ok(pip)
}

fn python(project: &Project, packages: &[String], folder: &Path) -> Result<()> {
    let mut pip = pip(project, "install")?;
    pip.arg("--no-deps").arg("--target").arg(folder.join("site-packages")).args(packages);
    // Its warning is about installing for everybody, which this does not do.
    pip.env("PIP_ROOT_USER_ACTION", "ignore");
    run(&mut pip)
        .context("cannot download it (network? does tools.toml pin a version for this version of Python?)")
}

/// Makes sure that `target/tools/<name>` holds what `pins` says; `install` fills an empty folder.
fn ensure(
    project: &Project,
    name: &str,
    pins: &str,
    install: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let folder = project.tools().join(name);
    if fs::read_to_string(folder.join(STAMP)).is_ok_and(|stamp| stamp == pins) {
        return Ok(folder);
    }
    eprintln!("installing {name}: {}", pins.replace('\n', ", "));
    // Beside the tools, not below: whoever searches them must not find half of one.
    let partial = project.target.join("tools-partial").join(format!("{name}-{}", std::process::id()));
    let outcome = install_whole(&partial, &folder, pins, install);
    if outcome.is_err() {
        let _ = fs::remove_dir_all(&partial);
    }
    outcome.with_context(|| format!("cannot install {name}"))?;
    Ok(folder)
}

fn install_whole(
    partial: &Path,
    folder: &Path,
    pins: &str,
    install: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    fs::create_dir_all(partial).with_context(|| partial.display().to_string())?;
    install(partial)?;
    fs::write(partial.join(STAMP), pins)?;
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::rename(partial, folder).with_context(|| folder.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn scratch() -> (tempfile::TempDir, Project) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let project = Project { root: folder.path().to_owned(), target: folder.path().join("target") };
        (folder, project)
    }

    #[test]
    fn the_committed_pins_load() {
        let pins = Pins::parse(include_str!("../tools.toml")).expect("valid pins");
        assert!(
            ["cuda12", "cuda13", "cudatile", "triton34", "bitsandbytes"]
                .iter()
                .all(|&t| pins.python.contains_key(t))
        );
        assert!(pins.cargo.contains_key("cargo-deny"));
    }

    #[test]
    fn loose_pins_and_unknown_keys_are_refused() {
        let loose = "[cargo]\n[python.x]\npackages = [\"a==1\", \"b>=2\"]";
        assert!(Pins::parse(loose).unwrap_err().to_string().contains("`b>=2`"));
        assert!(Pins::parse("[cargo]\n[python.x]\npackages = []\nurl = 1").is_err());
    }

    #[test]
    fn a_tool_is_installed_once_per_set_of_pins() {
        let (_guard, project) = scratch();
        let runs = Cell::new(0);
        let install = |pins: &str| {
            let folder = ensure(&project, "t", pins, |folder| {
                runs.set(runs.get() + 1);
                assert_eq!(fs::read_dir(folder)?.count(), 0);
                Ok(fs::write(folder.join("tool"), pins)?)
            });
            fs::read_to_string(folder.expect("installed").join("tool")).expect("the tool")
        };
        assert_eq!(install("a==1"), "a==1");
        assert_eq!(install("a==1"), "a==1");
        assert_eq!(runs.get(), 1);
        assert_eq!(install("a==2"), "a==2");
        assert_eq!(runs.get(), 2);
    }

    #[test]
    fn a_failed_install_leaves_nothing_that_looks_whole() {
        let (_guard, project) = scratch();
        let failing = |folder: &Path| {
            fs::write(folder.join("half"), "")?;
            bail!("interrupted")
        };
        let error = ensure(&project, "t", "a==1", failing).unwrap_err();
        assert_eq!(format!("{error:#}"), "cannot install t: interrupted");
        assert!(!project.tools().join("t").exists());
        assert!(ensure(&project, "t", "a==1", |_| Ok(())).is_ok());
        // A failing update keeps the old tool, whose stamp still says what it is.
        assert!(ensure(&project, "t", "a==2", failing).is_err());
        assert!(ensure(&project, "t", "a==1", failing).is_ok());
    }
}
