//! Stalls of many functions, counted by the kinds of instructions before and behind them, and what the counts say.
//!
//! A kind is a pair of forms, or of classes of forms that behave alike, and a stall. Behind the last instruction of a block stands the
//! `edge`, with the first form of the block that it goes on into.

use super::claims::{Claim, Reasons};
use super::{Stall, stalls};
use rustc_hash::FxHashMap;
use sassafras_control::{Field, volta};
use sassafras_ir::text::print_inst;
use sassafras_ir::{Block, Effects, Function, Inst, Payload};
use sassafras_machine::mined::residue::Reason;
use sassafras_machine::mined::seen::form_names;
use sassafras_verify::hazards::Rules;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Stalls of one kind, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Stalls.
    pub stalls: u64,
    /// Their cycles, all of them.
    pub cycles: u64,
    /// Cycles that no rule of the checker asks for.
    pub unchecked: u64,
    /// Cycles that no distance of a scheduler asks for either: the residue.
    pub residue: u64,
    /// Cycles of the residue that no reason explains.
    pub unexplained: u64,
    /// Stalls with such cycles.
    pub times: u64,
    /// Unexplained cycles that no row of least distances asks for.
    pub unseen: u64,
}

impl Sum {
    fn add(&mut self, stall: &Stall) {
        self.stalls += 1;
        self.cycles += u64::from(stall.cycles);
        self.unchecked += u64::from(stall.unchecked);
        self.residue += u64::from(stall.residue);
        self.unexplained += u64::from(stall.unexplained);
        self.times += u64::from(stall.unexplained > 0);
        self.unseen += u64::from(stall.unseen);
    }

    fn join(&mut self, other: &Sum) {
        self.stalls += other.stalls;
        self.cycles += other.cycles;
        self.unchecked += other.unchecked;
        self.residue += other.residue;
        self.unexplained += other.unexplained;
        self.times += other.times;
        self.unseen += other.unseen;
    }
}

/// What was seen of one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Met {
    /// Pairs that it names.
    pub pairs: u64,
    /// Pairs with just the cycles that it says.
    pub exact: u64,
    /// Pairs with fewer.
    pub closer: u64,
    /// Cycles of the residue that it accounts for.
    pub cycles: u64,
}

/// The instruction before a stall, that behind it, and the stall.
pub type Kind = (String, String, u8);

/// What was counted.
#[derive(Clone, Debug, Default)]
pub struct Residue {
    /// By kind.
    pub kinds: FxHashMap<Kind, Sum>,
    /// By reason.
    pub met: Vec<Met>,
    /// Code around unexplained stalls of some kinds, if that was asked for.
    pub examples: BTreeMap<String, Vec<String>>,
}

/// Examples that are kept.
const EXAMPLES: usize = 3;
/// Instructions before and behind an example.
const AROUND: usize = 10;

/// So often a kind may be unexplained.
pub const SELDOM: u64 = 100;

