//! What is not legal, and where.

use std::fmt;
use thiserror::Error;

/// A difference that is not legal.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}{rule}")]
pub struct Illegal {
    /// Where.
    pub place: Box<Place>,
    /// Which rule it breaks.
    pub rule: Rule,
}

/// A place in both modules, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The function.
    pub function: Option<String>,
    /// The block: its label, or `b.` and its number.
    pub block: Option<String>,
    /// The line in the old text, from 1.
    pub old_line: Option<usize>,
    /// The line in the new text, from 1.
    pub new_line: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.function.as_ref().map(|name| format!("`{name}`")));
        parts.extend(self.block.as_ref().map(|name| format!("block `{name}`")));
        match (self.new_line, self.old_line) {
            (Some(new), Some(old)) => parts.push(format!("line {new} (was line {old})")),
            (Some(new), None) => parts.push(format!("line {new}")),
            (None, Some(old)) => parts.push(format!("line {old} of the original")),
            (None, None) => {}
        }
        if !parts.is_empty() {
            write!(f, "{}: ", parts.join(", "))?;
        }
        Ok(())
    }
}

/// A rule that a reordering has to keep.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Rule {
    /// Edits that do not print as PTX.
    #[error("what the module prints cannot be read: {0}")]
    Unreadable(String),
    /// Directives, declarations, labels and the borders of blocks stay as they are.
    #[error("expected {was}, found {is}: only instructions may move, inside their block")]
    Outside {
        /// What stood there.
        was: String,
        /// What stands there.
        is: String,
    },
    /// A block holds its instructions and no others.
    #[error("{}", instructions(.missing.as_deref(), .extra.as_deref()))]
    Instructions {
        /// An old instruction that is not there any more.
        missing: Option<String>,
        /// A new one that was not there.
        extra: Option<String>,
    },
    /// An instruction sees what it saw.
    #[error("`{inst}` {sees}")]
    Differs {
        /// The instruction.
        inst: String,
        /// What it sees differently.
        sees: Sees,
    },
    /// Registers that are still wanted hold what they held.
    #[error("{0} holds another value at the end of the block")]
    LiveOut(String),
    /// Instructions keep their `.loc`.
    #[error("`{inst}` has {}, and had {}", location(.is.as_deref()), location(.was.as_deref()))]
    Location {
        /// The instruction.
        inst: String,
        /// Its old place in the sources.
        was: Option<String>,
        /// Its new one.
        is: Option<String>,
    },
    /// A `.loc` that the original does not have.
    #[error("`{0}` is no place of the original")]
    NewLocation(String),
    /// Products that ptxas chooses between come about in the same order.
    #[error(
        "`{later}` now stands before `{earlier}`: of two products in a sum ptxas fuses one, and with them in another order it may \
         fuse the other and round otherwise"
    )]
    Rounding {
        /// What came first.
        earlier: String,
        /// What comes first now.
        later: String,
    },
    /// Sums of products that ptxas chooses between, and what they are made of, keep their operands in place.
    #[error(
        "`{0}` has its operands exchanged: ptxas chooses between two products here, and may now choose the other"
    )]
    RoundingOperands(String),
    /// More than the IR can hold.
    #[error("cannot be checked: {0}")]
    TooLarge(String),
}

/// What an instruction sees differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sees {
    /// A register.
    Register(String),
    /// Memory.
    Memory,
    /// What it must stay behind, or before.
    Order,
    /// Some register, where an instruction stands that may read any.
    State,
}

impl fmt::Display for Sees {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sees::Register(name) => write!(f, "reads another value of {name}"),
            Sees::Memory => f.write_str("has moved across a memory access that it may conflict with"),
            Sees::Order => f.write_str("has moved across a barrier, a call or an ordered instruction"),
            Sees::State => f.write_str("lets nothing pass, and some register holds another value there"),
        }
    }
}

fn instructions(missing: Option<&str>, extra: Option<&str>) -> String {
    match (missing, extra) {
        (Some(missing), Some(extra)) => format!("`{extra}` is new here, and `{missing}` is missing"),
        (Some(missing), None) => format!("`{missing}` is missing"),
        (None, Some(extra)) => format!("`{extra}` is new here"),
        (None, None) => "the block holds other instructions".to_owned(),
    }
}

fn location(loc: Option<&str>) -> String {
    loc.map_or("no `.loc`".to_owned(), |loc| format!("`{loc}`"))
}
