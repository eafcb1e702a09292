//! PTX of compilers: nvcc's and Triton's from the corpus, clang's from the tests of `ptx`, and whatever the libraries carry.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use sassafras_cubin::{Container, ImageKind};

use crate::{Manifest, folder, read};

/// Forms of modules that are there under another name: for debuggers, with lines, to be linked.
const FORMS: [&str; 3] = ["-debug", "-lineinfo", "-relocatable"];

/// A module of PTX and where it is from.
#[derive(Clone, Debug)]
pub struct PtxItem {
    /// What to call it: its path in the corpus, or the like.
    pub name: String,
    /// The text.
    pub text: String,
}

impl PtxItem {
    /// Whether it is another form of a module that is there, too.
    pub fn is_other_form(&self) -> bool {
        let stem = self.name.trim_end_matches(".ptx");
        FORMS.iter().any(|form| stem.ends_with(form))
    }
}

/// Every PTX module that we have, those of the corpus below `SASSAFRAS_CORPUS`.
///
/// # Errors
/// Names the file that is missing or cannot be read.
pub fn modules() -> Result<Vec<PtxItem>> {
    let folder = folder()?;
    let manifest = Manifest::read(&folder)?;
    let mut items = Vec::new();
    for entry in &manifest.ptx {
        items.push(item(entry.path.display().to_string(), read(&folder, &entry.path)?)?);
    }
    items.extend(clang()?);
    for wheel in &manifest.wheels {
        let name = wheel.path.display().to_string();
        let file = read(&folder, &wheel.path)?;
        let container = Container::parse(&file).with_context(|| name.clone())?;
        let images = container.images().iter().filter(|image| image.kind == ImageKind::Ptx);
        for (number, image) in images.enumerate() {
            let mut bytes = container.bytes(image).with_context(|| name.clone())?.into_owned();
            // In a fatbinary text ends with zeros.
            bytes.truncate(bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1));
            items.push(item(format!("{name} image {number}"), bytes)?);
        }
    }
    Ok(items)
}

/// The modules of clang, in the order of their names.
fn clang() -> Result<Vec<PtxItem>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ptx/tests/clang");
    let mut items = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".ptx") {
            let bytes = read(&folder, Path::new(&name))?;
            items.push(item(format!("clang/{name}"), bytes)?);
        }
    }
    items.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(items)
}

fn item(name: String, bytes: Vec<u8>) -> Result<PtxItem> {
    let text = String::from_utf8(bytes).with_context(|| name.clone())?;
    Ok(PtxItem { name, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_clang_are_there_in_two_forms() {
        let items = clang().expect("readable");
        let others = items.iter().filter(|item| item.is_other_form()).count();
        assert!(items.len() >= 20 && others * 2 == items.len(), "{others} of {}", items.len());
    }
}
