//! Setting knobs: values, errors and what the command line shows.

use sassafras_knobs::{FileError, Hint, KnobSet, Setting, SettingError, TABLE_HEADER, Value, keys, registry};

fn refused(assignment: &str) -> String {
    let mut knobs = KnobSet::new();
    let message = knobs.assign(assignment).expect_err(assignment).to_string();
    assert_eq!(knobs, KnobSet::new(), "{assignment} left something behind");
    message
}

fn refused_file(text: &str) -> String {
    let mut knobs = KnobSet::new();
    knobs.assign("max-sched-reorder=9").unwrap();
    let before = knobs.clone();
    let message = knobs.load_toml(text, "t.toml").expect_err(text).to_string();
    assert_eq!(knobs, before, "{text:?} left something behind");
    message
}

#[test]
fn set_is_told_from_default() {
    let mut knobs = KnobSet::new();
    assert_eq!(knobs.setting("max-sched-reorder"), Some(Setting::Default(&Value::Int(6))));
    assert_eq!(knobs.setting("knob-805"), Some(Setting::Unset));
    assert_eq!(knobs.setting("no-such"), None);
    assert_eq!((knobs.get(keys::BATCH_OR_STALL_CAP), knobs.explicit(keys::BATCH_OR_STALL_CAP)), (None, None));

    // The default itself counts as set once somebody sets it.
    knobs.assign("max-sched-reorder=6").unwrap();
    assert_eq!(knobs.setting("max-sched-reorder"), Some(Setting::Explicit(&Value::Int(6))));
    assert!(knobs.is_set("max-sched-reorder") && !knobs.is_set("knob-805") && !knobs.is_set("no-such"));

    knobs.set("dual-register-tracking", true).unwrap();
    assert_eq!(knobs.explicit(keys::DUAL_REGISTER_TRACKING), Some(true));
}

#[test]
fn the_last_assignment_wins_whatever_the_spelling() {
    let mut knobs = KnobSet::new();
    knobs.assign("knob-805=3").unwrap();
    let knob = knobs.assign("batch-or-stall-cap = 0x10").unwrap();
    assert_eq!(knob.name, "knob-805");
    assert_eq!(knobs.get(keys::BATCH_OR_STALL_CAP), Some(16));
    assert_eq!(knobs.iter().count(), 1);
}

#[test]
fn settings_without_effect_are_listed() {
    let mut knobs = KnobSet::new();
    for assignment in ["knob-806=4", "schedule-trace-file=a=b.json", "enable-misched=off", "knob-740=1"] {
        knobs.assign(assignment).unwrap();
    }
    let unread = |run: &[&str]| knobs.unread(run).map(|knob| &*knob.name).collect::<Vec<_>>();
    assert_eq!(unread(&["schedule", "ptx", "auto"]), ["knob-806", "knob-740", "schedule-trace-file"]);
    assert_eq!(unread(&["tile"]), ["enable-misched", "knob-806", "knob-740"]);
    assert_eq!(knobs.setting("schedule-trace-file").unwrap().value(), Some(&Value::from("a=b.json")));
    assert_eq!(knobs.setting("knob-740").unwrap().value(), Some(&Value::Float(1.0)));
}

