//! Control fields and orders of small functions, as a person would expect them.

use sassafras_ir::text::parse;
use sassafras_ir::{Function, Inst, Lane, RegClass};
use sassafras_list::registry;
use sassafras_machine::Arch;
use sassafras_tepid::function::choose;
use sassafras_tepid::schedule::Settings;
use sassafras_tepid::{Code, Fields, Keep, Original, rebuild, rebuild_with};

fn function(text: &str) -> Function {
    let module = parse(&format!("func f sm_90 (R0, R2) {{\n{text}\n}}")).expect("parses");
    module.functions.into_iter().next().expect("a function")
}

fn arch() -> Arch {
    "sm_90".parse().expect("an architecture")
}

/// The fields of the instructions in order.
fn fields(f: &Function) -> Vec<Fields> {
    let code = Code::new(f, &[], arch());
    let made = rebuild(&code, &Original::new(&code)).expect("fields");
    f.blocks().flat_map(|block| f.block_insts(block)).map(|inst| made[inst.as_u32() as usize]).collect()
}

#[test]
fn a_result_of_fixed_latency_gets_its_cycles() {
    let made = fields(&function("^a:\n R4 = FADD R0, R2\n R5 = FADD R4, R2\n R6 = LOP3 R5, R2\n EXIT !exit"));
    // Four cycles inside a pipe, five to the other one; a long stall ends the warp's turn.
    assert_eq!(
        made[..2].iter().map(|field| (field.stall, field.yields)).collect::<Vec<_>>(),
        [(4, true), (5, true)]
    );
    assert!(made.iter().all(|field| field.write.is_none() && field.wait == 0));
}

#[test]
fn an_order_without_fields_names_the_instruction_and_the_rule() {
    // Results of matrix instructions take longer than one stall lasts, and nobody before them can make up for it.
    let text = "^a:\n R4:4 = HMMA R8:4, R2:2, R4:4\n R12 = FADD R4, R0\n EXIT !exit";
    let f = function(text);
    let code = Code::new(&f, &[], arch());
    let wrong = rebuild(&code, &Original::new(&code)).expect_err("no such stall");
    let insts: Vec<Inst> = f.blocks().flat_map(|block| f.block_insts(block)).copied().collect();
    assert_eq!((wrong.inst, wrong.producer()), (insts[1], Some(insts[0])), "{wrong}");
    let told = wrong.describe(|inst| f.opcode_text(f.inst(inst).opcode).to_owned());
    assert!(told.starts_with("FADD comes ") && told.ends_with("cycles behind HMMA"), "{told}");
}

#[test]
fn nothing_is_under_way_where_threads_come_together_for_a_moment() {
    let text = "^a:\n R4 = LDG.E global.4[R0]\n WARPSYNC.COLLECTIVE !convergence\n R6 = SHFL R2 !cross_lane\n ENDCOLLECTIVE \
         !convergence\n R5 = FADD R4, R6\n EXIT !exit";
    let made = fields(&function(text));
    let board = |at: usize| 1 << made[at].write.expect("a scoreboard");
    assert_eq!([made[1].wait, made[3].wait & board(2)], [board(0), board(2)]);
    assert_eq!(made[4].wait, 0, "waited for before");
}

#[test]
fn whoever_ordered_memory_and_waited_for_a_load_waits_again() {
    let word =
        |wait: u128, write: u128| format!("raw({:#x})", wait << 116 | write << 110 | 7 << 113 | 1 << 105);
    let text = |fence: u128| {
        format!(
            "^a:\n R4 = LDG.E.STRONG.GPU global.4.volatile[R0] {}\n CCTL !barrier {}\n R5 = LDG.E global.4[R2] {}\n R6 = FADD R4, R5 {}\n \
             EXIT !exit {}",
            word(0, 3),
            word(fence, 7),
            word(0, 4),
            word(0x18, 7),
            word(0, 7)
        )
    };
    let made = fields(&function(&text(1 << 3)));
    assert_eq!(made[1].wait, 1 << made[0].write.expect("a scoreboard"), "an acquire");
    assert_eq!(fields(&function(&text(0)))[1].wait, 0, "only a fence");
}

