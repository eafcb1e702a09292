//! Goal: `.debug_frame` rows follow the instruction after which they hold.
//!
//! ptxas writes one description per function: an advance to the place behind the instruction that moves the stack pointer,
//! the new frame there, an advance to the end. A row is attached to the instruction before it. Rows that change nothing
//! (a frame of the size it had) stay where they are. Advances keep their encoded size.
//!
//! A description belongs to the common entry before it: the pointer that should say so is relocated in relocatable cubins
//! and wrong in what nvlink writes. nvlink also leaves descriptions without a relocation where it dropped a function.
//!
//! Source: DWARF 3 call-frame instructions; ptxas 12.9 and 13.4 output.

use std::ops::Range;

use crate::cubin::{Code, Cubin};
use crate::edit::{Reason, Refusal};
use crate::leb::Cursor;
use crate::moves::SLOT;
use crate::relayout::{Layout, Resized};
use crate::rewrite::Planned;

type Problem = (usize, &'static str);

const SECTION: &str = ".debug_frame";

/// Rewrites the rows in `data`.
pub(crate) fn follow(cubin: &Cubin, plans: &[Planned], data: &mut [u8]) -> Result<(), Refusal> {
    let Some((index, section)) = cubin.section_named(SECTION) else {
        return Ok(());
    };
    let old = cubin.section_bytes(section);
    let refuse = |(at, problem)| Refusal::new(SECTION, Reason::Frames { at, problem });
    for description in descriptions(cubin, index, old).map_err(refuse)? {
        let mut plans = plans.iter();
        let Some(plan) = plans.find(|plan| Some(plan.code.section) == description.section) else {
            continue;
        };
        cubin.refuse_overlap(index, Some(plan.code))?;
        let target = &mut data[section.file_range.clone()];
        let place = |address: u64, effective, _| match address.checked_sub(SLOT) {
            Some(before) if effective => {
                let new = plan.moves.follow(before).ok_or("a row behind no instruction")?;
                Ok(new + SLOT)
            }
            _ => Ok(address),
        };
        describe(old, &description, description.base, place, target)
            .map_err(|problem| refuse(problem).of(plan.code))?;
    }
    Ok(())
}

/// Rewrites the rows in `data` for code of another length, and how long each description holds.
pub(crate) fn follow_length(cubin: &Cubin, plans: &[Resized], data: &mut [u8]) -> Result<(), Refusal> {
    let Some((index, section)) = cubin.section_named(SECTION) else {
        return Ok(());
    };
    let old = cubin.section_bytes(section);
    let refuse = |(at, problem)| Refusal::new(SECTION, Reason::Frames { at, problem });
    for description in descriptions(cubin, index, old).map_err(refuse)? {
        let mut plans = plans.iter();
        let Some(plan) = plans.find(|plan| Some(plan.code.section) == description.section) else {
            continue;
        };
        cubin.refuse_overlap(index, Some(plan.code))?;
        let target = &mut data[section.file_range.clone()];
        resize(old, &description, &plan.layout, target).map_err(|problem| refuse(problem).of(plan.code))?;
    }
    Ok(())
}

/// Moves the rows of one description of code of another length.
fn resize(old: &[u8], description: &Description, layout: &Layout, new: &mut [u8]) -> Result<(), Problem> {
    let at = description.location_at;
    let length = Cursor::new(old, at + 8).u64().ok_or((at, "no length"))?;
    let end = description.base.checked_add(length).ok_or((at, "it ends beyond all code"))?;
    let position = |offset| layout.position(offset).ok_or((at, "it starts or ends at no instruction"));
    let old_end = end;
    let (base, end) = (position(description.base)?, position(end)?);
    let length = end.checked_sub(base).ok_or((at, "it would end before it starts"))?;
    new[at + 8..at + 16].copy_from_slice(&length.to_le_bytes());
    let place = |address: u64, effective, previous: u64| {
        let before = address.checked_sub(SLOT);
        if effective
            && address > description.base
            && let Some(before) = before
        {
            let mut places = layout.places(before).ok_or("a row behind no instruction")?;
            let place = places.next().ok_or("a row behind a deleted instruction")?;
            return match places.next() {
                None => Ok(place + SLOT),
                Some(_) => Err("a row behind an instruction that there are several of"),
            };
        }
        // A row that changes nothing may be anywhere behind the one before. The last of a description may be far behind its end.
        let new = match address.checked_sub(old_end) {
            Some(behind) => end.saturating_add(behind),
            None => layout.position(address).unwrap_or(previous),
        };
        Ok(new.max(previous))
    };
    describe(old, description, base, place, new)
}

/// A description that a relocation ties to code.
struct Description {
    /// Position of the common entry before it.
    common: Option<usize>,
    /// Position of the start address, which the length follows.
    location_at: usize,
    program: Range<usize>,
    /// The code's section, and where in it the code starts.
    section: Option<usize>,
    base: u64,
}

fn descriptions(cubin: &Cubin, index: usize, old: &[u8]) -> Result<Vec<Description>, Problem> {
    let relocations: Vec<_> = (cubin.relocations().iter())
        .filter(|table| table.target == index)
        .flat_map(|table| &table.entries)
        .collect();
    let mut common = None;
    let mut found = Vec::new();
    for entry in entries(old)? {
        let (location_at, program) = match entry {
            Entry::Common(at) => {
                common = Some(at);
                continue;
            }
            Entry::Description { location_at, program } => (location_at, program),
        };
        let Some(relocation) = relocations.iter().find(|r| r.offset == location_at as u64) else {
            continue;
        };
        let Some(symbol) = cubin.symbols().get(relocation.symbol as usize) else {
            return Err((location_at, "a relocation without a symbol"));
        };
        let stored = Cursor::new(old, location_at).u64().unwrap_or_default();
        let base = symbol.value.wrapping_add_signed(relocation.addend.unwrap_or(stored as i64));
        found.push(Description { common, location_at, program, section: symbol.section, base });
    }
    Ok(found)
}

/// A row of a call-frame description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameRow {
    /// From here on it holds, as an offset in the section of the code.
    pub address: u64,
    /// The instruction that it follows wherever that goes; none for a row that stays.
    pub behind: Option<u64>,
}

