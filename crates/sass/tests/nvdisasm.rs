//! The decoder against NVIDIA's disassembler, on kernels of our own that use nearly every compute instruction.
//!
//! `nvdisasm -plr` prints which registers an instruction reads and writes. It is an oracle with known faults, which
//! `testkit::nvdisasm` lists and explains, and [`is_known`]; nothing else is excused.
#![cfg(feature = "real-tools")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use object::{Object, ObjectSection};
use sassafras_ir::{RegClass, verify};
use sassafras_machine::{Arch, Category};
use sassafras_sass::{Code, Decoded, Decoder, Flow, lift};
use sassafras_testkit::nvdisasm::{self, Difference, Line, Listing, Verdict, disassemble};
use sassafras_testkit::tools::tool;
use support::claim::claim;
use support::{TARGETS, compile, snippets};

/// The largest share of instructions that the tables do not describe.
const OPAQUE_BAR: f64 = 0.0005;
/// And of those that are opaque once lifted: what reads the program counter, branches to unknown places.
const LIFTED_OPAQUE_BAR: f64 = 0.01;

fn arch(name: &str) -> Arch {
    format!("sm_{name}").parse().expect("a known architecture")
}

#[derive(Default)]
struct Tally {
    instructions: usize,
    opaque: usize,
    excused: BTreeMap<&'static str, usize>,
    opaque_names: BTreeMap<String, usize>,
}

/// Faults of nvdisasm in instructions that only these kernels have: masks of uniform predicates are not listed, and from
/// sm_100 on only the first register is, of the second source and of the second result of a texture instruction.
fn is_known(inst: &Decoded, difference: &Difference) -> bool {
    let mut extra = difference.extra_reads.iter().chain(&difference.extra_writes);
    difference.missing_reads.is_empty()
        && difference.missing_writes.is_empty()
        && match inst.mnemonic() {
            Some("UP2UR" | "UR2UP") => extra.all(|lane| lane.class() == RegClass::UPred),
            _ => {
                inst.category() == Some(Category::Texture) && extra.all(|lane| lane.class() == RegClass::Gpr)
            }
        }
}

fn compare(arch_name: &str, lines: &[Line], tally: &mut Tally) {
    let decoder = Decoder::new(arch(arch_name));
    for line in lines {
        let inst = decoder.decode(line.word, line.address);
        tally.instructions += 1;
        if inst.is_opaque() {
            tally.opaque += 1;
            *tally.opaque_names.entry(line.mnemonic().to_owned()).or_default() += 1;
            continue;
        }
        let claim = claim(&inst);
        match nvdisasm::compare(&claim, line) {
            Verdict::Same => {}
            Verdict::Fault(fault) => *tally.excused.entry(fault.name).or_default() += 1,
            Verdict::Different(difference) if is_known(&inst, &difference) => {
                *tally.excused.entry("decoder's own list").or_default() += 1;
            }
            Verdict::Different(_) => panic!(
                "sm_{arch_name} {:#034x} {}\n  nvdisasm: reads {:?} writes {:?}\n  decoder: reads {:?} writes {:?}",
                line.word, line.text, line.reads, line.writes, claim.reads, claim.writes
            ),
        }
    }
}

/// Branch targets are where the labels of the listing stand. Returns how many were compared.
fn check_targets(arch_name: &str, listing: &Listing) -> usize {
    let decoder = Decoder::new(arch(arch_name));
    let mut seen = 0;
    for line in &listing.lines {
        let target = match decoder.decode(line.word, line.address).flow() {
            Flow::Branch { target } | Flow::Reconverge { target } | Flow::Call { target } => target,
            _ => continue,
        };
        let Some(label) = line.text.split("`(").nth(1).and_then(|t| t.split(')').next()) else {
            continue;
        };
        if let Some(&expected) = listing.labels.get(&(line.section.clone(), label.to_owned())) {
            assert_eq!(target, expected, "sm_{arch_name}: {}", line.text);
            seen += 1;
        }
    }
    seen
}

/// Every function lifts to an IR function that keeps the IR's rules. Returns `(instructions, opaque)`.
fn check_lift(arch_name: &str, cubin: &Path) -> (usize, usize) {
    let data = fs::read(cubin).expect("cubin");
    let file = object::File::parse(&*data).expect("an ELF file");
    let mut total = (0, 0);
    for section in file.sections() {
        let Some(name) = section.name().ok().and_then(|n| n.strip_prefix(".text.")) else {
            continue;
        };
        let lifted = lift(&Code {
            name,
            arch: arch(arch_name),
            bytes: section.data().expect("in the file"),
            indirect: &[],
            jumps: &[],
        })
        .unwrap_or_else(|e| panic!("sm_{arch_name}: {e}"));
        if let Err(broken) = verify::verify(&lifted.function) {
            panic!("sm_{arch_name} {name}: {broken:?}");
        }
        total.0 += lifted.function.inst_count();
        total.1 += lifted.opaque;
    }
    total
}

