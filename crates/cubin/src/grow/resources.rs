//! Goal: sections that are nothing but resources, fatbinaries among them, whose ends are known by pairs of pointers.
//!
//! Libraries embed resources one behind the other, and data elsewhere has two pointers for each, next to each other:
//!
//! ```text
//! section   | index | fatbinary | fatbinary | ...        data   end, begin, end, begin, ...   or   begin, end, begin, end, ...
//!           a       b           c           d                   b    a      c    b                 a      b    b      c
//! ```
//!
//! Code takes `end - begin` as the size. The end of one resource is the begin of the next, so that a pointer to a place between two is
//! about either. Where **all of the section moves** and what is between two resources stays between them, it need not be known which: every
//! such place has one new place, and the difference of any two of them is what the bytes between them take.
//!
//! What has to hold: every pointer into the section is one of a pair around one resource, and the resources are the whole section, without
//! gaps. Each fatbinary starts a resource, and there is nothing behind it but zeros. Nothing writes to the section or is
//! relocated in it. And no code takes the address of such a place by itself: it would go on with the old one, which is as good as long
//! as it is not compared with a pointer that follows. (That is looked for as compilers do it: `lea` and offsets from the global
//! offset table on x86-64, `adrp` and `adr` on AArch64. Bytes that only look so are a reason to stay, too.)

use std::collections::BTreeSet;

use object::elf::{DT_PLTGOT, EM_AARCH64, SHF_EXECINSTR, SHF_TLS, SHF_WRITE, SHT_DYNSYM, SHT_SYMTAB};

use super::pointers::{Addresses, Dynamic, Field, Relocated, Target, apart};
use super::read::{ALIGNMENT, Section};
use super::{Fixed, Host};
use crate::fatbin::Fatbin;

/// What is said of sections that hold fatbinaries and are not of this kind.
pub(super) const OTHER_DATA: Fixed = Fixed::Structure("the section holds other data, too, and cannot move");

