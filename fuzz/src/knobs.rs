//! Knob settings: nothing is taken on an error, and what was taken reads back.

use sassafras_knobs::KnobSet;

/// Gives the text to the command-line parser, its first line by itself as well, and to the file parser.
pub fn knobs(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else {
        return false;
    };
    let mut taken = false;
    for assignment in [text, text.lines().next().unwrap_or_default()] {
        let mut set = KnobSet::new();
        match set.assign(assignment) {
            Ok(_) => assert_eq!(set.iter().count(), 1),
            Err(error) => assert!(set == KnobSet::new() && !error.to_string().is_empty()),
        }
        taken |= reads_back(&set);
    }
    let mut set = KnobSet::new();
    if let Err(error) = set.load_toml(text, "f.toml") {
        assert!(set == KnobSet::new() && error.to_string().starts_with("f.toml:"), "{error}");
    }
    taken | reads_back(&set)
}

/// Setting every value again, through the typed interface and both spellings, gives the same set.
fn reads_back(set: &KnobSet) -> bool {
    let mut again = KnobSet::new();
    for (knob, value) in set.iter() {
        for spelling in [Some(&knob.name), knob.alias.as_ref()].into_iter().flatten() {
            again.set(spelling, value.clone()).unwrap_or_else(|e| panic!("{spelling} = {value}: {e}"));
        }
    }
    assert_eq!(*set, again);
    set.iter().next().is_some()
}
