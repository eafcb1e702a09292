//! Goal: write a line program for instructions in another order, in the form of ptxas's own.
//!
//! For the order in which it was read, the bytes are the same; see [`crate::line_table`] for what the rows mean.

use rustc_hash::FxHashMap;

use crate::leb::{push_sleb, push_uleb};
use crate::line_table::{ADDED, END, Header, Registers, Row, RowId, RowKind, Sequence, Slot};

impl Sequence {
    /// The sequence's bytes for other contents of its slots.
    pub fn encode(&self, header: Header, slots: &[Slot], slot_bytes: u64) -> Vec<u8> {
        let starts = slots.iter().flat_map(|slot| &slot.starts).copied();
        let originals: Vec<_> = starts.filter(|&id| self.rows[id].kind == RowKind::Original).collect();
        let mut encoder = Encoder {
            out: vec![0, 9, 2],
            header,
            sequence: self,
            place: originals.iter().enumerate().map(|(place, &id)| (id, place)).collect(),
            originals,
            written: 0,
            registers: Registers::new(header),
            number: FxHashMap::default(),
            rows: 0,
        };
        encoder.out.extend(self.base.to_le_bytes());
        let mut holds = None;
        for (index, slot) in slots.iter().enumerate() {
            let address = index as u64 * slot_bytes;
            let location = self.rows[slot.row].location;
            let speaks = slot.starts.iter().any(|&id| self.rows[id].kind == RowKind::Original);
            if !speaks && holds != Some(location) {
                encoder.added(slot.row, 1, address);
            }
            for &id in &slot.starts {
                encoder.original(id, address);
            }
            holds = Some(location);
        }
        let rest = slots.len() as u64 * slot_bytes - encoder.registers.address;
        if rest != 0 {
            encoder.out.push(2);
            push_sleb(&mut encoder.out, rest as i64);
        }
        encoder.out.extend(END);
        encoder.out
    }
}

struct Encoder<'s> {
    out: Vec<u8>,
    header: Header,
    sequence: &'s Sequence,
    /// ptxas's rows in their new order, and their places in it.
    originals: Vec<RowId>,
    place: FxHashMap<RowId, usize>,
    /// How many of them are written.
    written: usize,
    registers: Registers,
    /// The number of a row, or of one that stands for it until it comes.
    number: FxHashMap<RowId, u64>,
    rows: u64,
}

impl Encoder<'_> {
    /// A row of ptxas, silent or not.
    fn original(&mut self, id: RowId, address: u64) {
        let row = self.sequence.rows[id];
        self.call_sites(row, address);
        if row.kind == RowKind::Silent {
            let (address_by, line_by) = self.change(row, address);
            return self.silent(address_by, line_by);
        }
        self.row(row, address);
        self.number.insert(id, self.rows);
        self.written += 1;
    }

    /// A row that ptxas did not write.
    fn added(&mut self, id: RowId, marks: usize, address: u64) {
        let row = self.sequence.rows[id];
        self.call_sites(row, address);
        self.out.extend(std::iter::repeat_n(ADDED, marks).flatten());
        self.row(row, address);
    }

    /// Rows for the call sites of `row`, outermost first, where they are still to come.
    fn call_sites(&mut self, row: Row, address: u64) {
        let mut missing = Vec::new();
        let mut site = row.call_site;
        while let Some(id) = site.filter(|id| !self.number.contains_key(id)) {
            missing.push(id);
            site = self.sequence.rows[id].call_site;
        }
        for id in missing.into_iter().rev() {
            let row = self.sequence.rows[id];
            let Some(&place) = self.place.get(&id) else {
                // Its instruction is gone. What was inlined there is not.
                self.row(row, address);
                self.number.insert(id, self.rows);
                continue;
            };
            let location = row.location;
            let before = self.originals.get(self.written..place).unwrap_or_default();
            let further = before.iter().filter(|&&other| self.sequence.rows[other].location == location);
            self.added(id, 1 + further.count(), address);
            self.number.insert(id, self.rows);
        }
    }

    fn row(&mut self, row: Row, address: u64) {
        let (address_by, line_by) = self.change(row, address);
        self.advance(address_by, line_by);
        self.rows += 1;
    }

    /// Writes what changes apart from line and address; gives the steps of those.
    fn change(&mut self, row: Row, address: u64) -> (u64, i64) {
        let location = self.sequence.locations[row.location];
        let context = row.call_site.map_or(0, |site| self.number[&site]);
        if location.file != self.registers.file || self.rows == 0 {
            self.out.push(4);
            push_uleb(&mut self.out, location.file);
        }
        if location.column != self.registers.column {
            self.out.push(5);
            push_uleb(&mut self.out, location.column);
        }
        if location.statement != self.registers.statement {
            self.out.push(6);
        }
        if (context, location.function) != (self.registers.context, self.registers.function) {
            let mut operands = vec![0x90];
            push_uleb(&mut operands, context);
            push_uleb(&mut operands, location.function);
            self.out.extend([0, operands.len() as u8]);
            self.out.extend(operands);
        }
        let steps = (address - self.registers.address, location.line - self.registers.line);
        self.registers = Registers {
            address,
            file: location.file,
            line: location.line,
            column: location.column,
            statement: location.statement,
            context,
            function: location.function,
        };
        steps
    }

    /// The advance of the address ends it, so it is written even if it is 0.
    fn silent(&mut self, address: u64, line: i64) {
        if line != 0 {
            self.out.push(3);
            push_sleb(&mut self.out, line);
        }
        self.out.push(2);
        push_sleb(&mut self.out, address as i64);
    }

    fn advance(&mut self, address: u64, line: i64) {
        let offset = line - self.header.line_base;
        // ptxas uses special opcodes only where both advance.
        if address != 0
            && line != 0
            && (0..self.header.line_range).contains(&offset)
            && let Some(opcode) = i64::try_from(address)
                .ok()
                .and_then(|address| address.checked_mul(self.header.line_range))
                .and_then(|code| u8::try_from(code + offset).ok())
                .and_then(|code| code.checked_add(self.header.opcode_base))
        {
            return self.out.push(opcode);
        }
        if line != 0 || address == 0 {
            self.out.push(3);
            push_sleb(&mut self.out, line);
        }
        if address != 0 {
            self.out.push(2);
            // ptxas writes this operand as if it were signed.
            push_sleb(&mut self.out, address as i64);
        }
        self.out.push(1);
    }
}
