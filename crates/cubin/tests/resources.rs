//! Sections that are nothing but resources, fatbinaries among them, with a pair of pointers for each: they move as a whole, so that every
//! pair is around what it was around, and what is not understood stays.

use sassafras_cubin::{Container, Fixed, NoRoom};

#[path = "support/build.rs"]
mod build;
#[path = "support/linked.rs"]
mod linked;
#[path = "support/shuffle.rs"]
mod shuffle;

use linked::{Form, Linked, PAIRS, linked_with, load, number, pair_relocations};
use shuffle::Random;

/// Forms that are loaded anywhere; in others addresses may be anywhere.
const FORMS: [Form; 3] = [Form::Shared, Form::Arm, Form::Packed];

fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    (0..len).map(|_| random.below(256) as u8).collect()
}

/// A fatbinary with zeros behind it.
fn resource(images: &[(u32, u64, &[u8], u64)]) -> Vec<u8> {
    [&build::fatbin(images)[..], &[0; 8]].concat()
}

/// An index, two fatbinaries of one and two images, something else, and one more.
fn resources() -> Vec<Vec<u8>> {
    let (first, second) = (noise(400, 1), noise(248, 2));
    vec![
        (0..120).collect(),
        resource(&[(90, 0, &first, 0)]),
        resource(&[(80, 0, &second, 0), (90, 0, &first, 0)]),
        vec![7; 40],
        resource(&[(80, 0, &first, 0)]),
    ]
}

fn sample(form: Form) -> Linked {
    let fatbin = build::fatbin(&[(90, 0, &noise(96, 3), 0)]);
    linked_with(form, &[&fatbin, &fatbin], &resources())
}

/// What the pairs are around, as a process finds it.
fn around(linked: &Linked, file: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let process = load(file);
    let data = number(
        file,
        linked.headers[".data"] - number(&linked.file, 40) as usize + number(file, 40) as usize + 16,
    );
    (0..resources().len() as u64)
        .map(|index| {
            let place = data + PAIRS as u64 + 16 * index;
            let (end, begin) = (process.word(place), process.word(place + 8));
            let at = |address: u64| (address - process.start) as usize;
            (begin, process.memory[at(begin)..at(end)].to_vec())
        })
        .collect()
}

#[test]
fn pairs_are_around_the_new_ones_and_everything_else_stays() {
    for form in FORMS {
        let old = sample(form);
        let was = around(&old, &old.file);
        assert_eq!(was.iter().map(|(_, bytes)| bytes.clone()).collect::<Vec<_>>(), resources());
        let container = Container::parse(&old.file).expect("recognised");
        let images = container.images();
        let inside = images.iter().filter(|image| image.location.section.as_deref() == Some(".resources"));
        assert_eq!((images.len(), inside.count()), (6, 4));
        // Some of them, and those of another section at once.
        for edited in [vec![2], vec![3, 4], vec![5], vec![0, 2, 5], vec![2, 3, 4, 5]] {
            let new: Vec<Vec<u8>> = edited.iter().map(|&index| noise(3000 + 8 * index, 7)).collect();
            let edits: Vec<_> =
                edited.iter().zip(&new).map(|(&index, new)| (&images[index], &new[..])).collect();
            let file = container.replace_all(&edits).unwrap_or_else(|error| panic!("{form:?}: {error}"));
            let again = Container::parse(&file).expect("still whole");
            for (index, (was, is)) in images.iter().zip(again.images()).enumerate() {
                let expected = match edited.iter().position(|&edited| edited == index) {
                    Some(edit) => new[edit].clone(),
                    None => container.bytes(was).expect("reads").into_owned(),
                };
                assert!(*again.bytes(is).expect("reads") == expected, "{form:?}: {}", is.location);
                assert_eq!(is.location.section, was.location.section);
            }
            let mut starts: Vec<u64> =
                again.images().iter().filter_map(|image| image.location.fatbinary).collect();
            starts.dedup();
            let mut starts = starts[2..].iter();
            let end = was.last().map(|(begin, bytes)| begin + bytes.len() as u64).expect("one");
            for ((from, old), (to, new)) in was.iter().zip(around(&old, &file)) {
                assert!(to > end && *from < end, "{form:?}: {from:#x} to {to:#x}");
                if old.starts_with(&0xba55_ed50u32.to_le_bytes()) {
                    let start = *starts.next().expect("as many") as usize;
                    let size = 16 + number(&file, start + 8) as usize;
                    assert!(new[..size] == file[start..start + size] && new[size..] == [0; 8], "{form:?}");
                } else {
                    assert_eq!(*old, new);
                }
            }
            only_pointers_differ(&old, &file);
        }
    }
}

