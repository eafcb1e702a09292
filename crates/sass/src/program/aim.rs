//! Goal: words for code of another length: what says in a word where something is says where it is now.
//!
//! The writer moves everything outside instructions; words are made here, once it is known where everything is. Three kinds of words
//! speak of places: those with a distance (branches, calls, reconvergence points), indirect branches and returns, whose distance leads to the start
//! of the section, and moves of a return address, which in linked code are moves of a plain number. The last are told by what follows:
//! the number is the offset behind a call that comes soon. Words with a relocation are the linker's.

use std::collections::HashSet;

use sassafras_cubin::{Code, Cubin, Origin, Refusal, Relayout};

use crate::decode::{Decoder, Flow, INSTRUCTION_BYTES};

use super::{Relative, arch_of};

/// How far before a call the move of its return address is looked for. A call without one is a reason to refuse.
const RETURN_WINDOW: u64 = 64;
/// Moves of a number: `MOV`, and `IMAD` of zeros with a number.
const MOVES: [u128; 2] = [0x802, 0x424];

/// Why the words of an edit cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AimError {
    /// The edit itself is refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// No table for the architecture.
    #[error("instructions of this architecture are not known")]
    NoTable,
    /// A word that cannot stand elsewhere.
    #[error("the instruction at {0:#x} cannot stand elsewhere")]
    Fixed(u64),
    /// A call to which no return address could be found.
    #[error("where the call at {0:#x} gets its return address is not known")]
    Return(u64),
}

/// Makes the words of all moved and copied slots of `edit`, which are those of the old code.
///
/// # Errors
/// When a word cannot follow.
pub fn aim(cubin: &Cubin, code: &Code, edit: &mut Relayout) -> Result<(), AimError> {
    let arch = arch_of(cubin.sm()).ok_or(AimError::NoTable)?;
    let layout = cubin.layout(edit)?;
    let (relative, decoder) = (Relative::new(arch), Decoder::new(arch));
    if !decoder.has_table() {
        return Err(AimError::NoTable);
    }
    let relocated: HashSet<u64> =
        code.relocations.iter().map(|relocation| relocation.offset / INSTRUCTION_BYTES).collect();
    let returns = Returns::find(code, &decoder, &relocated)?;
    for (new, slot) in edit.slots.iter_mut().enumerate() {
        let (Origin::Moved(from) | Origin::Copied(from)) = slot.origin else {
            continue;
        };
        let (from, to) = (u64::from(from) * INSTRUCTION_BYTES, new as u64 * INSTRUCTION_BYTES);
        if relocated.contains(&(from / INSTRUCTION_BYTES)) {
            continue;
        }
        if returns.moves.contains(&from) {
            let place = layout.position(number(slot.word)).ok_or(AimError::Fixed(from))?;
            slot.word = slot.word & !(0xffff_ffff << 32) | u128::from(place) << 32;
            continue;
        }
        let word = relative.replaced(slot.word, from, to, |place| layout.position(place));
        slot.word = word.ok_or(AimError::Fixed(from))?;
    }
    Ok(())
}

/// Moves of return addresses, by their offset.
struct Returns {
    moves: HashSet<u64>,
}

impl Returns {
    fn find(code: &Code, decoder: &Decoder, relocated: &HashSet<u64>) -> Result<Self, AimError> {
        let words: Vec<u128> =
            code.bytes.as_chunks().0.iter().map(|word| u128::from_le_bytes(*word)).collect();
        let mut moves = HashSet::new();
        for (slot, &word) in words.iter().enumerate() {
            let call = slot as u64 * INSTRUCTION_BYTES;
            if !matches!(decoder.decode(word, call).flow(), Flow::Call { .. } | Flow::CallElsewhere) {
                continue;
            }
            let address = call + INSTRUCTION_BYTES;
            let before = slot.saturating_sub(RETURN_WINDOW as usize);
            let (mut found, mut register) = (false, None);
            for (at, &word) in words.iter().enumerate().take(slot).skip(before) {
                let offset = at as u64 * INSTRUCTION_BYTES;
                // The linker writes the number, or the instruction names the place by its distance.
                let linked = relocated.contains(&(offset / INSTRUCTION_BYTES));
                let named = decoder.decode(word, offset).flow() == Flow::Reconverge { target: address };
                if !linked && MOVES.contains(&(word & 0xfff)) && number(word) == address {
                    // The same number in two registers: one of them may be data.
                    let to = word >> 16 & 0xff;
                    if *register.get_or_insert(to) != to {
                        return Err(AimError::Return(call));
                    }
                    moves.insert(offset);
                    found = true;
                }
                found |= linked || named;
            }
            // Calls that nothing comes back from have none; those go to where no function starts.
            let leads = match decoder.decode(word, call).flow() {
                Flow::Call { target } => code.functions.iter().any(|function| function.range.start == target),
                _ => true,
            };
            if !found && leads && !relocated.contains(&(call / INSTRUCTION_BYTES)) {
                return Err(AimError::Return(call));
            }
        }
        Ok(Self { moves })
    }
}

/// The number in bits 32 to 64.
fn number(word: u128) -> u64 {
    (word >> 32 & 0xffff_ffff) as u64
}
