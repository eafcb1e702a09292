//! Single instructions through nvdisasm: what it says of words that stand in no program.
//!
//! The registers of an instruction are in its word, so each distinct word has to be asked about only once. `nvdisasm -plr`
//! wants an ELF file and takes long for long functions; [`list()`] builds cubins of short ones around the words.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::nvdisasm::{Line, Listing};
use crate::tools;

/// The ELF header of a real cubin. It names the architecture.
pub type Header = [u8; 64];

/// An exit for every architecture from sm_70 on.
const EXIT: u128 = 0x000f_ea00_0380_0000_0000_0000_0000_794d;
const SECTION_HEADER: usize = 64;
/// How many registers the functions say they use: a count that every release accepts.
const REGISTERS: u32 = 128;

/// Little-endian fields, one after the other.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn u32(&mut self, value: u32) -> &mut Bytes {
        self.0.extend(value.to_le_bytes());
        self
    }

    fn u64(&mut self, value: u64) -> &mut Bytes {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Where the next byte goes, at a multiple of `align`.
    fn aligned(&mut self, align: usize) -> u64 {
        self.0.resize(self.0.len().next_multiple_of(align), 0);
        self.0.len() as u64
    }
}

/// A string table and where its names start.
fn strings(names: impl IntoIterator<Item = String>) -> (Vec<u8>, Vec<u32>) {
    let (mut table, mut starts) = (vec![0], Vec::new());
    for name in names {
        starts.push(table.len() as u32);
        table.extend(name.bytes().chain([0]));
    }
    (table, starts)
}

/// A cubin with one kernel per piece, `k0`, `k1` and so on, each ended by an exit.
pub fn cubin(header: &Header, pieces: &[&[u128]]) -> Vec<u8> {
    let kernels = || (0..pieces.len()).map(|number| format!("k{number}"));
    let tables = [".shstrtab", ".strtab", ".symtab"].map(str::to_owned);
    let (names, name_at) =
        strings(tables.into_iter().chain(kernels().map(|kernel| format!(".text.{kernel}"))));
    let (symbol_names, symbol_at) = strings(kernels());
    let mut symbols = Bytes(vec![0; 24]);
    for (number, piece) in pieces.iter().enumerate() {
        // A global function in section 4 and following, with the mark of an entry.
        let section = 4 + number as u32;
        symbols.u32(symbol_at[number]).u32(0x12 | 0x10 << 8 | section << 16).u64(0);
        symbols.u64(16 * (piece.len() as u64 + 1));
    }
    let mut file = Bytes(header.to_vec());
    let mut sections = Bytes(vec![0; SECTION_HEADER]);
    let mut add =
        |name: u32, kind: u32, flags: u64, bytes: &[u8], link: u32, info: u32, align: u64, entry: u64| {
            let offset = file.aligned(align as usize);
            file.0.extend(bytes);
            sections.u32(name).u32(kind).u64(flags).u64(0).u64(offset).u64(bytes.len() as u64);
            sections.u32(link).u32(info).u64(align).u64(entry);
        };
    add(name_at[0], 3, 0, &names, 0, 0, 1, 0);
    add(name_at[1], 3, 0, &symbol_names, 0, 0, 1, 0);
    add(name_at[2], 2, 0, &symbols.0, 2, 1, 8, 24);
    for (number, piece) in pieces.iter().enumerate() {
        let words = piece.iter().chain([&EXIT]);
        let code: Vec<u8> = words.flat_map(|word| word.to_le_bytes()).collect();
        let info = REGISTERS << 24 | (number as u32 + 1);
        add(name_at[3 + number], 1, 6, &code, 3, info, 128, 0);
    }
    let table = file.aligned(8);
    let count = sections.0.len() / SECTION_HEADER;
    file.0.extend(sections.0);
    // No program headers; the section headers, how many, and that the first one names them.
    file.0[32..40].fill(0);
    file.0[40..48].copy_from_slice(&table.to_le_bytes());
    file.0[54..58].fill(0);
    file.0[58..60].copy_from_slice(&(SECTION_HEADER as u16).to_le_bytes());
    file.0[60..62].copy_from_slice(&(count as u16).to_le_bytes());
    file.0[62..64].copy_from_slice(&1u16.to_le_bytes());
    file.0
}

/// What nvdisasm lists for every word, piece by piece, or what it says where it refuses one. `path` is a file to use.
///
/// # Panics
/// When the file cannot be written.
pub fn list(nvdisasm: &Path, header: &Header, pieces: &[&[u128]], path: &Path) -> Vec<Result<Line, String>> {
    let mut out = Vec::new();
    // Halves that are still to be asked, the first one on top.
    let mut waiting = vec![pieces.to_vec()];
    while let Some(mut pieces) = waiting.pop() {
        fs::write(path, cubin(header, &pieces)).expect("written");
        let said =
            tools::run(Command::new(nvdisasm).args(["-c", "-hex", "-plr", "-lrm", "narrow"]).arg(path));
        if said.status.success() {
            let lines = Listing::parse(&String::from_utf8_lossy(&said.stdout)).lines;
            out.extend(pick(lines, &pieces).into_iter().map(Ok));
            continue;
        }
        // One word is at fault, maybe more: halve until it stands alone.
        let rest = match (pieces.len(), pieces.first().map_or(0, |piece| piece.len())) {
            (0, _) => continue,
            (1, 0 | 1) => {
                out.push(Err(String::from_utf8_lossy(&said.stderr).trim().to_owned()));
                continue;
            }
            (1, words) => {
                let (first, second) = pieces[0].split_at(words / 2);
                pieces[0] = first;
                vec![second]
            }
            (count, _) => pieces.split_off(count / 2),
        };
        waiting.extend([rest, pieces]);
    }
    out
}

/// The lines of the pieces, without the exits behind them, in the order of the pieces.
fn pick(lines: Vec<Line>, pieces: &[&[u128]]) -> Vec<Line> {
    let mut found: Vec<Vec<Option<Line>>> = pieces.iter().map(|piece| vec![None; piece.len()]).collect();
    for line in lines {
        let kernel = line.section.strip_prefix(".text.k").and_then(|number| number.parse::<usize>().ok());
        let slot = kernel.and_then(|kernel| found.get_mut(kernel)?.get_mut(line.address as usize / 16));
        if let Some(slot) = slot {
            *slot = Some(line);
        }
    }
    found.into_iter().flatten().map(|line| line.expect("nvdisasm lists every instruction")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that shares nothing with the writer.
    fn field(file: &[u8], at: usize, len: usize) -> u64 {
        file[at..at + len].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
    }

    #[test]
    fn a_cubin_holds_its_pieces() {
        let pieces: [&[u128]; 2] = [&[1, 2], &[3]];
        let file = cubin(&[7; 64], &pieces);
        assert_eq!((field(&file, 60, 2), field(&file, 62, 2), file[18]), (6, 1, 7));
        let table = field(&file, 40, 8) as usize;
        for (number, piece) in pieces.iter().enumerate() {
            let header = table + 64 * (4 + number);
            let (offset, size) = (field(&file, header + 24, 8) as usize, field(&file, header + 32, 8));
            assert_eq!(size as usize, 16 * (piece.len() + 1));
            let words: Vec<u64> = (0..=piece.len()).map(|i| field(&file, offset + 16 * i, 8)).collect();
            let wanted: Vec<u64> = piece.iter().chain([&EXIT]).map(|word| *word as u64).collect();
            assert_eq!(words, wanted);
        }
    }
}
