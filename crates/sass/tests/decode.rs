//! Known words, and that no word whatever upsets the decoder.

use proptest::prelude::*;
use sassafras_ir::{AccessFlags, Effects, RegClass, Space};
use sassafras_machine::{Arch, Category};
use sassafras_sass::program::Relative;
use sassafras_sass::{Decoded, Decoder, Flow, decode};

/// Reads and writes as text: `R4:2 UR6`.
fn spans(inst: &Decoded) -> (String, String) {
    let text = |regs: Vec<String>| regs.join(" ");
    (
        text(inst.reads().map(|reg| reg.span.to_string()).collect()),
        text(inst.writes().map(|reg| reg.span.to_string()).collect()),
    )
}

fn check(arch: Arch, word: u128, mnemonic: &str, reads: &str, writes: &str) -> Decoded {
    let inst = decode(word, arch, 0);
    assert_eq!(inst.mnemonic(), Some(mnemonic), "{word:#034x}");
    let (r, w) = spans(&inst);
    assert_eq!((r.as_str(), w.as_str()), (reads, writes), "{mnemonic}");
    inst
}

#[test]
fn arithmetic_forms_move_their_sources() {
    // FFMA R10, R18, R18, R19 / FFMA R9, -R9, R2, 1 / FFMA R3, R10, imm, R3
    let sm = Arch::SM_80;
    check(sm, 0x13_0000_0012_120a_7223, "FFMA", "R18 R18 R19", "R10");
    check(sm, 0x2_3f80_0000_0909_7423, "FFMA", "R9 R2", "R9");
    check(sm, 0x3_3882_0000_0a03_7823, "FFMA", "R10 R3", "R3");
    // DADD takes its second register from the third place.
    check(sm, 0x4_0000_0000_0e06_7229, "DADD", "R14:2 R4:2", "R6:2");
    // @!P0 IADD3.X R21, RZ, R21, RZ, P2, !PT: carry comes in through a predicate.
    let iadd3 = check(sm, 0x017f_e4ff_0000_0015_ff15_8210, "IADD3.X", "R21 P2", "R21");
    let guard = iadd3.guard().expect("guarded");
    assert_eq!((guard.lane.to_string().as_str(), guard.negated), ("P0", true));
    // IMAD.WIDE.U32 R20, R0, 0x10, R20
    let wide = check(sm, 0x078e_0014_0000_0010_0014_7825, "IMAD.WIDE", "R0 R20:2", "R20:2");
    assert_eq!(wide.category(), Some(Category::ImadWide));
}

#[test]
fn loads_and_stores_have_widths_spaces_and_orders() {
    // LDG.E.128 R12, desc[UR4][R20.64+0x2000]
    let ldg = check(Arch::SM_90, 0x0c1e_1d00_0020_0004_140c_7981, "LDG", "R20:2 UR4:2", "R12:4");
    let access = ldg.accesses().next().expect("an access");
    assert_eq!((access.mem.space, access.mem.width, access.mem.offset), (Space::Global, Some(16), 0x2000));
    assert_eq!(access.mem.base.expect("a base").to_string(), "R20:2");
    assert_eq!(access.mem.flags, AccessFlags::empty());
    assert!(access.is_read && !access.is_write);
    // LDG.E.CONSTANT R2, desc[UR6][R2.64]
    let constant = decode(0x0c1e_9900_0000_0006_0202_7981, Arch::SM_90, 0);
    let flags = constant.accesses().next().expect("an access").mem.flags;
    assert_eq!(flags, AccessFlags::READ_ONLY);
    // LDG.E.CONSTANT.SYS R10, [R10.U32+UR4]: a 32-bit offset to a uniform pair.
    check(Arch::SM_75, 0x081e_6900_0000_0004_0a0a_7981, "LDG", "R10 UR4:2", "R10");
    // LDS R13, [R12.X4]: a scaled base says nothing about where the next word is.
    let scaled = check(Arch::SM_89, 0x4800 << 64 | 0x0c0d_7984, "LDS", "R12", "R13");
    assert_eq!(scaled.accesses().next().expect("an access").mem.width, None);
    let plain = decode(0x0800 << 64 | 0x0c0d_7984, Arch::SM_89, 0);
    assert_eq!(plain.accesses().next().expect("an access").mem.width, Some(4));
    // LDGSTS.E.BYPASS.128.ZFILL [R9+0x20], [R6.64+0x20], P1 reads its predicate and both addresses.
    let copy = check(Arch::SM_80, 0x0894_1c44_0002_0020_0609_7fae, "LDGSTS", "R9 R6:2 UR4:2 P1", "");
    let sides: Vec<_> =
        copy.accesses().map(|a| (a.mem.space, a.is_write, a.mem.width, a.mem.offset)).collect();
    assert_eq!(sides, [(Space::Global, false, Some(16), 0x20), (Space::Shared, true, Some(16), 0x20)]);
}

