//! Random functions: every operand kind, guards, tuples, ties, memory of every space, every effect.

use crate::rng::Rng;
use sassafras_ir::function::InstSpec;
use sassafras_ir::{
    AccessFlags, Block, Effects, Function, Guard, Lane, MemAccess, Operand, Payload, RegClass, Space, Span,
};

/// What a random function is to look like.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Blocks; one block ends in an exit and is straight-line code.
    pub blocks: usize,
    /// Instructions per block.
    pub insts: usize,
    /// How many registers of a class are in play: few make many dependences.
    pub registers: u32,
    /// How many of a hundred instructions are guarded.
    pub guarded: usize,
    /// How many of a hundred instructions access memory.
    pub memory: usize,
    /// How many of a hundred instructions have another effect (barriers, calls, opaque ones).
    pub effects: usize,
}

impl Shape {
    /// A shape drawn at random.
    pub fn random(rng: &mut Rng, blocks: usize, insts: usize) -> Shape {
        Shape {
            blocks,
            insts,
            registers: 1 + rng.below(12) as u32,
            guarded: *rng.pick(&[0, 10, 60]),
            memory: *rng.pick(&[0, 20, 70]),
            effects: *rng.pick(&[0, 3, 15]),
        }
    }
}

/// A function with that shape. It passes the verifier.
pub fn function(rng: &mut Rng, shape: &Shape) -> Function {
    let mut f = Function::new("random", "sm_90");
    let virt = rng.chance(50);
    let mut maker = Maker { rng, shape, virt };
    for class in [RegClass::Gpr, RegClass::Uniform, RegClass::Pred, RegClass::UPred] {
        let lanes = maker.registers(class) as u8;
        f.inputs.push(maker.at(class, 0, lanes));
    }
    let blocks: Vec<Block> = (0..shape.blocks).map(|i| f.add_block(&format!("b{i}"))).collect();
    for (i, &block) in blocks.iter().enumerate() {
        for _ in 0..shape.insts {
            maker.instruction(&mut f, block);
        }
        maker.terminator(&mut f, block, &blocks, i + 1 == blocks.len());
    }
    f
}

struct Maker<'a> {
    rng: &'a mut Rng,
    shape: &'a Shape,
    virt: bool,
}

