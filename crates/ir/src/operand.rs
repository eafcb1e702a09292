//! Operands and memory accesses.

use crate::function::Block;
use crate::lane::{RegClass, Span};
use bitflags::bitflags;
use cranelift_entity::entity_impl;

/// An interned name of a function: an opcode, a symbol, a payload text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(u32);
entity_impl!(Name, "name");

/// A memory access of a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemRef(u32);
entity_impl!(MemRef, "mem");

/// One operand. Definitions may be [`Operand::Reg`], [`Operand::Constant`] (the result is lost) or [`Operand::Mem`]
/// (memory is written); uses may be anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A register, or a tuple of consecutive ones.
    Reg(Span),
    /// A use that must get the same registers as the definition with this position.
    Tied {
        /// What is read.
        span: Span,
        /// The position among the definitions.
        def: u8,
    },
    /// An immediate; floating-point values travel as their bits.
    Imm(i64),
    /// The constant register of a class (`RZ`, `URZ`, `PT`, `UPT`).
    Constant(RegClass),
    /// A word of a constant bank at a fixed place.
    Bank {
        /// The bank.
        bank: u8,
        /// The byte offset.
        offset: u32,
    },
    /// A block: a branch target or a reconvergence point.
    Label(Block),
    /// A special register or an external symbol.
    Symbol(Name),
    /// A memory access: written when it stands among the definitions, read when among the uses.
    Mem(MemRef),
}

impl Operand {
    /// The registers that the operand itself names (not those of an address).
    pub const fn span(self) -> Option<Span> {
        match self {
            Operand::Reg(span) | Operand::Tied { span, .. } => Some(span),
            _ => None,
        }
    }
}

/// A memory space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Space {
    /// Not known before the program runs: global, shared, local or a window of them.
    Generic,
    /// Device memory.
    Global,
    /// The block's shared memory.
    Shared,
    /// Shared memory of any block of the cluster, the own one included.
    Cluster,
    /// The thread's own memory.
    Local,
    /// Constant banks with a computed address.
    Const,
    /// Kernel and call parameters.
    Param,
    /// Read through the texture path.
    Texture,
    /// Surfaces.
    Surface,
    /// Tensor memory.
    Tensor,
}

impl Space {
    /// Whether an access goes to global memory, as one through a generic address nearly always does.
    pub const fn is_global(self) -> bool {
        matches!(self, Space::Global | Space::Generic)
    }

    /// Every space.
    pub const ALL: [Space; 10] = [
        Space::Generic,
        Space::Global,
        Space::Shared,
        Space::Cluster,
        Space::Local,
        Space::Const,
        Space::Param,
        Space::Texture,
        Space::Surface,
        Space::Tensor,
    ];

    /// The name in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Space::Generic => "generic",
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Cluster => "cluster",
            Space::Local => "local",
            Space::Const => "const",
            Space::Param => "param",
            Space::Texture => "texture",
            Space::Surface => "surface",
            Space::Tensor => "tensor",
        }
    }

    /// The space of that name.
    pub fn parse(name: &str) -> Option<Space> {
        Space::ALL.into_iter().find(|s| s.name() == name)
    }

    /// Whether offsets and widths count bytes of one flat memory. Surfaces and textures have coordinates, tensor memory
    /// has rows and columns.
    pub const fn is_byte_addressed(self) -> bool {
        !matches!(self, Space::Texture | Space::Surface | Space::Tensor)
    }

    /// Whether nothing in a running kernel writes the space, as far as loads from it can tell.
    pub const fn is_read_only(self) -> bool {
        matches!(self, Space::Const | Space::Texture)
    }
}

bitflags! {
    /// What else is known of a memory access.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct AccessFlags: u8 {
        /// Keeps its order among all volatile accesses.
        const VOLATILE = 1;
        /// A read-modify-write; stands among the definitions.
        const ATOMIC = 2;
        /// A load from memory that does not change while the kernel runs.
        const READ_ONLY = 4;
        /// A store that may be volatile in the source: its code does not say so. Threads of a warp may tell each other something by it, so
        /// that addresses of one thread prove nothing: it keeps its order among all accesses to its memory.
        const MAYBE_VOLATILE = 8;
    }
}

/// One access: `space.width[base + index + offset]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemAccess {
    /// Where it goes.
    pub space: Space,
    /// Volatile, perhaps volatile, atomic, read-only.
    pub flags: AccessFlags,
    /// Bytes per thread; `None` when not known.
    pub width: Option<u32>,
    /// The address register or pair.
    pub base: Option<Span>,
    /// A second address register, usually uniform.
    pub index: Option<Span>,
    /// The constant part of the address.
    pub offset: i64,
}

impl MemAccess {
    /// Whether no store can change what this load reads.
    pub const fn reads_constant_memory(&self) -> bool {
        self.space.is_read_only() || self.flags.contains(AccessFlags::READ_ONLY)
    }

    /// The registers of the address.
    pub fn address(&self) -> impl Iterator<Item = Span> + use<> {
        [self.base, self.index].into_iter().flatten()
    }
}
