//! Goal: the entries of a fatbinary with other payloads, in the room that there is or in as much as they need.
//!
//! Payloads are compressed as the old ones were, quickly first. An entry that fits its own room, padding included, stays where
//! it is; one that does not is compressed again as small as can be; otherwise the entries of that fatbinary close up, and as many
//! of the others as need be are compressed again, for our encoders are slower and better than those that wrote them.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;

use crate::compression::{Compression, Effort, compress, expand};
use crate::container::Container;
use crate::fatbin::{Fatbin, field};
use crate::grow::Fixed;
use crate::image::Image;
use crate::replace::NoRoom;

/// A new payload of an entry, compressed quickly, the image to name when it does not fit, and the edits it is made of.
pub(crate) struct Change<'i> {
    pub image: &'i Image,
    pub packed: Packed,
    pub edits: Vec<usize>,
}

/// A fatbinary's entries, and the edits that there is no room for.
pub(crate) type Body = (Vec<u8>, Vec<(usize, NoRoom)>);

/// How a fatbinary goes back into its room.
pub(crate) enum Fitting {
    /// Every entry where it is.
    InPlace,
    /// With these entries.
    Anew(Body),
}

/// Bytes that go into an entry's payload. Payloads are kept so, and in no other form: all of a library's take several times as much.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    stored: Arc<[u8]>,
    decompressed: usize,
}

impl Packed {
    pub fn new(payload: &[u8], compression: Compression, effort: Effort) -> Packed {
        Packed { stored: compress(payload, compression, effort).into(), decompressed: payload.len() }
    }

    /// As it was before it was compressed.
    pub fn payload(&self, compression: Compression) -> Vec<u8> {
        expand(&self.stored, self.decompressed, compression)
    }

    /// The same bytes with more effort.
    fn better(&self, compression: Compression) -> Packed {
        Packed::new(&self.payload(compression), compression, Effort::Best)
    }

    /// With the padding that entries have.
    fn padded(&self) -> usize {
        self.stored.len().next_multiple_of(ALIGNMENT)
    }
}

const ALIGNMENT: usize = 8;

/// New payloads of a fatbinary, compressed quickly.
pub(crate) struct Pack<'i> {
    /// The fatbinary's number.
    pub number: usize,
    changes: BTreeMap<usize, Change<'i>>,
    /// Whether every entry has room enough where it is.
    pub fits: bool,
}

