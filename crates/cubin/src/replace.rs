//! Goal: put rewritten cubins back where they came from, leaving every other image of the file alone.
//!
//! The new image is compressed as the old one was, quickly first. In a host file the room is what the fatbinary had: an
//! entry that fits its own room, padding included, stays where it is; one that does not is compressed again as small as
//! can be; otherwise the entries of that fatbinary close up, and as many of the others as need be are compressed again, for
//! our encoders are slower and better than those that wrote them. A fatbinary by itself may grow.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::compression::{Compression, Effort, compress};
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

/// A new payload of an entry, not compressed, the image to name when it does not fit, and the edits it is made of.
struct Change<'i> {
    image: &'i Image,
    payload: Vec<u8>,
    edits: Vec<usize>,
}

/// A fatbinary's entries, and the edits that there is no room for.
type Body = (Vec<u8>, Vec<(usize, NoRoom)>);

/// Bytes that go into an entry's payload.
struct Packed {
    stored: Vec<u8>,
    decompressed: usize,
}

impl Packed {
    fn new(payload: &[u8], compression: Compression, effort: Effort) -> Packed {
        Packed { stored: compress(payload, compression, effort), decompressed: payload.len() }
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
        let (data, refused) = self.replace_fitting(edits);
        refused.into_iter().next().map_or(Ok(data), |(_, why)| Err(why))
    }

    /// The file with those images replaced that fit, and the others, by their position among the edits, with the reason. Of two
    /// edits of one image the later counts.
    pub fn replace_fitting(&self, edits: &[(&Image, &[u8])]) -> (Vec<u8>, Vec<(usize, NoRoom)>) {
        let mut changes: BTreeMap<usize, BTreeMap<usize, Change<'_>>> = BTreeMap::new();
        let mut refused = Vec::new();
        for (edit, &(image, new)) in edits.iter().enumerate() {
            if !self.images().contains(image) {
                refused.push((edit, NoRoom::NoSuchImage(image.location.clone())));
                continue;
            }
            let Some((fatbin, index)) = image.entry else {
                return (new.to_vec(), refused);
            };
            let entry = &self.fatbins[fatbin].entries[index];
            let changed = changes.entry(fatbin).or_default();
            match self.whole_payload(image, entry, changed.get(&index), new) {
                Ok(Some(payload)) => {
                    let change = changed.entry(index).or_insert(Change {
                        image,
                        payload: Vec::new(),
                        edits: Vec::new(),
                    });
                    change.payload = payload;
                    change.edits.push(edit);
                }
                Ok(None) => {}
                Err(why) => refused.push((edit, why)),
            }
        }
        let bodies: Vec<_> = (changes.into_iter().collect::<Vec<_>>().into_par_iter())
            .map(|(fatbin, changes)| (fatbin, self.new_body(&self.fatbins[fatbin], changes)))
            .collect();
        let mut data = self.data.to_vec();
        // From the end, so that a fatbinary that grows moves none that is still to come.
        for (fatbin, (body, no_room)) in bodies.into_iter().rev() {
            let fatbin = &self.fatbins[fatbin];
            data[fatbin.start + 8..fatbin.start + 16].copy_from_slice(&(body.len() as u64).to_le_bytes());
            data.splice(fatbin.body.clone(), body);
            refused.extend(no_room);
        }
        refused.sort_by_key(|&(edit, _)| edit);
        (data, refused)
    }

    /// The decompressed payload with the image in its place; none when nothing changes.
    fn whole_payload(
        &self,
        image: &Image,
        entry: &Entry,
        before: Option<&Change<'_>>,
        new: &[u8],
    ) -> Result<Option<Vec<u8>>, NoRoom> {
        if before.is_none() && *self.bytes(image)? == *new {
            return Ok(None);
        }
        if entry.parts.len() == 1 {
            return Ok(Some(new.to_vec()));
        }
        let range = &entry.parts[image.part].range;
        if new.len() as u64 != range.end - range.start {
            return Err(NoRoom::Resized { location: image.location.clone(), size: range.end - range.start });
        }
        let mut whole = match before {
            Some(change) => change.payload.clone(),
            None => self.payload(entry)?.into_owned(),
        };
        whole[range.start as usize..range.end as usize].copy_from_slice(new);
        Ok(Some(whole))
    }

