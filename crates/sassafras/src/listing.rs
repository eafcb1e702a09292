//! Instructions of a routine as text, with their addresses in the section.

use sassafras_control::{RawControl, volta};
use sassafras_ir::text::print_bare;
use sassafras_ir::{Block, Effects, Inst, Payload};
use sassafras_machine::Arch;
use sassafras_sass::maxwell::{self, GroupError};
use sassafras_sass::print::Printer;
use sassafras_sass::program::Routine;
use std::collections::BTreeSet;

/// One instruction.
pub struct Line {
    /// Byte offset in the section.
    pub offset: u64,
    /// The block that starts here.
    pub label: Option<String>,
    /// The control field.
    pub control: Option<RawControl>,
    /// The instruction.
    pub text: String,
    /// Whether it is not (fully) known.
    pub opaque: bool,
}

/// Prints the instructions of one routine.
pub struct Listing<'a> {
    routine: &'a Routine,
    printer: Printer<'static>,
}

impl<'a> Listing<'a> {
    /// For a routine of code for `arch`.
    pub fn new(arch: Arch, routine: &'a Routine) -> Listing<'a> {
        Listing { routine, printer: Printer::new(arch) }
    }

    /// Every instruction in order.
    pub fn lines(&self) -> impl Iterator<Item = Line> {
        self.routine.lifted.function.blocks().flat_map(|block| self.block(block))
    }

    /// The instructions of one block.
    pub fn block(&self, block: Block) -> impl Iterator<Item = Line> {
        let f = &self.routine.lifted.function;
        f.block_insts(block).iter().enumerate().map(move |(place, &inst)| Line {
            offset: self.routine.offset(inst),
            label: (place == 0).then(|| self.label(block)),
            control: self.control(inst),
            text: self.text(inst),
            opaque: f.inst(inst).effects.contains(Effects::OPAQUE),
        })
    }

    /// Address and instruction.
    pub fn line(&self, inst: Inst) -> String {
        format!("/*{:04x}*/ {}", self.routine.offset(inst), self.text(inst))
    }

    /// The instruction alone.
    pub fn text(&self, inst: Inst) -> String {
        let f = &self.routine.lifted.function;
        match f.inst(inst).payload {
            // Text may leave out all of the word but the control fields.
            Payload::Word(word) if word & !volta::MASK == 0 => print_bare(f, inst),
            Payload::Word(word) => self.printer.print(word, self.routine.offset(inst)).text,
            _ => String::new(),
        }
    }

    /// The control field; none for an instruction without a word.
    pub fn control(&self, inst: Inst) -> Option<RawControl> {
        match self.routine.lifted.function.inst(inst).payload {
            Payload::Word(word) => Some(volta::read(word)),
            _ => None,
        }
    }

    /// The name of a block: where it starts in the section.
    pub fn label(&self, block: Block) -> String {
        let f = &self.routine.lifted.function;
        match f.block_insts(block).first() {
            Some(&first) => format!(".L_{:x}", self.routine.offset(first)),
            None => f.block_name(block).to_owned(),
        }
    }
}

/// The instructions of a section of sm_50 to sm_62, where three instructions share a control word.
pub fn grouped(arch: Arch, bytes: &[u8]) -> Result<Vec<Line>, GroupError> {
    let lines = maxwell::groups(bytes)?.map(|found| {
        let decoded = maxwell::decode(found.word, arch, found.address);
        let target = match decoded.flow() {
            maxwell::Flow::Branch { target } => Some(target),
            _ => None,
        };
        let text = decoded.display(Some(found.control)).to_string();
        let text = text.trim_end_matches([' ', ';']).to_owned();
        let opaque = decoded.is_opaque();
        (target, Line { offset: found.address, label: None, control: Some(found.control), text, opaque })
    });
    let (targets, mut lines): (Vec<Option<u64>>, Vec<Line>) = lines.unzip();
    let targets: BTreeSet<u64> = targets.into_iter().flatten().collect();
    for line in &mut lines {
        line.label = targets.contains(&line.offset).then(|| format!(".L_{:x}", line.offset));
    }
    Ok(lines)
}
