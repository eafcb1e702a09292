//! Orders of blocks, and the text of a module with them.
//!
//! A block in the order of its text prints the bytes that were read. In another order, every instruction goes with its own text: the
//! comments in front of it and the rest of its line. Two things do not go with an instruction:
//!
//! * **A `.loc` belongs to all instructions behind it**, up to the next one. Each instruction keeps the `.loc` that was in force where
//!   it stood: it is written again wherever the one before has another, and once more at the block's end where what
//!   follows would see another. An instruction with none in force is not told apart from those before it: PTX cannot say so.
//!   A place that some `inlined_at` of the block names must have been given before, or ptxas refuses it: those are written at
//!   the block's start.
//! * **A label that no instruction names** (debug information does) keeps its place: the third instruction's stays before the third.
//!
//! Besides, two operands of an instruction may have changed places ([`Module::commute`]); each is written where the other stood, with the
//! comments inside it.
//!
//! Orders are not checked against dependences here; [`crate::lower()`] gives what such a check needs.

use crate::syntax::{BlockId, InstId, Module, PieceKind};
use crate::text::Span;
use rustc_hash::FxHashSet;
use std::ops::Range;
use thiserror::Error;

/// An order that is not one of a block's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not an order of the instructions of block {}", .0.index())]
pub struct NotAnOrder(pub BlockId);

impl Module {
    /// The instructions of a block in the order that [`Module::print`] writes them.
    pub fn order(&self, block: BlockId) -> Vec<InstId> {
        match self.orders.get(&block) {
            Some(order) => order.clone(),
            None => self.blocks[block.index()].insts.clone().map(InstId).collect(),
        }
    }

    /// How many instructions stand elsewhere than in the text that was read.
    pub fn moved(&self) -> usize {
        let moved = |(block, order): (&BlockId, &Vec<InstId>)| {
            let insts = self.blocks[block.index()].insts.clone();
            insts.zip(order).filter(|(old, new)| *old != new.0).count()
        };
        self.orders.iter().map(moved).sum()
    }

    /// Puts the instructions of a block into another order.
    ///
    /// # Errors
    /// When `order` does not hold every instruction of the block once. The block then keeps its order.
    pub fn reorder(&mut self, block: BlockId, order: &[InstId]) -> Result<(), NotAnOrder> {
        let Some(insts) = self.blocks.get(block.index()).map(|data| data.insts.clone()) else {
            return Err(NotAnOrder(block));
        };
        let mut seen = vec![false; insts.len()];
        for inst in order {
            let position = inst.0.checked_sub(insts.start).map(|p| p as usize);
            match position.and_then(|p| seen.get_mut(p)) {
                Some(seen) if !*seen => *seen = true,
                _ => return Err(NotAnOrder(block)),
            }
        }
        if order.len() != insts.len() {
            return Err(NotAnOrder(block));
        }
        if order.is_sorted() {
            self.orders.remove(&block);
        } else {
            self.orders.insert(block, order.to_vec());
        }
        Ok(())
    }

    /// The module as text. Unchanged, it is what was read, byte for byte.
    pub fn print(&self) -> String {
        let mut out = String::with_capacity(self.source.len() + self.source.len() / 8);
        let mut at = 0;
        let mut changed: Vec<BlockId> = self.orders.keys().copied().collect();
        changed.sort_unstable();
        for block in changed {
            let insts = &self.blocks[block.index()].insts;
            let (first, last) = (self.inst(InstId(insts.start)), self.inst(InstId(insts.end - 1)));
            self.print_text(at..first.chunk.start(), &mut out);
            self.print_block(block, &mut out);
            at = last.chunk.end();
        }
        self.print_text(at..self.source.len(), &mut out);
        out
    }

    /// A part of the source that holds instructions whole, with operands exchanged where they were.
    fn print_text(&self, range: Range<usize>, out: &mut String) {
        let mut at = range.start;
        if !self.commuted.is_empty() {
            let place = |end: usize| self.insts.partition_point(|inst| inst.span.start() < end) as u32;
            for &inst in self.commuted.range(InstId(place(range.start))..InstId(place(range.end))) {
                let Some([a, b]) = self.commuting(inst) else { continue };
                let [a, b] = [a, b].map(|operand| self.operands(inst)[operand].span);
                for (end, instead, next) in [(a.start(), b, a.end()), (b.start(), a, b.end())] {
                    out.push_str(&self.source[at..end]);
                    out.push_str(self.text(instead));
                    at = next;
                }
            }
        }
        out.push_str(&self.source[at..range.end]);
    }

    fn print_block(&self, block: BlockId, out: &mut String) {
        let data = &self.blocks[block.index()];
        let mut loc = data.loc;
        self.print_callers(block, &mut loc, out);
        for (slot, &inst) in data.insts.clone().zip(&self.orders[&block]) {
            for piece in self.pieces(InstId(slot)).iter().filter(|p| p.kind == PieceKind::Label) {
                self.print_line(piece.span, out);
            }
            self.print_loc(self.inst(inst).loc, &mut loc, out);
            let chunk = self.inst(inst).chunk;
            let mut at = chunk.start();
            for piece in self.pieces(inst) {
                if piece.kind == PieceKind::Text {
                    out.push_str(self.text(piece.span));
                }
                at = piece.span.end();
            }
            self.print_text(at..chunk.end(), out);
        }
        self.print_loc(self.inst(InstId(data.insts.end - 1)).loc, &mut loc, out);
    }

    /// The places of the block that code was inlined at, in the order of the text.
    fn print_callers(&self, block: BlockId, loc: &mut Option<Span>, out: &mut String) {
        let insts = self.blocks[block.index()].insts.clone();
        let locs = || {
            let pieces = insts.clone().flat_map(|inst| self.pieces(InstId(inst)));
            pieces.filter(|piece| piece.kind == PieceKind::Loc).map(|piece| piece.span)
        };
        let callers: FxHashSet<Place<'_>> =
            locs().filter_map(|span| Place::of_caller(self.text(span))).collect();
        let mut written = FxHashSet::default();
        for span in locs().filter(|_| !callers.is_empty()) {
            let text = self.text(span);
            if Place::of(text).is_some_and(|place| callers.contains(&place)) && written.insert(text) {
                self.print_loc(Some(span), loc, out);
            }
        }
    }

    fn print_loc(&self, wanted: Option<Span>, present: &mut Option<Span>, out: &mut String) {
        if let Some(span) = wanted
            && present.is_none_or(|p| self.text(p) != self.text(span))
        {
            self.print_line(span, out);
            *present = wanted;
        }
    }

    /// A line of its own, whether or not it was one.
    fn print_line(&self, span: Span, out: &mut String) {
        if !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(self.text(span));
        if !out.ends_with('\n') {
            out.push('\n');
        }
    }
}

/// File, line and column as a `.loc` has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Place<'a>([&'a str; 3]);

impl<'a> Place<'a> {
    /// Where a `.loc` is.
    fn of(loc: &'a str) -> Option<Place<'a>> {
        Place::behind(loc, ".loc")
    }

    /// Where it is inlined.
    fn of_caller(loc: &'a str) -> Option<Place<'a>> {
        Place::behind(loc, "inlined_at")
    }

    fn behind(loc: &'a str, word: &str) -> Option<Place<'a>> {
        let code = loc.split("//").next().unwrap_or_default();
        let mut words =
            code.split([' ', '\t', '\r', '\n', ',']).filter(|w| !w.is_empty()).skip_while(|w| *w != word);
        words.next()?;
        Some(Place([words.next()?, words.next()?, words.next()?]))
    }
}
