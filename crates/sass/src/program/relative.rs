//! Goal: words that say where something is relative to themselves, told apart and moved.
//!
//! Most instructions can be put anywhere. A branch, a call inside a section and the naming of a reconvergence point hold
//! a distance from the next instruction; when one moves, the distance has to change for it to name the same place.

use sassafras_machine::Arch;

use crate::decode::{Decoder, Flow};
use crate::table::{Bits, FamilyTable, FlowKind, Tables};

/// Finds and rewrites relative distances in the words of one architecture.
#[derive(Clone, Copy, Debug)]
pub struct Relative {
    decoder: Decoder,
    table: Option<&'static FamilyTable>,
}

impl Relative {
    /// For the words of `arch`.
    pub fn new(arch: Arch) -> Relative {
        let table = arch.number().and_then(Tables::builtin);
        Relative { decoder: Decoder::new(arch), table }
    }

    /// The bits that hold a distance; none for most words.
    pub fn mask(&self, word: u128) -> u128 {
        let pieces = self.pieces(word).unwrap_or_default();
        pieces.iter().fold(0, |mask, bits| bits.set(mask, u64::MAX))
    }

    /// The place that the word names when it stands at `at`, as an offset in its section.
    pub fn target(&self, word: u128, at: u64) -> Option<u64> {
        self.pieces(word)?;
        match self.decoder.decode(word, at).flow() {
            Flow::Branch { target } | Flow::Call { target } | Flow::Reconverge { target } => Some(target),
            _ => None,
        }
    }

    /// The word that names at `to` the place that it names at `from`; `None` where the distance does not fit.
    pub fn moved(&self, word: u128, from: u64, to: u64) -> Option<u128> {
        if self.pieces(word).is_none() || from == to {
            return Some(word);
        }
        self.aimed(word, to, self.target(word, from)?)
    }

    /// The word that names the place `target` when it stands at `at`; `None` where it names none, or where the distance does not fit.
    pub fn aimed(&self, word: u128, at: u64, target: u64) -> Option<u128> {
        let aimed = with_distance(self.pieces(word)?, word, target.wrapping_sub(at).wrapping_sub(16));
        // What was cut off shows in the place that the new word names.
        (self.target(aimed, at) == Some(target)).then_some(aimed)
    }

    /// The word at `to` that does what it did at `from`, in code whose places are elsewhere now: `place` gives the new offset of an old
    /// one. Words that say where something is in absolute numbers are not changed, as they are not told from other numbers. `None` for
    /// words that cannot follow: distances that do not fit, and instructions that read their own address.
    pub fn replaced(
        &self,
        word: u128,
        from: u64,
        to: u64,
        place: impl Fn(u64) -> Option<u64>,
    ) -> Option<u128> {
        let inst = self.decoder.decode(word, from);
        if inst.is_pinned() {
            return None;
        }
        if let Some(pieces) = self.pieces(word) {
            if pieces.is_empty() {
                return Some(word);
            }
            return self.aimed(word, to, place(self.target(word, from)?)?);
        }
        if !matches!(inst.flow(), Flow::IndirectBranch | Flow::Return | Flow::CallElsewhere) {
            return Some(word);
        }
        // The register holds an offset in the section, so that the distance leads to its start; or an address, and there is no distance.
        let pieces = self.branch_pieces()?;
        let none = with_distance(pieces, word, 0);
        if none == word {
            return Some(word);
        }
        let leads_to_start = with_distance(pieces, word, 0u64.wrapping_sub(from + 16)) == word;
        leads_to_start.then(|| with_distance(pieces, word, 0u64.wrapping_sub(to + 16)))
    }

    /// Where plain branches have their distance: indirect ones have it there, too.
    fn branch_pieces(&self) -> Option<&'static [Bits]> {
        const BRA: usize = 0x947;
        self.table?.rows(BRA).iter().find_map(|row| match row.flow.as_ref()? {
            FlowKind::Branch(pieces) | FlowKind::BranchIf(pieces) => Some(&**pieces),
            _ => None,
        })
    }

    fn pieces(&self, word: u128) -> Option<&'static [Bits]> {
        let rows = self.table?.rows((word & 0xfff) as usize);
        let row = rows.iter().find(|row| row.when.iter().all(|condition| condition.holds(word)))?;
        match row.flow.as_ref()? {
            FlowKind::Branch(pieces)
            | FlowKind::BranchIf(pieces)
            | FlowKind::Call(pieces)
            | FlowKind::Reconverge(pieces) => Some(pieces),
            _ => None,
        }
    }
}

/// The word with a distance in bytes.
fn with_distance(pieces: &[Bits], word: u128, distance: u64) -> u128 {
    let (mut rest, mut word) = (distance as i64 / 4, word);
    for bits in pieces {
        word = bits.set(word, rest as u64);
        rest = rest.checked_shr(bits.len().into()).unwrap_or(rest >> 63);
    }
    word
}
