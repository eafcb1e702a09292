//! Goal: what every instruction of a section carries: everything outside the code that names it by its offset.
//!
//! The same thing gets the same number in both files, so that comparing what two instructions carry is comparing lists
//! of numbers.

use crate::live::LaneSet;
use rustc_hash::FxHashMap;
use sassafras_cubin::{Attribute, Code, Cubin, Format, OffsetLayout};
use sassafras_ir::{Lane, RegClass};

/// The class of general registers in attributes.
const GENERAL: u32 = 5;

/// Something that an instruction carries.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Item {
    /// A relocation of its word.
    Relocation { table: usize, within: u64, kind: u32, symbol: u32, addend: Option<i64> },
    /// An attribute record: which attribute of the section, its name, and the words beside the offset.
    Attribute { ordinal: usize, name: String, rest: Vec<u32> },
    /// Its row of a line table.
    Line { table: &'static str, location: Location },
    /// A call-frame row behind it: which description, and the row's opcodes.
    Frame { description: usize, opcodes: Vec<u8> },
}

/// A source location; a call site is the number of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Location {
    pub file: u64,
    pub line: i64,
    pub column: u64,
    pub statement: bool,
    pub call_site: Option<u32>,
    pub function: u64,
}

impl Item {
    /// The registers that it says something about, under their names: the one that holds the mask of a cooperative
    /// instruction, which need not be an operand.
    pub fn registers(&self) -> LaneSet {
        let mut lanes = LaneSet::default();
        let Item::Attribute { name, rest, .. } = self else { return lanes };
        if name == "COOP_GROUP_MASK_REGIDS" {
            for &id in rest.iter().filter(|&&id| id != u32::MAX) {
                match Lane::physical(RegClass::Gpr, id & 0xff_ffff) {
                    Some(lane) if id >> 24 == GENERAL => lanes.insert(lane),
                    _ => return LaneSet::ALL,
                }
            }
        }
        lanes
    }

    /// For people, with the names that the cubin has.
    pub fn describe(&self, cubin: &Cubin<'_>) -> String {
        match self {
            Item::Relocation { kind, symbol, addend, .. } => {
                let name = cubin.symbols().get(*symbol as usize).map_or("?", |symbol| symbol.name);
                let addend = addend.filter(|&a| a != 0).map_or(String::new(), |a| format!(" + {a:#x}"));
                format!("the relocation of type {kind} to `{name}`{addend}")
            }
            Item::Attribute { name, .. } => format!("a record of {name}"),
            Item::Line { table, location } => format!("line {} of {table}", location.line),
            Item::Frame { .. } => "a row of .debug_frame".to_owned(),
        }
    }
}

/// Numbers for items and locations, shared by both files.
#[derive(Default)]
pub(super) struct Numbers {
    items: Vec<Item>,
    by_item: FxHashMap<Item, u32>,
    by_location: FxHashMap<Location, u32>,
}

impl Numbers {
    pub fn item(&mut self, item: Item) -> u32 {
        let next = self.items.len() as u32;
        let number = *self.by_item.entry(item.clone()).or_insert(next);
        if number == next {
            self.items.push(item);
        }
        number
    }

    pub fn location(&mut self, location: Location) -> u32 {
        let next = self.by_location.len() as u32;
        *self.by_location.entry(location).or_insert(next)
    }

    pub fn get(&self, number: u32) -> &Item {
        &self.items[number as usize]
    }
}

/// What the instructions of one section carry, by slot, and what names no instruction of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Baggage {
    carried: Vec<(u32, u32)>,
    pub strays: Vec<(u64, u32)>,
    slots: u64,
}

impl Baggage {
    pub fn new(code: &Code<'_>) -> Baggage {
        Baggage { slots: code.bytes.len() as u64 / 16, ..Baggage::default() }
    }

    /// Whether an instruction stands there.
    pub fn holds(&self, offset: u64) -> bool {
        offset.is_multiple_of(16) && offset / 16 < self.slots
    }

