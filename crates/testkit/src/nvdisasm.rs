//! What `nvdisasm -plr` says of the registers of every instruction, and how it compares with a decoder.
//!
//! It is an oracle with known faults. [`FAULTS`] lists them all with their explanation; whatever else differs is a
//! [`Difference`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use sassafras_ir::{Lane, RegClass};

use crate::tools;

/// A set of registers.
pub type Lanes = BTreeSet<Lane>;

/// One instruction of a listing.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its section.
    pub section: Arc<str>,
    /// Its byte offset.
    pub address: u64,
    /// Its word.
    pub word: u128,
    /// Its text.
    pub text: String,
    /// Registers read.
    pub reads: Lanes,
    /// Registers written.
    pub writes: Lanes,
    /// The registers that the listing has a column for.
    pub columns: Arc<Lanes>,
}

impl Line {
    /// The name of the operation without modifiers.
    pub fn mnemonic(&self) -> &str {
        let words = self.text.split_whitespace();
        let name = words.into_iter().find(|word| !word.starts_with(['@', '{'])).unwrap_or("?");
        name.split('.').next().unwrap_or(name)
    }
}

/// A listing made with `-c -hex -plr -lrm narrow`, and where its labels stand.
#[derive(Debug, Default)]
pub struct Listing {
    /// All instructions.
    pub lines: Vec<Line>,
    /// `(section, label)` to the byte address.
    pub labels: BTreeMap<(Arc<str>, String), u64>,
}

/// Disassembles a cubin with register sets.
pub fn disassemble(nvdisasm: &Path, cubin: &Path) -> Listing {
    let out = tools::run(Command::new(nvdisasm).args(["-c", "-hex", "-plr", "-lrm", "narrow"]).arg(cubin));
    assert!(out.status.success(), "{}: {}", cubin.display(), String::from_utf8_lossy(&out.stderr));
    Listing::parse(&String::from_utf8_lossy(&out.stdout))
}

/// Where the columns of a table are.
type Columns = Vec<(usize, Lane)>;

impl Listing {
    /// Reads a listing.
    pub fn parse(text: &str) -> Listing {
        let mut out = Listing::default();
        let mut section: Arc<str> = "".into();
        let mut header: Vec<&str> = Vec::new();
        let mut columns = Columns::new();
        let mut named: Arc<Lanes> = Arc::default();
        let mut pending: Option<(u64, String, u64)> = None;
        let mut waiting: Vec<String> = Vec::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("//----") {
                section = rest.trim_matches(['-', ' ']).into();
                (header, columns, pending) = (Vec::new(), Vec::new(), None);
                waiting.clear();
                continue;
            }
            let (code, table) = match line.rfind("// |").or_else(|| line.rfind("// +")) {
                Some(at) => (&line[..at], Some(&line[at + 3..])),
                None => (line, None),
            };
            if let Some(table) = table.filter(|_| columns.is_empty()) {
                if table.starts_with("+-") && !header.is_empty() {
                    columns = columns_of(&header);
                    named = Arc::new(columns.iter().map(|&(_, lane)| lane).collect());
                } else if table.starts_with('|') {
                    header.push(table);
                }
                continue;
            }
            let trimmed = code.trim();
            if let Some(label) = trimmed.strip_suffix(':') {
                waiting.push(label.to_owned());
            }
            let Some(rest) = trimmed.strip_prefix("/*") else {
                pending = None;
                continue;
            };
            if let Some((address, text, low)) = pending.take_if(|_| trimmed.starts_with("/* 0x")) {
                let high = hex(trimmed).expect("the high half");
                let cells = table.unwrap_or("").as_bytes();
                let marked = |marks: &[u8]| {
                    let is_marked = |at: usize| cells.get(at).is_some_and(|cell| marks.contains(cell));
                    columns.iter().filter(|&&(at, _)| is_marked(at)).map(|&(_, lane)| lane).collect()
                };
                out.lines.push(Line {
                    section: section.clone(),
                    address,
                    word: u128::from(low) | u128::from(high) << 64,
                    text,
                    reads: marked(b"vx"),
                    writes: marked(b"^x"),
                    columns: named.clone(),
                });
            } else if let Some((address, rest)) = rest.split_once("*/")
                && let (Ok(address), Some(low)) = (u64::from_str_radix(address, 16), hex(rest))
            {
                let text = rest.split("/*").next().unwrap_or_default();
                let text = text.trim().trim_end_matches([';', ' ']).to_owned();
                for label in waiting.drain(..) {
                    out.labels.insert((section.clone(), label), address);
                }
                pending = Some((address, text, low));
            }
        }
        out
    }
}

fn hex(line: &str) -> Option<u64> {
    let (_, tail) = line.split_once("/* 0x")?;
    u64::from_str_radix(tail.split_once(" */")?.0, 16).ok()
}

