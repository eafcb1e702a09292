//! The binary inputs of the sessions in `tests/cmd`, built by hand. `TRYCMD=overwrite` writes them again.

use sassafras_control::{RawControl, volta};
use sassafras_cubin::{CodeEdit, Container, Cubin};
use std::path::Path;

#[path = "../../cubin/tests/support/build.rs"]
mod build;

/// `FADD Rd, Ra, Rb` with a stall and the scoreboards that it waits for.
fn fadd(d: u128, a: u128, b: u128, stall: u8, wait: u8) -> u128 {
    control(0x7221 | d << 16 | a << 24 | b << 32, [stall, 1, 7, 7, wait, 0])
}

fn control(word: u128, fields: [u8; 6]) -> u128 {
    volta::insert(word, RawControl::from_fields(fields).expect("they fit"))
}

/// LDG R11, [R2], sets scoreboard 2
const LOAD: u128 = 0x000e_a200_001e_e900_0000_0000_020b_7381;
const EXIT: u128 = 0x0380_0000_0000_0000_0000_794d;
/// BRA to itself
const BRA: u128 = 0x0383_ffff_ffff_fff0_0000_7947;

/// A kernel for sm_80. Without `waits` it reads a loaded value that may not be there.
fn kernel(waits: bool) -> Vec<u8> {
    sm_80([
        LOAD,
        fadd(1, 10, 10, 4, 0),
        fadd(4, 11, 1, 5, if waits { 1 << 2 } else { 0 }),
        fadd(6, 20, 21, 5, 0),
        fadd(7, 6, 6, 5, 0),
        fadd(8, 7, 4, 5, 0),
        control(EXIT, [5, 1, 7, 7, 0, 0]),
        control(BRA, [0, 0, 7, 7, 0, 0]),
    ])
}

/// A loop that adds what it loads, for sm_80.
fn looped() -> Vec<u8> {
    let back = 0x0383_ffff_ffff_ffa0_0000_0947; // @P0 BRA six instructions back
    sm_80([
        LOAD,
        fadd(1, 10, 10, 4, 0),
        fadd(4, 11, 1, 5, 1 << 2),
        fadd(6, 20, 21, 5, 0),
        fadd(7, 6, 6, 5, 0),
        control(back, [5, 1, 7, 7, 0, 0]),
        control(EXIT, [5, 1, 7, 7, 0, 0]),
        control(BRA, [0, 0, 7, 7, 0, 0]),
    ])
}

/// A loop that is left by a call that nothing comes back from, as compilers write it for sm_80. It loads for the next time around.
fn left_by_a_call() -> Vec<u8> {
    let behind = 0x03c0_0000_0000_0010_0000_0944; // @P0 CALL.REL.NOINC over one instruction
    let back = 0x0383_ffff_ffff_ffa0_0000_7947; // BRA six instructions back
    sm_80([
        fadd(4, 11, 4, 5, 1 << 2),
        LOAD,
        fadd(6, 20, 21, 5, 0),
        fadd(7, 6, 6, 5, 0),
        control(behind, [5, 1, 7, 7, 0, 0]),
        control(back, [5, 1, 7, 7, 0, 0]),
        fadd(8, 7, 4, 5, 0),
        control(EXIT, [5, 1, 7, 7, 0, 0]),
    ])
}

/// Two blocks. In the first a sum needs the result of a matrix instruction, for sm_80.
fn matrix() -> Vec<u8> {
    let matrix = 0x0004_1804_0000_000c_0804_723c; // HMMA.16816.F32.BF16 R4, R8, R12, R4
    let next = 0x0380_0000_0000_0000_0000_0947; // @P0 BRA to the next instruction
    sm_80([
        control(matrix, [10, 1, 7, 7, 0, 0]),
        fadd(20, 0, 1, 10, 0),
        fadd(21, 1, 0, 10, 0),
        fadd(22, 4, 0, 5, 0),
        control(next, [5, 1, 7, 7, 0, 0]),
        fadd(23, 0, 1, 1, 0),
        fadd(24, 1, 0, 5, 0),
        control(EXIT, [5, 1, 7, 7, 0, 0]),
    ])
}

