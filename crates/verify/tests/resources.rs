//! Sections of resources that moved, against their originals: what the writer makes passes, and every lie about a pair of pointers is noticed.

use sassafras_cubin::{CodeEdit, Container, Cubin};
use sassafras_verify::against;
use std::collections::BTreeSet;

#[path = "../../cubin/tests/support/build.rs"]
mod build;
#[path = "../../cubin/tests/support/linked.rs"]
mod linked;

use linked::{Form, Linked, PAIRS, linked_with, number, pair_relocations};

const FORMS: [Form; 3] = [Form::Shared, Form::Arm, Form::Packed];

/// A cubin with eight instructions that need nothing of each other, and another order of it, which is longer by its line table.
fn cubins() -> (Vec<u8>, Vec<u8>) {
    const EXIT: u128 = 0x0380_0000_0000_0000_0000_794d;
    let fadd = |i: u128| 0x7221 | i << 16 | (10 + i) << 24 | (20 + i) << 32 | 0x000f_c400 << 96;
    let mut file = build::cubin();
    let range = Cubin::parse(&file).expect("parses").code()[0].file_range.clone();
    let bytes: Vec<u8> = (0..7).map(fadd).chain([EXIT]).flat_map(u128::to_le_bytes).collect();
    file[range].copy_from_slice(&bytes);
    let cubin = Cubin::parse(&file).expect("parses");
    let edit = CodeEdit::permuted(&cubin.code()[0], vec![2, 0, 3, 1, 5, 4, 6, 7]);
    let new = cubin.rewrite(&[edit]).expect("rewritten");
    assert!(new.len() > file.len());
    (file, new)
}

/// An index, two fatbinaries that are the same, something else, and one more fatbinary.
fn resources() -> Vec<Vec<u8>> {
    let fatbin = [&build::fatbin(&[(90, 0, &cubins().0, 0)])[..], &[0; 8]].concat();
    vec![(0..96).collect(), fatbin.clone(), fatbin.clone(), vec![7; 40], fatbin]
}

fn original(form: Form) -> Linked {
    let fatbin = build::fatbin(&[(90, 0, &cubins().0, 0)]);
    linked_with(form, &[&fatbin, &fatbin], &resources())
}

/// The same, and what the writer makes of it with some of the cubins in another order. The first two are not among the resources.
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

