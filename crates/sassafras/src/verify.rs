//! Machine code checked: hazards, and whether one file is a legal reordering of another.
//!
//! The checkers are those of `sassafras-verify`; here they are run over every selected section of a file.

use crate::error::Error;
use crate::listing::Listing;
use crate::progress::{Progress, Silent};
use crate::reschedule::arch_of;
use crate::selection::Selection;
use crate::sites::{Lifted, NotLifted, Site, visit};
use sassafras_cubin::{Container, Library, Source};
use sassafras_ir::Function;
use sassafras_ir::text::Annotated;
use sassafras_machine::Arch;
use sassafras_machine::state::StateTable;
use sassafras_sass::program::Routine;
use sassafras_sass::text::routine;
use sassafras_verify::against;
use sassafras_verify::hazards::{self, Finding, Paths, Rules};
use serde::Serialize;
use std::collections::BTreeMap;

pub use sassafras_verify::against::{Comparison, Difference};
pub use sassafras_verify::hazards::HazardKind;

/// Hazards of one section whose paths are looked for: a search each, and nobody reads more.
pub const MOST_PATHS: usize = 100;

/// What the hazard checker says of a file.
#[derive(Debug)]
pub struct Verification {
    /// Sections that were checked, in file order.
    pub kernels: Vec<VerifiedKernel>,
    /// Sections that were not checked, by reason.
    pub unchecked: BTreeMap<String, usize>,
    /// How many of these would be checked if their file stood for less ([`crate::bounds`]).
    pub left_out: usize,
    /// Selected names that several functions have, with their number.
    pub several: Vec<(String, u32)>,
}

impl Verification {
    /// All hazards of all sections.
    pub fn hazards(&self) -> usize {
        self.kernels.iter().map(|kernel| kernel.hazards.len() + kernel.more_hazards as usize).sum()
    }

    /// Whether an instruction was looked at.
    pub fn checked_anything(&self) -> bool {
        self.kernels.iter().any(|kernel| kernel.instructions > 0)
    }
}

/// A code section that was checked: a kernel and the functions placed with it.
#[derive(Debug, Default, Serialize)]
pub struct VerifiedKernel {
    /// Its name.
    pub name: String,
    /// Its architecture, as the file names it.
    pub arch: String,
    /// Instructions.
    pub instructions: u64,
    /// Those that no table describes.
    pub opaque: u64,
    /// Pairs of instructions that were looked at.
    pub pairs: u64,
    /// Those of them whose needed distance no table knows.
    pub unknown: u64,
    /// Hazards.
    pub hazards: Vec<Hazard>,
    /// How many more there are: of a function with very many only the first are kept.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_hazards: u64,
    /// Whether the host can launch it; else a function by itself.
    #[serde(skip)]
    pub entry: bool,
}

