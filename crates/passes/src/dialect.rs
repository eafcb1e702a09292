//! Which language the opcodes of a function are of.

use sassafras_ptx::table::Table;

/// A language of opcodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Machine instructions.
    Sass,
    /// PTX.
    Ptx,
}

impl Dialect {
    /// The machine instruction to ask tables for.
    pub fn machine_name(self, opcode: &str) -> Option<&str> {
        match self {
            Dialect::Sass => Some(opcode),
            Dialect::Ptx => Table::get().machine_name(opcode),
        }
    }

    /// Whether an opcode is an asynchronous copy of a tensor: long under way, and nothing has to wait where it starts.
    pub fn is_async_tensor(self, opcode: &str) -> bool {
        opcode.starts_with(match self {
            Dialect::Sass => "UTMALDG",
            Dialect::Ptx => "cp.async.bulk.tensor",
        })
    }
}