#[test]
fn what_the_writer_makes_passes() {
    for form in FORMS {
        for edited in [&[2][..], &[3], &[4], &[2, 4], &[0, 3], &[0, 1, 2, 3, 4]] {
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
        let (old, new) = grown(form, &[2, 4]);
        let missed = (0..new.len()).filter(|at| {
            let mut new = new.clone();
            new[*at] ^= 0x80;
            finding(&old.file, &new).is_none()
        });
        // Control fields of five cubins: of eight words, the highest bits of two bytes.
        assert_eq!(missed.count(), 5 * 8 * 2, "{form:?}");
    }
}

fn with(mut file: Vec<u8>, at: usize, value: u64) -> Vec<u8> {
    file[at..at + 8].copy_from_slice(&value.to_le_bytes());
    file
}

/// Where a word of the pairs is said in a file: by its relocation, in its place, or both.
fn fields(old: &Linked, form: Form, word: usize) -> Vec<usize> {
    let rela = old.sections[".rela.dyn"] + pair_relocations(2) + 24 * word + 16;
    let place = old.sections[".data"] + PAIRS + 8 * word;
    match form {
        Form::Shared => vec![rela, place],
        Form::Arm => vec![rela],
        Form::Packed | Form::Fixed => vec![place],
    }
}

/// Consistent in themselves, and wrong.
#[test]
fn lies_about_pairs_are_noticed() {
    for form in FORMS {
        let (old, new) = grown(form, &[2, 3, 4]);
        let get = |file: &[u8], word: usize| number(file, fields(&old, form, word)[0]);
        let set = |file: Vec<u8>, word: usize, value: u64| {
            fields(&old, form, word).into_iter().fold(file, |file, at| with(file, at, value))
        };
        let (was, is) = (|word: usize| get(&old.file, word), |word: usize| get(&new, word));
        assert_eq!(finding(&old.file, &set(new.clone(), 2, is(2))), None);
        // Words are (end, begin), by resource: 2 and 3 are the first fatbinary's, 4 and 5 the next one's.
        let pair = |to: usize, end: u64, begin: u64| set(set(new.clone(), 2 * to, end), 2 * to + 1, begin);
        let lies = [
            ("only the end moved", set(new.clone(), 3, was(3))),
            ("only the begin moved", set(new.clone(), 2, was(2))),
            ("the end is too early", set(new.clone(), 2, is(2) - 8)),
            ("the end is too late", set(new.clone(), 2, is(2) + 8)),
            ("the end is that of the next", set(new.clone(), 2, is(4))),
            ("the size is the old one", set(new.clone(), 2, is(3) + (was(2) - was(3)))),
            ("the begin is the end", set(new.clone(), 3, is(2))),
            ("it is the other way round", pair(1, is(3), is(2))),
            ("another fatbinary", pair(1, is(4), is(5))),
            ("another resource", pair(3, is(0), is(1))),
            ("both stayed", pair(1, was(2), was(3))),
            ("the pair before stayed", pair(0, was(0), was(1))),
            ("the pair before is up to the old place", set(new.clone(), 0, was(0))),
            ("nothing", pair(1, 0, 0)),
            ("the last one's end stayed", set(new.clone(), 8, was(8))),
            ("another pointer follows", {
                let at = old.sections[".rela.dyn"] + 16;
                let at = if form == Form::Packed { old.sections[".data"] } else { at };
                with(new.clone(), at, is(3))
            }),
        ];
        for (what, lie) in lies {
            let found = finding(&old.file, &lie).unwrap_or_else(|| panic!("{form:?}: {what} is not noticed"));
            assert!(found.contains("a pointer was"), "{form:?}, {what}: {found}");
        }
    }
}

/// Both files are the same but for the move, and the original is not as it has to be.
#[test]
fn originals_that_forbid_it_are_noticed() {
    type Breaks = fn(&Linked, Form, Vec<u8>) -> Vec<u8>;
    fn pointer(old: &Linked, form: Form, file: Vec<u8>, word: usize, value: u64) -> Vec<u8> {
        fields(old, form, word).into_iter().fold(file, |file, at| with(file, at, value))
    }
    let text = |old: &Linked| number(&old.file, old.headers[".text"] + 16);
    let begin = |old: &Linked| number(&old.file, old.headers[".resources"] + 16);
    let cases: [(&str, Form, Breaks, &str); 7] = [
        (
            "half a pair leads elsewhere",
            Form::Shared,
            |old, form, file| pointer(old, form, file, 1, number(&old.file, old.headers[".text"] + 16)),
            "leads there alone",
        ),
        (
            "no pair is around one",
            Form::Shared,
            |old, form, file| {
                let to = number(&old.file, old.headers[".text"] + 16);
                (6..8).fold(file, |file, word| pointer(old, form, file, word, to))
            },
            "no two words are around",
        ),
        (
            "code takes its address",
            Form::Shared,
            |old, _, mut file| {
                let to = number(&old.file, old.headers[".resources"] + 16);
                let distance = to.wrapping_sub(number(&old.file, old.headers[".text"] + 16) + 8) as u32;
                let at = old.sections[".text"];
                file[at + 1..at + 4].copy_from_slice(&[0x4c, 0x8d, 0x05]);
                file[at + 4..at + 8].copy_from_slice(&distance.to_le_bytes());
                file
            },
            "may take the address of a resource",
        ),
        (
            "code for another machine does",
            Form::Arm,
            |old, _, mut file| {
                let [to, from] =
                    [".resources", ".text"].map(|name| number(&old.file, old.headers[name] + 16));
                let word = 0x1000_0000 | ((to - from) as u32 & 3) << 29 | ((to - from) as u32 >> 2) << 5;
                let at = old.sections[".text"];
                file[at..at + 4].copy_from_slice(&word.to_le_bytes());
                file
            },
            "may take the address of a resource",
        ),
        (
            "it is written to",
            Form::Packed,
            |old, _, file| {
                let at = old.headers[".resources"] - number(&old.file, 40) as usize;
                let table = number(&file, 40) as usize;
                with(file, table + at + 8, 3)
            },
            "has another address",
        ),
        (
            "it is relocated inside",
            Form::Shared,
            |old, _, file| {
                let place = number(&old.file, old.headers[".resources"] + 16) + 16;
                with(file, old.sections[".rela.dyn"], place)
            },
            "it is relocated inside",
        ),
        (
            "a symbol has a size",
            Form::Shared,
            |old, _, file| {
                let more = file.len() - old.file.len();
                let size = number(&old.file, old.headers[".symtab"] + 32) as usize;
                with(file, old.sections[".symtab"] + more + size - 8, 8)
            },
            "a symbol of a section that moved",
        ),
    ];
    for (what, form, breaks, expected) in cases {
        let (old, new) = grown(form, &[2, 3, 4]);
        assert!(text(&old) < begin(&old));
        let (was, is) = (breaks(&old, form, old.file.clone()), breaks(&old, form, new));
        let found = finding(&was, &is).unwrap_or_else(|| panic!("{what} is not noticed"));
        assert!(found.contains(expected), "{what}: {found}");
    }
}

/// A small deterministic generator.
fn generator(mut state: u64) -> impl FnMut(usize) -> usize {
    move |limit| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % limit
    }
}

