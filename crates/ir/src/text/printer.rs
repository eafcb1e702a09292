//! The canonical spelling of a module.

use super::annotations::{Annotations, Declared, Slots};
use crate::function::{Effects, Function, Inst, Module, Payload};
use crate::operand::{AccessFlags, MemAccess, Operand};
use sassafras_control::volta;
use std::fmt::{self, Write};

/// Prints a module in the form that [`super::parse`] reads. Deterministic: equal modules print equal texts.
pub fn print(module: &Module) -> String {
    let mut out = String::new();
    for (i, f) in module.functions.iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        print_function(f, &Annotations::default(), &mut out).expect("writing to a string");
    }
    out
}

/// Prints a function with what is known of its machine code, in the form that [`super::parse_annotated`] reads.
pub fn print_annotated(f: &Function, annotations: &Annotations) -> String {
    let mut out = String::new();
    print_function(f, annotations, &mut out).expect("writing to a string");
    out
}

/// Prints one instruction, without indentation or newline.
pub fn print_inst(f: &Function, inst: Inst) -> String {
    let mut out = String::new();
    write_inst(f, inst, Slots::default(), &mut out).expect("writing to a string");
    out
}

/// As [`print_inst`], without control fields and what a front-end keeps.
pub fn print_bare(f: &Function, inst: Inst) -> String {
    let mut out = String::new();
    write_bare(f, inst, &mut out).expect("writing to a string");
    out
}

fn print_function(f: &Function, annotations: &Annotations, out: &mut String) -> fmt::Result {
    write!(out, "func {} {}", Word(&f.name), Word(&f.arch))?;
    if !f.inputs.is_empty() {
        out.push_str(" (");
        separated(out, &f.inputs, |out, span| write!(out, "{span}"))?;
        out.push(')');
    }
    write_declared(annotations.declared, out)?;
    out.push_str(" {\n");
    for block in f.blocks() {
        writeln!(out, "^{}:", Tail(f.block_name(block)))?;
        for &inst in f.block_insts(block) {
            out.push_str("  ");
            let slots = annotations.slots.get(inst.as_u32() as usize).copied().unwrap_or_default();
            write_inst(f, inst, slots, out)?;
            out.push('\n');
        }
    }
    out.push_str("}\n");
    Ok(())
}

fn write_declared(declared: Declared, out: &mut String) -> fmt::Result {
    let Declared { entry, registers, threads, shared } = declared;
    let numbers = [
        registers.map(|count| format!("registers {count}")),
        threads.map(|count| format!("threads {count}")),
        (shared > 0).then(|| format!("shared {shared}")),
    ];
    let parts: Vec<String> =
        entry.then(|| "entry".to_owned()).into_iter().chain(numbers.into_iter().flatten()).collect();
    match parts.is_empty() {
        true => Ok(()),
        false => write!(out, " launch({})", parts.join(", ")),
    }
}

/// The control fields and the other bits of a word are written apart.
fn write_inst(f: &Function, inst: Inst, slots: Slots, out: &mut String) -> fmt::Result {
    let payload = f.inst(inst).payload;
    let control = match payload {
        Payload::Word(word) if word & volta::MASK != 0 => Some(volta::read(word)),
        _ => None,
    };
    if let Some(control) = control {
        write!(out, "[{control}] ")?;
    }
    write_bare(f, inst, out)?;
    if let Some(last) = slots.iter().rposition(Option::is_some) {
        out.push_str(" slots(");
        separated(out, &slots[..=last], |out, slot| match slot {
            Some(span) => write!(out, "{span}"),
            None => out.write_char('-'),
        })?;
        out.push(')');
    }
    match payload {
        Payload::None => Ok(()),
        Payload::Word(word) if control.is_some() && word & !volta::MASK == 0 => Ok(()),
        Payload::Word(word) => write!(out, " raw({:#x})", word & !volta::MASK),
        Payload::Text(name) => write!(out, " text({})", Quoted(f.text(name))),
    }
}

