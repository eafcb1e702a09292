//! Goal: the source location of every instruction, as a reader of line tables sees it.
//!
//! Source: DWARF 2 line programs with the vendor's opcode 0x90 (row number of the call site, offset of the function's
//! name). A row holds from its address to the next one's; of several rows at one address the last holds. Call sites are
//! followed to what they say, not to where they stand, because a table may be written again in another way.

use super::baggage::{Baggage, Item, Location, Numbers};
use super::cursor::Cursor;
use sassafras_cubin::{Cubin, Relocation};

/// The sections that hold line tables.
pub(super) const TABLES: [&str; 2] = [".debug_line", ".nv_debug_line_sass"];

/// A line table with what has to stay apart from what follows the code.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// Unit headers without their lengths.
    headers: Vec<Vec<u8>>,
    sequences: Vec<Sequence>,
    /// What is relocated: unit, place in its header or number of the sequence, type, symbol, addend.
    anchors: Vec<(usize, Anchor, u32, u32, Option<i64>)>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Anchor {
    Header(u64),
    Sequence(usize),
}

#[derive(Debug, PartialEq, Eq)]
struct Sequence {
    section: Option<usize>,
    base: u64,
    /// What stands in the place that the base is relocated to.
    stored: u64,
    end: u64,
}

/// A row: address from the base, and the location.
type Row = (u64, Location);

/// Reads a table and gives every instruction its location. `None` when it is in no form that is understood.
pub(super) fn read(
    cubin: &Cubin<'_>,
    name: &'static str,
    baggage: &mut [(usize, Baggage)],
    numbers: &mut Numbers,
) -> Option<Table> {
    let (index, section) = cubin.section_named(name)?;
    let data = cubin.section_bytes(section);
    let tables = cubin.relocations().iter().filter(|table| table.target == index);
    let relocations: Vec<&Relocation> = tables.flat_map(|table| &table.entries).collect();
    let mut table = Table { headers: Vec::new(), sequences: Vec::new(), anchors: Vec::new() };
    let mut bases = Vec::new();
    let mut ranges = Vec::new();
    let mut at = 0;
    while at < data.len() {
        let unit = Unit::read(data, at)?;
        table.headers.push(data[at + 4..unit.program].to_vec());
        let mut next = unit.program;
        while next < unit.end {
            let (parsed, end) = Machine::new(data, &unit, next, numbers).run()?;
            let relocation = relocations.iter().find(|r| r.offset == parsed.base_at as u64)?;
            bases.push(parsed.base_at as u64);
            let symbol = cubin.symbols().get(relocation.symbol as usize)?;
            let addend = relocation.addend.unwrap_or(parsed.base as i64);
            let base = symbol.value.wrapping_add_signed(addend);
            if let Some((_, baggage)) = baggage.iter_mut().find(|(code, _)| Some(*code) == symbol.section) {
                give(name, base, &parsed, baggage, numbers);
            }
            table.sequences.push(Sequence {
                section: symbol.section,
                base,
                stored: parsed.base,
                end: parsed.end,
            });
            next = end;
        }
        ranges.push((at as u64, unit.program as u64));
        at = unit.end;
    }
    for relocation in relocations {
        let anchor = match bases.iter().position(|&base| base == relocation.offset) {
            Some(sequence) => (0, Anchor::Sequence(sequence)),
            None => {
                let inside = |&(start, end): &(u64, u64)| (start..end).contains(&relocation.offset);
                let unit = ranges.iter().position(inside)?;
                (unit, Anchor::Header(relocation.offset - ranges[unit].0))
            }
        };
        table.anchors.push((anchor.0, anchor.1, relocation.kind, relocation.symbol, relocation.addend));
    }
    table.anchors.sort_unstable();
    Some(table)
}

fn give(table: &'static str, base: u64, parsed: &Parsed, baggage: &mut Baggage, numbers: &mut Numbers) {
    for (index, &(address, location)) in parsed.rows.iter().enumerate() {
        let end = parsed.rows.get(index + 1).map_or(parsed.end, |&(next, _)| next);
        if end <= address {
            continue;
        }
        let item = numbers.item(Item::Line { table, location });
        let mut offset = address.next_multiple_of(16);
        // An end that no code backs must not make us walk.
        while offset < end && baggage.holds(base.wrapping_add(offset)) {
            baggage.add(base.wrapping_add(offset), item);
            offset += 16;
        }
    }
}

struct Unit {
    line_base: i64,
    line_range: i64,
    opcode_base: u8,
    statement: bool,
    program: usize,
    end: usize,
}