impl Host<'_> {
    /// Whether a section may be of this kind: nothing writes to it, and it is no code.
    pub(super) fn may_hold_resources(&self, section: &Section<'_>) -> bool {
        !self.fixed_addresses && section.flags & (SHF_WRITE.0 | SHF_EXECINSTR.0 | SHF_TLS.0) == 0
    }

    /// Every field that holds an address in a section of resources. `fatbins` are all in it, in order.
    pub(super) fn resource_fields(&self, section: usize, fatbins: &[&Fatbin]) -> Result<Vec<Field>, Fixed> {
        let header = &self.sections[section];
        let dynamic = self.dynamic()?;
        let words = self.words_into(header, &dynamic)?;
        let pairs = pairs(&words, header.addr + header.size)?;
        if pairs.is_empty() {
            return Err(OTHER_DATA);
        }
        let resources: BTreeSet<(u64, u64)> = pairs.iter().map(around).collect();
        let mut end = header.addr;
        for &(from, to) in &resources {
            if from != end {
                return Err(Fixed::Structure(
                    "the section has bytes that no pair of pointers is around, or that several are",
                ));
            }
            end = to;
        }
        if end != header.addr + header.size {
            return Err(Fixed::Structure("the section has bytes behind the last resource"));
        }
        self.check_resources(header, &resources, fatbins)?;
        let edges: BTreeSet<u64> = resources.iter().map(|&(from, _)| from).chain([end]).collect();
        self.check_code(header, &dynamic, &edges)?;
        let mut fields = Vec::new();
        for word in pairs.iter().flatten() {
            self.follow(*word, Target::Edge(word.target - header.addr), &mut fields)?;
        }
        self.check_symbols(section)?;
        self.symbols(section, &Addresses::of_resources(header.addr, header.size, edges), &mut fields)?;
        apart(fields)
    }

    /// The relocated words that hold an address in the section or the one behind it, by place.
    fn words_into(&self, section: &Section<'_>, dynamic: &Dynamic) -> Result<Vec<Relocated>, Fixed> {
        let (start, end) = (section.addr, section.addr + section.size);
        let mut words = Vec::new();
        self.each_relocation(dynamic, |word| {
            if word.place < end && word.place.saturating_add(8) > start {
                return Err(Fixed::Pointer { what: "a relocation that writes", at: word.place });
            }
            match (start..=end).contains(&word.target) {
                true if word.relative => words.push(word),
                true if word.target < end => return Err(Fixed::Pointer { what: word.what, at: word.place }),
                _ => {}
            }
            Ok(())
        })?;
        words.sort_by_key(|word| word.place);
        if let Some(twice) = words.windows(2).find(|pair| pair[0].place == pair[1].place) {
            return Err(Fixed::Pointer { what: "a place that is relocated twice", at: twice[0].place });
        }
        Ok(words)
    }

    /// Fatbinaries start a resource, one each, and nothing else is in it.
    fn check_resources(
        &self,
        section: &Section<'_>,
        resources: &BTreeSet<(u64, u64)>,
        fatbins: &[&Fatbin],
    ) -> Result<(), Fixed> {
        let address = |at: usize| section.addr + (at as u64 - section.offset);
        for fatbin in fatbins {
            let (start, end) = (address(fatbin.start), address(fatbin.body.end));
            let resource = resources.range((start, 0)..).next().filter(|resource| resource.0 == start);
            let Some(behind) = resource.and_then(|&(_, to)| to.checked_sub(end)) else {
                return Err(Fixed::Structure("a fatbinary in the section is no resource"));
            };
            let padding = &self.data[fatbin.body.end..fatbin.body.end + behind as usize];
            if padding.iter().any(|&byte| byte != 0) {
                return Err(Fixed::Structure("a resource is more than a fatbinary"));
            }
            // So that whatever it holds later it ends where the next may start.
            let is_whole = |size: usize| (size as u64).is_multiple_of(ALIGNMENT);
            let headers = is_whole(fatbin.body.start - fatbin.start);
            let entries = fatbin.entries.iter();
            let mut sizes = entries.flat_map(|entry| [entry.header.len(), entry.payload.len()]);
            if section.align > ALIGNMENT || !headers || !sizes.all(is_whole) {
                return Err(Fixed::Structure("a fatbinary's alignment is not as usual"));
            }
        }
        Ok(())
    }

    /// Code does not take the address of an edge of a resource.
    fn check_code(
        &self,
        section: &Section<'_>,
        dynamic: &Dynamic,
        edges: &BTreeSet<u64>,
    ) -> Result<(), Fixed> {
        let found = |at: u64| Err(Fixed::Pointer { what: "an instruction", at });
        if self.machine == EM_AARCH64.0 {
            let pages: BTreeSet<u64> = edges.iter().map(|edge| edge & !0xfff).collect();
            for (start, code) in self.code() {
                for (at, word) in (start..).step_by(4).zip(code.as_chunks::<4>().0) {
                    let word = u32::from_le_bytes(*word);
                    let low = u64::from(word >> 29 & 3);
                    let number = u64::from(word >> 5 & 0x7_ffff) << 2 | low;
                    let signed = (number << 43) as i64 >> 43;
                    let leads = match word & 0x9f00_0000 {
                        0x9000_0000 => pages.contains(&(at & !0xfff).wrapping_add((signed << 12) as u64)),
                        0x1000_0000 => edges.contains(&at.wrapping_add(signed as u64)),
                        _ => false,
                    };
                    if leads {
                        return found(at);
                    }
                }
            }
            return Ok(());
        }
        let tables =
            self.sections.iter().filter(|section| [&b".got"[..], b".got.plt"].contains(&section.name));
        let bases: BTreeSet<u64> =
            tables.map(|table| table.addr).chain(dynamic.get(&DT_PLTGOT.0).copied()).collect();
        let is_edge =
            |address: u64| address.wrapping_sub(section.addr) <= section.size && edges.contains(&address);
        for (start, code) in self.code() {
            for (at, window) in (start..).zip(code.windows(3)) {
                let rest = &code[(at - start) as usize..];
                let leads = match *window {
                    // A 64-bit `lea` relative to the next instruction.
                    [0x48..=0x4f, 0x8d, operands] if operands & 0xc7 == 0x05 => {
                        let distance = rest[3..].first_chunk().map(|bytes| i32::from_le_bytes(*bytes));
                        let next = at.wrapping_add(7);
                        distance.is_some_and(|distance| is_edge(next.wrapping_add_signed(distance.into())))
                    }
                    // A 64-bit number: from one of the tables of addresses.
                    [0x48..=0x4f, 0xb8..=0xbf, _] => {
                        let number = rest[2..].first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
                        number
                            .is_some_and(|number| bases.iter().any(|base| is_edge(base.wrapping_add(number))))
                    }
                    _ => false,
                };
                if leads {
                    return found(at);
                }
            }
        }
        Ok(())
    }

    /// Where the section has symbols, they are those of resources; what has a size would have another.
    fn check_symbols(&self, section: usize) -> Result<(), Fixed> {
        const SYMBOL: u64 = 24;
        for table in &self.sections {
            if ![SHT_SYMTAB.0, SHT_DYNSYM.0].contains(&table.kind) {
                continue;
            }
            for at in (0..table.size / SYMBOL).map(|index| table.offset + index * SYMBOL) {
                let damaged = |_| Fixed::Structure("its symbols are damaged");
                let head = self.bytes().u64(at, "symbol").map_err(damaged)?;
                let size = self.bytes().u64(at + 16, "symbol").map_err(damaged)?;
                if (head >> 48) as usize == section && size != 0 {
                    return Err(Fixed::Pointer { what: "a symbol with a size", at });
                }
            }
        }
        Ok(())
    }
}

/// Where a resource starts and ends.
fn around(pair: &[Relocated; 2]) -> (u64, u64) {
    let [first, second] = pair.map(|word| word.target);
    (first.min(second), first.max(second))
}

/// Words next to each other, two by two. A single one with the address behind the section is about what follows it.
fn pairs(words: &[Relocated], end: u64) -> Result<Vec<[Relocated; 2]>, Fixed> {
    let (mut pairs, mut rest) = (Vec::new(), words);
    while let Some((&first, behind)) = rest.split_first() {
        match behind.first() {
            Some(&second)
                if first.place.checked_add(8) == Some(second.place) && second.target != first.target =>
            {
                pairs.push([first, second]);
                rest = &behind[1..];
            }
            _ if first.target == end => rest = behind,
            _ => return Err(Fixed::Pointer { what: "a pointer that is not one of a pair", at: first.place }),
        }
    }
    Ok(pairs)
}
