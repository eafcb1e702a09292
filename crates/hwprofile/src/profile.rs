//! The profile as a value.

use std::collections::BTreeMap;

use sassafras_machine::{Arch, ClassId};
use serde::Serialize;

use crate::class::Class;
use crate::data::{BarrierTable, DependencyTable, Dimension, SmTable, VariantSection};
use crate::record::Standard;
use crate::text::{Label, Text};

/// A hardware profile: the tables, and the parts that the assembly order turns into records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Profile {
    /// The machine.
    pub arch: Arch,
    /// Whose documented costs it uses, when not its own.
    pub inherited_from: Option<Arch>,
    /// What is known of each scheduling class.
    pub classes: BTreeMap<ClassId, Class>,
    /// The barrier table; its header record is written only when there is one.
    pub barrier_table: Option<BarrierTable>,
    /// Named sections of the category header.
    pub sections: Vec<Text>,
    /// The variant section, if any.
    pub variants: Option<VariantSection>,
    /// Supplementary weights, if any.
    pub weights: Option<Text>,
    /// Dimension entries, if any.
    pub dimensions: Vec<Dimension>,
    /// Scheduling groups.
    pub groups: Vec<Group>,
    /// SM-specific tables.
    pub sm_tables: Vec<SmTable>,
}

/// A scheduling group: the records between two boundaries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Default)]
pub struct Group {
    /// Its name.
    pub label: Option<Label>,
    /// Stall counts of the barrier entries.
    pub barriers: Vec<u32>,
    /// Barrier data.
    pub barrier_data: Vec<BarrierTable>,
    /// Standard entries.
    pub standard: Vec<Standard>,
    /// Wait dependencies.
    pub waits: Vec<DependencyTable>,
    /// Scoreboard dependencies.
    pub scoreboards: Vec<DependencyTable>,
}

impl Profile {
    /// A profile with nothing in it.
    pub fn new(arch: Arch) -> Self {
        Self {
            arch,
            inherited_from: None,
            classes: BTreeMap::new(),
            barrier_table: None,
            sections: Vec::new(),
            variants: None,
            weights: None,
            dimensions: Vec::new(),
            groups: Vec::new(),
            sm_tables: Vec::new(),
        }
    }
}
