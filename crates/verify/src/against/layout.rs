//! Goal: everything of a cubin's file outside its sections: headers, and the gaps between what lies in it.
//!
//! A line table that follows reordered code may change its size, and what lies behind it then moves as a whole. Positions
//! in headers have to move with what they point to; every other byte stays.

use super::cubin::byte_difference;
use super::{Change, Difference};
use sassafras_cubin::Cubin;
use std::ops::Range;

const SECTION_HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;

/// Compares headers and gaps. `resized` tells which sections may have another size.
pub(super) fn compare(
    old: &Cubin<'_>,
    new: &Cubin<'_>,
    resized: impl Fn(&str) -> bool,
    differences: &mut Vec<Difference>,
) {
    let (was, is) = (old.data(), new.data());
    let layout = Layout { items: items(old, new) };
    layout.gaps(was, is, differences);
    let header = |data| slice(data, &(0..64));
    let mut found = Vec::new();
    headers("ELF header", header(was), header(is), 0, &[E_PHOFF, E_SHOFF], &layout, &mut found);
    let (old_table, new_table) = (section_table(old), section_table(new));
    let tables = (slice(was, &old_table), slice(is, &new_table));
    for (index, section) in old.sections().iter().enumerate() {
        let entry = |table| slice(table, &(index * SECTION_HEADER..(index + 1) * SECTION_HEADER));
        let (mut was, mut is) = (entry(tables.0).to_vec(), entry(tables.1).to_vec());
        if resized(section.name) && was.len() == SECTION_HEADER && is.len() == SECTION_HEADER {
            was[SH_SIZE..SH_SIZE + 8].fill(0);
            is[SH_SIZE..SH_SIZE + 8].fill(0);
        }
        let base = (index * SECTION_HEADER) as u64;
        headers("section headers", &was, &is, base, &[SH_OFFSET], &layout, &mut found);
    }
    let (was, is) = (slice(was, &program_table(was)), slice(is, &program_table(is)));
    for (index, (was, is)) in was.chunks(PROGRAM_HEADER).zip(is.chunks(PROGRAM_HEADER)).enumerate() {
        let base = (index * PROGRAM_HEADER) as u64;
        headers("program headers", was, is, base, &[P_OFFSET], &layout, &mut found);
    }
    differences.append(&mut found);
}

const E_PHOFF: usize = 0x20;
const E_SHOFF: usize = 0x28;
const SH_OFFSET: usize = 24;
const SH_SIZE: usize = 32;
const P_OFFSET: usize = 8;

/// One header: positions follow, other bytes stay.
fn headers(
    name: &str,
    was: &[u8],
    is: &[u8],
    base: u64,
    positions: &[usize],
    layout: &Layout,
    differences: &mut Vec<Difference>,
) {
    let excused =
        |at: u64| positions.iter().any(|&position| (position..position + 8).contains(&(at as usize)));
    differences.extend(byte_difference(name, was, is, base, excused));
    for &at in positions {
        let (old, new) = (word(was, at), word(is, at));
        if !layout.moved(old, new) {
            let change = Change::Structure {
                what: "a position in the file",
                was: format!("{old:#x}"),
                is: format!("{new:#x}"),
            };
            differences.push(Difference::new(name, Some(base + at as u64), change));
        }
    }
}

/// Whatever takes room in the file, in both files: sections and header tables, by their old position.
struct Layout {
    items: Vec<(Range<usize>, Range<usize>)>,
}

fn items(old: &Cubin<'_>, new: &Cubin<'_>) -> Vec<(Range<usize>, Range<usize>)> {
    let sections = old.sections().iter().zip(new.sections());
    let sections = sections.map(|(old, new)| (old.file_range.clone(), new.file_range.clone()));
    let tables = [
        (0..64, 0..64),
        (section_table(old), section_table(new)),
        (program_table(old.data()), program_table(new.data())),
    ];
    let mut items: Vec<_> = sections.chain(tables).filter(|(old, _)| !old.is_empty()).collect();
    items.sort_by_key(|(old, _)| (old.start, old.end));
    items
}

impl Layout {
    /// Whether a position has moved as what lies there has: as the nearest item before or behind it.
    fn moved(&self, old: u64, new: u64) -> bool {
        let behind = self.items.partition_point(|(range, _)| (range.start as u64) < old);
        let near = [self.items.get(behind), behind.checked_sub(1).and_then(|before| self.items.get(before))];
        let by = new.wrapping_sub(old);
        let mut near = near.into_iter().flatten();
        // Sections without contents may claim to lie beyond the end.
        near.any(|(was, is)| (is.start as u64).wrapping_sub(was.start as u64) == by)
    }

    /// Gaps are the same bytes, or padding of another length where something changed its size before them.
    fn gaps(&self, was: &[u8], is: &[u8], differences: &mut Vec<Difference>) {
        let (mut old_at, mut new_at) = (0, 0);
        // How far the last item has moved, while nothing has changed its size since.
        let mut shift = Some(0);
        let end = (was.len()..was.len(), is.len()..is.len());
        for (old, new) in self.items.iter().chain([&end]) {
            let moved = new.start.wrapping_sub(old.start);
            if shift.is_some_and(|shift| shift != moved) {
                let change = Change::Structure {
                    what: "a position in the file",
                    was: format!("{:#x}", old.start),
                    is: format!("{:#x}", new.start),
                };
                differences.push(Difference::new("file", Some(new.start as u64), change));
            }
            shift = (old.len() == new.len()).then_some(moved);
            let (old_gap, new_gap) = (old_at..old.start.max(old_at), new_at..new.start.max(new_at));
            let (before, after) = (slice(was, &old_gap), slice(is, &new_gap));
            let padding = |gap: &[u8]| gap.len() < 4096 && gap.iter().all(|&byte| byte == 0);
            if before.len() == after.len() || !padding(before) || !padding(after) {
                let at = new_gap.start as u64;
                differences.extend(byte_difference("file", before, after, at, |_| false));
            }
            (old_at, new_at) = (old_at.max(old.end), new_at.max(new.end));
        }
    }
}

fn slice<'d>(data: &'d [u8], range: &Range<usize>) -> &'d [u8] {
    data.get(range.clone()).unwrap_or_default()
}

fn word(data: &[u8], at: usize) -> u64 {
    let bytes = data.get(at..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0, |&bytes| u64::from_le_bytes(bytes))
}

fn section_table(cubin: &Cubin<'_>) -> Range<usize> {
    table(cubin.data(), E_SHOFF, cubin.sections().len() * SECTION_HEADER)
}

fn program_table(data: &[u8]) -> Range<usize> {
    let count = data.get(0x38..0x3a).map_or(0, |bytes| usize::from(u16::from_le_bytes([bytes[0], bytes[1]])));
    table(data, E_PHOFF, count * PROGRAM_HEADER)
}

/// The table that the header's field points to; empty where it does not lie in the file.
fn table(data: &[u8], field: usize, size: usize) -> Range<usize> {
    let start = word(data, field) as usize;
    let end = start.checked_add(size).filter(|&end| end <= data.len());
    end.map_or(0..0, |end| start..end)
}
