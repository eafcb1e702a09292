//! Linked host files that grow: a process sees what it saw, and every wrapper leads to its fatbinary, the new one.

use sassafras_cubin::{Container, Fixed, Limits, NoRoom};
use std::hint::black_box;
use std::time::{Duration, Instant};

#[path = "support/build.rs"]
mod build;
#[path = "support/linked.rs"]
mod linked;
#[path = "support/shuffle.rs"]
mod shuffle;

use linked::{FORMS, Form, Linked, linked, load, number};
use shuffle::Random;

/// Bytes that do not compress.
fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    (0..len).map(|_| random.below(256) as u8).collect()
}

/// Three fatbinaries of one or two images each.
fn fatbins() -> [Vec<u8>; 3] {
    let (first, second) = (noise(400, 1), noise(250, 2));
    let zstd = zstd::bulk::compress(&first, 3).expect("room enough");
    [
        build::fatbin(&[(80, 1 << 15, &zstd, 400), (90, 0, &first, 0)]),
        build::fatbin(&[(90, 0, &second, 0)]),
        build::fatbin(&[(80, 0, &second, 0), (90, 1 << 15, &zstd, 400)]),
    ]
}

fn sample(form: Form) -> Linked {
    let fatbins = fatbins();
    linked(form, &[&fatbins[0], &fatbins[1], &fatbins[2]])
}

/// The fatbinaries that the wrappers lead to, as a process finds them.
fn led_to(file: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let process = load(file);
    let magic = |at: &u64| process.word(*at) as u32 == 0x4662_43b1;
    let wrappers = (process.start..process.start + process.memory.len() as u64 - 24).step_by(8).filter(magic);
    wrappers
        .map(|wrapper| {
            let at = process.word(wrapper + 8);
            assert_eq!(process.word(at) as u32, 0xba55_ed50, "no fatbinary at {at:#x}");
            let from = (at - process.start) as usize;
            (at, process.memory[from..from + 16 + process.word(at + 8) as usize].to_vec())
        })
        .collect()
}

#[test]
fn wrappers_lead_to_the_new_fatbinaries_and_everything_else_stays() {
    for form in FORMS {
        let old = sample(form).file;
        assert_eq!(led_to(&old).iter().map(|(_, bytes)| bytes.clone()).collect::<Vec<_>>(), fatbins());
        let container = Container::parse(&old).expect("recognised");
        let images = container.images();
        assert_eq!(images.len(), 5);
        for edited in [vec![0], vec![2], vec![3, 4], vec![1, 2, 4], vec![0, 1, 2, 3, 4]] {
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
            same_but_for_wrappers(&old, &file, &again);
        }
    }
}

/// A process finds the same at every address, but for the pointers of wrappers, and those lead to the fatbinaries of the file.
fn same_but_for_wrappers(old: &[u8], new: &[u8], container: &Container<'_>) {
    let (was, is) = (load(old), load(new));
    assert_eq!((was.start, &was.relocated), (is.start, &is.relocated));
    let led = led_to(new);
    assert_eq!(led.len(), 3);
    let mut found: Vec<&[u8]> = Vec::new();
    let mut at: Vec<u64> = container.images().iter().filter_map(|image| image.location.fatbinary).collect();
    at.dedup();
    for start in at {
        let size = 16 + number(new, start as usize + 8) as usize;
        found.push(&new[start as usize..start as usize + size]);
    }
    assert!(led.iter().map(|(_, bytes)| &bytes[..]).eq(found));
    assert!(led.iter().all(|(at, _)| at.is_multiple_of(8)));
    // Headers, addends, pointers.
    let headers = 64 + 56 * usize::from(old[56]);
    let changed: Vec<usize> =
        (headers..was.memory.len()).filter(|&at| was.memory[at] != is.memory[at]).collect();
    let mut fields: Vec<usize> = changed.iter().map(|at| at & !7).collect();
    fields.dedup();
    assert!(fields.len() <= 6, "{fields:x?}");
    for field in fields {
        let word = was.start + field as u64;
        let moved = led_to(old)
            .iter()
            .zip(&led)
            .any(|((from, _), (to, _))| was.word(word) == *from && is.word(word) == *to);
        assert!(moved, "{word:#x} was {:#x}, is {:#x}", was.word(word), is.word(word));
    }
}

