//! What became of a kernel, for people and programs.

use super::Unit;
use super::kept::Kept;
use super::orders::{Written, print};
use super::settle::Proposal;
use sassafras_cubin::{Code, CodeEdit, Image};
use sassafras_tepid as tepid;
use serde::Serialize;
use std::collections::BTreeSet;

/// A figure as it came and as it is now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Change {
    /// As it came.
    pub before: u64,
    /// As it is now.
    pub after: u64,
}

/// What became of a kernel.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The name of its section.
    pub name: String,
    /// The architecture as the file names it.
    pub arch: String,
    /// How many instructions there are.
    pub instructions: u64,
    /// How many stand somewhere else now.
    pub moved: u64,
    /// How many use other registers now.
    pub renamed: u64,
    /// How many blocks have another order.
    pub blocks: u64,
    /// How many are of a form that never ran rescheduled on a device, and stay in place.
    pub unproven: u64,
    /// Cycles by the clock ([`sassafras_tepid::clock`]): per warp, loops counted more often; none where nothing was timed.
    pub cycles: Option<Change>,
    /// Cycles of all stalls, every instruction counted once.
    pub stalls: Change,
    /// Scoreboards in use.
    pub scoreboards: Change,
    /// The policies that made the new orders.
    pub by: Vec<&'static str>,
    /// Why it was left as it came, if something was in the way.
    pub kept: Option<Kept>,
    /// Blocks and routines of it that were left as they came because something was in the way of what was found for them.
    pub left: Vec<Left>,
    /// The blocks of its routines as they stand, where that was asked for: text of the form that is read, too.
    #[serde(skip)]
    pub orders: String,
    /// What of it changed.
    #[serde(skip)]
    pub units: Vec<Unit>,
    /// What its routines looked like after the pass that was watched.
    #[serde(skip)]
    pub dumps: String,
}

/// Something that stays as it came though another order was found, or new control fields were wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Left {
    /// Where it starts in the section.
    pub offset: u64,
    /// The number of the block in its routine; none stands for all of the routine.
    pub block: Option<u32>,
    /// What was in the way.
    pub why: Kept,
}

/// What the scheduler says about a section.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    cycles: Option<Change>,
    /// Instructions with other registers.
    pub renamed: u64,
    /// Instructions of a form that never ran rescheduled on a device.
    pub unproven: u64,
    blocks: u64,
    by: BTreeSet<&'static str>,
    /// By routine: its blocks as they stand.
    pub orders: Vec<(String, Vec<Written>)>,
    /// What changed.
    pub units: Vec<Unit>,
    /// What did not.
    pub left: Vec<Left>,
    /// What routines looked like after the pass that was watched.
    pub dumps: String,
}

impl Notes {
    /// What the clock says of one more function of the section, before and after.
    pub fn estimated(&mut self, (before, after): (u64, u64)) {
        let cycles = self.cycles.get_or_insert_default();
        cycles.before += before;
        cycles.after += after;
    }

    /// New orders of one more function.
    pub fn stand(&mut self, proposals: &[Proposal]) {
        self.blocks += proposals.len() as u64;
        self.by.extend(proposals.iter().map(|proposal| proposal.by));
    }
}

impl Outcome {
    /// From a section, what was done with it and what the scheduler says.
    pub fn new(
        code: &Code<'_>,
        image: &Image,
        edit: Option<&CodeEdit>,
        notes: Option<Notes>,
        kept: Option<Kept>,
    ) -> Outcome {
        let words: Vec<u128> = match image.sm.slot_bytes() {
            Some(16) => (code.bytes.chunks_exact(16))
                .map(|word| u128::from_le_bytes(word.try_into().expect("16 bytes")))
                .collect(),
            _ => Vec::new(),
        };
        let instructions = (code.bytes.len() / image.sm.slot_bytes().unwrap_or(8)) as u64;
        Outcome::of_words((code.name, &image.sm.to_string()), (instructions, &words), edit, notes, kept)
    }

    /// From the name and architecture of some code, and its instructions with their words.
    pub(super) fn of_words(
        (name, arch): (&str, &str),
        (instructions, words): (u64, &[u128]),
        edit: Option<&CodeEdit>,
        notes: Option<Notes>,
        kept: Option<Kept>,
    ) -> Outcome {
        let (stalls, scoreboards) = figures(words);
        let (new_stalls, new_scoreboards) = edit.map_or((stalls, scoreboards), |edit| figures(&edit.words));
        let order = edit.map_or(&[][..], |edit| &edit.order);
        let notes = notes.unwrap_or_default();
        let mut outcome = Outcome {
            name: name.to_owned(),
            arch: arch.to_owned(),
            instructions,
            moved: order.iter().zip(0..).filter(|&(&from, to)| from != to).count() as u64,
            renamed: notes.renamed,
            blocks: notes.blocks,
            unproven: notes.unproven,
            cycles: notes.cycles,
            stalls: Change { before: stalls, after: new_stalls },
            scoreboards: Change { before: scoreboards, after: new_scoreboards },
            by: notes.by.into_iter().collect(),
            kept: None,
            left: notes.left,
            units: notes.units,
            dumps: notes.dumps,
            orders: notes.orders.iter().map(|(name, blocks)| print(name, blocks)).collect(),
        };
        // Where nothing changes in the end, what was in the way first says why.
        let in_the_way = outcome.left.iter().find(|left| !left.why.is_slower());
        let first = in_the_way.filter(|_| outcome.units.is_empty()).map(|left| left.why.clone());
        if let Some(why) = kept.or(first) {
            outcome.keep(why);
        }
        outcome
    }

    /// It stays as it came after all.
    pub fn keep(&mut self, why: Kept) {
        (self.moved, self.renamed, self.blocks) = (0, 0, 0);
        self.by.clear();
        self.orders.clear();
        self.units.clear();
        for change in [&mut self.stalls, &mut self.scoreboards].into_iter().chain(&mut self.cycles) {
            change.after = change.before;
        }
        self.kept.get_or_insert(why);
    }
}

/// Cycles of all stalls, and how many scoreboards are set.
fn figures(words: &[u128]) -> (u64, u64) {
    let mut boards = 0u8;
    let mut stalls = 0;
    for fields in words.iter().map(|&word| tepid::Fields::of(word)) {
        stalls += u64::from(fields.stall);
        boards |= [fields.write, fields.read].into_iter().flatten().fold(0, |mask, board| mask | 1 << board);
    }
    (stalls, u64::from(boards.count_ones()))
}
