//! Does every source that stays at hand still hold what the register does?
//!
//! A flagged source stays in its place (one of three, and even and odd registers apart) until the next instruction reads that place from the
//! same bank; then it is that one's operand. It must not have been written in between, nor by the flagged instruction itself. (That it was there
//! for all threads when it was kept, whatever the guards, the walk asks of every flagged source.) Nothing stays at hand where the warp yields, as it does with every
//! stall above 11.
//!
//! Source: compiled code, which never does it; what a device does then is not known for every case (an H200 took the new value where the flagged
//! instruction overwrites its own source).

use super::Finding;
use super::fields::Fields;
use super::rules::Rules;
use super::walk::HazardKind;
use sassafras_ir::{Function, Inst, RegClass, Role};
use smallvec::SmallVec;

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
                let known = sources(f, inst, &control);
                for (place, banks) in places.iter_mut().enumerate() {
                    let (first, lanes) = match known[place] {
                        Source::Registers { first, lanes } => (first, lanes),
                        Source::None => continue,
                        Source::Unknown => {
                            *banks = Default::default();
                            continue;
                        }
                    };
                    // A pair takes both banks, each with its register.
                    for register in first..first.saturating_add(lanes.min(2)) {
                        let kept = &mut banks[usize::from(register % 2)];
                        let stale = kept.filter(|kept| kept.register == register && kept.written);
                        findings.extend(stale.map(|kept| Finding {
                            kind: HazardKind::Reuse,
                            lane: None,
                            producer: kept.by,
                            consumer: inst,
                            needed: None,
                            given: 0,
                        }));
                        let flagged = control.reuse >> place & 1 == 1;
                        *kept = flagged.then_some(Kept { register, by: inst, written: false });
                    }
                }
            }
            f.for_each_write(inst, |write| {
                let written = |kept: &&mut Kept| {
                    write.lane.class() == RegClass::Gpr && u32::from(kept.register) == write.lane.index()
                };
                let kept = places.iter_mut().flatten().flatten();
                kept.filter(written).for_each(|kept| kept.written = true);
            });
            if control.yields || control.stall == 0 {
                places = Default::default();
            }
        }
    }
    findings
}

/// What an instruction reads from a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// No general register.
    None,
    /// So many, from the first on.
    Registers { first: u8, lanes: u8 },
    /// Perhaps one.
    Unknown,
}

/// The general registers that an instruction reads, by place. The first place is that of its field in the word. The second operand of two stands in
/// the second field, and its flag is that of the second or of the third place, by opcode: only of three operands each place is known.
fn sources(f: &Function, inst: Inst, control: &Fields) -> [Source; 3] {
    let mut operands: SmallVec<[(Role, u8, u8); 4]> = SmallVec::new();
    f.for_each_read(inst, |read| {
        if !matches!(read.role, Role::Operand(_)) || read.lane.class() != RegClass::Gpr {
            return;
        }
        match operands.last_mut() {
            Some((role, _, lanes)) if *role == read.role => *lanes += 1,
            _ => operands.push((read.role, read.lane.index() as u8, 1)),
        }
    });
    let field = |place: usize| {
        let register = control.sources.map(|sources| sources[place]);
        let found = operands.iter().find(|&&(_, first, _)| Some(first) == register);
        found.map_or(Source::None, |&(_, first, lanes)| Source::Registers { first, lanes })
    };
    match operands.len() {
        0 => [Source::None; 3],
        3 => [0, 1, 2].map(field),
        _ => [field(0), Source::Unknown, Source::Unknown],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sassafras_ir::text::parse;

    /// The kinds that are found in instructions with these words, each with its text, stall and flags.
    fn found(insts: &[(&str, [u8; 3], u8, u8)]) -> usize {
        let mut text = String::from("func f sm_90 (R0, R1, R2, R3, R4, R5, R6, R7, P0) {\n^a:\n");
        for (inst, sources, stall, reuse) in insts {
            let places = [24, 32, 64]
                .into_iter()
                .zip(*sources)
                .fold(0u128, |word, (low, at)| word | u128::from(at) << low);
            let control =
                u128::from(*stall) << 105 | 1 << 109 | 7 << 110 | 7 << 113 | u128::from(*reuse) << 122;
            text += &format!("  {inst} raw({:#x})\n", places | 7 << 12 | control);
        }
        let module = parse(&(text + "}\n")).expect("parses");
        let arch = "sm_90".parse().expect("known");
        check(&module.functions[0], Rules::of(arch)).len()
    }

    #[test]
    fn a_kept_source_is_not_written_before_it_is_read_again() {
        let keep = ("R4 = IADD3 R2, R3", [2, 3, 255], 5, 1);
        let read = ("R5 = IADD3 R2, R3", [2, 3, 255], 5, 0);
        let write = ("R2 = MOV R6", [255, 6, 255], 5, 0);
        assert_eq!(found(&[keep, read]), 0);
        assert_eq!(found(&[keep, write, read]), 1);
        assert_eq!(found(&[("R2 = IADD3 R2, R3", [2, 3, 255], 5, 1), read]), 1, "by the instruction itself");
        assert_eq!(found(&[("R4 = IADD3 R2, R3", [2, 3, 255], 5, 0), write, read]), 0, "nothing was kept");
        let other = ("R7 = IADD3 R4, R3", [4, 3, 255], 5, 0);
        assert_eq!(found(&[keep, write, other, read]), 0, "another took the place");
        let bank = ("R7 = IADD3 R5, R3", [5, 3, 255], 5, 0);
        assert_eq!(found(&[keep, write, bank, read]), 1, "the other bank is another place");
    }
}
