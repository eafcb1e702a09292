//! A small linked host file built by hand, as a linker lays it out, and a loader that says what a process would see.
// Every test takes the part it needs.
#![allow(dead_code)]

use std::collections::BTreeMap;

/// How wrappers get their pointers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A shared library: relocations with addends; the address is in the place as well.
    Shared,
    /// The same for AArch64, with zeros in the places.
    Arm,
    /// A shared library with packed relocations.
    Packed,
    /// An executable with a fixed address.
    Fixed,
}

pub const FORMS: [Form; 4] = [Form::Shared, Form::Arm, Form::Packed, Form::Fixed];

/// Bytes of uninitialised data.
pub const ZEROS: u64 = 0x123;

/// Places in the file, for tests that break it.
#[derive(Debug, Clone, Default)]
pub struct Linked {
    pub file: Vec<u8>,
    /// File positions of sections by name.
    pub sections: BTreeMap<&'static str, usize>,
    /// Positions of their headers.
    pub headers: BTreeMap<&'static str, usize>,
}

impl Linked {
    /// A number of eight bytes at a place of a section.
    pub fn put(&mut self, section: &str, at: usize, value: u64) {
        let at = self.sections[section] + at;
        self.file[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }

    /// A field of a section's header.
    pub fn set(&mut self, section: &str, field: usize, value: u64) {
        let at = self.headers[section] + field;
        self.file[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }

    /// A field of a program header: 0 is read-only, 1 writable, 2 dynamic, 3 read-only after relocation.
    pub fn set_segment(&mut self, segment: usize, field: usize, value: u64) {
        let at = 64 + 56 * segment + field;
        self.file[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
}

pub fn number(file: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(file[at..at + 8].try_into().expect("eight bytes"))
}

struct Section {
    name: &'static str,
    kind: u32,
    flags: u64,
    align: usize,
    bytes: Vec<u8>,
    size: u64,
    link: u32,
    entry: u64,
}

fn section(name: &'static str, kind: u32, flags: u64, bytes: Vec<u8>) -> Section {
    let size = bytes.len() as u64;
    Section { name, kind, flags, align: 8, bytes, size, link: 0, entry: 0 }
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn symbol(section: u64, kind: u64, value: u64) -> [u64; 3] {
    [section << 48 | kind << 32, value, 0]
}

const SEGMENTS: usize = 4;
const PAGE: u64 = 0x1000;

/// A file with these fatbinaries, one behind the other with some padding, and the last one in a section of objects that were linked.
pub fn linked(form: Form, fatbins: &[&[u8]]) -> Linked {
    linked_with(form, fatbins, &[])
}

/// The same with a section `.resources` of these, one behind the other, and a pair of pointers for each, (end, begin), behind the other data.
pub fn linked_with(form: Form, fatbins: &[&[u8]], resources: &[Vec<u8>]) -> Linked {
    // What lies where depends on sizes alone: the first time through gives the addresses.
    let (_, addresses) = assemble(form, fatbins, resources, &Addresses::new());
    assemble(form, fatbins, resources, &addresses).0
}

/// Where the pairs of pointers start in `.data`, and their relocations with addends in `.rela.dyn`.
pub const PAIRS: usize = 24;
pub fn pair_relocations(fatbins: usize) -> usize {
    24 * (2 + fatbins)
}

type Addresses = BTreeMap<String, u64>;

fn contents(form: Form, fatbins: &[&[u8]], resources: &[Vec<u8>], known: &Addresses) -> Vec<Section> {
    let address = |name: &str| known.get(name).copied().unwrap_or(0);
    let (last, first) = fatbins.split_last().expect("one at least");
    let mut device = Vec::new();
    let mut starts = Vec::new();
    for fatbin in first {
        starts.push(address(".nv_fatbin") + device.len() as u64);
        device.extend_from_slice(fatbin);
        device.extend([0; 24]);
    }
    starts.push(address("__nv_relfatbin"));
    let wrappers = address(".nvFatBinSegment");
    let places: Vec<u64> = (0..starts.len() as u64).map(|index| wrappers + index * 24 + 8).collect();
    let mut ends = Vec::new();
    for resource in resources {
        let begin = ends.last().copied().unwrap_or(address(".resources"));
        ends.extend([begin, begin + resource.len() as u64].into_iter().skip(usize::from(!ends.is_empty())));
    }
    let halves: Vec<u64> = ends.windows(2).flat_map(|pair| [pair[1], pair[0]]).collect();
    let half_places = (0..halves.len()).map(|index| address(".data") + (PAIRS + 8 * index) as u64);
    // A pointer to something else comes first.
    let (mut rela, mut relr) = (Vec::new(), Vec::new());
    let relative = if form == Form::Arm { 1027 } else { 8 };
    match form {
        Form::Shared | Form::Arm => {
            rela.extend(words(&[address(".data"), relative, address(".text")]));
            rela.extend(words(&[address(".data") + 8, 1 << 32 | 6, 0]));
            let wrappers = places.iter().copied().zip(starts.iter().copied());
            let all = wrappers.chain(half_places.zip(halves.iter().copied()));
            all.for_each(|(place, to)| rela.extend(words(&[place, relative, to])));
        }
        Form::Packed => {
            relr.extend(words(&[address(".data")]));
            if !halves.is_empty() {
                let first = (PAIRS - 8) / 8 + 1;
                relr.extend(words(&[(0..halves.len()).fold(1u64, |all, index| all | 1 << (first + index))]));
            }
            relr.extend(words(&[places[0]]));
            // From the word behind it on: two words are of the wrapper and the next, then every third.
            let bits = (1..places.len()).fold(1u64, |all, index| all | 1 << (index * 3));
            relr.extend(words(&[bits]));
        }
        Form::Fixed => {}
    }
    let in_place = |to: u64| if form == Form::Arm { 0 } else { to };
    let wrapper = |(index, &to): (usize, &u64)| {
        words(&[0x4662_43b1 | if index == 0 { 2 } else { 1 } << 32, in_place(to), 0])
    };
    let wrappers: Vec<u8> = starts.iter().enumerate().flat_map(wrapper).collect();
    let mut dynamic = vec![6, address(".dynsym")];
    if form != Form::Fixed {
        dynamic.extend([7, address(".rela.dyn"), 8, rela.len() as u64, 9, 24]);
    }
    if form == Form::Packed {
        dynamic.extend([36, address(".relr.dyn"), 35, relr.len() as u64, 37, 8]);
    }
    dynamic.extend([0, 0]);
    let dynsym = [[0; 3], symbol(4, 2, address(".text"))].concat();
    // By their place below: 5 is the section of device code, 6 the one of linked objects.
    let mut symtab = [[0; 3], symbol(5, 3, address(".nv_fatbin")), symbol(4, 2, address(".text"))].concat();
    for (index, &start) in starts.iter().enumerate() {
        symtab.extend(symbol(if index + 1 == starts.len() { 6 } else { 5 }, 1, start));
    }
    symtab.extend(symbol(5, 0, address(".nv_fatbin") + device.len() as u64));
    if !resources.is_empty() {
        symtab.extend(symbol(8, 3, address(".resources")));
        ends.iter().for_each(|&end| symtab.extend(symbol(8, 0, end)));
    }
    let strings = 13 + u32::from(!resources.is_empty());
    let data = [in_place(address(".text")), 0, 5].into_iter().chain(halves.iter().map(|&to| in_place(to)));
    let data: Vec<u64> = data.collect();
    let zeros = Section { size: ZEROS, align: 32, ..section(".bss", 8, 3, Vec::new()) };
    let table = |section: Section, link, entry| Section { link, entry, ..section };
    let all = vec![
        table(section(".dynsym", 11, 2, words(&dynsym)), strings, 24),
        table(section(".rela.dyn", 4, 2, rela), 1, 24),
        section(".relr.dyn", 19, 2, relr),
        section(".text", 1, 6, vec![0xc3; 33]),
        section(".nv_fatbin", 1, 2, device),
        section("__nv_relfatbin", 1, 2, last.to_vec()),
        section(".rodata", 1, 2, (1..50).collect()),
        section(".resources", 1, 2, resources.concat()),
        section(".dynamic", 6, 3, words(&dynamic)),
        section(".data", 1, 3, words(&data)),
        section(".nvFatBinSegment", 1, 3, wrappers),
        zeros,
        section(".comment", 1, 0x30, b"made by hand".to_vec()),
        section(".strtab", 3, 0, vec![0]),
        table(section(".symtab", 2, 0, words(&symtab)), strings, 24),
    ];
    all.into_iter().filter(|section| section.name != ".resources" || section.size > 0).collect()
}

fn assemble(form: Form, fatbins: &[&[u8]], resources: &[Vec<u8>], known: &Addresses) -> (Linked, Addresses) {
    let base = if form == Form::Fixed { 0x40_0000 } else { 0 };
    let mut sections = contents(form, fatbins, resources, known);
    let mut names = vec![0u8];
    let mut places = vec![0u32];
    for name in sections.iter().map(|section| section.name).chain([".shstrtab"]) {
        places.push(names.len() as u32);
        names.extend(name.bytes().chain([0]));
    }
    sections.push(section(".shstrtab", 3, 0, names));
    let mut linked = Linked { file: vec![0; 64 + 56 * SEGMENTS], ..Linked::default() };
    let mut addresses = Addresses::new();
    let mut headers = vec![0; 64];
    let (mut writable, mut end, mut zeros_end) = (0, 0, 0);
    for (section, name) in sections.into_iter().zip(&places[1..]) {
        let file = &mut linked.file;
        file.resize(file.len().next_multiple_of(section.align), 0);
        if section.name == ".dynamic" {
            writable = file.len() as u64;
        }
        let shift = if writable > 0 { PAGE } else { 0 };
        let address = if section.flags & 2 == 0 { 0 } else { base + file.len() as u64 + shift };
        addresses.insert(section.name.to_owned(), address);
        linked.sections.insert(section.name, file.len());
        linked.headers.insert(section.name, headers.len());
        let fields = [section.flags, address, file.len() as u64, section.size];
        headers.extend([*name, section.kind].iter().flat_map(|word| word.to_le_bytes()));
        headers.extend(words(&fields));
        headers.extend([section.link, 0].iter().flat_map(|word: &u32| word.to_le_bytes()));
        headers.extend(words(&[section.align as u64, section.entry]));
        file.extend(&section.bytes);
        if section.name == ".nvFatBinSegment" {
            end = file.len() as u64;
        }
        if section.name == ".bss" {
            file.truncate(end as usize);
            zeros_end = address + section.size;
        }
    }
    let file = &mut linked.file;
    file.resize(file.len().next_multiple_of(8), 0);
    let table = file.len();
    file.extend(&headers);
    linked.headers.values_mut().for_each(|at| *at += table);
    let count = (headers.len() / 64) as u16;
    file[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\x00");
    let machine: u16 = if form == Form::Arm { 183 } else { 62 };
    file[16..18].copy_from_slice(&[if form == Form::Fixed { 2 } else { 3 }, 0]);
    file[18..20].copy_from_slice(&machine.to_le_bytes());
    file[20..24].copy_from_slice(&1u32.to_le_bytes());
    file[32..40].copy_from_slice(&64u64.to_le_bytes());
    file[40..48].copy_from_slice(&(table as u64).to_le_bytes());
    for (at, value) in [(52, 64), (54, 56), (56, SEGMENTS as u16), (58, 64), (60, count), (62, count - 1)] {
        file[at..at + 2].copy_from_slice(&u16::to_le_bytes(value));
    }
    let dynamic = linked.headers[".dynamic"];
    let dynamic = [number(file, dynamic + 24), number(file, dynamic + 32)];
    let start = base + writable + PAGE;
    let segments = [
        (1u64, 4u64, 0, base, writable, writable, PAGE),
        (1, 6, writable, start, end - writable, zeros_end - start, PAGE),
        (2, 6, dynamic[0], base + dynamic[0] + PAGE, dynamic[1], dynamic[1], 8),
        (0x6474_e552, 4, writable, start, dynamic[1], dynamic[1], 1),
    ];
    for (index, (kind, flags, offset, vaddr, in_file, in_memory, align)) in segments.into_iter().enumerate() {
        let header = words(&[kind | flags << 32, offset, vaddr, vaddr, in_file, in_memory, align]);
        file[64 + 56 * index..][..56].copy_from_slice(&header);
    }
    (linked, addresses)
}

/// What a process sees: addresses from the lowest on, relocated by nothing, with the places that would be relocated by another start.
pub struct Process {
    pub start: u64,
    pub memory: Vec<u8>,
    pub relocated: Vec<u64>,
}

impl Process {
    pub fn word(&self, address: u64) -> u64 {
        number(&self.memory, (address - self.start) as usize)
    }
}

/// Maps the segments and relocates them as a loader does.
pub fn load(file: &[u8]) -> Process {
    let segments: Vec<[u64; 7]> = (0..u64::from(file[56]))
        .map(|index| std::array::from_fn(|word| number(file, 64 + 56 * index as usize + 8 * word)))
        .collect();
    let loads = || segments.iter().filter(|segment| segment[0] as u32 == 1);
    let start = loads().map(|segment| segment[2]).min().expect("a segment");
    let end = loads().map(|segment| segment[2] + segment[5]).max().expect("a segment");
    let mut process = Process { start, memory: vec![0; (end - start) as usize], relocated: Vec::new() };
    for &[_, offset, vaddr, _, in_file, in_memory, align] in loads() {
        assert!(in_file <= in_memory && offset % align == vaddr % align);
        let bytes = &file[offset as usize..(offset + in_file) as usize];
        process.memory[(vaddr - start) as usize..][..bytes.len()].copy_from_slice(bytes);
    }
    let dynamic = segments.iter().find(|segment| segment[0] as u32 == 2).expect("a dynamic section");
    let entries: BTreeMap<u64, u64> = (0..dynamic[4] / 16)
        .map(|index| dynamic[2] + index * 16)
        .map(|at| (process.word(at), process.word(at + 8)))
        .collect();
    let entry = |tag: u64| entries.get(&tag).copied().unwrap_or(0);
    for at in (0..entry(8) / 24).map(|index| entry(7) + index * 24) {
        let [place, info, addend] = [0, 8, 16].map(|word| process.word(at + word));
        if [8, 1027].contains(&info) {
            process.memory[(place - start) as usize..][..8].copy_from_slice(&addend.to_le_bytes());
            process.relocated.push(place);
        }
    }
    let mut next = 0;
    for at in (0..entry(35) / 8).map(|index| entry(36) + index * 8) {
        let bits = process.word(at);
        if bits & 1 == 0 {
            process.relocated.push(bits);
            next = bits + 8;
        } else {
            process
                .relocated
                .extend((0..63).filter(|bit| bits >> (bit + 1) & 1 == 1).map(|bit| next + bit * 8));
            next += 63 * 8;
        }
    }
    process
}
