//! The hazard checker on small functions whose control fields are written out: `S4 B01 W2 R3 | R1 = FFMA R0, R0, R0`
//! is stall 4, wait for scoreboards 0 and 1, set 2 when the result is there and 3 when the sources are read; `Y` is the
//! hold bit, `U9` keeps operands, `K0:28` has R28 in the first place of operands, `X` a guard that never holds, `N` a matrix instruction that does not end its group, `V1` a wait that leaves one group.

use sassafras_control::{Field, RawControl, volta};
use sassafras_ir::{Function, text};
use sassafras_machine::mined::MinedTable;
use sassafras_verify::hazards::{Came, HazardKind, Paths, Report, Rules, check, rewritten};

/// Puts the control fields of each line into the word behind it. Labels and lines without `|` stay.
fn function(body: &str) -> Function {
    let mut source = String::from("func f sm_90 {\n^entry:\n");
    for line in body.lines().map(str::trim).filter(|l| !l.is_empty()) {
        let Some((fields, inst)) = line.split_once('|') else {
            source += &format!("{line}\n");
            continue;
        };
        let mut raw = RawControl::from_bits_truncate(0);
        let mut set = |field, value| raw = raw.with(field, value).expect("in range");
        set(Field::Write, 7);
        set(Field::Read, 7);
        let mut word = 0u128;
        for part in fields.split_whitespace() {
            let (kind, digits) = part.split_at(1);
            match kind {
                "S" => set(Field::Stall, digits.parse().expect("a stall")),
                "B" => set(Field::Wait, digits.bytes().fold(0, |mask, d| mask | 1 << (d - b'0'))),
                "W" => set(Field::Write, digits.parse().expect("a scoreboard")),
                "R" => set(Field::Read, digits.parse().expect("a scoreboard")),
                "D" => {
                    let (board, count) = digits.split_once(':').expect("D<board>:<count>");
                    word |= board.parse::<u128>().expect("a scoreboard") << 44;
                    word |= count.parse::<u128>().expect("a count") << 38;
                }
                "Y" => set(Field::Yield, 1),
                "U" => set(Field::Reuse, digits.parse().expect("a mask")),
                "K" => {
                    let (place, register) = digits.split_once(':').expect("K<place>:<register>");
                    let low = [24, 32, 64][place.parse::<usize>().expect("a place")];
                    word |= register.parse::<u128>().expect("a register") << low;
                }
                "X" => word |= 15 << 12,
                "G" => {}
                "N" => word |= 7 << 84,
                "V" => word |= 1 << 80 | digits.parse::<u128>().expect("a count") << 72,
                other => panic!("no such field: {other}"),
            }
        }
        source += &format!("  {} raw({:#x})\n", inst.trim(), volta::insert(word, raw));
    }
    source += "}\n";
    match text::parse(&source) {
        Ok(mut module) => module.functions.remove(0),
        Err(error) => panic!("{}", error.render("test", &source, false)),
    }
}

/// Distances and opcodes as the mined tables spell them.
fn rules() -> Rules {
    let distances = "hazard,file,producer,half,consumer,use,slot,observed_min,safe,seen,kernels,files,source\n\
        raw,R,fma,low,fma,operand,,4,4,100,9,3,test\n\
        raw,R,alu,low,fma,operand,,5,5,100,9,3,test\n\
        raw,P,alu,low,any,branch,,13,13,100,9,3,test\n\
        waw,R,fma,low,fma,overwrite,,1,1,100,9,3,test\n";
    let opcodes = "opcode,decoupled,min_stall,seen,kernels,write_board,read_board,source\n\
        BRA,no,5,100,9,0,0,test\n";
    Rules::new(MinedTable::parse("sm_90", distances, opcodes).expect("a table"))
}

fn report(body: &str) -> Report {
    check(&function(body), &rules())
}

/// A hazard: its kind, the cycles that are needed, none for a scoreboard, and those that there are.
type Found = (HazardKind, Option<u16>, u16);

fn found(report: &Report) -> Vec<Found> {
    report.findings.iter().map(|f| (f.kind, f.needed, f.given)).collect()
}

fn kinds(body: &str) -> Vec<Found> {
    found(&report(body))
}

/// What is found in a body, `{}` in it being each of these.
fn each(body: &str, cases: &[(&str, &[Found])]) {
    for (text, expected) in cases {
        assert_eq!(kinds(&body.replace("{}", text)), *expected, "{text}");
    }
}

#[test]
fn fixed_latencies_need_their_cycles() {
    let two =
        |stall: u8| format!("S{stall} | R1 = FFMA R0, R0, R0\nS1 | R2 = FFMA R1, R0, R0\nS1 | EXIT !exit");
    assert_eq!(kinds(&two(4)), []);
    assert_eq!(kinds(&two(3)), [(HazardKind::Raw, Some(4), 3)]);
    // Stalls on the way add up.
    assert_eq!(
        kinds(
            "S2 | R1 = FFMA R0, R0, R0\nS2 | R3 = FFMA R0, R0, R0\nS1 | R2 = FFMA R1, R0, R0\nS1 | EXIT !exit"
        ),
        []
    );
    assert_eq!(
        kinds("S12 | P0 = ISETP R0, R0\nS5 | @P0 BRA ^entry !branch\n^out:\nS1 | EXIT !exit"),
        [(HazardKind::Raw, Some(13), 12)]
    );
}

#[test]
fn pairs_that_nobody_has_seen_are_counted() {
    let counts = |body: &str| {
        let report = report(body);
        (report.findings.len(), report.unknown)
    };
    assert_eq!(counts("S1 | UR1 = UIADD3 UR0, UR0\nS1 | UR2 = UIADD3 UR1, UR0\nS1 | EXIT !exit"), (0, 1));
    let threads = "S1 | R1 = IADD3 R0, R0\nS1 | R2 = IADD3 R1, R0\nS1 | EXIT !exit";
    assert_eq!(counts(threads), (1, 0), "no row, but no result of a thread is there after 1 cycle");
}

#[test]
fn loads_need_their_scoreboard() {
    each(
        "S{} | R1 = LDG.E global.4[R4]\nS4 B0 | R2 = FFMA R1, R0, R0\nS1 | EXIT !exit",
        &[
            ("2 W0", &[]),
            ("2 W1", &[(HazardKind::Raw, None, 2)]),
            // The newest setter counts, and a wait one cycle after it misses.
            ("1 W0", &[(HazardKind::WaitTooSoon, Some(2), 1)]),
        ],
    );
}

