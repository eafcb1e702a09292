//! Goal: how many buffers the loads of a kernel's loops go round in, read from its code alone.
//!
//! Nothing in a cubin says into how many stages a compiler cut a loop. What the code does tells: this module sends threads through it
//! (`walk`, with registers that are known or not) and looks at which places of shared memory they use, turn by turn. No shape of
//! code is expected: a counter that is divided, masked, or compared and set to zero gives the same addresses.
//!
//! Evidence, in the order in which it is used:
//!
//! 1. *Barrier objects that are made* (`SYNCS.EXCH`): their addresses, and how many arrivals each waits for.
//! 2. *Transfers inside loops*: `UTMALDG` (its registers hold the destination and the barrier object), `UTMASTG`, `LDGSTS` with the
//!    `ARRIVES` or `LDGDEPBAR` behind it. Sites that share barrier objects, or a group of copies, are one transfer. Its *slots* are
//!    the places that one site uses before it comes to the first of them again.
//! 3. *What it arrives at* (filled) has to be an array of barrier objects, 8 bytes apart, all made for the same number of arrivals, as
//!    many as there are slots. An instruction that waits for one of them must not wait for others, and the phase that a thread waits
//!    for has to turn each time an object comes again. A single object for all slots is taken too: it cannot tell two transfers
//!    apart, so that each is waited for before the next.
//! 4. *What is waited for before it* (freed, or ready before a store): the last wait before the transfer for an object that no
//!    transfer arrives at. A transfer may have one slot more than there are objects that free it: it is then issued before the wait.
//! 5. *How far it runs ahead*, where the thread that copies also reads: turns from a copy to the reads of the same slot (or to the wait
//!    for the same object), and the groups that `DEPBAR.LE` leaves open. Loads into registers: turns from the load to the first and to the
//!    last use, and how many turns have their values at once.
//! 6. *The bytes of shared memory* that the cubin asks for: all places have to be inside.
//!
//! What is not known stays so: kernel arguments, block numbers, memory. Where a branch depends on them, the thread goes where the
//! instruction that is asked about is, and otherwise straight on, so that trip counts do not matter and what comes before a loop is done. A way
//! goes through no call and no instruction that the decoder does not know. Taken for granted is that waits end, that the thread is the
//! one that is elected, and that the block is the first of its cluster.
//!
//! It *cannot be told* ([`Transfer::slots`] is an error, with the reason) when no thread comes to the transfer twice, when an address
//! depends on something unknown, when addresses do not come again in the same order, when no round is seen to end, when places and
//! barrier objects do not fit together (a ring whose loop is unrolled is such a case), and when an address lies outside shared memory (the walk was wrong then).
//!
//! Slots are not stages of a schedule: they are how many iterations may have their data on the way or in use at once.

mod assemble;
mod rings;
mod text;
mod thread;
mod walk;

#[cfg(test)]
mod tests;

use sassafras_ir::Function;
use sassafras_sass::print::Printer;
use std::fmt;

/// How a kernel is launched, as far as its cubin says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Threads per block.
    pub threads: u32,
    /// Bytes of shared memory.
    pub shared: u64,
}

/// What moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Movement {
    /// A bulk load into shared memory.
    Load,
    /// Copies of single threads into shared memory.
    Copy,
    /// Loads into registers.
    Registers,
    /// A bulk store from shared memory.
    Store,
}

/// Barrier objects that are used in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Objects {
    /// How many.
    pub count: usize,
    /// The arrivals that each waits for.
    pub arrivals: u32,
}

/// Something that a loop moves, again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// What it is.
    pub movement: Movement,
    /// The loop that it is in: the place of its first block in the code.
    pub head: u32,
    /// How many places it uses in turn, or why that cannot be told. For registers: how many turns have their values at
    /// once.
    pub slots: Result<usize, String>,
    /// Bytes from one place to the next.
    pub stride: Option<u32>,
    /// The objects it arrives at.
    pub filled: Option<Objects>,
    /// The objects that are waited for before it.
    pub freed: Option<Objects>,
    /// Turns from the transfer to the first use of what it brings, and to the last.
    pub ahead: Option<(u32, u32)>,
    /// Groups of copies that stay open when the copied is read.
    pub open: Option<u32>,
}

/// What the loops of a function move, in the order of the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The transfers.
    pub transfers: Vec<Transfer>,
}

/// Reads a function. Words are printed by `printer`; a function that keeps its text needs none.
pub fn read(function: &Function, printer: Option<Printer<'_>>, launch: Launch) -> Reading {
    Reading { transfers: assemble::transfers(function, printer, launch) }
}

impl fmt::Display for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}×{}", self.count, self.arrivals)
    }
}

impl fmt::Display for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.slots {
            Ok(slots) => write!(f, "{slots}")?,
            Err(why) => write!(f, "cannot be told: {why}")?,
        }
        let (filled, freed) = match self.movement {
            Movement::Store => ("", "ready"),
            _ => ("filled", "freed"),
        };
        let mut parts = Vec::new();
        match self.movement {
            Movement::Load => {}
            Movement::Copy => parts.push("copied".to_owned()),
            Movement::Registers => parts.push("registers".to_owned()),
            Movement::Store => parts.push("stored".to_owned()),
        }
        parts.extend(self.filled.map(|objects| format!("{filled} {objects}")));
        parts.extend(self.freed.map(|objects| format!("{freed} {objects}")));
        parts.extend(self.stride.map(|stride| format!("{stride} apart")));
        parts.extend(self.ahead.map(|(first, last)| match first == last {
            true => format!("{first} ahead"),
            false => format!("{first} to {last} ahead"),
        }));
        parts.extend(self.open.map(|open| format!("{open} open")));
        if parts.is_empty() { Ok(()) } else { write!(f, " ({})", parts.join(", ")) }
    }
}

impl Reading {
    /// The slots of what is loaded, `?` where they cannot be told; punctuated as the whole reading is.
    pub fn slots(&self) -> String {
        let loads = self.transfers.iter().filter(|transfer| transfer.movement != Movement::Store);
        punctuate(loads, |load| load.slots.as_ref().map_or("?".to_owned(), ToString::to_string))
    }
}

impl fmt::Display for Reading {
    /// Transfers of one loop are parted by commas, loops by semicolons.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&punctuate(&self.transfers, ToString::to_string))
    }
}

fn punctuate<'t>(
    transfers: impl IntoIterator<Item = &'t Transfer>,
    text: impl Fn(&Transfer) -> String,
) -> String {
    let mut out = String::new();
    let mut head = None;
    for transfer in transfers {
        if let Some(head) = head {
            out.push_str(if head == transfer.head { ", " } else { "; " });
        }
        head = Some(transfer.head);
        out.push_str(&text(transfer));
    }
    out
}
