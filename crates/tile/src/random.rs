//! Random loops, for tests: shaped like those of tile programs, deterministic by seed.

use crate::generate::problem::build;
use sassafras_modulo::random::Rng;
use sassafras_tileir::program::{
    Attributes, Execution, Hold, MutexData, OpData, Operand, Order, Out, Program, ProgramError, ResourceData,
    Storage, Value, ValueData,
};
use std::collections::BTreeMap;

/// One of some things.
fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.below(from.len() as u32) as usize]
}

const SLOTS: [&str; 8] =
    ["tma", "tp_smem_wr", "tp_smem_rd", "tc_and_mma", "tp_mma", "alu_or_fmaheavy", "xu", "issue"];

/// A kind of operation: its name, how it runs, where its result lives, what it holds, its latency.
struct Kind {
    name: &'static str,
    execution: Execution,
    storage: Storage,
    slots: &'static [usize],
    latency: u32,
}

const KINDS: [Kind; 6] = [
    Kind {
        name: "tma_load",
        execution: Execution::Async,
        storage: Storage::Shared,
        slots: &[0, 1],
        latency: 60,
    },
    Kind {
        name: "wgmma",
        execution: Execution::InOrder,
        storage: Storage::Register,
        slots: &[3, 4],
        latency: 30,
    },
    Kind {
        name: "tcgen05_mma",
        execution: Execution::InOrder,
        storage: Storage::Tensor,
        slots: &[3, 4],
        latency: 30,
    },
    Kind { name: "simt", execution: Execution::Sync, storage: Storage::Register, slots: &[5, 7], latency: 6 },
    Kind {
        name: "smem_write",
        execution: Execution::Sync,
        storage: Storage::Shared,
        slots: &[1],
        latency: 9,
    },
    Kind {
        name: "smem_read",
        execution: Execution::Sync,
        storage: Storage::Register,
        slots: &[2],
        latency: 9,
    },
];

/// A random loop of up to so many operations; it passes [`Program::check`], and nothing in it waits for itself.
pub fn program(most: u32, seed: u64) -> Program {
    let mut rng = Rng::new(seed);
    // Some draws make no sense. What can be taken out of them is; else the next one is drawn.
    loop {
        let mut program = draw(&mut rng, most.max(2), seed);
        loop {
            match program.check() {
                Ok(()) => {
                    // An order after a write can contradict a read of what was there before.
                    if build(&program, &[], &BTreeMap::new(), 1).problem.check().is_ok() {
                        return program;
                    }
                    if program.orders.is_empty() {
                        break;
                    }
                    program.orders.clear();
                }
                Err(ProgramError::BadInPlace { op, .. }) => {
                    let op = program.op(&op).expect("it was named");
                    program.ops[op].operands.iter_mut().for_each(|o| o.in_place = false);
                }
                Err(ProgramError::Circuit { .. }) if !program.orders.is_empty() => program.orders.clear(),
                Err(_) => break,
            }
        }
    }
}

