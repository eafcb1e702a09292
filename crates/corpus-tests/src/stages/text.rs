//! The text of an instruction, taken apart: name, modifiers, operands.

use sassafras_ir::{Function, Inst, Lane, Payload, RegClass};
use sassafras_sass::print::Printer;

/// What stands before a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Plain,
    Minus,
    Not,
}

/// An operand. A register or predicate without a lane is the constant one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Arg {
    Register {
        lane: Option<Lane>,
        sign: Sign,
    },
    Predicate {
        lane: Option<Lane>,
        negated: bool,
    },
    Number(u32),
    /// Registers that are added up, and a number.
    Address {
        registers: Vec<Option<Lane>>,
        offset: u32,
    },
    /// A special register.
    Special(String),
    /// A constant bank: bank and offset.
    Constant(u32, u32),
    /// Something that is not looked at.
    Other,
}

/// An instruction without its guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Name and modifiers: `IMAD`, `WIDE`, `U32`.
    pub words: Vec<String>,
    pub args: Vec<Arg>,
    /// Whether the text tells everything that the instruction does.
    pub complete: bool,
    /// Whether its guard is the constant false.
    pub never: bool,
}

impl Step {
    pub(super) fn name(&self) -> &str {
        &self.words[0]
    }

    pub(super) fn has(&self, modifier: &str) -> bool {
        self.words[1..].iter().any(|word| word == modifier)
    }

    /// Reads `@!P0 NAME.MODIFIER A, B`; what stands behind a `;` or `(*` is left out.
    pub(super) fn parse(text: &str, complete: bool) -> Step {
        let text = text.split(';').next().unwrap_or_default();
        let text = text.split("(*").next().unwrap_or_default().trim();
        let never = ["@!PT ", "@!UPT "].iter().any(|guard| text.starts_with(guard));
        let text = match text.strip_prefix('@') {
            Some(guarded) => guarded.split_once(' ').map_or("", |(_, rest)| rest).trim(),
            None => text,
        };
        let (name, args) = text.split_once(' ').unwrap_or((text, ""));
        Step {
            words: name.split('.').map(str::to_owned).collect(),
            args: split(args).map(argument).collect(),
            complete,
            never,
        }
    }
}

/// The steps of a function, by instruction. A function of words is printed, one that keeps its text is read.
pub(super) fn steps(function: &Function, printer: Option<Printer<'_>>) -> Vec<Option<Step>> {
    let step = |inst: Inst| match function.inst(inst).payload {
        Payload::Word(word) => {
            let printed = printer?.print(word, u64::from(inst.as_u32()) * 16);
            Some(Step::parse(&printed.text, printed.coverage.is_complete()))
        }
        Payload::Text(name) => Some(Step::parse(function.text(name), true)),
        Payload::None => None,
    };
    (0..function.inst_count() as u32).map(|number| step(Inst::from_u32(number))).collect()
}

/// Operands, by the commas outside brackets.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0i32;
    text.split(move |letter| {
        match letter {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            _ => {}
        }
        letter == ',' && depth == 0
    })
    .map(str::trim)
    .filter(|part| !part.is_empty())
}

fn argument(text: &str) -> Arg {
    if let Some(inside) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        return address(inside).unwrap_or(Arg::Other);
    }
    if let Some(rest) = text.strip_prefix("c[") {
        let mut parts = rest.trim_end_matches(']').split("][").map(number);
        return match (parts.next().flatten(), parts.next().flatten(), parts.next()) {
            (Some(bank), Some(offset), None) => Arg::Constant(bank, offset),
            _ => Arg::Other,
        };
    }
    if text.starts_with("SR") {
        return Arg::Special(text.to_owned());
    }
    if let Some(number) = number(text) {
        return Arg::Number(number);
    }
    let (sign, rest) = match text.split_at_checked(1) {
        Some(("-", rest)) => (Sign::Minus, rest),
        Some(("~", rest)) => (Sign::Not, rest),
        Some(("!", rest)) => {
            return match register(rest) {
                Some((class, lane)) if class.can_guard() => Arg::Predicate { lane, negated: true },
                _ => Arg::Other,
            };
        }
        _ => (Sign::Plain, text),
    };
    match register(rest.trim_end_matches(".reuse")) {
        Some((class, lane)) if class.can_guard() => Arg::Predicate { lane, negated: false },
        Some((_, lane)) => Arg::Register { lane, sign },
        None => Arg::Other,
    }
}

/// The sum inside brackets. A register that is scaled or extended is not understood.
fn address(text: &str) -> Option<Arg> {
    let mut registers = Vec::new();
    let mut offset = 0u32;
    for part in text.split('+') {
        match number(part) {
            Some(number) => offset = offset.wrapping_add(number),
            None => registers.push(register(part.trim_end_matches(".64"))?.1),
        }
    }
    Some(Arg::Address { registers, offset })
}

fn number(text: &str) -> Option<u32> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let value = u32::from_str_radix(digits.strip_prefix("0x")?, 16).ok()?;
    Some(if negative { value.wrapping_neg() } else { value })
}

/// A register by its name; no lane for those that are constant.
fn register(name: &str) -> Option<(RegClass, Option<Lane>)> {
    let classes = [RegClass::UPred, RegClass::Uniform, RegClass::Pred, RegClass::Gpr];
    if let Some(class) = classes.into_iter().find(|class| class.constant_name() == Some(name)) {
        return Some((class, None));
    }
    classes.into_iter().find_map(|class| {
        let index = name.strip_prefix(class.prefix())?.parse().ok()?;
        Some((class, Some(Lane::physical(class, index)?)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_told_apart() {
        let step = Step::parse("@!P0 UIADD3 UR6, UP0, -UR6, 0x100000, URZ ;", true);
        assert_eq!((step.name(), step.args.len()), ("UIADD3", 5));
        let lane = |class, index| Lane::physical(class, index);
        assert_eq!(step.args[1], Arg::Predicate { lane: lane(RegClass::UPred, 0), negated: false });
        assert_eq!(step.args[2], Arg::Register { lane: lane(RegClass::Uniform, 6), sign: Sign::Minus });
        assert_eq!(step.args[3], Arg::Number(0x100000));
        assert_eq!(step.args[4], Arg::Register { lane: None, sign: Sign::Plain });
        let wait = Step::parse("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R3+URZ+0x30000], R2.reuse", true);
        assert!(wait.has("PHASECHK") && wait.has("TRYWAIT"));
        let registers = vec![lane(RegClass::Gpr, 3), None];
        assert_eq!(wait.args[1], Arg::Address { registers, offset: 0x30000 });
        assert_eq!(wait.args[2], Arg::Register { lane: lane(RegClass::Gpr, 2), sign: Sign::Plain });
        let load = Step::parse("LDC R1, c[0x0][0x28]", true);
        assert_eq!(load.args[1], Arg::Constant(0, 0x28));
        assert_eq!(Step::parse("LDGSTS.E.128 [R19+0x800], [R4.64], P1", true).args.len(), 3);
        assert_eq!(Step::parse("X [R4.X4+0x8]", true).args, [Arg::Other]);
        assert_eq!(Step::parse("NOP", true).args, []);
    }
}
