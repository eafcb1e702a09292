//! Goal: everything the tables say about one architecture, ready to be written as JSON.
//!
//! The shape is versioned by [`SCHEMA`]. A latency is a number, `{"min", "max"}`, or null. A null number has its reason
//! beside it.

use serde::Serialize;

use crate::mnemonic::{Via, examples};
use crate::{
    Alias, Arch, CharCode, ClassEntry, ClassId, ClassRef, ClassTable, Constant, Cost, Cycles, DependenceRule,
    EncodingRow, InstructionEncoding, IssueWidth, LatencyIndex, Layer, MeasuredLatencies, MeasuredRow,
    MemorySpace, OpcodeEntry, OpcodeGroup, OriOpcode, RegisterFile, Span, SubArchVariant, Unit, UnitInfo,
    UnitName, Variant, WarpProfile, char_codes, constants, dependence_rule, issue_widths, memory_spaces,
    opcodes, pipe_flag_rows, pipe_mask_rows, sub_arch_variants, sub_class_rows, unit_for_mnemonic,
    unit_names,
};

/// Version of the shape.
pub const SCHEMA: u32 = 1;

/// One architecture.
#[derive(Debug, Clone, Serialize)]
pub struct ArchView {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Its name.
    pub arch: Arch,
    /// Its family.
    pub family: &'static str,
    /// What it was sold as.
    pub era: &'static str,
    /// Architectures its documented costs come from, nearest first.
    pub inherits: Vec<Arch>,
    /// Whether its layers or that inheritance are inferred.
    pub inferred: bool,
    /// Why.
    pub inferred_reasons: Vec<&'static str>,
    /// Table layers, base first.
    pub layers: Vec<&'static Layer>,
    /// Instruction encoding.
    pub encoding: InstructionEncoding,
    /// Whether two instructions may issue together.
    pub dual_issue: bool,
    /// Register counts.
    pub registers: RegisterFile,
    /// Unit of every documented latency.
    pub latency_unit: &'static str,
    /// Unit of every measured one.
    pub measured_unit: &'static str,
    /// Scheduling classes, by number.
    pub classes: Vec<ClassView>,
    /// Opcodes: table rows, then aliases and examples.
    pub opcodes: Vec<OpcodeView>,
    /// Functional units.
    pub units: Vec<UnitView>,
    /// Classes by opcode number and unit name.
    pub unit_names: &'static [UnitName],
    /// Functional units by character code.
    pub char_codes: &'static [CharCode],
    /// Warp profile.
    pub warp_profile: WarpView,
    /// Variant codes of every printed SM id.
    pub sub_arch_variants: &'static [SubArchVariant],
    /// Issue width by scheduling mode.
    pub issue_widths: &'static [IssueWidth],
    /// Memory spaces.
    pub memory_spaces: &'static [MemorySpace],
    /// Descriptor encodings.
    pub encodings: Encodings,
    /// Scalars.
    pub constants: &'static [Constant],
    /// Measured rows, its own first, then inherited ones.
    pub measured: Vec<MeasuredView>,
    /// Why measured rows are inherited or absent.
    pub measured_reason: Option<&'static str>,
}

/// One class.
#[derive(Debug, Clone, Serialize)]
pub struct ClassView {
    /// Its number.
    pub id: ClassId,
    /// The pipe as printed, else the unit of the opcode table it appears in.
    pub unit: Option<&'static str>,
    /// Why there is no unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit_reason: Option<&'static str>,
    /// Documented latency.
    pub latency: Option<Cost>,
    /// Documented inverse throughput.
    pub throughput_inv: Option<Cost>,
    /// Index into the latency table.
    pub latency_index: Option<LatencyIndex>,
    /// Why there is no index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_index_reason: Option<&'static str>,
    /// Names that can take this class.
    pub opcodes: Vec<&'static str>,
    /// What it is for.
    pub description: &'static str,
    /// The printed row, when it spans several classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<Span>,
    /// Which table.
    pub origin: &'static str,
    /// Whose column the numbers are.
    pub inherited_from: Option<Arch>,
    /// Why that column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inferred: Option<&'static str>,
    /// Other readings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
    /// Why a number is missing.
    pub reason: Option<&'static str>,
    /// The dependence rule.
    pub rule: Option<DependenceRule>,
    /// Why fields of the rule are null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule_reason: Option<&'static str>,
    /// Where it comes from.
    pub source: &'static str,
}

