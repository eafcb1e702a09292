//! Goal: what a routine looks like after a pass, for whoever wants to see it ([`Watch`]).

use super::settle::{Proposal, put};
use crate::listing::{Line, Listing};
use sassafras_ir::function::Payload;
use sassafras_machine::Arch;
use sassafras_passes::{Pass, Watch};
use sassafras_sass::program::Routine;
use sassafras_sass::rename::Renamer;
use sassafras_tepid as tepid;
use std::cell::RefCell;

/// Texts of one section after the passes that are watched.
pub struct Watched {
    watch: Watch,
    arch: Arch,
    dumps: RefCell<String>,
}

impl Watched {
    /// Nothing yet.
    pub fn new(watch: Watch, arch: Arch) -> Watched {
        Watched { watch, arch, dumps: RefCell::default() }
    }

    /// Whether nothing runs after a pass.
    pub fn stops(&self, pass: Pass) -> bool {
        self.watch.stops(pass)
    }

    /// A routine as it stands.
    pub fn see(&self, pass: Pass, routine: &Routine) {
        let text = || listing(self.arch, routine);
        *self.dumps.borrow_mut() += &self.watch.dump(pass, &routine.name, text);
    }

    /// A routine with new control fields, by instruction; without any, with the original ones.
    pub fn see_fields(&self, pass: Pass, routine: &Routine, fields: &[tepid::Fields]) {
        if !self.watch.prints(pass) {
            return;
        }
        let mut routine = clone(routine);
        let f = &mut routine.lifted.function;
        for inst in f.blocks().flat_map(|block| f.block_insts(block).to_vec()).collect::<Vec<_>>() {
            if let (Payload::Word(word), Some(fields)) =
                (f.inst(inst).payload, fields.get(inst.as_u32() as usize))
            {
                f.set_payload(inst, Payload::Word(fields.insert(word)));
            }
        }
        self.see(pass, &routine);
    }

    /// A routine with the orders that are proposed for it.
    pub fn see_proposals(&self, pass: Pass, routine: &Routine, proposals: &[Proposal]) {
        if !self.watch.prints(pass) {
            return;
        }
        let mut routine = clone(routine);
        // Registers that do not fit are told of by the passes that come.
        let _ = put(&mut routine.lifted, proposals, &Renamer::new(self.arch));
        self.see(pass, &routine);
    }

    /// All that was seen.
    pub fn into_text(self) -> String {
        self.dumps.into_inner()
    }
}

fn clone(routine: &Routine) -> Routine {
    Routine {
        name: routine.name.clone(),
        section: routine.section,
        range: routine.range.clone(),
        entry: routine.entry,
        lifted: routine.lifted.clone(),
    }
}

/// The instructions of a routine, each with its address in the original and its control field. A block is named by where it was.
fn listing(arch: Arch, routine: &Routine) -> String {
    let lines = Listing::new(arch, routine);
    let mut out = String::new();
    for block in routine.lifted.function.blocks() {
        let insts = routine.lifted.function.block_insts(block);
        if let Some(first) = insts.iter().map(|&inst| routine.offset(inst)).min() {
            out += &format!(".L_{first:x}:\n");
        }
        for Line { offset, control, text, .. } in lines.block(block) {
            let control = control.map_or(String::new(), |raw| raw.to_string());
            out += &format!("  /*{offset:04x}*/  {control:<24}{text}\n");
        }
    }
    out
}
