//! What `verify --json` and `schedule --json` say, summed up over a file.
//!
//! Reports are folded while they are read, a kernel at a time: that of a large library has tens of megabytes, and a parent that holds it would
//! show up in the memory of its children (see [`measure`](mod@super::measure)).
//!
//! Cost: one pass over the report; memory for one kernel and the distinct kinds, pairs and reasons.

use anyhow::{Context, Result, ensure};
use serde::de::{DeserializeOwned, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, de};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Read;
use std::marker::PhantomData;

/// The form of reports that is known.
const SCHEMA: u32 = 1;
/// The most characters of a reason.
const REASON: usize = 90;

/// How often something was there.
pub type Counts = BTreeMap<String, u64>;

/// What `verify` says of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// The architectures of checked code.
    pub archs: BTreeSet<String>,
    /// Code sections that were checked.
    pub functions: u64,
    /// Those that were not.
    pub unchecked: u64,
    /// Instructions of checked code.
    pub instructions: u64,
    /// Those that are not (fully) known.
    pub opaque: u64,
    /// Pairs of instructions that were looked at.
    pub pairs: u64,
    /// Those whose distance no table knows.
    pub unknown: u64,
    /// Alarms by kind.
    pub kinds: Counts,
    /// Alarms by kind and opcodes.
    pub opcodes: Counts,
    /// With `--against`: how many differences there are from a legal reordering.
    pub differences: Option<u64>,
    /// With `--against`: how many instructions stand elsewhere.
    pub moved: u64,
}

impl Verified {
    /// Reads a report.
    pub fn read(report: impl Read) -> Result<Verified> {
        let report: VerifyReport = serde_json::from_reader(report).context("the report of verify")?;
        ensure!(report.schema == SCHEMA, "the report of verify has schema {}", report.schema);
        let mut sum = report.kernels.sum;
        sum.unchecked = report.unchecked.values().sum();
        if let Some(reordering) = report.reordering {
            sum.differences = Some(reordering.differences.sum);
            sum.moved = reordering.moved;
        }
        Ok(sum)
    }

    /// All alarms.
    pub fn alarms(&self) -> u64 {
        self.kinds.values().sum()
    }
}

/// What `schedule` says of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Scheduled {
    /// Code sections.
    pub functions: u64,
    /// Those that stay as they came since something was in the way.
    pub kept: u64,
    /// What was in the way, without places and numbers.
    pub reasons: Counts,
}

impl Scheduled {
    /// Reads a report.
    pub fn read(report: impl Read) -> Result<Scheduled> {
        let report: ScheduleReport = serde_json::from_reader(report).context("the report of schedule")?;
        ensure!(report.schema == SCHEMA, "the report of schedule has schema {}", report.schema);
        Ok(report.kernels.sum)
    }
}

/// Counts as words, the most frequent first: `raw 3; war 12`. Those behind the first `most` are summed up.
pub fn words(counts: &Counts, most: usize) -> String {
    let mut sorted: Vec<(&String, &u64)> = counts.iter().collect();
    sorted.sort_by_key(|&(name, &count)| (std::cmp::Reverse(count), name));
    let (shown, rest) = sorted.split_at(most.min(sorted.len()));
    let mut words: Vec<String> = shown.iter().map(|(name, count)| format!("{name} {count}")).collect();
    if !rest.is_empty() {
        words.push(format!("other {}", rest.iter().map(|&(_, count)| count).sum::<u64>()));
    }
    words.join("; ")
}

#[derive(Deserialize)]
struct VerifyReport {
    schema: u32,
    kernels: Fold<CheckedKernel, Verified>,
    #[serde(default)]
    unchecked: Counts,
    reordering: Option<Reordering>,
}

#[derive(Deserialize)]
struct CheckedKernel {
    arch: String,
    instructions: u64,
    opaque: u64,
    pairs: u64,
    unknown: u64,
    hazards: Vec<Hazard>,
}

#[derive(Deserialize)]
struct Hazard {
    kind: String,
    instruction: String,
    producer_instruction: String,
}

#[derive(Deserialize)]
struct Reordering {
    moved: u64,
    differences: Fold<de::IgnoredAny, u64>,
}