#[test]
fn nothing_is_under_way_where_threads_come_together_for_a_moment() {
    let load = "S2 W0 | R1 = LDG.E global.4[R4]\nS5 {} | WARPSYNC.COLLECTIVE !convergence\nS1 | EXIT !exit";
    let settled = |fields: &str, text: &str| {
        let f = function(&text.replace("{}", fields));
        assert_eq!(kinds(&text.replace("{}", fields)), [], "compiled code may leave it so");
        let found = rewritten(&f, &Came::of(&f), Rules::of("sm_90".parse().expect("an architecture")));
        found.iter().filter(|finding| finding.kind == HazardKind::Settle).count()
    };
    assert_eq!([settled("B0", load), settled("", load)], [0, 1]);
    // Nor is anything that they did together when they part.
    let shuffle = "S2 R1 W0 | R1 = SHFL R4\nS5 {} | ENDCOLLECTIVE !convergence\nS1 | EXIT !exit";
    assert_eq!([settled("B01", shuffle), settled("B1", shuffle)], [0, 1]);
    // Threads that stay together may wait later.
    assert_eq!(kinds("S2 W0 | R1 = LDG.E global.4[R4]\nS5 | WARPSYNC !convergence\nS1 | EXIT !exit"), []);
}

#[test]
fn sources_of_stores_must_be_read_before_they_change() {
    each(
        "S2 R3 | global.4[R4] = STG R1\nS4 {} | R1 = FFMA R0, R0, R0\nS1 | EXIT !exit",
        &[("B3", &[]), ("B0", &[(HazardKind::War, None, 2)])],
    );
    // A result that has been waited for implies that the address was read.
    assert_eq!(
        kinds(
            "S2 W1 | R8 = LDG.E global.4[R4]\nS2 B1 | R9 = FFMA R8, R0, R0\nS2 | R4 = FFMA R0, R0, R0\nS1 | EXIT !exit"
        ),
        []
    );
}

#[test]
fn results_return_in_order_inside_a_pipe() {
    each(
        "S1 | R1 = LDS shared.4[R4]\nS2 W0 | R2 = LDS shared.4[R4+4]\nS4 {} | R3 = FFMA R1, R0, R0\nS1 | EXIT !exit",
        &[("B0", &[]), ("", &[(HazardKind::Raw, None, 3)])],
    );
}

#[test]
fn depbar_counts() {
    // One may stay under way: the older load is there.
    each(
        "S2 W0 | R1 = LDG.E global.4[R8]\nS2 W0 | R2 = LDG.E global.4[R8+4]\nS4 D0:{} | DEPBAR.LE\n\
         S4 | R3 = FFMA R1, R0, R0\nS1 | EXIT !exit",
        &[("1", &[]), ("2", &[(HazardKind::Raw, None, 8)])],
    );
}

#[test]
fn depbar_counts_for_what_a_later_result_implies() {
    // Textures come back in order: the first is there when the second is, which leaves one under way.
    each(
        "S2 | R1 = TEX R8\nS2 W0 | R2 = TEX R9\nS2 W0 | R3 = TEX R10\nS4 D0:{} | DEPBAR.LE\n\
         S4 | R4 = FFMA R1, R2, R0\nS1 | EXIT !exit",
        &[("1", &[]), ("2", &[(HazardKind::Raw, None, 10), (HazardKind::Raw, None, 8)])],
    );
}

#[test]
fn what_is_under_way_crosses_branches_and_back_edges() {
    // The loop's FFMA reads its own result of the iteration before: the branch adds its stall.
    let body = |stall: u8| {
        format!("^loop:\nS{stall} | R1 = FFMA R1, R0, R0\nS5 | @P0 BRA ^loop !branch\n^out:\nS1 | EXIT !exit")
    };
    assert_eq!(kinds(&body(1)), []);
    let short = body(1).replace("S5 | @P0", "S2 | @P0");
    assert_eq!(kinds(&short), [(HazardKind::Raw, Some(4), 3), (HazardKind::Stall, Some(5), 2)]);
    let found = report(&short);
    let f = function(&short);
    let names: Vec<_> =
        Paths::new(&f).of(&found.findings[0]).iter().map(|&b| f.block_name(b).to_owned()).collect();
    assert_eq!(names, ["loop", "loop"], "around the loop");
    // Waited for on one path only.
    let diamond = "S2 W0 | R1 = LDG.E global.4[R8]\nS5 | @P0 BRA ^join !branch\n^left:\nS2 B0 | NOP\n^join:\n\
                   S4 | R2 = FFMA R1, R0, R0\nS1 | EXIT !exit";
    assert_eq!(kinds(diamond), [(HazardKind::Raw, None, 7)]);
}

#[test]
fn a_wait_credits_what_the_awaited_takes_at_least() {
    // The load takes at least 20 cycles; 3 have passed when it is waited for, so at least 17 more go by.
    let body = "S2 W0 | R9 = LDS shared.4[R4]\nS1 | R1 = FFMA R0, R0, R0\nS1 B0 | R2 = FFMA R1, R9, R0\nS1 | EXIT !exit";
    assert_eq!(kinds(body), []);
    let shuffle = body.replace("LDS shared.4[R4]", "SHFL R4");
    assert_eq!(
        kinds(&shuffle),
        [(HazardKind::Raw, Some(4), 1)],
        "no least latency is known for it: no credit"
    );
    let guarded = body.replace("| R9", "| @P0 R9");
    assert_eq!(
        kinds(&guarded),
        [(HazardKind::Raw, Some(4), 1)],
        "it may not run, and then nothing is awaited"
    );
}

#[test]
fn opposite_guards_never_meet() {
    let body = |second: &str, between: &str| {
        format!(
            "S2 W0 | @P0 R1 = LDG.E global.4[R8]\n{between}S4 | {second} R2 = FFMA R1, R0, R0\nS1 | EXIT !exit"
        )
    };
    assert_eq!(kinds(&body("@!P0", "")), []);
    assert_eq!(kinds(&body("@P0", "")), [(HazardKind::Raw, None, 2)]);
    assert_eq!(kinds(&body("@!P1", "")), [(HazardKind::Raw, None, 2)]);
    let redefined = "S13 | P0 = ISETP R9, R10\n";
    assert_eq!(
        kinds(&body("@!P0", redefined)),
        [(HazardKind::Raw, None, 15)],
        "the predicate is another one"
    );
}

#[test]
fn sources_are_read_in_order_inside_a_queue() {
    // A later load may overwrite what an earlier store reads; arithmetic may not.
    let body = |second: &str| format!("S4 | shared.4[R4] = STS R1\nS2 {second}\nS1 | EXIT !exit");
    assert_eq!(kinds(&body("W0 | R1 = LDS shared.4[R8]")), []);
    assert_eq!(kinds(&body("| R1 = FFMA R0, R0, R0")), [(HazardKind::War, None, 4)]);
    // On older machines a barrier that holds the warp lets it go on when the queue before it is empty.
    let held = function(&body("| BAR.SYNC !barrier\nS2 | R1 = FFMA R0, R0, R0"));
    let overwrites = |arch: &str| {
        let report = check(&held, Rules::of(arch.parse().expect("an architecture")));
        report.findings.iter().filter(|f| f.kind == HazardKind::War).count()
    };
    assert_eq!([overwrites("sm_75"), overwrites("sm_80"), overwrites("sm_90")], [0, 0, 1]);
}

