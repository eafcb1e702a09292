//! How soon instructions follow each other: counted in a function whose stalls are written out, and by the command in a cubin.

use sassafras_control::{Field, RawControl, volta};
use sassafras_ir::{Function, RegClass, text};
use sassafras_mine::gaps::{GapKind, Gaps};

/// Instructions, each with its stall, the scoreboard that it sets for its result (7: none) and those that it waits for.
fn function(lines: &[(u8, u8, u8, &str)]) -> Function {
    let mut source = String::from("func f sm_90 {\n^entry:\n");
    for &(stall, write, wait, inst) in lines {
        let mut raw = RawControl::from_bits_truncate(0);
        for (field, value) in
            [(Field::Stall, stall), (Field::Write, write), (Field::Read, 7), (Field::Wait, wait)]
        {
            raw = raw.with(field, value).expect("in range");
        }
        source += &format!("  {inst} raw({:#x})\n", volta::insert(0, raw));
    }
    source += "}\n";
    match text::parse(&source) {
        Ok(mut module) => module.functions.remove(0),
        Err(error) => panic!("{}", error.render("test", &source, false)),
    }
}

/// Distances with no wait between, and with one, each with how often it was seen.
fn seen(gaps: &Gaps, kind: GapKind, first: &str, second: &str) -> [Vec<(usize, u32)>; 2] {
    let Some(counts) = gaps.counts.get(&(kind, first.to_owned(), second.to_owned())) else {
        return Default::default();
    };
    counts.0.map(|row| row.into_iter().enumerate().filter(|&(_, n)| n > 0).collect())
}

#[test]
fn distances_are_counted_by_what_they_were_left_for() {
    let mut gaps = Gaps::default();
    gaps.function(&function(&[
        (2, 7, 0, "R1 = FFMA R4, R5, R6"),
        (3, 0, 0, "R5 = LDG.E global.4[R8]"),
        (4, 7, 0, "P0 = ISETP R8, R9"),
        (6, 7, 1, "B1 = BSYNC B0"),
        (8, 7, 0, "R16:4 = HMMA R20:4, R24:2"),
        (9, 7, 0, "R16:4 = HMMA R20:4, R24:2, R16:4"),
        (5, 7, 0, "R20 = MOV R8"),
        (5, 7, 0, "EXIT !exit"),
    ]));
    let general = GapKind::Overwrite(RegClass::Gpr);
    assert_eq!(seen(&gaps, general, "FFMA", "LDG.E"), [vec![(2, 1)], vec![]]);
    assert_eq!(seen(&gaps, GapKind::Issue, "FFMA", "ISETP"), [vec![(5, 1)], vec![]]);
    // A wait stands between, or at the second.
    assert_eq!(seen(&gaps, GapKind::Settle, "ISETP+P", "BSYNC"), [vec![], vec![(4, 1)]]);
    assert_eq!(seen(&gaps, GapKind::Settle, "FFMA", "BSYNC"), [vec![], vec![(9, 1)]]);
    // The one before stands too far off.
    assert_eq!(seen(&gaps, general, "HMMA", "MOV"), [vec![(9, 1)], vec![]]);
    assert_eq!(seen(&gaps, GapKind::Addend, "HMMA:4/4/2", "HMMA:4/4/2/4"), [vec![(8, 1)], vec![]]);
    // A reader that sets scoreboards says itself when it is done.
    assert_eq!(seen(&gaps, general, "LDG.E", "ISETP"), [vec![], vec![]]);
}

/// A cubin of sm_80: a load, and five FADD of which the second waits for it.
const CUBIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/tests/cmd/binary.in/good.cubin");

#[test]
fn the_command_writes_a_line_per_pair_and_distance() {
    let out = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("gaps.csv");
    let mine = |tables: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sassafras-mine"));
        command.args(["--tables", "unused", "--only", tables, "--gaps"]).arg(&out).arg(CUBIN);
        assert!(command.status().expect("started").success());
        std::fs::read_to_string(&out).expect("written")
    };
    let lines = mine("sm_80");
    assert_eq!(lines.lines().next(), Some("file,table,kind,first,second,cycles,seen,waited"));
    for line in
        ["0,sm_80,issue,LDG,FADD,1,1,0", "0,sm_80,issue,LDG,FADD,5,0,1", "0,sm_80,issue,FADD,FADD,5,3,0"]
    {
        assert!(lines.lines().any(|other| other == line), "{line} is missing from\n{lines}");
    }
    assert!(!lines.contains("FADD,4,1,"), "a wait stands at the second\n{lines}");
    assert_eq!(mine("sm_90").lines().count(), 1, "another machine's code");
}

#[test]
fn a_stall_of_zero_ends_all() {
    let mut gaps = Gaps::default();
    gaps.function(&function(&[
        (0, 7, 0, "R1 = FFMA R4, R5, R6"),
        (3, 7, 0, "R5 = FADD R8, R9"),
        (5, 7, 0, "EXIT !exit"),
    ]));
    assert_eq!(seen(&gaps, GapKind::Issue, "FFMA", "FADD"), [vec![], vec![]]);
    assert_eq!(seen(&gaps, GapKind::Issue, "FADD", "EXIT"), [vec![(3, 1)], vec![]]);
}
