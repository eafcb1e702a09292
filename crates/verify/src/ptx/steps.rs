//! Instructions as steps of value numbering: all that an instruction is apart from its registers is its signature.
//!
//! A register in the text counts as its declared type and what stands behind its name (`.x`, `.b0`), so a new name is a register of the same
//! kind. What may touch any register (calls, opaque instructions) keeps its names: value numbering starts afresh behind it and could not
//! tell where its results went.

use crate::precedence::{Print, mix};
use crate::values::{Commuting, Step};
use sassafras_ir::{Effects, Function, Inst, Role};
use sassafras_ptx::syntax::{Atom, AtomKind};
use sassafras_ptx::{InstId, Module, Span};
use smallvec::SmallVec;

/// A step, and which registers it names.
pub(super) struct Named {
    pub step: Step,
    /// The registers in the order of the text.
    pub names: Print,
    /// The same with the operands that commute exchanged.
    pub exchanged: Print,
    /// All of the text, as it stands and with the operands that commute exchanged.
    pub texts: [Print; 2],
}

/// Marks that no text has.
const REGISTER: Print = 1 << 100;
const PLACE: Print = 2 << 100;

/// A sequence and one more.
pub(super) fn fold(all: Print, next: Print) -> Print {
    mix(mix(all).wrapping_add(next))
}

/// A number for a text.
pub(super) fn text(text: &str) -> Print {
    let (chunks, rest) = text.as_bytes().as_chunks::<15>();
    let number = |bytes: &[u8]| bytes.iter().fold(0, |all, &byte| all << 8 | Print::from(byte));
    let all = chunks.iter().fold(text.len() as Print, |all, chunk| fold(all, number(chunk)));
    fold(all, number(rest))
}

/// Of an instruction and what it was lowered to.
pub(super) fn step(module: &Module, inst: InstId, f: &Function, ir: Inst) -> Named {
    let mut effects = f.inst(ir).effects;
    let exact = effects.intersects(Effects::CALL | Effects::OPAQUE);
    // Registers are the function's own: who returns leaves only those behind that are listed.
    if effects.contains(Effects::RET) {
        effects = effects.difference(Effects::RET) | Effects::EXIT;
    }
    let operands = module.operands(inst);
    let commuting = module.commuting(inst).filter(|&both| both == [1, 2] && !exact);
    let spans = commuting.map(|both| both.map(|at| operands[at].span));
    let atoms: SmallVec<[&Atom; 8]> =
        module.guard(inst).into_iter().chain(operands.iter().flat_map(|o| module.atoms(o))).collect();
    let mut atoms = atoms.into_iter().peekable();
    // Of the whole, and of the operands that may change places.
    let (mut signature, mut own) = (0, [0; 2]);
    let (mut names, mut own_names) = (0, [0; 2]);
    for token in module.tokens(module.inst(inst).span()) {
        let inside = spans.and_then(|both| both.iter().position(|span| within(token, *span)));
        while atoms.next_if(|atom| atom.span.end() <= token.start()).is_some() {}
        let register = atoms.next_if(|atom| atom.span == token).and_then(|atom| match atom.kind {
            AtomKind::Register { register, index, .. } if !exact => Some((register, index)),
            _ => None,
        });
        let number = match register {
            None => text(module.text(token)),
            Some((register, index)) => {
                let declared = module.register(register);
                let behind = module.text(token).split_once('.').map_or("", |(_, behind)| behind);
                let name = fold(register.index() as Print, index.into());
                let names = inside.map_or(&mut names, |at| &mut own_names[at]);
                *names = fold(*names, name);
                let kind = [text(module.text(declared.ty)), declared.elements.into(), text(behind)];
                kind.into_iter().fold(REGISTER, fold)
            }
        };
        match inside {
            Some(at) => own[at] = fold(own[at], number),
            None => signature = fold(signature, number),
        }
    }
    if commuting.is_some() {
        signature = fold(signature, PLACE);
    }
    let orders = [[0, 1], [1, 0]];
    let [names, exchanged] = orders.map(|order| order.map(|at| own_names[at]).into_iter().fold(names, fold));
    let [text, other] = orders.map(|order| order.map(|at| own[at]).into_iter().fold(signature, fold));
    let texts = [fold(text, names), fold(other, exchanged)];
    let mut step = Step::new(signature, names, effects);
    step.guard = f.inst(ir).guard;
    f.for_each_read(ir, |read| {
        if read.role != Role::Guard {
            step.reads.push(read.lane);
        }
    });
    f.for_each_write(ir, |write| step.writes.push(write.lane));
    step.accesses = f.accesses(ir).map(|(access, written)| (*access, written)).collect();
    if commuting.is_some() {
        // The operand in front of them is written, so that they are the first that are read: one use for each name or number.
        let mut uses = f.uses(ir).iter();
        let mut at = 0;
        step.commuting = Some([1, 2].map(|operand: usize| {
            let count = module.atoms(&operands[operand]).len();
            let lanes = uses
                .by_ref()
                .take(count)
                .filter_map(|o| o.span())
                .map(|s| usize::from(s.len()))
                .sum::<usize>();
            let reads = at..at + lanes;
            at += lanes;
            Commuting { signature: own[operand - 1], reads }
        }));
    }
    Named { step, names, exchanged, texts }
}

fn within(token: Span, span: Span) -> bool {
    span.start() <= token.start() && token.end() <= span.end()
}
