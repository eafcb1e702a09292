//! Random orders that keep all dependences, and what must survive any order.

#![allow(dead_code, reason = "every test file uses its own part")]

use sassafras_deps::latency::UnitLatency;
use sassafras_deps::{BuildOptions, Node, build};
use sassafras_ptx::{InstId, Module, contraction, lower};
use sassafras_testkit::rng::Rng;

/// Gives every block a random order that keeps its dependences; returns how many instructions stand elsewhere.
pub fn shuffle(module: &mut Module, rng: &mut Rng) -> usize {
    let mut orders = Vec::new();
    for function in module.functions().iter().filter(|f| f.has_body()) {
        let lowered = lower(module, function).expect("no function is too large");
        for (block, ir_block) in function.blocks().zip(lowered.function.blocks()) {
            let insts = lowered.function.block_insts(ir_block);
            let graph = build(&lowered.function, insts, &UnitLatency, BuildOptions::default());
            let kept = contraction::kept(&lowered.function, ir_block);
            let kept: Vec<(Node, Node)> =
                kept.windows(2).map(|pair| (Node(pair[0]), Node(pair[1]))).collect();
            let graph = graph.with_orders(&kept).expect("orders as they came");
            let nodes = || (0..graph.node_count() as u32).map(Node);
            let mut waits: Vec<usize> = nodes().map(|node| graph.preds(node).len()).collect();
            let mut ready: Vec<Node> = nodes().filter(|&node| waits[node.index()] == 0).collect();
            let mut order: Vec<InstId> = Vec::new();
            while !ready.is_empty() {
                let node = ready.swap_remove(rng.below(ready.len()));
                if let Some(&inst) = insts.get(node.index()) {
                    order.extend(lowered.inst(inst));
                }
                for edge in graph.succs(node) {
                    waits[edge.to.index()] -= 1;
                    if waits[edge.to.index()] == 0 {
                        ready.push(edge.to);
                    }
                }
            }
            orders.push((block, order));
        }
    }
    let mut moved = 0;
    for (block, order) in orders {
        moved += module.order(block).iter().zip(&order).filter(|(a, b)| a != b).count();
        module.reorder(block, &order).expect("an order of the block");
    }
    moved
}

/// Reads what a module prints and checks that it has the same instructions in the order of its blocks, each with the `.loc` it had.
pub fn read_again(module: &Module) -> Module {
    let printed = module.print();
    let again = match Module::parse(&printed) {
        Ok(again) => again,
        Err(error) => {
            let (message, source) = (error.render("printed", &printed, false), module.source());
            panic!("moved text does not parse:\n{message}\nread:\n{source}\nprinted:\n{printed}")
        }
    };
    let old = module.blocks().flat_map(|block| module.order(block));
    let new = again.functions().iter().flat_map(|function| function.insts());
    assert_eq!(again.inst_count(), module.inst_count());
    for (old, new) in old.zip(new) {
        let (old, new) = (module.inst(old), again.inst(new));
        assert_eq!(module.text(old.span()), again.text(new.span()));
        if let Some(loc) = old.loc() {
            assert_eq!(Some(module.text(loc).trim()), new.loc().map(|loc| again.text(loc).trim()));
        }
    }
    again
}