#[test]
fn a_source_is_kept_for_what_goes_to_the_same_pipes() {
    let kept = |first: &str, second: &str| {
        let body = format!("^a:\n R4 = {first} R0, R2\n R5 = {second} R0, R3\n EXIT !exit");
        let module = parse(&format!("func f sm_90 (R0, R2, R3) {{\n{body}\n}}")).expect("parses");
        let f = &module.functions[0];
        let span = |index| Some(Lane::physical(RegClass::Gpr, index).expect("there").into());
        let sources: Vec<_> =
            f.blocks().flat_map(|block| f.block_insts(block)).map(|_| [span(0), None, None]).collect();
        let code = Code::new(f, &sources, arch());
        let made = rebuild(&code, &Original::new(&code)).expect("fields");
        made[0].reuse & 1 == 1
    };
    assert!(kept("HADD2", "HFMA2") && kept("HADD2", "FFMA") && kept("IADD3", "HMUL2"));
    assert!(kept("HFMA2.MMA", "HFMA2.MMA") && kept("DFMA", "DADD"));
    // Kept for nobody, it would be the operand of the next HADD2 that reads the place (half precision of cuFFT 12.0, H200).
    for (first, second) in
        [("HADD2", "HFMA2.MMA"), ("HFMA2.MMA", "HADD2"), ("DFMA", "FFMA"), ("IADD3", "DADD")]
    {
        assert!(!kept(first, second), "{first}, {second}");
    }
}

#[test]
fn a_source_is_kept_for_threads_that_read_it() {
    let reuse = |first: &str, second: &str, between: &str| {
        let body =
            format!("^a:\n {first}R4 = IADD3 R0, R2\n{between} {second}R5 = IADD3 R0, R3\n EXIT !exit");
        let module = parse(&format!("func f sm_90 (R0, R2, R3, P0) {{\n{body}\n}}")).expect("parses");
        let f = &module.functions[0];
        let span = |index| Some(Lane::physical(RegClass::Gpr, index).expect("there").into());
        let sources: Vec<_> =
            f.blocks().flat_map(|block| f.block_insts(block)).map(|_| [span(0), None, None]).collect();
        let code = Code::new(f, &sources, arch());
        let made = rebuild(&code, &Original::new(&code)).expect("fields");
        made[0].reuse & 1 == 1
    };
    assert!(reuse("", "", ""));
    assert!(reuse("", "@P0 ", ""), "all of them were there");
    assert!(reuse("@P0 ", "@P0 ", ""));
    assert!(!reuse("@P0 ", "", ""), "other threads' may not have been there");
    assert!(!reuse("@P0 ", "@!P0 ", ""));
    assert!(!reuse("@P0 ", "@P0 ", " P0 = ISETP R2\n"), "not the same predicate any more");
}

#[test]
fn blocks_before_stall_once_for_what_is_missing() {
    // The matrix instruction has to settle before WARPSYNC; the block between the two has room for a part of it.
    let text = "^a:\n R10 = MOV R0\n R11 = MOV R0\n^b:\n R9 = IADD3 R10, R0\n WARPSYNC !convergence\n^c:\n \
         R12:4 = HMMA.16816.F32 R4:4, R2:2, R12:4\n R11 = IADD3 R11, R0\n @P0 BRA ^b !branch\n^d:\n EXIT !exit";
    let made = fields(&function(text));
    let stalls: Vec<u32> = made.iter().map(|field| u32::from(field.stall)).collect();
    let around = stalls[4..7].iter().sum::<u32>() + stalls[2];
    assert_eq!(around, 32, "{stalls:?}");
}

#[test]
fn a_load_is_waited_for_where_it_is_used_and_nowhere_else() {
    let text =
        "^a:\n R4 = LDS shared.4[R0]\n R5 = FADD R0, R2\n R6 = FADD R4, R5\n R7 = FADD R4, R6\n EXIT !exit";
    let made = fields(&function(text));
    let board = made[0].write.expect("a load sets a scoreboard");
    assert_eq!(made.iter().map(|field| field.wait).collect::<Vec<_>>(), [0, 0, 1 << board, 0, 0]);
}