fn write_bare(f: &Function, inst: Inst, out: &mut String) -> fmt::Result {
    let data = f.inst(inst);
    if let Some(guard) = data.guard {
        write!(out, "@{}{} ", if guard.negated { "!" } else { "" }, guard.lane)?;
    }
    if !f.defs(inst).is_empty() {
        separated(out, f.defs(inst), |out, op| write_operand(f, *op, out))?;
        out.push_str(" = ");
    }
    write!(out, "{}", Word(f.opcode_text(data.opcode)))?;
    if !f.uses(inst).is_empty() {
        out.push(' ');
        separated(out, f.uses(inst), |out, op| write_operand(f, *op, out))?;
    }
    for (name, effect) in Effects::NAMES {
        if data.effects.contains(effect) {
            write!(out, " !{name}")?;
        }
    }
    Ok(())
}

fn write_operand(f: &Function, operand: Operand, out: &mut String) -> fmt::Result {
    match operand {
        Operand::Reg(span) => write!(out, "{span}"),
        Operand::Tied { span, def } => write!(out, "tied({def}) {span}"),
        Operand::Imm(value) => write!(out, "{value}"),
        Operand::Constant(class) => out.write_str(class.constant_name().unwrap_or("RZ")),
        Operand::Bank { bank, offset } => write!(out, "c[{bank}][{offset}]"),
        Operand::Label(block) => write!(out, "^{}", Tail(f.block_name(block))),
        Operand::Symbol(name) => write!(out, "${}", Tail(f.text(name))),
        Operand::Mem(mem) => write_access(f.mem(mem), out),
    }
}

pub(super) const FLAG_NAMES: [(&str, AccessFlags); 4] = [
    ("volatile", AccessFlags::VOLATILE),
    ("maybe_volatile", AccessFlags::MAYBE_VOLATILE),
    ("atomic", AccessFlags::ATOMIC),
    ("read_only", AccessFlags::READ_ONLY),
];

fn write_access(access: &MemAccess, out: &mut String) -> fmt::Result {
    out.push_str(access.space.name());
    if let Some(width) = access.width {
        write!(out, ".{width}")?;
    }
    for (name, flag) in FLAG_NAMES {
        if access.flags.contains(flag) {
            write!(out, ".{name}")?;
        }
    }
    out.push('[');
    // A lone index register is written behind a zero base, or it would be read back as the base.
    let mut first = true;
    if access.base.is_none() && access.index.is_some() {
        out.push('0');
        first = false;
    }
    for span in access.address() {
        write!(out, "{}{span}", if first { "" } else { "+" })?;
        first = false;
    }
    if first {
        write!(out, "{}", access.offset)?;
    } else if access.offset != 0 {
        write!(out, "{:+}", access.offset)?;
    }
    out.push(']');
    Ok(())
}

fn separated<T>(
    out: &mut String,
    items: &[T],
    mut write_one: impl FnMut(&mut String, &T) -> fmt::Result,
) -> fmt::Result {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        write_one(out, item)?;
    }
    Ok(())
}

/// A name where a word may stand: quoted unless it lexes as one.
struct Word<'a>(&'a str);

impl fmt::Display for Word<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut chars = self.0.chars();
        let plain = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        if plain { f.write_str(self.0) } else { Quoted(self.0).fmt(f) }
    }
}

/// A name behind `^` or `$`.
struct Tail<'a>(&'a str);

impl fmt::Display for Tail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain =
            !self.0.is_empty() && self.0.chars().all(|c| c.is_ascii_alphanumeric() || "_.$".contains(c));
        if plain { f.write_str(self.0) } else { Quoted(self.0).fmt(f) }
    }
}

struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                '\n' => f.write_str("\\n")?,
                '\t' => f.write_str("\\t")?,
                '\r' => f.write_str("\\r")?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}
