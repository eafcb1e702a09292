//! Does every source that stays at hand still hold what the register does?
//!
//! A flagged source stays in its place (one of three, and even and odd registers apart) of an operand reuse cache until the next instruction that has the same
//! cache reads that place from the same bank; then it is that one's operand. Instructions of other pipes read the same places in between and
//! end nothing. The register must not have been written in between, nor by the flagged instruction itself. (That it was there
//! for all threads when it was kept, whatever the guards, the walk asks of every flagged source.) Nothing stays at hand where the warp yields, as it does with every
//! stall above 11.
//!
//! Source: compiled code, which never does it; H200: half precision of cuFFT 12.0 gave other results where HADD2 kept a register that an HFMA2.MMA
//! read, another wrote and an HFMA2 read then (an H200 took the new value where the flagged instruction overwrites its own source).

use super::Finding;
use super::fields::Fields;
use super::rules::Rules;
use super::walk::HazardKind;
use sassafras_ir::{Function, Inst, Payload, RegClass};
use sassafras_machine::reuse::ReuseCache;
use sassafras_sass::Decoder;

/// A source that was kept.
#[derive(Clone, Copy)]
struct Kept {
    register: u32,
    by: Inst,
    written: bool,
}

/// By cache, place and bank.
type Caches = [[[Option<Kept>; 2]; 3]; ReuseCache::ALL.len()];

