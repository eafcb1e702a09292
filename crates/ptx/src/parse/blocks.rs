//! Which statements form a block, and which text moves with which instruction.
//!
//! A statement's text is from the end of the one before to the end of its line (see [`boundary`]), so comments in front
//! of an instruction and behind it on its line are its own.

use super::Parser;
use super::body::Item;
use crate::syntax::{AtomKind, Block, InstId, Piece, PieceKind};
use crate::table::Table;
use crate::text::{Span, boundary, indent};
use rustc_hash::FxHashSet;

/// How compilers mark the end of inline assembly: it belongs to what stands before it.
const END_OF_ASM: &str = "// end inline asm\n";

impl<'a> Parser<'a> {
    /// Makes the blocks of the function whose statements these are.
    pub(super) fn form_blocks(&mut self, items: &[Item], first_label: usize, first_list: usize) {
        let targets = self.named_labels(items, first_label, first_list);
        for label in &mut self.module.labels[first_label..] {
            label.named = targets.contains(&self.source[label.name.range()]);
        }
        let mut at = 0;
        let mut pending: Vec<Piece> = Vec::new();
        let mut open = false;
        let mut loc = None;
        let mut loc_before = None;
        for item in items {
            match *item {
                Item::Other(span) => {
                    at = boundary(self.source, span.end());
                    open = false;
                    pending.clear();
                    loc_before = loc;
                }
                Item::Label { name, span } if targets.contains(self.slice(name)) => {
                    at = boundary(self.source, span.end());
                    open = false;
                    pending.clear();
                    loc_before = loc;
                }
                Item::Label { span, .. } => {
                    at = self.piece(&mut pending, PieceKind::Label, at, span);
                }
                Item::Loc(span) => {
                    at = self.piece(&mut pending, PieceKind::Loc, at, span);
                    loc = pending.last().map(|piece| piece.span);
                }
                Item::Inst(inst) => {
                    if !open {
                        self.module.blocks.push(Block { insts: inst.0..inst.0, loc: loc_before });
                    }
                    let end = self.inst_end(inst);
                    let first_piece = self.module.pieces.len() as u32;
                    let start = pending.first().map_or(at, |piece| piece.span.start());
                    self.module.pieces.append(&mut pending);
                    let data = &mut self.module.insts[inst.index()];
                    data.chunk = Span::new(start, end);
                    data.pieces = (first_piece, self.module.pieces.len() as u32);
                    data.loc = loc;
                    let opcode = data.opcode;
                    if let Some(block) = self.module.blocks.last_mut() {
                        block.insts.end = inst.0 + 1;
                    }
                    at = end;
                    open = !Table::get().ends_block(self.slice(opcode));
                    if !open {
                        loc_before = loc;
                    }
                }
            }
        }
    }

    /// Enters a piece and what comes before it; returns where its text ends.
    fn piece(&self, pending: &mut Vec<Piece>, kind: PieceKind, at: usize, span: Span) -> usize {
        let start = indent(self.source, at.min(span.start()), span.start());
        if at < start {
            pending.push(Piece { kind: PieceKind::Text, span: Span::new(at, start) });
        }
        let end = boundary(self.source, span.end());
        pending.push(Piece { kind, span: Span::new(start, end) });
        end
    }

    fn inst_end(&self, inst: InstId) -> usize {
        let mut end = boundary(self.source, self.module.inst(inst).span.end());
        let tail = &self.source[end..];
        let mark = tail.trim_start_matches([' ', '\t']);
        // Blank lines between are the assembly's own.
        let mark = mark.strip_prefix('\n').map_or(mark, |m| m.trim_start_matches([' ', '\t']));
        if self.source[..end].ends_with('\n') && mark.starts_with(END_OF_ASM) {
            end += tail.len() - mark.len() + END_OF_ASM.len();
        }
        end
    }

    /// The names that instructions and lists of targets use and that may be labels.
    fn named_labels(&self, items: &[Item], first_label: usize, first_list: usize) -> FxHashSet<&'a str> {
        let labels: FxHashSet<&str> =
            self.module.labels[first_label..].iter().map(|label| self.slice(label.name)).collect();
        let mut named: FxHashSet<&str> = FxHashSet::default();
        if labels.is_empty() {
            return named;
        }
        for item in items {
            let Item::Inst(inst) = *item else { continue };
            for operand in self.module.operands(inst) {
                let words = self.module.atoms(operand).iter().filter(|atom| atom.kind == AtomKind::Word);
                named.extend(words.map(|atom| self.slice(atom.span)).filter(|word| labels.contains(word)));
            }
        }
        for list in &self.module.target_lists[first_list..] {
            named.extend(list.targets.iter().map(|&span| self.slice(span)));
        }
        named
    }
}
