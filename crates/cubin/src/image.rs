//! Goal: what an image in a file is, and the way to it.

use std::fmt;

use crate::compression::Compression;
use crate::fatbin::ImageKind;
use crate::sm::Sm;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ContainerKind {
    /// A cubin by itself.
    Cubin,
    /// A fatbinary by itself, or several one after the other.
    Fatbinary,
    /// A host object, executable or shared library.
    Host,
    /// A static library.
    Archive,
}

/// One device image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Where it lies.
    pub location: Location,
    /// What it is.
    pub kind: ImageKind,
    /// The SM its wrapper names; for a cubin by itself, the one it names.
    pub sm: Sm,
    /// How it is stored.
    pub compression: Compression,
    /// Its size when decompressed.
    pub size: u64,
    /// Fatbinary and entry.
    pub(crate) entry: Option<(usize, usize)>,
    pub(crate) part: usize,
}

/// The way to an image. Offsets count from the start of the outermost file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Location {
    /// Member of an archive.
    pub member: Option<String>,
    /// Section of a host file.
    pub section: Option<String>,
    /// Offset of the fatbinary.
    pub fatbinary: Option<u64>,
    /// Offset of the entry in it.
    pub entry: Option<u64>,
    /// Number of the image among those compressed together in the entry.
    pub part: Option<usize>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        let mut step = |f: &mut fmt::Formatter<'_>, text: fmt::Arguments| {
            write!(f, "{separator}{text}")?;
            separator = ", ";
            Ok(())
        };
        if let Some(member) = &self.member {
            step(f, format_args!("member {member}"))?;
        }
        if let Some(section) = &self.section {
            step(f, format_args!("section {section}"))?;
        }
        if let Some(at) = self.fatbinary {
            step(f, format_args!("fatbinary at {at:#x}"))?;
        }
        if let Some(at) = self.entry {
            step(f, format_args!("entry at {at:#x}"))?;
        }
        if let Some(part) = self.part {
            step(f, format_args!("image {part}"))?;
        }
        if separator.is_empty() {
            f.write_str("the file itself")?;
        }
        Ok(())
    }
}
