//! Files built by hand: every container reads, every rewrite follows, and damaged bytes give errors, never a panic.

use std::hint::black_box;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use sassafras_cubin::{CodeEdit, Container, ContainerKind, Cubin, Error, Limits, NoRoom, Problem, Reason};

#[path = "support/build.rs"]
mod build;
#[path = "support/shuffle.rs"]
mod shuffle;

use shuffle::Random;

fn lz4(image: &[u8]) -> Vec<u8> {
    lz4_flex::block::compress(image)
}

/// Cubins for three SMs, each stored in another way.
fn mixed() -> Vec<u8> {
    let image = build::cubin();
    let size = image.len() as u64;
    let zstd = zstd::bulk::compress(&image, 3).expect("room enough");
    build::fatbin(&[(90, 0, &image, 0), (90, 1 << 13, &lz4(&image), size), (90, 1 << 15, &zstd, size)])
}

#[test]
fn every_container_gives_the_cubin() {
    let image = build::cubin();
    let fatbin = mixed();
    let host = build::host(&[&fatbin, &fatbin]);
    let archive = build::archive(&[("a.txt", b"odd"), ("k.o", &host)]);
    let files = [
        (&image, ContainerKind::Cubin, 1),
        (&fatbin, ContainerKind::Fatbinary, 3),
        (&host, ContainerKind::Host, 6),
        (&archive, ContainerKind::Archive, 6),
    ];
    for (file, kind, count) in files {
        let container = Container::parse(file).expect("recognised");
        assert_eq!(container.kind(), kind);
        assert_eq!(container.cubins().count(), count, "{kind:?}");
        for found in container.cubins() {
            assert_eq!(*container.bytes(found).expect("decompresses"), image, "{}", found.location);
            assert_eq!(found.sm.to_string(), "sm_90");
        }
    }
    let place = Container::parse(&archive).expect("an archive").images()[5].location.to_string();
    assert!(place.starts_with("member k.o, section .nv_fatbin, fatbinary at 0x"), "{place}");
}

#[test]
fn the_parts_of_a_cubin() {
    let file = build::cubin();
    let cubin = Cubin::parse(&file).expect("parses");
    let code = cubin.code_named("k").expect("the kernel");
    assert!(code.is_kernel());
    assert_eq!(code.bytes.len(), 128);
    assert_eq!(code.attributes.len(), 4);
    assert_eq!(code.relocations[0].offset, 0x50);
    assert_eq!(code.constants[0].bank, 0);
}

/// What follows what, in full: the new offsets are written down by hand.
#[test]
fn offsets_follow() {
    let file = build::cubin();
    let cubin = Cubin::parse(&file).expect("parses");
    let code = &cubin.code()[0];
    // 0x10 and 0x20 change places, 0x50 and 0x60 too.
    let order = vec![0, 2, 1, 3, 4, 6, 5, 7];
    let new = cubin.rewrite(&[CodeEdit::permuted(code, order.clone())]).expect("follows");
    let cubin = Cubin::parse(&new).expect("parses");
    let code = &cubin.code()[0];
    let lists: Vec<Vec<u32>> = code.attributes.iter().map(|attribute| attribute.words().collect()).collect();
    let expected = [vec![], vec![0x30, 0x50], vec![u32::MAX, 0x0500_000b], vec![0x10, 0x20]];
    assert_eq!(lists, expected);
    assert_eq!(code.relocations[0].offset, 0x60);
    let restored = cubin.rewrite(&[CodeEdit::permuted(code, shuffle::inverse(&order))]).expect("follows");
    assert_eq!(restored, file);
}