#[test]
fn refused_assignments_say_why() {
    assert_eq!(
        refused("max-sched-reorder"),
        "malformed knob assignment `max-sched-reorder`: expected NAME=VALUE"
    );
    assert_eq!(refused("=3"), "malformed knob assignment `=3`: expected NAME=VALUE");
    assert_eq!(
        refused("max-sched-reoder=3"),
        "unknown knob `max-sched-reoder`; did you mean `max-sched-reorder`?"
    );
    assert_eq!(
        refused("dynbatch-stal-cap=3"),
        "unknown knob `dynbatch-stal-cap`; did you mean `dynbatch-stall-cap`?"
    );
    assert_eq!(refused("805=3"), "unknown knob `805`; did you mean `knob-805`?");
    assert_eq!(
        refused("schedDisableAll=true"),
        "unknown knob `schedDisableAll`; did you mean `SchedDisableAll`?"
    );
    assert_eq!(refused("frobnicate=3"), "unknown knob `frobnicate`; `sassafras knobs` lists them");
    assert_eq!(
        refused("GemmPipelinerDepth=3"),
        "unknown knob `GemmPipelinerDepth`; the documents mention the GemmPipeliner* family without naming its members"
    );
    assert_eq!(
        refused("max-sched-reorder=many"),
        "knob `max-sched-reorder` is of type int and takes a 64-bit integer, not `many`"
    );
    assert_eq!(
        refused("enable-misched="),
        "knob `enable-misched` is of type bool and takes true or false, not ``"
    );
    assert_eq!(
        refused("max-sched-reorder=256"),
        "256 is out of range for knob `max-sched-reorder`: allowed is 0 to 255"
    );
    assert_eq!(refused("knob-862=-1"), "-1 is out of range for knob `knob-862`: allowed is at least 0");
    assert_eq!(
        refused("break-anti-dependencies=some"),
        "some is out of range for knob `break-anti-dependencies`: allowed is one of none, critical, all"
    );
}

#[test]
fn errors_can_be_matched() {
    let mut knobs = KnobSet::new();
    let error = knobs.set("knob-80", 1).unwrap_err();
    assert!(matches!(error, SettingError::Unknown { hint: Hint::Similar(_), .. }), "{error}");
    let error = knobs.set("knob-420", 1).unwrap_err();
    assert!(matches!(error, SettingError::Type { expected_type: "bool", .. }), "{error}");
    let error = knobs.set("knob-806", 17).unwrap_err();
    assert!(matches!(error, SettingError::OutOfRange { .. }), "{error}");
}

#[test]
fn messages_stay_short_and_on_one_line() {
    for assignment in
        ["x".repeat(1 << 20), format!("{}=1", "y\n".repeat(1000)), format!("knob-805={}", "9".repeat(1000))]
    {
        let message = refused(&assignment);
        assert!(message.len() < 400 && !message.contains('\n'), "{message}");
    }
}

#[test]
fn files_may_be_flat_or_have_a_table() {
    let flat = "max-sched-reorder = 0x1F # hexadecimal\nbreak-anti-dependencies = 'all'\nknob-740 = 0.5\n";
    let mut from_flat = KnobSet::new();
    from_flat.load_toml(flat, "t.toml").unwrap();
    assert_eq!(from_flat.setting("max-sched-reorder"), Some(Setting::Explicit(&Value::Int(31))));
    assert_eq!(from_flat.setting("break-anti-dependencies"), Some(Setting::Explicit(&Value::from("all"))));
    assert_eq!(from_flat.setting("knob-740"), Some(Setting::Explicit(&Value::Float(0.5))));

    let mut from_table = KnobSet::new();
    from_table.load_toml(&format!("[knobs]\n{flat}"), "t.toml").unwrap();
    assert_eq!(from_table, from_flat);

    // A file over an earlier setting, then the command line over the file.
    let mut knobs = KnobSet::new();
    knobs.assign("max-sched-reorder=1").unwrap();
    knobs.load_toml(flat, "t.toml").unwrap();
    knobs.assign("knob-740=2").unwrap();
    assert_eq!(knobs.setting("max-sched-reorder"), Some(Setting::Explicit(&Value::Int(31))));
    assert_eq!(knobs.setting("knob-740"), Some(Setting::Explicit(&Value::Float(2.0))));

    KnobSet::new().load_toml("", "t.toml").unwrap();
}