fn sm_80(words: [u128; 8]) -> Vec<u8> {
    let mut file = build::cubin();
    let range = Cubin::parse(&file).expect("parses").code()[0].file_range.clone();
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    file[range].copy_from_slice(&bytes);
    file[48..52].copy_from_slice(&0x0600_5004_u32.to_le_bytes());
    file
}

/// Another order of the same kernel: legal, or with the value used before it is there.
fn reordered(legal: bool) -> Vec<u8> {
    let file = kernel(true);
    let cubin = Cubin::parse(&file).expect("parses");
    let order = if legal { [0, 1, 3, 2, 4, 5, 6, 7] } else { [0, 2, 1, 3, 4, 5, 6, 7] };
    cubin.rewrite(&[CodeEdit::permuted(&cubin.code()[0], order.to_vec())]).expect("rewritten")
}

/// The same kernel with R16 in place of R6, of the result and both uses.
fn renamed() -> Vec<u8> {
    let file = kernel(true);
    let cubin = Cubin::parse(&file).expect("parses");
    let mut edit = CodeEdit::unchanged(&cubin.code()[0]);
    (edit.words[3], edit.words[4]) = (fadd(16, 20, 21, 5, 0), fadd(7, 16, 16, 5, 0));
    cubin.rewrite(&[edit]).expect("rewritten")
}

/// Twelve instructions that ptxas wrote for sm_52, four of them in front of a partner; one mark was taken away.
fn grouped() -> Vec<u8> {
    let words: [u64; 16] = [
        0x001c_4400_fe00_07f6,
        0x4c98_0780_0087_0001,
        0x4c98_0780_0577_0002,
        0xf0c8_0000_0217_0005,
        0x001f_f400_fe00_07f6,
        0x5c12_0000_0057_2e2e,
        0x3848_0000_0027_2e31,
        0xe240_0000_e988_000f,
        0x081f_c000_e220_07f2,
        0x5bdf_7f80_2057_0002,
        0xf0c8_0000_0257_0006,
        0x4e00_7f80_0567_3003,
        0x001f_c440_fe80_0731,
        0xf0c8_0000_0267_0007,
        0x4f10_7f80_0567_3009,
        0x3829_0000_0027_0200,
    ];
    let mut file = build::cubin();
    let range = Cubin::parse(&file).expect("parses").code()[0].file_range.clone();
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    file[range].copy_from_slice(&bytes);
    file[48..52].copy_from_slice(&0x0600_3404_u32.to_le_bytes());
    file
}

#[test]
fn the_inputs_of_the_sessions_are_these() {
    let whole = kernel(true);
    let mut old = whole.clone();
    old[48..52].copy_from_slice(&0x0600_4b04_u32.to_le_bytes());
    let fatbin = build::fatbin(&[(75, 0, &old, 0), (80, 0, &whole, 0)]);
    let library = build::host(&[&fatbin]);
    Container::parse(&library).expect("a host file");
    let empty = build::elf(62, 0, 0, &[]);
    let files: [(&str, &[u8]); 14] = [
        ("good.cubin", &whole),
        ("bad.cubin", &kernel(false)),
        ("moved.cubin", &reordered(true)),
        ("wrong.cubin", &reordered(false)),
        ("renamed.cubin", &renamed()),
        ("looped.cubin", &looped()),
        ("left.cubin", &left_by_a_call()),
        ("matrix.cubin", &matrix()),
        ("two.fatbin", &fatbin),
        ("lib.so", &library),
        ("host.o", &empty),
        ("cut.cubin", &whole[..200]),
        ("empty.cubin", b""),
        ("../dual_issue.in/grouped.cubin", &grouped()),
    ];
    // What the sessions are expected to write.
    let written = [("../binary.out/same.so", &library[..])];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd/binary.in");
    for (name, bytes) in files.into_iter().chain(written) {
        let path = folder.join(name);
        if std::env::var("TRYCMD").is_ok_and(|mode| mode == "overwrite") {
            std::fs::write(&path, bytes).expect("written");
        }
        assert!(std::fs::read(&path).expect("readable") == bytes, "{name}: TRYCMD=overwrite writes it again");
    }
}
