//! The small languages of the table cells.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::Arc;

use sassafras_ir::{AccessFlags, Effects, Space};
use sassafras_machine::Category;

use super::field::{Bits, Gathered};

/// Whether a slot reads, writes or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
    Both,
}

/// What a slot's bits name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotClass {
    Gpr,
    Uniform,
    Pred,
    UPred,
    /// A predicate whose field counts down from 7.
    PredDown,
    /// A uniform predicate whose field counts down from 7.
    UPredDown,
    Barrier,
    /// One bit per predicate.
    PredMask,
    /// One bit per uniform predicate.
    UPredMask,
    /// The predicates that a mask leaves out: who writes a part of them writes back what it read of the others.
    PredOthers,
    /// The uniform predicates that a mask leaves out.
    UPredOthers,
    /// Every predicate: a mask that is not in the word.
    AllPreds,
    /// Every uniform predicate.
    AllUPreds,
    /// A constant-bank source, whose bank may come from a uniform register pair.
    ConstBank,
}

/// The lanes and bytes of one value of a modifier field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub lanes: u8,
    pub bytes: Option<u32>,
}

/// A lane or byte count that a modifier field decides.
#[derive(Debug)]
pub(crate) struct Rule {
    pub field: Gathered,
    /// By the field's value; `None` where nothing is known of it.
    pub values: Box<[Option<Extent>]>,
}

impl Rule {
    #[inline]
    pub fn lanes(&self, word: u128) -> Option<u8> {
        self.values[self.field.get(word)].map(|extent| extent.lanes)
    }

    pub fn bytes(&self, word: u128) -> Option<u32> {
        self.values[self.field.get(word)].and_then(|extent| extent.bytes)
    }
}

pub(crate) type Rules = HashMap<String, Arc<Rule>>;

/// What a memory-order field says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Weak,
    /// The data does not change while the kernel runs.
    Constant,
    /// Keeps its place among all strong accesses.
    Strong,
    /// Nothing says whether it is strong: a store keeps its place among all accesses to its memory.
    Unmarked,
}

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Order, String> {
        match text {
            "weak" => Ok(Order::Weak),
            "constant" => Ok(Order::Constant),
            "strong" => Ok(Order::Strong),
            "unmarked" => Ok(Order::Unmarked),
            _ => Err(format!("`{text}` is no memory order")),
        }
    }
}

/// The memory orders of a field's values.
#[derive(Debug)]
pub(crate) struct OrderRule {
    pub field: Gathered,
    pub values: Box<[Option<Order>]>,
}

pub(crate) type Orders = HashMap<String, Arc<OrderRule>>;

/// How many lanes a slot has.
#[derive(Debug)]
pub(crate) enum Lanes {
    Fixed(u8),
    By(Arc<Rule>),
    /// Operands packed one behind the other; each rule counts some of them. Where there is none, compilers name the
    /// zero register, and any other register counts as read.
    Sum {
        fixed: u8,
        rules: Box<[Arc<Rule>]>,
        part: Part,
    },
}

/// The part of a packed list of operands that a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    All,
    /// The first half, the larger one when the number is odd.
    FirstHalf,
    SecondHalf,
}

impl Lanes {
    /// The number in `word`; `None` when a field has a value that is not listed.
    #[inline]
    pub fn get(&self, word: u128) -> Option<u8> {
        match self {
            Lanes::Fixed(n) => Some(*n),
            Lanes::By(rule) => rule.lanes(word),
            Lanes::Sum { fixed, rules, part } => {
                let total = rules.iter().try_fold(*fixed, |sum, rule| sum.checked_add(rule.lanes(word)?))?;
                let lanes = match part {
                    Part::All => total,
                    Part::FirstHalf => total.div_ceil(2),
                    Part::SecondHalf => total / 2,
                };
                Some(lanes.max(1))
            }
        }
    }
}

/// One register field of a row.
#[derive(Debug)]
pub(crate) struct Slot {
    pub direction: Direction,
    pub class: SlotClass,
    pub bits: Bits,
    pub lanes: Lanes,
    /// The memory access whose address it belongs to.
    pub address: Option<u8>,
    /// Which reuse flag of the control field is its own.
    pub reuse: Option<u8>,
}

/// What a memory instruction does with an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemKind {
    Load,
    Store,
    Atomic,
}