impl Cubin<'_> {
    /// The rows of each call-frame description of a section of code. Their addresses have to stay in order. What cannot be read has
    /// no rows here and is refused when the code is written.
    pub fn frame_rows(&self, code: &Code) -> Vec<Vec<FrameRow>> {
        let Some((index, section)) = self.section_named(SECTION) else {
            return Vec::new();
        };
        let old = self.section_bytes(section);
        let found = descriptions(self, index, old).unwrap_or_default();
        let own = found.iter().filter(|description| description.section == Some(code.section));
        own.map(|description| {
            let rows = description.rows(old).map(|(_, rows)| rows).unwrap_or_default();
            let row = |row: Row| {
                let address = description.base.wrapping_add(row.address);
                FrameRow { address, behind: address.checked_sub(SLOT).filter(|_| row.effective) }
            };
            rows.into_iter().map(row).collect()
        })
        .collect()
    }
}

impl Description {
    fn rows(&self, old: &[u8]) -> Result<(Common, Vec<Row>), Problem> {
        let common = self.common.ok_or((self.program.start, "no common entry before it"))?;
        let common = common_of(old, common)?;
        let rows = rows(old, self.program.clone(), &common)?;
        Ok((common, rows))
    }
}

/// Moves the rows of one description, which now starts at `base`. `place` gives the new address behind what was before an old one, from
/// whether the row changes anything and the new address of the row before.
fn describe(
    old: &[u8],
    description: &Description,
    base: u64,
    place: impl Fn(u64, bool, u64) -> Result<u64, &'static str>,
    new: &mut [u8],
) -> Result<(), Problem> {
    let (common, rows) = description.rows(old)?;
    let mut previous = base;
    for row in rows {
        let address = place(description.base.wrapping_add(row.address), row.effective, previous)
            .map_err(|problem| (row.at, problem))?;
        let delta = address
            .checked_sub(previous)
            .filter(|delta| delta.is_multiple_of(common.factor))
            .ok_or((row.at, "rows would change their order"))?;
        write_advance(&mut new[row.at..], delta / common.factor)
            .ok_or((row.at, "an advance would not fit its opcode"))?;
        previous = address;
    }
    Ok(())
}

enum Entry {
    /// Position of a common entry.
    Common(usize),
    Description {
        /// Position of the start address.
        location_at: usize,
        program: Range<usize>,
    },
}

fn entries(section: &[u8]) -> Result<Vec<Entry>, Problem> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < section.len() {
        let (entry, end) = entry(section, at).ok_or((at, "not a 64-bit DWARF entry"))?;
        found.push(entry);
        at = end;
    }
    Ok(found)
}

fn entry(section: &[u8], start: usize) -> Option<(Entry, usize)> {
    let mut cursor = Cursor::new(section, start);
    if cursor.u32()? != u32::MAX {
        return None;
    }
    let length = usize::try_from(cursor.u64()?).ok()?;
    let end = cursor.at.checked_add(length)?;
    let id = cursor.u64()?;
    if end > section.len() || cursor.at > end {
        return None;
    }
    let entry = if id == u64::MAX {
        Entry::Common(start)
    } else {
        let location_at = cursor.at;
        cursor.array::<16>()?;
        Entry::Description { location_at, program: Some(cursor.at).filter(|&at| at <= end)?..end }
    };
    Some((entry, end))
}

struct Common {
    factor: u64,
    frame: Frame,
}

/// The canonical frame address: register and offset.
type Frame = Option<(u64, u64)>;

