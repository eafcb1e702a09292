//! List strategies after register allocation on compiled kernels, with anti-dependences broken as the knobs say. Everything is verified again.
#![cfg(feature = "real-tools")]

use sassafras_testkit::tools::succeed;
use std::path::{Path, PathBuf};
use std::process::Command;

const SASSAFRAS: &str = env!("CARGO_BIN_EXE_sassafras");
/// Kernels of the corpus with registers to spare and without.
const KERNELS: [&str; 4] = ["fft", "nbody", "softmax", "stencil_f64"];

fn cubin(name: &str) -> PathBuf {
    let corpus = std::env::var_os("SASSAFRAS_CORPUS").expect("the corpus, which `cargo xtask test` makes");
    Path::new(&corpus).join("sm_90").join(format!("{name}.cubin"))
}

/// Instructions with other registers, and those elsewhere.
fn scheduled(strategy: &str, knobs: &[&str]) -> (u64, u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let new = folder.path().join("new.cubin");
    let (mut renamed, mut moved) = (0, 0);
    for name in KERNELS {
        let old = cubin(name);
        let mut command = Command::new(SASSAFRAS);
        command.args(["schedule", "--json", "--strategy", strategy, "-o"]).arg(&new).arg(&old);
        command.args(knobs.iter().flat_map(|knob| ["--knob", knob]));
        let report: serde_json::Value = serde_json::from_str(&succeed(&mut command)).expect("JSON");
        for kernel in report["kernels"].as_array().expect("kernels") {
            assert!(kernel["kept"].is_null(), "{name}: {kernel}");
            renamed += kernel["renamed"].as_u64().expect("a number");
            moved += kernel["moved"].as_u64().expect("a number");
        }
        succeed(Command::new(SASSAFRAS).arg("verify").arg(&new).arg("--against").arg(&old));
    }
    (renamed, moved)
}

#[test]
fn anti_dependences_are_broken_as_the_knobs_say() {
    for strategy in ["converge", "ilpmax", "ilpmin"] {
        let (none, _) = scheduled(strategy, &[]);
        let (critical, _) = scheduled(strategy, &["break-anti-dependencies=critical"]);
        let (all, _) = scheduled(strategy, &["break-anti-dependencies=all"]);
        assert_eq!(none, 0, "{strategy}");
        assert!(0 < critical && 0 < all && critical != all, "{strategy}: {critical}, {all}");
        let half = ["break-anti-dependencies=all", "agg-antidep-debugdiv=true"];
        let (even, _) = scheduled(strategy, &half);
        let (odd, _) = scheduled(strategy, &[&half[..], &["agg-antidep-debugmod=true"]].concat());
        // Not fewer than all in sum: where there are no registers for all values, half of them may fit.
        assert!(even != all && odd != all && even != odd, "{strategy}: {even}, {odd}, {all}");
    }
}

#[test]
fn scheduling_after_allocation_can_be_turned_off() {
    assert!(scheduled("converge", &[]).1 > 0);
    assert_eq!(scheduled("converge", &["enable-post-misched=false"]), (0, 0));
}
