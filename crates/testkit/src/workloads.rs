//! Three straight-line blocks of any size: the shapes that speed goals are stated on.

use crate::rng::Rng;
use sassafras_ir::function::InstSpec;
use sassafras_ir::{AccessFlags, Block, Effects, Function, Lane, MemAccess, Operand, RegClass, Space, Span};

/// The shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Chains of integer instructions that cross now and then.
    IntegerChains,
    /// An 8×8 register-blocked matrix product: 16 shared loads, then 64 multiply-adds, again and again.
    Gemm8x8,
    /// Loads and stores through several pointers, with arithmetic between.
    LoadStore,
}

impl Workload {
    /// All of them.
    pub const ALL: [Workload; 3] = [Workload::IntegerChains, Workload::Gemm8x8, Workload::LoadStore];

    /// A short name for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Workload::IntegerChains => "alu",
            Workload::Gemm8x8 => "fma",
            Workload::LoadStore => "mem",
        }
    }

    /// A function of one block with `n` instructions and an exit behind them.
    pub fn function(self, n: usize) -> Function {
        let mut maker = Maker::new(self.name());
        match self {
            Workload::IntegerChains => integer_chains(&mut maker, n),
            Workload::Gemm8x8 => gemm(&mut maker, n),
            Workload::LoadStore => load_store(&mut maker, n),
        }
        let exit = InstSpec { opcode: "EXIT", effects: Some(Effects::EXIT), ..InstSpec::default() };
        maker.f.push(maker.block, &exit);
        maker.f
    }
}

struct Maker {
    f: Function,
    block: Block,
    emitted: usize,
}

fn reg(index: u32) -> Span {
    Lane::physical(RegClass::Gpr, index).expect("a general register").into()
}

impl Maker {
    fn new(name: &str) -> Maker {
        let mut f = Function::new(name, "sm_90");
        let block = f.add_block("body");
        Maker { f, block, emitted: 0 }
    }

    fn alu(&mut self, opcode: &str, def: u32, uses: &[u32]) {
        let uses: Vec<Operand> = uses.iter().map(|&u| Operand::Reg(reg(u))).collect();
        self.push(opcode, &[Operand::Reg(reg(def))], &uses);
    }

    fn load(&mut self, opcode: &str, def: u32, space: Space, base: u32, offset: i64) {
        let mem = self.access(space, base, offset);
        self.push(opcode, &[Operand::Reg(reg(def))], &[mem]);
    }

    fn store(&mut self, opcode: &str, value: u32, space: Space, base: u32, offset: i64) {
        let mem = self.access(space, base, offset);
        self.push(opcode, &[mem], &[Operand::Reg(reg(value))]);
    }

    fn access(&mut self, space: Space, base: u32, offset: i64) -> Operand {
        let flags = AccessFlags::empty();
        Operand::Mem(self.f.add_mem(MemAccess {
            space,
            flags,
            width: Some(4),
            base: Some(reg(base)),
            index: None,
            offset,
        }))
    }

    fn push(&mut self, opcode: &str, defs: &[Operand], uses: &[Operand]) {
        self.f.push(self.block, &InstSpec { opcode, defs, uses, ..InstSpec::default() });
        self.emitted += 1;
    }
}

fn integer_chains(m: &mut Maker, n: usize) {
    let mut rng = Rng::new(1);
    while m.emitted < n {
        let chain = rng.below(16) as u32 * 8;
        let other = rng.below(128) as u32;
        let opcode = *rng.pick(&["IADD3", "LOP3.LUT", "IMAD", "SHF.R.U32", "ISETP"]);
        m.alu(opcode, chain + rng.below(8) as u32, &[chain + rng.below(8) as u32, other]);
    }
}

fn gemm(m: &mut Maker, n: usize) {
    let (a, b, c) = (0, 16, 32);
    let mut step = 0u32;
    while m.emitted < n {
        // Fragments are double-buffered: each step loads what the next one multiplies.
        let (load, mul) = ((step % 2) * 8, ((step + 1) % 2) * 8);
        for i in 0..8 {
            m.load("LDS", a + load + i, Space::Shared, 128, i64::from(step * 64 + i * 4));
            m.load("LDS", b + load + i, Space::Shared, 129, i64::from(step * 64 + i * 4));
        }
        for i in 0..64 {
            m.alu("FFMA", c + i, &[a + mul + i / 8, b + mul + i % 8, c + i]);
        }
        step += 1;
    }
}

fn load_store(m: &mut Maker, n: usize) {
    let mut rng = Rng::new(2);
    while m.emitted < n {
        let pointer = 200 + rng.below(6) as u32;
        let value = rng.below(64) as u32;
        let offset = rng.below(1024) as i64 * 4;
        match rng.below(10) {
            0..4 => m.load("LDG.E", value, Space::Global, pointer, offset),
            4..6 => m.store("STG.E", value, Space::Global, pointer, offset),
            6 => m.alu("IADD3", pointer, &[pointer, value]),
            _ => m.alu("IADD3", value, &[rng.below(64) as u32, rng.below(64) as u32]),
        }
    }
}
