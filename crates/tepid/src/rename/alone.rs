//! A block taken out of its function.

use super::moved;
use crate::body::Body;
use crate::code::{Code, Facts, Sources, index};
use sassafras_deps::Node;
use sassafras_ir::{Block, Function, Inst, Lane, Span};
use sassafras_machine::Arch;
use std::sync::Arc;

/// A block by itself. Its instructions are numbered by the positions that they came in.
#[derive(Clone)]
pub(crate) struct Alone {
    /// The block as a function.
    pub function: Function,
    /// By instruction, the registers of its reuse flags.
    pub sources: Vec<Sources>,
    /// The block.
    pub only: Block,
}

impl Alone {
    /// Takes a block out of its function.
    pub fn new(code: &Code<'_>, block: Block) -> Alone {
        let function = code.f.excerpt(block);
        let sources = code.f.block_insts(block).iter().map(|&inst| code.sources(inst)).collect();
        let only = function.blocks().next().unwrap_or(block);
        Alone { function, sources, only }
    }

    /// With what the passes ask about it.
    pub fn code(&self, arch: Arch) -> Code<'_> {
        Code::new(&self.function, &self.sources, arch)
    }

    /// As [`Alone::code`], with what was looked up before the block got another order.
    pub fn code_again(&self, arch: Arch, facts: &Arc<Facts>) -> Code<'_> {
        Code::reordered(&self.function, &self.sources, arch, facts)
    }

    /// By position: whether an instruction reads its sources late.
    pub fn late(&self, arch: Arch) -> Vec<bool> {
        let code = self.code(arch);
        let mut late = vec![false; self.function.inst_count()];
        self.insts().into_iter().for_each(|inst| late[index(inst)] = code.op(inst).decoupled);
        late
    }

    /// Its instructions as they stand.
    pub fn insts(&self) -> Vec<Inst> {
        self.function.block_insts(self.only).to_vec()
    }

    /// The same with other registers.
    pub fn renamed(
        &self,
        read: impl Fn(Inst, Lane) -> Option<Lane>,
        written: impl Fn(Inst, Lane) -> Option<Lane>,
    ) -> Alone {
        let mut new = self.clone();
        for inst in self.insts() {
            let read = |span: Span| moved(span, read(inst, span.first()).as_ref());
            let written = |span: Span| moved(span, written(inst, span.first()).as_ref());
            new.sources[index(inst)].iter_mut().flatten().for_each(|span| *span = read(*span));
            new.function.rename(inst, read, written);
        }
        new
    }

    /// Puts the instructions into the order of a body of this block.
    pub fn reorder(&mut self, body: &Body, order: &[Node]) {
        let order: Vec<Inst> = order.iter().map(|node| body.insts[node.index()]).collect();
        self.function.reorder(self.only, &order);
    }
}
