//! Reading what the user named.

use crate::failure::Failure;
use anyhow::{Context, Result, bail};
use sassafras_ir::{Function, Module, text, verify};
use std::io::{IsTerminal, Read};
use std::path::Path;

/// The built-in sample.
const SAMPLE: &str = include_str!("../samples/sgemm.sir");

/// A parsed file with its name for messages.
pub struct Input {
    /// How messages call it.
    pub name: String,
    /// What it holds.
    pub module: Module,
}

impl Input {
    /// The sample.
    pub fn sample() -> Result<Input> {
        parse("built-in sample", SAMPLE)
    }

    /// Reads a text-IR file; `-` is standard input.
    pub fn read(path: &Path) -> Result<Input> {
        let (name, bytes) = read_bytes(path)?;
        let source = match String::from_utf8(bytes) {
            Ok(source) => source,
            Err(error) => {
                let offset = error.utf8_error().valid_up_to();
                match recognise(error.as_bytes()) {
                    Some(kind) => bail!("{name}: this is {kind}; only the text IR is read so far"),
                    None => bail!("{name}: offset {offset}: not text; expected the text IR"),
                }
            }
        };
        parse(&name, &source)
    }

    /// The functions that the user asked for; an unknown name is an error.
    pub fn functions<'a>(&'a self, wanted: &'a [String]) -> Result<Vec<&'a Function>> {
        self.check_names(wanted)?;
        let all = self.module.functions.iter();
        Ok(all.filter(|f| wanted.is_empty() || wanted.contains(&f.name)).collect())
    }

    /// Every name must be a function's.
    pub fn check_names(&self, wanted: &[String]) -> Result<()> {
        for name in wanted {
            if !self.module.functions.iter().any(|f| f.name == *name) {
                let known: Vec<&str> =
                    self.module.functions.iter().map(|f| f.name.as_str()).take(20).collect();
                bail!("{}: no function is called `{name}`; there are: {}", self.name, known.join(", "));
            }
        }
        Ok(())
    }
}

/// The bytes of a file, or of standard input for `-`.
pub fn read_bytes(path: &Path) -> Result<(String, Vec<u8>)> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).context("standard input")?;
        return Ok(("standard input".to_owned(), bytes));
    }
    let name = path.display().to_string();
    let bytes = std::fs::read(path).with_context(|| name.clone())?;
    Ok((name, bytes))
}

fn parse(name: &str, source: &str) -> Result<Input> {
    if source.trim_start().starts_with(".version") || source.contains("\n.version") {
        bail!("{name}: this is PTX; only the text IR is read so far");
    }
    let module = text::parse(source)
        .map_err(|error| Failure::Shown(error.render(name, source, std::io::stderr().is_terminal())))?;
    for f in &module.functions {
        if let Err(broken) = verify::verify(f) {
            let list: Vec<String> = broken.iter().take(20).map(|v| format!("  {v}")).collect();
            let more = broken.len().saturating_sub(20);
            let more = if more > 0 { format!("\n  and {more} more") } else { String::new() };
            let message =
                format!("error: {name}: function `{}` is not well formed\n{}{more}", f.name, list.join("\n"));
            return Err(Failure::Shown(message).into());
        }
    }
    if module.functions.is_empty() {
        bail!("{name}: line 1: expected `func`, found the end of the text");
    }
    Ok(Input { name: name.to_owned(), module })
}

/// What a binary file is, by its first bytes.
fn recognise(bytes: &[u8]) -> Option<&'static str> {
    const FATBINARY: [u8; 4] = 0xBA55_ED50_u32.to_le_bytes();
    if bytes.starts_with(b"\x7fELF") {
        Some("an ELF file (a cubin or a host binary)")
    } else if bytes.starts_with(&FATBINARY) {
        Some("a fatbinary")
    } else {
        None
    }
}
