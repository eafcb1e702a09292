//! Goal: put rewritten cubins back where they came from, leaving every other image of the file alone.
//!
//! The new image is compressed as the old one was. In a host file the room is what the fatbinary had: an entry that fits
//! its own room, padding included, stays where it is; otherwise the entries of that fatbinary close up, and as many of
//! the others as need be are compressed again, for our encoders are slower and better than those that wrote them. A
//! fatbinary by itself may grow.

use std::collections::BTreeMap;

use crate::compression::{Compression, compress};
use crate::container::{Container, ContainerKind, Image, Location};
use crate::error::Error;
use crate::fatbin::{Entry, Fatbin, field};

/// Why an image could not be put back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoRoom {
    /// The fatbinary's room is too small and cannot grow where it is.
    #[error("{location}: the new image needs {needed} bytes, there is room for {room}")]
    TooLarge {
        /// The entry.
        location: Location,
        /// Bytes needed.
        needed: u64,
        /// Bytes there are: those of the entry and those that the others of its fatbinary can spare.
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

/// A new payload of an entry, not compressed, and the image to name when it does not fit.
struct Change<'i> {
    image: &'i Image,
    payload: Vec<u8>,
}

/// Bytes that go into an entry's payload.
struct Packed {
    stored: Vec<u8>,
    decompressed: usize,
}

impl Packed {
    fn new(payload: &[u8], compression: Compression) -> Packed {
        Packed { stored: compress(payload, compression), decompressed: payload.len() }
    }

    /// With the padding that entries have.
    fn padded(&self) -> usize {
        self.stored.len().next_multiple_of(ALIGNMENT)
    }
}

const ALIGNMENT: usize = 8;

