//! A sweep over damaged files: no panic, no memory out of proportion, and every error says which section and byte.

use std::hint::black_box;

use sassafras_cubin::{
    CodeEdit, Compression, Container, Cubin, Error, Limits, Origin, Problem, Relayout, RewriteOptions, Slot,
};

#[path = "support/build.rs"]
mod build;

/// One file of every kind, with every compression in it.
fn files() -> [(&'static str, Vec<u8>); 4] {
    let image = build::cubin();
    let size = image.len() as u64;
    let lz4 = lz4_flex::block::compress(&image);
    let zstd = zstd::bulk::compress(&image, 3).expect("room enough");
    let fatbin = build::fatbin(&[(90, 0, &image, 0), (90, 1 << 13, &lz4, size), (90, 1 << 15, &zstd, size)]);
    let host = build::host(&[&fatbin]);
    let archive = build::archive(&[("k.o", &host)]);
    [("cubin", image), ("fatbinary", fatbin), ("host", host), ("archive", archive)]
}

fn check(what: &str, error: &Error, file: &[u8]) {
    let text = error.to_string();
    let place = format!("{} at offset {:#x}: ", error.place.section, error.place.offset);
    assert!(text.starts_with(&place) && text.len() > place.len(), "{what}: {text}");
    assert!(!error.place.section.is_empty(), "{what}: {text}");
    assert!(error.place.offset <= file.len() as u64, "{what}: {text} in a file of {} bytes", file.len());
}

/// Reads and rewrites all there is; says how many errors there were.
fn sweep(what: &str, file: &[u8]) -> usize {
    let mut errors = 0;
    let container = match Container::parse(file) {
        Ok(container) => container,
        Err(error) => {
            check(what, &error, file);
            return 1;
        }
    };
    for image in container.images() {
        let bytes = match container.bytes(image) {
            Ok(bytes) => bytes,
            Err(error) => {
                check(what, &error, file);
                errors += 1;
                continue;
            }
        };
        match Cubin::parse(&bytes) {
            Ok(cubin) => {
                let edits: Vec<_> = cubin.code().iter().map(CodeEdit::unchanged).collect();
                let _ = black_box(cubin.rewrite(&edits));
                for code in cubin.code() {
                    let mut longer = Relayout::unchanged(code);
                    longer.slots.insert(0, Slot { word: 0, origin: Origin::New });
                    let _ = black_box(cubin.relayout(&[longer], RewriteOptions::default()));
                }
            }
            Err(error) => {
                check(what, &error, &bytes);
                errors += 1;
            }
        }
    }
    errors
}

#[test]
fn every_truncation_names_the_place() {
    for (kind, file) in files() {
        assert_eq!(sweep(kind, &file), 0);
        for part in 0..64 {
            let cut = file.len() * part / 64;
            let what = format!("{kind} cut at {cut:#x}");
            assert!(sweep(&what, &file[..cut]) > 0, "{what} was read as if it were whole");
        }
    }
}

#[test]
fn every_damaged_byte_is_survived_and_errors_name_the_place() {
    for (kind, file) in files() {
        let mut errors = 0;
        for at in 0..file.len() {
            for byte in [0, 0xff, file[at] ^ 1, file[at] ^ 0x80] {
                if byte == file[at] {
                    continue;
                }
                let mut broken = file.clone();
                broken[at] = byte;
                errors += sweep(&format!("{kind} with {byte:#x} at {at:#x}"), &broken);
            }
        }
        assert!(errors > file.len() / 8, "{kind}: only {errors} errors");
    }
}

/// A few kilobytes that stand for 64 MiB, truthfully.
#[test]
fn a_bomb_is_not_set_off() {
    let zeros = vec![0u8; 64 << 20];
    let bomb = zstd::bulk::compress(&zeros, 19).expect("room enough");
    assert!(bomb.len() < 16 << 10);
    let file = build::fatbin(&[(90, 1 << 15, &bomb, zeros.len() as u64)]);
    let container = Container::parse(&file).expect("headers are fine");
    let image = &container.images()[0];
    assert_eq!(image.compression, Compression::Zstd);
    let error = container.bytes(image).expect_err("too good to be true");
    assert!(matches!(error.problem, Problem::TooLarge { limit, .. } if limit < 64 << 20), "{error}");
    check("bomb", &error, &file);
    // Whoever wants it may have it.
    let limits = Limits { zstd_ratio: u64::MAX, ..Limits::default() };
    let container = Container::parse_with(&file, limits).expect("headers are fine");
    assert_eq!(container.bytes(&container.images()[0]).expect("decompresses").len(), zeros.len());
}

/// Large images are bounded closer: what is beyond a size has to be stored in so much more.
#[test]
fn a_large_image_in_little_is_refused() {
    let (limits, image) =
        (Limits { large_bytes: 1 << 20, large_ratio: 2, ..Limits::default() }, vec![0u8; 2 << 20]);
    let stored = lz4_flex::block::compress(&image);
    let refused = build::fatbin(&[(90, 1 << 13, &stored, image.len() as u64)]);
    let parsed = |file| Container::parse_with(file, limits).expect("headers are fine");
    let container = parsed(&refused);
    let error = container.bytes(&container.images()[0]).expect_err("out of proportion");
    let most = (1 << 20) + 2 * stored.len() as u64;
    assert!(matches!(error.problem, Problem::TooLarge { limit, .. } if limit == most), "{error}");
    // An image that is as large is fine where the file has as much of it.
    let next = |seed: &u64| Some(seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    let noise: Vec<u8> =
        std::iter::successors(Some(1), next).map(|seed| (seed >> 56) as u8).take(2 << 20).collect();
    let stored = lz4_flex::block::compress(&noise);
    assert!(stored.len() > 1 << 20);
    let taken = build::fatbin(&[(90, 1 << 13, &stored, noise.len() as u64)]);
    let container = parsed(&taken);
    assert!(container.bytes(&container.images()[0]).is_ok_and(|bytes| *bytes == noise[..]));
}

/// The same for LZ4: no real image is so empty.
#[test]
fn a_bomb_of_lz4_is_not_set_off() {
    let zeros = vec![0u8; 16 << 20];
    let bomb = lz4_flex::block::compress(&zeros);
    let file = build::fatbin(&[(90, 1 << 13, &bomb, zeros.len() as u64)]);
    let container = Container::parse(&file).expect("headers are fine");
    let error = container.bytes(&container.images()[0]).expect_err("too good to be true");
    assert!(matches!(error.problem, Problem::TooLarge { limit, .. } if limit < 16 << 20), "{error}");
    let limits = Limits { lz4_ratio: u64::MAX, ..Limits::default() };
    let container = Container::parse_with(&file, limits).expect("headers are fine");
    assert_eq!(container.bytes(&container.images()[0]).expect("decompresses").len(), zeros.len());
}

/// A segment that claims to lie behind the end would be inside once a section has grown: the layout has to refuse it, for
/// the inverse order could not bring the file back.
#[test]
fn what_lies_behind_the_end_does_not_move_in() {
    let mut file = build::cubin();
    let (at, behind) = (file.len() as u64, file.len() as u64 + 0x40);
    let mut segment = vec![0; 56];
    segment[8..16].copy_from_slice(&behind.to_le_bytes());
    file.extend(segment);
    file[0x20..0x28].copy_from_slice(&at.to_le_bytes());
    file[0x36..0x3a].copy_from_slice(&[56, 0, 1, 0]);
    let cubin = Cubin::parse(&file).expect("parses");
    // Every order of the first movable instructions, until one gives a line table of another size.
    let mut refused = 0;
    for order in [[0, 2, 1, 3, 4, 6, 5, 7], [0, 1, 2, 3, 4, 6, 5, 7], [0, 2, 1, 3, 4, 5, 6, 7]] {
        let edit = CodeEdit::permuted(&cubin.code()[0], order.to_vec());
        let Ok(new) = cubin.rewrite(&[edit]) else {
            refused += 1;
            continue;
        };
        let again = Cubin::parse(&new).expect("parses");
        // Each of these orders is its own inverse.
        let undo = CodeEdit::permuted(&again.code()[0], order.to_vec());
        assert!(again.rewrite(&[undo]).expect("follows") == file);
    }
    assert!(refused > 0);
}

/// A table of names that is called code is not code: to reorder it would rename everything.
#[test]
fn names_are_no_code() {
    let file = build::cubin();
    let cubin = Cubin::parse(&file).expect("parses");
    let (index, _) = cubin.section_named(".text.k").expect("there");
    let headers = u64::from_le_bytes(file[0x28..0x30].try_into().expect("eight bytes")) as usize;
    let mut broken = file.clone();
    broken[headers + 64 * index + 4] = 3; // a string table
    assert!(Cubin::parse(&broken).expect("parses").code().is_empty());
}