#[test]
fn loads_and_copies_of_hand_tuned_libraries() {
    // LDG.E.LTC128B.128.CONSTANT R80, [R66+0x80], P6: zeros where the predicate is false. Its field counts down from 7.
    check(Arch::SM_80, 0x001e_8d21_0000_8000_4250_7381, "LDG", "R66:2 P6", "R80:4");
    check(Arch::SM_75, 0x001e_4524_0000_0000_5245_7381, "LDG", "R82:2 P3", "R69");
    check(Arch::SM_90, 0x0c1e_fd23_0000_0004_465c_7981, "LDG", "R70:2 UR4:2 P4", "R92:4");
    // sm_70 has no such predicate: what the bits mean there is not known.
    assert!(decode(0x001e_6d21_0000_8000_4250_7381, Arch::SM_70, 0).is_opaque());
    // LDG.E.U.128.CONSTANT.SYS R12, [R4] of sm_70 and sm_75; later machines have no such size.
    for arch in [Arch::SM_70, Arch::SM_75] {
        let load = check(arch, 0x001e_6f00_0000_0000_040c_7381, "LDG", "R4:2", "R12:4");
        assert_eq!(load.accesses().next().expect("an access").mem.width, Some(16));
    }
    assert!(decode(0x001e_6f00_0000_0000_040c_7381, Arch::SM_80, 0).is_opaque());
    // LDGSTS [R70+UR6+0x1000], [R20.64+0x80], P4: with bit 76 set the next uniform register describes the global side.
    let copy = 0x0a10_8d46_0100_0080_1446_7dae;
    check(Arch::SM_80, copy, "LDGSTS", "R70 R20:2 UR6 P4", "");
    let described = check(Arch::SM_80, copy | 1 << 76, "LDGSTS", "R70 R20:2 UR6:2 P4", "");
    let spaces: Vec<_> = described.accesses().map(|a| (a.mem.space, a.is_write, a.mem.width)).collect();
    assert_eq!(spaces, [(Space::Global, false, Some(16)), (Space::Shared, true, None)]);
    // @P0 LDGSTS.E.BYPASS.LTC64B.64 [R100+UR6+0x80], desc[UR7][R106.64+0x80] of sm_100.
    for arch in [Arch::SM_100, Arch::SM_120] {
        check(arch, 0x0b98_1506_0008_0080_6a64_0dae, "LDGSTS", "R100 R106:2 UR6:2", "");
    }
}

#[test]
fn reductions_over_many_places_and_of_one_warp() {
    // LDGMC.E.HPADD.E4M3x16, E4M3x8 and E5M2x4: 8-bit numbers fill four registers, two and one.
    for (kind, written) in [(6, "R4:4"), (5, "R4:2"), (1, "R4")] {
        let word = 0x0b83_41ff_000e_0000_2c04_79a5 | kind << 73;
        let load = check(Arch::SM_100, word, "LDGMC", "R44:2", written);
        assert!(load.effects().contains(Effects::ORDERED));
    }
    // @UP0 UREDGR.E.ADD.NA.64.STRONG.GPU [UR8+0x10], UR6: memory accesses stay on their side of it.
    let sum = check(Arch::SM_100, 0x0808_e400_0000_1006_0800_0378, "UREDGR", "UR8:2 UR6:2", "");
    assert!(sum.effects().contains(Effects::BARRIER | Effects::ORDERED));
    assert_eq!(sum.guard().expect("guarded").lane.class(), RegClass::UPred);
    assert!(decode(0x0808_e400_0000_1006_0800_0378, Arch::SM_120, 0).is_opaque());
    // UFRND.FLOOR UR12, UR16, and of a number.
    check(Arch::SM_120, 0x0820_5000_0000_0010_000c_725d, "UFRND", "UR16", "UR12");
    check(Arch::SM_120, 0x0820_5000_0000_0010_000c_785d, "UFRND", "", "UR12");
}

