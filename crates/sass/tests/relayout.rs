//! Words of code of another length: what they name is where it is now, and the file lifts.

use sassafras_cubin::{Capsules, Cubin, Origin, Relayout, RewriteOptions, Slot};
use sassafras_machine::Arch;
use sassafras_sass::program::{Program, Relative, aim, arch_of};

const LINKED: &[u8] = include_bytes!("../../cli/samples/nbody.cubin");
const NOP: u128 = 0x000f_e200_0000_0000_0000_0000_0000_7918;
const OPTIONS: RewriteOptions = RewriteOptions { capsules: Capsules::Refuse };

/// The edit with a `NOP` before every instruction in `step`.
fn stretched(cubin: &Cubin, step: usize) -> Relayout {
    let mut edit = Relayout::unchanged(&cubin.code()[0]).without_padding();
    for (index, slot) in std::mem::take(&mut edit.slots).into_iter().enumerate() {
        if index % step == 0 {
            edit.slots.push(Slot { word: NOP, origin: Origin::New });
        }
        edit.slots.push(slot);
    }
    edit
}

#[test]
fn branches_lead_to_where_their_targets_are() {
    let cubin = Cubin::parse(LINKED).expect("parses");
    let code = &cubin.code()[0];
    let relative = Relative::new(arch_of(cubin.sm()).expect("known"));
    for step in [1, 2, 7, 1000] {
        let mut edit = stretched(&cubin, step);
        aim(&cubin, code, &mut edit).expect("follows");
        let layout = cubin.layout(&edit).expect("follows");
        let mut branches = 0;
        for (new, slot) in edit.slots.iter().enumerate() {
            let Origin::Moved(from) = slot.origin else {
                continue;
            };
            let old = u128::from_le_bytes(*code.bytes[16 * from as usize..].first_chunk().expect("a word"));
            match relative.target(old, u64::from(from) * 16) {
                Some(target) => {
                    branches += 1;
                    let found = relative.target(slot.word, new as u64 * 16);
                    assert_eq!(found, layout.position(target), "{from} of {step}");
                }
                None => assert_eq!(slot.word, old),
            }
        }
        assert!(branches > 2, "{branches}");
        let routines = |file: &[u8]| {
            let cubin = Cubin::parse(file).expect("parses");
            let program = Program::new(&cubin).expect("known");
            program.lift(&cubin.code()[0]).expect("lifts").into_iter().map(|routine| routine.name).collect()
        };
        let file = cubin.relayout(&[edit], OPTIONS).expect("follows");
        let (new, old): (Vec<String>, Vec<String>) = (routines(&file), routines(LINKED));
        assert_eq!(new, old);
    }
}

/// Branches to a register hold the distance to the start of the section; words from ptxas 13.0.
#[test]
fn indirect_branches_lead_to_the_start_of_the_section() {
    let hopper = Relative::new(Arch::SM_90);
    let words = [
        // BRX R2 -0xf0 at 0xe0, CALL.REL R2 at 0x120, RET.REL at 0x160 and 0x8f0.
        (0x005f_ea00_0383_ffff_ffff_fffc_02c4_7949, 0xe0),
        (0x027f_ea00_03c3_ffff_ffff_fffc_02b4_7344, 0x120),
        (0x000f_ec00_03c3_ffff_ffff_fffc_14a4_7950, 0x160),
        (0x004f_ec00_03c3_ffff_ffff_fff4_14c0_7950, 0x8f0),
    ];
    let none = |_| None;
    for (word, at) in words {
        let further = hopper.replaced(word, at, at + 0x170, none).expect("follows");
        assert_ne!(further, word);
        assert_eq!(hopper.replaced(further, at + 0x170, at, none), Some(word));
        // Counted from elsewhere it leads to no start.
        assert_eq!(hopper.replaced(word, at + 16, at, none), None);
    }
    // The same on sm_75, by what nvdisasm prints of `RET.REL` at 0x110 and 0x920 there.
    let turing = Relative::new(Arch::SM_75);
    let (first, second): (u128, u128) =
        (0x000f_ee00_03c3_ffff_ffff_fee0_1400_7950, 0x020f_ee00_03c3_ffff_ffff_f6d0_1400_7950);
    let control = !(0x7f_ffff << 105);
    assert_eq!(turing.replaced(first, 0x110, 0x920, none).map(|word| word & control), Some(second & control));
}
