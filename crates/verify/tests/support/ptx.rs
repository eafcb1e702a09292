//! Random kernels for the checker of PTX modules, and a slow oracle that says which pairs of instructions must keep their order.
//!
//! No two instructions of a kernel have the same opcode and the same sources, nearly all have a number of their own, and every register is stored
//! in the end: no two compute the same, and no value is without a reader.

#![allow(dead_code, reason = "every test file uses its own part")]

use sassafras_ir::{AccessFlags, Effects, Function, Inst, Lane, MemAccess, Space};
use sassafras_ptx::{BlockId, InstId, Module, lower};
use sassafras_testkit::rng::Rng;
use std::collections::HashSet;
use std::fmt::Write;
use std::sync::Arc;

/// Registers of each kind that a kernel uses; more are declared, which nothing uses.
pub const USED: usize = 6;
/// Registers of each kind that are declared.
pub const DECLARED: usize = 10;

/// A kernel of several blocks.
pub fn kernel(rng: &mut Rng) -> String {
    let mut out = String::from(
        ".version 9.0\n.target sm_90\n.address_size 64\n\n.file 1 \"k.cu\"\n.visible .entry k(\n\t.param .u64 k_param_0\n)\n\
         .maxntid 128, 1, 1\n{\n",
    );
    for (name, ty) in [("%p", "pred"), ("%r", "b32"), ("%f", "f32"), ("%rd", "b64")] {
        writeln!(out, "\t.reg .{ty} {name}<{DECLARED}>;").expect("room");
    }
    out.push_str("\t.reg .b32 carry;\n\t.shared .align 8 .b8 mem[4096];\n");
    let located = rng.chance(40);
    let mut number = 100;
    let mut seen = HashSet::new();
    let blocks = 1 + rng.below(4);
    for block in 0..blocks {
        writeln!(out, "L{block}:").expect("room");
        for _ in 0..2 + rng.below(14) {
            if located && rng.chance(30) {
                writeln!(out, "\t.loc 1 {} 1", 1 + rng.below(9)).expect("room");
            }
            if rng.chance(10) {
                writeln!(out, "$tmp{number}:").expect("room");
            }
            number += 1;
            if rng.chance(15) {
                out.push_str("\t// about the next\n");
            }
            let text = loop {
                let text = instruction(rng, number);
                if seen.insert(without_result(&text)) {
                    break text;
                }
            };
            writeln!(out, "\t{text}").expect("room");
        }
        // Behind every block all registers may be wanted.
        writeln!(out, "\t@%p{} bra END;", rng.below(USED)).expect("room");
        writeln!(out, "\t@%p{} bra L{};", rng.below(USED), rng.below(blocks)).expect("room");
    }
    out.push_str("END:\n\taddc.u32 carry, 0, 0;\n\tst.global.u32 [%rd0+400], carry;\n");
    for i in 0..USED {
        writeln!(out, "\tst.global.u32 [%rd0+{}], %r{i};", 8 * i).expect("room");
        writeln!(out, "\tst.global.f32 [%rd0+{}], %f{i};", 8 * i + 100).expect("room");
        writeln!(out, "\tst.global.u64 [%rd0+{}], %rd{i};", 8 * i + 200).expect("room");
        writeln!(out, "\t@%p{i} st.global.u32 [%rd0+{}], {i};", 8 * i + 300).expect("room");
    }
    out.push_str("\tret;\n}\n");
    out
}

/// Opcode and sources of an instruction.
fn without_result(text: &str) -> String {
    let code = text.split(" //").next().unwrap_or_default();
    let code = code.split_once("%p").filter(|_| code.starts_with('@')).map_or(code, |(_, code)| &code[2..]);
    let (opcode, operands) = code.split_once(' ').unwrap_or((code, ""));
    let result = if operands.starts_with('{') { "}," } else { "," };
    format!("{opcode} {}", operands.split_once(result).map_or(operands, |(_, sources)| sources))
}