#[test]
fn tensor_tuples_follow_the_shape() {
    // HMMA.16816.F32 R12, R4, R16, R8 / HMMA.SP.16832.F32 R8, R4, R8, R12, R0, 0x0
    check(Arch::SM_80, 0x1808_0000_0010_040c_723c, "HMMA", "R4:4 R16:2 R8:4", "R12:4");
    check(Arch::SM_80, 0x5a0c_0000_0008_0408_723c, "HMMA", "R4:4 R8:4 R12:4 R0", "R8:4");
    // DMMA.16x8x16 R16, R16, R32, R8
    check(
        Arch::SM_90,
        0x3008_0000_0020_1010_723f | 0x380_0000 << 64,
        "DMMA",
        "R16:16 R32:8 R8:8 UP0",
        "R16:8",
    );
    // HGMMA.64x256x16.F32.BF16 R24, R152, gdesc[UR4], R24, !UP0, gsb0
    let wgmma = check(
        Arch::SM_90A,
        0x0f80_1818_03e0_0004_9818_7df0,
        "HGMMA.F32",
        "R152:4 UR4:4 R24:128 UP0",
        "R24:128",
    );
    assert_eq!(wgmma.category(), Some(Category::WarpgroupMma));
    // IGMMA.SP.REGOFFSET.64x128x64.S8.S8 R24, gdesc[UR4], R24, R89: sparse shapes have numbers of their own.
    let sparse = 0x0874_1618_0380_5900_0418_79f1;
    check(Arch::SM_90A, sparse, "IGMMA", "UR4:4 R24:64 R89", "R24:64");
    assert!(decode(sparse ^ 1 << 73, Arch::SM_90A, 0).is_opaque());
    // OMMA.SF.SP.168128.F32.E2M1.E2M1.UE4M3.4X R36, R96, R104, R36, R16, R9, URZ, 0x0, and without SP.
    let scaled = 0x0005_3e24_7090_1068_6024_747f;
    for arch in [Arch::SM_120, Arch::SM_121] {
        check(arch, scaled, "OMMA.SF", "R96:4 R104:4 R36:4 R16:2 R9", "R36:4");
        check(arch, scaled ^ 1 << 80, "OMMA.SF", "R96:4 R104:2 R36:4 R16 R9", "R36:4");
    }
    // LDTM.16dp32bit_t0_t15.x128 R4, tmem[UR4]
    check(Arch::SM_100A, 0x08b8_0000_0000_0004_0004_79ee, "LDTM", "UR4", "R4:128");
}

#[test]
fn predicate_masks_name_every_predicate() {
    // R2P PR, R10, 0x7e: who writes a part of the predicates keeps the others, and has to read them for that.
    check(Arch::SM_90, 0x7e_0a00_7804, "R2P", "R10 P0", "P1 P2 P3 P4 P5 P6");
    // UR2UP UPR, UR4, 0x1
    check(Arch::SM_75, 0x1_0400_7884, "UR2UP", "UR4 UP1 UP2 UP3 UP4 UP5 UP6", "UP0");
    // P2R R0, PR, RZ, 0x2c
    check(Arch::SM_75, 0x2c_ff00_7803, "P2R", "P2 P3 P5", "R0");
}

