//! Goal: what tile scheduling knows of the machine: slots, pools, budgets, thresholds, documented footprints.
//!
//! All of it is read from tables with a source per row. The documented footprints are scheduling costs; cycles of hardware
//! are in a table of their own and never mixed with them.

use crate::TableError;
use crate::table::{Row, rows, unique};
use serde::Deserialize;
use std::sync::LazyLock;

/// A kind of slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SlotKind {
    /// A family.
    Coarse,
    /// A slot of the pressure model.
    Fine,
    /// For tests of the scheduler.
    Test,
}

/// A slot: a column of the reservation table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slot {
    /// From 1.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: SlotKind,
    /// Whether it counts for bank pressure.
    #[serde(deserialize_with = "yes_or_no")]
    pub bank: bool,
    /// Its cycle weight.
    pub anchor: u32,
    /// Where the row is from.
    pub source: String,
}

/// A pool of the capacity vector.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Its position in the vector.
    pub index: u32,
    /// Its capacity.
    pub capacity: u32,
    /// What it stands for.
    pub meaning: String,
    /// Where the row is from.
    pub source: String,
}

/// What a block has of each storage.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// The least architecture that this is for.
    pub from: u32,
    /// Bytes of shared memory.
    pub shared: u64,
    /// Bytes of tensor memory.
    pub tensor: u64,
    /// Bytes of registers.
    pub register: u64,
    /// Bytes of registers that one warp can have.
    pub warp_register: u64,
    /// Warps.
    pub warps: u32,
    /// Named barriers.
    pub barriers: u32,
    /// Bytes of a barrier object.
    pub barrier_bytes: u64,
    /// What offsets in shared memory are multiples of.
    pub align: u64,
    /// Where the row is from.
    pub source: String,
}

/// A threshold.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threshold {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: u32,
    /// What it does.
    pub meaning: String,
    /// Where the row is from.
    pub source: String,
}

/// A slot that a kind of operation holds, as documented.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Footprint {
    /// The kind of operation.
    pub kind: String,
    /// The slot's name.
    pub slot: String,
    /// For how many cycles.
    pub cycles: u32,
    /// The latency of the operation's result.
    pub latency: u32,
    /// Where the row is from.
    pub source: String,
}

/// A rate or a latency of hardware.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The least architecture that this is for.
    pub from: u32,
    /// What it is of.
    pub name: String,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// Where it is from.
    pub source: String,
}

fn yes_or_no<'de, D: serde::Deserializer<'de>>(d: D) -> Result<bool, D::Error> {
    match String::deserialize(d)?.as_str() {
        "yes" => Ok(true),
        "no" => Ok(false),
        word => Err(serde::de::Error::custom(format!("`{word}` is neither yes nor no"))),
    }
}

/// All slots, by number.
#[cfg(test)]
fn slots() -> &'static [Slot] {
    &TABLES.slots
}

/// A slot by its name.
pub fn slot(name: &str) -> Option<&'static Slot> {
    TABLES.slots.iter().find(|s| s.name == name)
}

/// A pool's capacity by its position in the vector.
pub fn pool(index: u32) -> u32 {
    TABLES.pools.iter().find(|p| p.index == index).map_or(0, |p| p.capacity)
}

/// The budgets of an architecture by its number, 90 for sm_90; those of the least one for what is below.
pub fn budget(arch: u32) -> &'static Budget {
    let rows = &TABLES.budgets;
    rows.iter().rev().find(|b| b.from <= arch).unwrap_or(&rows[0])
}

/// A threshold by its name.
///
/// # Panics
/// If there is none: names are constants of the code, and a test looks all of them up.
pub fn threshold(name: &str) -> u32 {
    let found = TABLES.thresholds.iter().find(|t| t.name == name);
    found.unwrap_or_else(|| panic!("no threshold `{name}`")).value
}

/// What a kind of operation holds, as documented; nothing for kinds that the documents do not have.
pub fn documented(kind: &str) -> impl Iterator<Item = &'static Footprint> {
    TABLES.documented.iter().filter(move |f| f.kind == kind)
}

/// A figure of an architecture's hardware by its name; nothing where no row is for it.
pub fn hardware(arch: u32, name: &str) -> Option<&'static Figure> {
    TABLES.hardware.iter().rev().find(|f| f.name == name && f.from <= arch)
}

