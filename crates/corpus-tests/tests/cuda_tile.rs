//! Tile programs as the disassembler prints them: read, and printed byte by byte.
#![cfg(feature = "real-tools")]

use sassafras_corpus_tests::tile::texts;
use sassafras_tileir::cuda::{Module, Operation};
use std::collections::BTreeSet;

/// The operations of the only entry.
fn operations(module: &Module) -> Vec<&Operation> {
    let mut entries = module.entries();
    let entry = entries.next().expect("an entry");
    assert!(entries.next().is_none());
    entry.walk().collect()
}

#[test]
fn every_program_comes_back() {
    let items = texts().expect("the corpus");
    let mut programs = BTreeSet::new();
    for item in &items {
        let name = &item.kernel;
        let module = Module::parse(&item.text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(module.to_string(), item.text, "{name}");
        let operations = operations(&module);
        assert_eq!(operations[0].symbol(), Some(&**name));
        assert!(operations.iter().any(|op| ["for", "loop"].contains(&&*op.name)), "{name} has no loop");
        assert!(operations.iter().all(|op| op.location.is_some() == item.debug), "{name}");
        for op in &operations {
            let typed = (0..op.result_count()).all(|number| op.result_type(number).is_some());
            assert!(typed, "{name}: line {}: a result without a type", op.line.0);
        }
        programs.insert(name);
    }
    assert!(programs.len() >= 11 && items.len() == 2 * programs.len(), "{programs:?}");
}

/// The loops that schedulers are for: loads and matrix products inside.
#[test]
fn main_loops_are_found() {
    let mut main_loops = BTreeSet::new();
    for item in texts().expect("the corpus") {
        let module = Module::parse(&item.text).expect("parsed before");
        for op in operations(&module).into_iter().filter(|op| op.as_for().is_some()) {
            let own: Vec<&str> = op.regions[0].operations.iter().map(|inner| &*inner.name).collect();
            if own.iter().any(|name| name.starts_with("mma"))
                && own.iter().any(|name| name.starts_with("load"))
            {
                assert_eq!(op.carried().count(), op.result_count());
                assert_eq!(op.regions[0].terminator().map(|last| &*last.name), Some("continue"));
                main_loops.insert(item.kernel.clone());
            }
        }
    }
    assert!(main_loops.len() >= 8, "{main_loops:?}");
}
