//! `sassafras disasm`

use crate::failure::{of_library, say};
use crate::input::{Binary, Input, SelectionArguments, Text};
use crate::output;
use anyhow::{anyhow, bail};
use sassafras::Selection;
use sassafras::listing::{self, Line, Listing};
use sassafras::reschedule::declared;
use sassafras::sites::{Lifted, Site};
use sassafras_control::{Field, RawControl};
use sassafras_ir::text::print_annotated;
use sassafras_machine::{Arch, InstructionEncoding};
use sassafras_sass::program::arch_of;
use sassafras_sass::text;
use serde::{Serialize, Serializer};
use std::fmt::Write;
use std::path::PathBuf;

/// List code, with the control fields in a column
///
/// A line per instruction: its offset in the section, what it waits for (`B`), the scoreboards that it sets for its
/// sources (`R`) and its result (`W`), whether the warp yields (`Y`), the stall (`S`), the operands kept for reuse, and the
/// instruction.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// What to list; `-` is standard input
    input: PathBuf,
    #[command(flatten)]
    selection: SelectionArguments,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print the text IR, with control fields: `schedule`, `verify`, `analyze` and `deps` read it, and a block can be cut out of it
    #[arg(long, conflicts_with = "json")]
    sir: bool,
}

const EXAMPLES: &str = "\
Examples:
  sassafras disasm k.cubin
  sassafras disasm libkernels.so --arch sm_90 --kernel saxpy
  sassafras disasm k.cubin --sir
  sassafras disasm k.cubin --json";

/// The JSON form of a code section; `{\"schema\": 1, \"kernels\": [...]}` around them. Bump `schema` when a field changes
/// its meaning or goes away.
#[derive(Serialize)]
struct Kernel {
    name: String,
    arch: String,
    section: String,
    registers: Option<u32>,
    shared: u64,
    barriers: Option<u8>,
    functions: Vec<Routine>,
}

#[derive(Serialize)]
struct Routine {
    name: String,
    offset: u64,
    instructions: Vec<Instruction>,
}

#[derive(Serialize)]
struct Instruction {
    offset: u64,
    /// The block that starts here.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    #[serde(serialize_with = "control")]
    control: Option<RawControl>,
    text: String,
    opaque: bool,
}

#[derive(Serialize)]
struct Control {
    wait: Vec<u8>,
    read: Option<u8>,
    write: Option<u8>,
    r#yield: bool,
    stall: u8,
    reuse: Vec<u8>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    match Input::read(&arguments.input)? {
        Input::Text(input) => listed(arguments, &input),
        Input::Ptx(input) => {
            bail!("{}: PTX is text as it is; `sassafras deps` shows its dependences", input.name)
        }
        Input::Binary(input) => binary(arguments, &input),
    }
}

fn listed(arguments: &Arguments, input: &Text) -> anyhow::Result<()> {
    if arguments.json {
        bail!("{}: the text IR is listed as text only", input.name);
    }
    let functions = input.functions(&arguments.selection.get())?.into_iter();
    let texts: Vec<String> =
        functions.map(|text| print_annotated(&text.function, &text.annotations)).collect();
    output::print(&texts.join("\n"))
}

fn binary(arguments: &Arguments, input: &Binary) -> anyhow::Result<()> {
    let library = input.library()?;
    let selection = &arguments.selection.get();
    let mut out = output::Stream::new();
    if arguments.json {
        out.write("{\"schema\":1,\"kernels\":[")?;
        let mut separator = "\n";
        let work = |site: &Site<'_, '_>| match kernel(&input.name, site, selection)? {
            Some(kernel) => Ok(Some(serde_json::to_string(&kernel)?)),
            None => Ok(None),
        };
        input.stream(&library, selection, work, |json| {
            let Some(json) = json else { return Ok(()) };
            out.write(separator)?;
            separator = ",\n";
            out.write(&json)
        })?;
        out.write("\n]}\n")?;
    } else if arguments.sir {
        let mut separator = "";
        let work = |site: &Site<'_, '_>| sir(&input.name, site, selection);
        input.stream(&library, selection, work, |texts| {
            for text in texts {
                out.write(separator)?;
                separator = "\n";
                out.write(&text)?;
            }
            Ok(())
        })?;
    } else {
        let work = |site: &Site<'_, '_>| match kernel(&input.name, site, selection)? {
            Some(kernel) => render(&kernel),
            None => Ok(String::new()),
        };
        input.stream(&library, selection, work, |text| out.write(&text))?;
    }
    out.end()
}

