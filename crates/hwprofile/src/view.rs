//! The text view of a profile. `?` is unknown, never zero; strings of the file are escaped, as they go to a terminal.

use std::fmt;

use crate::class::Class;
use crate::profile::Profile;
use crate::rule::{Estimate, Override};

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bounds() {
            None => f.pad("?"),
            Some((lo, hi)) if lo == hi => f.pad(&lo.to_string()),
            Some((lo, hi)) => f.pad(&format!("{lo}-{hi}")),
        }
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.pad("default"),
            Self::Cycles(_) => f.pad(&self.to_raw().to_string()),
        }
    }
}

fn known<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "?".to_owned(), |value| value.to_string())
}

impl Class {
    fn columns(&self) -> [String; 11] {
        let rule = &self.rule;
        [
            rule.latency.to_string(),
            rule.throughput_inv.to_string(),
            known(self.standard().map(|standard| standard.cost_product)),
            known(rule.barrier_latency),
            known(rule.barrier_throughput),
            known(rule.read_latency),
            known(rule.write_latency),
            known(rule.stall_cycles),
            known(rule.issue_slots),
            known(rule.rule_type),
            known(self.dual_issue),
        ]
    }
}

const COLUMNS: [&str; 11] =
    ["latency", "1/rate", "cost", "b.lat", "b.rate", "read", "write", "stall", "slots", "type", "dual"];

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hardware profile of {}", self.arch)?;
        if let Some(arch) = self.inherited_from {
            write!(f, ", costs inherited from {arch}")?;
        }
        writeln!(f, "\n\nclasses: {} (? = unknown)", self.classes.len())?;
        let row = |f: &mut fmt::Formatter<'_>, id: &str, columns: &[&str]| {
            write!(f, "{id:>6}")?;
            columns.iter().try_for_each(|column| write!(f, " {column:>7}"))?;
            writeln!(f)
        };
        row(f, "class", &COLUMNS)?;
        for (id, class) in &self.classes {
            row(f, &id.to_string(), &class.columns().each_ref().map(String::as_str))?;
        }
        for (id, entry) in self.classes.iter().filter_map(|(id, class)| Some((id, class.entry?))) {
            writeln!(f, "\nlatency entry of class {id}")?;
            writeln!(f, "  issue masks  {:02x?}", entry.pipe_masks_a)?;
            writeln!(f, "  pair masks   {:02x?}", entry.pipe_masks_b)?;
            writeln!(f, "  parameters   {:?}", entry.sched_params.to_array())?;
        }
        writeln!(f)?;
        if let Some(table) = &self.barrier_table {
            writeln!(f, "barrier table: {table}")?;
        }
        let names: Vec<_> =
            self.sections.iter().map(|name| name.as_str().escape_debug().to_string()).collect();
        writeln!(f, "sections: {}", names.join(", "))?;
        if let Some(section) = &self.variants {
            writeln!(f, "variants from index {}:", section.start_index)?;
            for v in &section.variants {
                writeln!(
                    f,
                    "  source {:#x}, flags {:#x}, throughput {}, aux {}",
                    v.source_data, v.flags, v.throughput_value, v.aux_value
                )?;
            }
        }
        if let Some(text) = &self.weights {
            writeln!(f, "weights: {}", text.as_str().escape_debug())?;
        }
        for d in &self.dimensions {
            writeln!(f, "dimension: flags {:#x}, value {}, child {:#x}", d.flags, d.value, d.child)?;
        }
        for (index, group) in self.groups.iter().enumerate() {
            write!(f, "group {index}")?;
            if let Some(label) = &group.label {
                write!(f, " {}", label.as_str().escape_debug())?;
            }
            writeln!(
                f,
                ": {} standard, {} barriers, {} barrier data, {} wait, {} scoreboard",
                group.standard.len(),
                group.barriers.len(),
                group.barrier_data.len(),
                group.waits.len(),
                group.scoreboards.len()
            )?;
            for s in &group.standard {
                writeln!(
                    f,
                    "  cost {:>5}, base latency {:>3}, dual issue {:#06x}",
                    s.cost_product, s.base_latency, s.dual_issue_flags
                )?;
            }
            group.barriers.iter().try_for_each(|stall| writeln!(f, "  barrier, stall {stall}"))?;
            group.barrier_data.iter().try_for_each(|table| writeln!(f, "  barrier data {table}"))?;
            group.waits.iter().try_for_each(|table| writeln!(f, "  wait {table}"))?;
            group.scoreboards.iter().try_for_each(|table| writeln!(f, "  scoreboard {table}"))?;
        }
        for table in &self.sm_tables {
            let bits: String = table.classes.iter().map(|class| format!("{:x}", class.bits())).collect();
            writeln!(f, "SM-specific table of {} classes: {bits}", table.classes.len())?;
        }
        Ok(())
    }
}
