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

/// Asynchronous copies of tensors: long under way, and nothing has to wait where they start.
const ASYNC_TENSOR: [&str; 2] = ["UTMALDG", "cp.async.bulk.tensor"];

impl Dialect {
    /// The machine instruction to ask tables for.
    pub fn machine_name(self, opcode: &str) -> Option<&str> {
        match self {
            Dialect::Sass => Some(opcode),
            Dialect::Ptx => Table::get().machine_name(opcode),
        }
    }

    /// Whether an opcode is an asynchronous copy of a tensor.
    pub fn is_async_tensor(self, opcode: &str) -> bool {
        ASYNC_TENSOR.iter().any(|name| opcode.starts_with(name))
    }
}
