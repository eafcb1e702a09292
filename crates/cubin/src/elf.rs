//! Goal: the ELF structures of a cubin as plain values that remember where they lie in the file.
//!
//! Reading is `object`'s; what is added is the file position of everything that a rewrite may have to change.

use std::ops::Range;

use object::LittleEndian as Le;
use object::elf::{
    EM_CUDA, FileHeader64, SHT_NOBITS, SHT_NULL, SHT_REL, SHT_RELA, SHT_SYMTAB, STT_FUNC, SectionHeader64,
};
use object::read::elf::{FileHeader as _, SectionHeader as _, Sym as _};

use crate::bytes::Bytes;
use crate::error::{Error, Problem};

/// One section header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section<'d> {
    /// Its name.
    pub name: &'d str,
    /// `sh_type`.
    pub kind: u32,
    /// `sh_flags`.
    pub flags: u64,
    /// `sh_link`.
    pub link: u32,
    /// `sh_info`.
    pub info: u32,
    /// `sh_addralign`.
    pub align: u64,
    /// `sh_size`, also of a section that takes no room in the file.
    pub size: u64,
    /// Its bytes in the file; empty where it takes no room.
    pub file_range: Range<usize>,
}

impl<'d> Section<'d> {
    /// Its bytes, with its name and place for errors.
    pub(crate) fn part_of(&self, file: &'d [u8]) -> Bytes<'d, 'd> {
        Bytes::part(&file[self.file_range.clone()], self.name, self.file_range.start as u64)
    }
}

/// One symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol<'d> {
    /// Its name.
    pub name: &'d str,
    /// `st_value`: an offset in its section.
    pub value: u64,
    /// `st_size`.
    pub size: u64,
    /// The section it lies in, if any.
    pub section: Option<usize>,
    /// Whether it is a function.
    pub function: bool,
    /// Whether it is a kernel: a function the host can launch.
    pub entry: bool,
    /// Whether it is visible outside the cubin.
    pub global: bool,
}

/// One relocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relocation {
    /// Offset in the section it patches.
    pub offset: u64,
    /// CUDA relocation type.
    pub kind: u32,
    /// Index of the symbol.
    pub symbol: u32,
    /// The addend; `None` where it is stored in the patched place itself.
    pub addend: Option<i64>,
    /// File position of the record, which starts with the offset.
    pub file_offset: usize,
}

/// The relocations of one section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelocationTable {
    /// The section that holds the records.
    pub section: usize,
    /// The section they patch.
    pub target: usize,
    /// In file order.
    pub entries: Vec<Relocation>,
}

/// Everything read from the ELF structures.
pub(crate) struct Elf<'d> {
    pub os_abi: u8,
    pub flags: u32,
    pub relocatable: bool,
    /// ELF header, section headers and program headers.
    pub headers: [Range<usize>; 3],
    pub sections: Vec<Section<'d>>,
    pub symbols: Vec<Symbol<'d>>,
    pub relocations: Vec<RelocationTable>,
}

/// Marks a kernel in `st_other`.
const STO_CUDA_ENTRY: u8 = 0x10;

fn elf_error(section: &str, offset: u64, error: object::Error) -> Error {
    Error::new(section, offset, Problem::Elf(error.to_string()))
}

impl<'d> Elf<'d> {
    pub fn parse(data: &'d [u8]) -> Result<Self, Error> {
        let header = FileHeader64::<Le>::parse(data).map_err(|e| elf_error("ELF header", 0, e))?;
        let endian = header.endian().map_err(|e| elf_error("ELF header", 5, e))?;
        let machine = header.e_machine(endian);
        if machine != EM_CUDA {
            return Err(Error::new("ELF header", 18, Problem::NotCuda(machine.0)));
        }
        let table = header
            .sections(endian, data)
            .map_err(|e| elf_error("section headers", header.e_shoff(endian), e))?;
        let table_len = table.len();
        let mut sections = Vec::with_capacity(table_len);
        for (index, raw) in table.iter().enumerate() {
            sections.push(section(index, raw, header, data, &table)?);
        }
        let mut elf = Self {
            os_abi: header.e_ident().os_abi.0,
            flags: header.e_flags(endian).0,
            headers: {
                let table = |at: u64, count: usize, size: u16| {
                    let at = at as usize;
                    at..at.saturating_add(count.saturating_mul(size.into()))
                };
                [
                    0..64,
                    table(header.e_shoff(endian), table_len, header.e_shentsize(endian)),
                    table(header.e_phoff(endian), header.e_phnum(endian).into(), header.e_phentsize(endian)),
                ]
            },
            relocatable: header.e_type(endian) == object::elf::ET_REL,
            symbols: Vec::new(),
            relocations: Vec::new(),
            sections,
        };
        elf.read_symbols(data, &table)?;
        elf.read_relocations(data, &table)?;
        Ok(elf)
    }