/// One opcode.
#[derive(Debug, Clone, Serialize)]
pub struct OpcodeView {
    /// Name as printed.
    pub name: &'static str,
    /// Instruction names it answers to; none where only a description is printed.
    pub names: Vec<&'static str>,
    /// Class by default; null when dynamic.
    pub class: Option<ClassId>,
    /// Latency index by default.
    pub latency_index: Option<LatencyIndex>,
    /// Why there is no index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_index_reason: Option<&'static str>,
    /// Opcode number.
    pub ori: Option<OriOpcode>,
    /// Opcode table.
    pub table: Option<OpcodeGroup>,
    /// Index of the unit printed for its opcode table.
    pub pipe: Option<usize>,
    /// Functional unit: that one, else the one the unit table lists the name under.
    pub unit: Option<Unit>,
    /// Why there is no unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit_reason: Option<&'static str>,
    /// How the name and the class were brought together.
    pub via: Via,
    /// First SM number that has it, where printed.
    pub since: Option<u16>,
    /// Classes under conditions.
    pub variants: &'static [Variant],
    /// Opcodes in the same case.
    pub aliases: &'static [Alias],
    /// The note, or the example's qualifier.
    pub note: &'static str,
    /// Why there is no class.
    pub reason: Option<&'static str>,
    /// Where it comes from.
    pub source: &'static str,
}

/// One functional unit.
#[derive(Debug, Clone, Serialize)]
pub struct UnitView {
    /// The row.
    #[serde(flatten)]
    pub info: &'static UnitInfo,
    /// Byte offset of its usage counter.
    pub usage_offset: usize,
    /// Byte offset of its delta counter.
    pub delta_offset: usize,
}

/// Warps and dispatch slots; all null for the fallback, which has no SM id.
#[derive(Debug, Clone, Serialize)]
pub struct WarpView {
    /// Warps per SM, as the document counts them.
    pub warps: Option<u16>,
    /// Dispatch slots.
    pub dispatch_slots: Option<u16>,
    /// The internal SM id, where one is printed.
    pub sm_id: Option<u32>,
    /// The variant code of that id.
    pub variant: Option<u8>,
    /// Why the row and the id are what they are, or missing.
    pub reason: Option<&'static str>,
    /// The printed row.
    pub range: Option<&'static WarpProfile>,
}

/// The encodings inside a scheduling descriptor.
#[derive(Debug, Clone, Serialize)]
pub struct Encodings {
    /// Execution pipes.
    pub pipe_masks: &'static [EncodingRow],
    /// Sub-classes.
    pub sub_classes: &'static [EncodingRow],
    /// Pipe flags.
    pub pipe_flags: &'static [EncodingRow],
}

/// One measured row as seen from an architecture.
#[derive(Debug, Clone, Serialize)]
pub struct MeasuredView {
    /// The row.
    #[serde(flatten)]
    pub row: &'static MeasuredRow,
    /// Whose row it is, when not the architecture's own.
    pub inherited_from: Option<Arch>,
}

const NO_UNIT: &str = "no table prints a counted unit for it";

/// Everything about one architecture.
pub fn view(arch: Arch) -> ArchView {
    let info = arch.info();
    ArchView {
        schema: SCHEMA,
        arch,
        family: &info.family,
        era: &info.era,
        inherits: arch.inherits(),
        inferred: info.is_inferred(),
        inferred_reasons: [&info.layers_inferred, &info.parent_inferred]
            .into_iter()
            .filter_map(|r| r.as_deref())
            .collect(),
        layers: info.layers.clone(),
        encoding: info.encoding,
        dual_issue: info.dual_issue,
        registers: info.registers,
        latency_unit: Cost::UNIT,
        measured_unit: Cycles::UNIT,
        classes: ClassTable::documented().iter().map(|entry| class_view(arch, entry)).collect(),
        opcodes: opcode_views(),
        units: Unit::ALL.iter().map(|&unit| unit_view(unit)).collect(),
        unit_names: unit_names(),
        char_codes: char_codes(),
        warp_profile: warp_view(arch),
        sub_arch_variants: sub_arch_variants(),
        issue_widths: issue_widths(),
        memory_spaces: memory_spaces(),
        encodings: Encodings {
            pipe_masks: pipe_mask_rows(),
            sub_classes: sub_class_rows(),
            pipe_flags: pipe_flag_rows(),
        },
        constants: constants().rows(),
        measured: MeasuredLatencies::for_arch(arch)
            .rows()
            .map(|row| MeasuredView { row, inherited_from: row.arch.filter(|&owner| owner != arch) })
            .collect(),
        measured_reason: info.measured_reason.as_deref(),
    }
}

