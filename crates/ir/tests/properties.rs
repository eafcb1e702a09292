//! Property tests: the text form is lossless, analyses agree with slow or foreign oracles, nothing panics.

use petgraph::algo::dominators::simple_fast;
use petgraph::graph::DiGraph;
use proptest::prelude::*;
use sassafras_ir::cfg::Cfg;
use sassafras_ir::dominators::Dominators;
use sassafras_ir::liveness::Liveness;
use sassafras_ir::loops::Loops;
use sassafras_ir::{Block, Function, Lane, Module, text, verify};
use sassafras_testkit::random::{Shape, function};
use sassafras_testkit::rng::Rng;
use std::collections::BTreeSet;

fn random(seed: u64, blocks: usize, insts: usize) -> Function {
    let mut rng = Rng::new(seed);
    let shape = Shape::random(&mut rng, blocks, insts);
    function(&mut rng, &shape)
}

/// Everything of an instruction, with names resolved.
fn contents(f: &Function) -> Vec<String> {
    let mut all = vec![format!("{} {} {:?}", f.name, f.arch, f.inputs)];
    for block in f.blocks() {
        all.push(f.block_name(block).to_owned());
        for &inst in f.block_insts(block) {
            let data = f.inst(inst);
            let operands: Vec<String> = f
                .operands(inst)
                .iter()
                .map(|op| match *op {
                    sassafras_ir::Operand::Mem(m) => format!("{:?}", f.mem(m)),
                    sassafras_ir::Operand::Symbol(n) => f.text(n).to_owned(),
                    other => format!("{other:?}"),
                })
                .collect();
            let payload = match data.payload {
                sassafras_ir::Payload::Text(n) => f.text(n).to_owned(),
                other => format!("{other:?}"),
            };
            all.push(format!(
                "{} {:?} {:?} {operands:?} {} {payload}",
                f.opcode_text(data.opcode),
                data.guard,
                data.effects,
                f.defs(inst).len()
            ));
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sassafras_testkit::cases(400)))]

    #[test]
    fn parsing_what_was_printed_gives_the_same_function(seed: u64, blocks in 1usize..6, insts in 0usize..12) {
        let f = random(seed, blocks, insts);
        prop_assert_eq!(verify::verify(&f), Ok(()));
        let printed = text::print(&Module { functions: vec![f.clone(), f.clone()] });
        let parsed = match text::parse(&printed) {
            Ok(parsed) => parsed,
            Err(error) => return Err(TestCaseError::fail(error.render("printed", &printed, false))),
        };
        for g in &parsed.functions {
            prop_assert_eq!(contents(&f), contents(g));
        }
        prop_assert_eq!(text::print(&parsed), printed);
    }

    #[test]
    fn dominators_agree_with_petgraph(seed: u64, blocks in 1usize..30) {
        let f = random(seed, blocks, 0);
        let cfg = Cfg::new(&f);
        let doms = Dominators::new(&f, &cfg);
        let mut graph = DiGraph::<(), ()>::new();
        let nodes: Vec<_> = f.blocks().map(|_| graph.add_node(())).collect();
        let all: Vec<Block> = f.blocks().collect();
        let number = |b: Block| all.iter().position(|&x| x == b).unwrap();
        for &b in &all {
            for &s in cfg.succs(b) {
                graph.add_edge(nodes[number(b)], nodes[number(s)], ());
            }
        }
        let oracle = simple_fast(&graph, nodes[0]);
        for &b in &all {
            let expected = oracle.immediate_dominator(nodes[number(b)]).map(|n| all[n.index()]);
            prop_assert_eq!(doms.idom(b), expected);
            for &a in &all {
                let dominates = oracle.dominators(nodes[number(b)]).is_some_and(|mut d| d.any(|n| n == nodes[number(a)]));
                prop_assert_eq!(doms.dominates(a, b), dominates);
            }
        }
    }

    #[test]
    fn loops_are_what_reaches_a_latch_without_the_header(seed: u64, blocks in 1usize..20) {
        let f = random(seed, blocks, 0);
        let cfg = Cfg::new(&f);
        let doms = Dominators::new(&f, &cfg);
        let loops = Loops::new(&f, &cfg, &doms);
        let mut headers = BTreeSet::new();
        for b in f.blocks().filter(|&b| cfg.is_reachable(b)) {
            headers.extend(cfg.succs(b).iter().copied().filter(|&s| doms.dominates(s, b)));
        }
        prop_assert_eq!(loops.len(), headers.len());
        for l in loops.iter() {
            let header = loops.header(l);
            let mut body = BTreeSet::from([header]);
            let mut work = loops.latches(l).to_vec();
            while let Some(b) = work.pop() {
                if body.insert(b) {
                    work.extend(cfg.preds(b).iter().copied().filter(|&p| cfg.is_reachable(p)));
                }
            }
            let found: BTreeSet<Block> = f.blocks().filter(|&b| loops.contains(l, b)).collect();
            prop_assert_eq!(found, body);
        }
    }

    #[test]
    fn a_lane_is_live_when_some_path_reads_it_first(seed: u64, blocks in 1usize..7, insts in 0usize..6) {
        let f = random(seed, blocks, insts);
        let cfg = Cfg::new(&f);
        let live = Liveness::new(&f, &cfg).expect("small");
        for block in f.blocks() {
            let lanes: BTreeSet<Lane> = live.live_in(block).collect();
            prop_assert_eq!(lanes, live_by_search(&f, &cfg, block));
            let out: BTreeSet<Lane> = live.live_out(block).collect();
            let from_succs: BTreeSet<Lane> = cfg.succs(block).iter().flat_map(|&s| live_by_search(&f, &cfg, s)).collect();
            prop_assert_eq!(out, from_succs);
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(source in "\\PC{0,200}") {
        let _ = text::parse(&source);
    }

    /// Texts near the grammar: a printed function with some bytes changed, cut or doubled.
    #[test]
    fn broken_texts_end_in_an_error_with_a_place(seed: u64, edits in prop::collection::vec((0usize..4000, 0u8..128), 1..6)) {
        let f = random(seed, 2, 6);
        let mut bytes = text::print(&Module { functions: vec![f] }).into_bytes();
        for (at, byte) in edits {
            if bytes.is_empty() {
                break;
            }
            let at = at % bytes.len();
            match byte % 4 {
                0 => bytes[at] = byte,
                1 => { bytes.remove(at); }
                2 => bytes.insert(at, byte),
                _ => bytes.truncate(at + 1),
            }
        }
        let source = String::from_utf8_lossy(&bytes).into_owned();
        match text::parse(&source) {
            Ok(module) => {
                let printed = text::print(&module);
                prop_assert_eq!(text::print(&text::parse(&printed).expect("own output parses")), printed);
                for f in &module.functions {
                    let _ = verify::verify(f);
                }
            }
            Err(error) => {
                prop_assert!(error.line >= 1 && error.column >= 1 && error.span.end <= source.len());
                prop_assert!(error.render("input", &source, true).contains(&error.message));
            }
        }
    }
}

/// Lanes that are read on some path from the start of `block` before a killing write, by walking per lane.
fn live_by_search(f: &Function, cfg: &Cfg, block: Block) -> BTreeSet<Lane> {
    let mut all = BTreeSet::new();
    for b in f.blocks() {
        for &inst in f.block_insts(b) {
            f.for_each_read(inst, |r| {
                all.insert(r.lane);
            });
        }
    }
    all.retain(|&lane| {
        let (mut seen, mut work) = (BTreeSet::new(), vec![block]);
        while let Some(b) = work.pop() {
            if !seen.insert(b) {
                continue;
            }
            let (mut read, mut killed) = (false, false);
            for &inst in f.block_insts(b) {
                f.for_each_read(inst, |r| read |= r.lane == lane && !killed);
                let kills = f.kills(inst);
                f.for_each_write(inst, |w| killed |= kills && w.lane == lane);
            }
            if read {
                return true;
            }
            if !killed {
                work.extend(cfg.succs(b));
            }
        }
        false
    });
    all
}

/// Every register lives through every block: the sets are refused instead of growing without bound.
#[test]
fn huge_live_sets_are_refused() {
    let n = 120_000;
    let mut source = String::from("func f sm_90 {\n^entry:\n");
    for i in 0..n {
        source += &format!("  %r{i} = MOV 1\n");
    }
    for i in 0..n {
        source += &format!("^b{i}:\n  NOP\n");
    }
    for i in 0..n {
        source += &format!("  X %r{i}\n");
    }
    source += "  EXIT !exit\n}\n";
    let module = text::parse(&source).expect("a right text");
    let f = &module.functions[0];
    assert_eq!(verify::verify(f), Ok(()));
    let refused = Liveness::new(f, &Cfg::new(f)).expect_err("too large");
    assert_eq!((refused.lanes, refused.blocks), (n, n + 1));
}
