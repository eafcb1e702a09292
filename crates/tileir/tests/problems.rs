//! Loops and scheduled loops as text: good ones come back as they were, bad ones are refused with the place and the reason.
//!
//! `problems/*.tile` are loops, `problems/scheduled/*.tile` the same with schedules; `problems/*errors.txt` are texts with
//! what is said about them. `SASSAFRAS_BLESS=1` rewrites what is said; look at the difference before you commit it.

use proptest::prelude::*;
use proptest::sample::Index;
use sassafras_tileir::program::{self, Program, ProgramError};
use sassafras_tileir::{file, scheduled};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/problems")
}

/// The texts of a folder's loops, with their names.
fn texts(folder: &Path) -> Vec<(String, String)> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<PathBuf> = entries.filter(|p| p.extension().is_some_and(|e| e == "tile")).collect();
    paths.sort();
    assert!(paths.len() >= 7, "{paths:?}");
    paths.iter().map(|p| (p.display().to_string(), fs::read_to_string(p).expect("a text"))).collect()
}

/// Without comments and empty lines: the printed form has none.
fn bare(text: &str) -> String {
    let lines = text.lines().filter(|l| !l.is_empty() && !l.starts_with('#'));
    lines.fold(String::new(), |all, line| all + line + "\n")
}

#[test]
fn loops_come_back() {
    for (name, text) in texts(&folder()) {
        let read = file::parse(&text).unwrap_or_else(|e| panic!("{name}:{e}"));
        assert!(read.scheduled.is_empty());
        let printed = file::print(&read);
        assert_eq!(bare(&printed), bare(&text), "{name}");
        assert_eq!(file::parse(&printed).as_ref(), Ok(&read), "{name}");
        assert_eq!(program::parse(&text).as_ref(), Ok(&read.programs), "{name}");
    }
}

#[test]
fn scheduled_loops_come_back() {
    for (name, text) in texts(&folder().join("scheduled")) {
        let read = file::parse(&text).unwrap_or_else(|e| panic!("{name}:{e}"));
        assert_eq!(read.scheduled.len(), read.programs.len(), "{name}");
        assert_eq!(bare(&file::print(&read)), bare(&text), "{name}");
        assert_eq!(file::parse(&file::print(&read)).as_ref(), Ok(&read), "{name}");
        for (of, one) in &read.scheduled {
            let program = &read.programs[*of];
            assert_eq!(one.name, program.name);
            let alone = scheduled::print(one, program);
            assert_eq!(scheduled::parse(&alone, &read.programs), Ok(vec![one.clone()]), "{name}");
        }
    }
}

/// What is said about each case of a file against what the file says; the number of cases.
fn refused(name: &str, say: impl Fn(&str) -> Result<(), String>) -> usize {
    let path = folder().join(name);
    let text = fs::read_to_string(&path).expect("cases");
    let bless = std::env::var_os("SASSAFRAS_BLESS").is_some();
    let mut parts = text.split("==== ");
    let mut now = parts.next().expect("an introduction").to_owned();
    let mut count = 0;
    for case in parts {
        let (title, rest) = case.split_once('\n').expect("a title");
        let (input, wanted) = rest.rsplit_once("---- ").expect("what is said");
        let Err(said) = say(input) else { panic!("{name}: {title}: nothing is wrong with it") };
        assert!(bless || said == wanted.trim_end(), "{name}: {title}: {said}");
        write!(now, "==== {title}\n{input}---- {said}\n").expect("writing to a string succeeds");
        count += 1;
    }
    if bless {
        fs::write(&path, &now).expect("written");
    }
    count
}

#[test]
fn wrong_loops_are_refused_where_they_are_wrong() {
    let count = refused("errors.txt", |text| {
        let error = file::parse(text).map(|_| ()).map_err(|e| e.to_string());
        // Both ways to read loops say the same, but that only one of them knows more than one loop of a name.
        if let (Err(error), Err(other)) = (&error, program::parse(text)) {
            assert_eq!(*error, other.to_string());
        }
        error
    });
    assert!(count >= 100, "{count}");
}

#[test]
fn wrong_schedules_are_refused_where_they_are_wrong() {
    let cases = fs::read_to_string(folder().join("scheduled_errors.txt")).expect("cases");
    let start = cases.find("loop l").expect("a loop");
    let end = cases.find("\n}\n").expect("its end") + 3;
    let of = program::parse(&cases[start..end]).expect("a loop");
    let count = refused("scheduled_errors.txt", |text| {
        scheduled::parse(text, &of).map(|_| ()).map_err(|e| e.to_string())
    });
    assert!(count >= 90, "{count}");
    // Without its loop before it no schedule is read.
    let alone = file::parse("scheduled l { }").expect_err("no loop").to_string();
    assert_eq!(alone, "1:11: there is no loop `l` above that this could be of");
}

