//! Goal: why compiled code leaves stalls that no rule asks for.
//!
//! A row is a *reason*: behind instructions of one kind a compiler leaves so many cycles to those of another, to the end of the block
//! (`edge`) or to whatever comes next (`next`). It is a hypothesis with evidence; nothing is scheduled or checked by it. `cargo
//! xtask residue` holds the rows against code and says how many stall cycles they account for, how often code comes closer, and
//! which rows meet nothing.
//!
//! Source: `data/mined/residue.csv`, written by hand from the report of `cargo xtask residue`.

use serde::Deserialize;

use super::class_of;
use crate::names::names;
use crate::table;
use crate::{Category, TableError};

names! {
    /// What kind of reason it is.
    ReasonKind {
        /// A rule of registers or pipes that the checker does not demand in full.
        Rule = "rule",
        /// How the issue stage takes up instructions.
        Issue = "issue",
        /// What the compiler chose without need.
        Choice = "choice",
        /// State that is in no register.
        State = "state",
    }
}

names! {
    /// A further condition.
    When {
        /// The first one writes a predicate of a thread.
        WritesPredicate = "writes-predicate",
        /// The first one writes a uniform register or predicate.
        WritesUniform = "writes-uniform",
        /// The first one writes a general register.
        WritesGeneral = "writes-general",
        /// The first one sets a scoreboard.
        SetsScoreboard = "sets-scoreboard",
        /// The first one is guarded.
        Guarded = "guarded",
        /// The first one ends the group: another warp may issue.
        Yields = "yields",
        /// The second stands right behind the first.
        Adjacent = "adjacent",
        /// The second reads what the first writes, whatever their guards.
        Reads = "reads",
        /// The second reads what the first writes, as its guard or as a source of a vote.
        Guards = "guards",
        /// The second overwrites what the first writes, whatever their guards.
        Overwrites = "overwrites",
        /// The second overwrites what the first reads.
        OverwritesSource = "overwrites-source",
        /// The second waits for a scoreboard.
        Waits = "waits",
        /// The second never runs: its guard is the constant false.
        NeverRuns = "never-runs",
        /// The first one moves two registers of data.
        Pair = "pair",
        /// The first one moves four registers of data.
        Quad = "quad",
        /// In the block, few arithmetic instructions that stall for 4 to 11 cycles end the group.
        SeldomYields = "seldom-yields",
    }
}

/// Where the cycles end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Second {
    /// At the next instruction, or at the end of the block.
    Next,
    /// At the first instruction of these names, or at the end of the block where that counts.
    Names {
        /// Those that count.
        names: Names,
        /// Whether the end of the block does.
        edge: bool,
    },
}

impl Second {
    fn parse(text: &str) -> Second {
        let mut words: Vec<&str> = text.split(' ').collect();
        let all = words.len();
        words.retain(|word| *word != "edge");
        match words.as_slice() {
            ["next"] => Second::Next,
            _ => Second::Names { edge: words.len() < all, names: Names::parse(&words) },
        }
    }

    /// Whether it may be any instruction.
    fn is_anything(&self) -> bool {
        match self {
            Second::Next => true,
            Second::Names { names, .. } => names.is_all() || names.names.is_empty(),
        }
    }
}

/// Names of opcodes, with their shape or with fewer and fewer modifiers, of classes and of categories; or everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    names: Vec<String>,
}

impl Names {
    fn parse(words: &[&str]) -> Names {
        Names { names: words.iter().map(|&word| word.to_owned()).collect() }
    }

    /// Whether it is every instruction.
    pub fn is_all(&self) -> bool {
        self.names.iter().any(|name| name == "*")
    }

    /// Whether an opcode is among them, with its class in this table.
    pub fn hold(&self, table: &str, opcode: &str) -> bool {
        let plain = opcode.split(':').next().unwrap_or(opcode);
        let shorter =
            || std::iter::successors(Some(plain), |name| name.rsplit_once('.').map(|(front, _)| front));
        let class = class_of(table, opcode);
        let category = Category::of(plain).map(Category::name);
        let is = |name: &String| {
            [class, opcode].contains(&name.as_str())
                || Some(name.as_str()) == category
                || shorter().any(|short| short == name)
        };
        self.is_all() || self.names.iter().any(is)
    }
}

/// One reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// The line of its row.
    pub line: u64,
    /// The instructions that it holds for.
    pub first: Names,
    /// Where the cycles end.
    pub second: Second,
    /// The cycles that are left.
    pub cycles: u16,
    /// All of these hold.
    pub when: Vec<When>,
    /// What kind of reason it is.
    pub kind: ReasonKind,
    /// The row up to here, as it is written.
    pub text: String,
    /// The explanation.
    pub why: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawReason {
    first: String,
    second: String,
    cycles: u16,
    when: String,
    kind: String,
    why: String,
    source: String,
}