#[test]
fn textures_pack_their_operands() {
    // TEX.B.LL.AOFFI P0, R18, R16, R16, R4, 2D: coordinates; then handle, level and offset.
    let tex = check(Arch::SM_80, 0x0190_1f12_2800_0004_1010_7361, "TEX", "R16:2 R4:3", "R16:2 R18:2 P0");
    assert_eq!(tex.category(), Some(Category::Texture));
    assert_eq!(tex.accesses().next().expect("an access").mem.space, Space::Texture);
    // TEX.SCR.B.LL RZ, R10, R12, R10, 2D, 0x9: the four operands in two halves, two components.
    check(Arch::SM_80, 0x019e_09ff_3800_000a_0c0a_7361, "TEX.SCR", "R12:2 R10:2", "R10:2");
    // TLD.SCR.B.LZ R16, R14, R6, R8, 1D: two operands, one in each.
    check(Arch::SM_80, 0x009e_0f10_1800_0008_060e_7367, "TLD.SCR", "R6 R8", "R14:2 R16:2");
    // @!P1 TEX.LL.AOFFI R6, R8, R4, R10, UR6, 2D: nvdisasm shows one register of R10 and R6.
    check(Arch::SM_100, 0x089e_0f06_29ff_060a_0408_9f60, "TEX", "R4:2 R10:2 UR6:2", "R8:2 R6:2");
    // SULD.D.BA.3D.128 R4, [R12], R19 and SUST.D.BA.2D.128 [R20], R4, R15.
    check(Arch::SM_80, 0x001e_ad13_a000_0000_0c04_799a, "SULD.D", "R12:3 R19", "R4:4");
    let store = check(Arch::SM_80, 0x0010_ad0f_6800_0004_1400_799e, "SUST.D", "R20:2 R4:4 R15", "");
    let access = store.accesses().next().expect("an access");
    assert!(access.is_write && access.mem.space == Space::Surface);
}

#[test]
fn blackwell_forms() {
    // UTMALDG.2D.GATHER4 [UR8], [UR4]; STL [UR4], R0; FFMA2 R22, R32.F32, R22.F32x2, R46.F32x2.
    check(Arch::SM_100, 0x0810_8000_0000_0008_0400_75b4, "UTMALDG", "UR8:7 UR4:2", "");
    check(Arch::SM_100, 0x0810_0804_0000_0000_ff00_7987, "STL", "R0 UR4", "");
    check(Arch::SM_100, 0x0004_002e_0000_0016_2016_7249, "FFMA2", "R32 R22:2 R46:2", "R22:2");
    // UTCHMMA.2CTA reads a lane mask of eight registers, here none.
    check(Arch::SM_100, 0x0820_000d_00ff_1c14_1200_75ea, "UTCHMMA", "UR18:2 UR20:2 UR13 UR28:2 UP0", "");
    // @UP0 S2UR: what runs on the uniform datapath has uniform guards.
    for (arch, word) in
        [(Arch::SM_80, 0x2500_0000_0000_0016_19c3_u128), (Arch::SM_100, 0x8800_0000_0000_0008_09c3)]
    {
        let guard = decode(word, arch, 0).guard().expect("guarded");
        assert_eq!(guard.lane.class(), RegClass::UPred, "{arch}");
    }
}

#[test]
fn masks_outside_the_word_name_every_predicate() {
    // P2R R8, PR, R20, R32 reads them all; R2P PR, R20, R32 may write each, so it reads what it keeps.
    check(Arch::SM_70, 0x20_1408_7203, "P2R", "R20 R32 P0 P1 P2 P3 P4 P5 P6", "R8");
    let r2p = decode(0x20_1408_7204, Arch::SM_70, 0);
    assert_eq!((r2p.writes().count(), r2p.reads().count()), (7, 9));
}