impl Unit {
    fn read(data: &[u8], start: usize) -> Option<Unit> {
        let mut cursor = Cursor::new(data, start);
        let length = cursor.u32()?;
        let end = cursor.at.checked_add(length as usize).filter(|&end| end <= data.len())?;
        let version = cursor.u16()?;
        let header = cursor.u32()? as usize;
        let program = cursor.at.checked_add(header).filter(|&at| at <= end)?;
        let unit_length = cursor.u8()?;
        let statement = cursor.u8()? != 0;
        let line_base = i64::from(cursor.u8()? as i8);
        let line_range = i64::from(cursor.u8()?);
        let opcode_base = cursor.u8()?;
        let known = matches!(version, 2 | 3) && unit_length == 1 && line_range > 0 && opcode_base >= 10;
        known.then_some(Unit { line_base, line_range, opcode_base, statement, program, end })
    }
}

struct Parsed {
    base_at: usize,
    base: u64,
    rows: Vec<Row>,
    end: u64,
}

/// The state machine of one sequence.
struct Machine<'d, 'n> {
    cursor: Cursor<'d>,
    unit: &'n Unit,
    numbers: &'n mut Numbers,
    address: u64,
    current: Location,
    /// Row number of the call site; 0 for none.
    context: u64,
    /// Locations of the rows so far, for call sites.
    emitted: Vec<u32>,
    parsed: Parsed,
}

impl<'d, 'n> Machine<'d, 'n> {
    fn new(data: &'d [u8], unit: &'n Unit, at: usize, numbers: &'n mut Numbers) -> Machine<'d, 'n> {
        Machine {
            cursor: Cursor::new(&data[..unit.end], at),
            numbers,
            address: 0,
            current: Location {
                file: 1,
                line: 1,
                column: 0,
                statement: unit.statement,
                call_site: None,
                function: 0,
            },
            context: 0,
            emitted: Vec::new(),
            parsed: Parsed { base_at: 0, base: 0, rows: Vec::new(), end: 0 },
            unit,
        }
    }

    fn run(mut self) -> Option<(Parsed, usize)> {
        while !self.step()? {}
        (self.parsed.base_at != 0).then_some((self.parsed, self.cursor.at))
    }

    /// One opcode; true at the end of the sequence.
    fn step(&mut self) -> Option<bool> {
        let opcode = self.cursor.u8()?;
        match opcode {
            0 => {
                let length = self.cursor.uleb()?;
                let end = self.cursor.at.checked_add(usize::try_from(length).ok()?)?;
                let done = self.extended(end)?;
                self.cursor.at = end;
                return Some(done);
            }
            1 => self.row()?,
            2 => {
                let by = self.cursor.uleb()?;
                self.advance(by)?;
            }
            3 => self.current.line = self.current.line.checked_add(self.cursor.sleb()?)?,
            4 => self.current.file = self.cursor.uleb()?,
            5 => self.current.column = self.cursor.uleb()?,
            6 => self.current.statement = !self.current.statement,
            7 => {}
            8 => self.advance(i64::from(255 - self.unit.opcode_base) as u64 / self.unit.line_range as u64)?,
            9 => {
                let by = self.cursor.u16()?;
                self.advance(by.into())?;
            }
            special if special >= self.unit.opcode_base => {
                let adjusted = i64::from(special - self.unit.opcode_base);
                self.advance((adjusted / self.unit.line_range) as u64)?;
                let by = self.unit.line_base + adjusted % self.unit.line_range;
                self.current.line = self.current.line.checked_add(by)?;
                self.row()?;
            }
            _ => return None,
        }
        Some(false)
    }

    fn extended(&mut self, end: usize) -> Option<bool> {
        match self.cursor.u8()? {
            1 => {
                self.parsed.end = self.address;
                return (self.cursor.at == end).then_some(true);
            }
            2 if self.parsed.base_at == 0 => {
                self.parsed.base_at = self.cursor.at;
                self.parsed.base = self.cursor.u64()?;
            }
            0x90 => {
                self.context = self.cursor.uleb()?;
                self.current.function = self.cursor.uleb()?;
            }
            _ => return None,
        }
        (self.cursor.at == end).then_some(false)
    }

    fn advance(&mut self, by: u64) -> Option<()> {
        self.address = self.address.checked_add(by)?;
        Some(())
    }

    fn row(&mut self) -> Option<()> {
        let site = usize::try_from(self.context).ok()?.checked_sub(1);
        self.current.call_site = match site {
            None => None,
            Some(row) => Some(*self.emitted.get(row)?),
        };
        self.emitted.push(self.numbers.location(self.current));
        self.parsed.rows.push((self.address, self.current));
        Some(())
    }
}
