//! The passes that `schedule` runs, by name: what they are, and watching a function go through them.
//!
//! Machine code goes through the first group ([`Input::Binary`]), PTX and the text IR through the second; [`Pass::of`] has the order.

use sassafras_ir::text::print;
use sassafras_ir::{Function, Module};
use sassafras_list::registry::Input;

/// A pass of `schedule`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Words of machine code become a function of the IR.
    Lift,
    /// A strategy makes orders and registers.
    Propose,
    /// Control fields are computed.
    Fields,
    /// The checker of hazards reads the function as it would be written.
    Hazards,
    /// The clock compares the function with the original.
    Judge,
    /// Blocks that do not stand get back their code.
    Settle,
    /// The words of the section are put together.
    Write,
    /// A function of PTX becomes one of the IR.
    Lower,
    /// A strategy orders every block, and the checker reads every order.
    Schedule,
    /// Operands of recurrences change places.
    Commute,
    /// The checker compares the module with the original.
    Verify,
    /// The text is put together.
    Print,
}

const BINARY: &[Input] = &[Input::Binary];
const PTX: &[Input] = &[Input::Ptx];
const TEXTS: &[Input] = &[Input::Ptx, Input::Text];

impl Pass {
    /// All of them, in the order in which they run.
    pub const ALL: [Pass; 12] = [
        Pass::Lift,
        Pass::Propose,
        Pass::Fields,
        Pass::Hazards,
        Pass::Judge,
        Pass::Settle,
        Pass::Write,
        Pass::Lower,
        Pass::Schedule,
        Pass::Commute,
        Pass::Verify,
        Pass::Print,
    ];

    /// Name, what it takes, and what it does.
    const fn row(self) -> (&'static str, &'static [Input], &'static str) {
        match self {
            Pass::Lift => {
                ("lift", BINARY, "words become instructions of the IR, with blocks and control flow")
            }
            Pass::Propose => ("propose", BINARY, "the strategy makes orders and registers for the blocks"),
            Pass::Fields => {
                ("fields", BINARY, "stalls, yields, scoreboards, waits and reuse flags for an attempt")
            }
            Pass::Hazards => {
                ("hazards", BINARY, "the checker finds no hazard in an attempt; elsewhere a block goes back")
            }
            Pass::Judge => {
                ("judge", BINARY, "the clock finds an attempt not slower; elsewhere a block goes back")
            }
            Pass::Settle => {
                ("settle", BINARY, "attempts are over: the orders that stand, with their control fields")
            }
            Pass::Write => {
                ("write", BINARY, "the words of the section, with what names an address following")
            }
            Pass::Lower => ("lower", PTX, "PTX becomes the IR"),
            Pass::Schedule => {
                ("schedule", TEXTS, "the strategy orders the blocks, and the checker reads every order")
            }
            Pass::Commute => {
                ("commute", PTX, "operands of recurrences change places, in the text of the module")
            }
            Pass::Verify => ("verify", PTX, "the checker finds the module equal to the original"),
            Pass::Print => ("print", TEXTS, "the text as it is written"),
        }
    }

    /// The name.
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// What it takes.
    pub const fn takes(self) -> &'static [Input] {
        self.row().1
    }

    /// What it does, in one line.
    pub const fn summary(self) -> &'static str {
        self.row().2
    }

    /// Those that some input goes through, in order.
    pub fn of(input: Input) -> impl Iterator<Item = Pass> {
        Pass::ALL.into_iter().filter(move |pass| pass.takes().contains(&input))
    }
}

/// Which passes are watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// Functions are printed after this one.
    pub print_after: Option<Pass>,
    /// Functions are printed after this one, nothing runs after it, and nothing changes.
    pub stop_after: Option<Pass>,
}

impl Watch {
    /// Whether any pass is watched.
    pub fn is_on(&self) -> bool {
        *self != Watch::default()
    }

    /// Whether functions are printed after a pass.
    pub fn prints(&self, pass: Pass) -> bool {
        self.print_after == Some(pass) || self.stops(pass)
    }

    /// Whether nothing runs after a pass.
    pub fn stops(&self, pass: Pass) -> bool {
        self.stop_after == Some(pass)
    }

    /// The text of a function after a pass, with a heading; empty where the pass is not watched.
    pub fn dump(&self, pass: Pass, function: &str, text: impl FnOnce() -> String) -> String {
        match self.prints(pass) {
            true => format!("# {function}, after {}\n{}\n", pass.name(), text().trim_end()),
            false => String::new(),
        }
    }

    /// A function of the IR after a pass; empty where the pass is not watched.
    pub fn dump_ir(&self, pass: Pass, f: &Function) -> String {
        self.dump(pass, &f.name, || print(&Module { functions: vec![f.clone()] }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_for_an_input() {
        for input in [Input::Binary, Input::Ptx, Input::Text] {
            let names: Vec<&str> = Pass::of(input).map(Pass::name).collect();
            let mut unique = names.clone();
            unique.sort_unstable();
            unique.dedup();
            assert!(names.len() > 1 && unique.len() == names.len(), "{names:?}");
        }
    }
}
