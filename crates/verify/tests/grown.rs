//! Host files that got longer against their originals: what the writer makes passes, and every lie is noticed.

use sassafras_cubin::{CodeEdit, Container, Cubin};
use sassafras_verify::against;

#[path = "../../cubin/tests/support/build.rs"]
mod build;
#[path = "../../cubin/tests/support/linked.rs"]
mod linked;

use linked::{FORMS, Form, Linked, linked, number};

/// A cubin with eight instructions that need nothing of each other, and another order of it, which is longer by its line table.
fn cubins() -> (Vec<u8>, Vec<u8>) {
    const EXIT: u128 = 0x0380_0000_0000_0000_0000_794d;
    let fadd = |i: u128| 0x7221 | i << 16 | (10 + i) << 24 | (20 + i) << 32 | 0x000f_c400 << 96;
    let mut file = build::cubin();
    let range = Cubin::parse(&file).expect("parses").code()[0].file_range.clone();
    let words = (0..7).map(fadd).chain([EXIT]);
    let bytes: Vec<u8> = words.flat_map(u128::to_le_bytes).collect();
    file[range].copy_from_slice(&bytes);
    let cubin = Cubin::parse(&file).expect("parses");
    let edit = CodeEdit::permuted(&cubin.code()[0], vec![2, 0, 3, 1, 5, 4, 6, 7]);
    let new = cubin.rewrite(&[edit]).expect("rewritten");
    assert!(new.len() > file.len());
    (file, new)
}

/// A file with three fatbinaries of one cubin each.
fn original(form: Form) -> Linked {
    let fatbin = build::fatbin(&[(90, 0, &cubins().0, 0)]);
    linked(form, &[&fatbin, &fatbin, &fatbin])
}

/// The same, and what the writer makes of it with some of the cubins in another order.
fn grown(form: Form, edited: &[usize]) -> (Linked, Vec<u8>) {
    let (linked, (_, new)) = (original(form), cubins());
    let container = Container::parse(&linked.file).expect("recognised");
    let edits: Vec<_> = edited.iter().map(|&index| (&container.images()[index], &new[..])).collect();
    let file = container.replace_all(&edits).expect("grows");
    assert!(file.len() > linked.file.len());
    (linked, file)
}

/// What is found; none when everything is well.
fn finding(old: &[u8], new: &[u8]) -> Option<String> {
    let old = Container::parse(old).expect("recognised");
    let new = match Container::parse(new) {
        Ok(new) => new,
        Err(error) => return Some(error.to_string()),
    };
    match against::files(&old, &new) {
        Ok(comparison) => comparison.differences.first().map(ToString::to_string),
        Err(error) => Some(error.to_string()),
    }
}

/// One fatbinary stands among other data, where nothing can move: it changes in its place while another section moves.
#[test]
fn fatbinaries_among_other_data_are_compared_in_their_place() {
    for form in FORMS {
        let mut old = original(form).file;
        let name = old.windows(15).position(|text| text == b"__nv_relfatbin\0").expect("a name");
        old[name..name + 7].copy_from_slice(b".ldata\0");
        let (cubin, longer) = cubins();
        let mut slower = cubin.clone();
        let code = Cubin::parse(&cubin).expect("parses").code()[0].file_range.clone();
        // One more cycle of stall behind the first instruction.
        slower[code.start + 13] += 2;
        let container = Container::parse(&old).expect("recognised");
        let images = container.images();
        assert_eq!(images[2].location.section.as_deref(), Some(".ldata"));
        let new = container.replace_all(&[(&images[0], &longer), (&images[2], &slower)]).expect("grows");
        assert!(new.len() > old.len());
        let again = Container::parse(&new).expect("recognised");
        assert!(*again.bytes(&again.images()[2]).expect("reads") == *slower);
        assert_eq!(finding(&old, &new), None, "{form:?}");
        // What does not fit there stays, with the reason.
        let error = container.replace(&images[2], &longer).expect_err("no room").to_string();
        let reason = match form {
            Form::Fixed => "the section holds other data, too, and cannot move",
            _ => "a pointer that is not one of a pair leads into the section, at 0x",
        };
        assert!(error.contains(reason), "{form:?}: {error}");
        // Every byte of it counts.
        let start = again.images()[2].location.fatbinary.expect("a fatbinary") as usize;
        let mut wrong = new.clone();
        wrong[start + 16 + 64 + code.start] ^= 1;
        assert!(finding(&old, &wrong).is_some(), "{form:?}");
    }
}

