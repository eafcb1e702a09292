//! Does every source that stays at hand still hold what the register does?
//!
//! A flagged source stays in its place (one of three, and even and odd registers apart) until the next instruction reads that place from the
//! same bank; then it is that one's operand. It must not have been written in between, nor by the flagged instruction itself. (That it was there
//! for all threads when it was kept, whatever the guards, the walk asks of every flagged source.) Nothing stays at hand where the warp yields.
//!
//! Source: compiled code, which never does it; what a device does then is not known for every case (an H200 took the new value where the flagged
//! instruction overwrites its own source).

use super::Finding;
use super::fields::Fields;
use super::rules::Rules;
use super::walk::HazardKind;
use sassafras_ir::{Function, Inst, RegClass, Role};

/// A source that was kept.
#[derive(Clone, Copy)]
struct Kept {
    register: u8,
    by: Inst,
    written: bool,
}

/// Sources that stay at hand although their register was written since, inside blocks.
pub(super) fn check(f: &Function, rules: &Rules) -> Vec<Finding> {
    let opcodes = rules.opcodes(f);
    let mut findings = Vec::new();
    for block in f.blocks() {
        let mut places: [[Option<Kept>; 2]; 3] = Default::default();
        for &inst in f.block_insts(block) {
            let control = Fields::of(f, inst);
            // What takes its time reads its sources elsewhere, and its flags mean something else.
            if !opcodes[f.inst(inst).opcode.as_u32() as usize].facts.decoupled {
                for (place, banks) in places.iter_mut().enumerate() {
                    let Some(register) = source(f, inst, &control, place) else { continue };
                    let kept = &mut banks[usize::from(register % 2)];
                    if let Some(Kept { by, .. }) =
                        kept.filter(|kept| kept.register == register && kept.written)
                    {
                        findings.push(Finding {
                            kind: HazardKind::Reuse,
                            lane: None,
                            producer: by,
                            consumer: inst,
                            needed: None,
                            given: 0,
                        });
                    }
                    let flagged = control.reuse >> place & 1 == 1;
                    *kept = flagged.then_some(Kept { register, by: inst, written: false });
                }
            }
            f.for_each_write(inst, |write| {
                let written = |kept: &&mut Kept| {
                    write.lane.class() == RegClass::Gpr && u32::from(kept.register) == write.lane.index()
                };
                let kept = places.iter_mut().flatten().flatten();
                kept.filter(written).for_each(|kept| kept.written = true);
            });
            if control.yields || control.stall == 0 || control.stall > LONGEST {
                places = Default::default();
            }
        }
    }
    findings
}

/// Flags mean nothing with a longer stall.
const LONGEST: u8 = 11;

/// The general register that an instruction reads from a place, by its word: there it must be an operand, too.
fn source(f: &Function, inst: Inst, control: &Fields, place: usize) -> Option<u8> {
    let register = control.sources?[place];
    let mut reads = false;
    f.for_each_read(inst, |read| {
        let is_operand = matches!(read.role, Role::Operand(_));
        reads |= is_operand && read.lane.class() == RegClass::Gpr && read.lane.index() == u32::from(register);
    });
    reads.then_some(register)
}