/// The columns under a header. The digits of a number stand above each other.
fn columns_of(header: &[&str]) -> Columns {
    let bars: Vec<usize> = header[0].match_indices('|').map(|(i, _)| i).collect();
    let mut out = Vec::new();
    for pair in bars.windows(2) {
        let class = match header[0][pair[0] + 1..pair[1]].trim() {
            "GPR" => RegClass::Gpr,
            "PRED" => RegClass::Pred,
            "UGPR" => RegClass::Uniform,
            "UPRED" => RegClass::UPred,
            other => panic!("unknown register file {other}"),
        };
        let units = header.last().expect("a header");
        let first = pair[0] + units[pair[0]..].find('#').expect("a counter") + 1;
        for at in first..pair[1] {
            let digits: String = header[1..].iter().map(|row| &row[at..at + 1]).collect();
            let lane = digits.trim().parse().ok().and_then(|number| Lane::physical(class, number));
            out.extend(lane.map(|lane| (at, lane)));
        }
    }
    out
}

/// What a decoder says of an instruction.
#[derive(Clone, Debug, Default)]
pub struct Claim<'a> {
    /// Its name.
    pub mnemonic: &'a str,
    /// Whether its guard is the constant false.
    pub never_runs: bool,
    /// Whether it calls.
    pub calls: bool,
    /// Registers read, the guard among them.
    pub reads: Lanes,
    /// Registers written.
    pub writes: Lanes,
}

/// Where two register sets differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Reads that only the decoder names.
    pub extra_reads: Lanes,
    /// Reads that only nvdisasm names.
    pub missing_reads: Lanes,
    /// Writes that only the decoder names.
    pub extra_writes: Lanes,
    /// Writes that only nvdisasm names.
    pub missing_writes: Lanes,
}

/// A kind of difference: what a report counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Class {
    /// The operation.
    pub mnemonic: String,
    /// The register file.
    pub file: &'static str,
    /// `missing read`, `extra write` and so on, as seen from the decoder.
    pub what: &'static str,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.mnemonic, self.file, self.what)
    }
}

impl Difference {
    fn of(claim: &Claim<'_>, line: &Line) -> Difference {
        let minus = |a: &Lanes, b: &Lanes| a.difference(b).copied().collect();
        Difference {
            extra_reads: minus(&claim.reads, &line.reads),
            missing_reads: minus(&line.reads, &claim.reads),
            extra_writes: minus(&claim.writes, &line.writes),
            missing_writes: minus(&line.writes, &claim.writes),
        }
    }

    fn is_empty(&self) -> bool {
        self.nothing_extra() && self.nothing_missing()
    }

    fn nothing_extra(&self) -> bool {
        self.extra_reads.is_empty() && self.extra_writes.is_empty()
    }

    fn nothing_missing(&self) -> bool {
        self.missing_reads.is_empty() && self.missing_writes.is_empty()
    }

    fn extra(&self) -> impl Iterator<Item = Lane> {
        self.extra_reads.iter().chain(&self.extra_writes).copied()
    }

    /// The kinds of difference in it, each once.
    pub fn classes(&self, mnemonic: &str) -> BTreeSet<Class> {
        let sides = [
            ("extra read", &self.extra_reads),
            ("missing read", &self.missing_reads),
            ("extra write", &self.extra_writes),
            ("missing write", &self.missing_writes),
        ];
        let class = |what, lane: &Lane| {
            let file = lane.class().prefix();
            Class { mnemonic: mnemonic.to_owned(), file, what }
        };
        sides.iter().flat_map(|(what, lanes)| lanes.iter().map(move |lane| class(*what, lane))).collect()
    }
}

