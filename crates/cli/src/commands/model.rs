//! `sassafras model`

use crate::input::read_bytes;
use crate::output;
use anyhow::{Context, Result};
use sassafras_hwprofile::Profile;
use sassafras_machine::view::ArchView;
use sassafras_machine::{Arch, Cost, view};
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;

/// Show what is known of an architecture: classes, opcodes, units, latencies
///
/// Documented latencies are scheduling costs, not cycles; measured ones are cycles. `-` stands for a number that no
/// source gives; `--json` says why.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The architecture
    #[arg(long, default_value = "sm_90")]
    arch: String,
    /// List the architectures
    #[arg(long)]
    list: bool,
    /// Write the binary hardware profile here; `-` is standard output
    #[arg(long, value_name = "FILE", conflicts_with = "list")]
    hw_profile: Option<PathBuf>,
    /// Read a binary hardware profile and show it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["list", "hw_profile"])]
    read_profile: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  sassafras model --list
  sassafras model --arch sm_90
  sassafras model --arch sm_100 --json
  sassafras model --arch sm_80 --hw-profile sm_80.bin
  sassafras model --read-profile sm_80.bin";

pub fn run(arguments: &Arguments) -> Result<()> {
    if arguments.list {
        return list(arguments.json);
    }
    if let Some(path) = &arguments.read_profile {
        let (name, bytes) = read_bytes(path)?;
        let profile = Profile::decode(&bytes).with_context(|| name)?;
        return if arguments.json {
            output::print_json(&profile)
        } else {
            output::print(&profile.to_string())
        };
    }
    let arch: Arch = arguments.arch.parse()?;
    if let Some(path) = &arguments.hw_profile {
        let profile = Profile::for_arch(arch)?;
        let bytes = profile.encode()?;
        output::write_file(path, &bytes)?;
        if path.as_os_str() == "-" {
            return Ok(());
        }
        if !arguments.json {
            let (classes, size) = (profile.classes.len(), bytes.len());
            return output::print(&format!(
                "{}: {classes} classes of {arch}, {size} bytes\n",
                path.display()
            ));
        }
    }
    let view = view(arch);
    if arguments.json { output::print_json(&view) } else { output::print(&text(&view)?) }
}

/// The JSON form of `--list`. Bump `schema` when a field changes its meaning or goes away.
#[derive(Serialize)]
struct Listing {
    schema: u32,
    architectures: Vec<ArchRow>,
}

#[derive(Serialize)]
struct ArchRow {
    arch: Arch,
    family: String,
    era: String,
    inherits: Vec<Arch>,
}

fn list(json: bool) -> Result<()> {
    let row = |arch: Arch| ArchRow {
        arch,
        family: arch.info().family.clone(),
        era: arch.info().era.clone(),
        inherits: arch.inherits(),
    };
    let architectures: Vec<ArchRow> = Arch::all().map(row).collect();
    if json {
        return output::print_json(&Listing { schema: 1, architectures });
    }
    let mut table = output::table(&["arch", "family", "sold as", "documented costs from"], &[]);
    for row in architectures {
        table.add_row([row.arch.to_string(), row.family, row.era, joined(&row.inherits)]);
    }
    output::print(&output::render(&table))
}

fn text(view: &ArchView) -> Result<String> {
    let mut out = String::new();
    let bold = anstyle::Style::new().bold();
    writeln!(out, "{bold}{}{bold:#}: {}, {}", view.arch, view.family, view.era)?;
    if !view.inherits.is_empty() {
        writeln!(out, "documented costs from {}", joined(&view.inherits))?;
    }
    for reason in &view.inferred_reasons {
        writeln!(out, "inferred: {reason}")?;
    }
    if let (Some(warps), Some(slots)) = (view.warp_profile.warps, view.warp_profile.dispatch_slots) {
        writeln!(out, "warp profile: {warps} warps, {slots} dispatch slots")?;
    }
    writeln!(out, "\n{bold}units{bold:#}")?;
    let mut table = output::table(&["index", "unit", "name", "per cycle", "instructions"], &[0]);
    for unit in &view.units {
        let info = unit.info;
        table.add_row([
            info.index.to_string(),
            info.unit.to_string(),
            info.name.clone(),
            info.ipc.text.clone(),
            info.instructions.join(" "),
        ]);
    }
    out.push_str(&output::render(&table));

    writeln!(out, "\n{bold}classes{bold:#} (scheduling costs)")?;
    let mut table = output::table(
        &["class", "unit", "latency", "throughput⁻¹", "index", "what", "opcodes"],
        &[0, 2, 3, 4],
    );
    for class in &view.classes {
        table.add_row([
            class.id.to_string(),
            class.unit.unwrap_or("-").to_owned(),
            cost(class.latency),
            cost(class.throughput_inv),
            class.latency_index.map_or("-".to_owned(), |i| i.to_string()),
            class.description.to_owned(),
            class.opcodes.join(" "),
        ]);
    }
    out.push_str(&output::render(&table));

    writeln!(out, "\n{bold}opcodes{bold:#}")?;
    let mut table = output::table(&["opcode", "number", "class", "table", "under conditions"], &[1, 2]);
    for opcode in &view.opcodes {
        let variants: Vec<String> = opcode
            .variants
            .iter()
            .filter(|v| !v.condition.to_string().is_empty())
            .map(|v| format!("{}: {}", v.condition, v.class.map_or("dynamic".to_owned(), |c| c.to_string())))
            .collect();
        table.add_row([
            opcode.name.to_owned(),
            opcode.ori.map_or("-".to_owned(), |o| o.to_string()),
            opcode.class.map_or("dynamic".to_owned(), |c| c.to_string()),
            opcode.table.map_or("example".to_owned(), |t| t.to_string()),
            variants.join(", "),
        ]);
    }
    out.push_str(&output::render(&table));

    writeln!(out, "\n{bold}measured{bold:#} (cycles)")?;
    let mut table =
        output::table(&["from", "to", "use", "hazard", "registers", "cycles", "source", "arch"], &[5]);
    for measured in &view.measured {
        let row = measured.row;
        let any = |text: Option<String>| text.unwrap_or_default();
        let named = |kind: String, name: &Option<String>| name.clone().unwrap_or(kind);
        table.add_row([
            named(row.producer.to_string(), &row.producer_mnemonic),
            named(row.consumer.to_string(), &row.consumer_mnemonic),
            any(row.role.map(|r| r.to_string())),
            row.hazard.to_string(),
            any(row.register.map(|r| r.to_string())),
            row.cycles.map_or("-".to_owned(), |c| c.0.to_string()),
            row.evidence.to_string(),
            row.arch.map_or("any".to_owned(), |a| a.to_string()),
        ]);
    }
    if let Some(reason) = view.measured_reason {
        writeln!(out, "{reason}")?;
    }
    out.push_str(&output::render(&table));
    Ok(out)
}

fn joined(archs: &[Arch]) -> String {
    archs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn cost(cost: Option<Cost>) -> String {
    cost.map_or("-".to_owned(), |c| c.0.to_string())
}