/// The most cycles that a row may claim: more than any latency of fixed length.
const MOST: u16 = 64;

/// Reads a table.
///
/// # Errors
/// When a row is malformed or twice there, explains nothing, or would explain everything.
pub fn parse(text: &str) -> Result<Vec<Reason>, TableError> {
    let mut reasons: Vec<Reason> = Vec::new();
    for row in table::rows::<RawReason>("residue", text)? {
        let RawReason { first, second, cycles, when, kind, why, source } = &row.value;
        if why.is_empty() || source.is_empty() || first.is_empty() || second.is_empty() {
            return Err(row.error("no cell but `when` may be empty"));
        }
        if !(2..=MOST).contains(cycles) {
            return Err(
                row.error(format!("`cycles` is {cycles}: one cycle is left in any case, {MOST} at most"))
            );
        }
        let conditions = when.split_whitespace().map(|word| word.parse::<When>());
        let conditions = conditions.collect::<Result<Vec<_>, _>>().map_err(|e| row.error(e))?;
        let reason = Reason {
            line: row.line,
            first: Names::parse(&first.split(' ').collect::<Vec<_>>()),
            second: Second::parse(second),
            cycles: *cycles,
            when: conditions,
            kind: kind.parse().map_err(|e: String| row.error(e))?,
            text: format!("{first} > {second} {cycles} {when}").trim_end().to_owned(),
            why: why.clone(),
        };
        if reason.first.is_all() && reason.second.is_anything() && reason.when.is_empty() {
            return Err(row.error("would explain everything: name one of the two, or say when"));
        }
        if reasons.iter().any(|other| other.text == reason.text) {
            return Err(row.error("the same row stands above"));
        }
        reasons.push(reason);
    }
    Ok(reasons)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "first,second,cycles,when,kind,why,source\n";

    fn parsed(row: &str) -> Result<Vec<Reason>, TableError> {
        parse(&format!("{HEAD}{row}\n"))
    }

    #[test]
    fn names_are_opcodes_classes_and_categories() {
        let rows = parsed("BAR.RED fma,memory global,6,,state,the result,counts").expect("a row");
        let holds = |opcode| rows[0].first.hold("sm_90", opcode);
        assert!(holds("BAR.RED") && holds("BAR.RED.POPC") && holds("VIADD") && holds("FFMA"));
        assert!(!holds("BAR.SYNC") && !holds("IADD3"));
        let Second::Names { names, edge: false } = &rows[0].second else { panic!("names") };
        assert!(names.hold("sm_90", "LDG.E") && !names.hold("sm_90", "LDS"));
        let rows = parsed("HMMA:4/4/2/4,edge RET,6,,issue,w,s").expect("a row");
        assert!(rows[0].first.hold("sm_90", "HMMA:4/4/2/4") && !rows[0].first.hold("sm_90", "HMMA:4/2/1/4"));
        assert!(matches!(&rows[0].second, Second::Names { names, edge: true } if names.hold("sm_90", "RET")));
        let rows = parsed("*,BRA,5,adjacent yields,issue,w,s").expect("a row");
        assert!(rows[0].first.is_all() && rows[0].when == [When::Adjacent, When::Yields]);
    }

    #[test]
    fn malformed_rows_are_refused_with_their_line() {
        for (row, says) in [
            ("BRA,edge,1,,issue,w,s", "one cycle"),
            ("BRA,edge,65,,issue,w,s", "64 at most"),
            ("BRA,edge,five,,issue,w,s", "invalid digit"),
            ("BRA,edge,5,,magic,w,s", "expected one of rule"),
            ("BRA,edge,5,sometimes,issue,w,s", "expected one of writes-predicate"),
            ("BRA,edge,5,,issue,,s", "no cell"),
            ("BRA,edge,5,,issue,w,", "no cell"),
            ("*,*,5,,choice,w,s", "everything"),
            ("*,next,5,,choice,w,s", "everything"),
            ("*,edge,5,,choice,w,s", "everything"),
            ("BRA,edge,5,,issue,w", "columns"),
        ] {
            let error = parsed(row).expect_err(row);
            assert!(error.line == 2 && error.message.contains(says), "{row}: {error}");
        }
        let twice = parsed("BRA,edge,5,,issue,w,s\nBRA,edge,5,,rule,v,s").expect_err("twice");
        assert!(twice.line == 3 && twice.message.contains("above"), "{twice}");
    }
}
