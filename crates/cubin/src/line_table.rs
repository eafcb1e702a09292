//! Goal: DWARF line programs as ptxas writes them, decoded to what each instruction brings with it.
//!
//! A location is a source line and, for inlined code, the call site: an earlier row, named by its number. ptxas emits rows
//! for call sites without advancing the address; it starts a row wherever the source instruction changes, even if its
//! line does not; and where only file or call site change it may advance and then emit no row at all. All of these rows
//! go with their instruction.
//!
//! A reordering needs rows that ptxas did not write: for an instruction that got other neighbours, and for a call site
//! whose own row now comes later. They are marked by flipping the statement flag twice before them, which means nothing
//! to other readers, so that they vanish again when the old order comes back. A call site's mark is repeated to tell for
//! which of the later rows of the same location it stands.
//!
//! Source: DWARF 2 line programs; ptxas 12.9 and 13.4 output for `-lineinfo`, from PTX and from CUDA C++ (vendor opcode
//! 0x90: row number of the call site, offset of the function's name).

use rustc_hash::FxHashMap;

use crate::leb::Cursor;

/// Index of a [`Location`] in its [`Sequence`].
pub(crate) type LocationId = usize;
/// Index of a [`Row`] in its [`Sequence`].
pub(crate) type RowId = usize;

/// A source location by content. A call site has a smaller id than what is inlined there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Location {
    pub file: u64,
    pub line: i64,
    pub column: u64,
    pub statement: bool,
    pub call_site: Option<LocationId>,
    /// Name of the inlined function.
    pub function: u64,
}

/// The constants of a unit's header that opcodes depend on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub line_base: i64,
    pub line_range: i64,
    pub opcode_base: u8,
    pub statement: bool,
}

/// One unit: a header and sequences.
#[derive(Debug)]
pub(crate) struct Unit {
    pub header: Header,
    /// Where the unit starts in the section: with its length.
    pub start: usize,
    /// Byte range of the program in the section.
    pub program: std::ops::Range<usize>,
}

/// A run of rows for ascending addresses from one relocated base.
#[derive(Debug)]
pub(crate) struct Sequence {
    /// Byte range in the section.
    pub bytes: std::ops::Range<usize>,
    /// Position of the base address.
    pub base_at: usize,
    /// The base address as stored.
    pub base: u64,
    pub locations: Vec<Location>,
    /// In file order.
    pub rows: Vec<Row>,
    /// The address relative to the base where the last row ends.
    pub end: u64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// Relative to the base.
    pub address: u64,
    /// What holds from there.
    pub location: LocationId,
    /// The row of the call site: an original one.
    pub call_site: Option<RowId>,
    pub kind: RowKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowKind {
    /// Written by ptxas.
    Original,
    /// Written by this crate. As a call site it stands for a later original row of the same location, so many such rows
    /// further than the next.
    Added(usize),
    /// ptxas got there and wrote no row: what held before goes on.
    Silent,
}

/// What an instruction brings with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    /// The row that holds for it.
    pub row: RowId,
    /// The rows that ptxas started at it, silent ones included. Without any it shares the row of the one before.
    pub starts: Vec<RowId>,
}

/// Opcodes before an added row.
pub(crate) const ADDED: [u8; 2] = [6, 6];
/// Opcodes that end a sequence.
pub(crate) const END: [u8; 3] = [0, 1, 1];

/// Reads the units of a section. The error is a position and what is wrong there.
pub(crate) fn units(section: &[u8]) -> Result<Vec<Unit>, (usize, &'static str)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < section.len() {
        let (unit, end) = unit(section, at).ok_or((at, "not a DWARF 2 line table"))?;
        found.push(unit);
        at = end;
    }
    Ok(found)
}

