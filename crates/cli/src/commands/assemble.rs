//! `sassafras assemble`

use crate::input;
use crate::output;
use anyhow::{Result, anyhow, bail};
use sassafras::assemble::{Assembled, assemble};
use sassafras_machine::Arch;
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;

/// Make machine words of instructions (sm_70 and later)
///
/// Reads what `sassafras disasm` prints, a line per instruction: address and control column may be left out. Every word is printed again and
/// compared with its text before it is given out.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Instructions, one each
    #[arg(value_name = "INSTRUCTION", required_unless_present = "file")]
    instructions: Vec<String>,
    /// Read a listing instead; `-` is standard input
    #[arg(long, short, value_name = "FILE", conflicts_with = "instructions")]
    file: Option<PathBuf>,
    /// For which architecture
    #[arg(long, value_name = "SM")]
    arch: String,
    /// Write the words to a file, 16 bytes each, as `nvdisasm --binary` reads them
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print JSON
    #[arg(long, conflicts_with = "output")]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  sassafras assemble --arch sm_90 'FADD R0, R1, R2'
  sassafras assemble --arch sm_90 '/*0040*/ B------:R-:W-:-:S05 @P0 BRA 0x10'
  sassafras assemble --arch sm_80 --file k.txt -o k.bin && nvdisasm --binary SM80 k.bin";

/// The JSON form. Bump `schema` when a field changes its meaning or goes away.
#[derive(Serialize)]
struct Report {
    schema: u32,
    arch: String,
    instructions: Vec<Instruction>,
}

#[derive(Serialize)]
struct Instruction {
    address: u64,
    /// The word, hexadecimal: JSON numbers do not hold 128 bits.
    word: String,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let arch: Arch = arguments.arch.parse()?;
    let (name, listing) = match &arguments.file {
        Some(path) => input::listing(path)?,
        None => ("instructions".to_owned(), arguments.instructions.join("\n")),
    };
    let made = assemble(&listing, arch).map_err(|error| anyhow!("{name}: {error}"))?;
    if let Some(path) = &arguments.output {
        return output::write_file(path, &raw(&name, &made)?);
    }
    if arguments.json {
        let instruction =
            |one: &Assembled| Instruction { address: one.address, word: format!("{:#034x}", one.word) };
        let instructions = made.iter().map(instruction).collect();
        return output::print_json(&Report { schema: 1, arch: arch.to_string(), instructions });
    }
    let mut text = String::new();
    for Assembled { address, word, .. } in &made {
        writeln!(text, "/*{address:04x}*/  {:#018x} {:#018x}", *word as u64, (word >> 64) as u64)?;
    }
    output::print(&text)
}

/// The words one behind the other.
fn raw(name: &str, made: &[Assembled]) -> Result<Vec<u8>> {
    let first = made.first().map_or(0, |one| one.address);
    let gap = made.iter().zip(0..).find(|(one, place)| one.address != first + place * 16);
    if let Some((one, _)) = gap {
        bail!(
            "{name}: line {}: the instruction at {:#x} does not follow the one before it: a file of words has no gaps",
            one.line,
            one.address
        );
    }
    Ok(made.iter().flat_map(|one| one.word.to_le_bytes()).collect())
}
