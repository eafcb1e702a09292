//! Goal: a cubin as the rest of the project needs it: the code sections with their functions, resources, attributes and
//! relocations, each with its place in the file.
//!
//! Source: ptxas 12.9 and 13.4 output for sm_50 … sm_121, linked and relocatable, and what cuobjdump prints about it.

use std::ops::Range;

use object::elf::{SHT_PROGBITS, SHT_STRTAB, SHT_SYMTAB};
use rustc_hash::FxHashMap;

use crate::attribute::{Attribute, AttributeType, Format, parse_attributes};
use crate::bytes::{Bytes, words};
use crate::elf::{Elf, Relocation, RelocationTable, Section, Symbol};
use crate::error::{Error, Problem};
use crate::sm::{Sm, Variant};

/// A parsed cubin. It borrows the file's bytes; [`Cubin::rewrite`] makes new ones.
#[derive(Debug, Clone)]
pub struct Cubin<'d> {
    pub(crate) data: &'d [u8],
    sm: Sm,
    relocatable: bool,
    pub(crate) headers: [Range<usize>; 3],
    sections: Vec<Section<'d>>,
    symbols: Vec<Symbol<'d>>,
    relocations: Vec<RelocationTable>,
    pub(crate) attributes: Vec<Attribute<'d>>,
    code: Vec<Code<'d>>,
}

/// One code section: a kernel with the device functions placed beside it, or (relocatable) a single function.
#[derive(Debug, Clone)]
pub struct Code<'d> {
    /// The section's name without `.text.`: the kernel's or function's mangled name.
    pub name: &'d str,
    /// Index of the section; names the code in a [`crate::CodeEdit`].
    pub section: usize,
    /// Where the code lies in the file.
    pub file_range: Range<usize>,
    /// The code.
    pub bytes: &'d [u8],
    /// Functions in it, by offset.
    pub functions: Vec<Function<'d>>,
    /// Registers per thread.
    pub registers: Option<u32>,
    /// Bytes of static shared memory.
    pub shared_bytes: u64,
    /// Block size given by `.reqntid`.
    pub required_threads: Option<[u32; 3]>,
    /// Block size given by `.maxntid`.
    pub max_threads: Option<[u32; 3]>,
    /// Hardware barriers in use.
    pub barriers: Option<u8>,
    /// Constant banks of this code alone.
    pub constants: Vec<ConstantBank<'d>>,
    /// The records of its `.nv.info.` section.
    pub attributes: Vec<Attribute<'d>>,
    /// The section those records lie in.
    pub attribute_section: Option<usize>,
    /// Relocations that patch the code.
    pub relocations: Vec<Relocation>,
}

/// A function symbol inside a code section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function<'d> {
    /// Mangled name.
    pub name: &'d str,
    /// Index in the symbol table.
    pub symbol: u32,
    /// Byte range in its section. A kernel's covers the functions placed behind it.
    pub range: Range<u64>,
    /// Whether the host can launch it.
    pub entry: bool,
    /// Whether it is visible outside the cubin.
    pub global: bool,
    /// Bytes of its stack frame.
    pub frame_bytes: Option<u32>,
}

/// A constant bank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConstantBank<'d> {
    /// Its number: `c[bank][offset]`.
    pub bank: u8,
    /// Index of the section.
    pub section: usize,
    /// Its contents.
    pub bytes: &'d [u8],
}

impl Code<'_> {
    /// Whether it holds a kernel.
    pub fn is_kernel(&self) -> bool {
        self.functions.iter().any(|function| function.entry)
    }
}

impl<'d> Cubin<'d> {
    /// Reads a cubin.
    ///
    /// # Errors
    /// Names the section and offset that are damaged; an ELF file for another machine is refused.
    pub fn parse(data: &'d [u8]) -> Result<Self, Error> {
        Self::read(data).map_err(|error| error.within(data.len() as u64))
    }