/// How many bytes an access has.
#[derive(Debug)]
pub(crate) enum Width {
    Unknown,
    Bytes(u32),
    By(Arc<Rule>),
}

/// One memory access of a row.
#[derive(Debug)]
pub(crate) struct MemSpec {
    pub kind: MemKind,
    pub space: Space,
    pub order: Option<Arc<OrderRule>>,
    pub width: Width,
    pub offset: Option<Bits>,
}

/// The control-flow role of a row. Relative targets come with the pieces of their offset, lowest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FlowKind {
    Branch(Box<[Bits]>),
    /// Taken or not, although no operand need say so.
    BranchIf(Box<[Bits]>),
    IndirectBranch,
    Call(Box<[Bits]>),
    AbsoluteCall,
    IndirectCall,
    Return,
    Exit,
    Reconverge(Box<[Bits]>),
    /// Goes on, and has to stand where it stands: its result is its own address.
    Here,
}

/// Field values that a word must have for a row to apply.
#[derive(Debug)]
pub(crate) struct Condition {
    bits: Bits,
    values: Box<[u64]>,
}

impl Condition {
    #[inline]
    pub fn holds(&self, word: u128) -> bool {
        self.values.contains(&self.bits.get(word))
    }
}

impl MemSpec {
    /// The flags of the access in `word`; a value that the order rule does not list counts as strong.
    pub fn flags(&self, word: u128) -> AccessFlags {
        if self.kind == MemKind::Atomic {
            return AccessFlags::ATOMIC;
        }
        let order = self
            .order
            .as_ref()
            .map_or(Order::Weak, |rule| rule.values[rule.field.get(word)].unwrap_or(Order::Strong));
        match (order, self.kind) {
            (Order::Weak, _) => AccessFlags::empty(),
            (Order::Constant, MemKind::Load) => AccessFlags::READ_ONLY,
            (Order::Unmarked, MemKind::Store) => AccessFlags::MAYBE_VOLATILE,
            (Order::Unmarked, _) => AccessFlags::empty(),
            _ => AccessFlags::VOLATILE,
        }
    }
}

/// One opcode in one form.
#[derive(Debug)]
pub(crate) struct Row {
    pub mnemonic: Box<str>,
    pub when: Box<[Condition]>,
    /// `None`: the guard field means something else.
    pub guard: Option<SlotClass>,
    pub slots: Box<[Slot]>,
    pub mem: Box<[MemSpec]>,
    pub flow: Option<FlowKind>,
    pub effects: Effects,
    pub category: Category,
}

impl Row {
    /// How many registers make up the address of an access.
    pub fn address_registers(&self, access: u8) -> usize {
        self.slots.iter().filter(|slot| slot.address == Some(access)).count()
    }
}

/// The sources of an arithmetic form: what `a`, `b`, `c` and `x` stand for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Form(pub HashMap<char, String>);

/// What the cells of a row are read with.
pub(crate) struct Context<'a> {
    pub rules: &'a Rules,
    pub orders: &'a Orders,
    pub form: Option<&'a Form>,
    pub uniform_bits: u8,
}

pub(crate) fn conditions(text: &str) -> Result<Box<[Condition]>, String> {
    text.split_whitespace()
        .map(|token| {
            let (bits, values) = token.split_once('=').ok_or_else(|| format!("`{token}` is no condition"))?;
            let values = values
                .split('|')
                .map(|v| v.parse().map_err(|_| format!("`{v}` is no number")))
                .collect::<Result<_, _>>()?;
            Ok(Condition { bits: bits.parse()?, values })
        })
        .collect()
}

/// The slots of a row; `None` when the family lacks a register file that the row cannot do without.
pub(crate) fn slots(text: &str, context: &Context<'_>) -> Result<Option<Box<[Slot]>>, String> {
    let mut out = Vec::new();
    for token in text.split_whitespace() {
        match slot(token, context)? {
            Parsed::Slot(slot) => out.push(slot),
            Parsed::Nothing => {}
            Parsed::NoSuchFile => return Ok(None),
        }
    }
    Ok(Some(out.into()))
}

enum Parsed {
    Slot(Slot),
    /// An immediate, or an optional register of a file that is not there.
    Nothing,
    NoSuchFile,
}

/// The reuse flag of each source of an arithmetic form.
const REUSE_FLAGS: [(char, u8); 4] = [('a', 0), ('b', 1), ('c', 2), ('x', 2)];