/// Annotations name their instruction in the second word; offsets of system calls are in no order and keep their places.
#[test]
fn annotations_and_system_calls_follow() {
    let order = vec![0, 2, 1, 3, 4, 6, 5, 7];
    let with = |kind: u8, words: [u32; 2]| {
        let mut file = build::cubin();
        let info = {
            let cubin = Cubin::parse(&file).expect("parses");
            cubin.section_named(".nv.info.k").expect("there").1.file_range.start
        };
        file[info + 5] = kind;
        file[info + 8..info + 16].copy_from_slice(words.map(u32::to_le_bytes).as_flattened());
        file
    };
    for (kind, old, new) in
        [(0x55, [1, 0x60], [1, 0x50]), (0x46, [0x60, 0x30], [0x50, 0x30]), (0x46, [0x20, 0x10], [0x10, 0x20])]
    {
        let file = with(kind, old);
        let cubin = Cubin::parse(&file).expect("parses");
        let moved = cubin.rewrite(&[CodeEdit::permuted(&cubin.code()[0], order.clone())]).expect("follows");
        let cubin = Cubin::parse(&moved).expect("parses");
        let code = &cubin.code()[0];
        assert_eq!(code.attributes[1].words().collect::<Vec<_>>(), new, "{kind:#x}");
        let restored = cubin.rewrite(&[CodeEdit::permuted(code, shuffle::inverse(&order))]).expect("follows");
        assert_eq!(restored, file, "{kind:#x}");
    }
    // An annotation of another kind may hold anything.
    let file = with(0x55, [2, 0x60]);
    let cubin = Cubin::parse(&file).expect("parses");
    let refusal = cubin.rewrite(&[CodeEdit::permuted(&cubin.code()[0], order)]).expect_err("refused");
    assert!(matches!(refusal.reason, Reason::UnknownAttribute { value: 0x60, .. }), "{refusal}");
}

#[test]
fn bad_edits_are_refused() {
    let file = build::cubin();
    let cubin = Cubin::parse(&file).expect("parses");
    let code = &cubin.code()[0];
    let reason = |edits: &[CodeEdit]| cubin.rewrite(edits).expect_err("refused").reason;
    let permuted = |order: &[u32]| CodeEdit::permuted(code, order.to_vec());
    assert_eq!(reason(&[permuted(&[0, 1])]), Reason::WrongLength { given: 2, expected: 8 });
    assert_eq!(reason(&[permuted(&[0, 1, 2, 3, 4, 5, 6, 6])]), Reason::NotAPermutation(6));
    assert_eq!(reason(&[permuted(&[0, 1, 2, 3, 4, 5, 6, 8])]), Reason::NotAPermutation(8));
    assert_eq!(reason(&[CodeEdit::unchanged(code), CodeEdit::unchanged(code)]), Reason::EditedTwice);
    assert_eq!(reason(&[CodeEdit { section: 2, ..CodeEdit::unchanged(code) }]), Reason::NotCode(2));
}

/// Each byte that the writer must not trust, broken in turn.
#[test]
fn what_cannot_follow_is_refused() {
    let file = build::cubin();
    let find = |name: &str| {
        let cubin = Cubin::parse(&file).expect("parses");
        let range = cubin.section_named(name).expect("there").1.file_range.clone();
        range.start
    };
    let (info, line, rela) = (find(".nv.info.k"), find(".debug_line"), find(".rela.text.k"));
    let reason = |at: usize, byte: u8| {
        let mut broken = file.clone();
        broken[at] = byte;
        let cubin = Cubin::parse(&broken).expect("parses");
        let order = vec![0, 2, 1, 3, 4, 6, 5, 7];
        cubin.rewrite(&[CodeEdit::permuted(&cubin.code()[0], order)]).expect_err("refused").reason
    };
    assert!(matches!(reason(info + 5, 0x7e), Reason::UnknownAttribute { value: 0x60, .. }));
    assert!(matches!(reason(info + 8, 0x31), Reason::NoInstruction { value: 0x31, .. }));
    assert!(matches!(reason(info + 8, 0x70), Reason::Unsorted { .. }));
    assert!(matches!(reason(info + 9, 0x10), Reason::NoInstruction { value: 0x1030, .. }));
    assert!(matches!(reason(info + 29, 0x27), Reason::Ragged { .. }), "its parallel list is gone");
    assert!(matches!(reason(rela, 0x80), Reason::MisplacedRelocation(0x80)));
    assert!(matches!(reason(line + 4, 9), Reason::Lines { at: 0, .. }));
    assert!(matches!(reason(line + 31 + 15, 7), Reason::Lines { .. }));
}