#[derive(Deserialize)]
struct ScheduleReport {
    schema: u32,
    kernels: Fold<ScheduledKernel, Scheduled>,
}

#[derive(Deserialize)]
struct ScheduledKernel {
    kept: Option<String>,
}

/// Something that items are added to.
trait Sum<T> {
    fn add(&mut self, item: T);
}

impl Sum<CheckedKernel> for Verified {
    fn add(&mut self, kernel: CheckedKernel) {
        self.functions += 1;
        self.archs.insert(kernel.arch);
        self.instructions += kernel.instructions;
        self.opaque += kernel.opaque;
        self.pairs += kernel.pairs;
        self.unknown += kernel.unknown;
        for hazard in kernel.hazards {
            let (first, second) = (opcode(&hazard.producer_instruction), opcode(&hazard.instruction));
            *self.opcodes.entry(format!("{} {first} > {second}", hazard.kind)).or_default() += 1;
            *self.kinds.entry(hazard.kind).or_default() += 1;
        }
    }
}

impl Sum<ScheduledKernel> for Scheduled {
    fn add(&mut self, kernel: ScheduledKernel) {
        self.functions += 1;
        if let Some(why) = kernel.kept {
            self.kept += 1;
            *self.reasons.entry(reason(&why)).or_default() += 1;
        }
    }
}

impl Sum<de::IgnoredAny> for u64 {
    fn add(&mut self, _: de::IgnoredAny) {
        *self += 1;
    }
}

/// A list that is summed up while it is read.
struct Fold<T, S> {
    sum: S,
    of: PhantomData<T>,
}

impl<'de, T: DeserializeOwned, S: Sum<T> + Default> Deserialize<'de> for Fold<T, S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Fold { sum: S::default(), of: PhantomData })
    }
}

impl<'de, T: DeserializeOwned, S: Sum<T>> Visitor<'de> for Fold<T, S> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Self, A::Error> {
        while let Some(item) = list.next_element()? {
            self.sum.add(item);
        }
        Ok(self)
    }
}

/// The opcode of an instruction as it is printed, with its modifiers and without its guard.
fn opcode(text: &str) -> &str {
    text.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or("?")
}

/// A reason without what differs from kernel to kernel: the section that it starts with, operands, places, numbers.
fn reason(why: &str) -> String {
    let mut rest = why;
    if why.starts_with('.')
        && let Some((_, behind)) = why.split_once(": ")
    {
        rest = behind;
    }
    let mut short = String::new();
    for (place, part) in rest.split('`').enumerate() {
        // Between quotes stands an instruction with its place, or an option.
        if place % 2 == 1 {
            short.push_str(match part.split_once("*/ ") {
                Some((_, instruction)) => opcode(instruction),
                None => part,
            });
        } else {
            numberless(part, &mut short);
        }
    }
    // What follows is advice.
    let short = short.split("; ").next().unwrap_or_default();
    match short.char_indices().nth(REASON) {
        Some((end, _)) => format!("{}…", &short[..end]),
        None => short.to_owned(),
    }
}