#[test]
fn what_the_writer_makes_passes() {
    for form in FORMS {
        for edited in [&[0][..], &[1], &[2], &[0, 1], &[0, 2], &[0, 1, 2]] {
            let (old, new) = grown(form, edited);
            assert_eq!(finding(&old.file, &new), None, "{form:?} {edited:?}");
            assert!(finding(&new, &old.file).is_some(), "files do not get shorter");
        }
    }
}

/// Every bit that may not differ is noticed.
#[test]
fn every_changed_byte_is_noticed() {
    for form in FORMS {
        let (old, new) = grown(form, &[0, 2]);
        let missed = (0..new.len()).filter(|at| {
            let mut new = new.clone();
            new[*at] ^= 0x80;
            finding(&old.file, &new).is_none()
        });
        // Control fields of three cubins: of eight words, the highest bits of two bytes.
        assert_eq!(missed.count(), 3 * 8 * 2, "{form:?}");
    }
}

/// A file with a field of eight bytes changed.
fn with(file: &[u8], at: usize, value: u64) -> Vec<u8> {
    let mut file = file.to_vec();
    file[at..at + 8].copy_from_slice(&value.to_le_bytes());
    file
}

/// The position of a section's header in a file.
fn header(old: &Linked, new: &[u8], name: &str) -> usize {
    let table = |file: &[u8]| number(file, 40) as usize;
    old.headers[name] - table(&old.file) + table(new)
}

/// What the wrappers and relocations say is consistent in itself, and wrong.
#[test]
fn lies_about_pointers_are_noticed() {
    for form in FORMS {
        let (old, new) = grown(form, &[0, 1, 2]);
        let field = |file: &[u8], index: usize| -> Vec<usize> {
            let rela = old.sections[".rela.dyn"] + 48 + 24 * index + 16;
            let word = old.sections[".nvFatBinSegment"] + 24 * index + 8;
            match form {
                Form::Shared => vec![rela, word],
                Form::Arm => vec![rela],
                Form::Packed | Form::Fixed => vec![word],
            }
            .into_iter()
            .filter(|at| *at < file.len())
            .collect()
        };
        let set = |index: usize, value: u64| {
            field(&new, index).into_iter().fold(new.clone(), |file, at| with(&file, at, value))
        };
        let now = |index: usize| number(&new, field(&new, index)[0]);
        let was = |index: usize| number(&old.file, field(&old.file, index)[0]);
        assert_eq!(finding(&old.file, &set(0, now(0))), None);
        let lies = [
            ("another fatbinary", set(0, now(1))),
            ("the same for all", set(2, now(0))),
            ("the old place", set(1, was(1))),
            ("somewhere inside", set(1, now(1) + 8)),
            ("somewhere else", set(0, number(&old.file, header(&old, &old.file, ".rodata") + 16))),
            ("nothing", set(2, 0)),
        ];
        for (what, lie) in lies {
            let found = finding(&old.file, &lie).unwrap_or_else(|| panic!("{form:?}: {what} is not noticed"));
            assert!(found.contains("a pointer was"), "{form:?}, {what}: {found}");
        }
    }
}