#[test]
fn errors_name_the_place() {
    let file = build::cubin();
    let cubin = Cubin::parse(&file).expect("parses");
    let (_, section) = cubin.section_named(".nv.info.k").expect("there");
    let mut broken = file.clone();
    broken[section.file_range.start + 4] = 9;
    let error = Cubin::parse(&broken).expect_err("format 9");
    let at = section.file_range.start + 4;
    assert_eq!(error.to_string(), format!(".nv.info.k at offset {at:#x}: attribute format is 0x9"));

    let fatbin = mixed();
    let error = Container::parse(&fatbin[..fatbin.len() - 8]).expect_err("truncated");
    assert!(error.to_string().starts_with("fatbinary at offset 0x10: fatbinary needs"), "{error}");
    let error = Container::parse(b"\x7fELF\x02\x01\x01 and nothing").expect_err("truncated");
    assert_eq!(error.place.section, "host file");
    assert_eq!(Container::parse(b"text").expect_err("text").problem, Problem::NotRecognised);
    let error = Container::parse(&build::elf(62, 0, 0, &[])).expect_err("empty");
    assert_eq!(error.problem, Problem::NoDeviceCode);
}

/// A claim of petabytes from a few bytes is refused before anything is allocated.
#[test]
fn a_claimed_size_is_not_believed() {
    let image = build::cubin();
    for flag in [1 << 13, 1 << 15] {
        for claimed in [u64::MAX, 1 << 50, (1 << 30) + 1, image.len() as u64 * 300] {
            let stored = lz4(&image);
            let file = build::fatbin(&[(90, flag, &stored, claimed)]);
            let container = Container::parse(&file).expect("headers are fine");
            let error = container.bytes(&container.images()[0]).expect_err("a lie");
            let honest = matches!(error.problem, Problem::TooLarge { .. } | Problem::Compression { .. });
            assert!(honest, "{error}");
        }
    }
    let file = build::fatbin(&[(90, 1 << 13, &lz4(&image), image.len() as u64)]);
    let limits = Limits { image_bytes: image.len() as u64 - 1, ..Limits::default() };
    let container = Container::parse_with(&file, limits).expect("headers are fine");
    let error = container.bytes(&container.images()[0]).expect_err("too large");
    assert!(matches!(error.problem, Problem::TooLarge { .. }), "{error}");
}