impl Container<'_> {
    /// The changes of a fatbinary.
    pub(crate) fn pack<'i>(&self, number: usize, changes: BTreeMap<usize, Change<'i>>) -> Pack<'i> {
        let entries = &self.fatbins()[number].entries;
        let room = |index: usize| entries[index].payload.len();
        let fits = changes.iter().all(|(&index, change)| change.packed.stored.len() <= room(index));
        Pack { number, changes, fits }
    }

    /// Whether the smallest payload that has too little room where it is does not get small enough with more effort. Payloads of one
    /// fatbinary are much alike: then it is hardly worth trying the others, which takes ten times as long as all else.
    pub(crate) fn is_hopeless(&self, pack: &Pack<'_>) -> bool {
        let entries = &self.fatbins()[pack.number].entries;
        let packed = pack.changes.iter().map(|(&index, change)| (index, &change.packed));
        let too_large = packed.filter(|&(index, new)| new.stored.len() > entries[index].payload.len());
        let smallest = too_large.min_by_key(|(_, new)| new.stored.len());
        smallest.is_some_and(|(index, new)| {
            let entry = &entries[index];
            new.better(entry.compression).stored.len() > entry.payload.len()
        })
    }

    /// Adds the entries with the payloads where they were; for payloads that fit.
    pub(crate) fn add_in_place(&self, pack: &Pack<'_>, to: &mut Vec<u8>) {
        let fatbin = &self.fatbins()[pack.number];
        let size = |index: usize, needed: usize| needed.max(fatbin.entries[index].payload.len());
        self.join(fatbin, &pack.packed(), size, to);
    }

    /// Adds the entries with payloads as large as they are.
    pub(crate) fn add_as_needed(&self, pack: &Pack<'_>, to: &mut Vec<u8>) {
        self.join(&self.fatbins()[pack.number], &pack.packed(), |_, needed| needed, to);
    }

    /// Bytes that [`Container::add_as_needed`] adds.
    pub(crate) fn needed(&self, pack: &Pack<'_>) -> usize {
        self.total(&self.fatbins()[pack.number], &pack.packed())
    }

    /// The entries with those payloads changed that room can be made for. `fixed` says why there is no more; without it,
    /// everything has to fit.
    pub(crate) fn body_within(&self, pack: &Pack<'_>, fixed: Option<Fixed>) -> Option<Fitting> {
        if pack.fits {
            return Some(Fitting::InPlace);
        }
        self.body_anew(pack, fixed).map(Fitting::Anew)
    }

    fn body_anew(&self, pack: &Pack<'_>, fixed: Option<Fixed>) -> Option<Body> {
        let fatbin = &self.fatbins()[pack.number];
        let room = |index: usize| fatbin.entries[index].payload.len();
        let mut changes: BTreeMap<usize, &Change<'_>> =
            pack.changes.iter().map(|(&index, change)| (index, change)).collect();
        let mut packed: BTreeMap<usize, Packed> = (pack.changes.par_iter())
            .map(|(&index, change)| match &change.packed {
                quick if quick.stored.len() <= room(index) => (index, quick.clone()),
                quick => (index, quick.better(fatbin.entries[index].compression)),
            })
            .collect();
        let joined = |packed: &BTreeMap<usize, Packed>, size: &dyn Fn(usize, usize) -> usize| {
            let mut body = Vec::with_capacity(fatbin.body.len());
            self.join(fatbin, packed, size, &mut body);
            body
        };
        let mut refused = Vec::new();
        if packed.iter().all(|(&index, new)| new.stored.len() <= room(index)) {
            return Some((joined(&packed, &|index, needed| needed.max(room(index))), refused));
        }
        // What others take as small as can be, of those that were tried.
        let mut smaller: BTreeMap<usize, Packed> = BTreeMap::new();
        while let Err(excess) = self.close_up(fatbin, &mut packed, &mut smaller) {
            let fixed = fixed?;
            let grown = |index: usize| packed[&index].padded().saturating_sub(room(index));
            let Some(worst) = changes.keys().copied().max_by_key(|&index| grown(index)) else {
                // Nothing is left to change.
                return Some((self.data[fatbin.body.clone()].to_vec(), refused));
            };
            let (Some(change), Some(new)) = (changes.remove(&worst), packed.remove(&worst)) else { break };
            let needed = new.stored.len() as u64;
            let location = change.image.location.clone();
            let room = needed.saturating_sub(excess);
            let why = NoRoom::TooLarge { location, needed, room, fixed: fixed.into() };
            refused.extend(change.edits.iter().map(|&edit| (edit, why.clone())));
        }
        let spare = fatbin.body.len() - self.total(fatbin, &packed);
        // Whoever is compressed may be followed by padding; what is stored as it is may not.
        let padded = (packed.keys().copied())
            .find(|&index| fatbin.entries[index].compression != Compression::None)
            .or(changes.keys().next().copied());
        let size = |index, needed| if Some(index) == padded { needed + spare } else { needed };
        Some((joined(&packed, &size), refused))
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
            let stored = self.data[entry.stored.clone()].into();
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

    /// Adds entries one behind the other; `size` gives a changed payload's size from what it needs.
    fn join(
        &self,
        fatbin: &Fatbin,
        packed: &BTreeMap<usize, Packed>,
        size: impl Fn(usize, usize) -> usize,
        body: &mut Vec<u8>,
    ) {
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
    }
}

impl Pack<'_> {
    /// The new payloads; nothing is copied.
    fn packed(&self) -> BTreeMap<usize, Packed> {
        self.changes.iter().map(|(&index, change)| (index, change.packed.clone())).collect()
    }
}