fn unit(section: &[u8], start: usize) -> Option<(Unit, usize)> {
    let mut cursor = Cursor::new(section, start);
    let length = cursor.u32().filter(|&length| length < 0xffff_fff0)?;
    let end = cursor.at.checked_add(length as usize)?;
    if end > section.len() || !matches!(u16::from_le_bytes(cursor.array()?), 2 | 3) {
        return None;
    }
    let header_length = cursor.u32()? as usize;
    let program = cursor.at.checked_add(header_length).filter(|&at| at <= end)?;
    let minimum = cursor.u8()?;
    let statement = cursor.u8()? != 0;
    let line_base = i64::from(cursor.u8()? as i8);
    let line_range = i64::from(cursor.u8()?);
    let opcode_base = cursor.u8()?;
    (minimum == 1 && line_range > 0 && opcode_base >= 10).then_some((
        Unit {
            start,
            header: Header { line_base, line_range, opcode_base, statement },
            program: program..end,
        },
        end,
    ))
}

/// The state machine's registers.
pub(crate) struct Registers {
    pub address: u64,
    pub file: u64,
    pub line: i64,
    pub column: u64,
    pub statement: bool,
    /// Row number of the call site; 0 for none.
    pub context: u64,
    pub function: u64,
}

impl Registers {
    pub fn new(header: Header) -> Self {
        Self { address: 0, file: 1, line: 1, column: 0, statement: header.statement, context: 0, function: 0 }
    }
}

/// Reads the sequences of a unit. The error is a position and what is wrong there.
pub(crate) fn sequences(section: &[u8], unit: &Unit) -> Result<Vec<Sequence>, (usize, &'static str)> {
    let mut found = Vec::new();
    let mut at = unit.program.start;
    while at < unit.program.end {
        let sequence = Decoder::new(section, unit, at).sequence()?;
        at = sequence.bytes.end;
        found.push(sequence);
    }
    Ok(found)
}

struct Decoder<'d> {
    cursor: Cursor<'d>,
    header: Header,
    registers: Registers,
    /// Marks before the next row.
    marks: usize,
    /// Rows by number.
    numbered: Vec<RowId>,
    sequence: Sequence,
    ids: FxHashMap<Location, LocationId>,
}

impl<'d> Decoder<'d> {
    fn new(section: &'d [u8], unit: &Unit, at: usize) -> Self {
        Self {
            cursor: Cursor::new(&section[..unit.program.end], at),
            header: unit.header,
            registers: Registers::new(unit.header),
            marks: 0,
            numbered: Vec::new(),
            sequence: Sequence {
                bytes: at..at,
                base_at: 0,
                base: 0,
                locations: Vec::new(),
                rows: Vec::new(),
                end: 0,
            },
            ids: FxHashMap::default(),
        }
    }

    fn sequence(mut self) -> Result<Sequence, (usize, &'static str)> {
        let start = self.cursor.at;
        loop {
            let at = self.cursor.at;
            match self.step() {
                Some(true) => break,
                Some(false) => {}
                None => return Err((at, "an opcode that ptxas does not write")),
            }
        }
        self.sequence.find_call_sites().ok_or((start, "an added row that stands for no other"))?;
        Ok(self.sequence)
    }

    /// One opcode; true at the end of the sequence.
    fn step(&mut self) -> Option<bool> {
        let opcode = self.cursor.u8()?;
        if opcode >= self.header.opcode_base {
            let adjusted = i64::from(opcode - self.header.opcode_base);
            self.advance((adjusted / self.header.line_range) as u64)?;
            let by = self.header.line_base + adjusted % self.header.line_range;
            self.registers.line = self.registers.line.checked_add(by)?;
            self.row()?;
            return Some(false);
        }
        match opcode {
            0 => {
                let len = self.cursor.uleb()?;
                let end = self.cursor.at.checked_add(usize::try_from(len).ok()?)?;
                let done = self.extended()?;
                return (self.cursor.at == end).then_some(done);
            }
            1 => self.row()?,
            2 => {
                let by = self.cursor.uleb()?;
                self.advance(by)?;
                let rest = &self.cursor.data[self.cursor.at..];
                if !rest.starts_with(&[1]) && !rest.starts_with(&END) {
                    self.push(RowKind::Silent)?;
                }
            }
            3 => {
                let by = self.cursor.sleb()?;
                self.registers.line = self.registers.line.checked_add(by)?;
            }
            4 => self.registers.file = self.cursor.uleb()?,
            5 => self.registers.column = self.cursor.uleb()?,
            6 if self.cursor.data.get(self.cursor.at) == Some(&6) => {
                self.cursor.u8()?;
                self.marks += 1;
            }
            6 => self.registers.statement = !self.registers.statement,
            _ => return None,
        }
        Some(false)
    }

