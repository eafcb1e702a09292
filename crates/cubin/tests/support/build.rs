//! Small files built by hand: ELF, fatbinary, archive.
// Every test takes the part it needs.
#![allow(dead_code)]

/// A section to build.
#[derive(Debug, Clone, Default)]
pub struct Part {
    pub name: &'static str,
    pub kind: u32,
    pub link: u32,
    pub info: u32,
    pub entry_size: u64,
    pub bytes: Vec<u8>,
}

/// An ELF64 file for `machine`: null section, `parts`, section names.
pub fn elf(machine: u16, os_abi: u8, flags: u32, parts: &[Part]) -> Vec<u8> {
    let mut names = vec![0u8];
    let mut file = vec![0u8; 64];
    let mut headers = vec![0u8; 64];
    let all = parts.iter().cloned().chain([Part { name: ".shstrtab", kind: 3, ..Part::default() }]);
    for mut part in all {
        let name = names.len() as u32;
        names.extend(part.name.bytes().chain([0]));
        if part.name == ".shstrtab" {
            part.bytes = names.clone();
        }
        file.resize(file.len().next_multiple_of(16), 0);
        let mut header = Vec::new();
        header.extend(name.to_le_bytes());
        header.extend(part.kind.to_le_bytes());
        header.extend(0u64.to_le_bytes());
        header.extend(0u64.to_le_bytes());
        header.extend((file.len() as u64).to_le_bytes());
        header.extend((part.bytes.len() as u64).to_le_bytes());
        header.extend(part.link.to_le_bytes());
        header.extend(part.info.to_le_bytes());
        header.extend(16u64.to_le_bytes());
        header.extend(part.entry_size.to_le_bytes());
        headers.extend(header);
        file.extend(part.bytes);
    }
    file.resize(file.len().next_multiple_of(16), 0);
    let table = file.len() as u64;
    file.extend(&headers);
    let count = (headers.len() / 64) as u16;
    file[..8].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, os_abi]);
    file[16..18].copy_from_slice(&2u16.to_le_bytes());
    file[18..20].copy_from_slice(&machine.to_le_bytes());
    file[20..24].copy_from_slice(&1u32.to_le_bytes());
    file[40..48].copy_from_slice(&table.to_le_bytes());
    file[48..52].copy_from_slice(&flags.to_le_bytes());
    file[52..54].copy_from_slice(&64u16.to_le_bytes());
    file[58..60].copy_from_slice(&64u16.to_le_bytes());
    file[60..62].copy_from_slice(&count.to_le_bytes());
    file[62..64].copy_from_slice(&(count - 1).to_le_bytes());
    file
}

/// A symbol table entry.
pub fn symbol(name: u32, kind: u8, other: u8, section: u16, value: u64, size: u64) -> Vec<u8> {
    let mut bytes = name.to_le_bytes().to_vec();
    bytes.extend([0x10 | kind, other]);
    bytes.extend(section.to_le_bytes());
    bytes.extend(value.to_le_bytes());
    bytes.extend(size.to_le_bytes());
    bytes
}

/// A host file that holds fatbinaries, as a linker lays them out: padded, one after the other.
pub fn host(fatbins: &[&[u8]]) -> Vec<u8> {
    let mut section = Vec::new();
    for fatbin in fatbins {
        section.extend_from_slice(fatbin);
        section.extend([0; 24]);
    }
    let text = Part { name: ".text", kind: 1, bytes: vec![0xc3; 33], ..Part::default() };
    let device = Part { name: ".nv_fatbin", kind: 1, bytes: section, ..Part::default() };
    let last = Part { name: ".data", kind: 1, bytes: (0..99).collect(), ..Part::default() };
    elf(62, 0, 0, &[text, device, last])
}

/// A static library.
pub fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut file = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        file.extend(
            format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", format!("{name}/"), 0, 0, 0, 644, bytes.len())
                .bytes(),
        );
        file.extend_from_slice(bytes);
        file.resize(file.len().next_multiple_of(2), b'\n');
    }
    file
}

