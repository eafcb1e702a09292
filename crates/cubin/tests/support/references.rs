//! Everything in a cubin that names an instruction or a position of one code section, and where an edit moves it, found without the writer.
// Every test takes the part it needs.
#![allow(dead_code)]

use sassafras_cubin::{AttributeType, Code, Cubin, OffsetLayout, Origin, Relayout, Slot};

use super::shuffle::Random;

/// Where instructions and positions are: the first gives every copy.
pub struct Places<'p> {
    pub instruction: &'p dyn Fn(u64) -> Vec<u64>,
    pub position: &'p dyn Fn(u64) -> u64,
}

/// Nothing moved.
pub const SAME: Places = Places { instruction: &|offset| vec![offset], position: &|offset| offset };

/// All references, in words, with the places that they lead to.
pub fn references(cubin: &Cubin, section: usize, places: &Places) -> Vec<String> {
    let code = cubin.code().iter().find(|code| code.section == section).expect("the code");
    let mut found = Vec::new();
    for attribute in &code.attributes {
        let (words, kind): (Vec<u32>, _) = (attribute.words().collect(), attribute.kind);
        let mut list = |words: &[u32], size: usize, at: usize, beside: &[u32]| {
            for (index, record) in words.chunks(size).enumerate() {
                for place in (places.instruction)(record[at].into()) {
                    let rest = [&record[..at], &record[at + 1..]].concat();
                    found.push(format!("{kind} {rest:?} {:?} at {place:#x}", beside.get(index)));
                }
            }
        };
        match kind.offsets() {
            OffsetLayout::Records { words: size, at } => list(&words, size, at, &[]),
            OffsetLayout::KindList => list(&words[1..], 1, 0, &[]),
            OffsetLayout::Parallel(of) => {
                let of = code.attributes.iter().find(|attribute| attribute.kind == of).expect("its list");
                list(&of.words().collect::<Vec<_>>(), 1, 0, &words);
            }
            OffsetLayout::BranchTargets => {
                let mut rest = &words[..];
                while let [branch, _, count, tail @ ..] = rest {
                    let (targets, tail) = tail.split_at(*count as usize);
                    let to: Vec<u64> = targets.iter().map(|&to| (places.position)(to.into())).collect();
                    for place in (places.instruction)((*branch).into()) {
                        found.push(format!("{kind} at {place:#x} to {to:#x?}"));
                    }
                    rest = tail;
                }
            }
            OffsetLayout::None | OffsetLayout::Unknown => {
                found.push(format!("{kind} {} {words:?}", attribute.value));
            }
        }
    }
    for table in cubin.relocations() {
        let target = &cubin.sections()[table.target];
        for relocation in &table.entries {
            let symbol = &cubin.symbols()[relocation.symbol as usize];
            let inside = symbol.section == Some(section);
            let to = match relocation.addend {
                Some(addend) if inside => (places.position)(symbol.value.wrapping_add_signed(addend)),
                addend => addend.unwrap_or_default() as u64,
            };
            let of = format!("relocation {} of {} to {} {to:#x}", relocation.kind, target.name, symbol.name);
            if table.target == section {
                let within = relocation.offset % 16;
                let places = (places.instruction)(relocation.offset - within);
                found.extend(places.iter().map(|place| format!("{of} at {:#x}", place + within)));
            } else if inside {
                found.push(of);
            }
        }
    }
    for symbol in cubin.symbols().iter().filter(|symbol| symbol.section == Some(section)) {
        let (start, end) = (symbol.value, symbol.value + symbol.size);
        let range = [(places.position)(start), (places.position)(end)];
        found.push(format!("symbol {} {range:#x?}", symbol.name));
    }
    for row in cubin.frame_rows(code).iter().flatten() {
        if let Some(behind) = row.behind {
            found.push(format!("frame row behind {:#x?}", (places.instruction)(behind)));
        }
    }
    for target in jump_tables(code) {
        found.push(format!("a table holds {:#x}", (places.position)(target)));
    }
    found.sort();
    found
}