#[test]
fn stall_zero_drains() {
    assert_eq!(kinds("S0 | R1 = FFMA R0, R0, R0\nS1 | R2 = FFMA R1, R0, R0\nS1 | EXIT !exit"), []);
}

#[test]
fn warpgroup_matrix_instructions_are_waited_for_by_groups() {
    // `G` ends a group; `V<n>` leaves n groups under way.
    let body = |left: &str| {
        format!(
            "S2 G | R4:2 = HGMMA.F32 R4:2\nS2 G | R8:2 = HGMMA.F32 R8:2\nS2 V{left} | WARPGROUP !barrier\n\
             S4 | R1 = FFMA R4, R0, R0\nS1 | EXIT !exit"
        )
    };
    assert_eq!(kinds(&body("0")), []);
    assert_eq!(kinds(&body("1")), []);
    assert_eq!(kinds(&body("2")), [(HazardKind::Raw, None, 6)]);
    // One accumulator after the other needs no wait; a group that nobody ended is never done.
    let chain = "S2 G | R4:2 = HGMMA.F32 R4:2\nS2 N | R4:2 = HGMMA.F32 R4:2\nS2 V0 | WARPGROUP !barrier\n\
                 S4 | R1 = FFMA R4, R0, R0\nS1 | EXIT !exit";
    assert_eq!(kinds(chain), [(HazardKind::Raw, None, 4)]);
    assert_eq!(kinds(&chain.replace("S2 N", "S2 G")), []);
}

#[test]
fn a_wait_at_a_warpgroup_product_holds_for_what_follows() {
    let body = |load: &str, product: &str, last: &str| {
        let product = format!("S4 B0 N | R24:64 = HGMMA {product}");
        kinds_on(
            "sm_90",
            &format!("S4 W0 | {load}\n{product}\nS15 | {last}\nS5 V0 | WARPGROUP.DEPBAR\nS5 | EXIT !exit"),
        )
    };
    assert_eq!(body("UR4 = S2UR", "R88:4, UR20, R24:64", "UR8 = ULEA UR4, UR5"), []);
    let multiplied = body("R88 = LDS shared.4[R2]", "R88:4, UR20, R24:64", "UR8 = ULEA UR4, UR5");
    assert_eq!(multiplied, [HazardKind::Raw], "its own registers have to be there before");
}

#[test]
fn fields_that_mean_nothing_are_reported() {
    // Sparse matrix instructions have a fourth operand to keep; others have not.
    assert_eq!(kinds("S2 Y U9 | R4:4 = HMMA.SP R8:4, R12:4, R4:4, R16\nS1 | EXIT !exit"), []);
    assert_eq!(kinds("S2 Y U8 | R4 = FFMA R0, R0, R0\nS1 | EXIT !exit"), [(HazardKind::Field, None, 0)]);
    // Stall 12 and more exists only without the hold bit.
    assert_eq!(kinds("S12 Y | NOP\nS1 | EXIT !exit"), [(HazardKind::Field, None, 0)]);
    assert_eq!(kinds("S12 | NOP\nS1 | EXIT !exit"), []);
}

#[test]
fn what_is_kept_at_hand_is_there_for_all_threads() {
    let body = |stall: u8, reuse: u8| {
        format!(
            "S{stall} Y | @!P0 R28 = IMAD.MOV R37\nS5 Y U{reuse} K0:28 | @P0 R29 = IMAD R28, R27\nS5 Y K0:28 | R30 = VIADD R28\n\
             S5 Y | EXIT !exit"
        )
    };
    assert_eq!(kinds_on("sm_90", &body(2, 0)), [], "guards exclude each other");
    assert_eq!(kinds_on("sm_90", &body(4, 1)), []);
    assert_eq!(kinds_on("sm_90", &body(2, 1)), [HazardKind::Raw], "the old one of other threads is kept");
}

#[test]
fn an_acquire_stays_one() {
    let body = |wait: &str, last: &str| {
        format!(
            "S4 W0 | R4 = LDG.E.STRONG.GPU global.4.volatile[R2:2]\nS4 {wait} | CCTL !barrier\nS2 W1 | R5 = LDG global.4[R6:2]\n\
             S5 {last} | R7 = IADD3 R4, R5\nS5 | EXIT !exit"
        )
    };
    assert!(!closer(&body("B0", "B1"), &body("B0", "B01")));
    assert!(closer(&body("B0", "B1"), &body("", "B01")), "the fence no longer waits");
    assert!(!closer(&body("", "B01"), &body("", "B01")), "it never did");
}

#[test]
fn nothing_stands_closer_than_was_ever_seen() {
    let body =
        |stall| format!("S{stall} | BAR.RED !barrier\nS2 W0 | R4 = B2R.RESULT !barrier\nS5 B0 | EXIT !exit");
    assert_eq!(kinds_on("sm_90", &body(6)), []);
    assert!(kinds_on("sm_90", &body(5)).contains(&HazardKind::Unseen));
    // A high half of a wide product was never seen less than seven cycles before a sum with carry, often, and FBGEMM leaves six: no reader of it is known to
    // need more.
    let wide = |stall| {
        format!("S{stall} | R4:2 = IMAD.WIDE R0, R1, R2:2\nS5 | R6 = IADD3.X R5, R7, R8, P0\nS5 | EXIT !exit")
    };
    assert_eq!(kinds_on("sm_90", &wide(6)), []);
    assert!(!kinds_on("sm_90", &wide(3)).is_empty());
}

#[test]
fn a_stall_behind_which_control_goes_elsewhere_is_no_ones_business() {
    let body = |stall: u8| format!("S2 | R4 = IADD3 R0, R1\nS{stall} | CALL.REL !call\nS5 | EXIT !exit");
    assert_eq!(kinds_on("sm_90", &body(1)), []);
    let last = |stall: u8| format!("S2 | R4 = IADD3 R0, R1\nS{stall} | EXIT !exit");
    assert_eq!(kinds_on("sm_90", &last(1)), []);
    // Whoever writes code keeps to what was seen.
    assert!(closer(&last(5), &last(1)));
}

/// Whether something was brought closer than it may be: bodies as they came and as they are, with the same instructions.
fn closer(came: &str, now: &str) -> bool {
    let rules = Rules::of("sm_90".parse().expect("an architecture"));
    !rewritten(&function(now), &Came::of(&function(came)), rules).is_empty()
}

