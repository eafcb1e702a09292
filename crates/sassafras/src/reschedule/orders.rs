//! Goal: orders of blocks as text, to look at, to change and to give back.
//!
//! ```text
//! # Anything behind a number sign is for people.
//! kernel saxpy
//! # block 2, loop depth 1: LDG LDG FFMA STG
//! block 2: 0 1 2 3
//! ```
//!
//! Numbers are places of instructions in the block as it came. A block that is not named stays as it is.

use super::outcome::Outcome;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Orders of blocks, by routine and block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    kernels: BTreeMap<String, BTreeMap<u32, Vec<u32>>>,
}

impl Orders {
    /// Reads orders.
    ///
    /// # Errors
    /// With the line and what is wrong with it.
    pub fn parse(text: &str) -> Result<Orders, String> {
        let mut orders = Orders::default();
        let mut kernel: Option<String> = None;
        for (number, line) in (1..).zip(text.lines()) {
            let wrong = |what: &str| format!("line {number}: {what}");
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            if let Some(name) = line.strip_prefix("kernel ") {
                kernel = Some(name.trim().to_owned());
                continue;
            }
            let block = line.strip_prefix("block ").and_then(|rest| rest.split_once(':'));
            let (block, places) = block.ok_or_else(|| wrong("`kernel NAME` or `block N: …` expected"))?;
            let kernel = kernel.clone().ok_or_else(|| wrong("a block before the first kernel"))?;
            let block: u32 = block.trim().parse().map_err(|_| wrong("the block has no number"))?;
            let places: Result<Vec<u32>, _> = places.split_ascii_whitespace().map(str::parse).collect();
            let places = places.map_err(|_| wrong("a place is no number"))?;
            let mut sorted = places.clone();
            sorted.sort_unstable();
            if !sorted.iter().copied().eq(0..places.len() as u32) {
                return Err(wrong("not every place from 0 on is there once"));
            }
            if orders.kernels.entry(kernel).or_default().insert(block, places).is_some() {
                return Err(wrong("the block is there twice"));
            }
        }
        Ok(orders)
    }

    /// Whether every kernel and block that is named was there. Kernels that were left as they came are not asked.
    ///
    /// # Errors
    /// With the first one that was not.
    pub fn check(&self, outcomes: &[Outcome]) -> Result<(), String> {
        let kept = outcomes.iter().any(|outcome| outcome.kept.is_some());
        let mut there = Orders::default();
        for outcome in outcomes {
            there.kernels.extend(Orders::parse(&outcome.orders)?.kernels);
        }
        for (kernel, blocks) in self.kernels.iter().filter(|_| !kept) {
            let Some(found) = there.kernels.get(kernel) else {
                return Err(format!("there is no kernel {kernel}, which an order is given for"));
            };
            if let Some(block) = blocks.keys().find(|block| !found.contains_key(block)) {
                return Err(format!("there is no block {block} in {kernel}, which an order is given for"));
            }
        }
        Ok(())
    }

    /// The order of a block, if there is one.
    pub fn get(&self, kernel: &str, block: u32) -> Option<&[u32]> {
        self.kernels.get(kernel)?.get(&block).map(Vec::as_slice)
    }
}

/// A block as it was left, for the text form.
#[derive(Clone, Debug)]
pub struct Written {
    /// Its number.
    pub block: u32,
    /// How many loops it is in.
    pub depth: u32,
    /// Places in the order that came.
    pub places: Vec<u32>,
    /// Opcodes as they came.
    pub opcodes: Vec<String>,
}

/// The text of a routine's blocks.
pub fn print(kernel: &str, blocks: &[Written]) -> String {
    let mut out = format!("kernel {kernel}\n");
    for written in blocks {
        let Written { block, depth, places, opcodes } = written;
        let places: Vec<String> = places.iter().map(u32::to_string).collect();
        let _ = writeln!(out, "# block {block}, loop depth {depth}: {}", opcodes.join(" "));
        let _ = writeln!(out, "block {block}: {}", places.join(" "));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read() {
        let opcodes = ["LDG", "FFMA"].map(str::to_owned).to_vec();
        let text = print("saxpy", &[Written { block: 2, depth: 1, places: vec![1, 0], opcodes }]);
        assert_eq!(text, "kernel saxpy\n# block 2, loop depth 1: LDG FFMA\nblock 2: 1 0\n");
        let orders = Orders::parse(&text).expect("orders");
        assert_eq!(orders.get("saxpy", 2), Some(&[1, 0][..]));
        assert_eq!((orders.get("saxpy", 1), orders.get("other", 2)), (None, None));
    }

    #[test]
    fn errors_name_the_line() {
        for (text, wanted) in [
            ("block 1: 0", "line 1: a block before the first kernel"),
            ("kernel k\nblock x: 0", "line 2: the block has no number"),
            ("kernel k\nblock 1: 0 2", "line 2: not every place from 0 on is there once"),
            ("kernel k\nblock 1: 0 -1", "line 2: a place is no number"),
            ("kernel k\n\nfoo", "line 3: `kernel NAME` or `block N: …` expected"),
            ("kernel k\nblock 1: 0\nblock 1: 0", "line 3: the block is there twice"),
        ] {
            assert_eq!(Orders::parse(text), Err(wanted.to_owned()), "{text}");
        }
    }
}
