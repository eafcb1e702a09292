//! Goal: an order that has no control fields says which instruction fails, and by which rule.

use sassafras_ir::Inst;
use sassafras_machine::dispatch::Pipe;
use std::fmt;

/// Why there are no fields for an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsolvable {
    /// The instruction that cannot be settled.
    pub inst: Inst,
    /// What is in its way.
    pub obstacle: Obstacle,
}

/// What is in the way of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// It comes too soon, and those before it cannot stall for as long as that takes.
    TooClose {
        /// How many cycles are missing.
        short: u32,
        /// What it has to stand away from.
        rule: Option<Rule>,
    },
    /// Its timing is not understood.
    Unknown,
    /// Waits and stalls there are changed again and again.
    Unsettled,
    /// It needs a scoreboard to show that its sources were read, as others did before it; with every new one there are more.
    Scoreboards,
}

/// What an instruction has to stand away from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// An instruction of fixed latency whose result it uses, or whose source it overwrites.
    Behind {
        /// That instruction.
        producer: Inst,
        /// The least distance.
        cycles: u16,
    },
    /// The reading of a source that it overwrites.
    Source,
    /// An instruction that the same pipe has not taken up.
    Pipe(Pipe),
    /// The setting of a scoreboard that it waits for.
    Scoreboard {
        /// Which.
        board: u8,
    },
    /// Results that have not settled when it gives the turn of the warp away.
    Settled,
    /// An instruction that compiled code was never seen to leave so close before it.
    Seen {
        /// That instruction.
        first: Inst,
        /// The least distance.
        cycles: u16,
    },
}

impl Unsolvable {
    /// The instruction that it comes too close to, if one is known.
    pub fn producer(&self) -> Option<Inst> {
        match self.obstacle {
            Obstacle::TooClose { rule: Some(Rule::Behind { producer, .. }), .. } => Some(producer),
            Obstacle::TooClose { .. } | Obstacle::Unknown | Obstacle::Unsettled | Obstacle::Scoreboards => {
                None
            }
        }
    }

    /// One line for people, with instructions as `text` has them.
    pub fn describe(&self, text: impl Fn(Inst) -> String) -> String {
        let inst = text(self.inst);
        match self.obstacle {
            Obstacle::Unknown => format!("the timing of {inst} is not understood"),
            Obstacle::Unsettled => format!("waits and stalls at {inst} do not settle"),
            Obstacle::Scoreboards => {
                format!(
                    "nothing shows that the sources of {inst} were read, and there are ever more such instructions"
                )
            }
            Obstacle::TooClose { short, rule } => {
                let rule = rule.map_or(String::new(), |rule| format!(": {}", rule.describe(text)));
                format!("{inst} comes {short} cycles sooner than stalls allow{rule}")
            }
        }
    }
}

impl Rule {
    fn describe(&self, text: impl Fn(Inst) -> String) -> String {
        match self {
            Rule::Behind { producer, cycles } => {
                format!("it has to stand {cycles} cycles behind {}", text(*producer))
            }
            Rule::Source => "what it overwrites is still read".to_owned(),
            Rule::Pipe(pipe) => format!("the pipe {} has not taken up the one before", pipe.name()),
            Rule::Scoreboard { board } => format!("scoreboard {board} is not surely set"),
            Rule::Settled => "results have not settled".to_owned(),
            Rule::Seen { first, cycles } => {
                format!(
                    "compiled code was never seen to leave less than {cycles} cycles behind {}",
                    text(*first)
                )
            }
        }
    }
}

impl fmt::Display for Unsolvable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.describe(|inst| format!("instruction {}", inst.as_u32())))
    }
}

impl std::error::Error for Unsolvable {}