#[test]
fn who_moves_code_keeps_every_distance_that_was_seen() {
    let red = |stall| format!("S{stall} | BAR.RED !barrier\nS2 | R4 = B2R.RESULT !barrier\nS5 | EXIT !exit");
    assert_eq!((closer(&red(6), &red(6)), closer(&red(6), &red(5))), (false, true));
    // A compiler that comes closer may know why; whoever moves its code does not come closer still.
    assert_eq!((closer(&red(5), &red(5)), closer(&red(5), &red(4))), (false, true));
    // Nothing is known of the two: they keep what they have.
    let rare = |stall| format!("S{stall} | BAR.SCAN !barrier\nS2 | LEPC\nS5 | EXIT !exit");
    assert_eq!((closer(&rare(4), &rare(4)), closer(&rare(4), &rare(3))), (false, true));
    // Plain arithmetic has rules, and nothing else.
    let plain = |stall| format!("S{stall} | R4 = IADD3 R0, R1\nS5 | R5 = LOP3 R0, R1\nS5 | EXIT !exit");
    assert!(!closer(&plain(4), &plain(2)));
}

#[test]
fn pairs_of_which_nothing_is_known_keep_their_order() {
    let came = "S4 | BAR.SCAN !barrier\nS2 | R4 = LEPC\nS15 | NOP\nS5 | EXIT !exit";
    let mut f = function(came);
    let as_it_came = Came::of(&f);
    let block = f.blocks().next().expect("a block");
    let mut order = f.block_insts(block).to_vec();
    order.swap(0, 1);
    f.reorder(block, &order);
    let rules = Rules::of("sm_90".parse().expect("an architecture"));
    assert!(!rewritten(&f, &as_it_came, rules).is_empty());
}

/// Kinds by the tables of an architecture.
fn kinds_on(arch: &str, body: &str) -> Vec<HazardKind> {
    let rules = Rules::of(arch.parse().expect("an architecture"));
    check(&function(body), rules).findings.iter().map(|f| f.kind).collect()
}

/// Kinds by the tables of an architecture in a body, `{}` in it being each of these.
fn each_on(arch: &str, body: &str, cases: &[(&str, &[HazardKind])]) {
    for (text, expected) in cases {
        assert_eq!(kinds_on(arch, &body.replace("{}", text)), *expected, "{arch}: {text}");
    }
}

#[test]
fn the_predicate_of_a_generic_atomic_is_there_when_its_sources_are_read() {
    // The result is later than the sources.
    each_on(
        "sm_90",
        "S2 R1 W0 | P0, R1 = ATOM R9, global.4[R8]\nS5 {} | @P0 R5 = FFMA R0, R0, R0\nS5 B0 | EXIT !exit",
        &[("B1", &[]), ("B0", &[]), ("", &[HazardKind::Raw])],
    );
}

#[test]
fn a_fence_is_finished_when_stores_before_it_are() {
    each_on(
        "sm_100",
        "S2 | shared.4[R8] = STTM R4\nS2 W0 | FENCE !barrier\nS4 {} | R4 = FFMA R0, R0, R0\nS5 | EXIT !exit",
        &[("B0", &[]), ("", &[HazardKind::War])],
    );
}

#[test]
fn matrix_instructions_add_in_turn() {
    let second = |text: &str| format!("S4 | R4:2 = DMMA R0, R1, R4:2\nS4 | {text}\nS5 | EXIT !exit");
    assert_eq!(kinds_on("sm_103", &second("R4:2 = DMMA R2, R3, R4:2")), []);
    assert_eq!(kinds_on("sm_103", &second("R8:2 = DMMA R2, R3, R4:2")), []);
    assert!(kinds_on("sm_103", &second("R8:2 = DMMA R4, R3, R6:2")).contains(&HazardKind::Raw));
    assert!(kinds_on("sm_103", &second("R9 = FADD R4, R8")).contains(&HazardKind::Raw));
}

/// A matrix instruction of fixed latency, with these registers as its result and its addend.
fn hmma(result: &str, addend: &str) -> String {
    format!("{result} = HMMA R8:4, R12:2, {addend}")
}

#[test]
fn addends_of_fixed_latency_need_their_cycles() {
    let second = hmma("R4:4", "R4:4");
    // The first adds to zero, or to registers.
    for (arch, first, cycles) in [
        ("sm_90", second.as_str(), 24),
        ("sm_90", "R4:4 = HMMA R8:4, R12:2", 24),
        ("sm_86", second.as_str(), 24),
        ("sm_100", "R4:4 = HMMA R8:4, R12:2", 20),
        ("sm_120", second.as_str(), 28),
    ] {
        let chain = |stall: u8| format!("S15 | {first}\nS{stall} | NOP\nS5 | {second}\nS1 | EXIT !exit");
        assert_eq!(held_up(arch, &chain(cycles - 15)), [], "{arch}: {first}");
        let few = held_up(arch, &chain(cycles - 16));
        // One a lane.
        let given = u16::from(cycles);
        assert_eq!(few, [(HazardKind::Raw, Some(given), given - 1); 4], "{arch}: {first}");
    }
    // Where scoreboards are set, the next one waits for its turn.
    let guarded = format!("S8 W0 | {second}\nS5 | {second}\nS1 | EXIT !exit");
    assert_eq!(held_up("sm_90", &guarded), []);
    // Across a back edge.
    let looped = |stall: u8| {
        format!("^loop:\nS{stall} | {second}\nS10 | @P0 BRA ^loop !branch\n^out:\nS1 | EXIT !exit")
    };
    assert_eq!(held_up("sm_90", &looped(14)), []);
    assert_eq!(held_up("sm_90", &looped(13)), [(HazardKind::Raw, Some(24), 23); 4]);
}

/// Without the distances: only what pipes, the warp's turn and sources ask for.
fn held_up(arch: &str, body: &str) -> Vec<Found> {
    let rules = Rules::default().with_pipes(arch.parse().expect("an architecture"));
    found(&check(&function(body), &rules))
}

/// Two instructions, and so many cycles from the first to the second.
fn two(stall: u8, first: &str, second: &str) -> String {
    format!("S{stall} | {first}\nS8 | {second}\nS1 | EXIT !exit")
}

/// The second needs so many cycles behind the first: one less is found, as this kind.
fn needs(arch: &str, kind: HazardKind, first: &str, second: &str, cycles: u8) {
    assert_eq!(held_up(arch, &two(cycles, first, second)), [], "{arch}: {first}; {second}");
    if cycles > 1 {
        let few = held_up(arch, &two(cycles - 1, first, second));
        let needed = u16::from(cycles);
        assert_eq!(few, [(kind, Some(needed), needed - 1)], "{arch}: {first}; {second}");
    }
}

