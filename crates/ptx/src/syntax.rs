//! What a module is made of. Everything is a span of the source; nothing is copied.
//!
//! Functions, blocks and instructions are numbered through the module in the order of the text. An operand is flat: its
//! kind and its *atoms*, the names and numbers in it, each with the sign that joins it to the one before. That is all
//! that lowering needs, and no nesting of the input becomes nesting here.

use crate::text::Span;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::ops::Range;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// Its number in the module.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(
    /// A block of a module, numbered in the order of the text.
    BlockId
);
id!(
    /// An instruction of a module, numbered in the order of the text.
    InstId
);
id!(
    /// A `.reg` declaration of a module.
    RegId
);
id!(
    /// A scope (`{ … }`) of a module.
    ScopeId
);

/// A parsed module: the source, and spans into it.
#[derive(Clone, Debug)]
pub struct Module {
    pub(crate) source: String,
    pub(crate) header: Header,
    pub(crate) functions: Vec<Function>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) insts: Vec<Instruction>,
    pub(crate) operands: Vec<Operand>,
    pub(crate) atoms: Vec<Atom>,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) registers: Vec<Register>,
    pub(crate) labels: Vec<Label>,
    pub(crate) target_lists: Vec<TargetList>,
    /// The scope around each scope.
    pub(crate) parents: Vec<Option<ScopeId>>,
    /// Orders of blocks that are not in the order of the text.
    pub(crate) orders: FxHashMap<BlockId, Vec<InstId>>,
    /// Instructions with two operands exchanged.
    pub(crate) commuted: BTreeSet<InstId>,
    /// Every `.loc` in a body, in the order of the text.
    pub(crate) locs: Vec<Span>,
}

/// The three directives at the top of a module.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Header {
    pub version: Option<Span>,
    pub target: Option<Span>,
    pub address_size: Option<Span>,
}

/// A kernel or a device function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `.entry`
    Entry,
    /// `.func`
    Func,
}

/// A function, or the declaration of one.
#[derive(Clone, Debug)]
pub struct Function {
    pub(crate) kind: Kind,
    pub(crate) name: Span,
    pub(crate) span: Span,
    pub(crate) linkage: Vec<Span>,
    pub(crate) returns: Vec<Param>,
    pub(crate) params: Vec<Param>,
    pub(crate) directives: Vec<Directive>,
    pub(crate) body: Option<Body>,
}

/// A parameter or a returned value.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its name.
    pub name: Span,
    /// The register that it is, in the style without `.param` memory.
    pub register: Option<RegId>,
}

/// A directive with all that belongs to it: `.reqntid 128, 1, 1`.
#[derive(Clone, Copy, Debug)]
pub struct Directive {
    /// Its name with the dot.
    pub name: Span,
    /// The whole.
    pub span: Span,
}

/// What is between a function's braces.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub insts: Range<u32>,
    pub blocks: Range<u32>,
    pub labels: Range<u32>,
    pub target_lists: Range<u32>,
}

/// Instructions that follow each other: control enters at the first and leaves behind the last, nothing but comments, `.loc` and labels
/// that no instruction names stands between them.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its instructions in the order of the text.
    pub(crate) insts: Range<u32>,
    /// The `.loc` in force where it begins.
    pub(crate) loc: Option<Span>,
}

/// `@guard opcode.modifiers operands;`
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    pub(crate) span: Span,
    /// The text that moves with it, pieces included.
    pub(crate) chunk: Span,
    pub(crate) pieces: (u32, u32),
    pub(crate) guard: Option<Guard>,
    pub(crate) opcode: Span,
    pub(crate) operands: (u32, u32),
    pub(crate) scope: ScopeId,
    /// The `.loc` in force.
    pub(crate) loc: Option<Span>,
}

/// A guard: `@%p1` or `@!%p1`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    pub atom: u32,
    pub negated: bool,
}

/// How an operand is bracketed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandKind {
    /// `%r1`, `%p1|%p2`, `-5`, `name+4`
    Plain,
    /// `{%r1, %r2}`
    Vector,
    /// `[%rd1+16]`, `[map, {%r1, %r2}]`
    Address,
    /// `(param0, param1)`
    Group,
}

/// One operand.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// How it is bracketed.
    pub kind: OperandKind,
    /// Where it stands.
    pub span: Span,
    /// Whether the atoms and what joins them are all there is: no operators, no brackets behind brackets.
    pub exact: bool,
    pub(crate) atoms: (u32, u32),
}

/// How an atom is joined to the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// It is the first one.
    First,
    /// By a comma.
    Comma,
    /// By `+` or `-`; see [`Atom::negative`].
    Plus,
    /// By `|`: the second result of one instruction.
    Pipe,
}

/// What an atom is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomKind {
    /// A declared register.
    Register {
        /// The declaration.
        register: RegId,
        /// Which of a range; 0 for a single one.
        index: u32,
        /// Which element of a vector register (`.x`).
        element: Option<u8>,
    },
    /// Any other name: a symbol, a label, a special register, `_`.
    Word,
    /// A number.
    Number,
    /// A string.
    Quoted,
}

/// A name or number in an operand.
#[derive(Clone, Copy, Debug)]
pub struct Atom {
    /// What it is.
    pub kind: AtomKind,
    /// Where it stands, without sign.
    pub span: Span,
    /// How it is joined to the one before.
    pub link: Link,
    /// A minus stands before it.
    pub negative: bool,
}