#[test]
fn nothing_moves_without_need() {
    for form in FORMS {
        let old = sample(form).file;
        let container = Container::parse(&old).expect("recognised");
        // As large as it was, and smaller.
        let new = container.replace(&container.images()[1], &noise(400, 9)).expect("fits");
        assert_eq!(new.len(), old.len());
        let new = container.replace(&container.images()[0], &[7; 400]).expect("fits");
        assert_eq!(new.len(), old.len());
        assert_eq!(load(&new).relocated, load(&old).relocated);
        // Only the section that has to move does.
        let new = container.replace(&container.images()[3], &noise(1000, 9)).expect("grows");
        let (was, is) = (led_to(&old), led_to(&new));
        assert!(was[0].0 == is[0].0 && was[1].0 == is[1].0 && was[2].0 != is[2].0);
    }
}

/// A file that has grown can grow again, and the original goes back into it.
#[test]
fn grown_files_grow_again() {
    for form in FORMS {
        let old = sample(form).file;
        let container = Container::parse(&old).expect("recognised");
        let once = container.replace(&container.images()[2], &noise(900, 3)).expect("grows");
        let container = Container::parse(&once).expect("still whole");
        let twice = container.replace(&container.images()[2], &noise(2000, 4)).expect("grows again");
        let again = Container::parse(&twice).expect("still whole");
        assert_eq!(*again.bytes(&again.images()[2]).expect("reads"), noise(2000, 4));
        same_but_for_wrappers(&once, &twice, &again);
        let back = container.replace(&container.images()[2], &noise(250, 2)).expect("smaller");
        assert_eq!(back.len(), once.len());
    }
}

/// nvcc links a fatbinary into every file that nothing leads to. It moves along, but not with other contents.
#[test]
fn what_nothing_leads_to_is_not_edited() {
    let mut linked = sample(Form::Shared);
    linked.put(".rela.dyn", 48 + 16, 0);
    let container = Container::parse(&linked.file).expect("recognised");
    let images = container.images();
    let same = container.bytes(&images[0]).expect("reads").into_owned();
    let new = noise(5000, 5);
    let file = container.replace_all(&[(&images[0], &same), (&images[2], &new)]).expect("grows");
    let again = Container::parse(&file).expect("still whole");
    assert_eq!(*again.bytes(&again.images()[0]).expect("reads"), same);
    assert_eq!(*again.bytes(&again.images()[2]).expect("reads"), new);
    let (_, refused) = container.replace_fitting(&[(&images[1], &noise(400, 6)), (&images[2], &new)]);
    let unreached = |why: &NoRoom| matches!(why, NoRoom::TooLarge { fixed, .. } if matches!(**fixed, Fixed::Unreached(_)));
    assert!(matches!(&refused[..], [(1, why)] if unreached(why)), "{refused:?}");
}

/// Why a file does not grow.
fn refusal(file: &[u8]) -> Fixed {
    let container = Container::parse(file).expect("recognised");
    let image = container.images().last().expect("an image");
    match container.replace(image, &noise(5000, 5)) {
        Err(NoRoom::TooLarge { fixed, .. }) => *fixed,
        other => panic!("{other:?}"),
    }
}

/// A file, how it is broken, and why it then stays as it is.
type Broken = (Form, fn(&mut Linked), fn(Fixed) -> bool);