/// Two instructions that neither a stall nor a scoreboard keeps apart.
#[derive(Debug, Serialize)]
pub struct Hazard {
    /// Of the consumer, in its section.
    pub offset: u64,
    /// What is wrong.
    #[serde(serialize_with = "name")]
    pub kind: HazardKind,
    /// The register, where it is one.
    pub register: Option<String>,
    /// The consumer, as the listing has it.
    pub instruction: String,
    /// Offset of the producer.
    pub producer: u64,
    /// The producer, as the listing has it.
    pub producer_instruction: String,
    /// What is needed between them.
    pub needed: Needed,
    /// Cycles that there are.
    pub given: u16,
    /// State that the two share besides registers and memory.
    #[serde(skip)]
    pub hidden_state: Vec<&'static str>,
    /// The blocks that lead from the one to the other, for the first [`MOST_PATHS`] hazards of a section.
    #[serde(skip)]
    pub path: Vec<String>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What is needed between two instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Needed {
    /// So many cycles.
    Cycles(u16),
    /// The word `scoreboard`.
    Scoreboard(&'static str),
}

impl Needed {
    fn new(cycles: Option<u16>) -> Needed {
        cycles.map_or(Needed::Scoreboard("scoreboard"), Needed::Cycles)
    }
}

fn name<S: serde::Serializer>(kind: &HazardKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.name())
}

/// Looks for hazards in the selected code of a cubin, fatbinary, host file or archive.
///
/// # Errors
/// When the file or an image in it cannot be read, or something is selected that is not there.
pub fn verify(bytes: &[u8], selection: &Selection) -> Result<Verification, Error> {
    verify_library(&Library::parse(Source::Memory(bytes))?, selection, &Silent)
}

/// As [`verify()`], of a file that is read image by image, with word of how far it is.
///
/// # Errors
/// As [`verify()`].
pub fn verify_library(
    library: &Library<'_>,
    selection: &Selection,
    progress: &dyn Progress,
) -> Result<Verification, Error> {
    let visited = visit(library, selection, progress, |site| check(site, selection))?;
    let mut verification = Verification {
        kernels: Vec::new(),
        unchecked: BTreeMap::new(),
        left_out: 0,
        several: visited.several,
    };
    for result in visited.results {
        match result {
            Ok(kernel) => verification.kernels.push(kernel),
            Err(reason) => {
                verification.left_out += usize::from(matches!(reason, NotLifted::TooMuch(_)));
                *verification.unchecked.entry(reason.to_string()).or_default() += 1;
            }
        }
    }
    Ok(verification)
}

/// One file against the one that it was made from.
#[derive(Debug)]
pub struct VerifiedAgainst {
    /// Hazards of the new file.
    pub hazards: Verification,
    /// Whether it is a legal reordering of the original, and how much it differs.
    pub comparison: Comparison,
}

/// Looks for hazards in a new file, and compares it with the file that it was made from.
///
/// ```
/// use sassafras::{Selection, verify, verify_against};
///
/// let original = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/samples/nbody.cubin"))?;
/// let verified = verify_against(&original, &original)?;
/// assert!(verified.comparison.is_legal());
/// assert_eq!(verified.hazards.hazards(), verify(&original, &Selection::default())?.hazards());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When one of the files cannot be read.
pub fn verify_against(new: &[u8], original: &[u8]) -> Result<VerifiedAgainst, Error> {
    let hazards = verify(new, &Selection::default())?;
    let comparison = against::files(&Container::parse(original)?, &Container::parse(new)?)?;
    Ok(VerifiedAgainst { hazards, comparison })
}

/// Looks for hazards in the selected functions of a text whose instructions have control fields.
///
/// # Errors
/// When one of them is not machine code of an architecture that is known.
pub fn verify_text(functions: &[Annotated], selection: &Selection) -> Result<Verification, Error> {
    let selected = functions.iter().filter(|text| {
        selection.takes_name(&text.function.name) && selection.takes_arch(&text.function.arch)
    });
    let kernels = selected.map(|text| {
        let mut kernel = VerifiedKernel {
            name: text.function.name.clone(),
            arch: text.function.arch.clone(),
            entry: text.annotations.declared.entry,
            ..VerifiedKernel::default()
        };
        kernel.look(arch_of(text)?, &routine(text, 0));
        Ok(kernel)
    });
    let kernels = kernels.collect::<Result<_, Error>>()?;
    Ok(Verification { kernels, unchecked: BTreeMap::new(), left_out: 0, several: Vec::new() })
}

/// A section, or why it is not checked.
fn check(site: &Site<'_, '_>, selection: &Selection) -> Result<Result<VerifiedKernel, NotLifted>, Error> {
    let (arch, routines) = match site.lift(selection)? {
        Lifted::Routines(arch, routines) => (arch, routines),
        Lifted::No(reason) => return Ok(Err(reason)),
    };
    let mut kernel = VerifiedKernel {
        name: site.code.name.to_owned(),
        arch: site.sm.clone(),
        entry: site.code.is_kernel(),
        ..VerifiedKernel::default()
    };
    for routine in &routines {
        kernel.look(arch, routine);
    }
    Ok(Ok(kernel))
}

impl VerifiedKernel {
    /// Looks for hazards in one more routine.
    fn look(&mut self, arch: Arch, routine: &Routine) {
        let f = &routine.lifted.function;
        let report = hazards::check(f, Rules::of(arch));
        self.instructions += f.inst_count() as u64;
        self.opaque += routine.lifted.opaque as u64;
        self.unknown += report.unknown;
        self.pairs += report.pairs;
        self.more_hazards += report.more;
        if report.findings.is_empty() {
            return;
        }
        let listing = Listing::new(arch, routine);
        let paths = Paths::new(f);
        for finding in &report.findings {
            let mut hazard = hazard(routine, &listing, finding);
            if self.hazards.len() < MOST_PATHS {
                hazard.path = paths.of(finding).into_iter().map(|block| listing.label(block)).collect();
                hazard.hidden_state = hidden_state(f, finding);
            }
            self.hazards.push(hazard);
        }
    }
}

fn hazard(routine: &Routine, listing: &Listing<'_>, finding: &Finding) -> Hazard {
    Hazard {
        offset: routine.offset(finding.consumer),
        kind: finding.kind,
        register: finding.lane.map(|lane| lane.to_string()),
        instruction: listing.text(finding.consumer),
        producer: routine.offset(finding.producer),
        producer_instruction: listing.text(finding.producer),
        needed: Needed::new(finding.needed),
        given: finding.given,
        hidden_state: Vec::new(),
        path: Vec::new(),
    }
}

/// What the two instructions of a finding share besides registers.
fn hidden_state(f: &Function, finding: &Finding) -> Vec<&'static str> {
    if finding.kind != HazardKind::Unseen || finding.lane.is_some() {
        return Vec::new();
    }
    let state = |inst| StateTable::documented().get(f.opcode_text(f.inst(inst).opcode)).unwrap_or_default();
    state(finding.producer).shared(state(finding.consumer)).names().collect()
}
