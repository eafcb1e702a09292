//! Writing results: files whole or not at all, tables, JSON.

use anyhow::{Context, Result};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// Writes a file under a temporary name beside it and renames it: a reader never sees half a file, and a failure leaves
/// what was there. `-` is standard output.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    if path == Path::new("-") {
        return std::io::stdout()
            .write_all(bytes)
            .context("standard output");
    }
    let place = || path.display().to_string();
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(place)?;
    file.write_all(bytes).with_context(place)?;
    file.as_file().sync_all().with_context(place)?;
    // A temporary file is private; a result is as any other file of the user's.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(path).map_or(0o644, |m| m.permissions().mode());
        file.as_file()
            .set_permissions(std::fs::Permissions::from_mode(mode))
            .with_context(place)?;
    }
    file.persist(path)
        .map_err(|e| e.error)
        .with_context(place)?;
    Ok(())
}

/// Prints a value as JSON.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    print(&format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// Prints a text. Colour is removed where it is not wanted.
pub fn print(text: &str) -> Result<()> {
    let mut out = anstream::stdout();
    out.write_all(text.as_bytes()).context("standard output")?;
    out.flush().context("standard output")
}

/// An empty table with a heading; columns named in `numbers` are aligned to the right.
pub fn table(heading: &[&str], numbers: &[usize]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(heading);
    for &column in numbers {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// A table as lines without blanks at their ends.
pub fn render(table: &Table) -> String {
    table
        .to_string()
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}