/// Bits 0..12 of every control-flow instruction that nvdisasm accepts when it is given every opcode.
const BRANCHES: [(u16, &[u128]); 4] = [
    (70, &[0x943, 0x944, 0x947, 0x949, 0x94a, 0x94c, 0x94d, 0x94f, 0x950, 0x95b, 0x343, 0x344, 0xb43, 0xb4a]),
    (
        75,
        &[
            0x943, 0x944, 0x947, 0x949, 0x94a, 0x94c, 0x94d, 0x94f, 0x950, 0x958, 0x959, 0x95b, 0x343, 0x344,
            0xb43, 0xb4a,
        ],
    ),
    (
        80,
        &[
            0x943, 0x944, 0x947, 0x949, 0x94a, 0x94c, 0x94d, 0x950, 0x958, 0x959, 0x95b, 0x343, 0x344, 0xb43,
            0xb4a, 0x547, 0x54a, 0x74a,
        ],
    ),
    (
        100,
        &[
            0x943, 0x944, 0x947, 0x949, 0x94a, 0x94c, 0x94d, 0x950, 0x958, 0x959, 0x95b, 0x343, 0x344, 0x547,
            0x54a,
        ],
    ),
];

#[test]
fn no_branch_is_unknown() {
    for arch in Arch::all().filter(|&arch| Decoder::new(arch).has_table()) {
        let number = arch.number().expect("a number");
        let (_, opcodes) = BRANCHES.iter().rev().find(|(least, _)| number >= *least).expect("a row");
        for opcode in *opcodes {
            let inst = decode(opcode | 0x7000, arch, 0);
            assert!(!inst.is_opaque(), "{arch} {opcode:#x}");
            let leaves = Effects::TERMINATOR | Effects::CALL;
            assert!(inst.effects().intersects(leaves), "{arch} {:?}", inst.mnemonic());
        }
    }
}

#[test]
fn an_unknown_word_among_the_branches_may_branch() {
    let unknown = decode(0xf4a, Arch::SM_80, 0);
    assert!(unknown.is_opaque());
    assert_eq!(unknown.flow(), Flow::IndirectBranch);
    assert_eq!(unknown.effects(), Effects::OPAQUE | Effects::BRANCH);
}

#[test]
fn families_read_the_same_opcode_differently() {
    // 0x235: HFMA2.MMA on Ampere, IADD.64 on sm_120.
    let word = 0x078e_0200_0000_0012_0412_7235;
    assert_eq!(decode(word, Arch::SM_80, 0).mnemonic(), Some("HFMA2.MMA"));
    check(Arch::SM_120, word, "IADD", "R4:2 R18:2", "R18:2");
    check(Arch::SM_107, word, "IADD", "R4:2 R18:2", "R18:2");
    // USYNCS.PHASECHK.TRANS64.TRYWAIT UP0, [UR4], UR5 of sm_107, which has tensor memory too: LDTM R6, tmem[UR4].
    check(Arch::SM_107, 0x0800_1100_0000_0000_0400_75bf, "USYNCS.PHASECHK", "UR4:2", "UP0");
    check(Arch::SM_107, 0x0800_0000_0000_0004_0006_79ee, "LDTM", "UR4", "R6:2");
    assert!(decode(0x0800_1100_0000_0000_0400_75bf, Arch::SM_100, 0).is_opaque());
    // VISET of sm_107 stands where sm_100 has VHMNMX.
    check(Arch::SM_107, 0xc000_0000_0011_0909_7247, "VISET", "R9 R17", "R9");
    // IMMA.8816.S8.S8 R8, R23.ROW, R28.COL, R8: not on sm_70, the same registers on sm_72 and sm_75.
    let imma = 0x5408_0000_001c_1708_7237;
    assert!(decode(imma, Arch::SM_70, 0).is_opaque());
    for arch in [Arch::SM_72, Arch::SM_75] {
        check(arch, imma, "IMMA", "R23 R28 R8:2", "R8:2");
    }
    // Uniform registers have six bits up to sm_90 and eight from sm_100 on.
    let umov = 0xff_7882 | 5 << 32;
    assert_eq!(spans(&decode(umov, Arch::SM_100, 0)).1, "");
    assert_eq!(spans(&decode(umov & !0xc0_0000, Arch::SM_90, 0)).1, "");
    assert_eq!(spans(&decode(umov & !0xc0_0000, Arch::SM_100, 0)).1, "UR63");
    // sm_70 has none.
    assert!(decode(umov, Arch::SM_70, 0).is_opaque());
}

