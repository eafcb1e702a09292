//! Goal: put a rewritten cubin back where it came from, leaving every other byte of the file's images alone.
//!
//! In a host file the room is the entry's, padding included: the new image is compressed as the old one was and has to
//! fit. A fatbinary by itself may grow.

use crate::compression::{Compression, compress};
use crate::container::{Container, ContainerKind, Image, Location};
use crate::error::Error;
use crate::fatbin::{Entry, field};

/// Why an image could not be put back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoRoom {
    /// The entry's room is too small and cannot grow where it is.
    #[error("{location}: the new image needs {needed} bytes, the entry has room for {room}")]
    TooLarge {
        /// The entry.
        location: Location,
        /// Bytes needed.
        needed: u64,
        /// Bytes there are.
        room: u64,
    },
    /// An image compressed together with others has to keep its size.
    #[error("{location}: an image among several has to keep its size of {size} bytes")]
    Resized {
        /// The image.
        location: Location,
        /// Its size.
        size: u64,
    },
    /// The image is not of this file.
    #[error("{0}: no such image in this file")]
    NoSuchImage(Location),
    /// The entry that holds the image cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Error),
}

impl Container<'_> {
    /// The file with one image replaced. Parse the result to replace another.
    ///
    /// # Errors
    /// When the new image does not fit.
    pub fn replace(&self, image: &Image, new: &[u8]) -> Result<Vec<u8>, NoRoom> {
        if !self.images().contains(image) {
            return Err(NoRoom::NoSuchImage(image.location.clone()));
        }
        let Some((fatbin, entry)) = image.entry else {
            return Ok(new.to_vec());
        };
        if *self.bytes(image)? == *new {
            return Ok(self.data.to_vec());
        }
        let fatbin = &self.fatbins[fatbin];
        let entry = &fatbin.entries[entry];
        let new = self.whole_payload(image, entry, new)?;
        let stored = compress(&new, entry.compression);
        let room = entry.payload.len();
        let size = if stored.len() <= room {
            room
        } else if self.kind() == ContainerKind::Fatbinary {
            stored.len().next_multiple_of(8)
        } else {
            return Err(NoRoom::TooLarge {
                location: image.location.clone(),
                needed: stored.len() as u64,
                room: room as u64,
            });
        };
        let mut data = self.data.to_vec();
        let mut write = |at: usize, bytes: &[u8]| data[at..at + bytes.len()].copy_from_slice(bytes);
        let header = entry.header.start;
        write(header + field::PAYLOAD_SIZE, &(size as u64).to_le_bytes());
        if entry.compression != Compression::None {
            let compressed = (stored.len() as u32).to_le_bytes();
            write(header + field::COMPRESSED_SIZE, &compressed);
            let whole = (new.len() as u64).to_le_bytes();
            write(header + field::DECOMPRESSED_SIZE, &whole);
        }
        let entries = (fatbin.body.len() + size - room) as u64;
        write(fatbin.start + 8, &entries.to_le_bytes());
        let padding = std::iter::repeat_n(0, size - stored.len());
        data.splice(entry.payload.clone(), stored.iter().copied().chain(padding));
        Ok(data)
    }

    /// The decompressed payload with the image in its place.
    fn whole_payload(&self, image: &Image, entry: &Entry, new: &[u8]) -> Result<Vec<u8>, NoRoom> {
        if entry.parts.len() == 1 {
            return Ok(new.to_vec());
        }
        let range = &entry.parts[image.part].range;
        if new.len() as u64 != range.end - range.start {
            return Err(NoRoom::Resized { location: image.location.clone(), size: range.end - range.start });
        }
        let mut whole = self.payload(entry)?.into_owned();
        whole[range.start as usize..range.end as usize].copy_from_slice(new);
        Ok(whole)
    }
}