    fn read(data: &'d [u8]) -> Result<Self, Error> {
        let elf = Elf::parse(data)?;
        let sm = Sm::from_elf_flags(elf.os_abi, elf.flags).ok_or_else(|| {
            Error::new("ELF header", 7, Problem::BadField { what: "OS/ABI", value: elf.os_abi.into() })
        })?;
        let mut cubin = Self {
            data,
            sm,
            relocatable: elf.relocatable,
            headers: elf.headers,
            sections: elf.sections,
            symbols: elf.symbols,
            relocations: elf.relocations,
            attributes: Vec::new(),
            code: Vec::new(),
        };
        cubin.refine_variant();
        cubin.read_code();
        cubin.read_sections()?;
        cubin.read_functions();
        cubin.read_resources();
        Ok(cubin)
    }

    /// The SM it was built for.
    pub fn sm(&self) -> Sm {
        self.sm
    }

    /// Whether it is an object for the device linker (`ptxas -c`) rather than code ready to run.
    pub fn relocatable(&self) -> bool {
        self.relocatable
    }

    /// The file's bytes.
    pub fn data(&self) -> &'d [u8] {
        self.data
    }

    /// Code sections, in file order of their headers.
    pub fn code(&self) -> &[Code<'d>] {
        &self.code
    }

    /// The code section called `.text.NAME`.
    pub fn code_named(&self, name: &str) -> Option<&Code<'d>> {
        self.code.iter().find(|code| code.name == name)
    }

    /// Sections, by index.
    pub fn sections(&self) -> &[Section<'d>] {
        &self.sections
    }

    /// Symbols, by index.
    pub fn symbols(&self) -> &[Symbol<'d>] {
        &self.symbols
    }

    /// Relocations of every section.
    pub fn relocations(&self) -> &[RelocationTable] {
        &self.relocations
    }

    /// The section called exactly `name`.
    pub fn section_named(&self, name: &str) -> Option<(usize, &Section<'d>)> {
        let mut sections = self.sections.iter().enumerate();
        sections.find(|(_, section)| section.name == name)
    }

    /// A section's bytes.
    pub fn section_bytes(&self, section: &Section<'d>) -> &'d [u8] {
        &self.data[section.file_range.clone()]
    }

    /// What shares bytes with a section, if anything does.
    pub(crate) fn overlapping(&self, section: usize) -> Option<&str> {
        let own = &self.sections[section].file_range;
        if [SHT_STRTAB.0, SHT_SYMTAB.0].contains(&self.sections[section].kind) {
            return Some("the names of the file");
        }
        let shares = |other: &Range<usize>| other.start < own.end && own.start < other.end;
        if self.headers.iter().any(shares) {
            return Some("the ELF headers");
        }
        let mut others = self.sections.iter().enumerate();
        let other = others.find(|&(index, other)| {
            index != section && !other.file_range.is_empty() && shares(&other.file_range)
        });
        other.map(|(_, other)| other.name)
    }

    /// ptxas 13 keeps the letter out of the header.
    fn refine_variant(&mut self) {
        if self.sm.variant != Variant::Base {
            return;
        }
        let bytes = |name| self.section_named(name).map(|(_, section)| self.section_bytes(section));
        const ACCELERATED: AttributeType = AttributeType(9);
        let accelerated = bytes(".nv.compat")
            .and_then(|data| parse_attributes(Bytes::new(data, ".nv.compat")).ok())
            .is_some_and(|records| {
                let mut records = records.iter();
                records.any(|r| r.kind == ACCELERATED && r.format == Format::Byte && r.value == 1)
            });
        let family = format!("sm_{}f", self.sm.number);
        let quoted = |note: &[u8]| note.windows(family.len()).any(|window| window == family.as_bytes());
        if accelerated {
            self.sm.variant = Variant::Accelerated;
        } else if bytes(".note.nv.tkinfo").is_some_and(quoted) {
            self.sm.variant = Variant::Family;
        }
    }

    fn read_code(&mut self) {
        for (index, section) in self.sections.iter().enumerate() {
            let name = section.name.strip_prefix(".text.");
            let Some(name) = name.filter(|_| section.kind == SHT_PROGBITS.0) else {
                continue;
            };
            self.code.push(Code {
                name,
                section: index,
                file_range: section.file_range.clone(),
                bytes: &self.data[section.file_range.clone()],
                functions: Vec::new(),
                // Before the newer ABI the header itself carried the count in its top byte.
                registers: Some(section.info >> 24).filter(|&count| count != 0),
                shared_bytes: 0,
                required_threads: None,
                max_threads: None,
                barriers: None,
                constants: Vec::new(),
                attributes: Vec::new(),
                attribute_section: None,
                relocations: Vec::new(),
            });
        }
    }

    /// The sections that belong to one code section carry its name.
    fn read_sections(&mut self) -> Result<(), Error> {
        let by_name: FxHashMap<&str, usize> =
            (self.code.iter().enumerate()).map(|(index, code)| (code.name, index)).collect();
        for (index, section) in self.sections.iter().enumerate() {
            let bytes = &self.data[section.file_range.clone()];
            if section.name == ".nv.info" {
                self.attributes = parse_attributes(section.part_of(self.data))?;
            } else if let Some(name) = section.name.strip_prefix(".nv.info.") {
                let records = parse_attributes(section.part_of(self.data))?;
                if let Some(&code) = by_name.get(name) {
                    self.code[code].attributes = records;
                    self.code[code].attribute_section = Some(index);
                }
            } else if let Some(name) = section.name.strip_prefix(".nv.shared.") {
                if let Some(&code) = by_name.get(name) {
                    self.code[code].shared_bytes = section.size;
                }
            } else if let Some((bank, name)) =
                (section.name.strip_prefix(".nv.constant")).and_then(|rest| rest.split_once('.'))
                && let (Ok(bank), Some(&code)) = (bank.parse(), by_name.get(name))
            {
                self.code[code].constants.push(ConstantBank { bank, section: index, bytes });
            }
        }
        let by_section: FxHashMap<usize, usize> =
            (self.code.iter().enumerate()).map(|(index, code)| (code.section, index)).collect();
        for table in &self.relocations {
            if let Some(&code) = by_section.get(&table.target) {
                self.code[code].relocations.extend(&table.entries);
            }
        }
        Ok(())
    }

    fn read_functions(&mut self) {
        let by_section: FxHashMap<usize, usize> =
            (self.code.iter().enumerate()).map(|(index, code)| (code.section, index)).collect();
        let frames = self.per_symbol(AttributeType::FRAME_SIZE);
        for (index, symbol) in self.symbols.iter().enumerate() {
            if let Some(&code) = symbol.section.and_then(|section| by_section.get(&section))
                && symbol.function
            {
                self.code[code].functions.push(Function {
                    name: symbol.name,
                    symbol: index as u32,
                    range: symbol.value..symbol.value.saturating_add(symbol.size),
                    entry: symbol.entry,
                    global: symbol.global,
                    frame_bytes: frames.get(&(index as u32)).copied(),
                });
            }
        }
        for code in &mut self.code {
            code.functions.sort_by_key(|function| function.range.start);
        }
    }

    fn read_resources(&mut self) {
        let registers = self.per_symbol(AttributeType::REGCOUNT);
        for code in &mut self.code {
            let mut counted = code.functions.iter();
            code.registers =
                counted.find_map(|function| registers.get(&function.symbol).copied()).or(code.registers);
            for attribute in &code.attributes {
                match attribute.kind {
                    AttributeType::MAX_THREADS => code.max_threads = attribute.dimensions(),
                    AttributeType::REQNTID => code.required_threads = attribute.dimensions(),
                    AttributeType::NUM_BARRIERS => code.barriers = Some(attribute.value as u8),
                    _ => {}
                }
            }
        }
    }

    /// The cubin-wide records `{symbol, value}` of one type.
    fn per_symbol(&self, kind: AttributeType) -> FxHashMap<u32, u32> {
        let records = self.attributes.iter().filter(|record| record.kind == kind);
        records
            .filter_map(|record| {
                let mut words = words(record.payload);
                Some((words.next()?, words.next()?))
            })
            .collect()
    }
}
