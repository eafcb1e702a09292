//! Goal: every field of a file that holds an address in a section of fatbinaries, or the reason why that cannot be known.
//!
//! A field is followed only where both who reads it and what it means are known: pointers of wrappers, pairs of pointers around resources
//! (`resources`), and symbols for debuggers. Each place is in a section of the kind that such a field belongs to, so that no field is taken for another.

use std::collections::{BTreeMap, BTreeSet};

use object::elf::{
    DT_JMPREL, DT_NULL, DT_PLTREL, DT_PLTRELSZ, DT_REL, DT_RELA, DT_RELAENT, DT_RELASZ, DT_RELR, DT_RELRENT,
    DT_RELRSZ, DT_SYMTAB, EM_AARCH64, PT_DYNAMIC, R_AARCH64_RELATIVE, R_X86_64_RELATIVE, SHT_DYNSYM,
    SHT_PROGBITS, SHT_RELA, SHT_SYMTAB, STT_SECTION,
};

use super::{Fixed, Host};
use crate::bytes::Bytes;

/// The first eight bytes of a wrapper, by version: the second is of code that was linked from parts.
const WRAPPERS: [u64; 2] = [0x1_4662_43b1, 0x2_4662_43b1];
/// Where the pointer to the fatbinary is in it.
const POINTER: u64 = 8;
/// Bytes of a wrapper.
const WRAPPER: u64 = 24;
/// Where wrappers are.
const WRAPPER_SECTION: &[u8] = b".nvFatBinSegment";

const RELA: u64 = 24;
const SYMBOL: u64 = 24;

/// Eight bytes of the file that hold an address in a section that moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Field {
    pub at: usize,
    pub target: Target,
}

/// What an address in a section means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    /// A fatbinary, by its number in the section.
    Fatbin(usize),
    /// The section itself.
    Start,
    /// Its end.
    End,
    /// Where a resource ends and the next one starts: so far behind the start of the section, as it was.
    Edge(u64),
}

/// A place that a loader writes an address to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Relocated {
    /// The place, as an address.
    pub place: u64,
    /// What comes there.
    pub target: u64,
    /// Whether that is a place of this file and nothing else.
    pub relative: bool,
    /// Where the file says so, and the kind of section that this is in.
    pub stored: u64,
    pub stored_in: u32,
    /// What it is called.
    pub what: &'static str,
}

/// The addresses of a section.
pub(super) struct Addresses {
    start: u64,
    size: u64,
    fatbins: BTreeMap<u64, usize>,
    edges: BTreeSet<u64>,
}

impl Addresses {
    /// Of a section and the fatbinaries in it.
    pub fn new(start: u64, size: u64, fatbins: &[u64]) -> Self {
        let fatbins = fatbins.iter().enumerate().map(|(index, at)| (start + at, index)).collect();
        Self { start, size, fatbins, edges: BTreeSet::new() }
    }

    /// Of a section that is nothing but resources, with the addresses where they start.
    pub fn of_resources(start: u64, size: u64, edges: BTreeSet<u64>) -> Self {
        Self { start, size, fatbins: BTreeMap::new(), edges }
    }

    fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.start) < self.size
    }

    fn fatbin(&self, address: u64) -> Option<Target> {
        self.fatbins.get(&address).map(|&index| Target::Fatbin(index))
    }

    /// What a symbol at an address is about, but for the section itself.
    fn named(&self, address: u64) -> Option<Target> {
        let edge = self.edges.contains(&address).then(|| Target::Edge(address - self.start));
        self.fatbin(address).or(edge)
    }
}

/// What the dynamic section says, by tag. Tags that may be there several times are not asked for.
pub(super) type Dynamic = BTreeMap<i64, u64>;

