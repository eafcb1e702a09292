//! Says what files hold, and proves the writer on them: unchanged code gives the same bytes, a shuffle and its inverse too.
//!
//! `cargo run --release -p sassafras-cubin --example survey FILE…`
#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use sassafras_cubin::{CodeEdit, Container, Cubin};

#[path = "../tests/support/shuffle.rs"]
mod support;

#[derive(Default)]
struct Totals {
    cubins: usize,
    kernels: usize,
    instructions: usize,
    restored: usize,
    left: usize,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let file = std::fs::read(&path)?;
        let (mut reading, mut totals) = (Duration::ZERO, BTreeMap::<_, Totals>::new());
        let start = Instant::now();
        let container = Container::parse(&file)?;
        reading += start.elapsed();
        for image in container.cubins() {
            let start = Instant::now();
            let bytes = container.bytes(image)?;
            let cubin = Cubin::parse(&bytes)?;
            reading += start.elapsed();
            let line = totals.entry(cubin.sm()).or_default();
            line.cubins += 1;
            line.kernels += cubin.code().iter().filter(|code| code.is_kernel()).count();
            line.instructions += cubin.code().iter().map(|code| code.bytes.len() / 16).sum::<usize>();
            let same: Vec<_> = cubin.code().iter().map(CodeEdit::unchanged).collect();
            assert_eq!(cubin.rewrite(&same)?, *bytes, "{}", image.location);
            if cubin.sm().slot_bytes().is_none() {
                continue;
            }
            match support::shuffle(&cubin, &mut support::Random(7)) {
                Ok((shuffled, edits, left)) => {
                    line.left += left.len();
                    assert!(shuffled != *bytes || cubin.code().is_empty());
                    let restored = support::unshuffle(&shuffled, &edits);
                    assert!(restored == *bytes, "{path} {}: not restored", image.location);
                    line.restored += 1;
                }
                Err(refusal) => println!("{path} {}: {refusal}", image.location),
            }
        }
        println!("{path}: {:?}, read in {reading:?}", container.kind());
        for (sm, line) in totals {
            println!(
                "  {sm}: {} cubins, {} kernels, {} instructions, {} shuffled and restored ({} code sections left out)",
                line.cubins, line.kernels, line.instructions, line.restored, line.left
            );
        }
    }
    Ok(())
}