#[test]
fn a_load_may_not_overwrite_what_is_read_a_cycle_before() {
    for (arch, first, second, cycles) in [
        ("sm_90", "R1 = FFMA R4, R5, R6", "R5 = LDG.E global.4[R8]", 2),
        ("sm_70", "P0 = ISETP R4, R5", "R5 = LDS shared.4[R8]", 2),
        ("sm_120", "R1 = IADD3 R4, R5", "R5 = MUFU R8", 2),
        ("sm_90", "R1 = FFMA R4, R5, R6", "R5 = FADD R8, R9", 1),
        ("sm_90", "R1 = FFMA R4, R5, R6", "R7 = LDG.E global.4[R8]", 1),
        // Loads take longer than matrix instructions read; and compiled code has FP64 sources overwritten at once.
        ("sm_90", "R16:4 = HMMA R4:4, R8:2", "R5 = LDSM shared.4[R12]", 1),
        ("sm_90", "R2 = DFMA R4, R5, R6", "R5 = LDG.E global.4[R8]", 1),
        // A guard is read when the instruction goes.
        ("sm_90", "@P0 R1 = FFMA R4, R5, R6", "P0, R7 = LDS shared.4[R8]", 1),
    ] {
        needs(arch, HazardKind::War, first, second, cycles);
    }
    let guarded = |second| two(1, "@P0 R1 = FFMA R4, R5, R6", second);
    assert_eq!(held_up("sm_90", &guarded("@!P0 R5 = LDG.E global.4[R8]")), [], "never both");
    assert_eq!(held_up("sm_90", &guarded("@P1 R5 = LDG.E global.4[R8]")), [(HazardKind::War, Some(2), 1)]);
    // Over the edge of a block, by the shorter way.
    let across = |stall: u8| {
        format!(
            "S4 | P0 = ISETP R0, R0\nS1 | @P0 BRA ^out !branch\n^next:\nS{stall} | R1 = FFMA R4, R5, R6\n^out:\n\
             S8 | R5 = LDG.E global.4[R8]\nS1 | EXIT !exit"
        )
    };
    assert_eq!(held_up("sm_90", &across(2)), []);
    assert_eq!(held_up("sm_90", &across(1)), [(HazardKind::War, Some(2), 1)]);
}

#[test]
fn matrix_instructions_read_for_long() {
    for (arch, second, cycles) in [
        ("sm_80", "R5 = MOV R20", 7),
        ("sm_90", "R5 = MOV R20", 7),
        ("sm_90", "R12 = FADD R20, R21", 7),
        ("sm_120", "R5 = MOV R20", 8),
        ("sm_100", "R5 = MOV R20", 1),
    ] {
        needs(arch, HazardKind::War, "R16:4 = HMMA R4:4, R8:2, R12:4", second, cycles);
    }
    needs("sm_80", HazardKind::War, "R16:4 = IMMA R4:2, R8, R12:4", "R5 = MOV R20", 1);
    needs("sm_80", HazardKind::War, "R16:4 = IMMA R4:4, R8:2, R12:4", "R5 = MOV R20", 7);
    // One behind the other they read in turn.
    needs("sm_90", HazardKind::Pipe, "R16:4 = HMMA R4:4, R8:2", "R4:4 = HMMA R20:4, R24:2", 6);
    // One that says when its sources have been read is waited for.
    let guarded =
        |wait| format!("S2 R0 | R16:4 = HMMA R4:4, R8:2\nS8 {wait} | R5 = MOV R20\nS1 | EXIT !exit");
    assert_eq!(held_up("sm_90", &guarded("B0")), []);
    assert_eq!(held_up("sm_90", &guarded("")), [(HazardKind::War, None, 2)]);
}

#[test]
fn pipes_take_an_instruction_when_they_are_free() {
    for (arch, first, second, cycles) in [
        ("sm_90", "R1 = IADD3 R0, R0", "R2 = LOP3 R3, R4", 2),
        ("sm_120", "R1 = IADD3 R0, R0", "R2 = LOP3 R3, R4", 2),
        ("sm_120", "R1 = IADD3 R0, R0", "P0 = ISETP R3, R4", 1),
        ("sm_90", "R2 = IMAD.WIDE R0, R1", "R4 = FFMA R5, R6, R7", 4),
        ("sm_86", "R2 = IMAD.WIDE R0, R1", "R4 = FFMA R5, R6, R7", 1),
        ("sm_90", "R2 = IMAD.WIDE R0, R1", "R4 = IMAD R5, R6, R7", 4),
        // Older machines hold a warp back by themselves.
        ("sm_86", "R2 = IMAD.WIDE R0, R1", "R4 = IMAD R5, R6, R7", 1),
        ("sm_86", "R2:2 = DADD R0, R4", "R6:2 = DADD R8, R10", 1),
        ("sm_80", "R2 = S2R", "R3 = S2R", 1),
        ("sm_90", "R2:2 = DADD R0, R4", "R6:2 = DADD R8, R10", 2),
        // So do all for what comes from constant memory.
        ("sm_75", "R2 = LDC R0", "R3 = LDC R1", 1),
        ("sm_100", "R2 = LDC R0", "R3 = LDC R1", 1),
        ("sm_90", "R2 = FFMA R0, R1, R1", "R4 = FFMA R5, R6, R7", 1),
        ("sm_80", "R2 = FFMA R0, R1, R1", "R4 = FFMA R5, R6, R7", 1),
        ("sm_90", "R1 = MUFU R0", "R2 = MUFU R3", 8),
        ("sm_90", "R1 = LDG.E global.4[R4]", "R2 = LDS shared.4[R6]", 4),
        ("sm_90", "B0 = BSSY", "BRA ^entry !branch", 4),
        ("sm_90", "BAR", "R2 = LDS shared.4[R6]", 6),
        // The one holds the other up, but not the other way round.
        ("sm_90", "R2 = LDS shared.4[R6]", "BAR", 1),
        // The shape of a matrix instruction counts.
        ("sm_90", "R16:4 = HMMA R4:4, R8:2, R12:4", "R24:4 = HMMA R4:4, R8:2, R12:4", 6),
        ("sm_90", "R16:4 = HMMA R4:2, R8, R12:4", "R24:4 = HMMA R4:2, R8, R12:4", 4),
    ] {
        needs(arch, HazardKind::Pipe, first, second, cycles);
    }
    // What stands between counts, and what never runs goes nowhere.
    let between =
        "S1 | R2 = IMAD.WIDE R0, R1\nS2 | R9 = SEL R0, R1\nS1 | R4 = FFMA R5, R6, R7\nS1 | EXIT !exit";
    assert_eq!(held_up("sm_90", between), [(HazardKind::Pipe, Some(4), 3)]);
    let never = "S1 X | R1 = LDS shared.4[R4]\nS1 | R2 = LDS shared.4[R6]\nS1 | EXIT !exit";
    assert_eq!(held_up("sm_90", never), []);
    // Compiled code counts nothing across the edge of a block.
    let across = "S1 | R1 = MUFU R0\nS5 | @P0 BRA ^out !branch\n^out:\nS1 | R2 = MUFU R3\nS1 | EXIT !exit";
    assert_eq!(held_up("sm_90", across), []);
}

