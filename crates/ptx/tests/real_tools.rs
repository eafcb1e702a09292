//! PTX as nvcc, Triton and LLVM write it: the corpus and the benchmark suite.
//!
//! Every module prints byte for byte and lowers to sound IR with next to nothing opaque. Roles are tried by what compilers do
//! not write: registers that are read and never set, results that nobody wants. ptxas takes the modules with their blocks in random
//! orders that keep all dependences.
#![cfg(feature = "real-tools")]

mod support;

use rayon::prelude::*;
use sassafras_ir::{Effects, RegClass, verify};
use sassafras_ptx::{Module, lower};
use sassafras_testkit::rng::Rng;
use sassafras_testkit::tools::{run, tool};
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use support::{read_again, shuffle};

/// A module and where it is from.
struct Item {
    name: String,
    text: String,
}

fn corpus() -> Vec<Item> {
    let folder = std::env::var_os("SASSAFRAS_CORPUS")
        .expect("SASSAFRAS_CORPUS is not set: run `cargo xtask test`, which compiles the corpus and sets it");
    let folder = PathBuf::from(folder);
    let manifest = fs::read_to_string(folder.join("manifest.json")).expect("a manifest");
    let manifest: serde_json::Value = serde_json::from_str(&manifest).expect("JSON");
    let entries = manifest["ptx"].as_array().expect("a list of PTX files");
    let item = |entry: &serde_json::Value| {
        let name = entry["path"].as_str().expect("a path").to_owned();
        let text = fs::read_to_string(folder.join(&name)).expect("a PTX file of the corpus");
        Item { name, text }
    };
    entries.iter().map(item).collect()
}

/// The kernels of the benchmark suite, compiled here.
fn suite() -> Vec<Item> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/gpu/suite/cuda");
    let scratch = tempfile::tempdir().expect("a folder");
    let nvcc = tool("nvcc", "13.");
    let files: Vec<PathBuf> =
        fs::read_dir(folder).expect("the suite").map(|entry| entry.expect("an entry").path()).collect();
    let compile = |path: &PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let out = scratch.path().join(format!("{name}.ptx"));
        let mut command = Command::new(&nvcc);
        command.args(["-ptx", "-O3", "-std=c++17", "-allow-unsupported-compiler", "-arch=compute_90"]);
        let done = run(command.arg(path).arg("-o").arg(&out));
        assert!(done.status.success(), "{name}: {}", String::from_utf8_lossy(&done.stderr));
        Item { name: format!("suite/{name}.ptx"), text: fs::read_to_string(out).expect("PTX") }
    };
    let mut items: Vec<Item> = files.par_iter().map(compile).collect();
    items.extend(triton_suite(scratch.path()));
    items
}

fn triton_suite(scratch: &Path) -> Vec<Item> {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/gpu/suite");
    let tools = PathBuf::from(std::env::var_os("SASSAFRAS_TOOLS").expect("found nvcc below it"));
    let files: Vec<PathBuf> = fs::read_dir(suite.join("triton"))
        .expect("the suite")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "py"))
        .collect();
    let compile = |path: &PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let out = scratch.join(format!("triton-{name}.ptx"));
        let own = scratch.join(format!("cache-{name}"));
        let mut python = Command::new("python3");
        python.arg(suite.join("triton_ptx.py")).arg(path).arg(&out).arg(scratch.join(format!("{name}.json")));
        python.env("PYTHONPATH", tools.join("triton34/site-packages")).env("PYTHONDONTWRITEBYTECODE", "1");
        let done = run(python.env("TRITON_CACHE_DIR", &own).env("TRITON_HOME", &own));
        assert!(done.status.success(), "{name}: {}", String::from_utf8_lossy(&done.stderr));
        Item { name: format!("suite/triton-{name}.ptx"), text: fs::read_to_string(out).expect("PTX") }
    };
    files.par_iter().map(compile).collect()
}

#[test]
fn every_module_prints_and_lowers() {
    let mut items = corpus();
    assert!(items.len() > 150, "only {} modules in the corpus", items.len());
    items.extend(suite());
    let bytes: usize = items.iter().map(|item| item.text.len()).sum();
    let start = Instant::now();
    let modules: Vec<Module> = items
        .iter()
        .map(|item| match Module::parse(&item.text) {
            Ok(module) => module,
            Err(error) => panic!("{}", error.render(&item.name, &item.text, false)),
        })
        .collect();
    let parsing = start.elapsed().as_secs_f64();
    let (mut insts, mut opaque, mut blocks) = (0, 0, 0);
    let mut unknown: BTreeMap<String, usize> = BTreeMap::new();
    for (item, module) in items.iter().zip(&modules) {
        assert!(module.print() == item.text, "{} does not print as it was read", item.name);
        blocks += module.block_count();
        for function in module.functions().iter().filter(|f| f.has_body()) {
            let lowered = lower(module, function).unwrap_or_else(|e| panic!("{}: {e}", item.name));
            if let Err(broken) = verify::verify(&lowered.function) {
                panic!("{}: {}: {broken:?}", item.name, module.text(function.name()));
            }
            insts += lowered.function.inst_count();
            opaque += lowered.opaque;
            for block in lowered.function.blocks() {
                for &inst in lowered.function.block_insts(block) {
                    let data = lowered.function.inst(inst);
                    if data.effects.contains(Effects::OPAQUE) {
                        *unknown.entry(lowered.function.opcode_text(data.opcode).to_owned()).or_default() +=
                            1;
                    }
                }
            }
        }
    }
    eprintln!(
        "{} modules, {bytes} bytes, {insts} instructions in {blocks} blocks, {opaque} opaque; parsed at {:.0} MB/s",
        items.len(),
        bytes as f64 / parsing / 1e6
    );
    assert!(opaque * 1000 <= insts * 5, "{opaque} of {insts} are opaque: {unknown:?}");
    for (opcode, count) in unknown {
        eprintln!("  opaque: {opcode} {count}");
    }
}