/// A known fault of nvdisasm.
#[derive(Debug)]
pub struct Fault {
    /// A short name.
    pub name: &'static str,
    /// What is wrong, and how one can tell.
    pub why: &'static str,
    explains: fn(&Claim<'_>, &Line, &Difference) -> bool,
}

/// Every known fault. Each explains a whole difference or none of it.
pub static FAULTS: &[Fault] = &[
    Fault {
        name: "never runs",
        why: "an instruction guarded by the constant false is listed as if it ran",
        explains: |claim, _, _| claim.never_runs,
    },
    Fault {
        name: "callee",
        why: "registers that a called function may touch are listed at the call",
        explains: |claim, _, difference| claim.calls && difference.nothing_extra(),
    },
    Fault {
        name: "predicate mask",
        why: "P2R, R2P and UP2UR move several predicates by a mask, which are not listed",
        explains: |claim, _, difference| {
            matches!(claim.mnemonic, "P2R" | "R2P" | "UP2UR")
                && difference.extra().all(|lane| matches!(lane.class(), RegClass::Pred | RegClass::UPred))
        },
    },
    Fault {
        name: "LDGSTS predicate",
        why: "the predicate that says whether to copy or to fill with zero is listed as written; it is read",
        explains: |claim, _, difference| claim.mnemonic == "LDGSTS" && difference.missing_reads.is_empty(),
    },
    Fault {
        name: "load predicate",
        why: "the predicate that says whether to load or to fill with zero is listed as written, too; code that follows \
              reads it without a wait for the load, and writes it",
        explains: |claim, _, difference| {
            let is_read = |lane: &Lane| lane.class() == RegClass::Pred && claim.reads.contains(lane);
            matches!(claim.mnemonic, "LDG" | "LD")
                && difference.nothing_extra()
                && difference.missing_reads.is_empty()
                && difference.missing_writes.iter().all(is_read)
        },
    },
    Fault {
        name: "TEX component",
        why: "from sm_100 on, TEX with all four components is listed without the last one as written; code that follows \
              reads it",
        explains: |claim, _, difference| {
            let last = difference.extra_writes.first().filter(|_| difference.extra_writes.len() == 1);
            let pair = |lane: &Lane| {
                let before =
                    lane.index().checked_sub(1).and_then(|index| Lane::physical(RegClass::Gpr, index));
                lane.class() == RegClass::Gpr && before.is_some_and(|before| claim.writes.contains(&before))
            };
            claim.mnemonic == "TEX"
                && difference.nothing_missing()
                && difference.extra_reads.is_empty()
                && claim.writes.len() == 4
                && last.is_some_and(pair)
        },
    },
    Fault {
        name: "no column",
        why: "UR0 to UR3 are never marked, and registers beyond the highest that the table counts have no column",
        explains: |_, line, difference| {
            let unlisted = |lane: Lane| {
                !line.columns.contains(&lane) || lane.class() == RegClass::Uniform && lane.index() < 4
            };
            difference.nothing_missing() && difference.extra().all(unlisted)
        },
    },
];

/// How a decoder and nvdisasm compare on one instruction.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// The same registers.
    Same,
    /// A known fault of nvdisasm.
    Fault(&'static Fault),
    /// Neither.
    Different(Difference),
}

/// Compares the registers of one instruction.
pub fn compare(claim: &Claim<'_>, line: &Line) -> Verdict {
    let difference = Difference::of(claim, line);
    if difference.is_empty() {
        return Verdict::Same;
    }
    let mut faults = FAULTS.iter();
    match faults.find(|fault| (fault.explains)(claim, line, &difference)) {
        Some(fault) => Verdict::Fault(fault),
        None => Verdict::Different(difference),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = "\
//--------------------- .text.k --------------------------
                                                          // +-------------+--------+
                                                          // |  GPR        | PRED   |
                                                          // |  #  0  1  2 |  # 0 1 |
                                                          // +-------------+--------+
.L_x_0:
        /*0010*/              @P0 IADD3 R2, R0, R1, RZ ;    /* 0x0000000100027210 */  // |  3  v  v  ^ |  1 v   |
                                                            /* 0x000fe200007fe0ff */  // |             |        |
";

    fn lane(class: RegClass, index: u32) -> Lane {
        Lane::physical(class, index).expect("a lane")
    }

    fn claim(reads: &[u32], writes: &[u32]) -> Claim<'static> {
        let gprs = |numbers: &[u32]| numbers.iter().map(|&n| lane(RegClass::Gpr, n)).collect::<Lanes>();
        let mut claim =
            Claim { mnemonic: "IADD3", reads: gprs(reads), writes: gprs(writes), ..Claim::default() };
        claim.reads.insert(lane(RegClass::Pred, 0));
        claim
    }

    /// The marks stand in the line of the high half, as nvdisasm prints them.
    fn line() -> Line {
        let text = LISTING
            .replace("// |  3  v  v  ^ |  1 v   |", "")
            .replace("// |             |        |", "// |  3  v  v  ^ |  1 v   |");
        let mut listing = Listing::parse(&text);
        assert_eq!(listing.labels.get(&(".text.k".into(), ".L_x_0".to_owned())), Some(&0x10));
        listing.lines.remove(0)
    }

    #[test]
    fn listings_are_read() {
        let line = line();
        assert_eq!((line.address, line.mnemonic()), (0x10, "IADD3"));
        assert_eq!(line.word, 0x000f_e200_007f_e0ff_0000_0001_0002_7210);
        assert_eq!(line.columns.len(), 5);
        assert!(matches!(compare(&claim(&[0, 1], &[2]), &line), Verdict::Same));
    }

    #[test]
    fn what_no_fault_explains_is_a_difference() {
        let line = line();
        let Verdict::Different(difference) = compare(&claim(&[0], &[2, 1]), &line) else {
            panic!("not noticed");
        };
        let classes: Vec<_> = difference.classes("IADD3").iter().map(ToString::to_string).collect();
        assert_eq!(classes, ["IADD3 R: extra write", "IADD3 R: missing read"]);
        // R9 has no column.
        assert!(
            matches!(compare(&claim(&[0, 1, 9], &[2]), &line), Verdict::Fault(fault) if fault.name == "no column")
        );
    }
}