#[test]
fn lies_about_layout_are_noticed() {
    for form in FORMS {
        let (old, new) = grown(form, &[0, 1, 2]);
        let segment = |index: usize, field: usize| 64 + 56 * index + field;
        let get = |at: usize| number(&new, at);
        let add = |at: usize, more: u64| with(&new, at, get(at).wrapping_add(more));
        let section = |name: &str, field: usize| header(&old, &new, name) + field;
        let end = number(&old.file, segment(1, 8)) + number(&old.file, segment(1, 32));
        let end = end as usize;
        let lies = [
            ("the segment lies elsewhere", add(segment(1, 16), 0x1000)),
            ("it is read from elsewhere", add(segment(1, 8), 0x1000)),
            ("it has more memory than bytes", add(segment(1, 40), 8)),
            ("it has more bytes", {
                let file = add(segment(1, 32), 8);
                with(&file, segment(1, 40), get(segment(1, 40)) + 8)
            }),
            ("it has other rights", {
                let mut file = new.clone();
                file[segment(1, 4)] = 4;
                file
            }),
            ("another segment is longer", add(segment(0, 40), 8)),
            ("what is read-only after relocation is more", add(segment(3, 40), 8)),
            ("the dynamic section is elsewhere", add(segment(2, 16), 16)),
            ("zeros are no zeros", with(&new, end + 8, 1)),
            ("padding is no padding", {
                let mut file = new.clone();
                let table = old.sections[".comment"] + (new.len() - old.file.len());
                file[table - 1] = 1;
                file
            }),
            ("sections overlap", {
                let file = with(&new, section("__nv_relfatbin", 16), get(section(".nv_fatbin", 16)));
                with(&file, section("__nv_relfatbin", 24), get(section(".nv_fatbin", 24)))
            }),
            ("a section is at no place of its segment", add(section(".nv_fatbin", 16), 8)),
            ("a section is shorter", add(section(".nv_fatbin", 32), 8u64.wrapping_neg())),
            ("another section moved", add(section(".data", 16), 8)),
            ("a section that is not loaded is elsewhere", add(section(".comment", 24), 8)),
            ("zeros are of another size", add(section(".bss", 32), 8)),
            ("zeros are not where they are", add(section(".bss", 24), 8)),
            ("sections are elsewhere", add(40, 64)),
            ("a symbol stayed", {
                let at = old.sections[".symtab"] + 24 * 5 + 8;
                with(&new, at + (new.len() - old.file.len()), number(&old.file, at))
            }),
            ("the old bytes are others", with(&new, old.sections[".nv_fatbin"] + 32, 1)),
            ("a relocation patches something else", {
                let at = old.sections[if form == Form::Fixed { ".dynsym" } else { ".rela.dyn" }];
                add(at, 8)
            }),
            ("there is something behind the end", [&new[..], &[0]].concat()),
        ];
        for (what, lie) in lies {
            if what.starts_with("a relocation") && form == Form::Packed {
                continue;
            }
            assert!(finding(&old.file, &lie).is_some(), "{form:?}: not noticed that {what}");
        }
    }
}

/// A small deterministic generator.
fn generator(mut state: u64) -> impl FnMut(usize) -> usize {
    move |limit| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % limit
    }
}

/// Whatever damaged file the writer makes longer, the checker, which reads it in its own way, finds it well done.
#[test]
fn writer_and_checker_agree_about_damaged_files() {
    let mut below = generator(7);
    let (_, new) = cubins();
    let mut accepted = 0;
    for round in 0..6000 {
        let mut old = original(FORMS[round % 4]);
        let device = old.sections[".nv_fatbin"]..old.sections[".rodata"];
        for _ in 0..=below(2) {
            let at = below(old.file.len());
            if !device.contains(&at) {
                old.file[at] = [0, 1, 8, 0xff, below(256) as u8, old.file[at] ^ 8][below(6)];
            }
        }
        let Ok(container) = Container::parse(&old.file) else { continue };
        let Some(image) = container.images().first() else { continue };
        let Ok(file) = container.replace(image, &new) else { continue };
        assert_eq!(finding(&old.file, &file), None, "round {round}");
        accepted += 1;
    }
    assert!(accepted > 1000, "{accepted}");
}

/// Any bytes in place of others: compared without a panic.
#[test]
fn nothing_panics() {
    let mut below = generator(1);
    for round in 0..2000 {
        let (old, new) = grown(FORMS[round % 4], &[round % 3]);
        let (mut old, mut new) = (old.file, new);
        let broken = if round % 2 == 0 { &mut old } else { &mut new };
        for _ in 0..=below(3) {
            let most = if below(2) == 0 { 700 } else { broken.len() };
            let at = below(most);
            let value = [0, 0xff, below(256) as u8][below(3)];
            broken[at..].iter_mut().take([1, 2, 8][round % 3]).for_each(|byte| *byte = value);
        }
        if let (Ok(old), Ok(new)) = (Container::parse(&old), Container::parse(&new)) {
            let _ = against::files(&old, &new);
        }
    }
}
