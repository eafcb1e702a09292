//! Goal: two files, image by image, and every byte around the images.

use super::cubin::{byte_difference, cubins};
use super::{Change, Comparison, Difference, host};
use rayon::prelude::*;
use sassafras_cubin::{Compression, Container, ContainerKind, Cubin, Error, Image, ImageKind};
use std::ops::Range;

/// Whether the file `new` is a legal reordering of the file `old`.
///
/// # Errors
/// When an image of one of them cannot be read.
pub fn files(old: &Container<'_>, new: &Container<'_>) -> Result<Comparison, Error> {
    let mut found = Comparison::default();
    if let Some(difference) = structure(old, new) {
        found.differences.push(difference);
        return Ok(found);
    }
    if old.data() == new.data() && old.cubins().count() == 0 {
        return Ok(found);
    }
    around(old, new, &mut found.differences);
    let pairs: Vec<(&Image, &Image)> = old.images().iter().zip(new.images()).collect();
    let parts: Vec<Result<Comparison, Error>> =
        pairs.into_par_iter().map(|(was, is)| image(old, new, was, is)).collect();
    for part in parts {
        found.absorb(part?);
    }
    Ok(found)
}

fn image(old: &Container<'_>, new: &Container<'_>, was: &Image, is: &Image) -> Result<Comparison, Error> {
    // What is no cubin need not be readable: code for link-time optimisation may be in a form that only NVIDIA's tools decompress.
    let same = was.size == is.size && old.stored(was) == new.stored(is);
    if same && was.kind != ImageKind::Cubin {
        return Ok(Comparison::default());
    }
    let name = if was.location == Default::default() { String::new() } else { was.location.to_string() };
    let (was_bytes, is_bytes) = (old.bytes(was)?, new.bytes(is)?);
    let mut found = if was.kind == ImageKind::Cubin {
        cubins(&Cubin::parse(&was_bytes)?, &Cubin::parse(&is_bytes)?)
    } else {
        let differences = byte_difference("image", &was_bytes, &is_bytes, 0, |_| false);
        Comparison { differences: differences.into_iter().collect(), ..Comparison::default() }
    };
    found.differences = found.differences.into_iter().map(|difference| difference.of_image(&name)).collect();
    Ok(found)
}

/// The same images in the same order.
fn structure(old: &Container<'_>, new: &Container<'_>) -> Option<Difference> {
    let changed = |what, was: String, is: String| {
        Some(Difference::new("file", None, Change::Structure { what, was, is }))
    };
    if old.kind() != new.kind() {
        return changed("the kind of file", format!("{:?}", old.kind()), format!("{:?}", new.kind()));
    }
    let (was, is) = (old.images(), new.images());
    if was.len() != is.len() {
        return changed("the number of images", was.len().to_string(), is.len().to_string());
    }
    for (was, is) in was.iter().zip(is) {
        let text = |image: &Image| {
            let place = &image.location;
            let stored = match image.compression {
                Compression::None => "stored",
                Compression::Lz4 => "LZ4",
                Compression::Zstd => "zstd",
            };
            let (member, section) = (place.member.as_deref(), place.section.as_deref());
            let place = [member, section].into_iter().flatten().collect::<Vec<_>>().join(" ");
            format!("{:?} for {}, {stored} {place}", image.kind, image.sm)
        };
        if text(was) != text(is) || was.location.part != is.location.part {
            let difference = changed("an image", text(was), text(is));
            return difference.map(|difference| difference.of_image(&was.location.to_string()));
        }
    }
    None
}

/// Fields of an entry's header that the size of its image decides.
const PAYLOAD_SIZE: u64 = 8;
const COMPRESSED_SIZE: u64 = 16;
const DECOMPRESSED_SIZE: u64 = 56;

/// A part of both files that holds entries.
pub(super) struct Stretch {
    /// In the original.
    pub old: Range<u64>,
    /// In the new file.
    pub new: Range<u64>,
    /// Whether fatbinaries may have another size.
    pub resized: bool,
}

/// An entry in both files.
struct Pair {
    old: u64,
    new: u64,
    /// Where the original's fatbinary starts.
    fatbinary: u64,
    compressed: bool,
}