fn instruction(rng: &mut Rng, n: usize) -> String {
    let guard = if rng.chance(20) {
        format!("@{}%p{} ", rng.pick(&["", "!"]), rng.below(USED))
    } else {
        String::new()
    };
    let [a, b, c, d, e] = [(); 5].map(|()| rng.below(USED));
    // Another one, where both are written.
    let other = (a + 1 + rng.below(USED - 1)) % USED;
    let at = 4 * rng.below(6);
    let body = match rng.below(30) {
        0..=3 => format!("add.s32 %r{a}, %r{b}, {n};"),
        4 => format!("sub.s32 %r{a}, %r{b}, {n};"),
        5 => format!("mad.lo.s32 %r{a}, %r{b}, %r{c}, {n};"),
        6 => format!("mul.f32 %f{a}, %f{b}, 0f{n:08X};"),
        7 => format!("add.f32 %f{a}, %f{}, %f{}; // {n}", b.min(c), b.max(c)),
        8 => format!("fma.rn.f32 %f{a}, %f{b}, %f{c}, 0f{n:08X};"),
        9 => format!("add.s64 %rd{a}, %rd{b}, {n};"),
        10 => format!("mul.wide.s32 %rd{a}, %r{b}, {n};"),
        11 => format!("setp.eq.s32 %p{a}, %r{b}, {n};"),
        12 => format!("setp.lt.and.s32 %p{a}|%p{other}, %r{b}, {n}, %p{c};"),
        13 => format!("selp.b32 %r{a}, %r{b}, {n}, %p{c};"),
        14 => format!("mov.b64 {{%r{a}, %r{other}}}, %rd{b}; // {n}"),
        15 => format!("mov.b64 %rd{a}, {{%r{b}, {n}}};"),
        16 => format!("add.cc.u32 %r{a}, %r{b}, {n};"),
        17 => format!("addc.u32 %r{a}, %r{b}, {n};"),
        18 => format!("ld.global.u32 %r{a}, [%rd{b}+{at}];"),
        19 => format!("ld.global.v2.u32 {{%r{a}, %r{other}}}, [%rd{b}+{at}];"),
        20 => format!("st.global.u32 [%rd{b}+{at}], {n};"),
        21 => format!("st.shared.u32 [mem+{at}], {n};"),
        22 => format!("ld.shared.f32 %f{a}, [mem+{at}];"),
        23 => format!("atom.global.add.u32 %r{a}, [%rd{b}], {n};"),
        24 => format!("ld.volatile.global.u32 %r{a}, [%rd{b}];"),
        25 => format!("st.u32 [%rd{b}+{at}], {n};"),
        26 => format!("shfl.sync.up.b32 %r{a}, %r{b}, {}, 0, -1;", n % 32),
        27 => return format!("bar.sync {};", n % 16),
        28 => format!("mov.u32 %r{a}, %clock; // {n}"),
        _ => format!("sad.u32 %r{a}, %r{d}, {n}, %r{e};"),
    };
    format!("{guard}{body}")
}

/// A block as IR, with the PTX of each instruction.
pub struct Lifted {
    pub ids: Vec<InstId>,
    pub f: Arc<Function>,
    pub insts: Vec<Inst>,
}

/// All blocks of a module.
pub fn lifted(module: &Module) -> Vec<(BlockId, Lifted)> {
    let mut out = Vec::new();
    for function in module.functions().iter().filter(|f| f.has_body()) {
        let f = Arc::new(lower(module, function).expect("small").function);
        for (block, ir) in function.blocks().zip(f.blocks()) {
            let insts = f.block_insts(ir).to_vec();
            out.push((block, Lifted { ids: module.order(block), f: f.clone(), insts }));
        }
    }
    out
}

impl Lifted {
    fn reads(&self, at: usize) -> Vec<Lane> {
        let mut lanes = Vec::new();
        self.f.for_each_read(self.insts[at], |read| lanes.push(read.lane));
        lanes
    }

    fn writes(&self, at: usize) -> Vec<Lane> {
        let mut lanes = Vec::new();
        self.f.for_each_write(self.insts[at], |write| lanes.push(write.lane));
        lanes
    }

    fn effects(&self, at: usize) -> Effects {
        self.f.inst(self.insts[at]).effects
    }

    fn accesses(&self, at: usize) -> Vec<(MemAccess, bool)> {
        let counts = |(access, written): &(&MemAccess, bool)| *written || !access.reads_constant_memory();
        self.f.accesses(self.insts[at]).filter(counts).map(|(access, written)| (*access, written)).collect()
    }