/// A loop of some operations, checked.
fn with(change: impl FnOnce(&mut Program)) -> Result<(), ProgramError> {
    let text = "loop l { resource r 1 value a : register 4 f32 op o = simt () -> (a) { } op p = simt (a) -> () { } mutex m (o, p) }";
    let mut program = program::parse(text).expect("a loop").remove(0);
    change(&mut program);
    program.check()
}

/// What no text can say, programs that were built can.
#[test]
fn names_that_texts_cannot_hold_are_refused() {
    assert_eq!(with(|_| ()), Ok(()));
    for bad in ["", "4", "a b", "a-b", "ü", "a\n", "#"] {
        let found = [
            with(|p| p.name = bad.into()),
            with(|p| p.arch = Some(bad.into())),
            with(|p| p.ops.values_mut().for_each(|o| o.name = bad.into())),
            with(|p| p.ops.values_mut().for_each(|o| o.kind = bad.into())),
            with(|p| p.values.values_mut().for_each(|v| v.name = bad.into())),
            with(|p| p.values.values_mut().for_each(|v| v.element = bad.into())),
            with(|p| p.resources.values_mut().for_each(|r| r.name = bad.into())),
            with(|p| p.mutexes.values_mut().for_each(|m| m.name = bad.into())),
        ];
        for error in found {
            assert_eq!(error, Err(ProgramError::BadName { name: bad.into() }), "{bad:?}");
        }
    }
}

#[test]
fn too_many_of_anything_are_refused() {
    let most = 1 << 16;
    let many = |what| Err(ProgramError::TooMany { what, count: most + 1 });
    assert_eq!(
        with(|p| {
            let op = p.ops.values().next().expect("one").clone();
            for _ in 2..=most {
                p.ops.push(op.clone());
            }
        }),
        many("operations")
    );
    assert_eq!(
        with(|p| {
            let value = p.values.values().next().expect("one").clone();
            for _ in 1..=most {
                p.values.push(value.clone());
            }
        }),
        many("values")
    );
    assert_eq!(
        with(|p| {
            let from = p.ops.keys().next().expect("one");
            let order = program::Order { from, to: from, latency: 0, distance: 1 };
            p.orders = vec![order; most + 1];
        }),
        many("orders")
    );
    assert_eq!(
        with(|p| {
            let resource = p.resources.values().next().expect("one").clone();
            for _ in 1..=most {
                p.resources.push(resource.clone());
            }
        }),
        many("resources")
    );
    assert_eq!(
        with(|p| {
            let mutex = p.mutexes.values().next().expect("one").clone();
            for _ in 1..=most {
                p.mutexes.push(mutex.clone());
            }
        }),
        many("mutexes")
    );
    assert_eq!(
        with(|p| {
            let resource = p.resources.keys().next().expect("one");
            let hold = program::Hold { resource, start: 0, rows: 1, units: 1 };
            p.ops.values_mut().next().expect("one").holds = vec![hold; most + 1];
        }),
        many("holds")
    );
    // One operand and one result there are already.
    assert_eq!(
        with(|p| {
            let value = p.values.keys().next().expect("one");
            let operand = program::Operand { value, distance: 0, in_place: false };
            p.ops.values_mut().last().expect("one").operands = vec![operand; most];
        }),
        many("operands")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Damaged texts end in an error with a place or in a file that prints as itself.
    #[test]
    fn damaged_texts_do_no_harm(which: Index, edits in prop::collection::vec((any::<Index>(), 0..6u8, any::<Index>()), 1..5)) {
        let mut all = texts(&folder());
        all.extend(texts(&folder().join("scheduled")));
        let text = &which.get(&all).1;
        let mut words: Vec<String> = text.split_inclusive(char::is_whitespace).map(str::to_owned).collect();
        let pool = words.clone();
        for (at, how, from) in edits {
            if words.is_empty() {
                break;
            }
            let at = at.index(words.len());
            match how {
                0 => drop(words.remove(at)),
                1 => words.insert(at, from.get(&pool).clone()),
                2 => words[at] = from.get(&pool).clone(),
                3 => words.truncate(at),
                4 => words[at] = ["4294967295 ", "18446744073709551616 ", "0 ", "\u{e9} ", "- "][from.index(5)].to_owned(),
                _ => words.swap(at, from.index(pool.len()).min(pool.len() - 1) % pool.len().min(at + 1)),
            }
        }
        let damaged: String = words.concat();
        match file::parse(&damaged) {
            Ok(read) => {
                let printed = file::print(&read);
                prop_assert_eq!(file::parse(&printed), Ok(read), "{}", printed);
            }
            Err(error) => {
                prop_assert!((1..=damaged.matches('\n').count() + 1).contains(&error.line), "{}", error);
                let line = damaged.split('\n').nth(error.line - 1).unwrap_or_default();
                prop_assert!((1..=line.chars().count() + 1).contains(&error.column), "{}", error);
            }
        }
    }
}
