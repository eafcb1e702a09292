//! The plan for matrix kernels: detection, barrier points, limits, scoreboard turns, orders.

use std::fmt::Write;

use proptest::prelude::*;
use sassafras_ir::cfg::Cfg;
use sassafras_ir::text::parse;
use sassafras_ir::{Function, Inst};
use sassafras_knobs::KnobSet;
use sassafras_list::{Direction, schedule};
use sassafras_machine::Arch;
use sassafras_tepid::Code;
use sassafras_tepid::body::Body;
use sassafras_tepid::cutlass::memory::{self, Kind};
use sassafras_tepid::cutlass::{CutlassPlan, Evidence, Interleave, Priority, is_matrix};
use sassafras_tepid::latency::Mined;

fn function(arch: &str, text: &str) -> Function {
    let source = format!("func f {arch} (R0:2, R2:2) {{\n{text}\n}}");
    parse(&source).unwrap_or_else(|e| panic!("{}", e.render("f", &source, false))).functions.remove(0)
}

fn arch(name: &str) -> Arch {
    name.parse().expect("an architecture")
}

fn knobs(assignments: &[&str]) -> KnobSet {
    let mut knobs = KnobSet::new();
    for assignment in assignments {
        knobs.assign(assignment).expect("a knob");
    }
    knobs
}

/// A matrix product in a loop: tiles go from global to shared memory by registers, and from there to the matrix pipe.
const GEMM: &str = "^loop:
 R20:4 = LDG.E.128 global.16[R0:2]
 R4:4 = LDSM.16.M88.4 shared.16[R2]
 R8:2 = LDSM.16.M88.2 shared.8[R3]
 R12:4 = HMMA.16816.F32 R4:4, R8:2, R12:4
 R16:4 = HMMA.16816.F32 R4:4, R8:2, R16:4
 R24:4 = HMMA.16816.F32 R4:4, R8:2, R24:4
 shared.16[R3] = STS.128 R20:4
 R28:4 = HMMA.16816.F32 R4:4, R8:2, R28:4
 BAR.SYNC !barrier
 @P0 BRA ^loop !branch
^end:
 EXIT !exit";

const NAME: &str = "_ZN7cutlass6KernelI4gemmE";

fn plan(f: &Function, name: &str, assignments: &[&str]) -> Option<CutlassPlan> {
    CutlassPlan::of(&Code::new(f, &[], arch("sm_80")), name, &knobs(assignments))
}

#[test]
fn name_and_structure_both_count() {
    let gemm = function("sm_80", GEMM);
    let evidence = |f: &Function, name| Evidence::of(&Code::new(f, &[], arch("sm_80")), &Cfg::new(f), name);
    let found = evidence(&gemm, "matmul");
    assert_eq!((found.by_name, found.by_structure, found.matrix_instructions), (false, true, 4));
    assert!(found.is_cutlass());
    // Without stores to shared memory it is no such loop; the name still says what it is.
    let plain = function(
        "sm_80",
        &GEMM.replace("shared.16[R3] = STS.128 R20:4", "global.16[R0:2] = STG.E.128 R20:4"),
    );
    assert!(!evidence(&plain, "matmul").is_cutlass());
    assert!(evidence(&plain, NAME).is_cutlass());
    // A copy that runs by itself counts wherever it stands.
    let copies = "^first:\n shared.16[R3] = LDGSTS.E.128 global.16[R0:2]\n";
    let copying = GEMM
        .replace("shared.16[R3] = STS.128 R20:4", "NOP")
        .replace("R20:4 = LDG.E.128 global.16[R0:2]", "NOP");
    assert!(!evidence(&function("sm_80", &copying), "matmul").by_structure);
    assert!(evidence(&function("sm_80", &format!("{copies}{copying}")), "matmul").by_structure);
    // No matrix instructions, no matrix kernel, whatever its name.
    let scalar = function("sm_80", &GEMM.replace("HMMA.16816.F32 R4:4, R8:2,", "FFMA.X R4:4, R8:2,"));
    assert!(!evidence(&scalar, NAME).is_cutlass() && plan(&scalar, NAME, &["knob-618=true"]).is_none());
    // Nor on a chip without them.
    let old = Evidence::of(&Code::new(&gemm, &[], arch("sm_60")), &Cfg::new(&gemm), NAME);
    assert!(old.by_name && !old.is_cutlass());
}