#[test]
fn control_flow_names_its_target() {
    // BRA to itself, in the layouts of sm_80 and of sm_90.
    for (arch, word) in
        [(Arch::SM_80, 0x0383_ffff_ffff_fff0_0000_7947), (Arch::SM_90, 0x0383_ffff_ffff_fffc_00fc_7947)]
    {
        let bra = decode(word, arch, 0x120);
        assert_eq!(bra.flow(), Flow::Branch { target: 0x120 }, "{arch}");
        assert_eq!(bra.effects(), Effects::BRANCH);
    }
    let exit = decode(0x0380_0000_0000_0000_0000_794d, Arch::SM_80, 0);
    assert_eq!((exit.flow(), exit.effects()), (Flow::Exit, Effects::EXIT));
    // BSSY B0, +0x960 writes a barrier register and names where threads meet again.
    // WARPSYNC R163, WARPSYNC 0xffffffff: the mask is where later machines have a distance.
    for word in [0x0380_0000_0000_00a3_0000_7348, 0x0380_0000_ffff_ffff_0000_7948] {
        let warpsync = decode(word, Arch::SM_80, 0x100);
        assert_eq!(warpsync.flow(), Flow::Reconverge { target: 0x110 }, "the next instruction");
        assert_eq!(Relative::new(Arch::SM_80).mask(word), 0, "nothing to change when it moves");
    }
    let bssy = decode(0x0380_0000_0000_0950_0000_7945, Arch::SM_80, 0);
    assert_eq!(bssy.flow(), Flow::Reconverge { target: 0x960 });
    let written = bssy.writes().next().expect("a barrier").span;
    assert_eq!(written.class(), RegClass::Barrier);
    // LEPC R20, +0x40 takes the address of a place, counted in bytes; LEPC R20 that of itself, which stays a block of its own.
    let place = check(Arch::SM_120, 0x3014_794e, "LEPC", "", "R20:2");
    assert_eq!((place.flow(), place.effects()), (Flow::Reconverge { target: 0x40 }, Effects::empty()));
    let itself = check(Arch::SM_120, 0x14_734e, "LEPC", "", "R20:2");
    assert_eq!((itself.flow(), itself.effects()), (Flow::Next, Effects::empty()));
    assert!(decode(0x3114_794e, Arch::SM_120, 0).is_opaque(), "no instruction stands there");
}

#[test]
fn what_no_table_describes_is_opaque() {
    for (arch, word) in [
        (Arch::SM_80, 0xfff),                           // no such opcode
        (Arch::SM_52, 0x0380_0000_0000_0000_0000_794d), // no table
        (Arch::SM_80, 0x0e00_0000_0000_0c00_7984),      // a size that does not exist
        (Arch::SM_80, 0x4_0000_0000_fe06_7229),         // R254:2 leaves the register file
    ] {
        let inst = decode(word, arch, 0);
        assert!(inst.is_opaque(), "{arch} {word:#x}");
        assert_eq!(inst.effects(), Effects::OPAQUE);
        assert_eq!(inst.registers(), []);
        assert_eq!((inst.mnemonic(), inst.guard()), (None, None));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn any_word_decodes(word: u128, opcode in 0u128..4096, pc: u64, which in 0usize..32) {
        let archs: Vec<Arch> = Arch::all().collect();
        let word = word & !0xfff | opcode;
        let inst = Decoder::new(archs[which % archs.len()]).decode(word, pc);
        prop_assert_eq!(inst.word(), word);
        let _ = (inst.flow(), inst.effects(), inst.never_runs(), inst.category());
        for reg in inst.registers() {
            prop_assert!(reg.is_read() || reg.is_written());
            // A register operand can be renamed: its field holds its number.
            if let Some(field) = reg.field.filter(|_| reg.span.class() == RegClass::Gpr) {
                prop_assert_eq!(field.get(word), u64::from(reg.span.first().index()));
            }
        }
        for access in inst.accesses() {
            prop_assert!(access.is_read || access.is_write);
        }
    }
}