/// Every byte outside the payloads of entries.
fn around(old: &Container<'_>, new: &Container<'_>, differences: &mut Vec<Difference>) {
    let pairs = pairs(old, new);
    if pairs.is_empty() {
        return;
    }
    let resized = old.data().len() != new.data().len();
    if resized && old.kind() == ContainerKind::Host {
        let fatbinaries = pairs.iter().map(|pair| pair.fatbinary).collect();
        match host::compare(old.data(), new.data(), &fatbinaries) {
            Ok(found) => {
                differences.extend(found.differences);
                found.stretches.iter().for_each(|part| stretch(old, new, &pairs, part, differences));
            }
            Err(difference) => differences.push(*difference),
        }
        return;
    }
    let all = |container: &Container<'_>| 0..container.data().len() as u64;
    stretch(old, new, &pairs, &Stretch { old: all(old), new: all(new), resized }, differences);
}

/// Entries in the order of the original.
fn pairs(old: &Container<'_>, new: &Container<'_>) -> Vec<Pair> {
    let pair = |(was, is): (&Image, &Image)| {
        let (place, compressed) = (&was.location, was.compression != Compression::None);
        Some(Pair { old: place.entry?, new: is.location.entry?, fatbinary: place.fatbinary?, compressed })
    };
    let mut pairs: Vec<Pair> = old.images().iter().zip(new.images()).filter_map(pair).collect();
    pairs.sort_by_key(|pair| pair.old);
    pairs.dedup_by_key(|pair| (pair.old, pair.new));
    pairs
}

/// Every byte of a part outside the payloads of entries. Sizes in headers may differ; reading both files has checked them.
fn stretch(
    old: &Container<'_>,
    new: &Container<'_>,
    pairs: &[Pair],
    part: &Stretch,
    differences: &mut Vec<Difference>,
) {
    let (was, is) = (old.data(), new.data());
    let (mut old_at, mut new_at) = (part.old.start, part.new.start);
    let between = |from: u64, to: u64, data: &'_ [u8]| -> Range<usize> {
        let from = (from as usize).min(data.len());
        from..(to as usize).clamp(from, data.len())
    };
    let first = pairs.partition_point(|pair| pair.old < part.old.start);
    for pair in pairs[first..].iter().take_while(|pair| pair.old < part.old.end) {
        let start = old_at;
        let size_field = |at: u64| (pair.fatbinary + 8..pair.fatbinary + 16).contains(&(start + at));
        let (old_gap, new_gap) = (between(old_at, pair.old, was), between(new_at, pair.new, is));
        differences.extend(byte_difference("file", &was[old_gap], &is[new_gap], old_at, |at| {
            part.resized && size_field(at)
        }));
        let number = |data: &[u8], at: u64, len: usize| {
            let bytes = data.get(at as usize..).and_then(|rest| rest.get(..len)).unwrap_or_default();
            bytes.iter().rev().fold(0u64, |all, &byte| all << 8 | u64::from(byte))
        };
        let old_header = number(was, pair.old + 4, 4);
        let new_header = number(is, pair.new + 4, 4);
        let (old_range, new_range) = (
            between(pair.old, pair.old.saturating_add(old_header), was),
            between(pair.new, pair.new.saturating_add(new_header), is),
        );
        let sizes = |at: u64| {
            // Entries of a file that may not grow close up: those that are compressed change their padding.
            ((part.resized || pair.compressed) && (PAYLOAD_SIZE..PAYLOAD_SIZE + 8).contains(&at))
                || (pair.compressed && (COMPRESSED_SIZE..COMPRESSED_SIZE + 4).contains(&at))
                || (pair.compressed && (DECOMPRESSED_SIZE..DECOMPRESSED_SIZE + 8).contains(&at))
        };
        let (was_header, is_header) = (&was[old_range], &is[new_range]);
        differences.extend(byte_difference("fatbinary entry", was_header, is_header, pair.old, sizes));
        old_at = pair.old.saturating_add(old_header).saturating_add(number(was, pair.old + 8, 8));
        new_at = pair.new.saturating_add(new_header).saturating_add(number(is, pair.new + 8, 8));
    }
    let (old_rest, new_rest) = (between(old_at, part.old.end, was), between(new_at, part.new.end, is));
    differences.extend(byte_difference("file", &was[old_rest], &is[new_rest], old_at, |_| false));
}