#[test]
fn a_replacement_leaves_the_others_alone() {
    let image = build::cubin();
    let mut changed = image.clone();
    let at = image.windows(4).position(|bytes| bytes == [0x03, 0x10, 0, 0]).expect("code");
    changed[at] = 0x7d;
    let fatbin = mixed();
    for file in [
        fatbin.clone(),
        build::host(&[&fatbin, &fatbin]),
        build::archive(&[("k.o", &build::host(&[&fatbin]))]),
    ] {
        let container = Container::parse(&file).expect("recognised");
        for (index, target) in container.images().iter().enumerate() {
            assert_eq!(container.replace(target, &image).expect("the same"), file);
            let new = container.replace(target, &changed).unwrap_or_else(|error| panic!("{error}"));
            assert!(new.len() == file.len() || container.kind() == ContainerKind::Fatbinary);
            let again = Container::parse(&new).expect("still whole");
            for (other, found) in again.images().iter().enumerate() {
                let expected = if other == index { &changed } else { &image };
                assert!(
                    *again.bytes(found).expect("reads") == **expected,
                    "{} after {}",
                    found.location,
                    target.location
                );
            }
        }
    }
    let container = Container::parse(&fatbin).expect("recognised");
    let noise: Vec<u8> = (0..9000u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
    let grown = container.replace(&container.images()[1], &noise).expect("a fatbinary may grow");
    let again = Container::parse(&grown).expect("still whole");
    assert_eq!(*again.bytes(&again.images()[1]).expect("reads"), noise);
    assert_eq!(*again.bytes(&again.images()[2]).expect("reads"), image);
    let host = build::host(&[&fatbin]);
    let container = Container::parse(&host).expect("recognised");
    let error = container.replace(&container.images()[1], &noise).expect_err("no room");
    assert!(matches!(error, NoRoom::TooLarge { .. }), "{error}");
}

/// An image of `repeats` different lines that compress well.
fn text(repeats: usize) -> Vec<u8> {
    (0..repeats).flat_map(|i| format!("line {} of {}\n", i * 7919 % 1000, i / 16).into_bytes()).collect()
}

/// An entry that needs more room than it has takes what the others can spare.
#[test]
fn entries_of_a_fatbinary_share_their_room() {
    // Stored carelessly: our compressors do better.
    let careless = |image: &[u8], level| zstd::bulk::compress(image, level).expect("room enough");
    let (first, second, grown) = (text(600), text(4000), text(700));
    for flag in [1u64 << 13, 1 << 15] {
        let pack = |image: &[u8]| if flag == 1 << 13 { lz4(image) } else { careless(image, -50) };
        let tight = if flag == 1 << 13 { lz4(&first) } else { careless(&first, 19) };
        let entries = [
            (80, 0, &second[..800], 0),
            (90, flag, &tight[..], first.len() as u64),
            (100, flag, &pack(&second)[..], second.len() as u64),
        ];
        let file = build::host(&[&build::fatbin(&entries), &build::fatbin(&entries[1..])]);
        let container = Container::parse(&file).expect("recognised");
        let images = container.images();
        let new = container.replace_all(&[(&images[1], &grown), (&images[3], &grown)]).expect("room enough");
        assert_eq!(new.len(), file.len());
        let again = Container::parse(&new).expect("still whole");
        let expected = [&second[..800], &grown, &second, &grown, &second];
        for (image, expected) in again.images().iter().zip(expected) {
            assert!(*again.bytes(image).expect("reads") == *expected, "{}", image.location);
        }
        // What was spared is still there for the next, and the old image goes back.
        let back = again.replace(&again.images()[1], &first).expect("smaller");
        let back = Container::parse(&back).expect("still whole");
        assert!(*back.bytes(&back.images()[1]).expect("reads") == *first);
        let noise: Vec<u8> =
            (0..200_000u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8 ^ i as u8).collect();
        let error = container.replace(&images[1], &noise).expect_err("too much");
        assert!(matches!(error, NoRoom::TooLarge { needed, room, .. } if needed > room), "{error}");
    }
}

/// Linkers put fatbinaries of large files among other data (`.ldata`), and authors embed them in arrays.
#[test]
fn fatbinaries_among_other_data_are_found() {
    let (first, second) = (text(60), text(90));
    let fatbins =
        [&first, &second].map(|image| build::fatbin(&[(90, 1 << 13, &lz4(image), image.len() as u64)]));
    // What only starts as a fatbinary, and one that is not at a multiple of 8.
    let noise = [&0xba55_ed50_u32.to_le_bytes()[..], &[1, 0, 16, 0], &[0xff; 24]].concat();
    let data = [&noise[..], &fatbins[0], &noise, &fatbins[1], &[7; 4], &fatbins[0], &[7; 4]].concat();
    let part = |name| build::Part { name, kind: 1, bytes: data.clone(), ..build::Part::default() };
    let file = build::elf(62, 0, 0, &[part(".ldata"), part(".text"), part(".comment")]);
    let flagged = |flags: [u64; 3]| {
        let mut file = file.clone();
        let headers = u64::from_le_bytes(file[40..48].try_into().expect("8 bytes")) as usize;
        for (index, flags) in flags.into_iter().enumerate() {
            let at = headers + 64 * (index + 1) + 8;
            file[at..at + 8].copy_from_slice(&flags.to_le_bytes());
        }
        file
    };
    // Loaded and writable; loaded and run; not loaded.
    let host = flagged([3, 6, 0]);
    let container = Container::parse(&host).expect("recognised");
    assert_eq!(container.images().len(), 2);
    for (image, expected) in container.images().iter().zip([&first, &second]) {
        assert!(
            image.location.to_string().starts_with("section .ldata, fatbinary at 0x"),
            "{}",
            image.location
        );
        assert!(*container.bytes(image).expect("reads") == **expected);
    }
    // One that fits goes in, and nothing around it changes; one that does not stays, with the reason.
    let mut other = second.clone();
    other[3] ^= 1;
    let new = container.replace(&container.images()[1], &other).expect("room enough");
    let changed: Vec<usize> = (0..host.len()).filter(|&at| host[at] != new[at]).collect();
    let entry = container.images()[1].location.entry.expect("an entry") as usize;
    assert!(changed.iter().all(|at| (entry..entry + fatbins[1].len()).contains(at)), "{changed:?}");
    let noise: Vec<u8> = (0..9000u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
    let error = container.replace(&container.images()[0], &noise).expect_err("too large").to_string();
    assert!(error.contains("cannot grow"), "{error}");
    assert!(Container::parse(&flagged([0, 6, 0])).is_err(), "nothing that is loaded");
}

/// A frame that states another size than its entry is one that no other decoder takes.
#[test]
fn a_frame_that_lies_about_its_size_is_refused() {
    let image = text(600);
    let frame = zstd::bulk::compress(&image, 3).expect("room enough");
    let good = build::fatbin(&[(90, 1 << 15, &frame, image.len() as u64)]);
    let container = Container::parse(&good).expect("recognised");
    assert!(*container.bytes(&container.images()[0]).expect("reads") == *image);
    // Magic and descriptor, then the size.
    let mut lying = frame.clone();
    lying[5] ^= 1;
    let lying = build::fatbin(&[(90, 1 << 15, &lying, image.len() as u64)]);
    let container = Container::parse(&lying).expect("recognised");
    let error = container.bytes(&container.images()[0]).expect_err("refused").to_string();
    assert!(error.contains("zstd data: the frame says "), "{error}");
}

/// Reads everything there is to read.
fn read(file: &[u8]) -> Result<(), Error> {
    let container = Container::parse_with(file, Limits { image_bytes: 1 << 20, ..Limits::default() })?;
    for image in container.images() {
        let Ok(bytes) = container.bytes(image) else { continue };
        let Ok(cubin) = Cubin::parse(&bytes) else { continue };
        // What a damaged file comes to means nothing; that it comes to something is the point.
        if let Ok((new, _, _)) = shuffle::shuffle(&cubin, &mut Random(1)) {
            let _ = black_box(Cubin::parse(&new));
        }
        let _ = container.replace(image, &bytes);
    }
    Ok(())
}

/// Damaged files for about a second.
#[test]
fn damaged_files_never_panic() {
    let fatbin = mixed();
    let host = build::host(&[&fatbin]);
    let seeds = [build::cubin(), build::archive(&[("k.o", &host)]), fatbin, host];
    let deadline = Instant::now() + Duration::from_secs(1);
    let mut random = Random(42);
    let mut rounds = 0u32;
    while Instant::now() < deadline {
        let mut file = seeds[random.below(seeds.len())].clone();
        for _ in 0..=random.below(4) {
            let at = random.below(file.len());
            match random.below(6) {
                0 => file[at] = random.below(256) as u8,
                1 => file[at] ^= 1 << random.below(8),
                2 => file[at..].iter_mut().take(8).for_each(|byte| *byte = 0xff),
                3 => file[at..].iter_mut().take(4).for_each(|byte| *byte = 0),
                4 => file[at] = [0, 1, 4, 16, 0x7f, 0x80, 0xff][random.below(7)],
                _ => file.truncate(at.max(1)),
            }
        }
        let _ = black_box(read(&file));
        rounds += 1;
    }
    assert!(rounds > 100, "{rounds}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every truncation is an error or a smaller whole, and says where.
    #[test]
    fn truncations(cut in 0usize..2000) {
        let file = build::cubin();
        let cut = cut.min(file.len() - 1);
        prop_assert!(Cubin::parse(&file[..cut]).is_err());
    }

    /// Any order of the code comes back through the writer.
    #[test]
    fn any_order_comes_back(order in Just((0..8u32).collect::<Vec<_>>()).prop_shuffle()) {
        let file = build::cubin();
        let cubin = Cubin::parse(&file).expect("parses");
        let new = cubin.rewrite(&[CodeEdit::permuted(&cubin.code()[0], order.clone())]).expect("follows");
        let again = Cubin::parse(&new).expect("parses");
        let undo = CodeEdit::permuted(&again.code()[0], shuffle::inverse(&order));
        prop_assert_eq!(again.rewrite(&[undo]).expect("follows"), file);
    }
}