/// The routines of a section as text IR; none, with a word about it, where there is nothing to decode it with.
fn sir(file: &str, site: &Site<'_, '_>, selection: &Selection) -> anyhow::Result<Vec<String>> {
    match site.lift(selection).map_err(|error| of_library(file, error))? {
        Lifted::Routines(_, routines) => {
            Ok(routines.iter().map(|routine| text::print(routine, declared(site.code))).collect())
        }
        Lifted::No(reason) => {
            say(&format!("warning: {file}: {}: not listed: {reason}", site.place()));
            Ok(Vec::new())
        }
    }
}

/// A section as lines; none, with a word about it, where there is nothing to decode it with.
fn kernel(file: &str, site: &Site<'_, '_>, selection: &Selection) -> anyhow::Result<Option<Kernel>> {
    let functions = match site.lift(selection).map_err(|error| of_library(file, error))? {
        Lifted::Routines(arch, routines) => routines
            .iter()
            .map(|routine| Routine {
                name: routine.name.clone(),
                offset: routine.range.start,
                instructions: Listing::new(arch, routine).lines().map(instruction).collect(),
            })
            .collect(),
        Lifted::No(_) if grouped(site) => {
            let arch = arch_of(site.cubin.sm()).unwrap_or(Arch::UNIVERSAL);
            let lines = listing::grouped(arch, site.code.bytes)
                .map_err(|error| anyhow!("{file}: {}: {error}", site.place()))?;
            let name = site.code.name.to_owned();
            vec![Routine { name, offset: 0, instructions: lines.into_iter().map(instruction).collect() }]
        }
        Lifted::No(reason) => {
            say(&format!("warning: {file}: {}: not listed: {reason}", site.place()));
            return Ok(None);
        }
    };
    Ok(Some(Kernel {
        name: site.code.name.to_owned(),
        arch: site.sm.clone(),
        section: site.section().to_owned(),
        registers: site.code.registers,
        shared: site.code.shared_bytes,
        barriers: site.code.barriers,
        functions,
    }))
}

/// Whether instructions share control words, which are listed without being lifted.
fn grouped(site: &Site<'_, '_>) -> bool {
    let arch = arch_of(site.cubin.sm());
    arch.is_some_and(|arch| arch.info().encoding == InstructionEncoding::Grouped64)
}

fn instruction(line: Line) -> Instruction {
    let Line { offset, label, control, text, opaque } = line;
    Instruction { offset, label, control, text, opaque }
}

fn control<S: Serializer>(raw: &Option<RawControl>, serializer: S) -> Result<S::Ok, S::Error> {
    let view = raw.map(|raw| {
        let bits = |field, count: u8| (0..count).filter(|i| raw.get(field) >> i & 1 == 1).collect();
        let board = |field| Some(raw.get(field)).filter(|&board| board != 7);
        Control {
            wait: bits(Field::Wait, 6),
            read: board(Field::Read),
            write: board(Field::Write),
            r#yield: raw.get(Field::Yield) == 0,
            stall: raw.get(Field::Stall),
            reuse: bits(Field::Reuse, 4),
        }
    });
    view.serialize(serializer)
}

fn render(kernel: &Kernel) -> anyhow::Result<String> {
    use anstyle::{AnsiColor, Style};
    let (bold, dim) = (Style::new().bold(), Style::new().dimmed());
    let column = AnsiColor::Cyan.on_default();
    let unknown = AnsiColor::Yellow.on_default();
    let mut out = String::new();
    let known = |value: Option<String>| value.unwrap_or_else(|| "?".to_owned());
    writeln!(out, "{bold}{}{bold:#} ({})", kernel.section, kernel.arch)?;
    let count: usize = kernel.functions.iter().map(|f| f.instructions.len()).sum();
    writeln!(
        out,
        "{count} instructions, {} registers, {} bytes of shared memory, {} barriers",
        known(kernel.registers.map(|n| n.to_string())),
        kernel.shared,
        kernel.barriers.unwrap_or(0)
    )?;
    for function in &kernel.functions {
        writeln!(out, "\n{bold}{}:{bold:#}", function.name)?;
        for line in &function.instructions {
            if let Some(label) = &line.label {
                writeln!(out, "{bold}{label}:{bold:#}")?;
            }
            let style = if line.opaque { unknown } else { Style::new() };
            let control = line.control.map_or(String::new(), |raw| raw.to_string());
            let (offset, text) = (line.offset, &line.text);
            writeln!(
                out,
                "  {dim}/*{offset:04x}*/{dim:#}  {column}{control:<24}{column:#}  {style}{text}{style:#}"
            )?;
        }
    }
    writeln!(out)?;
    Ok(out)
}
