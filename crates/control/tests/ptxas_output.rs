//! The rules of `Control` against what NVIDIA's own tools write and accept.
//!
//! ptxas output is the ground truth: every instruction that it writes for our kernels, on every supported generation,
//! must decode, validate and encode back to the same bits. No nvdisasm prints stall, yield or scoreboards, but it does
//! print `.reuse`, and it refuses undefined stall/yield/reuse codes: both serve as oracles.
#![cfg(feature = "real-tools")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSection};
use sassafras_control::maxwell::{GROUP_BYTES, GroupControl, Slot};
use sassafras_control::{Control, Family, Field, RawControl, volta};
use sassafras_testkit::tools::{run, sm_number, tool};

/// Targets by the tool that still knows them; 13.4 dropped everything before sm_75.
const TARGETS: [(&str, &[&str]); 2] = [
    ("12.", &["50", "52", "60", "61", "70"]),
    ("13.", &["75", "80", "86", "89", "90", "90a", "100", "103", "120", "121"]),
];

const HEADER_LINES: [&str; 3] = [".version", ".target", ".address_size"];

/// All our kernels as one module for `arch`.
fn module(arch: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ptx");
    let mut paths: Vec<_> =
        fs::read_dir(folder).expect("kernels").map(|e| e.expect("entry").path()).collect();
    paths.sort();
    let mut text = format!(".version 8.8\n.target sm_{arch}\n.address_size 64\n");
    for path in paths {
        if path.ends_with("half.ptx") && sm_number(arch) < 53 {
            continue;
        }
        let kernel = fs::read_to_string(path).expect("kernel");
        text.extend(
            kernel
                .lines()
                .filter(|line| !HEADER_LINES.iter().any(|header| line.starts_with(header)))
                .flat_map(|line| [line, "\n"]),
        );
    }
    text
}

/// Compiles the module and returns the cubin's path.
fn compile(ptxas: &Path, arch: &str, folder: &Path) -> PathBuf {
    let (ptx, cubin) = (folder.join(format!("{arch}.ptx")), folder.join(format!("{arch}.cubin")));
    fs::write(&ptx, module(arch)).expect("written");
    let out = run(Command::new(ptxas).arg(format!("-arch=sm_{arch}")).arg(&ptx).arg("-o").arg(&cubin));
    assert!(out.status.success(), "sm_{arch}: {}", String::from_utf8_lossy(&out.stderr));
    cubin
}

/// The code sections of a cubin: name and bytes.
fn code(cubin: &Path) -> Vec<(String, Vec<u8>)> {
    let data = fs::read(cubin).expect("cubin");
    let file = object::File::parse(&*data).expect("an ELF file");
    file.sections()
        .filter_map(|section| {
            let name = section.name().ok()?.strip_prefix(".text.")?.to_owned();
            Some((name, section.data().expect("in the file").to_vec()))
        })
        .collect()
}

fn words128(code: &[u8]) -> Vec<u128> {
    let (words, rest) = code.as_chunks::<16>();
    assert!(rest.is_empty());
    words.iter().map(|&bytes| u128::from_le_bytes(bytes)).collect()
}

/// Round trips every control word of a code section through its carrier.
fn controls(code: &[u8], family: Family) -> Vec<RawControl> {
    match family {
        Family::Volta => words128(code)
            .into_iter()
            .map(|word| {
                let raw = volta::read(word);
                assert_eq!(volta::insert(word & !volta::MASK, raw), word);
                raw
            })
            .collect(),
        Family::Maxwell => {
            let (groups, rest) = code.as_chunks::<GROUP_BYTES>();
            assert!(rest.is_empty());
            let word =
                |group: &[u8; GROUP_BYTES]| u64::from_le_bytes(group[..8].try_into().expect("eight bytes"));
            groups
                .iter()
                .flat_map(|group| {
                    let control = GroupControl::from_bits(word(group));
                    let cleared = GroupControl::from_bits(control.bits() & 1 << 63);
                    let rebuilt =
                        Slot::ALL.iter().fold(cleared, |to, &slot| to.with(slot, control.get(slot)));
                    assert_eq!(rebuilt, control);
                    Slot::ALL.map(|slot| control.get(slot))
                })
                .collect()
        }
    }
}

#[test]
fn ptxas_writes_only_legal_control_words() {
    let folder = tempfile::tempdir().expect("a folder");
    for (release, targets) in TARGETS {
        let ptxas = tool("ptxas", release);
        for arch in targets {
            let family = Family::from_sm(sm_number(arch)).expect("supported");
            let mut seen = 0;
            for (kernel, code) in code(&compile(&ptxas, arch, folder.path())) {
                for (index, raw) in controls(&code, family).into_iter().enumerate() {
                    let control = Control::try_new(raw, family)
                        .unwrap_or_else(|e| panic!("sm_{arch} {kernel} instruction {index}: {raw}: {e}"));
                    assert_eq!(RawControl::from_fields(raw.fields()), Ok(control.raw()));
                    seen += 1;
                }
            }
            assert!(seen > 700, "sm_{arch}: only {seen} instructions");
        }
    }
}

