//! The words of the columns `with`, `operands` and `implicit`.

use sassafras_ir::Space;

/// A condition on an opcode's modifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    negated: bool,
    /// Any of these; the flag says that the name is only how it begins.
    any: Vec<(String, bool)>,
}

impl Condition {
    pub fn parse(text: &str) -> Option<Condition> {
        let (negated, rest) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let any: Vec<(String, bool)> = rest
            .split('|')
            .map(|name| match name.strip_suffix('*') {
                Some(start) => (start.to_owned(), true),
                None => (name.to_owned(), false),
            })
            .collect();
        any.iter().all(|(name, _)| !name.is_empty()).then_some(Condition { negated, any })
    }

    pub fn holds(&self, modifiers: &[&str]) -> bool {
        let fits =
            |modifier: &&str| {
                self.any.iter().any(|(name, prefix)| {
                    if *prefix { modifier.starts_with(name.as_str()) } else { modifier == name }
                })
            };
        modifiers.iter().any(fits) != self.negated
    }
}

/// What happens at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// It is read.
    Read,
    /// It is written.
    Write,
    /// It is read and written at once.
    Atomic,
    /// Only the address is used.
    None,
}

/// An access of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// What happens.
    pub kind: AccessKind,
    /// Type and vector modifiers say how many bytes.
    pub sized: bool,
    /// Where; `None` when the space modifier says.
    pub space: Option<Space>,
}

impl Access {
    fn parse(text: &str) -> Option<Access> {
        let (head, space) = match text.split_once(':') {
            Some((head, space)) => (head, Some(Space::parse(space)?)),
            None => (text, None),
        };
        let (letter, sized) = match head.strip_suffix('~') {
            Some(letter) => (letter, false),
            None => (head, true),
        };
        let kind = match letter {
            "r" => AccessKind::Read,
            "w" => AccessKind::Write,
            "a" => AccessKind::Atomic,
            "-" => AccessKind::None,
            _ => return None,
        };
        Some(Access { kind, sized, space })
    }
}

/// What an instruction does with an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Writes it.
    Write,
    /// Reads it.
    Read,
    /// Reads and writes it.
    Both,
    /// Goes there.
    Label,
    /// Uses it as an address.
    Address(Access),
}

/// A place for an operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Without brackets around an address.
    plain: Option<Role>,
    /// With.
    address: Option<Role>,
    /// May be missing.
    pub optional: bool,
    /// May stand several times, or not at all.
    pub repeats: bool,
}

impl Slot {
    /// What happens to an operand here, if one of that kind fits.
    pub fn role(&self, is_address: bool) -> Option<&Role> {
        if is_address { self.address.as_ref() } else { self.plain.as_ref() }
    }

    pub(crate) fn parse(text: &str) -> Option<Slot> {
        let (body, repeats) = match text.strip_suffix('*') {
            Some(body) => (body, true),
            None => (text, false),
        };
        let (body, optional) = match body.strip_suffix('?') {
            Some(body) => (body, true),
            None => (body, repeats),
        };
        let mut slot = Slot { plain: None, address: None, optional, repeats };
        for part in body.split('|') {
            let role = match part {
                ">" => Role::Write,
                "<" => Role::Read,
                "<>" => Role::Both,
                "L" => Role::Label,
                _ => Role::Address(Access::parse(part.strip_prefix('[')?.strip_suffix(']')?)?),
            };
            let side = if matches!(role, Role::Address(_)) { &mut slot.address } else { &mut slot.plain };
            if side.replace(role).is_some() {
                return None;
            }
        }
        Some(slot)
    }
}

/// What an instruction touches without naming it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Implicit {
    /// Reads the carry flag.
    ReadCarry,
    /// Writes the carry flag.
    WriteCarry,
    /// Accesses memory.
    Access(Access),
}

impl Implicit {
    pub(crate) fn parse(text: &str) -> Option<Implicit> {
        match text {
            "<CC" => Some(Implicit::ReadCarry),
            ">CC" => Some(Implicit::WriteCarry),
            _ => Some(Implicit::Access(Access::parse(text)?)),
        }
    }
}
