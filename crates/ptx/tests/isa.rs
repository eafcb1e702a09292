//! Instructions in every shape that the table has rows for (`tests/isa`): all are understood, and ptxas takes them.

use sassafras_ir::{Effects, verify};
use sassafras_ptx::table::Table;
use sassafras_ptx::{Module, lower};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/isa");
    let mut files: Vec<_> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

#[test]
fn every_opcode_of_the_table_is_understood() {
    let mut seen = BTreeSet::new();
    for path in files() {
        let text = fs::read_to_string(&path).expect("a file");
        let module = Module::parse(&text).unwrap_or_else(|e| panic!("{}", e.render("isa", &text, false)));
        for function in module.functions().iter().filter(|f| f.has_body()) {
            let lowered = lower(&module, function).expect("small");
            verify::verify(&lowered.function).expect("sound");
            let ir = &lowered.function;
            for &inst in ir.blocks().flat_map(|block| ir.block_insts(block)) {
                let Some(ptx) = lowered.inst(inst) else { continue };
                let data = module.inst(ptx);
                let opaque = ir.inst(inst).effects.contains(Effects::OPAQUE);
                assert!(!opaque, "{}: {}", path.display(), module.text(data.span()));
                seen.insert(module.text(data.opcode()).split('.').next().unwrap_or_default().to_owned());
            }
        }
    }
    let missing: Vec<&str> = Table::get().opcodes().into_iter().filter(|o| !seen.contains(*o)).collect();
    assert!(missing.is_empty(), "no file of tests/isa has {missing:?}");
}

#[cfg(feature = "real-tools")]
#[test]
fn ptxas_takes_them() {
    use sassafras_testkit::tools::{succeed, tool};
    let scratch = tempfile::tempdir().expect("a folder");
    for path in files() {
        let arch = format!("-arch={}", path.file_stem().expect("an architecture").to_string_lossy());
        let mut ptxas = std::process::Command::new(tool("ptxas", "13."));
        succeed(ptxas.arg("-O0").arg(arch).arg(&path).arg("-o").arg(scratch.path().join("out.cubin")));
    }
}
