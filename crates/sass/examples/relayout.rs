//! Writes cubins again with `NOP`s at random places, so that every offset is another one: what `cargo xtask relayout` runs.
//!
//! `relayout SEED ONE_IN OUT FILES...`: a `NOP` before one in ONE_IN instructions, into the folder OUT under the old names. Every line of the output is about
//! a kernel or a function: `moved NAME FROM TO` with the bytes of its code, or `kept NAME: why`.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::Path;

use sassafras_cubin::{Capsules, Code, Cubin, Origin, Relayout, RewriteOptions, Slot};
use sassafras_sass::program::aim;

/// `NOP` that the next instruction follows in the next cycle. Source: `NOP`s of ptxas output, with a stall of one cycle as others there have it.
const NOP: u128 = 0x000f_e200_0000_0000_0000_0000_0000_7918;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [seed, one_in, out, files @ ..] = &arguments[..] else {
        return Err("usage: relayout SEED ONE_IN OUT FILES...".into());
    };
    let (mut random, one_in) = (Random(seed.parse()?), one_in.parse::<u64>()?.max(1));
    for file in files {
        let path = Path::new(file);
        let name = path.file_name().ok_or("a file without a name")?;
        println!("file {file}");
        let data = std::fs::read(path)?;
        match again(&data, &mut random, one_in) {
            Ok(new) => std::fs::write(Path::new(out).join(name), new)?,
            Err(problem) => println!("kept file: {problem}"),
        }
    }
    Ok(())
}

/// The file with everything moved that can be, one code after the other.
fn again(data: &[u8], random: &mut Random, one_in: u64) -> Result<Vec<u8>, Box<dyn Error>> {
    let cubin = Cubin::parse(data)?;
    let mut file = data.to_vec();
    for code in cubin.code() {
        let now = file.clone();
        let now = Cubin::parse(&now)?;
        let current = now.code_named(code.name).ok_or("a section without its name")?;
        let result = insert(&now, current, random, one_in)
            .and_then(|edit| Ok(now.relayout(&[edit], RewriteOptions { capsules: Capsules::KeepLinked })?));
        match result {
            Ok(new) => {
                let size = Cubin::parse(&new)?.code_named(code.name).map_or(0, |code| code.bytes.len());
                println!("moved {} {} {size}", code.name, code.bytes.len());
                file = new;
            }
            Err(problem) => println!("kept {}: {problem}", code.name),
        }
    }
    Ok(file)
}

fn insert(cubin: &Cubin, code: &Code, random: &mut Random, one_in: u64) -> Result<Relayout, Box<dyn Error>> {
    let mut edit = Relayout::unchanged(code).without_padding();
    let old = std::mem::take(&mut edit.slots);
    for slot in old {
        if random.below(one_in) == 0 {
            edit.slots.push(Slot { word: NOP, origin: Origin::New });
        }
        edit.slots.push(slot);
    }
    aim(cubin, code, &mut edit)?;
    Ok(edit)
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}