#[test]
fn what_is_not_understood_is_refused() {
    fn text(linked: &Linked, name: &str) -> u64 {
        number(&linked.file, linked.headers[name] + 16)
    }
    let cases: [Broken; 17] = [
        // A relocation that is no wrapper's, one into the middle, one of another kind, one with a symbol.
        (
            Form::Shared,
            |l| l.put(".rela.dyn", 16, text(l, "__nv_relfatbin")),
            |f| matches!(f, Fixed::Pointer { .. }),
        ),
        (
            Form::Shared,
            |l| l.put(".rela.dyn", 112, text(l, "__nv_relfatbin") + 8),
            |f| matches!(f, Fixed::Pointer { .. }),
        ),
        (Form::Shared, |l| l.put(".rela.dyn", 104, 37), |f| matches!(f, Fixed::Pointer { .. })),
        (
            Form::Shared,
            |l| l.put(".rela.dyn", 40, text(l, "__nv_relfatbin") - text(l, ".text")),
            |f| matches!(f, Fixed::Pointer { .. }),
        ),
        // Nothing leads there.
        (Form::Shared, |l| l.put(".rela.dyn", 112, 0), |f| matches!(f, Fixed::Unreached(_))),
        (Form::Packed, |l| l.put(".nvFatBinSegment", 56, 0), |f| matches!(f, Fixed::Unreached(_))),
        (
            Form::Packed,
            |l| l.put(".data", 0, text(l, "__nv_relfatbin")),
            |f| matches!(f, Fixed::Pointer { .. }),
        ),
        (Form::Fixed, |l| l.put(".nvFatBinSegment", 48, 0), |f| matches!(f, Fixed::Structure(_))),
        (Form::Fixed, |l| l.put(".nvFatBinSegment", 56, 0), |f| matches!(f, Fixed::Unreached(_))),
        // A symbol that other files see, and one into the middle.
        (Form::Shared, |l| l.put(".dynsym", 24, 6 << 48), |f| matches!(f, Fixed::Pointer { .. })),
        (
            Form::Shared,
            |l| l.put(".symtab", 128, text(l, "__nv_relfatbin") + 1),
            |f| matches!(f, Fixed::Pointer { .. }),
        ),
        // Relocations without addends.
        (Form::Shared, |l| l.put(".dynamic", 0, 17), |f| matches!(f, Fixed::Structure(_))),
        // Zeros without end; a segment that is shorter than what it holds; one that cannot be mapped; two that overlap.
        (Form::Shared, |l| l.set_segment(1, 40, 1 << 40), |f| matches!(f, Fixed::Zeros { .. })),
        (Form::Shared, |l| l.set_segment(1, 32, 8), |f| matches!(f, Fixed::Structure(_))),
        (Form::Shared, |l| l.set_segment(1, 16, 0x7001), |f| matches!(f, Fixed::Structure(_))),
        (Form::Shared, |l| l.set_segment(0, 40, 1 << 20), |f| matches!(f, Fixed::Structure(_))),
        // Another machine.
        (Form::Shared, |l| l.file[18] = 243, |f| f == Fixed::Machine),
    ];
    for (number, (form, breaks, is_expected)) in cases.into_iter().enumerate() {
        let mut linked = sample(form);
        breaks(&mut linked);
        let fixed = refusal(&linked.file);
        assert!(is_expected(fixed), "case {number}: {fixed}");
    }
    let mut object = sample(Form::Shared).file;
    object[16] = 1;
    assert_eq!(refusal(&object), Fixed::Object);
    let member = build::archive(&[("k.so", &sample(Form::Shared).file)]);
    assert_eq!(refusal(&member), Fixed::Archive);
    // The other section does not mind.
    let mut linked = sample(Form::Shared);
    linked.put(".rela.dyn", 112, 0);
    let container = Container::parse(&linked.file).expect("recognised");
    assert!(container.replace(&container.images()[0], &noise(5000, 5)).is_ok());
}

#[test]
fn zeros_are_bounded() {
    let old = sample(Form::Shared).file;
    let limits = Limits { zero_bytes: linked::ZEROS - 1, ..Limits::default() };
    let container = Container::parse_with(&old, limits).expect("recognised");
    let error = container.replace(&container.images()[0], &noise(5000, 5)).expect_err("too many");
    assert!(error.to_string().contains("the file cannot grow: its last segment ends with"), "{error}");
}

/// Damaged linked files for about a second.
#[test]
fn damaged_files_never_panic() {
    let seeds = FORMS.map(|form| sample(form).file);
    let deadline = Instant::now() + Duration::from_secs(1);
    let limits = Limits { image_bytes: 1 << 16, zero_bytes: 1 << 16, ..Limits::default() };
    let mut random = Random(42);
    let (new, mut grown, mut rounds) = (noise(5000, 5), 0, 0);
    while Instant::now() < deadline {
        let mut file = seeds[random.below(seeds.len())].clone();
        for _ in 0..=random.below(3) {
            // In headers and tables as often as anywhere else.
            let most = if random.below(2) == 0 { 600 } else { file.len() };
            let at = random.below(most.min(file.len()));
            match random.below(5) {
                0 => file[at] = random.below(256) as u8,
                1 => file[at] ^= 1 << random.below(8),
                2 => file[at..].iter_mut().take(8).for_each(|byte| *byte = 0xff),
                3 => file[at..].iter_mut().take(8).for_each(|byte| *byte = 0),
                _ => file.truncate(at.max(1)),
            }
        }
        rounds += 1;
        let Ok(container) = Container::parse_with(&file, limits) else { continue };
        let Some(image) = container.images().last() else { continue };
        if let Ok(file) = black_box(container.replace(image, &new)) {
            let again = Container::parse_with(&file, limits).expect("still whole");
            assert_eq!(again.images().len(), container.images().len());
            grown += 1;
        }
    }
    assert!(rounds > 100 && grown > 10, "{rounds} rounds, {grown} grown");
}