    fn extended(&mut self) -> Option<bool> {
        match self.cursor.u8()? {
            1 => {
                self.sequence.end = self.registers.address;
                self.sequence.bytes.end = self.cursor.at;
                return (self.sequence.base_at != 0).then_some(true);
            }
            2 if self.sequence.base_at == 0 => {
                self.sequence.base_at = self.cursor.at;
                self.sequence.base = self.cursor.u64()?;
            }
            0x90 => {
                self.registers.context = self.cursor.uleb()?;
                self.registers.function = self.cursor.uleb()?;
            }
            _ => return None,
        }
        Some(false)
    }

    fn advance(&mut self, by: u64) -> Option<()> {
        self.registers.address = self.registers.address.checked_add(by)?;
        Some(())
    }

    fn row(&mut self) -> Option<()> {
        let marks = std::mem::take(&mut self.marks);
        self.numbered.push(self.sequence.rows.len());
        self.push(marks.checked_sub(1).map_or(RowKind::Original, RowKind::Added))
    }

    fn push(&mut self, kind: RowKind) -> Option<()> {
        let registers = &self.registers;
        u32::try_from(registers.line).ok()?;
        let call_site = match usize::try_from(registers.context).ok()?.checked_sub(1) {
            None => None,
            Some(number) => Some(*self.numbered.get(number)?),
        };
        let location = Location {
            file: registers.file,
            line: registers.line,
            column: registers.column,
            statement: registers.statement,
            // A row cannot be its own call site.
            call_site: match call_site {
                None => None,
                Some(row) => Some(self.sequence.rows.get(row)?.location),
            },
            function: registers.function,
        };
        let next = self.sequence.locations.len();
        let id = *self.ids.entry(location).or_insert(next);
        if id == next {
            self.sequence.locations.push(location);
        }
        let address = self.registers.address;
        self.sequence.rows.push(Row { address, location: id, call_site, kind });
        Some(())
    }
}

impl Sequence {
    /// Makes every call site an original row.
    fn find_call_sites(&mut self) -> Option<()> {
        let mut originals: FxHashMap<LocationId, Vec<RowId>> = FxHashMap::default();
        for (id, row) in self.rows.iter().enumerate() {
            if row.kind == RowKind::Original {
                originals.entry(row.location).or_default().push(id);
            }
        }
        for index in 0..self.rows.len() {
            if let Some(site) = self.rows[index].call_site
                && let Row { location, kind: RowKind::Added(further), .. } = self.rows[site]
            {
                let same = originals.get(&location)?;
                let next = same.partition_point(|&id| id < site);
                self.rows[index].call_site = Some(*same.get(next.checked_add(further)?)?);
            }
        }
        Some(())
    }

    /// What each slot of `slot_bytes` from the base brings; `None` where the first has no row, or where rows do not start
    /// at slots.
    pub fn per_slot(&self, slot_bytes: u64) -> Option<Vec<Slot>> {
        let first = self.rows.first()?;
        if !self.end.is_multiple_of(slot_bytes) || first.address != 0 || first.kind == RowKind::Silent {
            return None;
        }
        let count = usize::try_from(self.end / slot_bytes).ok()?;
        let mut slots: Vec<Slot> = Vec::new();
        let mut starts = Vec::new();
        let mut holds = 0;
        for (id, row) in self.rows.iter().enumerate() {
            let next = self.rows.get(id + 1).map_or(self.end, |row| row.address);
            let last = usize::try_from(next / slot_bytes).ok()?;
            if !row.address.is_multiple_of(slot_bytes) || next < row.address || last > count {
                return None;
            }
            if row.kind != RowKind::Silent {
                holds = id;
            }
            if !matches!(row.kind, RowKind::Added(_)) {
                starts.push(id);
            }
            if next > row.address {
                slots.push(Slot { row: holds, starts: std::mem::take(&mut starts) });
                slots.resize(last, Slot { row: holds, starts: Vec::new() });
            }
        }
        Some(slots).filter(|_| starts.is_empty())
    }
}