fn common_of(section: &[u8], start: usize) -> Result<Common, Problem> {
    let read = || {
        let mut cursor = Cursor::new(section, start);
        cursor.u32().filter(|&word| word == u32::MAX)?;
        let length = usize::try_from(cursor.u64()?).ok()?;
        let end = cursor.at.checked_add(length).filter(|&end| end <= section.len())?;
        cursor.u64().filter(|&id| id == u64::MAX)?;
        let _version = cursor.u8()?;
        // No augmentation.
        cursor.u8().filter(|&byte| byte == 0)?;
        let factor = cursor.uleb().filter(|&factor| factor > 0)?;
        cursor.sleb()?;
        cursor.uleb()?;
        Some((factor, cursor.at..end))
    };
    let (factor, program) = read().ok_or((start, "a common entry that ptxas does not write"))?;
    let mut common = Common { factor, frame: None };
    let mut cursor = Cursor::new(&section[..program.end], program.start);
    while cursor.at < program.end {
        let at = cursor.at;
        match instruction(&mut cursor).ok_or((at, "an opcode that ptxas does not write"))? {
            Instruction::Frame(frame) => common.frame = frame,
            Instruction::Advance(_) => return Err((at, "an advance in a common entry")),
            Instruction::Nothing | Instruction::Rule => {}
        }
    }
    Ok(common)
}

struct Row {
    /// Position of the advance.
    at: usize,
    /// Relative to the start of the function.
    address: u64,
    effective: bool,
}

fn rows(section: &[u8], program: Range<usize>, common: &Common) -> Result<Vec<Row>, Problem> {
    let mut rows: Vec<Row> = Vec::new();
    let mut frame = common.frame;
    let mut address = 0u64;
    let mut cursor = Cursor::new(&section[..program.end], program.start);
    while cursor.at < program.end {
        let at = cursor.at;
        let effective = match instruction(&mut cursor).ok_or((at, "an opcode that ptxas does not write"))? {
            Instruction::Nothing => false,
            Instruction::Advance(by) => {
                address = by
                    .checked_mul(common.factor)
                    .and_then(|by| address.checked_add(by))
                    .ok_or((at, "an advance beyond all code"))?;
                rows.push(Row { at, address, effective: false });
                false
            }
            Instruction::Frame(new) => std::mem::replace(&mut frame, new) != new || new.is_none(),
            Instruction::Rule => true,
        };
        if let Some(row) = rows.last_mut() {
            row.effective |= effective;
        }
    }
    Ok(rows)
}

enum Instruction {
    Nothing,
    Advance(u64),
    Frame(Frame),
    Rule,
}

fn instruction(cursor: &mut Cursor) -> Option<Instruction> {
    let opcode = cursor.u8()?;
    Some(match (opcode >> 6, opcode & 0x3f) {
        (1, delta) => Instruction::Advance(delta.into()),
        (2, _) => {
            cursor.uleb()?;
            Instruction::Rule
        }
        (3, _) => Instruction::Rule,
        (_, 0x00) => Instruction::Nothing,
        (_, 0x02) => Instruction::Advance(cursor.u8()?.into()),
        (_, 0x03) => Instruction::Advance(u16::from_le_bytes(cursor.array()?).into()),
        (_, 0x04) => Instruction::Advance(cursor.u32()?.into()),
        // offset, register and their signed kind: two numbers.
        (_, 0x05 | 0x09 | 0x11 | 0x14) => {
            cursor.uleb()?;
            cursor.uleb()?;
            Instruction::Rule
        }
        // restore, undefined, same value.
        (_, 0x06..=0x08) => {
            cursor.uleb()?;
            Instruction::Rule
        }
        (_, 0x0c) => Instruction::Frame(Some((cursor.uleb()?, cursor.uleb()?))),
        // Frame register alone, frame offset alone.
        (_, 0x0d | 0x0e) => {
            cursor.uleb()?;
            Instruction::Frame(None)
        }
        // Expressions: a register where it is a rule for one, then a block.
        (_, 0x10 | 0x16) => {
            cursor.uleb()?;
            let len = cursor.uleb()?;
            cursor.skip(len)?;
            Instruction::Rule
        }
        (_, 0x0f) => {
            let len = cursor.uleb()?;
            cursor.skip(len)?;
            Instruction::Frame(None)
        }
        _ => return None,
    })
}

/// Writes an advance over the one at the start of `at`, in the same encoding.
fn write_advance(at: &mut [u8], delta: u64) -> Option<()> {
    match at[0] {
        2 => at[1] = u8::try_from(delta).ok()?,
        3 => at[1..3].copy_from_slice(&u16::try_from(delta).ok()?.to_le_bytes()),
        4 => at[1..5].copy_from_slice(&u32::try_from(delta).ok()?.to_le_bytes()),
        _ => at[0] = 0x40 | u8::try_from(delta).ok().filter(|&delta| delta < 0x40)?,
    }
    Some(())
}
