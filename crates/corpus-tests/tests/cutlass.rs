//! Matrix kernels of the corpus: which are recognised, and that what is planned for them is legal.
#![cfg(feature = "real-tools")]

use rayon::prelude::*;
use sassafras_corpus_tests::{Item, cubins};
use sassafras_cubin::Cubin;
use sassafras_ir::Inst;
use sassafras_knobs::KnobSet;
use sassafras_list::{Direction, schedule};
use sassafras_sass::program::Program;
use sassafras_tepid::Code;
use sassafras_tepid::body::Body;
use sassafras_tepid::cutlass::{CutlassPlan, is_matrix};
use sassafras_tepid::latency::Mined;
use sassafras_tepid::pipeline::Pipeline;
use sassafras_verify::reorder;

/// What was found in a function.
struct Found {
    name: String,
    multiplies: bool,
    by_structure: bool,
    by_name: bool,
    points: usize,
    /// Cycles of the model, as it came and in turn, summed over blocks that were put in turn.
    cycles: (u64, u64),
}

fn look(item: &Item) -> Vec<Found> {
    let Ok(cubin) = Cubin::parse(&item.bytes) else { return Vec::new() };
    let Ok(program) = Program::new(&cubin) else { return Vec::new() };
    let mut all = Vec::new();
    for section in cubin.code() {
        for routine in program.lift(section).into_iter().flatten() {
            let f = &routine.lifted.function;
            let code = Code::new(f, &routine.lifted.sources, program.arch());
            let insts = || f.blocks().flat_map(|block| f.block_insts(block));
            let multiplies = insts().any(|&inst| is_matrix(&code, inst));
            let name = format!("{} {} {}", item.name, program.arch(), routine.name);
            let plan = CutlassPlan::of(&code, &routine.name, &KnobSet::new());
            let mut found =
                Found { name, multiplies, by_structure: false, by_name: false, points: 0, cycles: (0, 0) };
            if let Some(plan) = plan {
                found.by_structure = plan.evidence.by_structure;
                found.by_name = plan.evidence.by_name;
                found.points = plan.worklist.points().len();
                for sequence in plan.worklist.sequences() {
                    put_in_turn(&code, &plan, sequence.block, &mut found);
                }
            }
            all.push(found);
        }
    }
    all
}

fn put_in_turn(code: &Code<'_>, plan: &CutlassPlan, block: sassafras_ir::Block, found: &mut Found) {
    let model = Mined::new(code);
    let body = Body::new(code, &model, block, false);
    let Some(mut policy) = plan.policy(code, &body) else { return };
    let made = schedule(&body.graph, &body.paths, &body.resources, Direction::TopDown, &mut policy);
    let order: Vec<Inst> = made.order.iter().map(|node| body.insts[node.index()]).collect();
    let checked = reorder::check(code.f, code.f.block_insts(block), &order);
    assert!(checked.is_ok(), "{}: {:?}", found.name, checked.err());
    let mut pipeline = Pipeline::new(&body, 4);
    found.cycles.0 += u64::from(pipeline.cycles(&body.original()));
    found.cycles.1 += u64::from(pipeline.cycles(&made.order));
}

#[test]
fn matrix_kernels_are_recognised_and_put_in_turn() {
    let items = cubins().expect("the corpus");
    let found: Vec<Found> = items.par_iter().flat_map_iter(look).collect();
    let (mut multiply, mut planned, mut points, mut cycles) = (0, 0, 0, (0, 0));
    for one in &found {
        let is_planned = one.by_structure || one.by_name;
        assert!(one.multiplies || !is_planned, "{}: no matrix instructions", one.name);
        multiply += usize::from(one.multiplies);
        planned += usize::from(is_planned);
        points += one.points;
        cycles = (cycles.0 + one.cycles.0, cycles.1 + one.cycles.1);
        // Triton's products go through shared memory; the plain ones load fragments from global memory.
        let triton = one.name.contains("triton-matmul") || one.name.contains("gemm_async");
        assert!(!triton || !one.multiplies || one.by_structure, "{}", one.name);
        assert!(!one.name.contains("wmma_gemm") || !one.by_structure, "{}", one.name);
    }
    let count = |is: fn(&&Found) -> bool| found.iter().filter(is).count();
    let (named, alike) = (count(|one| one.by_name), count(|one| one.by_structure));
    eprintln!(
        "{named} by name, {alike} by structure, {} by both",
        count(|one| one.by_name && one.by_structure)
    );
    eprintln!("{multiply} functions multiply matrices, {planned} are planned for, {points} barrier points");
    eprintln!("blocks in turn: {} cycles as they came, {} in turn", cycles.0, cycles.1);
    assert!(planned > 10 && planned < multiply);
}