#[test]
fn refused_files_name_the_place() {
    assert_eq!(
        refused_file("enable-misched = true\n\n  knob-999 = 1\n"),
        "t.toml:3:3: unknown knob `knob-999`; `sassafras knobs` lists them"
    );
    assert_eq!(
        refused_file("[knobs]\nenable-misched = 1\n"),
        "t.toml:2:18: knob `enable-misched` is of type bool and takes true or false, not `1`"
    );
    assert_eq!(
        refused_file("knob-805 = 17\n"),
        "t.toml:1:12: 17 is out of range for knob `knob-805`: allowed is 0 to 16"
    );
    assert_eq!(
        refused_file("knob-805 = [1]\n"),
        "t.toml:1:12: knob `knob-805` is of type int and takes a 64-bit integer, not an array"
    );
    assert_eq!(
        refused_file("knob-805 = 99999999999999999999\n"),
        "t.toml:1:12: knob `knob-805` is of type int and takes a 64-bit integer, not `99999999999999999999`"
    );
    assert_eq!(
        refused_file("knob-740 = inf\n"),
        "t.toml:1:12: knob `knob-740` is of type float and takes a finite number, not `inf`"
    );
    assert_eq!(
        refused_file("[knobs]\nknob-806 = 1\n[knobs.knob-805]\nx = 1\n"),
        "t.toml:3:1: knob `knob-805` is of type int and takes a 64-bit integer, not a table"
    );
    assert_eq!(refused_file("knobs = 3\n"), "t.toml:1:1: unknown knob `knobs`; `sassafras knobs` lists them");
}

#[test]
fn one_file_sets_a_knob_once() {
    let error = KnobSet::new().load_toml("knob-805 = 1\nknob-805 = 2\n", "t.toml").unwrap_err();
    let FileError::Syntax { place, .. } = &error else { panic!("{error}") };
    assert_eq!((place.line, place.column), (2, 1));
    assert_eq!(
        refused_file("knob-805 = 1\nbatch-or-stall-cap = 2\n"),
        "t.toml:2:1: knob `knob-805` is already set in line 1"
    );
    assert_eq!(
        refused_file("knob-805 = 1\n[knobs]\nknob-805 = 1\n"),
        "t.toml:3:1: knob `knob-805` is already set in line 1"
    );
}

#[test]
fn syntax_errors_name_the_place() {
    let error = KnobSet::new().load_toml("enable-misched = true\nknob-805 = = 1\n", "t.toml").unwrap_err();
    assert!(error.to_string().starts_with("t.toml:2:12: "), "{error}");
}

#[test]
fn json_has_every_knob() {
    let json = serde_json::to_value(registry().listing()).unwrap();
    assert_eq!(json["schema"], 2);
    let knobs = json["knobs"].as_array().unwrap();
    assert_eq!(knobs.len(), registry().iter().len());
    let find = |name: &str| knobs.iter().find(|knob| knob["name"] == name).unwrap();

    let knob = find("knob-806");
    assert_eq!(knob["alias"], "dynbatch-stall-cap");
    assert_eq!(knob["default"], 0);
    assert_eq!(knob["type"], "int");
    assert_eq!(knob["range"], serde_json::json!({"min": 0, "max": 16}));
    assert_eq!(knob["seed"], serde_json::json!(["latency-model", "ptxas-extras"]));
    assert_eq!(knob["used_by"], serde_json::json!([]));
    assert_eq!(find("enable-misched")["used_by"], serde_json::json!(["schedule ptx"]));
    assert!(knob["meaning"].is_string() && knob["default_unknown"].is_null());

    assert_eq!(find("pipeline-strategy")["range"]["values"][2], "warp-specialize");
    assert!(find("knob-805")["default"].is_null() && find("knob-805")["default_unknown"].is_string());
    assert!(find("enable-misched")["range"].is_null() && find("enable-misched")["alias"].is_null());
}

#[test]
fn text_rows_match_the_header() {
    let rows: Vec<_> = registry().rows().collect();
    assert_eq!(rows.len(), registry().iter().len());
    assert_eq!(TABLE_HEADER[5], "documents");
    let row = rows.iter().find(|row| row[0] == "knob-805").unwrap();
    assert_eq!(
        row.each_ref().map(String::as_str),
        [
            "knob-805",
            "batch-or-stall-cap",
            "int",
            "",
            "0 to 16",
            "ptxas-scheduling, latency-model, ptxas-extras",
            ""
        ]
    );
}
