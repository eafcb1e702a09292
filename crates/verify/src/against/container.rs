//! Goal: two files, image by image, and every byte around the images.

use super::cubin::{byte_difference, cubins};
use super::{Change, Comparison, Difference};
use rayon::prelude::*;
use sassafras_cubin::{Compression, Container, Cubin, Error, Image, ImageKind};

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

/// Every byte outside the payloads of entries. Sizes in headers may differ; reading both files has checked them.
fn around(old: &Container<'_>, new: &Container<'_>, differences: &mut Vec<Difference>) {
    let entries = |container: &Container<'_>| -> Vec<(u64, u64, bool)> {
        let entry = |image: &Image| {
            let compressed = image.compression != Compression::None;
            Some((image.location.entry?, image.location.fatbinary?, compressed))
        };
        let mut places: Vec<_> = container.images().iter().filter_map(entry).collect();
        places.dedup();
        places
    };
    let (was, is) = (old.data(), new.data());
    let (mut old_at, mut new_at) = (0, 0);
    let between = |from: u64, to: u64, data: &'_ [u8]| -> std::ops::Range<usize> {
        let from = (from as usize).min(data.len());
        from..(to as usize).clamp(from, data.len())
    };
    let entries = (entries(old), entries(new));
    if entries.0.is_empty() {
        return;
    }
    for (&(old_entry, fatbinary, compressed), &(new_entry, _, _)) in entries.0.iter().zip(&entries.1) {
        let start = old_at;
        let size_field = |at: u64| (fatbinary + 8..fatbinary + 16).contains(&(start + at));
        let (old_gap, new_gap) = (between(old_at, old_entry, was), between(new_at, new_entry, is));
        let resized = was.len() != is.len();
        differences.extend(byte_difference("file", &was[old_gap], &is[new_gap], old_at, |at| {
            resized && size_field(at)
        }));
        let number = |data: &[u8], at: u64, len: usize| {
            let bytes = data.get(at as usize..).and_then(|rest| rest.get(..len)).unwrap_or_default();
            bytes.iter().rev().fold(0u64, |all, &byte| all << 8 | u64::from(byte))
        };
        let old_header = number(was, old_entry + 4, 4);
        let new_header = number(is, new_entry + 4, 4);
        let (old_range, new_range) = (
            between(old_entry, old_entry.saturating_add(old_header), was),
            between(new_entry, new_entry.saturating_add(new_header), is),
        );
        let sizes = |at: u64| {
            // Entries of a file that may not grow close up: those that are compressed change their padding.
            ((resized || compressed) && (PAYLOAD_SIZE..PAYLOAD_SIZE + 8).contains(&at))
                || (compressed && (COMPRESSED_SIZE..COMPRESSED_SIZE + 4).contains(&at))
                || (compressed && (DECOMPRESSED_SIZE..DECOMPRESSED_SIZE + 8).contains(&at))
        };
        let (was_header, is_header) = (&was[old_range], &is[new_range]);
        differences.extend(byte_difference("fatbinary entry", was_header, is_header, old_entry, sizes));
        old_at = old_entry.saturating_add(old_header).saturating_add(number(was, old_entry + 8, 8));
        new_at = new_entry.saturating_add(new_header).saturating_add(number(is, new_entry + 8, 8));
    }
    let (old_rest, new_rest) = (between(old_at, u64::MAX, was), between(new_at, u64::MAX, is));
    differences.extend(byte_difference("file", &was[old_rest], &is[new_rest], old_at, |_| false));
}