fn draw(rng: &mut Rng, most: u32, seed: u64) -> Program {
    let mut p = Program::new(format!("random_{seed}"));
    p.arch = Some(pick(rng, &["sm_80", "sm_90", "sm_100"]).to_owned());
    for (i, slot) in SLOTS.iter().enumerate() {
        let capacity = if i > 4 && rng.chance(30) { 2 } else { 1 };
        p.resources.push(ResourceData { name: (*slot).to_owned(), capacity });
    }
    let resources: Vec<_> = p.resources.keys().collect();
    let count = 2 + rng.below(most - 1);
    let value = |p: &mut Program, rng: &mut Rng, storage: Storage, name: String| {
        let bytes = pick(rng, &[256u64, 1024, 4096]);
        let element = pick(rng, &["f16", "f32"]).to_owned();
        p.values.push(ValueData { name, storage, bytes, element, part_of: None })
    };
    // Values from before the loop.
    let before: Vec<Value> =
        (0..rng.below(2)).map(|i| value(&mut p, rng, Storage::Shared, format!("before{i}"))).collect();
    // Results first, so that operations can read those of later ones from earlier iterations.
    let mut plan: Vec<(usize, Vec<Value>)> = Vec::new();
    for i in 0..count {
        let mut kind = rng.below(KINDS.len() as u32) as usize;
        // Only sm_100 has tensor memory.
        while KINDS[kind].storage == Storage::Tensor && p.arch.as_deref() != Some("sm_100") {
            kind = rng.below(KINDS.len() as u32) as usize;
        }
        let storage = KINDS[kind].storage;
        let mut results = vec![value(&mut p, rng, storage, format!("v{i}"))];
        if rng.chance(8) {
            results.push(value(&mut p, rng, storage, format!("w{i}")));
        }
        plan.push((kind, results));
    }
    // Two loads that fill one buffer together.
    if rng.chance(15) {
        let loads: Vec<usize> = (0..plan.len())
            .filter(|&i| KINDS[plan[i].0].name == "tma_load" && plan[i].1.len() == 1)
            .collect();
        if let [a, b, ..] = loads[..] {
            let (va, vb) = (plan[a].1[0], plan[b].1[0]);
            let bytes = p.values[va].bytes + p.values[vb].bytes;
            let element = p.values[va].element.clone();
            let whole = p.values.push(ValueData {
                name: "whole".into(),
                storage: Storage::Shared,
                bytes,
                element,
                part_of: None,
            });
            p.values[va].part_of = Some(whole);
            p.values[vb].part_of = Some(whole);
        }
    }
    for i in 0..plan.len() {
        let kind = &KINDS[plan[i].0];
        let mut operands = Vec::new();
        let wanted = if kind.name == "tma_load" { rng.below(6) / 5 } else { 1 + rng.below(3) };
        for _ in 0..wanted {
            let carried = rng.chance(12);
            let from = if carried {
                rng.below(plan.len() as u32) as usize
            } else {
                rng.below(i as u32 + 1) as usize
            };
            let distance = if carried { 1 + rng.below(2) } else { 0 };
            if !carried && from >= i {
                if let Some(&v) = before.first() {
                    operands.push(Operand { value: v, distance: 0, in_place: false });
                }
                continue;
            }
            operands.push(Operand { value: plan[from].1[0], distance, in_place: false });
        }
        // Accumulators.
        if matches!(kind.name, "wgmma" | "tcgen05_mma" | "simt") && rng.chance(40) && plan[i].1.len() == 1 {
            operands.push(Operand { value: plan[i].1[0], distance: 1, in_place: true });
        }
        // Permissions: values of this iteration that may be overwritten.
        if kind.execution == Execution::Sync
            && plan[i].1.len() == 1
            && operands.iter().all(|o| !o.in_place)
            && rng.chance(60)
        {
            let result = p.values[plan[i].1[0]].clone();
            let defined = |o: &Operand| plan.iter().any(|r| r.1.contains(&o.value));
            let once = |o: &Operand| operands.iter().filter(|p| p.value == o.value).count() == 1;
            let fits = operands.iter().position(|o| {
                let v = &p.values[o.value];
                let whole = v.part_of.is_none() && result.part_of.is_none();
                o.distance == 0 && whole && v.storage == result.storage && defined(o) && once(o)
            });
            if let Some(o) = fits {
                operands[o].in_place = true;
                let (bytes, element) =
                    (p.values[operands[o].value].bytes, p.values[operands[o].value].element.clone());
                let own = &mut p.values[plan[i].1[0]];
                (own.bytes, own.element) = (bytes, element);
            }
        }
        let rows = 1 + rng.below(9);
        let holds: Vec<Hold> =
            kind.slots.iter().map(|&s| Hold { resource: resources[s], start: 0, rows, units: 1 }).collect();
        // A result nobody reads is fine; a store has none.
        let results = if rng.chance(10) && kind.name != "wgmma" { Vec::new() } else { plan[i].1.clone() };
        let stores = results.is_empty();
        if stores {
            operands.retain(|o| !o.in_place);
        }
        p.ops.push(OpData {
            name: format!("o{i}_{}", kind.name),
            kind: kind.name.to_owned(),
            operands,
            results,
            latency: rows + rng.below(kind.latency),
            execution: kind.execution,
            holds,
            attributes: Attributes::default(),
        });
    }
    // Transfers that nobody reads are stores.
    let read: Vec<Value> = p.ops.values().flat_map(|o| &o.operands).map(|o| p.origin(o.value)).collect();
    for op in p.ops.keys() {
        let unread = |v: &Value| !read.contains(&p.origin(*v));
        if p.ops[op].execution == Execution::Async && p.ops[op].results.iter().all(unread) {
            p.ops[op].results.clear();
        }
    }
    let ops: Vec<_> = p.ops.keys().collect();
    for _ in 0..rng.below(3) {
        let (a, b) = (pick(rng, &ops), pick(rng, &ops));
        let distance = if a < b { rng.below(2) } else { 1 + rng.below(2) };
        p.orders.push(Order { from: a, to: b, latency: rng.below(8), distance });
    }
    let made: Vec<Value> = p.ops.values().flat_map(|o| o.results.iter().copied()).collect();
    for _ in 0..rng.below(3) {
        if let Some(&value) = made.get(rng.below(made.len().max(1) as u32) as usize) {
            p.outs.push(Out { value, distance: rng.below(6) / 5 });
        }
    }
    if rng.chance(25) && ops.len() > 3 {
        let mut two: Vec<_> = (0..2).map(|_| pick(rng, &ops)).collect();
        two.dedup();
        if two.len() == 2 {
            p.mutexes.push(MutexData { name: "exclusive".into(), ops: two });
        }
    }
    p
}
