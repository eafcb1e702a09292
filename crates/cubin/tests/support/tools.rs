//! NVIDIA's tools and our kernels compiled with them.
// Every test takes the part it needs.
#![allow(dead_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sassafras_testkit::tools::sm_number;
pub use sassafras_testkit::tools::{succeed, tool};

/// Targets by the ptxas that compiles for them here: the older one where only it can, and to see the older file format.
pub const TARGETS: [(&str, &[&str]); 2] = [
    ("12.", &["70", "72", "90a", "100a"]),
    ("13.", &["75", "80", "86", "89", "90", "90a", "100", "100f", "103", "110", "120", "121"]),
];

/// The kernels that `arch` can run: this crate's and those of `control`.
pub fn kernels(arch: &str) -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<_> = [here.join("tests/ptx"), here.join("../control/tests/ptx")]
        .iter()
        .flat_map(|folder| fs::read_dir(folder).expect("kernels"))
        .map(|entry| entry.expect("entry").path())
        .collect();
    paths.sort();
    paths.retain(|path| {
        let text = fs::read_to_string(path).expect("kernel");
        let needed = text.lines().find_map(|line| line.strip_prefix("// needs sm_"));
        needed.is_none_or(|needed| sm_number(arch) >= needed.parse().expect("a number"))
    });
    paths
}

/// A compiled kernel: the cubin, and what ptxas said.
pub struct Compiled {
    pub name: String,
    pub arch: &'static str,
    pub options: &'static [&'static str],
    pub cubin: Vec<u8>,
    pub messages: String,
}

/// Compiles one kernel file for `arch`.
pub fn compile(
    ptxas: &Path,
    arch: &'static str,
    kernel: &Path,
    options: &'static [&'static str],
    folder: &Path,
) -> Compiled {
    let name = kernel.file_stem().expect("a name").to_str().expect("text");
    let text = fs::read_to_string(kernel).expect("kernel");
    let text: String = text
        .lines()
        .map(|line| match line.split(' ').next() {
            Some(".version") if sm_number(arch) == 110 => ".version 9.0\n".to_owned(),
            Some(".version") => ".version 8.8\n".to_owned(),
            Some(".target") => format!(".target sm_{arch}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    let options_name = options.concat();
    let ptx = folder.join(format!("{name}{options_name}.{arch}.ptx"));
    let path = ptx.with_extension("cubin");
    fs::write(&ptx, text).expect("written");
    let mut command = Command::new(ptxas);
    command.arg("-v").args(options).arg(format!("-arch=sm_{arch}"));
    let messages = succeed(command.arg(&ptx).arg("-o").arg(&path));
    let cubin = fs::read(&path).expect("a cubin");
    Compiled { name: name.to_owned(), arch, options, cubin, messages }
}
