//! Cubins: what parses can be written back unchanged, and an order and its inverse give the same bytes.

use sassafras_cubin::{Capsules, Code, CodeEdit, Cubin, RewriteOptions};

/// Reads a cubin, its attributes, relocations and line tables, and rewrites it.
pub fn cubin(data: &[u8]) -> bool {
    let cubin = match Cubin::parse(data) {
        Ok(cubin) => cubin,
        Err(error) => {
            assert!(error.place.offset <= data.len() as u64 && !error.place.section.is_empty(), "{error}");
            return false;
        }
    };
    let unchanged: Vec<_> = cubin.code().iter().map(CodeEdit::unchanged).collect();
    if let Ok(same) = cubin.rewrite(&unchanged) {
        assert!(same == data, "an edit that changes nothing changed the file");
    }
    for code in cubin.code() {
        assert!(data[code.file_range.clone()] == *code.bytes);
        let _ = cubin.boundaries(code);
        there_and_back(&cubin, code);
    }
    true
}

/// Neighbours change places where no boundary is between them, and back.
fn there_and_back(cubin: &Cubin<'_>, code: &Code<'_>) {
    const KEEP: RewriteOptions = RewriteOptions { capsules: Capsules::Keep };
    let Ok(boundaries) = cubin.boundaries(code) else {
        return;
    };
    let mut order: Vec<u32> = (0..(code.bytes.len() / 16) as u32).collect();
    let mut start = 0;
    for end in boundaries.iter().map(|boundary| boundary.offset as usize / 16).chain([order.len()]) {
        if let Some(block) = order.get_mut(start..end) {
            block.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
        }
        start = end;
    }
    let Ok(new) = cubin.rewrite_with(&[CodeEdit::permuted(code, order.clone())], KEEP) else {
        return;
    };
    // Swapping neighbours is its own inverse.
    let again = Cubin::parse(&new).expect("a rewritten cubin parses");
    let code = again.code().iter().find(|other| other.section == code.section).expect("the same sections");
    let back = again.rewrite_with(&[CodeEdit::permuted(code, order)], KEEP).expect("undone");
    assert!(back == cubin.data(), "an order and its inverse changed the file");
}