/// Sources that stay at hand although their register was written since, inside blocks.
pub(super) fn check(f: &Function, rules: &Rules) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Some(arch) = rules.arch() else { return findings };
    let decoder = Decoder::new(arch);
    let opcodes = rules.opcodes(f);
    for block in f.blocks() {
        let mut caches = Caches::default();
        // Whether anything was kept: most instructions neither keep nor find anything.
        let mut any = false;
        for &inst in f.block_insts(block) {
            let control = Fields::of(f, inst);
            any |= control.reuse != 0;
            if !any {
                continue;
            }
            let info = &opcodes[f.inst(inst).opcode.as_u32() as usize];
            // What takes its time reads its sources elsewhere, and its flags mean something else.
            if let (false, Payload::Word(word)) = (info.facts.decoupled, f.inst(inst).payload) {
                let decoded = decoder.decode(word, 0);
                let sources = decoded.flagged_sources();
                let placed = |span| sources.contains(&Some(span));
                for lane in decoded.reads().filter(|reg| !placed(reg.span)).flat_map(|reg| reg.span.lanes()) {
                    // R2P, say: it reads one of the places.
                    if lane.class() == RegClass::Gpr {
                        let bank = lane.index() as usize % 2;
                        caches.iter_mut().flatten().for_each(|banks| banks[bank] = None);
                    }
                }
                for (place, span) in sources.into_iter().enumerate() {
                    let flagged = control.reuse >> place & 1 == 1;
                    // A pair takes both banks, each with its register.
                    let lanes = span.into_iter().flat_map(|span| span.lanes().take(2));
                    for lane in lanes.filter(|lane| lane.class() == RegClass::Gpr) {
                        let register = lane.index();
                        let bank = register as usize % 2;
                        let Some(cache) = info.reuse_cache else {
                            // Perhaps it was kept for this one.
                            caches.iter_mut().for_each(|places| places[place][bank] = None);
                            continue;
                        };
                        let kept = &mut caches[cache as usize][place][bank];
                        let stale = kept.filter(|kept| kept.register == register && kept.written);
                        findings.extend(stale.map(|kept| Finding {
                            kind: HazardKind::Reuse,
                            lane: None,
                            producer: kept.by,
                            consumer: inst,
                            needed: None,
                            given: 0,
                        }));
                        *kept = flagged.then_some(Kept { register, by: inst, written: false });
                    }
                }
            }
            f.for_each_write(inst, |write| {
                let written = |kept: &&mut Kept| {
                    write.lane.class() == RegClass::Gpr && kept.register == write.lane.index()
                };
                let kept = caches.iter_mut().flatten().flatten().flatten();
                kept.filter(written).for_each(|kept| kept.written = true);
            });
            if control.yields || control.stall == 0 {
                caches = Caches::default();
                any = false;
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use sassafras_ir::text::parse;

    /// Words of sm_90 without registers and control fields.
    fn word(opcode: &str) -> u128 {
        match opcode {
            "IADD3" => 0x07ff_e000_0000_0000_0000_7210,
            "MOV" => 0x0f00_0000_0000_0000_7202,
            "HADD2" => 0x7230,
            "HMUL2" => 0x7232,
            "HFMA2" => 0x7231,
            "HFMA2.MMA" => 0x7235,
            "DFMA" => 0x722b,
            "FFMA" => 0x7223,
            "R2P" => 0x0000_007f_0000_7804,
            _ => unreachable!("{opcode}"),
        }
    }

    /// How much is found in instructions, each an opcode with its registers (R255 is none), the result first, and its reuse flags.
    fn found(insts: &[(&str, [u8; 4], u8)]) -> usize {
        let mut text =
            String::from("func f sm_90 (R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10, R11) {\n^a:\n");
        for &(opcode, registers, reuse) in insts {
            let fields = [16, 24, 32, 64].into_iter().zip(registers);
            let word = fields.fold(word(opcode), |word, (low, at)| word | u128::from(at) << low);
            let control = 5 << 105 | 1 << 109 | 7 << 110 | 7 << 113 | u128::from(reuse) << 122;
            let pair = if opcode == "DFMA" { ":2" } else { "" };
            let named = |at: &&u8| **at != 255 && !(**at == 0 && opcode != "IADD3");
            let sources: Vec<String> =
                registers[1..].iter().filter(named).map(|at| format!("R{at}{pair}")).collect();
            let result = if opcode == "R2P" { "P0".to_owned() } else { format!("R{}{pair}", registers[0]) };
            text += &format!("  {result} = {opcode} {} raw({:#x})\n", sources.join(", "), word | control);
        }
        let module = parse(&(text.clone() + "}\n")).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let arch = "sm_90".parse().expect("known");
        check(&module.functions[0], Rules::of(arch)).len()
    }

    #[test]
    fn a_kept_source_is_not_written_before_it_is_read_again() {
        let keep = ("IADD3", [4, 2, 3, 255], 1);
        let read = ("IADD3", [5, 2, 3, 255], 0);
        let write = ("MOV", [2, 0, 6, 0], 0);
        assert_eq!(found(&[keep, read]), 0);
        assert_eq!(found(&[keep, write, read]), 1);
        assert_eq!(found(&[("IADD3", [2, 2, 3, 255], 1), read]), 1, "by the instruction itself");
        assert_eq!(found(&[("IADD3", [4, 2, 3, 255], 0), write, read]), 0, "nothing was kept");
        let other = ("IADD3", [7, 4, 3, 255], 0);
        assert_eq!(found(&[keep, write, other, read]), 0, "another took the place");
        let bank = ("IADD3", [7, 5, 3, 255], 0);
        assert_eq!(found(&[keep, write, bank, read]), 1, "the other bank is another place");
        // Compiled code keeps sources for R2P, whose place no table names.
        assert_eq!(found(&[keep, ("R2P", [0, 2, 0, 0], 0), write, read]), 0);
    }

    #[test]
    fn other_pipes_end_nothing() {
        // The second of two operands of HADD2 is kept in the third place.
        let keep = ("HADD2", [5, 1, 6, 0], 4);
        let matrix_pipe = ("HFMA2.MMA", [7, 1, 3, 6], 0);
        let write = ("HMUL2", [6, 3, 4, 0], 0);
        let read = ("HFMA2", [8, 2, 3, 6], 0);
        assert_eq!(found(&[keep, matrix_pipe, write, read]), 1, "cuFFT");
        assert_eq!(found(&[keep, ("HFMA2", [7, 1, 3, 6], 0), write, read]), 0, "its own pipes took it");
        assert_eq!(
            found(&[keep, matrix_pipe, write, ("FFMA", [8, 2, 3, 6], 0)]),
            1,
            "half precision shares that of FP32"
        );
        let late = ("HFMA2.MMA", [8, 2, 3, 6], 0);
        assert_eq!(found(&[keep, write, late]), 0, "that of the matrix pipe is another");
        let keep = ("DFMA", [8, 2, 4, 6], 1);
        let between = ("FFMA", [1, 2, 4, 6], 0);
        let write = ("MOV", [2, 0, 6, 0], 0);
        assert_eq!(found(&[keep, between, write, ("DFMA", [8, 2, 4, 6], 0)]), 1);
        assert_eq!(found(&[keep, write, ("FFMA", [1, 2, 4, 6], 0)]), 0, "that of FP64 is another");
    }
}