impl Residue {
    /// Counts the stalls of a function.
    ///
    /// Examples are kept of these kinds, named `first > second stall`.
    pub fn function(&mut self, f: &Function, rules: &Rules, reasons: Reasons<'_>, examples: &[String]) {
        let claims = reasons.claims(f);
        self.met.resize(reasons.rows.len().max(self.met.len()), Met::default());
        for Claim { reason, cycles, given, .. } in &claims {
            let met = &mut self.met[usize::from(*reason)];
            met.pairs += 1;
            met.exact += u64::from(given == cycles);
            met.closer += u64::from(given < cycles);
        }
        let name = |text: &str| {
            let names = form_names(reasons.table, text);
            names.own.unwrap_or(names.class).to_owned()
        };
        let names: Vec<String> = f.opcodes().map(name).collect();
        let mut kinds: FxHashMap<(u32, Behind, u8), Sum> = FxHashMap::default();
        let starts = starts(f);
        let stalls = stalls(f, rules, &claims);
        for (place, stall) in stalls.iter().enumerate() {
            let opcode = |inst: Inst| f.inst(inst).opcode.as_u32();
            let behind = match stall.next {
                Some(next) => Behind::Next(opcode(next)),
                None => starts.get(&stall.inst).map_or(Behind::Edge, |&next| Behind::Block(opcode(next))),
            };
            kinds.entry((opcode(stall.inst), behind, stall.cycles)).or_default().add(stall);
            if let Some(reason) = stall.reason {
                self.met[usize::from(reason)].cycles +=
                    u64::from(stall.residue.saturating_sub(stall.unexplained));
            }
            if !examples.is_empty() && stall.unexplained > 0 {
                let first = &names[opcode(stall.inst) as usize];
                let kind = format!("{first} > {} {}", behind.name(&names), stall.cycles);
                if examples.contains(&kind) {
                    let kept = self.examples.entry(kind).or_default();
                    kept.extend((kept.len() < EXAMPLES).then(|| around(f, &stalls, place)));
                }
            }
        }
        for ((first, behind, stall), sum) in kinds {
            let second = behind.name(&names);
            self.kinds.entry((names[first as usize].clone(), second, stall)).or_default().join(&sum);
        }
    }

    /// Adds what was counted elsewhere.
    pub fn join(&mut self, other: &Residue) {
        for (kind, sum) in &other.kinds {
            self.kinds.entry(kind.clone()).or_default().join(sum);
        }
        self.met.resize(other.met.len().max(self.met.len()), Met::default());
        for (ours, theirs) in self.met.iter_mut().zip(&other.met) {
            ours.pairs += theirs.pairs;
            ours.exact += theirs.exact;
            ours.closer += theirs.closer;
            ours.cycles += theirs.cycles;
        }
        for (kind, theirs) in &other.examples {
            let kept = self.examples.entry(kind.clone()).or_default();
            let room = EXAMPLES.saturating_sub(kept.len());
            kept.extend(theirs.iter().take(room).cloned());
        }
    }

    /// All kinds together.
    pub fn total(&self) -> Sum {
        let mut total = Sum::default();
        self.kinds.values().for_each(|sum| total.join(sum));
        total
    }

    /// The share of the residue that reasons explain, in percent.
    pub fn explained(&self) -> f64 {
        let total = self.total();
        100.0 - percent(total.unexplained, total.residue)
    }

    /// Kinds that are unexplained more than [`SELDOM`] times.
    pub fn often(&self) -> usize {
        self.kinds.values().filter(|sum| sum.times > SELDOM).count()
    }

