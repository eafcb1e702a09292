//! Stall cycles that no rule asks for: in functions whose stalls are written out, and by the command in a cubin.

use sassafras_control::{Field, RawControl, volta};
use sassafras_ir::{Function, text};
use sassafras_machine::Arch;
use sassafras_machine::mined::residue::{Reason, parse};
use sassafras_mine::residue::report::Residue;
use sassafras_mine::residue::{Reasons, Stall, stalls};
use sassafras_verify::hazards::Rules;

/// `4 | R1 = FFMA R0, R0, R0` is an instruction with stall 4 that may yield, `4- |` one that does not, `4X |` one that never runs;
/// lines without `|` are labels.
fn function(body: &str) -> Function {
    let mut source = String::from("func f sm_90 {\n^entry:\n");
    for line in body.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let Some((stall, inst)) = line.split_once('|') else {
            source += &format!("{line}\n");
            continue;
        };
        let stall = stall.trim();
        let mut raw = RawControl::from_bits_truncate(0);
        let digits = stall.trim_end_matches(['-', 'X']);
        let mut set = |field, value| raw = raw.with(field, value).expect("in range");
        set(Field::Stall, digits.parse().expect("a stall"));
        set(Field::Yield, u8::from(stall.ends_with('-')));
        set(Field::Write, 7);
        set(Field::Read, 7);
        let never = if stall.ends_with('X') { 15 << 12 } else { 0 };
        source += &format!("  {} raw({:#x})\n", inst.trim(), volta::insert(never, raw));
    }
    source += "}\n";
    match text::parse(&source) {
        Ok(mut module) => module.functions.remove(0),
        Err(error) => panic!("{}", error.render("test", &source, false)),
    }
}

fn rules() -> &'static Rules {
    Rules::of("sm_90".parse::<Arch>().expect("an architecture"))
}

fn rows(text: &str) -> Vec<Reason> {
    parse(&format!("first,second,cycles,when,kind,why,source\n{text}\n")).expect("a table")
}

fn explained(body: &str, rules: &Rules, text: &str) -> Vec<Stall> {
    let (f, rows) = (function(body), rows(text));
    let claims = Reasons { rows: &rows, table: "sm_90" }.claims(&f);
    stalls(&f, rules, &claims)
}

/// The residue of each instruction, with no reasons.
fn residue(body: &str) -> Vec<u8> {
    explained(body, rules(), "").iter().map(|stall| stall.residue).collect()
}

#[test]
fn what_a_result_takes_is_asked_for_and_no_more() {
    let stalls = |cycles: u8| {
        residue(&format!("{cycles} | R1 = FFMA R0, R0, R0\n 1 | R2 = FADD R1, R0\n 1 | R3 = FADD R0, R0"))
    };
    assert_eq!(stalls(4), [0, 0, 0]);
    assert_eq!(stalls(6), [2, 0, 0]);
}

#[test]
fn a_stall_may_serve_an_instruction_further_behind() {
    let body = "3 | R1 = FFMA R0, R0, R0\n 1 | R9 = FADD R8, R8\n 1 | R2 = FADD R1, R0";
    assert_eq!(residue(body), [0, 0, 0]);
    // What is left over is left over once.
    let body = "3 | R1 = FFMA R0, R0, R0\n 3 | R9 = FADD R8, R8\n 1 | R2 = FADD R1, R0";
    assert_eq!(residue(body), [2, 0, 0]);
}

#[test]
fn pipes_ask_for_their_cycles_though_no_register_meets() {
    assert_eq!(residue("2 | R1 = IADD3 R0, R0\n 1 | R2 = LOP3 R4, R4"), [0, 0]);
    assert_eq!(residue("2 | R1 = FFMA R0, R0, R0\n 1 | R2 = FFMA R4, R4, R4"), [1, 0]);
}

#[test]
fn pipes_that_hold_a_warp_back_by_themselves_get_their_cycles_all_the_same() {
    let loads = |first: &str, second: &str| {
        format!("{first} | R1 = LDC const.4[40]\n {second}\n 1 | R2 = LDC const.4[44]")
    };
    let behind = explained(&loads("9", ""), rules(), "");
    // The checker asks for none of the eight, a scheduler leaves them.
    assert_eq!((behind[0].unchecked, behind[0].residue), (8, 1));
    assert_eq!(residue(&loads("1", "7 | R4 = FADD R8, R8")), [0, 0, 0], "another pipe may go between");
    assert_eq!(
        residue(&loads("8", "3 | R4 = FADD R8, R8")),
        [3, 0, 0],
        "what is left over is left over once"
    );
    // Stall 0 drains everything.
    assert_eq!(residue(&loads("0", "4 | R4 = FADD R8, R8")), [3, 0]);
}

#[test]
fn a_guard_in_the_next_block_is_waited_for_in_this_one() {
    let body = |guard: &str| {
        format!(
            "13 | P0 = ISETP R8, R9\n ^next:\n 1 | {guard} R1 = MOV R0\n 5 | @P1 BRA ^next !branch\n ^end:\n 5 | EXIT !exit"
        )
    };
    assert_eq!(residue(&body("@P0"))[0], 0);
    // The branch back asks for nothing, and neither does what reads another predicate.
    assert_eq!(residue(&body("@P2"))[0], 12);
}

#[test]
fn guards_that_exclude_each_other_are_told_apart() {
    let body = "5 | @!P0 R5 = VIADD R6\n 1 | @P0 R7 = IADD3 R5, R5";
    let stalls = explained(body, rules(), "");
    assert_eq!((stalls[0].unchecked, stalls[0].residue), (4, 0));
}

