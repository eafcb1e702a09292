//! Goal: a file with device code that is in memory whole: what a new version is made of, and compared with.

use std::borrow::Cow;

use crate::compression::Limits;
use crate::error::Error;
use crate::fatbin::{Entry, Fatbin};
use crate::image::{ContainerKind, Image};
use crate::library::Library;
use crate::source::Source;

/// A file that holds device code.
#[derive(Debug, Clone)]
pub struct Container<'d> {
    pub(crate) data: &'d [u8],
    library: Library<'d>,
}

impl<'d> Container<'d> {
    /// Recognises a file by its content and finds the images in it.
    ///
    /// # Errors
    /// Names the section and offset that are damaged.
    pub fn parse(data: &'d [u8]) -> Result<Self, Error> {
        Self::parse_with(data, Limits::default())
    }

    /// As [`Container::parse`], with bounds on memory.
    ///
    /// # Errors
    /// As [`Container::parse`].
    pub fn parse_with(data: &'d [u8], limits: Limits) -> Result<Self, Error> {
        let library = Library::parse_with(Source::Memory(data), limits)?;
        Ok(Self { data, library })
    }

    /// What the file is.
    pub fn kind(&self) -> ContainerKind {
        self.library.kind()
    }

    /// The file's bytes.
    pub fn data(&self) -> &'d [u8] {
        self.data
    }

    /// Every image, in file order.
    pub fn images(&self) -> &[Image] {
        self.library.images()
    }

    /// The cubins among the images.
    pub fn cubins(&self) -> impl Iterator<Item = &Image> {
        self.library.cubins()
    }

    /// Whether an image is an object that the device linker used for this file: linked host files carry those beside the code that was made of them, where they
    /// were compiled for separate linking. A driver loads the linked code of its architecture; of these it may link PTX for a machine that there is none for.
    pub fn is_used_up(&self, image: &Image) -> bool {
        const LINKED: [u16; 2] = [object::elf::ET_EXEC.0, object::elf::ET_DYN.0];
        let kind = self.data.get(16..18).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
        self.kind() == ContainerKind::Host
            && image.location.section.as_deref() == Some(crate::library::FATBIN_SECTIONS[1])
            && kind.is_some_and(|kind| LINKED.contains(&kind))
    }

    /// An image's bytes, decompressed if need be.
    ///
    /// # Errors
    /// When the payload does not decompress to what its header says, or is beyond the limits.
    pub fn bytes(&self, image: &Image) -> Result<Cow<'d, [u8]>, Error> {
        self.library.bytes(image)
    }

    /// The bytes that an image is stored in, compressed or not; several images may share them.
    pub fn stored(&self, image: &Image) -> &'d [u8] {
        match image.entry {
            Some((fatbin, entry)) => &self.data[self.fatbins()[fatbin].entries[entry].stored.clone()],
            None => self.data,
        }
    }

    pub(crate) fn payload(&self, entry: &Entry) -> Result<Cow<'d, [u8]>, Error> {
        self.library.payload(entry)
    }

    pub(crate) fn fatbins(&self) -> &[Fatbin] {
        &self.library.fatbins
    }

    pub(crate) fn limits(&self) -> Limits {
        self.library.limits
    }
}