/// A fatbinary of cubins: SM, flags (13: LZ4, 15: zstd), stored bytes and their size when decompressed.
pub fn fatbin(entries: &[(u32, u64, &[u8], u64)]) -> Vec<u8> {
    let mut body = Vec::new();
    for &(sm, flags, stored, size) in entries {
        let padded = stored.len().next_multiple_of(8);
        let compressed = flags & (1 << 13 | 1 << 15) != 0;
        body.extend(2u16.to_le_bytes());
        body.extend(0x101u16.to_le_bytes());
        body.extend(64u32.to_le_bytes());
        body.extend((padded as u64).to_le_bytes());
        body.extend(if compressed { stored.len() as u32 } else { 0 }.to_le_bytes());
        body.extend(0u32.to_le_bytes());
        body.extend([8, 0, 1, 0]);
        body.extend(sm.to_le_bytes());
        body.extend(0u64.to_le_bytes());
        body.extend((flags | 0x11).to_le_bytes());
        body.extend(0u64.to_le_bytes());
        body.extend(if compressed { size } else { 0 }.to_le_bytes());
        body.extend_from_slice(stored);
        body.resize(body.len().next_multiple_of(8), 0);
    }
    let mut file = 0xba55_ed50u32.to_le_bytes().to_vec();
    file.extend(1u16.to_le_bytes());
    file.extend(16u16.to_le_bytes());
    file.extend((body.len() as u64).to_le_bytes());
    file.extend(body);
    file
}

/// A cubin for sm_90 with one kernel of eight instructions, attributes, a relocation, line table and call frame.
pub fn cubin() -> Vec<u8> {
    let code: Vec<u8> = (0..8u128).flat_map(|i| (0x1000 + i).to_le_bytes()).collect();
    let mut symbols = vec![0; 24];
    symbols.extend(symbol(1, 2, 0x10, 1, 0, 128));
    symbols.extend(symbol(3, 1, 0, 0, 0, 0));
    let word = |value: u32| value.to_le_bytes();
    let mut info = vec![3, 0x1b, 0xff, 0, 4, 0x1c, 8, 0];
    info.extend([word(0x30), word(0x60)].concat());
    info.extend([4, 0x29, 8, 0]);
    info.extend([word(0x0500_000b), word(u32::MAX)].concat());
    info.extend([4, 0x28, 8, 0]);
    info.extend([word(0x10), word(0x20)].concat());
    let mut rela = 0x50u64.to_le_bytes().to_vec();
    rela.extend((2u64 << 32 | 56).to_le_bytes());
    rela.extend(0u64.to_le_bytes());
    let program = {
        let mut program = vec![0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 3, 9, 1];
        program.extend([3, 20, 2, 0x20, 1, 3, 0x76, 2, 0x20, 1, 2, 0xc0, 0, 0, 1, 1]);
        program
    };
    let header = [1, 1, 0xfb, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, b'k', 0, 0, 0, 0, 0];
    let mut line = ((program.len() + header.len() + 6) as u32).to_le_bytes().to_vec();
    line.extend([2, 0]);
    line.extend(word(header.len() as u32));
    line.extend(header);
    let base_at = line.len() as u64 + 3;
    line.extend(program);
    let mut line_rela = base_at.to_le_bytes().to_vec();
    line_rela.extend((1u64 << 32 | 2).to_le_bytes());
    line_rela.extend(0u64.to_le_bytes());
    elf(
        190,
        0x41,
        0x0600_5a04,
        &[
            Part { name: ".text.k", kind: 1, bytes: code, ..Part::default() },
            Part { name: ".strtab", kind: 3, bytes: b"\0k\0v\0".to_vec(), ..Part::default() },
            Part { name: ".symtab", kind: 2, link: 2, info: 1, entry_size: 24, bytes: symbols },
            Part { name: ".nv.info.k", kind: 0x7000_0000, link: 3, info: 1, bytes: info, ..Part::default() },
            Part { name: ".rela.text.k", kind: 4, link: 3, info: 1, entry_size: 24, bytes: rela },
            Part { name: ".debug_line", kind: 1, bytes: line, ..Part::default() },
            Part { name: ".rela.debug_line", kind: 4, link: 3, info: 6, entry_size: 24, bytes: line_rela },
            Part { name: ".nv.constant0.k", kind: 1, info: 1, bytes: vec![0; 64], ..Part::default() },
        ],
    )
}