#[test]
fn knobs_stand_in_for_detection() {
    let plain = function("sm_80", &GEMM.replace("shared.16[R3] = STS.128 R20:4", "NOP"));
    assert!(plan(&plain, "matmul", &[]).is_none());
    let first = plan(&plain, "matmul", &["knob-618=true"]).expect("a plan");
    assert!(first.is_barrier_aware(3) && !first.wants_dynamic_batches());
    let second = plan(&plain, "matmul", &["knob-629=true"]).expect("a plan");
    assert!(!second.is_barrier_aware(3), "only the first mode is asked for");
}

#[test]
fn barrier_points_lie_between_the_matrix_instructions() {
    let gemm = function("sm_80", GEMM);
    let plan = plan(&gemm, NAME, &[]).expect("a plan");
    let block = gemm.blocks().next().expect("a block");
    let sequence = plan.worklist.sequences()[0];
    assert_eq!((sequence.block, sequence.first, sequence.last, sequence.count), (block, 3, 7, 4));
    let points: Vec<(usize, u8, u8)> = plan
        .worklist
        .points()
        .iter()
        .map(|point| {
            let at = gemm.block_insts(block).iter().position(|&inst| inst == point.inst).expect("there");
            (at, point.positions, point.priority.number())
        })
        .collect();
    // HMMA has three sources below its threshold, STS one; the loads before the first HMMA are outside.
    assert_eq!(points, [(3, 7, 3), (4, 7, 3), (5, 7, 3), (6, 1, 3), (7, 7, 3)]);
    assert_eq!(plan.worklist.pairs(), [(block.as_u32(), 3)]);
    let insts = gemm.block_insts(block);
    assert_eq!(plan.priority(insts[4]), Some(Priority::STANDARD));
    assert_eq!(plan.priority(insts[0]), None);
}

#[test]
fn knob_646_changes_priority_or_turns_points_off() {
    let gemm = function("sm_80", GEMM);
    let fast = plan(&gemm, NAME, &["knob-646=2"]).expect("a plan");
    assert!(fast.worklist.points().iter().all(|point| point.priority == Priority::FAST));
    let off = plan(&gemm, NAME, &["knob-646=0"]).expect("a plan");
    assert!(off.worklist.is_empty() && off.pairs.is_empty() && off.worklist.sequences().len() == 1);
    assert!(!off.is_barrier_aware(3));
}

#[test]
fn modes_limits_and_the_stall_override() {
    let gemm = function("sm_80", GEMM);
    let block = gemm.blocks().next().expect("a block");
    let other = gemm.blocks().nth(1).expect("another block");
    let plain = plan(&gemm, NAME, &[]).expect("a plan");
    for mode in 0..=12 {
        assert_eq!(plain.is_barrier_aware(mode), [3, 5, 6].contains(&mode));
        assert_eq!(plain.adjustment(block, mode, 0).is_some(), [3, 5, 6].contains(&mode));
    }
    // 32 registers: R0 to R31.
    let at = |live| plain.adjustment(block, 5, live).expect("aware");
    assert_eq!((at(32).over_limit, at(33).over_limit, at(33).stall), (false, true, None));
    let elsewhere = plain.adjustment(other, 5, 250).expect("aware");
    assert_eq!(
        (elsewhere.over_limit, elsewhere.stall),
        (false, None),
        "a block without points has no override"
    );
    let stalled = plan(&gemm, NAME, &["cutlass-detection-mode=1", "cutlass-stall-count=6"]).expect("a plan");
    assert_eq!(stalled.stall_override(), Some(6));
    assert_eq!(stalled.adjustment(block, 6, 1).expect("aware").stall, Some(6));
    assert_eq!(plain.stall_override(), None);
}

#[test]
fn slow_instructions_choose_scoreboards_first() {
    let gemm = function("sm_80", GEMM);
    let plan = plan(&gemm, NAME, &[]).expect("a plan");
    let insts = gemm.block_insts(gemm.blocks().next().expect("a block")).to_vec();
    let order = plan.pool_order(&insts);
    let name = |inst: Inst| gemm.opcode_text(gemm.inst(inst).opcode);
    assert_eq!(
        order[..3].iter().map(|&i| name(i)).collect::<Vec<_>>(),
        ["LDG.E.128", "LDSM.16.M88.4", "LDSM.16.M88.2"]
    );
    // The rest stays as it stands.
    assert!(order[3..].is_sorted());
    assert!(plan.ends_batch(insts[8]) && !plan.ends_batch(insts[0]));
}