    /// The report: totals, every reason, and the kinds with most unexplained cycles, so many of them.
    pub fn text(&self, reasons: &[Reason], kinds: usize) -> String {
        let total = self.total();
        let stalled = total.cycles - total.stalls;
        let mut out = String::new();
        let mut line = |name: &str, cycles: u64, of: u64, what: &str| {
            let _ = writeln!(out, "{name:32} {cycles:>12}  {:>6.2} % of {what}", percent(cycles, of));
        };
        line("instructions", total.stalls, total.cycles, "all cycles");
        line("stall cycles beyond the first", stalled, total.cycles, "all cycles");
        line("  the checker's rules ask for", stalled - total.unchecked, stalled, "these");
        line("  a scheduler's distances", total.unchecked.saturating_sub(total.residue), stalled, "these");
        line("residue", total.residue, stalled, "these");
        line("  explained", total.residue.saturating_sub(total.unexplained), total.residue, "the residue");
        let seen = total.unexplained.saturating_sub(total.unseen);
        line("  only least distances ask for", seen, total.residue, "the residue");
        line("  unexplained by anything", total.unseen, total.residue, "the residue");
        out += "\nreasons: cycles explained, share of the residue, pairs, with just that many cycles, with fewer\n";
        for (reason, met) in reasons.iter().zip(&self.met) {
            let Met { pairs, exact, closer, cycles } = met;
            let _ = writeln!(
                out,
                "{cycles:>10} {:>6.2} % {pairs:>9} {exact:>9} {closer:>7}  {:6} {}",
                percent(*cycles, total.residue),
                reason.kind.name(),
                reason.text
            );
        }
        for reason in
            reasons.iter().zip(&self.met).filter(|(_, met)| met.pairs == 0).map(|(reason, _)| reason)
        {
            let _ = writeln!(out, "line {} meets nothing: {}", reason.line, reason.text);
        }
        let mut rows: Vec<(&Kind, &Sum)> = self.kinds.iter().filter(|(_, sum)| sum.times > 0).collect();
        rows.sort_unstable_by_key(|&(kind, sum)| (std::cmp::Reverse(sum.unexplained), kind));
        out += "\nunexplained kinds: cycles, share of the residue, stalls, of so many, cycles without a least distance\n";
        for ((first, second, stall), sum) in rows.iter().take(kinds) {
            let _ = writeln!(
                out,
                "{:>10} {:>6.2} % {:>9} {:>9} {:>9}  {first} > {second} {stall}",
                sum.unexplained,
                percent(sum.unexplained, total.residue),
                sum.times,
                sum.stalls,
                sum.unseen
            );
        }
        for (kind, examples) in &self.examples {
            let _ = writeln!(out, "\n{kind}\n{}", examples.join("\n"));
        }
        let _ = writeln!(
            out,
            "\n{:.2} % of the residue is explained; {} kinds are unexplained more than {SELDOM} times, {} at all",
            self.explained(),
            self.often(),
            rows.len()
        );
        out
    }
}

/// What stands behind a stall, by opcode.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Behind {
    Next(u32),
    /// The block ends, and goes on into another.
    Block(u32),
    Edge,
}

impl Behind {
    fn name(self, names: &[String]) -> String {
        match self {
            Behind::Next(opcode) => names[opcode as usize].clone(),
            Behind::Block(opcode) => format!("edge {}", names[opcode as usize]),
            Behind::Edge => "edge".to_owned(),
        }
    }
}

/// The code around a stall, a line per instruction: stall, whether another warp may issue, scoreboards that are set and waited for,
/// cycles of the residue and those without an explanation.
fn around(f: &Function, stalls: &[Stall], place: usize) -> String {
    let mut out = String::new();
    let from = place.saturating_sub(AROUND);
    for (at, stall) in stalls.iter().enumerate().take(place + AROUND).skip(from) {
        let Payload::Word(word) = f.inst(stall.inst).payload else { continue };
        let raw = volta::read(word);
        let [write, read, wait, holds] =
            [Field::Write, Field::Read, Field::Wait, Field::Yield].map(|field| raw.get(field));
        let _ = writeln!(
            out,
            "{} S{:<2} {} W{write} R{read} B{wait:06b} {:>2} {:>2} | {}{}",
            if at == place { ">" } else { " " },
            stall.cycles,
            if holds == 0 { "Y" } else { " " },
            stall.residue,
            stall.unexplained,
            print_inst(f, stall.inst).split(" raw(").next().unwrap_or_default(),
            if stall.next.is_none() { "\n  --" } else { "" },
        );
    }
    out
}

fn percent(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { 100.0 * part as f64 / of as f64 }
}

/// By the last instruction of a block that goes on into the next: the first of that.
fn starts(f: &Function) -> FxHashMap<Inst, Inst> {
    let blocks: Vec<Block> = f.blocks().collect();
    let leaves = Effects::BRANCH | Effects::EXIT | Effects::RET;
    let pair = |pair: &[Block]| {
        let last = *f.block_insts(pair[0]).last()?;
        let goes_on = !f.inst(last).effects.intersects(leaves);
        goes_on.then_some((last, *f.block_insts(pair[1]).first()?))
    };
    blocks.windows(2).filter_map(pair).collect()
}