/// Puts `#` in place of numbers; the names of architectures keep theirs.
fn numberless(text: &str, out: &mut String) {
    for word in text.split_inclusive(' ') {
        match word.find(|c: char| c.is_ascii_digit()) {
            Some(at) if !word.starts_with("sm_") => {
                let number = |c: char| c.is_ascii_hexdigit() || c == 'x';
                let end = word[at..].find(|c| !number(c)).map_or(word.len(), |length| at + length);
                out.push_str(&word[..at]);
                out.push('#');
                out.push_str(&word[end..]);
            }
            _ => out.push_str(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERIFIED: &str = r#"{
      "schema": 1,
      "kernels": [
        {"name": "a", "arch": "sm_90", "instructions": 8, "opaque": 1, "pairs": 20, "unknown": 2, "hazards": [
          {"offset": 32, "kind": "raw", "register": "R11", "instruction": "@!P0 FADD R4, R11, R1", "producer": 0,
           "producer_instruction": "LDG.E R11, [R2]", "needed": "scoreboard", "given": 5},
          {"offset": 48, "kind": "war", "register": null, "instruction": "MOV R2, R3", "producer": 0,
           "producer_instruction": "LDG.E R11, [R2]", "needed": 4, "given": 5}]},
        {"name": "b", "arch": "sm_80", "instructions": 4, "opaque": 0, "pairs": 3, "unknown": 0, "hazards": [
          {"offset": 16, "kind": "raw", "register": "R1", "instruction": "FADD R4, R1, R1", "producer": 0,
           "producer_instruction": "@P1 LDG.E R1, [R2]", "needed": "scoreboard", "given": 1}]}
      ],
      "unchecked": {"code for sm_50": 3, "code for sm_52": 4},
      "reordering": {"instructions": 12, "moved": 7, "renamed": 0, "differences": [{"change": "x"}, {"change": "y"}]}
    }"#;

    #[test]
    fn a_report_of_verify_is_summed_up() {
        let sum = Verified::read(VERIFIED.as_bytes()).expect("a report");
        assert_eq!(sum.archs.iter().map(String::as_str).collect::<Vec<_>>(), ["sm_80", "sm_90"]);
        assert_eq!((sum.functions, sum.unchecked, sum.instructions, sum.opaque), (2, 7, 12, 1));
        assert_eq!((sum.pairs, sum.unknown, sum.alarms()), (23, 2, 3));
        assert_eq!(words(&sum.kinds, 9), "raw 2; war 1");
        assert_eq!(words(&sum.opcodes, 1), "raw LDG.E > FADD 2; other 1");
        assert_eq!((sum.differences, sum.moved), (Some(2), 7));
    }

    #[test]
    fn a_clean_report_has_no_verdict() {
        let sum = Verified::read(&br#"{"schema": 1, "kernels": []}"#[..]).expect("a report");
        assert_eq!(sum, Verified::default());
        assert_eq!(words(&sum.kinds, 9), "");
    }

    #[test]
    fn reports_of_other_forms_are_refused() {
        let error = |text: &str| format!("{:#}", Verified::read(text.as_bytes()).unwrap_err());
        assert!(error(r#"{"schema": 2, "kernels": []}"#).contains("schema 2"));
        assert!(error(&VERIFIED[..400]).contains("EOF"));
        assert!(error(&VERIFIED.replace("pairs", "couples")).contains("pairs"));
        assert!(Scheduled::read(&br#"{"schema": 7, "kernels": []}"#[..]).is_err());
    }

    #[test]
    fn a_report_of_schedule_is_summed_up() {
        let report = r#"{"schema": 1, "input": "x", "kernels": [
          {"name": "a", "kept": null, "left": []},
          {"name": "b", "kept": "code for sm_60, which has no decoding table"},
          {"name": "c", "kept": ".text.c at offset 0x110: an opaque instruction keeps its control fields"},
          {"name": "d", "kept": ".text.d at offset 0x100: an opaque instruction keeps its control fields"}]}"#;
        let sum = Scheduled::read(report.as_bytes()).expect("a report");
        assert_eq!((sum.functions, sum.kept), (4, 3));
        let expected = "an opaque instruction keeps its control fields 2; \
                        code for sm_60, which has no decoding table 1";
        assert_eq!(words(&sum.reasons, 9), expected);
    }

    #[test]
    fn reasons_lose_what_differs() {
        let cases = [
            (
                "`/*2ea0*/ BSYNC.RECONVERGENT B0` comes 14 cycles sooner than stalls allow: results have not settled",
                "BSYNC.RECONVERGENT comes # cycles sooner than stalls allow: results have not settled",
            ),
            (
                "a hazard: raw on R20: `/*2c5b0*/ @!P0 MOV R20, R26` then `/*2c5d0*/ @P0 IMAD R26`: needs 5 cycles",
                "a hazard: raw on R#: MOV then IMAD: needs # cycles",
            ),
            (
                ".nv.capmerc.text.k: describes the code, for the driver; `--keep-capsules` leaves it so",
                "describes the code, for the driver",
            ),
            ("the relocation at 0x4f8 of .nv.global", "the relocation at # of .nv.global"),
        ];
        for (why, short) in cases {
            assert_eq!(reason(why), short);
        }
        let long = reason(&"é".repeat(200));
        assert_eq!(long.chars().count(), REASON + 1);
    }
}