struct Tables {
    hardware: Vec<Figure>,
    slots: Vec<Slot>,
    pools: Vec<Pool>,
    budgets: Vec<Budget>,
    thresholds: Vec<Threshold>,
    documented: Vec<Footprint>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| load().expect("the tables are tested"));

fn load() -> Result<Tables, TableError> {
    let slots: Vec<Row<Slot>> = rows("tile/slots.csv", include_str!("../data/tile/slots.csv"))?;
    unique(&slots, |s| s.name.clone())?;
    for (i, row) in slots.iter().enumerate() {
        if row.value.id as usize != i + 1 {
            return Err(row.error("slots are numbered from 1 without a gap"));
        }
    }
    let pools: Vec<Row<Pool>> = rows("tile/pools.csv", include_str!("../data/tile/pools.csv"))?;
    unique(&pools, |p| p.index)?;
    let budgets: Vec<Row<Budget>> = rows("tile/budgets.csv", include_str!("../data/tile/budgets.csv"))?;
    for pair in budgets.windows(2) {
        if pair[0].value.from >= pair[1].value.from {
            return Err(pair[1].error("architectures do not ascend"));
        }
    }
    for row in &budgets {
        if !row.value.align.is_power_of_two() {
            return Err(row.error("the alignment is no power of two"));
        }
    }
    let thresholds: Vec<Row<Threshold>> = rows("tile/options.csv", include_str!("../data/tile/options.csv"))?;
    unique(&thresholds, |t| t.name.clone())?;
    let documented: Vec<Row<Footprint>> =
        rows("tile/documented.csv", include_str!("../data/tile/documented.csv"))?;
    unique(&documented, |f| format!("{} {}", f.kind, f.slot))?;
    for row in &documented {
        if !slots.iter().any(|s| s.value.name == row.value.slot) {
            return Err(row.error("there is no such slot"));
        }
        if row.value.cycles == 0 {
            return Err(row.error("a slot is held for no cycles"));
        }
    }
    let hardware: Vec<Row<Figure>> = rows("tile/hardware.csv", include_str!("../data/tile/hardware.csv"))?;
    unique(&hardware, |f| format!("{} {}", f.from, f.name))?;
    for row in &hardware {
        if !row.value.value.is_finite() || row.value.value < 0.0 {
            return Err(row.error("a figure is a number that is not negative"));
        }
        if row.value.source.is_empty() {
            return Err(row.error("a figure has a source"));
        }
    }
    for pair in hardware.windows(2) {
        if pair[0].value.from > pair[1].value.from {
            return Err(pair[1].error("architectures do not ascend"));
        }
    }
    fn values<T>(rows: Vec<Row<T>>) -> Vec<T> {
        rows.into_iter().map(|r| r.value).collect()
    }
    Ok(Tables {
        hardware: values(hardware),
        slots: values(slots),
        pools: values(pools),
        budgets: values(budgets),
        thresholds: values(thresholds),
        documented: values(documented),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_as_the_documents_have_them() {
        load().expect("tables");
        let fine = slots().iter().filter(|s| s.kind == SlotKind::Fine).count();
        assert_eq!((slots().len(), fine), (24, 15));
        assert_eq!((0..9).map(pool).collect::<Vec<_>>(), [37, 4, 7, 37, 5, 1, 3, 6, 2]);
        assert_eq!((budget(90).shared, budget(100).tensor, budget(120).barriers), (232_448, 262_144, 32));
        assert_eq!(budget(80).tensor, 0);
        assert_eq!(budget(75), budget(80));
        let load: Vec<_> = documented("tma_load").map(|f| (f.slot.as_str(), f.cycles)).collect();
        assert_eq!(load, [("tma", 8), ("tp_smem_wr", 8)]);
        assert_eq!(slot("tp_smem_wr").map(|s| s.id), Some(16));
        let rate = |arch, name| hardware(arch, name).map(|f| f.value);
        assert_eq!(rate(80, "fma_rate"), Some(64.0));
        assert_eq!(rate(103, "fma_rate"), Some(121.0));
        assert_eq!((rate(90, "tensor_read_rate"), rate(75, "fma_rate")), (None, None));
    }
}
