//! Goal: put rewritten cubins back where they came from, leaving every other image of the file alone.
//!
//! Edits become new payloads of entries here; `pack` compresses them, `place` finds room for them, and where there is none, `grow`
//! makes it. Images that there is no room for stay as they were, with the reason.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::compression::Effort;
use crate::container::Container;
use crate::error::Error;
use crate::fatbin::Entry;
use crate::grow::Fixed;
use crate::image::{Image, Location};
use crate::pack::{Change, Pack, Packed};

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

/// What is to take the place of an image, see [`Container::prepare`].
#[derive(Clone, Debug)]
pub struct Prepared {
    image: Image,
    ready: Ready,
}

#[derive(Clone, Debug)]
enum Ready {
    /// What was there.
    Same,
    /// All that an entry holds.
    Packed(Packed),
    /// A file by itself, or one image of those that an entry holds.
    Plain(Vec<u8>),
    Refused(NoRoom),
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
        let prepared: Vec<Prepared> =
            edits.par_iter().map(|&(image, new)| self.prepare(image, new.into())).collect();
        self.replace_prepared(prepared)
    }

    /// Makes ready what is to take the place of an image: what takes its turn in a file of many images is compressed at once, and takes
    /// no more room than that until all the others are ready, too.
    pub fn prepare(&self, image: &Image, new: Cow<'_, [u8]>) -> Prepared {
        let ready = if !self.images().contains(image) {
            Ready::Refused(NoRoom::NoSuchImage(image.location.clone()))
        } else {
            match self.bytes(image) {
                Err(error) if image.entry.is_some() => Ready::Refused(error.into()),
                Ok(old) if image.entry.is_some() && *old == *new => Ready::Same,
                old => {
                    drop(old);
                    self.ready(image, new)
                }
            }
        };
        Prepared { image: image.clone(), ready }
    }

    /// An image stays as it is: what [`Container::prepare`] makes of its own bytes, without having them.
    pub fn keep(&self, image: &Image) -> Prepared {
        Prepared { image: image.clone(), ready: Ready::Same }
    }

    /// What is to take the place of an image that it differs from.
    fn ready(&self, image: &Image, new: Cow<'_, [u8]>) -> Ready {
        match image.entry.map(|(fatbin, index)| &self.fatbins()[fatbin].entries[index]) {
            Some(entry) if entry.parts.len() == 1 => {
                Ready::Packed(Packed::new(&new, entry.compression, Effort::Quick))
            }
            _ => Ready::Plain(new.into_owned()),
        }
    }

    /// As [`Container::replace_fitting`], with what [`Container::prepare`] made ready.
    pub fn replace_prepared(&self, edits: Vec<Prepared>) -> (Vec<u8>, Vec<(usize, NoRoom)>) {
        let mut changes: BTreeMap<usize, BTreeMap<usize, Change<'_>>> = BTreeMap::new();
        let mut refused = Vec::new();
        for (edit, Prepared { image, ready }) in edits.into_iter().enumerate() {
            let known = || self.images().iter().find(|known| **known == image);
            let Some((fatbin, index)) = image.entry else {
                match ready {
                    Ready::Plain(new) => return (new, refused),
                    Ready::Refused(why) => refused.push((edit, why)),
                    Ready::Same | Ready::Packed(_) => {}
                }
                continue;
            };
            let Some(known) = known() else {
                refused.push((edit, NoRoom::NoSuchImage(image.location)));
                continue;
            };
            let entry = &self.fatbins()[fatbin].entries[index];
            let before = changes.get(&fatbin).and_then(|changes| changes.get(&index));
            match self.whole_payload(known, entry, before, ready) {
                Ok(Some(packed)) => {
                    let changed = changes.entry(fatbin).or_default();
                    let edits = changed.remove(&index).map_or(Vec::new(), |before| before.edits);
                    let edits = edits.into_iter().chain([edit]).collect();
                    changed.insert(index, Change { image: known, packed, edits });
                }
                Ok(None) => {}
                Err(why) => refused.push((edit, why)),
            }
        }
        let packs: Vec<Pack<'_>> =
            changes.into_iter().map(|(fatbin, changes)| self.pack(fatbin, changes)).collect();
        let (data, no_room) = self.place(&packs);
        refused.extend(no_room);
        refused.sort_by_key(|&(edit, _)| edit);
        (data, refused)
    }

    /// The payload with the image in its place; none when nothing changes.
    fn whole_payload(
        &self,
        image: &Image,
        entry: &Entry,
        before: Option<&Change<'_>>,
        ready: Ready,
    ) -> Result<Option<Packed>, NoRoom> {
        let new = match ready {
            Ready::Packed(packed) => return Ok(Some(packed)),
            Ready::Refused(why) => return Err(why),
            Ready::Same if before.is_none() => return Ok(None),
            // Another edit of the entry came before.
            Ready::Same => self.bytes(image)?,
            Ready::Plain(new) => new.into(),
        };
        if entry.parts.len() == 1 {
            return Ok(Some(Packed::new(&new, entry.compression, Effort::Quick)));
        }
        let range = &entry.parts[image.part].range;
        if new.len() as u64 != range.end - range.start {
            return Err(NoRoom::Resized { location: image.location.clone(), size: range.end - range.start });
        }
        let mut whole = match before {
            Some(change) => change.packed.payload(entry.compression),
            None => self.payload(entry)?.into_owned(),
        };
        whole[range.start as usize..range.end as usize].copy_from_slice(&new);
        Ok(Some(Packed::new(&whole, entry.compression, Effort::Quick)))
    }
}
