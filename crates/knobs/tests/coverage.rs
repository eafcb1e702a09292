//! Names collected from each document by a search of its text (option tables, backticked names, every "knob NNN" and
//! knob query), apart from the reading that filled the table: all of them must be registered, under that document.

use std::collections::BTreeSet;

use sassafras_knobs::{Document, registry};

const LIST_SCHEDULERS: &[&str] = &[
    "agg-antidep-debugdiv",
    "agg-antidep-debugmod",
    "break-anti-dependencies",
    "disable-sched-critical-path",
    "disable-sched-cycles",
    "disable-sched-live-uses",
    "disable-sched-physreg-join",
    "disable-sched-reg-pressure",
    "disable-sched-scheduled-height",
    "disable-sched-stalls",
    "disable-sched-vrcycle",
    "enable-async-tensor-sched",
    "enable-cyclic-critical-path",
    "enable-misched",
    "enable-post-misched",
    "max-sched-reorder",
    "print-sched-critical",
    "recurrence-chain-limit",
    "sched-critical-path-lookahead",
    "sched-high-latency-cycles",
    "tensor-latency-cycles",
    "topo-sort-begin",
    "wmma-memory-space-opt",
];

const PTXAS_SCHEDULING: &[&str] = &[
    "knob-610",
    "knob-624",
    "knob-741",
    "knob-742",
    "knob-743",
    "knob-747",
    "knob-761",
    "knob-776",
    "knob-777",
    "knob-778",
    "knob-780",
    "knob-805",
    "ConvertMemoryToRegisterOrUniform",
    "HoistInvariants",
    "MathToDmaTepidRatio",
    "MathToEpilogueTepidRatio",
    "OptimizeNaNOrZero",
    "ScheduleInstructions",
    "ScheduleInstructionsDynBatch",
    "ScheduleInstructionsReduceReg",
    "default-latency",
    "imad-special-latency",
    "ldgsts-latency",
    "ldsm-latency",
    "max-in-flight",
    "max-reg-pressure-threshold",
    "pressure-threshold",
    "tex-base-latency",
    "warp-discount",
    "warp-sched-enabled",
];

const CICC_PIPELINER: &[&str] = &[
    "SchedDisableAll",
    "SchedForceReverseOrder",
    "SwpMaxMii",
    "SwpMaxStages",
    "code-motion-window",
    "enable-pipeliner",
    "enable-pipeliner-opt-size",
    "incremental-update-mcse",
    "nvptx-sched4reg",
    "pipeliner-annotate-for-testing",
    "pipeliner-dbg-res",
    "pipeliner-enable-copytophi",
    "pipeliner-experimental-cg",
    "pipeliner-force-ii",
    "pipeliner-force-issue-width",
    "pipeliner-ignore-recmii",
    "pipeliner-ii-search-range",
    "pipeliner-max-mii",
    "pipeliner-max-stages",
    "pipeliner-mve-cg",
    "pipeliner-prune-deps",
    "pipeliner-prune-loop-carried",
    "pipeliner-register-pressure",
    "pipeliner-register-pressure-margin",
    "pipeliner-show-mask",
    "print-verify",
    "usedessa",
    "verify-update-mcse",
];

const LATENCY_MODEL: &[&str] = &[
    "knob-363",
    "knob-420",
    "knob-443",
    "knob-618",
    "knob-629",
    "knob-646",
    "knob-805",
    "knob-806",
    "knob-862",
    "cutlass-detection-mode",
    "cutlass-stall-count",
    "short-stall",
];

const PTXAS_EXTRAS: &[&str] = &[
    "knob-740", "knob-741", "knob-742", "knob-744", "knob-760", "knob-761", "knob-762", "knob-763",
    "knob-770", "knob-776", "knob-778", "knob-805", "knob-806",
];

const TILE_EXTRAS: &[&str] = &[
    "max-constraint-iterations",
    "pipeline-strategy",
    "rrt-size-threshold",
    "schedule-trace-file",
    "unspecialized-pipeline-num-stages",
];

fn names(document: Document) -> &'static [&'static str] {
    match document {
        Document::ListSchedulers => LIST_SCHEDULERS,
        Document::PtxasScheduling => PTXAS_SCHEDULING,
        Document::CiccPipeliner => CICC_PIPELINER,
        Document::LatencyModel => LATENCY_MODEL,
        Document::TileScheduler => &[],
        Document::PtxasExtras => PTXAS_EXTRAS,
        Document::TileExtras => TILE_EXTRAS,
    }
}

#[test]
fn every_name_is_registered_under_its_document() {
    for document in Document::ALL {
        for name in names(document) {
            let knob = registry().find(name).unwrap_or_else(|| panic!("{name} of {document} is missing"));
            assert!(knob.seeds.contains(&document), "{name} does not cite {document}");
        }
    }
}

#[test]
fn every_row_is_named_by_the_documents_it_cites() {
    for knob in registry() {
        for &document in &knob.seeds {
            let named = names(document);
            let spelled = |spelling: &str| named.contains(&spelling);
            assert!(
                spelled(&knob.name) || knob.alias.as_deref().is_some_and(spelled),
                "{} cites {document}, where no search found it",
                knob.name
            );
        }
    }
}

#[test]
fn families_are_registered() {
    let families: BTreeSet<(&str, Option<u32>)> =
        registry().families().iter().map(|family| (&*family.prefix, family.members)).collect();
    assert_eq!(families, BTreeSet::from([("AdvancedSB", None), ("GemmPipeliner", Some(8))]));
}

/// The printed defaults, against a table row that was edited by accident.
#[test]
fn documented_defaults() {
    let expected = [
        ("break-anti-dependencies", "none"),
        ("enable-misched", "true"),
        ("enable-pipeliner", "true"),
        ("knob-740", "0.045"),
        ("knob-741", "3"),
        ("knob-744", "2"),
        ("knob-770", "4"),
        ("knob-776", "250"),
        ("knob-778", "300"),
        ("knob-862", "5"),
        ("max-constraint-iterations", "10"),
        ("max-sched-reorder", "6"),
        ("pipeliner-force-ii", "0"),
        ("pipeliner-force-issue-width", "0"),
        ("pipeliner-ii-search-range", "10"),
        ("pipeliner-max-mii", "27"),
        ("pipeliner-max-stages", "3"),
        ("pipeliner-mve-cg", "true"),
        ("pipeliner-register-pressure-margin", "5"),
        ("recurrence-chain-limit", "3"),
        ("rrt-size-threshold", "4096"),
        ("sched-critical-path-lookahead", "6"),
        ("sched-high-latency-cycles", "25"),
        ("tensor-latency-cycles", "100"),
        ("unspecialized-pipeline-num-stages", "4"),
        ("usedessa", "2"),
    ];
    for (name, default) in expected {
        let known = registry().find(name).unwrap().default.value().map(ToString::to_string);
        assert_eq!(known.as_deref(), Some(default), "{name}");
    }
}

/// A reader is a command, with the kind of input and a strategy where not all of it reads the knob.
#[test]
fn readers_are_commands() {
    for reader in registry().iter().flat_map(|knob| &knob.used_by) {
        let words: Vec<&str> = reader.split(' ').collect();
        assert!(["schedule", "deps", "tile"].contains(&words[0]) && words.len() <= 3, "{reader}");
    }
}