impl Maker<'_> {
    /// How many registers of a class are in play. Spans of up to four lanes must fit into the general ones.
    fn registers(&self, class: RegClass) -> u32 {
        match class {
            RegClass::Gpr | RegClass::Uniform => self.shape.registers + 4,
            _ => self.shape.registers.min(5),
        }
    }

    fn at(&self, class: RegClass, index: u32, lanes: u8) -> Span {
        let lane = if self.virt { Lane::virt(class, index) } else { Lane::physical(class, index) };
        Span::new(lane.expect("in range"), lanes).expect("in range")
    }

    fn span(&mut self, class: RegClass, lanes: u8) -> Span {
        let index = self.rng.below((self.registers(class) - u32::from(lanes) + 1) as usize) as u32;
        self.at(class, index, lanes)
    }

    fn any_span(&mut self) -> Span {
        match self.rng.below(8) {
            0 => self.span(RegClass::Uniform, 1),
            1 => self.span(RegClass::Pred, 1),
            2 => self.span(RegClass::Gpr, 4),
            3 => self.span(RegClass::Gpr, 2),
            _ => self.span(RegClass::Gpr, 1),
        }
    }

    fn guard(&mut self) -> Option<Guard> {
        let class = if self.rng.chance(90) { RegClass::Pred } else { RegClass::UPred };
        let guarded = self.rng.chance(self.shape.guarded);
        guarded.then(|| Guard { lane: self.span(class, 1).first(), negated: self.rng.chance(50) })
    }

    fn access(&mut self) -> MemAccess {
        let space = *self.rng.pick(&Space::ALL);
        let mut flags = AccessFlags::empty();
        flags.set(AccessFlags::VOLATILE, self.rng.chance(5));
        let base = self.rng.chance(85).then(|| {
            let lanes = *self.rng.pick(&[1, 1, 1, 2, 2, 3]);
            self.span(RegClass::Gpr, lanes)
        });
        MemAccess {
            space,
            flags,
            width: if self.rng.chance(95) { Some(*self.rng.pick(&[1, 4, 8, 16, 512])) } else { None },
            base,
            index: self.rng.chance(10).then(|| {
                let lanes = 1 + self.rng.below(2) as u8;
                self.span(RegClass::Uniform, lanes)
            }),
            offset: self.rng.below(12) as i64 * 2 - 8,
        }
    }

    fn use_operand(&mut self, f: &mut Function) -> Operand {
        match self.rng.below(10) {
            0 => Operand::Imm(self.rng.next_u64() as i64 >> self.rng.below(64)),
            1 => Operand::Constant(RegClass::Gpr),
            2 => Operand::Bank { bank: self.rng.below(4) as u8, offset: self.rng.below(1000) as u32 },
            3 => Operand::Symbol(f.intern(["SR_TID.X", "a name", "q\"\\\n"][self.rng.below(3)])),
            _ => Operand::Reg(self.any_span()),
        }
    }

    fn instruction(&mut self, f: &mut Function, block: Block) {
        let (mut defs, mut uses) = (Vec::new(), Vec::new());
        let mut effects = Effects::empty();
        let mut opcode =
            *self.rng.pick(&["FFMA", "IADD3", "IMAD", "MUFU.RCP", "HFMA2.MMA", "LOP3.LUT", "mad.lo.s32"]);
        if self.rng.chance(self.shape.memory) {
            self.memory(f, &mut defs, &mut uses);
            opcode = "LDG.E";
        } else if self.rng.chance(self.shape.effects) {
            effects = *self.rng.pick(&[
                Effects::BARRIER,
                Effects::CALL,
                Effects::CONVERGENCE,
                Effects::CROSS_LANE,
                Effects::ORDERED,
                Effects::OPAQUE,
                Effects::ORDERED.union(Effects::CROSS_LANE),
            ]);
            opcode = "odd op";
        }
        if self.rng.chance(85) {
            let span = self.any_span();
            defs.push(Operand::Reg(span));
            if self.rng.chance(10) {
                uses.push(Operand::Tied { span: self.same_shape(span), def: defs.len() as u8 - 1 });
            }
        } else if self.rng.chance(20) {
            defs.push(Operand::Constant(RegClass::Pred));
        }
        for _ in 0..self.rng.below(4) {
            let operand = self.use_operand(f);
            uses.push(operand);
        }
        let payload = match self.rng.below(20) {
            0 => Payload::Word(u128::from(self.rng.next_u64()) << self.rng.below(64)),
            1 => Payload::Text(f.intern("add.s32 %r1, %r2; // \"x\"\t\\")),
            _ => Payload::None,
        };
        let guard = self.guard();
        f.push(block, &InstSpec { opcode, guard, defs: &defs, uses: &uses, effects: Some(effects), payload });
    }

    /// What may be tied to a definition: itself, or any virtual register of its shape.
    fn same_shape(&mut self, span: Span) -> Span {
        if self.virt { self.span(span.class(), span.len()) } else { span }
    }

    fn memory(&mut self, f: &mut Function, defs: &mut Vec<Operand>, uses: &mut Vec<Operand>) {
        let kind = self.rng.below(10);
        if kind >= 5 {
            let mut access = self.access();
            if self.rng.chance(10) {
                access.flags |= AccessFlags::READ_ONLY;
            }
            uses.push(Operand::Mem(f.add_mem(access)));
        }
        if kind < 5 || kind == 9 {
            let mut access = self.access();
            access.flags.set(AccessFlags::ATOMIC, self.rng.chance(20));
            access.flags.set(AccessFlags::MAYBE_VOLATILE, self.rng.chance(10));
            defs.push(Operand::Mem(f.add_mem(access)));
        }
    }

    fn terminator(&mut self, f: &mut Function, block: Block, blocks: &[Block], last: bool) {
        let target = Operand::Label(*self.rng.pick(blocks));
        let (effect, guard, uses) = match self.rng.below(4) {
            _ if last => (Effects::EXIT, None, vec![]),
            0 => return,
            1 => (Effects::BRANCH, None, vec![target]),
            2 => (Effects::BRANCH, None, vec![target, Operand::Label(*self.rng.pick(blocks))]),
            _ => (
                Effects::BRANCH,
                Some(Guard { lane: self.span(RegClass::Pred, 1).first(), negated: true }),
                vec![target],
            ),
        };
        // A branch may be a call, or not understood, as well.
        let also = match self.rng.chance(self.shape.effects) {
            true => *self.rng.pick(&[Effects::CALL, Effects::OPAQUE]),
            false => Effects::empty(),
        };
        let opcode = if effect == Effects::EXIT { "EXIT" } else { "BRA" };
        f.push(
            block,
            &InstSpec { opcode, guard, uses: &uses, effects: Some(effect | also), ..InstSpec::default() },
        );
    }
}