    /// The entries of a fatbinary with those payloads changed that there is room for.
    fn new_body(&self, fatbin: &Fatbin, mut changes: BTreeMap<usize, Change<'_>>) -> Body {
        let pack = |index: usize, payload: &[u8], effort| {
            Packed::new(payload, fatbin.entries[index].compression, effort)
        };
        let room = |index: usize| fatbin.entries[index].payload.len();
        let may_grow = self.kind() == ContainerKind::Fatbinary;
        let mut packed: BTreeMap<usize, Packed> = (changes.par_iter())
            .map(|(&index, change)| {
                let quick = pack(index, &change.payload, Effort::Quick);
                let fits = may_grow || quick.stored.len() <= room(index);
                (index, if fits { quick } else { pack(index, &change.payload, Effort::Best) })
            })
            .collect();
        let fits = packed.iter().all(|(&index, new)| new.stored.len() <= room(index));
        let mut refused = Vec::new();
        if fits || may_grow {
            return (self.join(fatbin, &packed, |index, needed| needed.max(room(index))), refused);
        }
        // What others take as small as can be, of those that were tried.
        let mut smaller: BTreeMap<usize, Packed> = BTreeMap::new();
        while let Err(excess) = self.close_up(fatbin, &mut packed, &mut smaller) {
            let grown = |index: usize| packed[&index].padded().saturating_sub(room(index));
            let Some(worst) = changes.keys().copied().max_by_key(|&index| grown(index)) else {
                // Nothing is left to change.
                return (self.data[fatbin.body.clone()].to_vec(), refused);
            };
            let (Some(change), Some(new)) = (changes.remove(&worst), packed.remove(&worst)) else { break };
            let needed = new.stored.len() as u64;
            let location = change.image.location.clone();
            let why = NoRoom::TooLarge { location, needed, room: needed.saturating_sub(excess) };
            refused.extend(change.edits.into_iter().map(|edit| (edit, why.clone())));
        }
        let spare = fatbin.body.len() - self.total(fatbin, &packed);
        // Whoever is compressed may be followed by padding; what is stored as it is may not.
        let padded = (packed.keys().copied())
            .find(|&index| fatbin.entries[index].compression != Compression::None)
            .or(changes.keys().next().copied());
        let size = |index, needed| if Some(index) == padded { needed + spare } else { needed };
        (self.join(fatbin, &packed, size), refused)
    }

    /// Bytes of all entries.
    fn total(&self, fatbin: &Fatbin, packed: &BTreeMap<usize, Packed>) -> usize {
        let entries = fatbin.entries.iter().enumerate();
        entries
            .map(|(index, entry)| {
                entry.header.len() + packed.get(&index).map_or(entry.payload.len(), Packed::padded)
            })
            .sum()
    }

    /// Takes the padding from compressed entries, and compresses others until everything fits the fatbinary. Fails with the
    /// bytes that are missing then.
    fn close_up(
        &self,
        fatbin: &Fatbin,
        packed: &mut BTreeMap<usize, Packed>,
        smaller: &mut BTreeMap<usize, Packed>,
    ) -> Result<(), u64> {
        let mut others: Vec<usize> = (0..fatbin.entries.len())
            .filter(|index| !packed.contains_key(index))
            .filter(|&index| fatbin.entries[index].compression != Compression::None)
            .collect();
        for &index in &others {
            let entry = &fatbin.entries[index];
            let stored = self.data[entry.stored.clone()].to_vec();
            packed.insert(index, Packed { stored, decompressed: entry.decompressed as usize });
        }
        let mut total = self.total(fatbin, packed);
        let room = fatbin.body.len();
        others.sort_by_key(|&index| std::cmp::Reverse(fatbin.entries[index].stored.len()));
        for &index in &others {
            if total <= room {
                return Ok(());
            }
            let entry = &fatbin.entries[index];
            // An entry that cannot be read stays as it is.
            let Ok(payload) = self.payload(entry) else { continue };
            let again = smaller
                .remove(&index)
                .unwrap_or_else(|| Packed::new(&payload, entry.compression, Effort::Best));
            if again.padded() < packed[&index].padded() {
                total -= packed[&index].padded() - again.padded();
                packed.insert(index, again);
            }
        }
        if total <= room {
            return Ok(());
        }
        for index in others {
            smaller.extend(packed.remove(&index).map(|again| (index, again)));
        }
        Err((total - room) as u64)
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