/// Opcodes that compilers write for something else than their result: memory that changes, one element of several.
const DEAD_RESULTS: [&str; 7] = ["atom", "elect", "ld", "mov", "shfl", "tex", "tld4"];

#[test]
fn roles_are_those_that_compilers_have_in_mind() {
    for item in corpus() {
        let module = Module::parse(&item.text).expect("parsed by the other test");
        for function in module.functions().iter().filter(|f| f.has_body()) {
            let ir = lower(&module, function).expect("lowered by the other test").function;
            let registers = ir.inputs.iter().filter(|span| span.class() != RegClass::Uniform);
            assert_eq!(registers.count(), 0, "{}: registers that nothing writes", item.name);
            let mut read = HashSet::new();
            let insts = || ir.blocks().flat_map(|block| ir.block_insts(block));
            for &inst in insts() {
                ir.for_each_read(inst, |r| {
                    read.insert(r.lane);
                });
            }
            for &inst in insts() {
                let opcode = ir.opcode_text(ir.inst(inst).opcode);
                let base = opcode.split('.').next().unwrap_or_default();
                ir.for_each_write(inst, |w| {
                    assert!(
                        read.contains(&w.lane) || DEAD_RESULTS.contains(&base),
                        "{}: nobody reads what {opcode} writes",
                        item.name
                    );
                });
            }
        }
    }
}

/// Assembles; returns the cubin.
fn assemble(folder: &Path, name: &str, arch: &str, text: &str, level: &str) -> Vec<u8> {
    let path = folder.join(format!("{name}.ptx"));
    let out = folder.join(format!("{name}.cubin"));
    fs::write(&path, text).expect("room");
    let done = run(Command::new(tool("ptxas", "13."))
        .arg(level)
        .arg(format!("-arch={arch}"))
        .arg(&path)
        .arg("-o")
        .arg(&out));
    assert!(done.status.success(), "{name}: {}", String::from_utf8_lossy(&done.stderr));
    fs::read(out).expect("a cubin")
}

/// Modules for architectures that the present ptxas knows.
fn recent() -> Vec<Item> {
    let folders =
        ["compute_80/", "compute_90/", "compute_90a/", "compute_100a/", "triton_90a/", "triton_100a/"];
    corpus().into_iter().filter(|item| folders.iter().any(|f| item.name.contains(f))).collect()
}

/// ptxas takes operands in exchanged places, immediates too.
#[test]
fn ptxas_takes_exchanged_operands() {
    let items = recent();
    let scratch = tempfile::tempdir().expect("a folder");
    let exchanged: usize = items
        .par_iter()
        .enumerate()
        .map(|(number, item)| {
            let mut module = Module::parse(&item.text).expect("parsed by the other test");
            let arch = module.target().expect("a target").to_owned();
            let insts: Vec<_> = module.functions().iter().flat_map(|f| f.insts()).collect();
            let exchanged = insts.iter().filter(|&&inst| module.commute(inst).is_ok()).count();
            assemble(scratch.path(), &format!("{number}"), &arch, &module.print(), "-O0");
            exchanged
        })
        .sum();
    eprintln!("{} modules, {exchanged} instructions with exchanged operands", items.len());
    assert!(exchanged > 10_000, "only {exchanged}");
}

#[test]
fn ptxas_takes_shuffled_blocks() {
    let items = recent();
    let scratch = tempfile::tempdir().expect("a folder");
    let moved: usize = items
        .par_iter()
        .enumerate()
        .map(|(number, item)| {
            let mut module = Module::parse(&item.text).expect("parsed by the other test");
            let arch = module.target().expect("a target").to_owned();
            let originals: Vec<_> = module.blocks().map(|block| (block, module.order(block))).collect();
            let moved = shuffle(&mut module, &mut Rng::new(number as u64));
            read_again(&module);
            let name = format!("{number}");
            // Unoptimized: what is tried is that the text is legal.
            assemble(scratch.path(), &name, &arch, &module.print(), "-O0");
            for (block, order) in originals {
                module.reorder(block, &order).expect("its own order");
            }
            let restored = module.print();
            assert!(restored == item.text, "{} is not restored", item.name);
            if number % 20 == 0 {
                let cubin = |text| assemble(scratch.path(), &name, &arch, text, "-O1");
                assert!(cubin(&restored) == cubin(&item.text), "{} compiles to something else", item.name);
            }
            moved
        })
        .sum();
    eprintln!("{} modules, {moved} instructions moved", items.len());
    assert!(moved > 10_000, "only {moved} instructions moved");
}