fn class_view(arch: Arch, entry: &'static ClassEntry) -> ClassView {
    let costs = entry.costs(arch);
    let (first, last) = entry.printed_row;
    let rule = dependence_rule(arch, entry.id);
    let unit = entry.pipe.map(|pipe| pipe.name());
    let unit = unit.or(entry.unit.map(Unit::name));
    ClassView {
        id: entry.id,
        unit,
        unit_reason: unit.is_none().then_some(NO_UNIT),
        latency: costs.latency,
        throughput_inv: costs.throughput_inv,
        latency_index: entry.latency_index,
        latency_index_reason: index_reason(Some(entry.id), entry.latency_index),
        opcodes: names_of_class(entry.id),
        description: &entry.description,
        row: if first == last { None } else { Span::new(first.get().into(), last.get().into()) },
        origin: entry.origin.name(),
        inherited_from: costs.inherited_from,
        inferred: costs.inferred,
        note: entry.note.as_deref(),
        reason: costs.reason,
        rule_reason: rule.and_then(|rule| rule.origin.reason()),
        rule,
        source: &entry.source,
    }
}

/// Why a class has no latency index; the dynamic class needs none.
fn index_reason(class: Option<ClassId>, index: Option<LatencyIndex>) -> Option<&'static str> {
    match (class, index) {
        (_, Some(_)) => None,
        (None | Some(ClassId::DYNAMIC), None) => {
            Some("the dynamic cost model has no row in the latency table")
        }
        (Some(_), None) => Some("nine bits cannot hold the class and no override is printed"),
    }
}

/// Opcode rows, their named aliases and the examples that can take a class, each name once. The sentinel's are those
/// without a class of their own.
fn names_of_class(class: ClassId) -> Vec<&'static str> {
    let takes = |entry: &&OpcodeEntry| {
        entry.variants.iter().any(|variant| variant.class.unwrap_or(ClassId::DYNAMIC) == class)
    };
    let mut out: Vec<&'static str> = Vec::new();
    for entry in opcodes().iter().filter(takes) {
        out.push(&entry.mnemonic);
        out.extend(entry.aliases.iter().filter_map(|alias| alias.name.as_deref()));
    }
    let shows = examples().iter().filter(|example| example.class.iter().any(|id| id == class));
    out.extend(shows.map(|example| example.mnemonic.as_str()));
    let mut seen = std::collections::HashSet::new();
    out.retain(|name| seen.insert(*name));
    out
}

fn opcode_views() -> Vec<OpcodeView> {
    let mut out: Vec<_> =
        opcodes().iter().map(|entry| opcode_view(entry, &entry.mnemonic, Via::Table)).collect();
    for entry in opcodes() {
        for alias in &entry.aliases {
            if let Some(name) = &alias.name {
                out.push(OpcodeView {
                    names: vec![name],
                    ori: alias.ori,
                    aliases: &[],
                    ..opcode_view(entry, name, Via::Alias)
                });
            }
        }
    }
    for example in examples() {
        out.extend(example.class.iter().map(|class| {
            let entry = ClassTable::documented().get(class);
            let latency_index = entry.and_then(|entry| entry.latency_index);
            let unit = unit_for_mnemonic(&example.mnemonic).or(entry.and_then(|entry| entry.unit));
            OpcodeView {
                name: &example.mnemonic,
                names: vec![&example.mnemonic],
                class: Some(class),
                latency_index,
                latency_index_reason: index_reason(Some(class), latency_index),
                ori: None,
                table: None,
                pipe: None,
                unit,
                unit_reason: unit.is_none().then_some(NO_UNIT),
                via: Via::Example,
                since: None,
                variants: &[],
                aliases: &[],
                note: &example.qualifier,
                reason: None,
                source: &example.source,
            }
        }));
    }
    out
}

fn opcode_view(entry: &'static OpcodeEntry, name: &'static str, via: Via) -> OpcodeView {
    let class = entry.default_class();
    OpcodeView {
        name,
        names: entry.names.iter().map(String::as_str).collect(),
        class: class.class(),
        latency_index: class.latency_index(),
        latency_index_reason: index_reason(class.class(), class.latency_index()),
        ori: Some(entry.ori),
        table: Some(entry.group),
        pipe: entry.unit.map(Unit::index),
        unit: entry.unit,
        unit_reason: entry.unit.is_none().then_some(NO_UNIT),
        via,
        since: entry.since,
        variants: &entry.variants,
        aliases: &entry.aliases,
        note: &entry.note,
        reason: (class == ClassRef::Dynamic).then_some("no fixed class: the dynamic cost model decides"),
        source: &entry.source,
    }
}

fn warp_view(arch: Arch) -> WarpView {
    let found = WarpProfile::for_arch(arch);
    let range = found.map(|found| found.profile);
    WarpView {
        warps: range.map(|range| range.warps),
        dispatch_slots: range.map(|range| range.dispatch_slots),
        sm_id: arch.info().sm_id,
        variant: found.and_then(|found| found.variant.map(|row| row.variant)),
        reason: arch.info().warp_inferred.as_deref(),
        range,
    }
}

fn unit_view(unit: Unit) -> UnitView {
    UnitView { info: unit.info(), usage_offset: unit.usage_offset(), delta_offset: unit.delta_offset() }
}
