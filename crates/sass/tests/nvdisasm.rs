//! The decoder against NVIDIA's disassembler, on kernels of our own that use nearly every compute instruction.
//!
//! `nvdisasm -plr` prints which registers an instruction reads and writes. It is an oracle with known faults, each of
//! which is excused below by name and nothing else is: see [`excuse`].
#![cfg(feature = "real-tools")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use object::{Object, ObjectSection};
use sassafras_ir::{Effects, Lane, RegClass, verify};
use sassafras_machine::Arch;
use sassafras_sass::{Code, Decoded, Decoder, Flow, lift};
use support::{Line, TARGETS, compile, disassemble, find_tool, snippets, tool};

/// The largest share of opaque instructions: the texture and surface instructions of the snippets, mostly.
const OPAQUE_BAR: f64 = 0.01;

fn arch(name: &str) -> Arch {
    format!("sm_{name}").parse().expect("a known architecture")
}

/// The registers of a decoded instruction as nvdisasm would name them: `(reads, writes)`.
fn sets(inst: &Decoded) -> [BTreeSet<String>; 2] {
    let names = |lanes: &mut dyn Iterator<Item = Lane>| {
        lanes
            .filter(|lane| lane.class() != RegClass::Barrier)
            .map(|lane| lane.to_string())
            .collect::<BTreeSet<_>>()
    };
    let mut reads = names(&mut inst.reads().flat_map(|reg| reg.span.lanes()));
    reads.extend(inst.guard().map(|guard| guard.lane.to_string()));
    [reads, names(&mut inst.writes().flat_map(|reg| reg.span.lanes()))]
}

/// Why nvdisasm's sets may differ from ours, if there is a known reason.
fn excuse(line: &Line, inst: &Decoded, ours: &[BTreeSet<String>; 2]) -> Option<&'static str> {
    let theirs = [&line.reads, &line.writes];
    let only = |mine: bool, i: usize| -> BTreeSet<&String> {
        if mine { ours[i].difference(theirs[i]).collect() } else { theirs[i].difference(&ours[i]).collect() }
    };
    let ours_only: BTreeSet<_> = only(true, 0).union(&only(true, 1)).copied().collect();
    let theirs_only = [only(false, 0), only(false, 1)];
    if inst.never_runs() {
        return Some("guarded by false");
    }
    if inst.effects().contains(Effects::CALL) && ours_only.is_empty() {
        return Some("what the callee touches is listed at the call");
    }
    match inst.mnemonic() {
        Some("P2R" | "R2P") if ours_only.iter().all(|r| r.starts_with('P')) => {
            return Some("predicate masks are not listed");
        }
        Some("LDGSTS") if theirs_only[0].is_empty() => {
            return Some("the predicate operand is listed as written");
        }
        _ => {}
    }
    // UR0 to UR3 and registers beyond the table have no column or are never marked.
    let unlisted = |name: &&String| {
        !line.columns.contains(*name) || matches!(name.as_str(), "UR0" | "UR1" | "UR2" | "UR3")
    };
    (theirs_only.iter().all(BTreeSet::is_empty) && ours_only.iter().all(unlisted)).then_some("not listed")
}

#[derive(Default)]
struct Tally {
    instructions: usize,
    opaque: usize,
    excused: BTreeMap<&'static str, usize>,
    opaque_names: BTreeMap<String, usize>,
}

fn compare(arch_name: &str, lines: &[Line], tally: &mut Tally) {
    let decoder = Decoder::new(arch(arch_name));
    for line in lines {
        let inst = decoder.decode(line.word, line.address);
        tally.instructions += 1;
        if inst.is_opaque() {
            tally.opaque += 1;
            let name = line.text.split([' ', '.']).find(|t| !t.starts_with('@'));
            *tally.opaque_names.entry(name.unwrap_or("?").to_owned()).or_default() += 1;
            continue;
        }
        let ours = sets(&inst);
        if ours[0] == line.reads && ours[1] == line.writes {
            continue;
        }
        let reason = excuse(line, &inst, &ours).unwrap_or_else(|| {
            panic!(
                "sm_{arch_name} {:#034x} {}\n  nvdisasm: reads {:?} writes {:?}\n  decoder: reads {:?} writes {:?}",
                line.word, line.text, line.reads, line.writes, ours[0], ours[1]
            )
        });
        *tally.excused.entry(reason).or_default() += 1;
    }
}

/// Branch targets are where the labels of the listing stand. Returns how many were compared.
fn check_targets(arch_name: &str, listing: &support::Listing) -> usize {
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
        let nvdisasm = find_tool("nvdisasm", release);
        assert!(nvdisasm.is_some() || release == "12.", "no nvdisasm {release}");
        for name in targets {
            let ptx = snippets(name, version);
            let mut tally = Tally::default();
            let mut targets_seen = 0;
            // Unoptimised code brings other forms; one target per family is enough for it.
            let levels: &[&str] = if ["72", "75", "80", "90a", "100a", "120a"].contains(name) {
                &["-O3", "-O0"]
            } else {
                &["-O3"]
            };
            for options in levels {
                let cubin = compile(&ptxas, name, &ptx, &[options], folder.path());
                let (lifted, opaque) = check_lift(name, &cubin);
                assert!(opaque as f64 <= OPAQUE_BAR * lifted as f64, "sm_{name}");
                if let Some(nvdisasm) = &nvdisasm {
                    let listing = disassemble(nvdisasm, &cubin);
                    compare(name, &listing.lines, &mut tally);
                    targets_seen += check_targets(name, &listing);
                }
            }
            if nvdisasm.is_some() {
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
}