/// Bit 4 has the same polarity in both families: ptxas sets it wherever it uses the reuse cache, which a switch to
/// another warp would spoil, and a clear bit with stall 0 is the padding's. Both kinds occur, so neither claim is empty.
#[test]
fn the_yield_bit_of_maxwell_is_clear_to_yield() {
    let folder = tempfile::tempdir().expect("a folder");
    let ptxas = tool("ptxas", TARGETS[0].0);
    for arch in ["50", "61"] {
        let cubin = compile(&ptxas, arch, folder.path());
        let all: Vec<_> = code(&cubin).iter().flat_map(|(_, code)| controls(code, Family::Maxwell)).collect();
        let reusing = all.iter().filter(|raw| raw.get(Field::Reuse) != 0).collect::<Vec<_>>();
        assert!(reusing.len() > 100 && reusing.iter().all(|raw| raw.get(Field::Yield) == 1));
        assert!(all.iter().any(|raw| raw.get(Field::Yield) == 0 && raw.get(Field::Stall) > 0));
        assert!(all.iter().any(|raw| raw.get(Field::Yield) == 1 && raw.get(Field::Stall) == 0), "dual issue");
    }
}

/// `(encoding, text)` of every instruction in an `nvdisasm -hex` listing.
fn listing(text: &str) -> Vec<(u128, String)> {
    let hex = |line: &str| {
        let (_, tail) = line.rsplit_once("/* 0x")?;
        u128::from(u64::from_str_radix(tail.split_once(" */")?.0, 16).ok()?).into()
    };
    let mut lines = text.lines();
    let mut out = Vec::new();
    while let Some(line) = lines.next() {
        let Some(low) = line.trim_start().starts_with("/*").then(|| hex(line)).flatten() else {
            continue;
        };
        let high: Option<u128> = lines.next().and_then(hex);
        let high = high.expect("the high half follows on its own line");
        out.push((low | high << 64, line.to_owned()));
    }
    out
}

#[test]
fn nvdisasm_prints_the_reuse_flags_that_we_decode() {
    let folder = tempfile::tempdir().expect("a folder");
    let (release, targets) = TARGETS[1];
    let (ptxas, nvdisasm) = (tool("ptxas", release), tool("nvdisasm", release));
    for arch in targets {
        let cubin = compile(&ptxas, arch, folder.path());
        let out = run(Command::new(&nvdisasm).args(["-c", "-hex"]).arg(&cubin));
        let listing = listing(&String::from_utf8_lossy(&out.stdout));
        let expected: usize = code(&cubin).iter().map(|(_, code)| code.len() / 16).sum();
        assert_eq!(listing.len(), expected, "sm_{arch}");
        let mut flags = 0;
        for (word, text) in listing {
            let reuse = Control::try_from(volta::read(word)).expect("legal").reuse();
            assert_eq!(
                text.matches(".reuse").count(),
                reuse.bits().count_ones() as usize,
                "sm_{arch}: {text}"
            );
            flags += reuse.bits().count_ones();
        }
        assert!(flags > 50, "sm_{arch}: only {flags} reuse flags");
    }
}

/// nvdisasm knows which stall/yield/reuse codes exist: it takes every one that `Control` takes and none of those that
/// break a rule about them.
#[test]
fn nvdisasm_agrees_on_the_stall_yield_reuse_codes() {
    const FFMA: u128 = 0x0c4f_e400_0000_000e_0000_0007_070e_1223;
    let folder = tempfile::tempdir().expect("a folder");
    let nvdisasm = tool("nvdisasm", TARGETS[1].0);
    let raw_file = folder.path().join("code.bin");
    let disassemble = |arch: &str, controls: &[RawControl]| {
        let bytes: Vec<u8> =
            controls.iter().flat_map(|&control| volta::insert(FFMA, control).to_le_bytes()).collect();
        fs::write(&raw_file, bytes).expect("written");
        run(Command::new(&nvdisasm).args(["-b", arch, "-hex"]).arg(&raw_file))
    };
    let code = |stall, yields, reuse| RawControl::from_fields([stall, yields, 7, 7, 0, reuse]).expect("fits");
    let mut legal = Vec::new();
    for (yields, reuse) in (0..2).flat_map(|y| (0..8).map(move |r| (y, r))) {
        legal.extend((0..16).map(|s| code(s, yields, reuse)).filter(|&raw| Control::try_from(raw).is_ok()));
    }
    let illegal = [
        code(0, 1, 0),
        code(0, 1, 1),
        code(12, 1, 0),
        code(13, 1, 0),
        code(14, 1, 3),
        code(15, 1, 0),
        code(0, 0, 1),
        code(4, 0, 6),
        code(15, 0, 7),
    ];
    for arch in ["SM75", "SM90", "SM120"] {
        let out = disassemble(arch, &legal);
        assert!(out.status.success(), "{arch}: {}", String::from_utf8_lossy(&out.stderr));
        let listing = listing(&String::from_utf8_lossy(&out.stdout));
        assert_eq!(listing.len(), legal.len(), "{arch}");
        for raw in illegal {
            assert!(Control::try_from(raw).is_err(), "{raw}");
            assert!(!disassemble(arch, &[raw]).status.success(), "{arch} takes {raw}");
        }
    }
}