fn slot(token: &str, context: &Context<'_>) -> Result<Parsed, String> {
    let bad = |why: &str| format!("operand `{token}`: {why}");
    let (direction, rest) = if let Some(rest) = token.strip_prefix("<>") {
        (Direction::Both, rest)
    } else if let Some(rest) = token.strip_prefix('<') {
        (Direction::Read, rest)
    } else if let Some(rest) = token.strip_prefix('>') {
        (Direction::Write, rest)
    } else {
        return Err(bad("starts with neither `<` nor `>`"));
    };
    let (address, rest) = if let Some(rest) = rest.strip_prefix("@@") {
        (Some(1), rest)
    } else if let Some(rest) = rest.strip_prefix('@') {
        (Some(0), rest)
    } else {
        (None, rest)
    };
    let (mut place, lanes) = match rest.split_once(':') {
        Some((place, lanes)) => (place, lanes_of(lanes, context.rules).map_err(|e| bad(&e))?),
        None => (rest, Lanes::Fixed(1)),
    };
    let mut letters = place.chars();
    let mut reuse = None;
    if let (Some(letter @ 'a'..='z'), None) = (letters.next(), letters.next()) {
        reuse = REUSE_FLAGS.iter().find(|(source, _)| *source == letter).map(|&(_, flag)| flag);
        let form = context.form.ok_or_else(|| bad("the row has no form"))?;
        place = form.0.get(&letter).ok_or_else(|| bad("no such source"))?;
        if place == "-" {
            return Ok(Parsed::Nothing);
        }
    }
    let digits = place.find(|c: char| c.is_ascii_digit());
    let (class, bit) = place.split_at(digits.ok_or_else(|| bad("no bit number"))?);
    let (bit, narrow) = match bit.split_once('/') {
        Some((bit, len)) => (bit, Some(len.parse().map_err(|_| bad("no field width"))?)),
        None => (bit, None),
    };
    let (class, len) = match class {
        "R" => (SlotClass::Gpr, 8),
        "UR" => (SlotClass::Uniform, context.uniform_bits),
        "P" => (SlotClass::Pred, 3),
        "UP" => (SlotClass::UPred, 3),
        "PC" => (SlotClass::PredDown, 3),
        "UPC" => (SlotClass::UPredDown, 3),
        "B" => (SlotClass::Barrier, 4),
        "PM" => (SlotClass::PredMask, 7),
        "UPM" => (SlotClass::UPredMask, 7),
        "PN" => (SlotClass::PredOthers, 7),
        "UPN" => (SlotClass::UPredOthers, 7),
        "PA" => (SlotClass::AllPreds, 7),
        "UPA" => (SlotClass::AllUPreds, 7),
        "K" => (SlotClass::ConstBank, context.uniform_bits),
        _ => return Err(bad("no such register class")),
    };
    if len == 0 {
        let optional = class == SlotClass::ConstBank || !matches!(lanes, Lanes::Fixed(_));
        return Ok(if optional { Parsed::Nothing } else { Parsed::NoSuchFile });
    }
    let bit = bit.parse().map_err(|_| bad("no bit number"))?;
    let bits = Bits::new(bit, narrow.unwrap_or(len)).ok_or_else(|| bad("outside the word"))?;
    Ok(Parsed::Slot(Slot {
        direction,
        class,
        bits,
        lanes: if class == SlotClass::ConstBank { Lanes::Fixed(2) } else { lanes },
        address,
        reuse,
    }))
}

fn lanes_of(text: &str, rules: &Rules) -> Result<Lanes, String> {
    if let Ok(n) = text.parse::<u8>() {
        return if n == 0 { Err("zero lanes".into()) } else { Ok(Lanes::Fixed(n)) };
    }
    let rule = |name: &str| rules.get(name).cloned().ok_or_else(|| format!("no lane rule `{name}`"));
    let (terms, part) = match text.split_once('|') {
        None => (text, Part::All),
        Some((terms, "hi")) => (terms, Part::FirstHalf),
        Some((terms, "lo")) => (terms, Part::SecondHalf),
        Some((_, other)) => return Err(format!("`{other}` is neither `hi` nor `lo`")),
    };
    if part == Part::All && !terms.contains('+') {
        return rule(terms).map(Lanes::By);
    }
    let (mut fixed, mut rules) = (0u8, Vec::new());
    for term in terms.split('+') {
        match term.parse::<u8>() {
            Ok(n) => fixed = fixed.checked_add(n).ok_or("too many lanes")?,
            Err(_) => rules.push(rule(term)?),
        }
    }
    Ok(Lanes::Sum { fixed, rules: rules.into(), part })
}