#[test]
fn a_wait_comes_no_sooner_than_its_scoreboard_is_set() {
    let made = fields(&function("^a:\n R4 = LDS shared.4[R0]\n R5 = FADD R4, R2\n EXIT !exit"));
    assert_eq!(made[0].stall, 2);
}

#[test]
fn a_source_that_is_still_read_is_not_overwritten() {
    let made = fields(&function("^a:\n global.4[R0] = STG R2\n R2 = FADD R0, R0\n EXIT !exit"));
    let board = made[0].read.expect("its sources are overwritten");
    assert_eq!(made[1].wait, 1 << board);
    // A load may not overwrite in the very next cycle what arithmetic reads: an H200 computes something else.
    let made =
        fields(&function("^a:\n R4 = FADD R0, R2\n R2 = LDS shared.4[R0]\n R5 = FADD R2, R4\n EXIT !exit"));
    assert_eq!(made[0].stall, 2);
}

#[test]
fn pipes_are_kept_apart() {
    let made =
        fields(&function("^a:\n R4:2 = IMAD.WIDE R0, R2\n R6 = FADD R0, R2\n R7 = FADD R0, R0\n EXIT !exit"));
    assert_eq!((made[0].stall, made[1].stall), (4, 1));
}

#[test]
fn loads_that_are_used_apart_have_scoreboards_of_their_own() {
    let text = "^a:\n R4 = LDS shared.4[R0]\n R5 = LDS shared.4[R0+4]\n R6 = FADD R4, R2\n R7 = FADD R5, R2\n EXIT !exit";
    let made = fields(&function(text));
    assert_ne!(made[0].write, made[1].write);
    let text = "^a:\n R4 = LDS shared.4[R0]\n R5 = LDS shared.4[R0+4]\n R6 = FADD R4, R5\n EXIT !exit";
    let made = fields(&function(text));
    assert_eq!(made[0].write, made[1].write);
}

#[test]
fn a_scoreboard_stays_under_way_around_a_loop() {
    let text = "^a:\n R4 = LDG global.4[R0:2]\n^loop:\n R5 = FADD R4, R2\n R4 = LDG global.4[R0:2]\n \
                @P0 BRA ^loop !branch\n^b:\n EXIT !exit";
    let made = fields(&function(text));
    let boards = [made[0].write, made[2].write].map(|board| 1 << board.expect("a load sets a scoreboard"));
    assert_eq!(made[1].wait, boards[0] | boards[1]);
    assert_eq!((made[2].wait, made[3].wait), (0, 0));
}

#[test]
fn the_longest_path_goes_first_and_nothing_is_lost() {
    let text = "^a:\n R4 = FADD R0, R2\n R5 = FADD R0, R0\n R6 = MUFU R0\n R7 = FADD R6, R2\n R8 = FADD R7, R4\n \
                R9 = FADD R8, R5\n EXIT !exit";
    let f = function(text);
    let code = Code::new(&f, &[], arch());
    let settings = Settings { strategy: registry::find("height"), ..Settings::default() };
    let choices = choose(&code, &settings);
    let [choice] = &choices.choices[..] else { panic!("one block") };
    assert_eq!(choice.order[0], Inst::from_u32(2), "the special function comes first");
    assert_eq!(choice.order.last(), Some(&Inst::from_u32(6)));
    let mut sorted = choice.order.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, f.block_insts(choice.block));
    assert_eq!(choose(&code, &settings).choices[0].order, choice.order, "the same every time");
}

