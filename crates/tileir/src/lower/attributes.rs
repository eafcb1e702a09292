//! What a text says about schedules: attributes in braces, or optimization hints.

use crate::cuda::{Argument, Attribute, Operation};
use crate::program::Attributes;

/// The attributes of an operation for an architecture.
pub(super) fn of(op: &Operation, arch: u32) -> Attributes {
    let number = |name| hint(op, arch, name).and_then(|n| u32::try_from(n).ok());
    Attributes {
        stage: number("nv_tile.aws.stage"),
        order: number("nv_tile.aws.order"),
        gid: number("tileas.schedule.constraint.gid"),
        leader_gid: number("tileas.schedule.constraint.leader_gid"),
        max_depth: number("tileas.schedule.constraint.max_depth"),
        serial: hint(op, arch, "tileas.schedule.constraint.force_serial_execution").is_some_and(|n| n != 0),
    }
}

/// A number that a text gives under a name: in braces, or among the hints for the architecture or for all. A word alone is 1, as is `true`.
pub(super) fn hint(op: &Operation, arch: u32, name: &str) -> Option<u64> {
    let mut pending: Vec<&Argument> = op.arguments().iter().rev().collect();
    while let Some(argument) = pending.pop() {
        let key = argument.key.as_ref().map(|key| key.name.as_str());
        match &argument.value {
            value if key == Some(name) => return number(value),
            Attribute::Word(word) if key.is_none() && word == name => return Some(1),
            Attribute::Group(_, inside) if key.is_none_or(|key| counts(key, arch)) => {
                pending.extend(inside.iter().rev());
            }
            _ => {}
        }
    }
    None
}

/// Whether what is under this key is for the architecture: `default`, `sm_90`, and whatever names none.
fn counts(key: &str, arch: u32) -> bool {
    match key.strip_prefix("sm_") {
        Some(digits) => digits.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse() == Ok(arch),
        None => true,
    }
}

fn number(value: &Attribute) -> Option<u64> {
    match value {
        Attribute::Number(digits) => digits.parse().ok(),
        Attribute::Typed(inner, _) => number(inner),
        Attribute::Word(word) => match word.as_str() {
            "true" | "unit" => Some(1),
            "false" => Some(0),
            _ => None,
        },
        _ => None,
    }
}