#[test]
fn everything_settles_before_the_turn_goes_to_other_threads() {
    for (arch, first, cycles) in [
        ("sm_90", "R1 = IADD3 R0, R0", 2),
        ("sm_90", "P0 = ISETP R0, R0", 8),
        ("sm_90", "R2 = DADD R0, R4", 6),
        ("sm_90", "UR4 = UMOV UR5", 2),
        ("sm_80", "R1 = IADD3 R0, R0", 2),
        ("sm_80", "R2 = IMAD.WIDE R0, R1", 2),
    ] {
        needs(arch, HazardKind::Settle, first, "B1 = BSYNC B0", cycles);
    }
    // Some tell by scoreboards when they are done, and what has no result needs no time.
    for first in ["R2 = LDG.E global.4[R4]", "R2 = LDL local.4[R4]", "R2 = MUFU R4"] {
        assert_eq!(held_up("sm_90", &two(1, first, "B1 = BSYNC B0")), [], "{first}");
    }
    let settles = |first: &str| kinds_on("sm_90", &two(1, first, "B1 = BSYNC B0")).is_empty();
    assert!(settles("CS2R") && !settles("R2 = CS2R"));
    // Over the edge of a block, too: the shorter way counts.
    let joined = "S3 | P1 = ISETP R0, R0\nS5 | @P0 BRA ^out !branch\n^long:\nS9 | NOP\n^out:\nS5 | B1 = BSYNC B0\nS1 | EXIT !exit";
    assert_eq!(held_up("sm_90", joined), []);
    let joined = joined.replace("S3 |", "S2 |");
    assert_eq!(held_up("sm_90", &joined), [(HazardKind::Settle, Some(8), 7)]);
}

#[test]
fn who_has_no_address_or_goes_elsewhere_needs_no_pipe() {
    let [cctl, load] = ["CCTL !barrier", "R2 = LDL local.4[R4]"];
    assert_eq!(held_up("sm_90", &two(1, cctl, load)), []);
    needs("sm_90", HazardKind::Pipe, "R6 = LDG.E global.4[R8]", load, 4);
    let bssy = "B0 = BSSY";
    assert_eq!(held_up("sm_90", &two(1, bssy, "CALL R4 !call")), []);
    needs("sm_90", HazardKind::Pipe, bssy, "BRA ^entry !branch", 4);
}

#[test]
fn a_pair_without_a_row_needs_what_its_classes_do() {
    let distances = "hazard,file,producer,half,consumer,use,slot,observed_min,safe,seen,kernels,files,source\n\
        raw,R,alu,low,any,operand,,5,5,100,9,3,test\n\
        raw,R,alu,low,fma,operand,,4,4,100,9,3,test\n\
        raw,R,fp64,low,any,operand,,9,9,100,9,3,test\n\
        raw,R,HMMA:4/4/2,low,any,operand,,20,20,100,9,3,test\n\
        raw,P,alu,low,any,guard,,13,13,100,9,3,test\n\
        raw,R,half,low,fma,operand,,7,7,100,9,3,test\n";
    let opcodes = "opcode,decoupled,min_stall,seen,kernels,write_board,read_board,source\n";
    let rules = Rules::new(MinedTable::parse("sm_90", distances, opcodes).expect("a table"));
    let said = |stall: u8, first: &str, second: &str| {
        let report = check(&function(&two(stall, first, second)), &rules);
        (found(&report), report.unknown)
    };
    let load = "W0 | R4 = LDG.E global.4[R1]";
    let said_of_load = |stall: u8| {
        let body = format!("S{stall} | R1 = IADD3 R0, R0\nS4 {load}\nS15 | EXIT !exit");
        let report = check(&function(&body), &rules);
        (found(&report), report.unknown)
    };
    assert_eq!(said_of_load(4), (vec![], 0), "an address: no row, but no reader is sooner than 4");
    assert_eq!(said_of_load(3), (vec![(HazardKind::Raw, Some(4), 3)], 0));
    let [long, short] = ["R2 = DADD R6, R8", "R2 = IADD3 R0, R0"];
    assert_eq!(said(5, long, short), (vec![], 0), "9 cycles and 4: it finishes in order after 5");
    assert_eq!(said(4, long, short), (vec![(HazardKind::Waw, Some(5), 4)], 0));
    assert_eq!(said(1, short, long), (vec![], 0));
    let other_shape = "R8:2 = HMMA R16:4, R20:2, R8:2";
    assert_eq!(said(15, other_shape, "R2 = IADD3 R8, R0"), (vec![(HazardKind::Raw, Some(20), 15)], 0));
    let smaller = "R8:4 = HMMA R16:2, R18";
    assert_eq!(
        said(4, smaller, "R2 = IADD3 R8, R0"),
        (vec![], 0),
        "it runs for less long, but not under 4 cycles"
    );
    assert_eq!(said(3, smaller, "R2 = IADD3 R8, R0"), (vec![(HazardKind::Raw, Some(4), 3)], 0));
    let [writes, reads] = ["P0 = ISETP R0, R0", "R2 = SEL P0, R0"];
    assert_eq!(
        said(4, writes, reads),
        (vec![], 1),
        "operands are read later than guards, the only readers that are known"
    );
    let thin = "R2 = HADD2 R6, R8";
    assert_eq!(said(4, thin, "R5 = IADD3 R2, R0"), (vec![], 0), "one row says little of a class");
    assert_eq!(said(3, thin, "R5 = IADD3 R2, R0"), (vec![(HazardKind::Raw, Some(4), 3)], 0));
}

#[test]
fn the_odd_register_of_an_addend_is_read_late() {
    let body = |arch: &str, stall: u8, operands: &str| {
        kinds_on(
            arch,
            &format!("S{stall} | R17 = SEL R0, P0\nS15 | R20:2 = IMAD.WIDE {operands}\nS5 | EXIT !exit"),
        )
    };
    for arch in ["sm_80", "sm_90", "sm_120"] {
        assert_eq!(body(arch, 3, "R4, R5, R16:2"), [], "{arch}");
        assert_eq!(body(arch, 2, "R4, R5, R16:2"), [HazardKind::Raw], "{arch}");
        assert_eq!(body(arch, 4, "R17, R5, R6:2"), [HazardKind::Raw], "{arch}");
    }
    let wide = |arch: &str, stall: u8| {
        let first = "R16:2 = IMAD.WIDE R0, R1";
        let even = kinds_on(
            arch,
            &format!("S{stall} | {first}\nS15 | R20:2 = IMAD.WIDE R4, R5, R16:2\nS5 | EXIT !exit"),
        );
        let factor = kinds_on(
            arch,
            &format!("S{stall} | {first}\nS15 | R20:2 = IMAD.WIDE R16, R5, R6:2\nS5 | EXIT !exit"),
        );
        [even.is_empty(), factor.is_empty()]
    };
    assert_eq!(
        [wide("sm_80", 4), wide("sm_80", 5), wide("sm_80", 6)],
        [[false, false], [true, false], [true, true]]
    );
}

#[test]
fn an_address_is_there_as_soon_as_data() {
    let body = |stall: u8| {
        kinds_on(
            "sm_120",
            &format!("S{stall} | R5 = HFMA2 R0, R1, R2\nS15 W0 | R4 = LDS shared.4[R5]\nS5 | EXIT !exit"),
        )
    };
    assert_eq!(body(5), []);
    assert_eq!(body(4), [HazardKind::Raw]);
}

