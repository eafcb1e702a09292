//! Goal: operands that change places without changing the result.
//!
//! Which operands may is said by the column `commutes` of `data/opcodes.csv`. What an instruction reads and writes stays what it was, and so
//! do all dependences. One thing does not: where ptxas chooses between two products of a sum ([`crate::contraction`]), it may choose by
//! their places, so whoever wants the same bits leaves such sums and products alone.
//!
//! Cost: that of printing an operand.

use crate::syntax::{InstId, Module};
use crate::table::Table;
use thiserror::Error;

/// An instruction without operands that may change places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no two operands of instruction {} may change places", .0.index())]
pub struct NotCommutative(pub InstId);

impl Module {
    /// The operands of an instruction that may change places, as positions in [`Module::operands`].
    pub fn commuting(&self, inst: InstId) -> Option<[usize; 2]> {
        let row = Table::get().row(self.text(self.inst(inst).opcode))?;
        row.commuting(self.operands(inst))
    }

    /// Exchanges the two operands of an instruction that commute; a second time brings them back. [`Module::operands`] still shows the source.
    ///
    /// # Errors
    /// When there are no such operands. The instruction then stays as it is.
    pub fn commute(&mut self, inst: InstId) -> Result<(), NotCommutative> {
        if inst.index() >= self.inst_count() || self.commuting(inst).is_none() {
            return Err(NotCommutative(inst));
        }
        if !self.commuted.remove(&inst) {
            self.commuted.insert(inst);
        }
        Ok(())
    }

    /// Whether [`Module::print`] writes two operands of an instruction in exchanged places.
    pub fn is_commuted(&self, inst: InstId) -> bool {
        self.commuted.contains(&inst)
    }

    /// Whether [`Module::print`] writes anything else than what was read.
    pub fn is_edited(&self) -> bool {
        !self.orders.is_empty() || !self.commuted.is_empty()
    }
}