    fn read_symbols(
        &mut self,
        data: &'d [u8],
        table: &object::read::elf::SectionTable<'d, FileHeader64<Le>>,
    ) -> Result<(), Error> {
        let kind = SHT_SYMTAB.0;
        let start = self.sections.iter().find(|section| section.kind == kind);
        let start = start.map_or(0, |section| section.file_range.start as u64);
        let symbols = table.symbols(Le, data, SHT_SYMTAB).map_err(|e| elf_error(".symtab", start, e))?;
        for (index, symbol) in symbols.enumerate() {
            let at = start + index.0 as u64 * 24;
            let name = symbol.name(Le, symbols.strings()).map_err(|e| elf_error(".symtab", at, e))?;
            let place = symbols
                .symbol_section(Le, symbol, index)
                .map_err(|e| elf_error(".symtab", at, e))?
                .map(|section| section.0);
            if place.is_some_and(|section| section >= self.sections.len()) {
                return Err(Error::new(
                    ".symtab",
                    at,
                    Problem::BadField { what: "symbol section", value: place.unwrap_or_default() as u64 },
                ));
            }
            self.symbols.push(Symbol {
                name: text(name, ".symtab", at)?,
                value: symbol.st_value(Le),
                size: symbol.st_size(Le),
                section: place,
                function: symbol.st_type() == STT_FUNC,
                entry: symbol.st_type() == STT_FUNC && symbol.st_other().0 & STO_CUDA_ENTRY != 0,
                global: !symbol.is_local(),
            });
        }
        Ok(())
    }

    fn read_relocations(
        &mut self,
        data: &'d [u8],
        table: &object::read::elf::SectionTable<'d, FileHeader64<Le>>,
    ) -> Result<(), Error> {
        for (index, raw) in table.iter().enumerate() {
            let (name, range) = {
                let section = &self.sections[index];
                (section.name, section.file_range.clone())
            };
            let (entries, size): (Vec<Relocation>, usize) = if raw.sh_type(Le) == SHT_RELA {
                let raw = raw
                    .rela(Le, data)
                    .map_err(|e| elf_error(name, range.start as u64, e))?
                    .map_or(&[][..], |(entries, _)| entries);
                let entry = |r: &object::elf::Rela64<Le>| Relocation {
                    offset: r.r_offset.get(Le),
                    kind: r.r_info.get(Le) as u32,
                    symbol: (r.r_info.get(Le) >> 32) as u32,
                    addend: Some(r.r_addend.get(Le)),
                    file_offset: 0,
                };
                (raw.iter().map(entry).collect(), 24)
            } else if raw.sh_type(Le) == SHT_REL {
                let raw = raw
                    .rel(Le, data)
                    .map_err(|e| elf_error(name, range.start as u64, e))?
                    .map_or(&[][..], |(entries, _)| entries);
                let entry = |r: &object::elf::Rel64<Le>| Relocation {
                    offset: r.r_offset.get(Le),
                    kind: r.r_info.get(Le) as u32,
                    symbol: (r.r_info.get(Le) >> 32) as u32,
                    addend: None,
                    file_offset: 0,
                };
                (raw.iter().map(entry).collect(), 16)
            } else {
                continue;
            };
            let target = self.sections[index].info as usize;
            if target >= self.sections.len() {
                return Err(Error::new(
                    name,
                    range.start as u64,
                    Problem::BadField { what: "relocated section", value: target as u64 },
                ));
            }
            let entries = entries
                .into_iter()
                .enumerate()
                .map(|(i, entry)| Relocation { file_offset: range.start + i * size, ..entry })
                .collect();
            self.relocations.push(RelocationTable { section: index, target, entries });
        }
        Ok(())
    }
}

fn section<'d>(
    index: usize,
    raw: &'d SectionHeader64<Le>,
    header: &FileHeader64<Le>,
    data: &'d [u8],
    table: &object::read::elf::SectionTable<'d, FileHeader64<Le>>,
) -> Result<Section<'d>, Error> {
    let at = header.e_shoff(Le).saturating_add(64 * index as u64);
    let name = table.section_name(Le, raw).map_err(|e| elf_error("section headers", at, e))?;
    let name = text(name, "section headers", at)?;
    let (offset, size) = (raw.sh_offset(Le), raw.sh_size(Le));
    let kind = raw.sh_type(Le);
    // CUDA has section types of its own for memory that takes no room in the file.
    let no_room = kind == SHT_NOBITS || kind == SHT_NULL || NO_ROOM.contains(&kind.0);
    let file_range = match offset.checked_add(size) {
        _ if no_room => 0..0,
        Some(end) if end <= data.len() as u64 => offset as usize..end as usize,
        _ => {
            return Err(Error::new(
                name,
                at,
                Problem::Truncated {
                    what: "section",
                    needed: size,
                    available: (data.len() as u64).saturating_sub(offset),
                },
            ));
        }
    };
    Ok(Section {
        name,
        kind: kind.0,
        flags: raw.sh_flags(Le).0,
        link: raw.sh_link(Le),
        info: raw.sh_info(Le),
        align: raw.sh_addralign(Le),
        size,
        file_range,
    })
}

/// Section types of CUDA that only reserve memory: uninitialised global, local and shared memory, and their capsule twins.
const NO_ROOM: [u32; 5] = [0x7000_0007, 0x7000_0008, 0x7000_0009, 0x7000_000a, 0x7000_0015];

fn text<'d>(bytes: &'d [u8], section: &str, offset: u64) -> Result<&'d str, Error> {
    std::str::from_utf8(bytes).map_err(|e| Error::new(section, offset, Problem::Elf(format!("name: {e}"))))
}
