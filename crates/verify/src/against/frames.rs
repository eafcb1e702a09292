//! Goal: call-frame rows, given to the instruction they stand behind.
//!
//! A row says what the frame is after an instruction took effect, so a row that changes something goes with the
//! instruction before it. A row that repeats what holds is a mere mark and stays.
//!
//! Source: DWARF 2 call frames, in the 64-bit form.

use super::baggage::{Baggage, Item, Numbers};
use super::cursor::Cursor;
use sassafras_cubin::{Cubin, Relocation};
use std::ops::Range;

/// The section.
pub(super) const SECTION: &str = ".debug_frame";

/// What has to be the same in both files: entry headers, and the opcodes of the rows in their order, the advances left
/// out; with the rows that do not go with an instruction.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frames {
    fixed: Vec<Vec<u8>>,
    marks: Vec<(usize, u64)>,
}

/// The canonical frame address: register and offset.
type Frame = Option<(u64, u64)>;

/// Reads the section and gives every instruction its rows. `None` when it is in no form that is understood.
pub(super) fn read(
    cubin: &Cubin<'_>,
    baggage: &mut [(usize, Baggage)],
    numbers: &mut Numbers,
) -> Option<Frames> {
    let (index, section) = cubin.section_named(SECTION)?;
    let data = cubin.section_bytes(section);
    let tables = cubin.relocations().iter().filter(|table| table.target == index);
    let relocations: Vec<&Relocation> = tables.flat_map(|table| &table.entries).collect();
    let mut frames = Frames { fixed: Vec::new(), marks: Vec::new() };
    let mut common = None;
    let mut at = 0;
    while at < data.len() {
        let mut cursor = Cursor::new(data, at);
        cursor.u32().filter(|&word| word == u32::MAX)?;
        let length = usize::try_from(cursor.u64()?).ok()?;
        let end = cursor.at.checked_add(length).filter(|&end| end <= data.len())?;
        if cursor.u64()? == u64::MAX {
            common = Some(Common::read(&data[..end], cursor.at)?);
            frames.fixed.push(data[at..end].to_vec());
        } else {
            let location_at = cursor.at;
            let stored = cursor.u64()?;
            cursor.u64()?;
            let rows = rows(&data[..end], cursor.at..end, common.as_ref()?)?;
            let Some(relocation) = relocations.iter().find(|r| r.offset == location_at as u64) else {
                // Of no code that is known: it stays as it is.
                frames.fixed.push(data[at..end].to_vec());
                at = end;
                continue;
            };
            let symbol = cubin.symbols().get(relocation.symbol as usize)?;
            let base = symbol.value.wrapping_add_signed(relocation.addend.unwrap_or(stored as i64));
            let description = frames.fixed.len();
            frames.fixed.push([&data[at..cursor.at], &rows_text(&rows)].concat());
            let mut code = baggage.iter_mut().find(|(code, _)| Some(*code) == symbol.section);
            for row in rows {
                let before = base.wrapping_add(row.address).checked_sub(16);
                match (before, &mut code) {
                    (Some(before), Some((_, baggage))) if row.effective && row.address > 0 => {
                        let item = numbers.item(Item::Frame { description, opcodes: row.opcodes });
                        baggage.add(before, item);
                    }
                    _ => frames.marks.push((description, row.address)),
                }
            }
        }
        at = end;
    }
    Some(frames)
}

fn rows_text(rows: &[Row]) -> Vec<u8> {
    rows.iter().flat_map(|row| [&row.opcodes[..], &[0xff]].concat()).collect()
}

struct Common {
    factor: u64,
    frame: Frame,
}

impl Common {
    fn read(entry: &[u8], at: usize) -> Option<Common> {
        let mut cursor = Cursor::new(entry, at);
        cursor.u8()?;
        cursor.u8().filter(|&augmentation| augmentation == 0)?;
        let factor = cursor.uleb().filter(|&factor| factor > 0)?;
        cursor.sleb()?;
        cursor.uleb()?;
        let mut common = Common { factor, frame: None };
        while cursor.at < entry.len() {
            match step(&mut cursor)? {
                Step::Frame(frame) => common.frame = frame,
                Step::Advance(_) => return None,
                Step::Nothing | Step::Rule => {}
            }
        }
        Some(common)
    }
}

struct Row {
    /// Relative to the start of the function.
    address: u64,
    opcodes: Vec<u8>,
    effective: bool,
}

fn rows(entry: &[u8], program: Range<usize>, common: &Common) -> Option<Vec<Row>> {
    let mut rows = vec![Row { address: 0, opcodes: Vec::new(), effective: false }];
    let mut frame = common.frame;
    let mut cursor = Cursor::new(entry, program.start);
    while cursor.at < program.end {
        let at = cursor.at;
        let step = step(&mut cursor)?;
        let last = rows.last_mut()?;
        match step {
            Step::Advance(by) => {
                let address = by.checked_mul(common.factor).and_then(|by| last.address.checked_add(by))?;
                // The size of the opcode stays; its distance does not count.
                rows.push(Row { address, opcodes: vec![(cursor.at - at) as u8], effective: false });
                continue;
            }
            Step::Frame(new) => last.effective |= std::mem::replace(&mut frame, new) != new || new.is_none(),
            Step::Rule => last.effective = true,
            Step::Nothing => {}
        }
        last.opcodes.extend_from_slice(&entry[at..cursor.at]);
    }
    Some(rows)
}

enum Step {
    Nothing,
    Advance(u64),
    Frame(Frame),
    Rule,
}

fn step(cursor: &mut Cursor<'_>) -> Option<Step> {
    let opcode = cursor.u8()?;
    Some(match (opcode >> 6, opcode & 0x3f) {
        (1, delta) => Step::Advance(delta.into()),
        (2, _) => {
            cursor.uleb()?;
            Step::Rule
        }
        (3, _) => Step::Rule,
        (_, 0x00) => Step::Nothing,
        (_, 0x02) => Step::Advance(cursor.u8()?.into()),
        (_, 0x03) => Step::Advance(cursor.u16()?.into()),
        (_, 0x04) => Step::Advance(cursor.u32()?.into()),
        (_, 0x05 | 0x09 | 0x11 | 0x14) => {
            cursor.uleb()?;
            cursor.uleb()?;
            Step::Rule
        }
        (_, 0x06..=0x08) => {
            cursor.uleb()?;
            Step::Rule
        }
        (_, 0x0c) => Step::Frame(Some((cursor.uleb()?, cursor.uleb()?))),
        (_, 0x0d | 0x0e) => {
            cursor.uleb()?;
            Step::Frame(None)
        }
        (_, 0x10 | 0x16) => {
            cursor.uleb()?;
            let length = cursor.uleb()?;
            cursor.skip(length)?;
            Step::Rule
        }
        (_, 0x0f) => {
            let length = cursor.uleb()?;
            cursor.skip(length)?;
            Step::Frame(None)
        }
        _ => return None,
    })
}