/// A `.reg` declaration of one name or one range of names.
#[derive(Clone, Copy, Debug)]
pub struct Register {
    /// The name, or what all names of the range begin with.
    pub name: Span,
    /// How many; `None` for a single name.
    pub count: Option<u32>,
    /// The type, without its dot.
    pub ty: Span,
    /// How many elements: 1, or those of `.v2`, `.v4`, `.v8`.
    pub elements: u8,
}

/// A label and the instruction behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Label {
    pub name: Span,
    pub scope: ScopeId,
    /// The first instruction behind it, which may be the one behind the function's last.
    pub inst: u32,
    /// Whether an instruction or a list of targets uses its name.
    pub named: bool,
}

/// `name: .branchtargets L1, L2;`
#[derive(Clone, Debug)]
pub(crate) struct TargetList {
    pub name: Span,
    pub scope: ScopeId,
    pub targets: Vec<Span>,
}

/// What a piece in front of an instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PieceKind {
    /// Comments and blanks.
    Text,
    /// A `.loc`.
    Loc,
    /// A label that no instruction names.
    Label,
}

/// Some text in front of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub kind: PieceKind,
    pub span: Span,
}

impl Module {
    /// The text it was parsed from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The text of a span.
    pub fn text(&self, span: Span) -> &str {
        &self.source[span.range()]
    }

    /// The architecture that `.target` names, without its options.
    pub fn target(&self) -> Option<&str> {
        self.header.target.map(|span| self.text(span))
    }

    /// Functions and declarations of functions, in the order of the text.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// How many blocks there are.
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// How many instructions there are.
    pub fn inst_count(&self) -> usize {
        self.insts.len()
    }

    /// All blocks in the order of the text.
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = BlockId> + use<> {
        (0..self.blocks.len() as u32).map(BlockId)
    }

    /// An instruction.
    pub fn inst(&self, inst: InstId) -> &Instruction {
        &self.insts[inst.index()]
    }

    /// The operands of an instruction.
    pub fn operands(&self, inst: InstId) -> &[Operand] {
        let (first, end) = self.inst(inst).operands;
        &self.operands[first as usize..end as usize]
    }

    /// The names and numbers of an operand.
    pub fn atoms(&self, operand: &Operand) -> &[Atom] {
        &self.atoms[operand.atoms.0 as usize..operand.atoms.1 as usize]
    }

    /// The guard of an instruction: the name behind the `@`.
    pub fn guard(&self, inst: InstId) -> Option<&Atom> {
        self.inst(inst).guard.map(|guard| &self.atoms[guard.atom as usize])
    }

    /// The labels in front of an instruction that no instruction names and that do not end its block: they keep their place when the
    /// block gets another order.
    pub fn free_labels(&self, inst: InstId) -> impl Iterator<Item = Span> {
        self.pieces(inst).iter().filter(|piece| piece.kind == PieceKind::Label).map(|piece| piece.span)
    }

    /// Every `.loc` in a body, from its name to its last token, in the order of the text.
    pub fn locs(&self) -> &[Span] {
        &self.locs
    }

    /// How many declarations of registers there are.
    pub fn register_count(&self) -> usize {
        self.registers.len()
    }

    /// The tokens of a part of the text that starts and ends with one: no blanks, no comments.
    pub fn tokens(&self, span: Span) -> impl Iterator<Item = Span> {
        crate::lexer::spans(&self.source[span.range()], span.start())
    }

    /// All of the text.
    pub fn span(&self) -> Span {
        Span::new(0, self.source.len())
    }

    pub(crate) fn pieces(&self, inst: InstId) -> &[Piece] {
        let (first, end) = self.inst(inst).pieces;
        &self.pieces[first as usize..end as usize]
    }

    /// A declaration of registers.
    pub fn register(&self, register: RegId) -> &Register {
        &self.registers[register.index()]
    }
}

impl Function {
    /// Kernel or device function.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The name.
    pub fn name(&self) -> Span {
        self.name
    }

    /// All of it, from linkage to the last brace or semicolon.
    pub fn span(&self) -> Span {
        self.span
    }

    /// `.visible`, `.extern`, `.weak`, `.common`.
    pub fn linkage(&self) -> &[Span] {
        &self.linkage
    }

    /// The returned values.
    pub fn returns(&self) -> &[Param] {
        &self.returns
    }

    /// The parameters.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// What stands between the parameters and the body: `.maxntid`, `.reqntid`, `.pragma` and the like.
    pub fn directives(&self) -> &[Directive] {
        &self.directives
    }

    /// Whether it has a body.
    pub fn has_body(&self) -> bool {
        self.body.is_some()
    }

    /// Its blocks in the order of the text; none of a declaration.
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = BlockId> + use<> {
        self.body.as_ref().map_or(0..0, |body| body.blocks.clone()).map(BlockId)
    }

    /// Its instructions in the order of the text; none of a declaration.
    pub fn insts(&self) -> impl ExactSizeIterator<Item = InstId> + DoubleEndedIterator + use<> {
        self.body.as_ref().map_or(0..0, |body| body.insts.clone()).map(InstId)
    }
}

impl Instruction {
    /// From its guard to its semicolon.
    pub fn span(&self) -> Span {
        self.span
    }

    /// The opcode with its modifiers.
    pub fn opcode(&self) -> Span {
        self.opcode
    }

    /// The `.loc` in force where it stands in the source, with the rest of its line.
    pub fn loc(&self) -> Option<Span> {
        self.loc
    }
}