/// A process finds the same at every address, but for headers and what leads to what moved.
fn only_pointers_differ(old: &Linked, new: &[u8]) {
    let (was, is) = (load(&old.file), load(new));
    assert_eq!(was.relocated, is.relocated);
    let differs = |&at: &usize| was.memory[at..at + 8] != is.memory[at..at + 8];
    let headers = 64 + 56 * usize::from(old.file[56]);
    let fields: Vec<usize> = (headers..was.memory.len() - 8).step_by(8).filter(differs).collect();
    let section = number(&old.file, old.headers[".resources"] + 16);
    let device = number(&old.file, old.headers[".nv_fatbin"] + 16);
    for field in fields {
        let (was, is) = (was.word(field as u64), is.word(field as u64));
        let end = section + resources().concat().len() as u64;
        assert!((section..=end).contains(&was) || was == device, "{field:#x} was {was:#x}, is {is:#x}");
        assert!(is as usize > old.file.len(), "{field:#x} was {was:#x}, is {is:#x}");
    }
}

#[test]
fn nothing_moves_without_need_and_what_moved_moves_again() {
    for form in FORMS {
        let old = sample(form);
        let container = Container::parse(&old.file).expect("recognised");
        let same = container.replace(&container.images()[2], &noise(400, 9)).expect("fits");
        assert_eq!((same.len(), load(&same).relocated), (old.file.len(), load(&old.file).relocated));
        assert!(
            around(&old, &same)
                .iter()
                .map(|(begin, _)| begin)
                .eq(around(&old, &old.file).iter().map(|(begin, _)| begin))
        );
        let once = container.replace(&container.images()[5], &noise(1000, 9)).expect("grows");
        let container = Container::parse(&once).expect("still whole");
        let twice = container.replace(&container.images()[3], &noise(2000, 9)).expect("grows again");
        let again = Container::parse(&twice).expect("still whole");
        assert_eq!(*again.bytes(&again.images()[3]).expect("reads"), noise(2000, 9));
        assert_eq!(*again.bytes(&again.images()[5]).expect("reads"), noise(1000, 9));
        let (was, is) = (around(&old, &once), around(&old, &twice));
        assert!(was.iter().zip(&is).all(|(was, is)| was.0 < is.0));
        assert!([0, 1, 3, 4].iter().all(|&index| was[index].1 == is[index].1));
    }
}

/// Why a file does not grow.
fn refusal(file: &[u8]) -> Fixed {
    let container = Container::parse(file).expect("recognised");
    let image = container.images().last().expect("an image");
    match container.replace(image, &noise(5000, 5)) {
        Err(NoRoom::TooLarge { fixed, .. }) => *fixed,
        other => panic!("{:?}", other.map(|file| file.len())),
    }
}