#[test]
fn register_sets_agree_with_nvdisasm() {
    let folder = tempfile::tempdir().expect("a folder");
    for (release, version, targets) in TARGETS {
        let ptxas = tool("ptxas", release);
        // Only a disassembler of the same generation lists registers.
        let nvdisasm = tool("nvdisasm", release);
        for name in targets {
            let ptx = snippets(name, version);
            let mut tally = Tally::default();
            let mut targets_seen = 0;
            // Unoptimised code brings other forms; one target per family is enough for it.
            let levels: &[&str] = if ["72", "75", "80", "90a", "100a", "107a", "120a"].contains(name) {
                &["-O3", "-O0"]
            } else {
                &["-O3"]
            };
            for options in levels {
                let cubin = compile(&ptxas, name, &ptx, &[options], folder.path());
                let (lifted, opaque) = check_lift(name, &cubin);
                assert!(opaque as f64 <= LIFTED_OPAQUE_BAR * lifted as f64, "sm_{name}");
                let listing = disassemble(&nvdisasm, &cubin);
                compare(name, &listing.lines, &mut tally);
                targets_seen += check_targets(name, &listing);
            }
            assert!(tally.instructions > 5_000 && targets_seen > 100, "sm_{name}");
            let share = tally.opaque as f64 / tally.instructions as f64;
            eprintln!(
                "sm_{name}: {} instructions, {:.3} % opaque {:?}, {targets_seen} targets, excused {:?}",
                tally.instructions,
                100.0 * share,
                tally.opaque_names,
                tally.excused
            );
            assert!(share <= OPAQUE_BAR, "sm_{name}: {share}");
        }
    }
}

/// nvdisasm is given every opcode; what it calls a branch, call, return or exit has that role here too.
#[test]
fn no_branch_is_unknown_to_the_decoder() {
    const LEAVE: [&str; 12] =
        ["BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU", "CALL", "RET", "EXIT", "KILL", "RTT", "BRU"];
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("words.bin");
    let nvdisasm = tool("nvdisasm", "13.");
    for name in ["75", "80", "86", "89", "90", "100", "103", "107", "110", "120", "121"] {
        let decoder = Decoder::new(arch(name));
        // Two words for every opcode: uniform forms need the bit that says so.
        let words: Vec<u128> = (0..0x1000u128)
            .filter(|opcode| opcode & 0x1ff != 0x122) // attribute stores: nvdisasm stops at them
            .flat_map(|opcode| [0, 1u128 << 91].map(|uniform| CONTROL | 7 << 87 | uniform | 0x7000 | opcode))
            .collect();
        let run = |words: &[u128]| {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            fs::write(&file, bytes).expect("written");
            sassafras_testkit::tools::run(
                std::process::Command::new(&nvdisasm).args(["-b", &format!("SM{name}"), "-hex"]).arg(&file),
            )
        };
        let out = run(&words);
        let errors = String::from_utf8_lossy(&out.stderr).into_owned();
        let illegal: std::collections::BTreeSet<usize> = (errors.split("at address 0x").skip(1))
            .filter_map(|tail| usize::from_str_radix(tail.get(..8)?, 16).ok())
            .map(|address| address / 16)
            .collect();
        let legal: Vec<u128> =
            words.iter().enumerate().filter(|(i, _)| !illegal.contains(i)).map(|(_, word)| *word).collect();
        let listing = run(&legal);
        let text = String::from_utf8_lossy(&listing.stdout).into_owned();
        let mut branches = 0;
        for line in text.lines().filter(|line| line.trim_start().starts_with("/*")) {
            let Some((address, rest)) = line.trim_start()[2..].split_once("*/") else { continue };
            let Ok(address) = usize::from_str_radix(address, 16) else { continue };
            let mnemonic = rest.trim_start().split([' ', '.', ';']).next().unwrap_or_default();
            if LEAVE.contains(&mnemonic) {
                let inst = decoder.decode(legal[address / 16], 0);
                assert!(!inst.is_opaque() && inst.flow() != Flow::Next, "sm_{name}: {}", rest.trim());
                branches += 1;
            }
        }
        assert!(branches > 10, "sm_{name}: {branches} of {} words", legal.len());
    }
}

/// Control bits that nvdisasm accepts for every instruction.
const CONTROL: u128 = (4 | 7 << 5 | 7 << 8) << 105;
