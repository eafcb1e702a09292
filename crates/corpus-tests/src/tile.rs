//! The tile programs of the corpus, as text and compiled.

use anyhow::{Context, Result};

use crate::{Item, Manifest, TILE, folder, item, read};

/// The text of a tile program.
#[derive(Clone, Debug)]
pub struct TileItem {
    /// The name of the program.
    pub kernel: String,
    /// Whether the text says where in the source everything is from.
    pub debug: bool,
    /// The text.
    pub text: String,
}

/// The texts of every tile program of the corpus below `SASSAFRAS_CORPUS`, with and without places in the source.
///
/// # Errors
/// Names the file that is missing or cannot be read.
pub fn texts() -> Result<Vec<TileItem>> {
    let folder = folder()?;
    let mut items = Vec::new();
    for entry in Manifest::read(&folder)?.tile {
        let name = entry.path.display().to_string();
        if name.ends_with(".tileir") {
            let text = String::from_utf8(read(&folder, &entry.path)?).with_context(|| name.clone())?;
            items.push(TileItem { kernel: entry.kernel, debug: name.ends_with("-debug.tileir"), text });
        }
    }
    Ok(items)
}

/// The cubins of every tile program of the corpus below `SASSAFRAS_CORPUS`.
///
/// # Errors
/// Names the file that is missing or cannot be read.
pub fn cubins() -> Result<Vec<Item>> {
    let folder = folder()?;
    let entries = Manifest::read(&folder)?.cubins;
    entries.iter().filter(|entry| entry.language == TILE).map(|entry| item(&folder, entry)).collect()
}