/// Whatever damaged file the writer makes longer, the checker, which reads it in its own way, finds it well done; and nothing panics.
#[test]
fn writer_and_checker_agree_about_damaged_files() {
    let mut below = generator(7);
    let (_, new) = cubins();
    let (mut accepted, mut moved) = (0, 0);
    // Resources of another kind, and the zeros behind fatbinaries.
    let mut between = BTreeSet::new();
    let mut start = 0;
    for resource in resources() {
        let end = start + resource.len();
        between.extend(if resource.len() > 200 { end - 8..end } else { start..end });
        start = end;
    }
    for round in 0..6000 {
        let mut old = original(FORMS[round % 3]);
        let inside = old.sections[".resources"]..old.sections[".dynamic"];
        let device = old.sections[".nv_fatbin"]..old.sections[".rodata"];
        // In the pointers, in tables and headers, and anywhere.
        let places = [
            old.sections[".rela.dyn"]..old.sections[".text"],
            old.sections[".data"]..old.file.len(),
            0..old.file.len(),
        ];
        let place = places[below(3)].clone();
        for _ in 0..=below(2) {
            let at = place.start + below(place.len());
            if !device.contains(&at) && (!inside.contains(&at) || between.contains(&(at - inside.start))) {
                old.file[at] = [0, 1, 8, 0xff, below(256) as u8, old.file[at] ^ 8][below(6)];
            }
        }
        let Ok(container) = Container::parse(&old.file) else { continue };
        let Some(image) = container.images().last() else { continue };
        let is_resource = image.location.section.as_deref() == Some(".resources");
        let Ok(file) = container.replace(image, &new) else { continue };
        assert_eq!(finding(&old.file, &file), None, "round {round}");
        accepted += 1;
        moved += usize::from(is_resource);
        let mut wrong = file;
        let at = below(wrong.len());
        wrong[at..].iter_mut().take([1, 8][below(2)]).for_each(|byte| *byte = [0, 0xff, 8][round % 3]);
        finding(&old.file, &wrong);
    }
    assert!(accepted > 1000 && moved > 1000, "{accepted}, {moved}");
}
