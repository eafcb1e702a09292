//! Goal: put rewritten cubins back where they came from, leaving every other image of the file alone.
//!
//! Edits become new payloads of entries here; `pack` compresses them, `place` finds room for them, and where there is none, `grow`
//! makes it. Images that there is no room for stay as they were, with the reason.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::container::{Container, Image, Location};
use crate::error::Error;
use crate::fatbin::Entry;
use crate::grow::Fixed;
use crate::pack::{Change, Pack};

/// Why an image could not be put back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoRoom {
    /// The fatbinary's room is too small, and the file gives it no more.
    #[error(
        "{location}: the new image needs {needed} bytes, there is room for {room} and the file cannot grow: {fixed}"
    )]
    TooLarge {
        /// The entry.
        location: Location,
        /// Bytes needed.
        needed: u64,
        /// Bytes there are: those of the entry and those that the others of its fatbinary can spare.
        room: u64,
        /// Why the file cannot grow.
        fixed: Box<Fixed>,
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
        changes.retain(|_, changes| !changes.is_empty());
        let packs: Vec<Pack<'_>> = (changes.into_iter().collect::<Vec<_>>().into_par_iter())
            .map(|(fatbin, changes)| self.pack(fatbin, changes))
            .collect();
        let (data, no_room) = self.place(&packs);
        refused.extend(no_room);
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
}
