//! Writes cubins again with `NOP`s at random places, so that every offset is another one: what `cargo xtask relayout` runs.
//!
//! `relayout SEED ONE_IN OUT FILES...`: a `NOP` before one in ONE_IN instructions, into the folder OUT under the old names. Every line of the output is about
//! a kernel or a function: `moved NAME FROM TO` with the bytes of its code, or `kept NAME: why`.

use std::collections::HashSet;
use std::error::Error;
use std::path::Path;

use sassafras_cubin::{Capsules, Code, Cubin, Origin, Relayout, RewriteOptions, Slot};
use sassafras_machine::Arch;
use sassafras_sass::program::{Relative, arch_of};
use sassafras_sass::{Decoder, Flow};

/// `NOP` that the next instruction follows in the next cycle. Source: `NOP`s of ptxas output, with a stall of one cycle as others there have it.
const NOP: u128 = 0x000f_e200_0000_0000_0000_0000_0000_7918;
/// Returns are told from the move of their address, which ptxas puts at most so many instructions before the call.
const RETURN_WINDOW: u64 = 64;

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
    let arch = arch_of(cubin.sm()).ok_or("an architecture without tables")?;
    let mut file = data.to_vec();
    for code in cubin.code() {
        let now = file.clone();
        let now = Cubin::parse(&now)?;
        let current = now.code_named(code.name).ok_or("a section without its name")?;
        let result = insert(&now, current, arch, random, one_in)
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

fn insert(
    cubin: &Cubin,
    code: &Code,
    arch: Arch,
    random: &mut Random,
    one_in: u64,
) -> Result<Relayout, Box<dyn Error>> {
    let mut edit = Relayout::unchanged(code).without_padding();
    let old = std::mem::take(&mut edit.slots);
    // Where a call returns to is directly behind it.
    for slot in old {
        if random.below(one_in) == 0 {
            edit.slots.push(Slot { word: NOP, origin: Origin::New });
        }
        edit.slots.push(slot);
    }
    let layout = cubin.layout(&edit)?;
    let (relative, decoder) = (Relative::new(arch), Decoder::new(arch));
    let relocated: HashSet<u64> = code.relocations.iter().map(|relocation| relocation.offset / 16).collect();
    let words: Vec<u128> = code.bytes.as_chunks().0.iter().map(|word| u128::from_le_bytes(*word)).collect();
    let mut returns = HashSet::new();
    for (slot, &word) in words.iter().enumerate() {
        let at = slot as u64 * 16;
        let calls = matches!(decoder.decode(word, at).flow(), Flow::Call { .. } | Flow::CallElsewhere);
        if calls && !relocated.contains(&(at / 16)) {
            returns.insert(at + 16);
        }
    }
    for (new, slot) in edit.slots.iter_mut().enumerate() {
        let Origin::Moved(from) = slot.origin else {
            continue;
        };
        let (from, to) = (u64::from(from) * 16, new as u64 * 16);
        if relocated.contains(&(from / 16)) {
            continue;
        }
        slot.word = relative
            .replaced(slot.word, from, to, |place| layout.position(place))
            .ok_or_else(|| format!("the instruction at {from:#x} cannot stand elsewhere"))?;
        // The move of a return address: a number that is the offset behind a call close by.
        let number = slot.word >> 32 & 0xffff_ffff;
        let number = number as u64;
        if is_move(slot.word)
            && returns.contains(&number)
            && (from..from + 16 * RETURN_WINDOW).contains(&number)
        {
            let place = layout.position(number).ok_or("a call at the end")?;
            slot.word = slot.word & !(0xffff_ffff << 32) | u128::from(place) << 32;
        }
    }
    Ok(edit)
}

/// Whether a word is a `MOV` of a number, or an `IMAD` by nothing that adds one.
fn is_move(word: u128) -> bool {
    matches!(word & 0xfff, 0x802 | 0x424)
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}
