//! Goal: warps, dispatch slots, sub-architecture variant and modelled issue width.
//!
//! Source: latency-model document, warp-level hardware profile.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::Arch;
use crate::table::{self, embedded};

/// The dispatch parameters of one range of internal SM ids.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WarpProfile {
    /// Key of the row.
    #[serde(deserialize_with = "table::text")]
    pub era: String,
    /// First id.
    #[serde(deserialize_with = "table::number")]
    pub id_lo: u32,
    /// Last id; `None` for the open range at the top.
    #[serde(deserialize_with = "table::number_opt")]
    pub id_hi: Option<u32>,
    /// Warps per SM, as the document counts them.
    #[serde(deserialize_with = "table::number")]
    pub warps: u16,
    /// Dispatch slots.
    #[serde(deserialize_with = "table::number")]
    pub dispatch_slots: u16,
    /// The packed pair (warps low, sub-warp count high), where printed.
    #[serde(deserialize_with = "table::number_opt")]
    pub packed: Option<u32>,
    /// Why it is absent.
    #[serde(deserialize_with = "table::text_opt")]
    pub packed_reason: Option<String>,
    /// The architectures as printed.
    pub architecture: String,
    /// Where this row comes from.
    #[serde(deserialize_with = "table::text")]
    pub source: String,
}

impl WarpProfile {
    /// The profile of an internal SM id; the ranges cover every id.
    pub fn for_sm_id(id: u32) -> &'static Self {
        PROFILES
            .iter()
            .find(|row| row.id_lo <= id && row.id_hi.is_none_or(|hi| id <= hi))
            .expect("the ranges cover every id, checked by the tests")
    }

    /// The profile of an architecture; `None` for the fallback, which has no id.
    pub fn for_arch(arch: Arch) -> Option<ArchWarpProfile> {
        let info = arch.info();
        let era = info.warp_era.as_deref()?;
        let profile =
            PROFILES.iter().find(|row| row.era == era).expect("every era has a row, checked by the tests");
        let variant = info.sm_id.and_then(|id| VARIANTS.iter().find(|row| row.sm_id == id));
        Some(ArchWarpProfile { profile, sm_id: info.sm_id, variant, inferred: info.warp_inferred.as_deref() })
    }
}

/// A profile and how the architecture was mapped to it.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ArchWarpProfile {
    /// The row.
    pub profile: &'static WarpProfile,
    /// The internal id, where one is printed.
    pub sm_id: Option<u32>,
    /// The variant row of that id.
    pub variant: Option<&'static SubArchVariant>,
    /// Why this row and id, when the document does not name exactly this architecture.
    pub inferred: Option<&'static str>,
}

/// A specific SM id and its variant code.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SubArchVariant {
    /// Internal id.
    #[serde(deserialize_with = "table::number")]
    pub sm_id: u32,
    /// The same number, from the hexadecimal column.
    #[serde(deserialize_with = "table::hex", skip_serializing)]
    pub hex: u32,
    /// Variant code.
    #[serde(deserialize_with = "table::number")]
    pub variant: u8,
    /// The architecture as printed.
    pub architecture: String,
    /// Where this row comes from.
    #[serde(deserialize_with = "table::text")]
    pub source: String,
}

/// The issue width modelled in some scheduling modes.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct IssueWidth {
    /// The modes; empty for the row that every other mode takes.
    #[serde(deserialize_with = "table::parse_list")]
    pub modes: Vec<u8>,
    /// Instructions per cycle in the model.
    #[serde(deserialize_with = "table::number")]
    pub width: u8,
    /// What the width stands for.
    pub meaning: String,
    /// Where this row comes from.
    #[serde(deserialize_with = "table::text")]
    pub source: String,
}

static PROFILES: LazyLock<Vec<WarpProfile>> = embedded!("warp_profiles", WarpProfile, |row| row.era.clone());
static VARIANTS: LazyLock<Vec<SubArchVariant>> =
    embedded!("sub_arch_variants", SubArchVariant, |row| row.sm_id);
static WIDTHS: LazyLock<Vec<IssueWidth>> =
    embedded!("issue_widths", IssueWidth, |row| format!("{:?}", row.modes));

/// Every range of the warp table.
pub fn warp_profiles() -> &'static [WarpProfile] {
    &PROFILES
}

/// Every sub-architecture variant.
pub fn sub_arch_variants() -> &'static [SubArchVariant] {
    &VARIANTS
}

/// Every row of the issue-width table, the default last.
pub fn issue_widths() -> &'static [IssueWidth] {
    &WIDTHS
}

/// The modelled issue width of a scheduling mode.
pub fn issue_width(mode: u8) -> u8 {
    let row = WIDTHS.iter().find(|row| row.modes.contains(&mode));
    row.or_else(|| WIDTHS.iter().find(|row| row.modes.is_empty()))
        .expect("default row, checked by the tests")
        .width
}