/// The words of constant bank 2 that an indirect branch goes to.
fn jump_tables(code: &Code) -> Vec<u64> {
    let lists = code.attributes.iter().filter(|a| a.kind == AttributeType::INDIRECT_BRANCH_TARGETS);
    let listed: Vec<u32> = lists.flat_map(|attribute| attribute.words()).collect();
    let banks = code.constants.iter().filter(|bank| bank.bank == 2 && !listed.is_empty());
    let words = banks.flat_map(|bank| bank.bytes.as_chunks().0).map(|&word| u32::from_le_bytes(word));
    words.filter(|word| *word > 0 && listed.contains(word)).map(u64::from).collect()
}

/// What must be in the new file, by a plain search of the edit.
pub fn expected(cubin: &Cubin, edit: &Relayout, new_size: u64) -> Vec<String> {
    let code = cubin.code().iter().find(|code| code.section == edit.section).expect("the code");
    let all = |offset: u64| -> Vec<u64> {
        let is = |slot: &Slot| match slot.origin {
            Origin::Moved(from) | Origin::Copied(from) => u64::from(from) * 16 == offset,
            Origin::New => false,
        };
        (0..).zip(&edit.slots).filter(|(_, slot)| is(slot)).map(|(new, _)| new * 16).collect()
    };
    let position = |offset: u64| match edit.positions.get(&offset) {
        Some(&slot) => slot as u64 * 16,
        None if offset == 0 => 0,
        None if offset == code.bytes.len() as u64 => new_size,
        None => {
            let is = |slot: &Slot| slot.origin == Origin::Moved((offset / 16) as u32);
            edit.slots.iter().position(is).expect("it is there") as u64 * 16
        }
    };
    references(cubin, edit.section, &Places { instruction: &all, position: &position })
}

/// The `NOP` that ptxas fills code with.
pub const NOP: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;

/// What a random edit may do besides inserting `NOP`s.
#[derive(Clone, Copy)]
pub struct Kinds {
    pub copies: bool,
    pub moves: bool,
    pub deletes: bool,
}

/// A random edit. Where an instruction goes, the positions before it stay.
pub fn random(cubin: &Cubin, code: &Code, random: &mut Random, kinds: Kinds) -> Relayout {
    let mut edit = Relayout::unchanged(code).without_padding();
    let kept: Vec<u64> = cubin.boundaries(code).expect("reads").iter().map(|place| place.offset).collect();
    let new = Slot { word: NOP, origin: Origin::New };
    let most = 1 + edit.slots.len() / 4;
    for _ in 0..1 + random.below(most) {
        // Behind the end they would be padding.
        let at = random.below(edit.slots.len());
        edit.slots.insert(at, new);
    }
    for _ in 0..random.below(6) {
        let at = random.below(edit.slots.len());
        let slot = edit.slots[at];
        let Origin::Moved(from) = slot.origin else {
            continue;
        };
        let named = kept.contains(&(u64::from(from) * 16));
        match random.below(3) {
            0 if kinds.copies => {
                let to = random.below(edit.slots.len() + 1);
                edit.slots.insert(to, Slot { origin: Origin::Copied(from), ..slot });
            }
            1 if kinds.moves && !named => {
                let slot = edit.slots.remove(at);
                edit.slots.insert(random.below(edit.slots.len() + 1), slot);
            }
            2 if kinds.deletes && !named => drop(edit.slots.remove(at)),
            _ => {}
        }
    }
    edit
}

/// The edit that takes everything out again that `edit` put in, for the file that it made. Only for edits that delete and move nothing.
pub fn inverse(new: &Cubin, edit: &Relayout) -> Relayout {
    let code = new.code().iter().find(|code| code.section == edit.section).expect("the code");
    let mut undo = Relayout::unchanged(code);
    undo.slots.truncate(edit.slots.len());
    let mut origins = edit.slots.iter().map(|slot| slot.origin);
    undo.slots.retain(|_| matches!(origins.next(), Some(Origin::Moved(_))));
    undo
}