#[test]
fn uniform_moves_read_as_arithmetic_does_where_hand_written_code_shows_it() {
    let body = |arch: &str, stall: u8| {
        kinds_on(arch, &format!("S{stall} | UR4 = UIADD3 UR5, UR6\nS15 | UR7 = UMOV UR4\nS5 | EXIT !exit"))
    };
    assert_eq!([body("sm_80", 6), body("sm_90", 7)], [vec![], vec![]]);
    // Few sources bear out the row of sm_90; closer than any code was ever seen is an alarm all the same.
    assert_eq!([body("sm_80", 5), body("sm_90", 6)], [vec![HazardKind::Raw], vec![HazardKind::Unseen]]);
}

#[test]
fn a_texture_is_read_behind_the_one_before() {
    let body =
        |second: &str| kinds_on("sm_80", &format!("S1 | R15 = TLD R14\nS15 W0 | {second}\nS5 | EXIT !exit"));
    assert_eq!(body("R14 = TLD R39"), []);
    assert_eq!(body("R14 = LDG.E global.4[R8]"), [HazardKind::War]);
}

#[test]
fn half_precision_reads_in_order_whatever_scoreboards_it_sets() {
    let body = |second: &str| {
        kinds_on("sm_75", &format!("S2 R0 | R4 = HADD2 R5, R6\nS15 | {second}\nS5 | EXIT !exit"))
    };
    assert_eq!(body("R6 = HADD2 R7, R8"), []);
    assert_eq!(body("R6 = IADD3 R7, R8"), [HazardKind::War]);
}

#[test]
fn a_result_that_depbar_leaves_out_has_read_its_sources() {
    let body = |left: u8| {
        kinds_on(
            "sm_90",
            &format!(
                "S15 R1 W5 | R4:2 = DMMA R8, R9, R4:2\nS15 R1 W5 | R6:2 = DMMA R8, R10, R6:2\nS4 D5:{left} | DEPBAR.LE\n\
                 S15 | R9 = MOV R20\nS5 | EXIT !exit"
            ),
        )
    };
    assert_eq!([body(1), body(2)], [vec![], vec![HazardKind::War]]);
}

#[test]
fn a_reuse_flag_where_the_warp_yields_means_nothing() {
    assert_eq!(kinds_on("sm_90", "S15 U4 | R4 = SHF R5, R6\nS5 | EXIT !exit"), []);
}

/// A loop as hand-written kernels have it: `{}` may switch the load off, `{loop}` is what ends the loop, `{behind}` comes then.
const LAST_ITERATION: &str = "S13 | P1 = ISETP R0, R1\n^loop:\nS1 B2 | NOP\n{}S4 W2 | @P3 R6 = LDG.E global.4[R4]\nS4 | R9 = IADD3 R0, R1\n\
    S5 | @{loop} BRA ^loop !branch\n^out:\nS4 | {behind}\nS5 | EXIT !exit";

#[test]
fn a_load_that_the_last_iteration_does_not_issue_is_not_met_behind_the_loop() {
    let body = |switch: &str, ends: &str, behind: &str| {
        let text = LAST_ITERATION.replace("{}", switch).replace("{behind}", behind);
        let text = text.replace(
            "{loop} BRA",
            &if ends.contains("BRA") { ends.to_owned() } else { format!("{ends} BRA") },
        );
        let all = kinds_on("sm_80", &text);
        all.into_iter().filter(|&kind| kind == HazardKind::Waw).count()
    };
    let off = "S13 | @!P1 P3 = R2P 0x8\nS13 | @P1 P3 = R2P R7\n";
    let write = "R6 = MOV R8";
    assert_eq!(body(off, "P1", write), 0, "whoever leaves has not loaded");
    assert_eq!(body(off, "!P1", write), 1, "whoever leaves has loaded");
    assert_eq!(body(off, "P2", write), 1, "another predicate ends the loop");
    assert_eq!(body("S13 | @!P1 P3 = R2P R8\nS13 | @P1 P3 = R2P R7\n", "P1", write), 1, "it may be on");
    assert_eq!(body("S13 | @!P1 P3 = R2P 0x8\nS13 | P3 = R2P R7\n", "P1", write), 1, "and on again");
    assert_eq!(
        body(&format!("{off}S13 | P1 = ISETP R0, R2\n"), "P1", write),
        1,
        "the predicate is another one"
    );
    assert_eq!(body(off, "P1 BRA P4,", write), 1, "an operand may end the loop, too");
    assert_eq!(body(off, "P1 BRA.CONV", write), 1, "and so may threads that run apart");
    let by_register = "S13 | @!P1 P3 = R2P P3, UR4\nS13 | @P1 P3 = R2P R7\n";
    assert_eq!(body(by_register, "P1", write), 1, "outside its mask nothing is switched off");
}

#[test]
fn what_a_branch_decided_holds_behind_it() {
    let body = |guard: &str, between: &str| {
        kinds(&format!(
            "S2 W0 | @P0 R1 = LDG.E global.4[R8]\n{between}S5 | @{guard} BRA ^out !branch\n^next:\nS4 | R2 = FFMA R1, R0, R0\n\
             ^out:\nS1 | EXIT !exit"
        ))
    };
    assert_eq!(body("P0", ""), [], "only those go on that have not loaded");
    assert_eq!(body("!P0", ""), [(HazardKind::Raw, None, 7)]);
    assert_eq!(body("P1", ""), [(HazardKind::Raw, None, 7)]);
    assert_eq!(body("P0", "S13 | P0 = ISETP R9, R10\n"), [(HazardKind::Raw, None, 20)]);
    // What a warp has together is under way for all its threads.
    let shared = "S5 | @P0 BRA ^join !branch\n^own:\nS2 W0 | UR4 = S2UR\n^join:\nS5 | @!P0 BRA ^out !branch\n^next:\nS4 | R2 = IADD3 R0, UR4\n\
                  ^out:\nS1 | EXIT !exit";
    assert_eq!(kinds(shared), [(HazardKind::Raw, None, 7)]);
    let own = shared.replace("UR4 = S2UR", "R4 = S2R").replace("UR4", "R4");
    assert_eq!(kinds(&own), []);
}

#[test]
fn all_threads_run_what_stands_inside_a_collective() {
    let body = |inside: &str| {
        kinds(&format!(
            "S2 W0 | R1 = LDG.E global.4[R8]\nS5 | WARPSYNC.COLLECTIVE ^behind, ^inside !branch !convergence\n\
             ^inside:\nS5 {inside} | ENDCOLLECTIVE !convergence\n^behind:\nS4 | R2 = FFMA R1, R0, R0\nS1 | EXIT !exit"
        ))
    };
    assert_eq!(body("B0"), []);
    assert_eq!(body(""), [(HazardKind::Raw, None, 12)]);
}

