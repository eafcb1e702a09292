//! No input panics, and whatever is taken reads back.

use proptest::prelude::*;
use sassafras_knobs::{Kind, KnobSet, Value, registry};

/// Text made of pieces that mean something to the two parsers, so that the fuzzer gets past the first check.
fn scrap() -> impl Strategy<Value = String> {
    let spellings: Vec<String> =
        registry().iter().flat_map(|knob| [Some(knob.name.clone()), knob.alias.clone()]).flatten().collect();
    prop_oneof![
        6 => prop::sample::select(spellings),
        6 => prop::sample::select(vec![
            "=", " = ", "\n", "[knobs]", "[[knobs]]", "knobs", "true", "off", "0", "-1", "16", "0x", "1_0", "1e9", "nan",
            "-inf", "'all'", "\"", "\"\"\"", "{", "}", "[", "]", ",", ".", "#", "\u{feff}", "\0", "1979-05-27", "none",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
        1 => any::<i64>().prop_map(|number| number.to_string()),
    ]
}

fn scraps() -> impl Strategy<Value = String> {
    prop::collection::vec(scrap(), 0..12).prop_map(|scraps| scraps.concat())
}

/// What is taken is within its range and is found again under both spellings.
fn check(knobs: &KnobSet) {
    for (knob, value) in knobs.iter() {
        let fits = match (&knob.kind, value) {
            (Kind::Bool, Value::Bool(_)) | (Kind::Text, Value::Text(_)) => true,
            (Kind::Int(bounds), Value::Int(value)) => bounds.contains(value),
            (Kind::Float(bounds), Value::Float(value)) => value.is_finite() && bounds.contains(value),
            (Kind::Enum(words), Value::Text(value)) => words.contains(value),
            _ => false,
        };
        assert!(fits, "{} = {value}", knob.name);
        for spelling in [Some(&knob.name), knob.alias.as_ref()].into_iter().flatten() {
            assert_eq!(knobs.setting(spelling).unwrap().explicit(), Some(value));
        }
    }
    assert!(knobs.unread(&[]).all(|knob| knobs.is_set(&knob.name)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn assignments_never_panic(text in scraps()) {
        let mut knobs = KnobSet::new();
        match knobs.assign(&text) {
            Ok(_) => prop_assert_eq!(knobs.iter().count(), 1),
            Err(error) => prop_assert!(knobs == KnobSet::new() && !error.to_string().is_empty()),
        }
        check(&knobs);
    }

    #[test]
    fn files_never_panic(text in scraps()) {
        let mut knobs = KnobSet::new();
        if let Err(error) = knobs.load_toml(&text, "f.toml") {
            prop_assert!(knobs == KnobSet::new() && error.to_string().starts_with("f.toml:"));
        }
        check(&knobs);
    }

    /// The command line and a file agree on every number.
    #[test]
    fn integers_read_the_same_from_both(index in any::<prop::sample::Index>(), value in -20i64..300) {
        let numbers: Vec<_> = registry().iter().filter(|knob| matches!(knob.kind, Kind::Int(_))).collect();
        let knob = index.get(&numbers);
        let Kind::Int(bounds) = &knob.kind else { unreachable!() };
        let (mut line, mut file) = (KnobSet::new(), KnobSet::new());
        let line_ok = line.assign(&format!("{}={value}", knob.name)).is_ok();
        let file_ok = file.load_toml(&format!("{} = {value}", knob.name), "f.toml").is_ok();
        prop_assert_eq!(line_ok, bounds.contains(&value));
        prop_assert_eq!(file_ok, line_ok);
        prop_assert_eq!(line, file);
    }
}

/// Arbitrary bytes for about a second.
#[test]
fn smoke_fuzz() {
    arbtest::arbtest(|input| {
        let bytes: &[u8] = input.arbitrary()?;
        let text = String::from_utf8_lossy(bytes);
        let mut knobs = KnobSet::new();
        let _ = knobs.assign(&text);
        let _ = knobs.load_toml(&text, "f.toml");
        check(&knobs);
        Ok(())
    })
    .budget_ms(1000);
}

/// Deep nesting must end in an error, not in a stack overflow.
#[test]
fn deep_nesting_is_refused() {
    for text in [format!("knob-805 = {}", "[".repeat(100_000)), format!("{}x = 1", "a.".repeat(100_000))] {
        assert!(KnobSet::new().load_toml(&text, "f.toml").is_err());
    }
}
