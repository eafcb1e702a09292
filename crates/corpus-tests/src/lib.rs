//! The corpus of real code, as `cargo xtask corpus` builds it: kernels of our own compiled for every architecture, and
//! public libraries. The tests of this crate prove readers, writers and checkers on it.
//!
//! [`cubins`] gives every cubin, those inside the libraries too; [`ptx::modules`] gives every module of PTX, [`tile::texts`] every
//! tile program. [`stages`] reads from compiled code how its loops move data.

pub mod ptx;
pub mod stages;
pub mod tile;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use sassafras_cubin::{Container, Cubin, Sm};
use serde::Deserialize;

/// Where a cubin is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// A CUDA kernel of ours.
    Cuda,
    /// A Triton kernel of ours.
    Triton,
    /// A tile program of ours.
    Tile,
    /// A library of others.
    Wheel,
}

impl Origin {
    /// Whether we wrote the source.
    pub fn is_ours(self) -> bool {
        self != Origin::Wheel
    }
}

/// One cubin of the corpus.
#[derive(Clone, Debug)]
pub struct Item {
    /// What to call it in messages.
    pub name: String,
    /// Where it is from.
    pub origin: Origin,
    /// What it is for.
    pub sm: Sm,
    /// The file.
    pub bytes: Vec<u8>,
}

/// What the manifest calls the language of tile programs.
const TILE: &str = "tile";

#[derive(Deserialize)]
struct Manifest {
    cubins: Vec<Entry>,
    ptx: Vec<Entry>,
    tile: Vec<Entry>,
    wheels: Vec<Wheel>,
}

impl Manifest {
    fn read(folder: &Path) -> Result<Manifest> {
        let path = folder.join("manifest.json");
        let text = fs::read_to_string(&path)
            .with_context(|| format!("{}: run `cargo xtask corpus`", path.display()))?;
        serde_json::from_str(&text).with_context(|| path.display().to_string())
    }
}

#[derive(Deserialize)]
struct Entry {
    kernel: String,
    arch: String,
    language: String,
    path: PathBuf,
}

#[derive(Deserialize)]
struct Wheel {
    path: PathBuf,
}

/// Every cubin of the corpus below `SASSAFRAS_CORPUS`.
///
/// # Errors
/// Names the file that is missing or cannot be read.
pub fn cubins() -> Result<Vec<Item>> {
    load(&folder()?)
}

/// Where the corpus is.
fn folder() -> Result<PathBuf> {
    let folder = env::var_os("SASSAFRAS_CORPUS").context(
        "SASSAFRAS_CORPUS is not set: run `cargo xtask test`, which compiles the corpus and sets it",
    )?;
    Ok(PathBuf::from(folder))
}

fn load(folder: &Path) -> Result<Vec<Item>> {
    let manifest = Manifest::read(folder)?;
    let mut items = Vec::new();
    for entry in &manifest.cubins {
        items.push(item(folder, entry)?);
    }
    for wheel in &manifest.wheels {
        let name = wheel.path.display().to_string();
        let file = read(folder, &wheel.path)?;
        let container = Container::parse(&file).with_context(|| name.clone())?;
        for (number, image) in container.cubins().enumerate() {
            let bytes =
                container.bytes(image).with_context(|| format!("{name}: {}", image.location))?.into_owned();
            let sm = Cubin::parse(&bytes).with_context(|| format!("{name}: {}", image.location))?.sm();
            items.push(Item {
                name: format!("{name} image {number} ({sm})"),
                origin: Origin::Wheel,
                sm,
                bytes,
            });
        }
    }
    Ok(items)
}

/// The cubin of a kernel of ours.
fn item(folder: &Path, entry: &Entry) -> Result<Item> {
    let bytes = read(folder, &entry.path)?;
    let sm = Cubin::parse(&bytes).with_context(|| entry.path.display().to_string())?.sm();
    ensure!(sm.to_string() == entry.arch, "{} is for {sm}", entry.path.display());
    let origin = match &*entry.language {
        "triton" => Origin::Triton,
        TILE => Origin::Tile,
        _ => Origin::Cuda,
    };
    Ok(Item { name: entry.path.display().to_string(), origin, sm, bytes })
}

fn read(folder: &Path, path: &Path) -> Result<Vec<u8>> {
    let path = folder.join(path);
    fs::read(&path).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let error = load(Path::new("no such folder")).unwrap_err();
        assert!(error.to_string().contains("cargo xtask corpus"), "{error}");
    }
}