/// A block of a matrix loop with its loads in a clump before it.
fn clump(matrix: usize, loads: usize, stores: usize, sharing: usize) -> String {
    let mut text = String::from("^loop:\n");
    for i in 0..loads {
        writeln!(text, " shared.16[R3+{}] = LDGSTS.E.128 global.16[R0:2+{}]", 16 * i, 64 * i).expect("text");
    }
    for i in 0..stores {
        writeln!(text, " R{} = LDS shared.4[R2+{}]", 200 + i, 8192 + 4 * i).expect("text");
    }
    for i in 0..matrix {
        let acc = 16 + 4 * (i % sharing.max(1));
        writeln!(text, " R{acc}:4 = HMMA.16816.F32 R4:4, R8:2, R{acc}:4").expect("text");
    }
    text.push_str(" @P0 BRA ^loop !branch\n^end:\n EXIT !exit");
    text
}

/// The order that the policy makes of the first block; none when there is nothing to do.
fn interleaved(f: &Function) -> Option<Vec<Inst>> {
    let code = Code::new(f, &[], arch("sm_80"));
    let model = Mined::new(&code);
    let body = Body::new(&code, &model, f.blocks().next().expect("a block"), true);
    let mut policy = Interleave::new(&code, &body)?;
    let made = schedule(&body.graph, &body.paths, &body.resources, Direction::TopDown, &mut policy);
    // Legal: every dependence goes forward.
    let mut place = vec![0; body.graph.node_count()];
    made.order.iter().enumerate().for_each(|(at, node)| place[node.index()] = at);
    for node in body.graph.insts() {
        for edge in body.graph.succs_here(node).filter(|edge| !body.graph.is_join(edge.to)) {
            assert!(place[node.index()] < place[edge.to.index()]);
        }
    }
    Some(made.order.iter().map(|node| body.insts[node.index()]).collect())
}

/// Most memory instructions with no matrix instruction between.
fn longest_clump(f: &Function, order: &[Inst]) -> usize {
    let code = Code::new(f, &[], arch("sm_80"));
    let (mut run, mut longest) = (0, 0);
    for &inst in order {
        if is_matrix(&code, inst) {
            run = 0;
        } else if memory::kind(&code, inst).is_some() {
            run += 1;
            longest = longest.max(run);
        }
    }
    longest
}

#[test]
fn copies_stand_evenly_between_matrix_instructions() {
    let f = function("sm_80", &clump(16, 8, 0, 16));
    let order = interleaved(&f).expect("something to do");
    let original = f.block_insts(f.blocks().next().expect("a block"));
    assert_eq!((longest_clump(&f, original), longest_clump(&f, &order)), (8, 1));
    // Two matrix instructions for each copy.
    let code = Code::new(&f, &[], arch("sm_80"));
    let kinds: String = order
        .iter()
        .map(|&i| {
            if is_matrix(&code, i) {
                'M'
            } else if memory::kind(&code, i).is_some() {
                'c'
            } else {
                '-'
            }
        })
        .collect();
    assert_eq!(kinds, "cMMcMMcMMcMMcMMcMMcMMcMM-");
}

#[test]
fn nothing_to_put_in_turn() {
    assert!(interleaved(&function("sm_80", &clump(0, 4, 0, 1))).is_none());
    assert!(interleaved(&function("sm_80", &clump(4, 0, 0, 1))).is_none());
}

#[test]
fn memory_instructions_go_by_kind() {
    let f = function("sm_80", GEMM);
    let code = Code::new(&f, &[], arch("sm_80"));
    let model = Mined::new(&code);
    let body = Body::new(&code, &model, f.blocks().next().expect("a block"), false);
    let kinds: Vec<Kind> = memory::order(&code, &body)
        .iter()
        .filter_map(|node| memory::kind(&code, body.insts[node.index()]))
        .collect();
    assert_eq!(kinds, [Kind::GlobalLoad, Kind::SharedLoad, Kind::SharedLoad, Kind::SharedStore]);
    // What the first matrix instruction reads goes before all of them.
    let places = memory::places(&code, &body);
    assert!(places[..3].iter().all(|&(_, place)| place == 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn orders_are_legal_and_never_clump_more(matrix in 1usize..24, loads in 0usize..12, stores in 0usize..6, sharing in 1usize..8) {
        let f = function("sm_80", &clump(matrix, loads, stores, sharing));
        let Some(order) = interleaved(&f) else {
            prop_assert_eq!(loads + stores, 0);
            return Ok(());
        };
        let original = f.block_insts(f.blocks().next().expect("a block"));
        let mut sorted = order.clone();
        sorted.sort();
        prop_assert_eq!(&sorted[..], original);
        prop_assert!(longest_clump(&f, &order) <= longest_clump(&f, original));
    }
}