const BARRIER: &str = "6 | BAR.RED !barrier\n 1 | R0 = B2R.RESULT\n 15 | NOP\n 15 | NOP\n 5 | EXIT !exit";

#[test]
fn results_of_barriers_show_up_where_no_rule_names_them() {
    let all = explained(BARRIER, rules(), "");
    assert_eq!(
        (all[0].unexplained, all[0].unseen),
        (5, 0),
        "a least distance asks for them, which explains nothing"
    );
    let without = explained(BARRIER, &rules().without_seen(), "");
    assert_eq!((without[0].residue, without[0].unseen), (5, 5));
    let mut report = Residue::default();
    let f = function(BARRIER);
    report.function(&f, &rules().without_seen(), Reasons { rows: &[], table: "sm_90" }, &[]);
    let sum = report.kinds[&("BAR.RED".to_owned(), "B2R.RESULT".to_owned(), 6)];
    assert_eq!((sum.stalls, sum.unexplained, sum.unseen), (1, 5, 5));
    assert!(report.text(&[], 5).contains("BAR.RED > B2R.RESULT 6"), "on the first page");
}

#[test]
fn reasons_explain_what_they_name() {
    let stalls = explained(BARRIER, rules(), "BAR.RED,B2R,6,,state,the result,counts");
    assert_eq!((stalls[0].residue, stalls[0].unexplained, stalls[0].reason), (5, 0, Some(0)));
    // Four cycles of the six.
    let stalls = explained(BARRIER, rules(), "BAR.RED,next,4,,state,the result,counts");
    assert_eq!(stalls[0].unexplained, 2);
    // A distance that the code does not keep is no reason for what it does keep.
    for row in
        ["BAR.RED,B2R,7,,state,w,s", "BAR.RED,B2R,6,writes-predicate,state,w,s", "BAR.SYNC,B2R,6,,state,w,s"]
    {
        assert_eq!(explained(BARRIER, rules(), row)[0].unexplained, 5, "{row}");
    }
}

#[test]
fn conditions_are_looked_at() {
    let unexplained = |body: &str, row: &str| explained(body, rules(), row)[0].unexplained;
    let edge = "7 | R1 = IADD3 R0, R0\n ^next:\n 5 | EXIT !exit";
    assert_eq!(unexplained(edge, "alu,edge,7,writes-general,choice,w,s"), 0);
    assert_eq!(unexplained(edge, "alu,BSYNC,7,writes-general,choice,w,s"), 6);
    let reads = |source: &str| format!("8 | R1 = FFMA R0, R0, R0\n 1 | R2 = FADD {source}, R0");
    assert_eq!(unexplained(&reads("R1"), "fma,fma,8,reads,rule,w,s"), 0);
    assert_eq!(unexplained(&reads("R3"), "fma,fma,8,reads,rule,w,s"), 7);
    let never = |mark: &str| format!("5 | R1 = IADD3 R0, R0\n 1{mark} | LDS !ordered");
    assert_eq!(unexplained(&never("X"), "alu,LDS,5,never-runs,choice,w,s"), 0);
    assert_eq!(unexplained(&never(""), "alu,LDS,5,never-runs,choice,w,s"), 4);
    let adjacent = "1 | R1 = FFMA R0, R0, R0\n 5 | R2 = IADD3 R9, R9\n 1 | R3 = FADD R4, R4";
    assert_eq!(explained(adjacent, rules(), "fma,fma,6,,choice,w,s")[1].unexplained, 0);
    assert_eq!(explained(adjacent, rules(), "fma,fma,6,adjacent,choice,w,s")[1].unexplained, 4);
}

#[test]
fn the_way_arithmetic_yields_is_seen() {
    let block = |mark: &str| {
        let chain = format!("4{mark} | R1 = FFMA R1, R1, R1\n").repeat(6);
        format!("8- | R8 = SHFL R9\n 1- | R7 = SHFL R9\n{chain} 5 | EXIT !exit")
    };
    let row = "SHFL,SHFL,8,seldom-yields,choice,w,s";
    assert_eq!(explained(&block("-"), rules(), row)[0].unexplained, 0);
    assert!(explained(&block(""), rules(), row)[0].unexplained > 0);
}

/// A cubin of sm_80: a load, and five FADD of which the second waits for it.
const CUBIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/tests/cmd/binary.in/good.cubin");
/// The committed table.
const TABLE: &str = include_str!("../../machine/data/mined/residue.csv");

#[test]
fn the_committed_table_loads() {
    let rows = parse(TABLE).expect("well formed");
    assert!(rows.len() > 20);
    assert!(rows.iter().all(|row| !row.why.is_empty()));
}

#[test]
fn the_command_reports_and_judges() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("residue");
    std::fs::create_dir_all(&folder).expect("a folder");
    let report = |table: &str| {
        std::fs::write(folder.join("residue.csv"), table).expect("written");
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sassafras-mine"));
        command.arg("--tables").arg(&folder).args(["--only", "sm_80", "--residue", "5"]).arg(CUBIN);
        let out = command.output().expect("started");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (out.status.success(), text(&out.stdout), text(&out.stderr))
    };
    let head = "first,second,cycles,when,kind,why,source\n";
    let (passes, out, _) = report(head);
    assert!(!passes && out.contains("residue") && out.contains("unexplained"), "{out}");
    let all = "*,next,15,writes-general,choice,w,s\nTEX,next,5,,issue,w,s\n";
    let (_, out, _) = report(&format!("{head}{all}"));
    assert!(out.contains("line 3 meets nothing: TEX > next 5"), "{out}");
    let (passes, _, error) = report(&format!("{head}BRA,next,0,,issue,w,s\n"));
    assert!(!passes && error.contains("line 2"), "{error}");
}
