//! What the instructions of PTX read, write and order: four tables, checked when they are loaded.
//!
//! `data/opcodes.csv` has a row for every instruction; of several rows with one opcode the first whose `with` fits is taken.
//!
//! | column | meaning |
//! |---|---|
//! | `opcode` | the first word of the opcode |
//! | `with` | modifiers that must be there, in any order; `!x` must not be there, `x*` stands for all that begin so, `x\|y` for either |
//! | `operands` | the operands in order: `>` written, `<` read, `<>` both, `L` a label, `[…]` an address |
//! | `commutes` | two operands, counted from 0, that may change places: the result is the same bit for bit |
//! | `implicit` | what is touched besides: `>CC`, `<CC`, or an access as in an address |
//! | `effects` | effects of the IR, or `fence`: nothing moves across |
//! | `source` | where that is said |
//!
//! An address says what happens there: `r` read, `w` written, `a` both at once, `-` nothing; `~` behind it: how many bytes is not known
//! (else type and vector modifiers say); `:space` behind that: where (else the space modifier says). Behind an operand, `?` makes it
//! optional and `*` lets it repeat. `a\|b` lets the brackets decide.
//!
//! Where modifiers forbid that two operands change places, a row of its own says so. NaNs that differ in nothing but their payload count as
//! the same: which of two a result carries on is not said anywhere.
//!
//! `data/modifiers.csv` says which modifiers are types, vectors, spaces and memory orders; `data/special.csv` lists special registers
//! and whether their value may change while the thread runs. `data/machine.csv` says which machine instruction an instruction mostly
//! becomes, to ask latency tables with.
//!
//! Operands with another shape than the row, like opcodes without a row, make an instruction opaque.

mod load;
mod machine;
mod modifiers;
mod shape;
mod special;

pub use load::TableError;
pub use modifiers::Modifiers;
pub use shape::{Access, AccessKind, Implicit, Role, Slot};

use crate::syntax::{Operand, OperandKind};
use rustc_hash::FxHashMap;
use sassafras_ir::Effects;
use std::sync::LazyLock;

const OPCODES: &str = include_str!("../../data/opcodes.csv");
const MODIFIERS: &str = include_str!("../../data/modifiers.csv");
const SPECIAL: &str = include_str!("../../data/special.csv");
const MACHINE: &str = include_str!("../../data/machine.csv");

static BUILT_IN: LazyLock<Table> =
    LazyLock::new(|| match Table::load(OPCODES, MODIFIERS, SPECIAL, MACHINE) {
        Ok(table) => table,
        Err(error) => panic!("a built-in table is broken: {error}"),
    });

/// All four tables.
#[derive(Debug)]
pub struct Table {
    rows: FxHashMap<String, Vec<Row>>,
    modifiers: modifiers::ModifierTable,
    special: special::SpecialTable,
    machine: machine::MachineTable,
}

/// A row of `opcodes.csv`.
#[derive(Clone, Debug)]
pub struct Row {
    pub(crate) with: Vec<shape::Condition>,
    pub(crate) operands: Vec<Slot>,
    pub(crate) commutes: Option<[usize; 2]>,
    pub(crate) implicit: Vec<Implicit>,
    pub(crate) effects: Effects,
}

impl Table {
    /// The table that comes with the crate.
    pub fn get() -> &'static Table {
        &BUILT_IN
    }

    /// Loads and checks tables.
    ///
    /// # Errors
    /// Names the table, the line and what is wrong there.
    pub fn load(opcodes: &str, modifiers: &str, special: &str, machine: &str) -> Result<Table, TableError> {
        let table = Table {
            rows: load::opcodes(opcodes)?,
            modifiers: modifiers::ModifierTable::load(modifiers)?,
            special: special::SpecialTable::load(special)?,
            machine: machine::MachineTable::load(machine)?,
        };
        let unknown = table.machine.opcodes().find(|&opcode| !table.rows.contains_key(opcode));
        if let Some(unknown) = unknown {
            let message = format!("`{unknown}` is no opcode");
            return Err(TableError { table: "machine.csv", line: 0, message });
        }
        Ok(table)
    }

    /// The machine instruction that an opcode mostly becomes, without modifiers; none for what becomes nothing, or many.
    pub fn machine_name(&self, opcode: &str) -> Option<&str> {
        self.machine.name(opcode)
    }

    /// The row of an opcode.
    pub fn row(&self, opcode: &str) -> Option<&Row> {
        // A comment among the modifiers: their names cannot be told from its words.
        if opcode.contains('/') {
            return None;
        }
        let mut words = opcode.split('.').map(str::trim);
        let rows = self.rows.get(words.next()?)?;
        let words: Vec<&str> = words.collect();
        rows.iter().find(|row| row.with.iter().all(|condition| condition.holds(&words)))
    }

    /// Whether control may go elsewhere behind the instruction, or nothing is known of it.
    pub fn ends_block(&self, opcode: &str) -> bool {
        let base = opcode.split('.').next().unwrap_or_default().trim();
        match self.rows.get(base) {
            Some(rows) => rows.iter().any(|row| row.effects.intersects(Effects::TERMINATOR)),
            None => true,
        }
    }

    /// What an opcode's modifiers say.
    pub fn modifiers(&self, opcode: &str) -> Modifiers {
        self.modifiers.read(opcode.split('.').skip(1).map(str::trim))
    }

    /// The bytes of a type (`b32`), 0 for a predicate, `None` when there is no such type.
    pub fn type_bytes(&self, ty: &str) -> Option<u32> {
        self.modifiers.type_bytes(ty)
    }

    /// Whether the value of a special register may change while the thread runs; `None` when there is no such register.
    pub fn special(&self, name: &str) -> Option<bool> {
        self.special.changes(name)
    }

    /// The opcodes with a row, in alphabetical order.
    pub fn opcodes(&self) -> Vec<&str> {
        let mut all: Vec<&str> = self.rows.keys().map(String::as_str).collect();
        all.sort_unstable();
        all
    }
}

impl Row {
    /// What it does besides reading and writing operands.
    pub fn effects(&self) -> Effects {
        self.effects
    }

    /// The two operands that may change places, as positions among these; `None` when there are none, or the operands are not of the row's
    /// shape.
    pub fn commuting(&self, operands: &[Operand]) -> Option<[usize; 2]> {
        let plain = |&at: &usize| {
            operands.get(at).is_some_and(|operand| operand.exact && operand.kind == OperandKind::Plain)
        };
        let found = self.commutes.filter(|both| both.iter().all(plain))?;
        self.roles(operands).map(|_| found)
    }

    /// The role of each operand; `None` when they are not of the row's shape.
    pub fn roles(&self, operands: &[Operand]) -> Option<Vec<&Role>> {
        let mut roles = Vec::with_capacity(operands.len());
        let mut slots = self.operands.iter().peekable();
        for operand in operands {
            let is_address = operand.kind == OperandKind::Address;
            let role = loop {
                let slot = slots.peek()?;
                match slot.role(is_address) {
                    Some(role) => {
                        if !slot.repeats {
                            slots.next();
                        }
                        break role;
                    }
                    None if slot.optional => drop(slots.next()),
                    None => return None,
                }
            };
            roles.push(role);
        }
        slots.all(|slot| slot.optional).then_some(roles)
    }
}