/// `load global ldst 40..64 order80`: kind, space, bytes (number, rule or `?`), offset field (or `-`), then the rule of
/// the memory-order field where there is one; several accesses are separated by `;`.
pub(crate) fn memory(text: &str, context: &Context<'_>) -> Result<Box<[MemSpec]>, String> {
    text.split(';')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| {
            let words: Vec<&str> = part.split_whitespace().collect();
            let (kind, space, width, offset, order) = match words.as_slice() {
                [kind, space, width, offset] => (kind, space, width, offset, None),
                [kind, space, width, offset, order] => (kind, space, width, offset, Some(order)),
                _ => return Err(format!("`{part}`: kind, space, bytes and offset expected")),
            };
            let kind = match *kind {
                "load" => MemKind::Load,
                "store" => MemKind::Store,
                "atomic" => MemKind::Atomic,
                other => return Err(format!("`{other}` is no kind of access")),
            };
            let space = Space::parse(space).ok_or_else(|| format!("no space `{space}`"))?;
            let width = if *width == "?" {
                Width::Unknown
            } else if let Ok(bytes) = width.parse() {
                Width::Bytes(bytes)
            } else {
                let rule = context.rules.get(*width);
                Width::By(rule.cloned().ok_or_else(|| format!("no lane rule `{width}`"))?)
            };
            let offset = match *offset {
                "-" if matches!(width, Width::Unknown) => None,
                "-" => return Err(format!("`{part}`: a width without an offset")),
                field => Some(field.parse()?),
            };
            let order = order
                .map(|name| {
                    let rule = context.orders.get(*name).cloned();
                    rule.ok_or_else(|| format!("no order rule `{name}`"))
                })
                .transpose()?;
            Ok(MemSpec { kind, space, order, width, offset })
        })
        .collect()
}

/// `exit`, or `branch 16..24+34..82` where the target is relative. Threads that `reconverge` nowhere else meet behind the instruction.
/// What says where it stands stays `here`.
pub(crate) fn flow(text: &str) -> Result<Option<FlowKind>, String> {
    let (kind, fields) = text.split_once(' ').unwrap_or((text, ""));
    let pieces = || -> Result<Box<[Bits]>, String> {
        let pieces: Box<[Bits]> = fields.split('+').map(str::parse).collect::<Result<_, _>>()?;
        match pieces.iter().map(|bits| u32::from(bits.len())).sum::<u32>() {
            0..=60 => Ok(pieces),
            n => Err(format!("`{text}`: an offset of {n} bits")),
        }
    };
    Ok(Some(match kind {
        "branch" => FlowKind::Branch(pieces()?),
        "branch_if" => FlowKind::BranchIf(pieces()?),
        "call" => FlowKind::Call(pieces()?),
        "reconverge" if fields.is_empty() => FlowKind::Reconverge(Box::default()),
        "reconverge" => FlowKind::Reconverge(pieces()?),
        _ if !fields.is_empty() => return Err(format!("`{text}`: no relative target expected")),
        "" => return Ok(None),
        "indirect_branch" => FlowKind::IndirectBranch,
        "absolute_call" => FlowKind::AbsoluteCall,
        "indirect_call" => FlowKind::IndirectCall,
        "return" => FlowKind::Return,
        "exit" => FlowKind::Exit,
        "here" => FlowKind::Here,
        other => return Err(format!("`{other}` is no control-flow role")),
    }))
}

pub(crate) fn effects(text: &str) -> Result<Effects, String> {
    text.split_whitespace().try_fold(Effects::empty(), |effects, name| {
        Effects::NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, effect)| effects | *effect)
            .ok_or_else(|| format!("no effect `{name}`"))
    })
}

pub(crate) fn guard(text: &str) -> Result<Option<SlotClass>, String> {
    match text {
        "" | "P" => Ok(Some(SlotClass::Pred)),
        "UP" => Ok(Some(SlotClass::UPred)),
        "-" => Ok(None),
        other => Err(format!("`{other}` is no guard class")),
    }
}