    /// Whether two instructions run under opposite outcomes of one predicate: then at most one of them does anything.
    fn exclude(&self, i: usize, j: usize) -> bool {
        match [i, j].map(|at| self.f.inst(self.insts[at]).guard) {
            [Some(a), Some(b)] => a.lane == b.lane && a.negated != b.negated,
            _ => false,
        }
    }

    /// Why the instruction at `j` must not come before the one at `i`, which is before it now; `None` when it may, or when nobody can
    /// tell for sure that something changes.
    pub fn conflict(&self, i: usize, j: usize) -> Option<&'static str> {
        let full = Effects::TERMINATOR | Effects::CALL | Effects::OPAQUE;
        if self.effects(i).union(self.effects(j)).intersects(full) {
            return Some("nothing passes");
        }
        let meet = |a: &[Lane], b: &[Lane]| a.iter().any(|lane| b.contains(lane));
        let (reads_i, writes_i, reads_j, writes_j) =
            (self.reads(i), self.writes(i), self.reads(j), self.writes(j));
        if !self.exclude(i, j) {
            if meet(&writes_i, &reads_j) {
                return Some("read after write");
            }
            if meet(&reads_i, &writes_j) {
                return Some("write after read");
            }
            // Who writes last decides; what was written in between nobody may have seen.
            let last =
                |lane: &&Lane| (j + 1..self.insts.len()).all(|later| !self.writes(later).contains(lane));
            if writes_j.iter().filter(last).any(|lane| writes_i.contains(lane)) {
                return Some("write after write");
            }
        }
        let memory =
            self.accesses(i).iter().any(|a| self.accesses(j).iter().any(|b| self.overlap(i, j, a, b)));
        if memory {
            return Some("memory");
        }
        let volatile = |at: usize| {
            self.accesses(at).iter().any(|(access, _)| access.flags.contains(AccessFlags::VOLATILE))
        };
        let ordered = |at: usize| self.effects(at).contains(Effects::ORDERED) || volatile(at);
        if ordered(i) && ordered(j) {
            return Some("ordered");
        }
        let sync = |at: usize| self.effects(at).intersects(Effects::BARRIER | Effects::CONVERGENCE);
        let soft = |at: usize| {
            sync(at)
                || ordered(at)
                || !self.accesses(at).is_empty()
                || self.effects(at).contains(Effects::CROSS_LANE)
        };
        (sync(i) && soft(j) || sync(j) && soft(i)).then_some("barrier")
    }

    /// Whether two accesses touch the same bytes for all that is known here.
    fn overlap(
        &self,
        i: usize,
        j: usize,
        (a, writes_a): &(MemAccess, bool),
        (b, writes_b): &(MemAccess, bool),
    ) -> bool {
        if !writes_a && !writes_b || !alias(a.space, b.space) {
            return false;
        }
        let base: Vec<Lane> = a.address().flat_map(|span| span.lanes()).collect();
        let changed = (i..j).any(|at| self.writes(at).iter().any(|lane| base.contains(lane)));
        let comparable = a.space == b.space && a.base == b.base && a.index == b.index && !changed;
        let (Some(wide_a), Some(wide_b)) = (a.width, b.width) else { return true };
        let meet = a.offset < b.offset + i64::from(wide_b) && b.offset < a.offset + i64::from(wide_a);
        // Different registers hold different addresses, which may be of the same bytes whatever is added to them.
        !comparable || meet
    }
}

fn alias(a: Space, b: Space) -> bool {
    let windows = [Space::Global, Space::Shared, Space::Cluster, Space::Local];
    let generic = |x: Space, y: Space| x == Space::Generic && (y == Space::Generic || windows.contains(&y));
    let shared = [Space::Shared, Space::Cluster];
    a == b || generic(a, b) || generic(b, a) || shared.contains(&a) && shared.contains(&b)
}

/// The module with the instruction at `j` of a block put in front of the one at `i`.
pub fn swapped(module: &Module, block: BlockId, i: usize, j: usize) -> Module {
    let mut module = module.clone();
    let mut order = module.order(block);
    let moved = order.remove(j);
    order.insert(i, moved);
    module.reorder(block, &order).expect("a permutation");
    Module::parse(&module.print()).expect("what is printed")
}