#[test]
fn results_that_take_their_time_on_a_sibling_get_a_scoreboard() {
    let text = "func f sm_100 (R0, R2) {\n^a:\n R4:2 = DFMA R0:2, R2:2, R0:2\n R6:2 = DFMA R4:2, R2:2, R0:2\n EXIT !exit\n}";
    let module = parse(text).expect("parses");
    let f = module.functions.into_iter().next().expect("a function");
    let fields = |arch: &str| {
        let code = Code::new(&f, &[], arch.parse().expect("an architecture"));
        let made = rebuild(&code, &Original::new(&code)).expect("fields");
        let insts: Vec<Inst> = f.blocks().flat_map(|block| f.block_insts(block)).copied().collect();
        (made[insts[0].as_u32() as usize].write.is_some(), made[insts[1].as_u32() as usize].wait != 0)
    };
    // What is compiled for sm_100 runs on sm_103 as well.
    assert_eq!(["sm_90", "sm_100", "sm_103"].map(fields), [(false, false), (true, true), (true, true)]);
}

/// Fields of a word: these stalls, and no scoreboards.
fn raw(stall: u128) -> String {
    format!("raw({:#x})", stall << 105 | 1 << 109 | 7 << 110 | 7 << 113)
}

#[test]
fn what_no_table_knows_settles_as_long_as_the_compiler_let_it() {
    let text = |stall: u128| {
        format!(
            "^a:\n UTMACMDFLUSH !barrier {}\n B0 = BSYNC B0 !convergence {}\n EXIT !exit {}",
            raw(stall),
            raw(5),
            raw(5)
        )
    };
    let made = |stall: u128| fields(&function(&text(stall)))[0].stall;
    assert_eq!([made(2), made(9)], [2, 9]);
}

#[test]
fn a_result_that_takes_longer_than_a_stall_is_as_far_away_as_it_came() {
    let text = |stall: u128| {
        format!(
            "^a:\n R4:4 = HMMA R8:4, R2:2, R4:4 {}\n R12 = FADD R4, R0 {}\n EXIT !exit {}",
            raw(stall),
            raw(1),
            raw(5)
        )
    };
    let f = function(&text(14));
    assert_eq!(fields(&f)[0].stall, 14);
    // A wait between takes longer than its stall: then stalls say nothing.
    let waits = text(14).replacen(
        &raw(1),
        &format!("raw({:#x})", 1 << 105 | 1 << 109 | 7 << 110 | 7 << 113 | 1u128 << 116),
        1,
    );
    let f = function(&waits);
    let code = Code::new(&f, &[], arch());
    rebuild(&code, &Original::new(&code)).expect_err("no such stall");
}

#[test]
fn uniform_sources_are_not_overwritten_while_they_are_read() {
    let arch: Arch = "sm_120".parse().expect("an architecture");
    let stall = |writer: &str| {
        let text =
            format!("func f sm_120 (UR4, UR6) {{\n^a:\n UR8 = UIADD3 UR4, UR6\n {writer}\n EXIT !exit\n}}");
        let module = parse(&text).expect("parses");
        let code = Code::new(&module.functions[0], &[], arch);
        rebuild(&code, &Original::new(&code)).expect("fields")[0].stall
    };
    assert_eq!([stall("UR4 = UMOV 0x1"), stall("UR4:2 = UMOV.64 0x1")], [3, 3]);
    assert!(stall("UR4 = UIADD3 UR6, UR6") < 3, "arithmetic writes later");
}

#[test]
fn a_source_is_kept_for_all_threads_once_their_results_are_there() {
    let reuse = |between: &str| {
        let body = format!(
            "^a:\n @!P0 R0 = IADD3 R2, R3\n{between} @P0 R4 = IADD3 R0, R2\n @P0 R5 = IADD3 R0, R3\n EXIT !exit"
        );
        let module = parse(&format!("func f sm_90 (R0, R2, R3, P0) {{\n{body}\n}}")).expect("parses");
        let f = &module.functions[0];
        let insts: Vec<Inst> = f.blocks().flat_map(|block| f.block_insts(block)).copied().collect();
        let span = |index| Some(Lane::physical(RegClass::Gpr, index).expect("there").into());
        let sources: Vec<_> = insts.iter().map(|_| [span(0), None, None]).collect();
        let code = Code::new(f, &sources, arch());
        let made = rebuild(&code, &Original::new(&code)).expect("fields");
        made[insts[insts.len() - 3].as_u32() as usize].reuse & 1 == 1
    };
    assert!(!reuse(""), "results of other threads may not be there");
    let chain: String = (0..4).map(|_| " R2 = IADD3 R2, R3\n").collect();
    assert!(reuse(&chain), "they are by then");
}