impl Container<'_> {
    /// The file with one image replaced. Parse the result to replace another, or see [`Container::replace_all`].
    ///
    /// # Errors
    /// When the new image does not fit.
    pub fn replace(&self, image: &Image, new: &[u8]) -> Result<Vec<u8>, NoRoom> {
        self.replace_all(&[(image, new)])
    }

    /// The file with several images replaced; of two edits of one image the later counts.
    ///
    /// # Errors
    /// When a new image does not fit.
    pub fn replace_all(&self, edits: &[(&Image, &[u8])]) -> Result<Vec<u8>, NoRoom> {
        let mut changes: BTreeMap<usize, BTreeMap<usize, Change<'_>>> = BTreeMap::new();
        for &(image, new) in edits {
            if !self.images().contains(image) {
                return Err(NoRoom::NoSuchImage(image.location.clone()));
            }
            let Some((fatbin, index)) = image.entry else {
                return Ok(new.to_vec());
            };
            let entry = &self.fatbins[fatbin].entries[index];
            let changed = changes.entry(fatbin).or_default();
            if !changed.contains_key(&index) && *self.bytes(image)? == *new {
                continue;
            }
            let before = changed.remove(&index).map(|change| change.payload);
            let payload = self.whole_payload(image, entry, before, new)?;
            changed.insert(index, Change { image, payload });
        }
        let mut data = self.data.to_vec();
        // From the end, so that a fatbinary that grows moves none that is still to come.
        for (fatbin, changes) in changes.iter().rev() {
            let fatbin = &self.fatbins[*fatbin];
            let body = self.new_body(fatbin, changes)?;
            data[fatbin.start + 8..fatbin.start + 16].copy_from_slice(&(body.len() as u64).to_le_bytes());
            data.splice(fatbin.body.clone(), body);
        }
        Ok(data)
    }

    /// The decompressed payload with the image in its place.
    fn whole_payload(
        &self,
        image: &Image,
        entry: &Entry,
        before: Option<Vec<u8>>,
        new: &[u8],
    ) -> Result<Vec<u8>, NoRoom> {
        if entry.parts.len() == 1 {
            return Ok(new.to_vec());
        }
        let range = &entry.parts[image.part].range;
        if new.len() as u64 != range.end - range.start {
            return Err(NoRoom::Resized { location: image.location.clone(), size: range.end - range.start });
        }
        let mut whole = match before {
            Some(whole) => whole,
            None => self.payload(entry)?.into_owned(),
        };
        whole[range.start as usize..range.end as usize].copy_from_slice(new);
        Ok(whole)
    }

    /// The entries of a fatbinary with some payloads changed.
    fn new_body(&self, fatbin: &Fatbin, changes: &BTreeMap<usize, Change<'_>>) -> Result<Vec<u8>, NoRoom> {
        let mut packed: BTreeMap<usize, Packed> = (changes.iter())
            .map(|(&index, change)| (index, Packed::new(&change.payload, fatbin.entries[index].compression)))
            .collect();
        let room = |index: usize| fatbin.entries[index].payload.len();
        let fits = packed.iter().all(|(&index, new)| new.stored.len() <= room(index));
        if fits || self.kind() == ContainerKind::Fatbinary {
            return Ok(self.join(fatbin, &packed, |index, needed| needed.max(room(index))));
        }
        let spare = self.close_up(fatbin, &mut packed, changes)?;
        // Whoever is compressed may be followed by padding; what is stored as it is may not.
        let padded = (packed.keys().copied())
            .find(|&index| fatbin.entries[index].compression != Compression::None)
            .or(changes.keys().next().copied());
        let size = |index, needed| if Some(index) == padded { needed + spare } else { needed };
        Ok(self.join(fatbin, &packed, size))
    }

    /// Compresses other entries until everything fits the fatbinary; says how many bytes are left over then.
    fn close_up(
        &self,
        fatbin: &Fatbin,
        packed: &mut BTreeMap<usize, Packed>,
        changes: &BTreeMap<usize, Change<'_>>,
    ) -> Result<usize, NoRoom> {
        let room = fatbin.body.len();
        let mut others: Vec<usize> = (0..fatbin.entries.len())
            .filter(|index| !changes.contains_key(index))
            .filter(|&index| fatbin.entries[index].compression != Compression::None)
            .collect();
        for &index in &others {
            let entry = &fatbin.entries[index];
            let stored = self.data[entry.stored.clone()].to_vec();
            packed.insert(index, Packed { stored, decompressed: entry.decompressed as usize });
        }
        let mut total: usize = (fatbin.entries.iter().enumerate())
            .map(|(index, entry)| {
                entry.header.len() + packed.get(&index).map_or(entry.payload.len(), Packed::padded)
            })
            .sum();
        others.sort_by_key(|&index| std::cmp::Reverse(fatbin.entries[index].stored.len()));
        for index in others {
            if total <= room {
                break;
            }
            let entry = &fatbin.entries[index];
            let again = Packed::new(&self.payload(entry)?, entry.compression);
            if again.padded() < packed[&index].padded() {
                total -= packed[&index].padded() - again.padded();
                packed.insert(index, again);
            }
        }
        room.checked_sub(total).ok_or_else(|| {
            let worst = changes.iter().max_by_key(|(index, _)| {
                packed[*index].padded().saturating_sub(fatbin.entries[**index].payload.len())
            });
            let (index, change) = worst.expect("something changed");
            let needed = packed[index].stored.len() as u64;
            NoRoom::TooLarge {
                location: change.image.location.clone(),
                needed,
                room: needed.saturating_sub((total - room) as u64),
            }
        })
    }

    /// Entries one behind the other; `size` gives a changed payload's size from what it needs.
    fn join(
        &self,
        fatbin: &Fatbin,
        packed: &BTreeMap<usize, Packed>,
        size: impl Fn(usize, usize) -> usize,
    ) -> Vec<u8> {
        let mut body = Vec::with_capacity(fatbin.body.len());
        for (index, entry) in fatbin.entries.iter().enumerate() {
            let header = body.len();
            body.extend_from_slice(&self.data[entry.header.clone()]);
            let Some(new) = packed.get(&index) else {
                body.extend_from_slice(&self.data[entry.payload.clone()]);
                continue;
            };
            let mut write = |at: usize, bytes: &[u8]| {
                body[header + at..header + at + bytes.len()].copy_from_slice(bytes);
            };
            let size = size(index, new.padded());
            write(field::PAYLOAD_SIZE, &(size as u64).to_le_bytes());
            if entry.compression != Compression::None {
                write(field::COMPRESSED_SIZE, &(new.stored.len() as u32).to_le_bytes());
                write(field::DECOMPRESSED_SIZE, &(new.decompressed as u64).to_le_bytes());
            }
            body.extend_from_slice(&new.stored);
            body.extend(std::iter::repeat_n(0, size - new.stored.len()));
        }
        body
    }
}
