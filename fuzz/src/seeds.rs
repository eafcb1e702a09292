//! Inputs to start from: the files of `fuzz/seeds/<target>/`, and what is made here because it is binary or random.

use sassafras_hwprofile::Profile;
use sassafras_ir::{Module, text};
use sassafras_machine::Arch;
use sassafras_testkit::random::{Shape, function};
use sassafras_testkit::rng::Rng;
use std::path::Path;
use std::{fs, io};

// What the tests of the crate build by hand.
#[path = "../../crates/cubin/tests/support/build.rs"]
#[allow(missing_docs)]
mod build;
#[path = "../../crates/cubin/tests/support/linked.rs"]
#[allow(missing_docs)]
mod linked;

/// The starting inputs of a target, always in the same order.
pub fn seeds(target: &str) -> io::Result<Vec<Vec<u8>>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = files(&here.join("seeds").join(target), "")?;
    match target {
        "text_ir" => {
            all.extend(file_tests(here, "ir", ".sir")?);
            all.extend((0..24).map(|seed| random_text(seed, 4, 8)));
        }
        "dep_graph" => {
            all.extend(file_tests(here, "deps", ".sir")?);
            all.extend((0..24).map(|seed| random_text(seed, 1, 20)));
        }
        "ptx" | "ptx_pair" => all.extend(file_tests(here, "ptx", ".ptx")?),
        "cuda_tile" => all.extend(files(&here.join("../crates/tileir/tests/cuda"), ".tileir")?),
        "tile_text" => {
            let problems = here.join("../crates/tileir/tests/problems");
            all.extend(files(&problems, ".tile")?);
            all.extend(files(&problems.join("scheduled"), ".tile")?);
        }
        "hwprofile" => all.extend(profiles()),
        "control" => all.extend(instructions()),
        "cubin" => all.push(build::cubin()),
        "container" => all.extend(containers()),
        _ => {}
    }
    Ok(all)
}

fn file_tests(here: &Path, name: &str, suffix: &str) -> io::Result<Vec<Vec<u8>>> {
    files(&here.join("../crates").join(name).join("tests/filetests"), suffix)
}

/// The files of a folder whose name ends in `suffix`, in the order of their names; none where there is no folder.
fn files(folder: &Path, suffix: &str) -> io::Result<Vec<Vec<u8>>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| path.to_string_lossy().ends_with(suffix));
    paths.sort();
    paths.iter().map(fs::read).collect()
}

fn random_text(seed: u64, blocks: usize, insts: usize) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let shape = Shape::random(&mut rng, blocks, insts);
    let functions = vec![function(&mut rng, &shape)];
    text::print(&Module { functions }).into_bytes()
}

/// An empty profile, and those of machines with most, some and no documented costs, small ones first.
fn profiles() -> Vec<Vec<u8>> {
    let full = Arch::all().filter_map(|arch| Profile::for_arch(arch).ok());
    let mut all: Vec<_> =
        [Profile::new(Arch::UNIVERSAL)].into_iter().chain(full).filter_map(|p| p.encode().ok()).collect();
    all.sort_by_key(Vec::len);
    all.dedup();
    all
}

/// Two instructions as ptxas writes them, each followed by another control word.
fn instructions() -> impl Iterator<Item = Vec<u8>> {
    const LDG: u128 = 0x000e_a200_001e_e900_0000_0000_020b_7381;
    const FFMA: u128 = 0x0c4f_e400_0000_000e_0000_0007_070e_1223;
    [(LDG, 0x7e0_u32), (FFMA, 0x1f_ffff)]
        .into_iter()
        .map(|(word, control)| [&word.to_le_bytes()[..], &control.to_le_bytes()].concat())
}

/// A fatbinary with every compression, alone, in host files, linked or not, and in an archive.
fn containers() -> Vec<Vec<u8>> {
    let image = build::cubin();
    let size = image.len() as u64;
    let lz4 = lz4_flex::block::compress(&image);
    let zstd = zstd::bulk::compress(&image, 19).expect("room enough");
    let fatbin = build::fatbin(&[(90, 0, &image, 0), (80, 1 << 13, &lz4, size), (70, 1 << 15, &zstd, size)]);
    let small = build::fatbin(&[(90, 1 << 13, &lz4, size)]);
    let host = build::host(&[&small]);
    let archive = build::archive(&[("k.o", &host)]);
    let linked = linked::FORMS.map(|form| linked::linked(form, &[&small, &fatbin, &small]).file);
    // Among resources of another kind.
    let resources = [vec![7; 40], [&small[..], &[0; 8]].concat(), [&fatbin[..], &[0; 8]].concat()];
    let resources = [linked::Form::Shared, linked::Form::Packed]
        .map(|form| linked::linked_with(form, &[&small, &small], &resources).file);
    [fatbin, small, host, archive, image].into_iter().chain(linked).chain(resources).collect()
}