impl Host<'_> {
    /// Every field that holds an address in a section. Of the fatbinaries in it, wrappers have to lead to the edited ones.
    pub(super) fn fields(
        &self,
        section: usize,
        addresses: &Addresses,
        edited: &[usize],
    ) -> Result<Vec<Field>, Fixed> {
        let mut fields = Vec::new();
        let dynamic = self.dynamic()?;
        self.each_relocation(&dynamic, |relocated| self.wrapper_pointer(relocated, addresses, &mut fields))?;
        if self.fixed_addresses {
            self.wrappers(addresses, &mut fields)?;
        }
        let reached: BTreeSet<Target> = fields.iter().map(|field| field.target).collect();
        if let Some(index) = edited.iter().find(|&&index| !reached.contains(&Target::Fatbin(index))) {
            let address = addresses.fatbins.iter().find(|(_, found)| *found == index);
            return Err(Fixed::Unreached(address.map_or(addresses.start, |(&address, _)| address)));
        }
        self.symbols(section, addresses, &mut fields)?;
        apart(fields)
    }

    pub(super) fn bytes(&self) -> Bytes<'_, 'static> {
        Bytes::new(self.data, "host file")
    }

    pub(super) fn dynamic(&self) -> Result<Dynamic, Fixed> {
        let mut found = Dynamic::new();
        let Some(segment) = self.segments.iter().find(|segment| segment.kind == PT_DYNAMIC.0) else {
            return Ok(found);
        };
        if self.position(segment.vaddr, segment.file_size) != Some(segment.offset) {
            return Err(Fixed::Structure("its dynamic section is not loaded"));
        }
        let table = &self.data[segment.offset as usize..(segment.offset + segment.file_size) as usize];
        for entry in table.as_chunks::<16>().0 {
            let entry = u128::from_le_bytes(*entry);
            let (tag, value) = (entry as u64 as i64, (entry >> 64) as u64);
            if tag == DT_NULL.0 {
                break;
            }
            found.insert(tag, value);
        }
        if found.contains_key(&DT_REL.0) {
            return Err(Fixed::Structure("it has relocations without addends"));
        }
        Ok(found)
    }

    /// The file range of a table that the dynamic section names, and its entries' size, checked.
    fn table(
        &self,
        dynamic: &Dynamic,
        [at, size]: [i64; 2],
        entry: u64,
    ) -> Result<Option<(u64, u64)>, Fixed> {
        let Some(&address) = dynamic.get(&at) else { return Ok(None) };
        let size = dynamic.get(&size).copied().unwrap_or(0);
        if size % entry != 0 {
            return Err(Fixed::Structure("its relocations are damaged"));
        }
        let place = self.position(address, size).ok_or(Fixed::Structure("its relocations are not loaded"))?;
        Ok(Some((place, size / entry)))
    }

    /// Shows every place that is relocated.
    pub(super) fn each_relocation(
        &self,
        dynamic: &Dynamic,
        mut visit: impl FnMut(Relocated) -> Result<(), Fixed>,
    ) -> Result<(), Fixed> {
        self.relocations(dynamic, &mut visit)?;
        self.packed_relocations(dynamic, &mut visit)
    }

    fn relocations(
        &self,
        dynamic: &Dynamic,
        visit: &mut impl FnMut(Relocated) -> Result<(), Fixed>,
    ) -> Result<(), Fixed> {
        let usual = |tag: i64, value: u64| dynamic.get(&tag).is_none_or(|&is| is == value);
        if !usual(DT_RELAENT.0, RELA) || !usual(DT_PLTREL.0, DT_RELA.0 as u64) {
            return Err(Fixed::Structure("its relocations are not as usual"));
        }
        let relative = if self.machine == EM_AARCH64.0 { R_AARCH64_RELATIVE.0 } else { R_X86_64_RELATIVE.0 };
        for tags in [[DT_RELA.0, DT_RELASZ.0], [DT_JMPREL.0, DT_PLTRELSZ.0]] {
            let Some((place, count)) = self.table(dynamic, tags, RELA)? else { continue };
            for at in (0..count).map(|index| place + index * RELA) {
                let damaged = |_| Fixed::Structure("its relocations are damaged");
                let place = self.bytes().u64(at, "relocation").map_err(damaged)?;
                let info = self.bytes().u64(at + 8, "relocation").map_err(damaged)?;
                let addend = self.bytes().u64(at + 16, "relocation").map_err(damaged)?;
                let symbol = self.symbol_value(dynamic, info >> 32)?;
                visit(Relocated {
                    place,
                    target: symbol.wrapping_add(addend),
                    relative: info == u64::from(relative),
                    stored: at + 16,
                    stored_in: SHT_RELA.0,
                    what: "a relocation",
                })?;
            }
        }
        Ok(())
    }

    /// A relocation that leads to a fatbinary has to be that of a wrapper. Others may not lead into the section.
    fn wrapper_pointer(
        &self,
        relocated: Relocated,
        addresses: &Addresses,
        fields: &mut Vec<Field>,
    ) -> Result<(), Fixed> {
        if !addresses.contains(relocated.target) {
            return Ok(());
        }
        let target = addresses.fatbin(relocated.target).filter(|_| relocated.relative);
        let Some(target) = target.filter(|_| self.is_wrapper_pointer(relocated.place)) else {
            return Err(Fixed::Pointer { what: relocated.what, at: relocated.place });
        };
        self.follow(relocated, target, fields)
    }

    /// The fields of a relocation that follows.
    pub(super) fn follow(
        &self,
        relocated: Relocated,
        target: Target,
        fields: &mut Vec<Field>,
    ) -> Result<(), Fixed> {
        let Relocated { place, stored, stored_in, .. } = relocated;
        fields.push(Field { at: self.within(stored, stored_in)?, target });
        // Linkers may leave the address in the place that is going to be patched, too.
        let place = self.position(place, 8).ok_or(NOT_LOADED)?;
        if place != stored && self.bytes().u64(place, "pointer") == Ok(relocated.target) {
            fields.push(Field { at: self.within(place, SHT_PROGBITS.0)?, target });
        }
        Ok(())
    }

    /// The value of a symbol of the dynamic table; 0 for none and for those of other files.
    fn symbol_value(&self, dynamic: &Dynamic, index: u64) -> Result<u64, Fixed> {
        if index == 0 {
            return Ok(0);
        }
        let damaged = Fixed::Structure("a relocation names a symbol that is not there");
        let table = *dynamic.get(&DT_SYMTAB.0).ok_or(damaged)?;
        // An index has 32 bits.
        let address = table.checked_add(index * SYMBOL).ok_or(damaged)?;
        let at = self.position(address, SYMBOL).ok_or(damaged)?;
        self.bytes().u64(at + 8, "symbol").map_err(|_| damaged)
    }

    /// Relocations as lists of places, each of which holds an address.
    fn packed_relocations(
        &self,
        dynamic: &Dynamic,
        visit: &mut impl FnMut(Relocated) -> Result<(), Fixed>,
    ) -> Result<(), Fixed> {
        if dynamic.get(&DT_RELRENT.0).is_some_and(|&size| size != 8) {
            return Err(Fixed::Structure("its relocations are not as usual"));
        }
        let Some((table, count)) = self.table(dynamic, [DT_RELR.0, DT_RELRSZ.0], 8)? else { return Ok(()) };
        let mut next = 0u64;
        for index in 0..count {
            let damaged = |_| Fixed::Structure("its relocations are damaged");
            let entry = self.bytes().u64(table + index * 8, "relocation").map_err(damaged)?;
            if entry & 1 == 0 {
                visit(self.packed_relocation(entry)?)?;
                next = entry.wrapping_add(8);
                continue;
            }
            for bit in (1..64).filter(|bit| entry >> bit & 1 == 1) {
                visit(self.packed_relocation(next.wrapping_add((bit - 1) * 8))?)?;
            }
            next = next.wrapping_add(63 * 8);
        }
        Ok(())
    }

    fn packed_relocation(&self, place: u64) -> Result<Relocated, Fixed> {
        let stored = self.position(place, 8).ok_or(NOT_LOADED)?;
        let target = self.bytes().u64(stored, "pointer").map_err(|_| NOT_LOADED)?;
        let (stored_in, what) = (SHT_PROGBITS.0, "a packed relocation");
        Ok(Relocated { place, target, relative: true, stored, stored_in, what })
    }

    /// Wrappers of a file that is loaded where it was linked: their pointers are addresses already.
    fn wrappers(&self, addresses: &Addresses, fields: &mut Vec<Field>) -> Result<(), Fixed> {
        for section in self.sections.iter().filter(|section| section.name == WRAPPER_SECTION) {
            if section.size % WRAPPER != 0
                || self.position(section.addr, section.size) != Some(section.offset)
            {
                return Err(Fixed::Structure("its wrappers are not as usual"));
            }
            for at in (0..section.size / WRAPPER).map(|index| index * WRAPPER + POINTER) {
                let value = self.bytes().u64(section.offset + at, "wrapper").map_err(|_| NOT_LOADED)?;
                if !self.is_wrapper_pointer(section.addr + at) {
                    return Err(Fixed::Structure("its wrappers are not as usual"));
                }
                if let Some(target) = addresses.fatbin(value) {
                    let at = self.within(section.offset + at, SHT_PROGBITS.0)?;
                    fields.push(Field { at, target });
                } else if addresses.contains(value) {
                    return Err(Fixed::Pointer { what: "a wrapper", at: section.addr + at });
                }
            }
        }
        Ok(())
    }

    /// Symbols of the section. Those of the dynamic table would be seen by other files.
    pub(super) fn symbols(
        &self,
        section: usize,
        addresses: &Addresses,
        fields: &mut Vec<Field>,
    ) -> Result<(), Fixed> {
        for table in &self.sections {
            if ![SHT_SYMTAB.0, SHT_DYNSYM.0].contains(&table.kind) {
                continue;
            }
            for at in (0..table.size / SYMBOL).map(|index| table.offset + index * SYMBOL) {
                let damaged = |_| Fixed::Structure("its symbols are damaged");
                let head = self.bytes().u64(at, "symbol").map_err(damaged)?;
                if (head >> 48) as usize != section {
                    continue;
                }
                let value = self.bytes().u64(at + 8, "symbol").map_err(damaged)?;
                let is_section = (head >> 32) as u8 & 0xf == STT_SECTION.0;
                let target = match addresses.named(value) {
                    Some(target) if !is_section => Some(target),
                    _ if value == addresses.start => Some(Target::Start),
                    _ if value == addresses.start + addresses.size => Some(Target::End),
                    _ => None,
                };
                match target {
                    Some(target) if table.kind == SHT_SYMTAB.0 => {
                        fields.push(Field { at: self.within(at + 8, SHT_SYMTAB.0)?, target });
                    }
                    _ => return Err(Fixed::Pointer { what: "a symbol", at }),
                }
            }
        }
        Ok(())
    }

    /// Whether the word at an address is the pointer of a wrapper.
    fn is_wrapper_pointer(&self, address: u64) -> bool {
        let magic = address.checked_sub(POINTER).and_then(|start| self.position(start, 16));
        let magic = magic.and_then(|at| self.bytes().u64(at, "wrapper").ok());
        address.is_multiple_of(8) && magic.is_some_and(|magic| WRAPPERS.contains(&magic))
    }

    /// The position, if its eight bytes lie in a section of that kind that holds no device code.
    fn within(&self, at: u64, kind: u32) -> Result<usize, Fixed> {
        let section = self.section_at(at as usize).map(|index| &self.sections[index]);
        match section {
            Some(section)
                if section.kind == kind
                    && !section.is_device_code()
                    && at + 8 <= section.offset + section.size =>
            {
                Ok(at as usize)
            }
            _ => Err(Fixed::Structure("a pointer to a fatbinary is not in a section of its kind")),
        }
    }
}

/// Fields in order, none over another.
pub(super) fn apart(mut fields: Vec<Field>) -> Result<Vec<Field>, Fixed> {
    fields.sort_unstable();
    fields.dedup();
    if fields.windows(2).any(|pair| pair[1].at - pair[0].at < 8) {
        return Err(Fixed::Structure("pointers to fatbinaries overlap"));
    }
    Ok(fields)
}

const NOT_LOADED: Fixed = Fixed::Structure("a relocation patches what is not in the file");