#[test]
fn convergence_barriers_are_taken_in_order() {
    let report = check(&function(&two(1, "B0 = BSSY", "B1 = BSYNC B0")), &rules());
    assert_eq!((found(&report), report.unknown), (vec![], 0));
}

#[test]
fn a_barrier_that_was_passed_has_read_its_sources() {
    let body = "S6 | BAR.SYNC R0 !barrier\nS15 W0 | R0 = LDS shared.4[R6]\nS5 | EXIT !exit";
    assert_eq!(kinds_on("sm_80", body), []);
}

#[test]
fn of_several_reductions_the_last_tells() {
    let body = "S8 | UR4 = REDUX R0\nS8 W0 | UR5 = REDUX R1\nS15 B0 | R2 = IMAD.U32 {}\nS5 | EXIT !exit";
    each_on("sm_80", body, &[("UR4", &[]), ("UR5", &[])]);
    let barriers = "S6 | P0 = B2R\nS6 W0 | P1 = B2R\nS15 B0 | R2 = SEL R3, P0\nS5 | EXIT !exit";
    assert_eq!(kinds_on("sm_90", barriers), []);
    let other = body.replace("UR5 = REDUX R1", "R5 = SHFL R1");
    assert_eq!(kinds_on("sm_80", &other.replace("{}", "UR4")), [HazardKind::Raw]);
}

#[test]
fn uniform_arithmetic_reads_late() {
    let body = |arch: &str, second: &str, stall: u8| {
        kinds_on(arch, &format!("S{stall} | UR6 = ULEA UR4, UR5\nS15 | {second}\nS5 | EXIT !exit"))
    };
    for second in ["UR4 = UMOV UR8", "UR5 = ULDC"] {
        assert_eq!(body("sm_90", second, 3), [], "{second}");
        assert_eq!(body("sm_90", second, 2), [HazardKind::War], "{second}");
    }
    assert_eq!(body("sm_90", "UR4 = UIADD3 UR8, UR9", 2), [], "it reads as late itself");
    assert_eq!(body("sm_107", "UR4 = UMOV UR8", 1), [], "compiled code leaves one cycle");
}

#[test]
fn sources_are_overwritten_in_turn_by_few_and_inside_a_block() {
    let body = |first: &str, between: &str, second: &str| {
        kinds_on("sm_90", &format!("S4 | {first}\n{between}S15 | {second}\nS5 | EXIT !exit"))
    };
    let [store, load] = ["shared.4[R4] = STS R1", "R1 = LDS shared.4[R6]"];
    assert_eq!(body(store, "", load), []);
    assert_eq!(
        body(store, "", "R1 = LDG.E global.4[R8]"),
        [HazardKind::War],
        "no compiled code relies on it"
    );
    assert_eq!(body(store, "S5 | @P0 BRA ^entry !branch\n^next:\n", load), [HazardKind::War]);
    let matrix = "R4 = LDSM shared.4[R20]";
    for first in ["global.4[R8] = ST R4", "global.4[R8] = STG R4", "global.4[R8] = REDG.E R4", "R9 = SHFL R4"]
    {
        assert_eq!(body(first, "", matrix), [], "{first}");
    }
    assert_eq!(body("R9 = LDG.E global.4[R4]", "", matrix), [HazardKind::War]);
    for second in ["R4 = MOVM R20", "R4 = SHFL R20", "R4 = LDS shared.4[R20]"] {
        assert_eq!(body("R9 = ATOMS shared.4[R8], R4", "", second), [], "{second}");
        assert_eq!(body("R9 = LDG.E global.4[R4]", "", second), [HazardKind::War], "{second}");
    }
    let load = "R4 = LDG.E global.4[R20]";
    assert_eq!(body("R9 = ATOMG.E global.4[R8], R4", "", load), [], "TensorFlow relies on it");
    assert_eq!(body("global.4[R8] = STG R4", "", load), [HazardKind::War]);
    assert_eq!(body("R9 = LDGMC.E global.4[R4]", "", "R4 = LDL local.4[R20]"), [], "as LDG");
}

/// A product of FP64 that tells by scoreboard 5 when its result is there and by 1 when its sources have been read, which is waited for; so many cycles behind
/// that wait the result is read, or overwritten.
fn behind_the_sources(cycles: u32, last: &str) -> Function {
    let rest = cycles - 10;
    function(&format!(
        "S2 R1 W5 | R4:4 = DMMA R8:2, R10:2, R4:4\nS10 B1 | R20 = MOV R21\nS{rest} | R22 = MOV R21\nS5 | {last}\nS5 | EXIT !exit"
    ))
}

#[test]
fn a_result_comes_at_a_fixed_time_behind_the_reading_of_its_sources() {
    let rules = Rules::of("sm_90".parse().expect("an architecture"));
    for last in ["R24 = MOV R4", "R24 = MOV R7", "R6 = MOV R24"] {
        let found = |cycles| check(&behind_the_sources(cycles, last), rules).findings;
        assert_eq!(found(18), [], "{last}");
        assert_eq!(found(25), [], "{last}");
        assert_eq!(found(17).len(), 1, "{last}: {:?}", found(17));
    }
    // Both counted from its issue, two cycles before the wait.
    let found = check(&behind_the_sources(17, "R24 = MOV R4"), rules).findings;
    assert_eq!((found[0].kind, found[0].needed, found[0].given), (HazardKind::Raw, Some(20), 19));
}

#[test]
fn time_behind_the_sources_counts_only_where_they_were_waited_for_on_a_machine_that_was_measured() {
    let read = behind_the_sources(25, "R24 = MOV R4");
    let other = Rules::of("sm_120".parse().expect("an architecture"));
    assert_eq!(check(&read, other).findings.len(), 1, "nothing is known of this machine");
    let rules = Rules::of("sm_90".parse().expect("an architecture"));
    let unwaited = function(
        "S2 R1 W5 | R4:4 = DMMA R8:2, R10:2, R4:4\nS15 | R20 = MOV R21\nS15 | R22 = MOV R21\nS5 | R24 = MOV R4\nS5 | EXIT !exit",
    );
    assert_eq!(check(&unwaited, rules).findings.len(), 1, "no wait says when they were read");
    // On one of two paths.
    let body = "S2 R1 W5 | R4:4 = DMMA R8:2, R10:2, R4:4\nS13 | @P0 BRA ^out !branch\n^waits:\nS2 B1 | R20 = MOV R21\n^out:\nS15 | R22 = MOV R21\n\
        S15 | R23 = MOV R21\nS5 | R24 = MOV R4\nS5 | EXIT !exit";
    assert_eq!(check(&function(body), rules).findings.len(), 1, "one path does not wait");
}

#[test]
fn what_is_written_waits_for_results_whenever_their_sources_were_read() {
    let rules = Rules::of("sm_90".parse().expect("an architecture"));
    let f = behind_the_sources(25, "R24 = MOV R4");
    assert_eq!(check(&f, rules).findings, []);
    assert_eq!(rewritten(&f, &Came::of(&f), rules).len(), 1);
}
