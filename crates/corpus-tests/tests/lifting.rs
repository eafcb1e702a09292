//! Decoding and lifting: how much of the corpus is opaque, and where.
#![cfg(feature = "real-tools")]

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use sassafras_corpus_tests::{Item, cubins};
use sassafras_cubin::{Cubin, Sm};
use sassafras_ir::cfg::Cfg;
use sassafras_ir::dominators::Dominators;
use sassafras_ir::loops::Loops;
use sassafras_ir::{Effects, Payload, verify};
use sassafras_sass::Decoder;
use sassafras_sass::program::{Program, Routine, arch_of};

/// The largest share of opaque instructions that is accepted.
fn bar(sm: Sm) -> f64 {
    if [80, 86, 89, 90].contains(&sm.number) { 0.01 } else { 0.02 }
}

#[derive(Default)]
struct Tally {
    cubins: usize,
    instructions: usize,
    opcodes: BTreeSet<String>,
    /// Opcode to how often.
    opaque: BTreeMap<String, usize>,
    /// Opaque instructions inside loops of our own kernels: opcode to one place.
    in_loops: BTreeMap<String, String>,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.cubins += other.cubins;
        self.instructions += other.instructions;
        self.opcodes.extend(other.opcodes);
        for (opcode, count) in other.opaque {
            *self.opaque.entry(opcode).or_default() += count;
        }
        self.in_loops.extend(other.in_loops);
    }
}

/// Whether there is a decoding table.
fn decodable(sm: Sm) -> bool {
    arch_of(sm).is_some_and(|arch| Decoder::new(arch).has_table())
}

fn examine(item: &Item) -> Tally {
    let what = &item.name;
    let cubin = Cubin::parse(&item.bytes).unwrap_or_else(|e| panic!("{what}: {e}"));
    let program = Program::new(&cubin).unwrap_or_else(|e| panic!("{what}: {e}"));
    let mut tally = Tally { cubins: 1, ..Tally::default() };
    for code in program.sections() {
        for routine in program.lift(code).unwrap_or_else(|e| panic!("{what}: {e}")) {
            let function = &routine.lifted.function;
            if let Err(broken) = verify::verify(function) {
                panic!("{what} {}: {broken:?}", routine.name);
            }
            count(item, &program, &routine, &mut tally);
        }
    }
    tally
}

fn count(item: &Item, program: &Program<'_, '_>, routine: &Routine, tally: &mut Tally) {
    let function = &routine.lifted.function;
    let decoder = Decoder::new(program.arch());
    let cfg = Cfg::new(function);
    let loops = Loops::new(function, &cfg, &Dominators::new(function, &cfg));
    for block in function.blocks() {
        for &inst in function.block_insts(block) {
            let Payload::Word(word) = function.inst(inst).payload else {
                panic!("{}: an instruction without its word", item.name);
            };
            let decoded = decoder.decode(word, routine.lifted.address(inst));
            tally.instructions += 1;
            let opcode = format!("{:#05x}", decoded.opcode());
            tally.opcodes.insert(decoded.mnemonic().map_or_else(|| opcode.clone(), str::to_owned));
            if !function.inst(inst).effects.contains(Effects::OPAQUE) {
                continue;
            }
            *tally
                .opaque
                .entry(decoded.mnemonic().map_or_else(|| opcode.clone(), str::to_owned))
                .or_default() += 1;
            if item.origin.is_ours() && loops.block_depth(block) > 0 {
                tally.in_loops.insert(opcode, format!("{} {}", item.name, routine.name));
            }
        }
    }
}

#[test]
fn little_is_opaque_and_nothing_in_loops_of_our_kernels() {
    let items = cubins().expect("the corpus");
    let (decodable, old): (Vec<_>, Vec<_>) = items.iter().partition(|item| decodable(item.sm));
    let tallies: Vec<_> =
        decodable.par_iter().map(|item| ((item.sm, item.origin.is_ours()), examine(item))).collect();
    let mut sums: BTreeMap<(Sm, bool), Tally> = BTreeMap::new();
    for (key, tally) in tallies {
        sums.entry(key).or_default().add(tally);
    }
    let mut problems = Vec::new();
    for ((sm, ours), tally) in &sums {
        let opaque: usize = tally.opaque.values().sum();
        let share = opaque as f64 / tally.instructions as f64;
        let mut frequent: Vec<_> = tally.opaque.iter().collect();
        frequent.sort_by_key(|&(_, &count)| std::cmp::Reverse(count));
        frequent.truncate(6);
        let origin = if *ours { "ours" } else { "libraries" };
        eprintln!(
            "{sm} {origin}: {} cubins, {} instructions, {} distinct opcodes, {opaque} opaque ({:.3} %) {frequent:?}",
            tally.cubins,
            tally.instructions,
            tally.opcodes.len(),
            100.0 * share,
        );
        if share > bar(*sm) {
            problems.push(format!("{sm} {origin}: {:.2} % opaque", 100.0 * share));
        }
        for (opcode, place) in &tally.in_loops {
            problems.push(format!("{sm}: opaque in a loop: {opcode} in {place}"));
        }
    }
    let without: BTreeSet<String> = old.iter().map(|item| item.sm.to_string()).collect();
    eprintln!("{} cubins are read and written, not lifted: {without:?} have no table", old.len());
    assert!(old.iter().all(|item| item.sm.number < 70), "{without:?}");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(sums.len() >= 20, "{} architectures and origins", sums.len());
}