/// A file, how it is broken, and why it then stays as it is.
type Broken = (&'static str, Form, fn(&mut Linked), fn(Fixed) -> bool);

#[test]
fn what_is_not_understood_stays() {
    fn address(linked: &Linked, name: &str) -> u64 {
        number(&linked.file, linked.headers[name] + 16)
    }
    /// A word of the pairs, with its relocation.
    fn set(linked: &mut Linked, word: usize, value: u64) {
        let relocations = pair_relocations(2);
        linked.put(".rela.dyn", relocations + 24 * word + 16, value);
        linked.put(".data", PAIRS + 8 * word, value);
    }
    fn get(linked: &Linked, word: usize) -> u64 {
        number(&linked.file, linked.sections[".data"] + PAIRS + 8 * word)
    }
    fn code(linked: &mut Linked, bytes: &[u8]) {
        let at = linked.sections[".text"];
        linked.file[at..at + bytes.len()].copy_from_slice(bytes);
    }
    fn lea(linked: &mut Linked, to: u64) {
        let distance = to.wrapping_sub(address(linked, ".text") + 7) as u32;
        code(linked, &[&[0x48, 0x8d, 0x3d][..], &distance.to_le_bytes()].concat());
    }
    fn adrp(linked: &mut Linked, to: u64) {
        let pages = (to >> 12).wrapping_sub(address(linked, ".text") >> 12);
        let word = 0x9000_0000 | (pages as u32 & 3) << 29 | (pages as u32 >> 2 & 0x7_ffff) << 5;
        code(linked, &word.to_le_bytes());
    }
    let cases: [Broken; 19] = [
        ("a pointer alone", Form::Shared, |l| l.put(".rela.dyn", 16, get(l, 3)), is_pointer),
        ("half a pair leads elsewhere", Form::Shared, |l| set(l, 2, 0), is_pointer),
        ("half a pair leads into a fatbinary", Form::Shared, |l| set(l, 2, get(l, 2) - 16), is_structure),
        ("a pair is around two", Form::Shared, |l| set(l, 2, get(l, 4)), is_structure),
        ("a pair is around nothing", Form::Shared, |l| set(l, 2, get(l, 3)), is_pointer),
        (
            "a resource without a pair",
            Form::Shared,
            |l| {
                let elsewhere = address(l, ".text");
                set(l, 6, elsewhere);
                set(l, 7, elsewhere);
            },
            is_structure,
        ),
        (
            "a pointer with a symbol",
            Form::Shared,
            |l| l.put(".rela.dyn", 40, get(l, 3) - address(l, ".text")),
            is_pointer,
        ),
        (
            "a pointer of another kind",
            Form::Shared,
            |l| l.put(".rela.dyn", pair_relocations(2) + 8, 37),
            is_pointer,
        ),
        (
            "a word is relocated twice",
            Form::Shared,
            |l| {
                let place = number(&l.file, l.sections[".rela.dyn"] + pair_relocations(2));
                l.put(".rela.dyn", 0, place);
                l.put(".rela.dyn", 16, get(l, 0));
            },
            is_pointer,
        ),
        (
            "it is relocated inside",
            Form::Shared,
            |l| l.put(".rela.dyn", 0, address(l, ".resources") + 8),
            is_pointer,
        ),
        ("code takes the address of one", Form::Shared, |l| lea(l, get(l, 3)), is_pointer),
        (
            "code takes it from a table",
            Form::Packed,
            |l| {
                let name = l.file.windows(6).position(|text| text == b".data\0").expect("a name");
                l.file[name..name + 5].copy_from_slice(b".got\0");
                let number = (get(l, 3)).wrapping_sub(address(l, ".data"));
                code(l, &[&[0x49, 0xbb][..], &number.to_le_bytes()].concat());
            },
            is_pointer,
        ),
        ("code for another machine does", Form::Arm, |l| adrp(l, address(l, ".resources")), is_pointer),
        (
            "a symbol has a size",
            Form::Shared,
            |l| {
                let at = number(&l.file, l.headers[".symtab"] + 32) as usize - 8;
                l.put(".symtab", at, 8);
            },
            is_pointer,
        ),
        (
            "a symbol leads into it",
            Form::Shared,
            |l| {
                let at = number(&l.file, l.headers[".symtab"] + 32) as usize - 16;
                l.put(".symtab", at, get(l, 1) + 8);
            },
            is_pointer,
        ),
        ("other files see a symbol of it", Form::Shared, |l| l.put(".dynsym", 24, 8 << 48), is_pointer),
        (
            "there is more than a fatbinary",
            Form::Packed,
            |l| {
                let end = l.sections[".resources"] + resources().concat().len();
                l.file[end - 3] = 1;
            },
            is_structure,
        ),
        ("it is written to", Form::Shared, |l| l.set(".resources", 8, 3), is_structure),
        ("it is aligned to more", Form::Shared, |l| l.set(".resources", 48, 16), is_structure),
    ];
    fn is_pointer(fixed: Fixed) -> bool {
        matches!(fixed, Fixed::Pointer { .. })
    }
    fn is_structure(fixed: Fixed) -> bool {
        matches!(fixed, Fixed::Structure(_))
    }
    for (what, form, breaks, is_expected) in cases {
        let mut linked = sample(form);
        breaks(&mut linked);
        let fixed = refusal(&linked.file);
        assert!(is_expected(fixed), "{what}: {fixed}");
    }
    assert_eq!(
        refusal(&sample(Form::Fixed).file).to_string(),
        "the section holds other data, too, and cannot move"
    );
    // What leads to the section behind it is no half of a pair.
    let mut linked = sample(Form::Shared);
    let end = address(&linked, ".resources") + resources().concat().len() as u64;
    linked.put(".rela.dyn", 16, end);
    let container = Container::parse(&linked.file).expect("recognised");
    let file = container.replace(container.images().last().expect("one"), &noise(5000, 5)).expect("grows");
    assert_eq!(number(&file, linked.sections[".rela.dyn"] + 16), end);
}
