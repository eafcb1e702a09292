//! A file that is read piece by piece holds what it holds in memory, and is damaged where it is damaged there.

use std::io::{Seek as _, Write as _};

use sassafras_cubin::{Error, Image, Library, Problem, Source, Stored};

#[path = "support/build.rs"]
mod build;
#[path = "support/shuffle.rs"]
mod shuffle;

use shuffle::Random;

/// Every image with its bytes.
type Read = Vec<(Image, Result<Vec<u8>, Error>)>;

fn read(source: Source<'_>) -> Result<Read, Error> {
    let library = Library::parse(source)?;
    let images = library.images().iter();
    Ok(images.map(|image| (image.clone(), library.bytes(image).map(|bytes| bytes.into_owned()))).collect())
}

fn stored(bytes: &[u8]) -> Stored {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(bytes).expect("written");
    file.rewind().expect("rewound");
    Stored::new(file).expect("has a size")
}

/// What both say.
fn same(what: &str, file: &[u8]) -> Result<Read, Error> {
    let from_file = stored(file);
    let (is, expected) = (read(Source::File(&from_file)), read(Source::Memory(file)));
    assert_eq!(is, expected, "{what}");
    assert_eq!(from_file.read_all().expect("reads"), file, "{what}");
    is
}

/// One file of every kind, with every compression in it.
fn files() -> [(&'static str, Vec<u8>); 4] {
    let image = build::cubin();
    let size = image.len() as u64;
    let lz4 = lz4_flex::block::compress(&image);
    let zstd = zstd::bulk::compress(&image, 3).expect("room enough");
    let fatbin = build::fatbin(&[(90, 0, &image, 0), (90, 1 << 13, &lz4, size), (90, 1 << 15, &zstd, size)]);
    let host = build::host(&[&fatbin, &fatbin]);
    let archive = build::archive(&[("a.txt", b"odd"), ("k.o", &host), ("l.o", &host)]);
    [("cubin", image), ("fatbinary", fatbin), ("host", host), ("archive", archive)]
}

#[test]
fn every_kind_of_file_and_every_truncation() {
    for (kind, file) in files() {
        assert!(!same(kind, &file).expect("recognised").is_empty());
        for part in 0..64 {
            let cut = file.len() * part / 64;
            let _ = same(&format!("{kind} cut at {cut:#x}"), &file[..cut]);
        }
    }
}

#[test]
fn damaged_bytes() {
    let mut random = Random(7);
    for (kind, file) in files() {
        for _ in 0..1000 {
            let mut broken = file.clone();
            let at = random.below(file.len());
            broken[at] = [0, 0xff, file[at] ^ 1, file[at] ^ 0x80][random.below(4)];
            let _ = same(&format!("{kind} with {:#x} at {at:#x}", broken[at]), &broken);
        }
    }
}

/// Fatbinaries behind and across the windows that are looked through, in sections with names as long as those of templates.
#[test]
fn far_away_and_long_names() {
    let image = build::cubin();
    let fatbin = build::fatbin(&[(90, 0, &image, 0)]);
    let name: &'static str = format!(".data._Z{}", "long".repeat(5000)).leak();
    for gap in [0, 4096 - 8, 4096, (1 << 20) + 4096 - 8, (1 << 20) + 4096, 3 << 20] {
        let zeros = vec![0; gap];
        let behind = [&zeros[..], &fatbin, &zeros, &fatbin, &[0; 12]].concat();
        let file = build::elf(
            62,
            0,
            0,
            &[build::Part { name: ".nv_fatbin", kind: 1, bytes: behind, ..Default::default() }],
        );
        assert_eq!(same("zeros between", &file).expect("recognised").len(), 2, "{gap}");
        let noise = vec![7; gap];
        let among = [&noise[..], &fatbin, &noise, &fatbin, &[7; 12]].concat();
        let mut file =
            build::elf(62, 0, 0, &[build::Part { name, kind: 1, bytes: among, ..Default::default() }]);
        // Loaded and writable.
        let headers = u64::from_le_bytes(file[40..48].try_into().expect("8 bytes")) as usize;
        file[headers + 64 + 8] = 3;
        assert_eq!(same("other data between", &file).expect("recognised").len(), 2, "{gap}");
    }
}

#[test]
fn a_file_that_shrinks_is_an_error() {
    let file = build::fatbin(&[(90, 0, &[7; 10_000], 0)]);
    let path = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(path.path(), &file).expect("written");
    let from_file = Stored::new(path.reopen().expect("opens")).expect("has a size");
    let library = Library::parse(Source::File(&from_file)).expect("recognised");
    path.as_file().set_len(100).expect("cut");
    let last = library.images().last().expect("an image");
    let error = library.bytes(last).expect_err("cut");
    assert!(matches!(error.problem, Problem::Unreadable(_)), "{error}");
    assert!(from_file.read_all().is_err());
}