#[test]
fn a_kernel_that_times_itself_times_the_same_instructions() {
    // The special function wants to come first, and it is not what is timed.
    let text = |clock: &str| {
        format!(
            "^a:\n R4 = FADD R0, R2\n R5 = FADD R0, R0\n {clock}\n R6 = MUFU R0\n R7 = FADD R6, R2\n R8 = FADD R7, R4\n EXIT !exit"
        )
    };
    let first = |clock: &str| {
        let mut f = function(&text(clock));
        let original = Original::new(&Code::new(&f, &[], arch()));
        original.hold(&mut f);
        let code = Code::new(&f, &[], arch());
        let settings = Settings { strategy: registry::find("height"), ..Settings::default() };
        choose(&code, &settings).choices.first().map_or(Inst::from_u32(0), |choice| choice.order[0])
    };
    assert!(first("R10 = S2R !ordered") > Inst::from_u32(1), "a special register that does not change");
    assert!(first("R10 = CS2R !ordered !convergence") < Inst::from_u32(2), "a clock");
}

#[test]
fn who_reads_a_clock_waits_for_what_is_timed() {
    let word =
        |wait: u128, write: u128| format!("raw({:#x})", wait << 116 | write << 110 | 7 << 113 | 1 << 105);
    let text = |wait: u128| {
        format!(
            "^a:\n R4 = LDG.E global.4[R0] {}\n R10 = CS2R !ordered !convergence {}\n R6 = FADD R4, R10 {}\n EXIT !exit {}",
            word(0, 3),
            word(wait, 7),
            word(8, 7),
            word(0, 7)
        )
    };
    let waits = |wait: u128| fields(&function(&text(wait)))[1].wait != 0;
    assert_eq!([waits(8), waits(0)], [true, false]);
}

#[test]
fn what_came_is_kept_where_it_serves() {
    let word = |stall: u128, write: u128, wait: u128| {
        format!("raw({:#x})", wait << 116 | 7 << 113 | write << 110 | 1 << 109 | stall << 105)
    };
    let text = format!(
        "^a:\n R4 = LDG global.4[R0] {}\n R5 = LDG global.4[R2] {}\n R6 = FADD R4, R2 {}\n R7 = FADD R5, R6 {}\n \
         ^b:\n R8 = FADD R7, R6 {}\n EXIT !exit {}",
        word(6, 3, 0),
        word(2, 3, 0),
        word(9, 7, 1 << 3),
        word(2, 7, 0),
        word(5, 7, 0),
        word(5, 7, 0)
    );
    let f = function(&text);
    let code = Code::new(&f, &[], arch());
    let original = Original::new(&code);
    let made = |keep: Keep<'_>| rebuild_with(&code, &original, keep).expect("fields");
    let boards = |keep: Keep<'_>| made(keep)[..2].iter().map(|field| field.write).collect::<Vec<_>>();
    assert_eq!(boards(Keep::Nothing), [Some(0), Some(1)]);
    let (none, all) = (Default::default(), (0..f.inst_count()).collect());
    assert_eq!(boards(Keep::Blocks(&none)), [Some(3), Some(3)]);
    assert_eq!(made(Keep::Blocks(&none))[2].stall, 4, "stalls are computed");
    let kept = made(Keep::Blocks(&all));
    // The first block is 2 cycles short of what its result needs in the second one: that is mended, and nothing else.
    let stalls: Vec<u8> = kept.iter().map(|field| field.stall).collect();
    assert_eq!(stalls, [6, 2, 9, 4, 5, 5]);
    let other = |field: &Fields| (field.write, field.read, field.wait);
    assert!(kept.iter().map(other).eq(original.fields.iter().map(other)));
}