    pub fn add(&mut self, offset: u64, item: u32) {
        if self.holds(offset) {
            self.carried.push(((offset / 16) as u32, item));
        } else {
            self.strays.push((offset, item));
        }
    }

    /// Sorts; to be called when all is in.
    pub fn finish(&mut self) {
        self.carried.sort_unstable();
        self.strays.sort_unstable();
    }

    /// The items of one slot, with the slot.
    pub fn of(&self, slot: u32) -> &[(u32, u32)] {
        self.within(slot, slot + 1)
    }

    /// The items of slots from `start` to before `end`.
    pub fn within(&self, start: u32, end: u32) -> &[(u32, u32)] {
        let from = self.carried.partition_point(|&(slot, _)| slot < start);
        let to = self.carried.partition_point(|&(slot, _)| slot < end);
        &self.carried[from..to]
    }

    /// Relocations of the code.
    pub fn relocations(&mut self, cubin: &Cubin<'_>, code: &Code<'_>, numbers: &mut Numbers) {
        for table in cubin.relocations().iter().filter(|table| table.target == code.section) {
            for relocation in &table.entries {
                let within = relocation.offset % 16;
                let item = numbers.item(Item::Relocation {
                    table: table.section,
                    within,
                    kind: relocation.kind,
                    symbol: relocation.symbol,
                    addend: relocation.addend,
                });
                self.add(relocation.offset - within, item);
            }
        }
    }

    /// Attribute records that name instructions.
    pub fn attributes(&mut self, code: &Code<'_>, numbers: &mut Numbers) {
        for (ordinal, attribute) in code.attributes.iter().enumerate() {
            for (offset, rest) in records(code, attribute) {
                let name = attribute.kind.to_string();
                let item = numbers.item(Item::Attribute { ordinal, name, rest });
                self.add(offset, item);
            }
        }
    }
}

/// Whether an attribute names instructions in a way that is understood.
pub(super) fn names_instructions(attribute: &Attribute<'_>) -> bool {
    attribute.format == Format::Sized
        && !matches!(attribute.kind.offsets(), OffsetLayout::None | OffsetLayout::Unknown)
}

/// The offsets that an attribute names, each with the other words of its record.
fn records(code: &Code<'_>, attribute: &Attribute<'_>) -> Vec<(u64, Vec<u32>)> {
    if !names_instructions(attribute) {
        return Vec::new();
    }
    let words: Vec<u32> = attribute.words().collect();
    let split = |skip: usize, size: usize, at: usize| {
        let (head, records) = words.split_at(skip.min(words.len()));
        let record = |record: &[u32]| {
            let others = record.iter().enumerate().filter(|&(i, _)| i != at).map(|(_, &word)| word);
            (u64::from(*record.get(at).unwrap_or(&u32::MAX)), head.iter().copied().chain(others).collect())
        };
        records.chunks(size).map(record).collect()
    };
    match attribute.kind.offsets() {
        OffsetLayout::None | OffsetLayout::Unknown => Vec::new(),
        OffsetLayout::Records { words, at } => split(0, words, at),
        OffsetLayout::KindList => split(1, 1, 0),
        OffsetLayout::Parallel(list) => {
            let list = code.attributes.iter().find(|other| other.kind == list);
            let offsets = list.into_iter().flat_map(Attribute::words).map(u64::from);
            offsets.chain(std::iter::repeat(u64::MAX)).zip(words.iter().map(|&word| vec![word])).collect()
        }
        OffsetLayout::BranchTargets => {
            let mut rest = &words[..];
            let mut found = Vec::new();
            while let [branch, zero, count, tail @ ..] = rest {
                let (targets, next) = tail.split_at((*count as usize).min(tail.len()));
                found.push((u64::from(*branch), [&[*zero, *count], targets].concat()));
                rest = next;
            }
            found.extend((!rest.is_empty()).then(|| (u64::MAX, rest.to_vec())));
            found
        }
    }
}
