//! Random reorderings for the tests, and the round trip they serve.
// Every test takes the part it needs.
#![allow(dead_code)]

use sassafras_cubin::{Capsules, Code, CodeEdit, Cubin, Reason, Refusal, RewriteOptions};

/// A small deterministic generator: the tests need variety, not quality.
pub struct Random(pub u64);

impl Random {
    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }
}

/// Instructions move within windows of this many, so that a prologue does not change places with an epilogue.
const WINDOW: usize = 4;

/// An order that keeps every instruction on its side of every boundary. Whether the program still means the same does
/// not matter here.
pub fn shuffled(cubin: &Cubin, code: &Code, random: &mut Random) -> Result<Vec<u32>, Refusal> {
    let slots = code.bytes.len() / 16;
    let mut order: Vec<u32> = (0..slots as u32).collect();
    let boundaries = cubin.boundaries(code)?;
    let ends = boundaries.iter().map(|boundary| boundary.offset as usize / 16);
    let mut start = 0;
    for end in ends.chain([slots]) {
        for block in order[start..end].chunks_mut(WINDOW) {
            for last in (1..block.len()).rev() {
                block.swap(last, random.below(last + 1));
            }
        }
        start = end;
    }
    Ok(order)
}

/// The order that undoes `order`.
pub fn inverse(order: &[u32]) -> Vec<u32> {
    let mut inverse = vec![0; order.len()];
    for (new, &old) in order.iter().enumerate() {
        inverse[old as usize] = new as u32;
    }
    inverse
}

/// Capsules cannot follow and are left alone.
pub const KEEP: RewriteOptions = RewriteOptions { capsules: Capsules::Keep };

/// New bytes, the edits that made them, names of code left as it was.
pub type Shuffled = (Vec<u8>, Vec<CodeEdit>, Vec<String>);

/// Shuffles all code of a cubin; gives the new bytes and the orders. Code whose call-frame rows a random order turns
/// round stays as it is; its name is given too.
pub fn shuffle(cubin: &Cubin, random: &mut Random) -> Result<Shuffled, Refusal> {
    let mut edits = (cubin.code().iter())
        .map(|code| Ok(CodeEdit::permuted(code, shuffled(cubin, code, random)?)))
        .collect::<Result<Vec<_>, Refusal>>()?;
    let mut left = Vec::new();
    loop {
        match cubin.rewrite_with(&edits, KEEP) {
            Ok(bytes) => return Ok((bytes, edits, left)),
            Err(Refusal { code: Some(name), reason: Reason::Frames { .. }, .. }) if !left.contains(&name) => {
                let code = cubin.code_named(&name).expect("the refusal names it");
                edits.retain(|edit| edit.section != code.section);
                left.push(name);
            }
            Err(refusal) => return Err(refusal),
        }
    }
}

/// Undoes a shuffle, from the shuffled bytes alone.
pub fn unshuffle(shuffled: &[u8], edits: &[CodeEdit]) -> Vec<u8> {
    let cubin = Cubin::parse(shuffled).expect("a rewritten cubin parses");
    let undo: Vec<_> = (edits.iter())
        .map(|edit| {
            let code = cubin.code().iter().find(|code| code.section == edit.section);
            CodeEdit::permuted(code.expect("same sections"), inverse(&edit.order))
        })
        .collect();
    cubin.rewrite_with(&undo, KEEP).unwrap_or_else(|refusal| panic!("undoing: {refusal}"))
}
