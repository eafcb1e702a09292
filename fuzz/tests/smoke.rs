//! Every fuzz target for about a second: its seeds, then seeds with edits, then plain noise.

use arbtest::arbitrary::{Result, Unstructured};
use sassafras_fuzz::seeds::seeds;
use sassafras_fuzz::{TARGETS, Target};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const BUDGET_MS: u64 = 1000;

fn smoke(name: &str) {
    let Target { run, .. } = *TARGETS.iter().find(|t| t.name == name).expect("a target");
    let seeds = seeds(name).expect("readable seeds");
    let reached = seeds.iter().filter(|seed| run(seed)).count();
    assert!(reached > 0, "no seed of {name} gets past the parser");
    arbtest::arbtest(|u| {
        run(&input(u, &seeds)?);
        Ok(())
    })
    .budget_ms(BUDGET_MS);
}

#[test]
fn text_ir() {
    smoke("text_ir");
}

#[test]
fn knobs() {
    smoke("knobs");
}

#[test]
fn hwprofile() {
    smoke("hwprofile");
}

#[test]
fn control() {
    smoke("control");
}

#[test]
fn dep_graph() {
    smoke("dep_graph");
}

#[test]
fn cubin() {
    smoke("cubin");
}

#[test]
fn container() {
    smoke("container");
}

#[test]
fn sass_decode() {
    smoke("sass_decode");
}

#[test]
fn ptx() {
    smoke("ptx");
}

#[test]
fn ptx_pair() {
    smoke("ptx_pair");
}

#[test]
fn cuda_tile() {
    smoke("cuda_tile");
}

#[test]
fn tile_text() {
    smoke("tile_text");
}

/// A seed with a few edits, or noise.
fn input(u: &mut Unstructured<'_>, seeds: &[Vec<u8>]) -> Result<Vec<u8>> {
    if u.ratio(1, 8)? {
        return Ok(u.arbitrary::<&[u8]>()?.to_vec());
    }
    let mut data = u.choose(seeds)?.clone();
    for _ in 0..u.int_in_range(1..=6)? {
        let at = u.int_in_range(0..=data.len())?;
        let byte = u.arbitrary()?;
        match u.int_in_range(0..=4)? {
            0 => data.insert(at, byte),
            1 => data.truncate(at),
            2 => {
                // A piece of some seed, so that words of the format end up in wrong places.
                let other = u.choose(seeds)?;
                let start = u.int_in_range(0..=other.len())?;
                let end = (start + u.int_in_range(0..=16)?).min(other.len());
                data.splice(at..at, other[start..end].iter().copied());
            }
            3 if at < data.len() => drop(data.remove(at)),
            _ if at < data.len() => data[at] = byte,
            _ => data.push(byte),
        }
    }
    Ok(data)
}

/// The list in the library, the shims and the binaries of the manifest are the same.
#[test]
fn every_target_has_a_shim() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listed: BTreeSet<String> = TARGETS.iter().map(|t| t.name.to_owned()).collect();
    let shims: BTreeSet<String> = fs::read_dir(here.join("fuzz_targets"))
        .expect("shims")
        .map(|entry| entry.expect("entry").path().file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    assert_eq!(listed, shims);
    let manifest = fs::read_to_string(here.join("Cargo.toml")).expect("manifest");
    for name in listed {
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
    }
}
