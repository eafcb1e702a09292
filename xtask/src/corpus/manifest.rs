//! What a corpus holds: `manifest.json`, which tests read.

use anyhow::{Context, Result};
use serde::Serialize;
use std::fs;
use std::path::Path;

/// All files of a corpus. Paths are relative to its folder.
#[derive(Debug, Default, Serialize)]
pub struct Manifest {
    /// Compiled kernels.
    pub cubins: Vec<Entry>,
    /// The PTX they came from; `arch` is the virtual architecture.
    pub ptx: Vec<Entry>,
    /// Tile programs: bytecode (`.tilebc`) and text (`.tileir`), the same for every architecture.
    pub tile: Vec<Entry>,
    /// Libraries of others.
    pub wheels: Vec<Wheel>,
    /// What was not compiled, and why.
    pub left_out: Vec<LeftOut>,
}

/// One file.
#[derive(Debug, Serialize)]
pub struct Entry {
    /// The source's name.
    pub kernel: String,
    /// `sm_NN` or `compute_NN`; `any` for what no architecture changes.
    pub arch: String,
    /// `cuda`, `triton` or `tile`.
    pub language: &'static str,
    /// The tool folder of the last compiler that worked on it.
    pub tool: String,
    /// Its options.
    pub options: Vec<String>,
    /// The file.
    pub path: String,
}

/// A library.
#[derive(Debug, Serialize)]
pub struct Wheel {
    /// The tool folder it is from.
    pub package: String,
    /// The file.
    pub path: String,
}

/// A kernel that an architecture cannot run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The source's name.
    pub kernel: String,
    /// The architecture.
    pub arch: String,
    /// Why.
    pub reason: String,
}

impl Manifest {
    /// Writes `manifest.json`.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join("manifest.json");
        let text = serde_json::to_string_pretty(self)?;
        fs::write(&path, text).with_context(|| path.display().to_string())
    }
}
