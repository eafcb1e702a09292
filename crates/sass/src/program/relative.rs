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
        let Some(pieces) = self.pieces(word).filter(|_| from != to) else {
            return Some(word);
        };
        let target = self.target(word, from)?;
        let distance = target.wrapping_sub(to).wrapping_sub(16) as i64;
        let (mut rest, mut moved) = (distance / 4, word);
        for bits in pieces {
            moved = bits.set(moved, rest as u64);
            rest = rest.checked_shr(bits.len().into()).unwrap_or(rest >> 63);
        }
        // What was cut off shows in the place that the new word names.
        (self.target(moved, to) == Some(target)).then_some(moved)
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
