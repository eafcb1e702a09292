//! Is one PTX module a legal reordering of another?
//!
//! Goal: whoever made the new module, however, what it computes is what the old one does. Four things are proven:
//!
//! 1. `skeleton`: everything outside instructions is the same, token by token, and blocks are cut the same way. Blanks and comments do not
//!    count; labels that no instruction names keep their place in their block.
//! 2. Each block holds the same operations on the same values, in an order that keeps every dependence: what every instruction sees
//!    (`reorder`) where the texts are the same, else value numbering
//!    (`values`) over what the instructions are apart from their registers (`steps`). So registers may have other names, of the
//!    same declared type, and operands that commute may have changed places; what is still wanted behind the block (`live`) is compared
//!    by name.
//! 3. `rounding`: ptxas fuses the same products with the same sums.
//! 4. `locations`: every instruction has the `.loc` that it had.
//!
//! What an instruction reads, writes and orders is said by the front-end (`sassafras_ptx::lower`); nothing is shared with a scheduler. Not
//! proven: what debug sections say about registers that got other names.
//!
//! Cost: near-linear in the text of both; blocks whose text is the same are not looked at further, nor are functions without another block
//! lowered. Functions in parallel, results in the order of the text.

mod block;
mod illegal;
mod lines;
mod live;
mod locations;
mod pairing;
mod rounding;
mod skeleton;
mod steps;

pub use illegal::{Illegal, Place, Rule, Sees};

use block::Functions;
use lines::Side;
use rayon::prelude::*;
use sassafras_ptx::Module;
use std::borrow::Cow;

/// What is checked besides the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether ptxas must fuse the same products with the same sums.
    pub rounding: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { rounding: true }
    }
}

/// How much of a module is as it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Blocks of the new module.
    pub blocks: u64,
    /// Instructions of the new module.
    pub instructions: u64,
    /// Those that stand at another place in their block.
    pub moved: u64,
    /// Those that use other registers.
    pub renamed: u64,
    /// Those with two operands exchanged.
    pub commuted: u64,
}

/// A comparison: what is legal about it, and every difference that is not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The figures of the blocks without differences.
    pub report: Report,
    /// What is not legal, in the order of the text; at most one per block. Where the modules differ outside instructions, only that.
    pub differences: Vec<Illegal>,
}

/// Checks that `new` is a legal reordering of `old`. Edits that have not been printed yet count in both.
///
/// # Errors
/// The first difference that is not legal.
pub fn check(old: &Module, new: &Module) -> Result<Report, Illegal> {
    let Comparison { report, differences } = compare(old, new, Options::default());
    differences.into_iter().next().map_or(Ok(report), Err)
}

/// Compares two modules and gives all differences that are not legal.
pub fn compare(old: &Module, new: &Module, options: Options) -> Comparison {
    let failed = |illegal| Comparison { differences: vec![illegal], ..Comparison::default() };
    let (old, new) = match (as_printed(old), as_printed(new)) {
        (Ok(old), Ok(new)) => (old, new),
        (Err(illegal), _) | (_, Err(illegal)) => return failed(illegal),
    };
    let (old, new) = (Side::new(&old), Side::new(&new));
    if let Err(illegal) = skeleton::check(&old, &new) {
        return failed(illegal);
    }
    let pairs: Vec<_> = old.module.functions().iter().zip(new.module.functions()).collect();
    let parts: Vec<Comparison> = pairs
        .into_par_iter()
        .map(|(was, is)| Functions { old: &old, new: &new, was, is, options }.compare())
        .collect();
    let mut found = Comparison::default();
    for part in parts {
        found.report.add(&part.report);
        found.differences.extend(part.differences);
    }
    if let Some(illegal) = locations::strays(&old, &new) {
        found.differences.push(illegal);
    }
    found
}

impl Report {
    fn add(&mut self, other: &Report) {
        self.blocks += other.blocks;
        self.instructions += other.instructions;
        self.moved += other.moved;
        self.renamed += other.renamed;
        self.commuted += other.commuted;
    }
}

/// A module as it would be read again.
fn as_printed(module: &Module) -> Result<Cow<'_, Module>, Illegal> {
    if !module.is_edited() {
        return Ok(Cow::Borrowed(module));
    }
    match Module::parse(&module.print()) {
        Ok(again) => Ok(Cow::Owned(again)),
        Err(error) => Err(Illegal { place: Box::default(), rule: Rule::Unreadable(error.to_string()) }),
    }
}
