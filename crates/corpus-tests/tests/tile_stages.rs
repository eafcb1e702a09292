//! How tileiras's kernels move data in their loops, read from its cubins.
#![cfg(feature = "real-tools")]

use sassafras_corpus_tests::stages::{Launch, Movement, Reading, read};
use sassafras_corpus_tests::tile::cubins;
use sassafras_cubin::Cubin;
use sassafras_sass::print::Printer;
use sassafras_sass::program::Program;

/// Every kernel: its name, architecture, shared memory and reading.
fn readings() -> Vec<(String, String, u64, Reading)> {
    let mut found = Vec::new();
    for item in cubins().expect("the corpus") {
        let cubin = Cubin::parse(&item.bytes).expect("a cubin");
        let program = Program::new(&cubin).expect("a known architecture");
        for code in cubin.code().iter().filter(|code| code.is_kernel()) {
            let threads = code.required_threads.or(code.max_threads).expect("a block size").iter().product();
            let launch = Launch { threads, shared: code.shared_bytes };
            let routines = program.lift(code).expect("code");
            let kernel = routines.iter().find(|routine| routine.entry).expect("a kernel");
            let reading = read(&kernel.lifted.function, Some(Printer::new(program.arch())), launch);
            found.push((code.name.to_owned(), item.sm.to_string(), code.shared_bytes, reading));
        }
    }
    found
}

/// Some of them. The sizes of arrays of barrier objects, places and groups are those that the listings of nvdisasm have.
const GOLDEN: [(&str, &str, &str); 18] = [
    ("matmul", "sm_80", "2 (copied, 16384 apart, 1 ahead, 2 open), 2 (copied, 16384 apart, 2 ahead, 3 open)"),
    (
        "matmul",
        "sm_90a",
        "5 (filled 5×1, freed 5×128, 16384 apart), 5 (filled 5×1, freed 5×128, 16384 apart)",
    ),
    ("matmul", "sm_100a", "7 (filled 7×1, freed 6×1, 16384 apart), 6 (filled 6×1, freed 6×1, 16384 apart)"),
    (
        "matmul_activation",
        "sm_90a",
        "3 (filled 3×1, freed 3×128, 32768 apart), 3 (filled 3×1, freed 3×128, 16384 apart)",
    ),
    (
        "matmul_batched",
        "sm_80",
        "4 (copied, 16384 apart, 3 ahead, 3 open), 3 (copied, 8192 apart, 2 ahead, 3 open)",
    ),
    (
        "matmul_batched",
        "sm_90a",
        "8 (filled 8×1, freed 7×128, 16384 apart), 7 (filled 7×1, freed 7×128, 8192 apart)",
    ),
    ("matmul_fp8", "sm_90a", "1 (filled 1×1, freed 1×128), 1 (filled 1×1, freed 1×128)"),
    (
        "matmul_int8",
        "sm_90a",
        "3 (filled 3×1, freed 3×128, 8192 apart), 3 (filled 3×1, freed 3×128, 4096 apart), \
         3 (filled 3×1, freed 3×128, 4096 apart)",
    ),
    (
        "matmul_persistent",
        "sm_80",
        "2 (copied, 16384 apart, 2 ahead, 3 open), 2 (copied, 16384 apart, 1 ahead, 2 open)",
    ),
    ("matmul_split_k", "sm_90a", "2 (filled 2×1, freed 1×128, 8192 apart), 1 (filled 1×1, freed 1×128)"),
    ("attention", "sm_90a", "1 (filled 1×1, freed 1×128), 1 (filled 1×1, freed 1×128)"),
    ("attention", "sm_100a", "3 (filled 3×1, freed 3×1, 8192 apart), 4 (filled 4×1, freed 4×1, 8192 apart)"),
    (
        "convolution",
        "sm_90a",
        "11 (copied, filled 11×128, 4096 apart, 10 ahead); 12 (filled 12×1, freed 12×128, 4096 apart)",
    ),
    (
        "layer_norm",
        "sm_90a",
        "15 (filled 15×1, freed 15×128, 2048 apart); 4 (filled 4×1, freed 4×128, 2048 apart), \
         4 (filled 4×1, freed 4×128, 2048 apart), 4 (filled 4×1, freed 4×128, 2048 apart); \
         4 (stored, ready 4×128, 2048 apart)",
    ),
    ("elementwise", "sm_80", "3 (registers, 3 ahead)"),
    ("reduce", "sm_80", "1 (registers, 0 to 1 ahead)"),
    ("reduce", "sm_90a", "11 (filled 1×1, freed 10×128, 8192 apart, 0 ahead)"),
    ("newton", "sm_90a", ""),
];

#[test]
fn kernels_are_read_as_listed() {
    let readings = readings();
    for (name, arch, expected) in GOLDEN {
        let found = readings.iter().find(|reading| (&*reading.0, &*reading.1) == (name, arch));
        let (.., reading) = found.unwrap_or_else(|| panic!("{name} for {arch} is not in the corpus"));
        assert_eq!(reading.to_string(), expected, "{name} {arch}");
    }
}

/// Nothing is left open, and what is read fits into the memory that the kernels have.
#[test]
fn every_kernel_is_read() {
    let readings = readings();
    assert!(readings.len() >= 50, "{}", readings.len());
    for (name, arch, shared, reading) in readings {
        let mut bytes = 0;
        for transfer in &reading.transfers {
            let slots = transfer.slots.as_ref().unwrap_or_else(|why| panic!("{name} {arch}: {why}"));
            if transfer.movement != Movement::Registers {
                bytes += *slots as u64 * u64::from(transfer.stride.unwrap_or_default());
            }
            // One more than the objects that free it: issued before the wait.
            if let Some(freed) = transfer.freed.filter(|_| transfer.movement != Movement::Store) {
                assert!((freed.count..=freed.count + 1).contains(slots), "{name} {arch}: {transfer}");
            }
        }
        assert!(bytes <= shared, "{name} {arch}: {bytes} of {shared} bytes");
    }
}
