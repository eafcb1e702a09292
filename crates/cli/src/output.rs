//! Writing results: files whole or not at all, tables, JSON.

use anyhow::{Context, Result};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes a file under a temporary name beside it and renames it: a reader never sees half a file, and a failure leaves
/// what was there. `-` is standard output. A link stays one, its file is replaced or made; what is no ordinary file (a device, a
/// pipe) is written to as it is.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    if path == Path::new("-") {
        let mut out = std::io::stdout();
        return shown(out.write_all(bytes).and_then(|()| out.flush()));
    }
    replace(path, bytes, Durable::Yes).with_context(|| path.display().to_string())
}

/// The same for a new version of another file: if that is one to run, so is this.
pub fn write_file_like(path: &Path, bytes: &[u8], like: Option<&Path>) -> Result<()> {
    if path == Path::new("-") || !like.is_some_and(is_run) {
        return write_file(path, bytes);
    }
    replace_as(path, bytes, Durable::Yes, PROGRAM).with_context(|| path.display().to_string())
}

fn is_run(path: &Path) -> bool {
    #[cfg(unix)]
    return std::fs::metadata(path)
        .is_ok_and(|metadata| std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0);
    #[cfg(not(unix))]
    return path.extension().is_some_and(|extension| extension == "exe");
}

/// What new files and new programs may be used for, before the user's mask.
const FILE: u32 = 0o666;
const PROGRAM: u32 = 0o777;

/// Whether a file outlives the machine, too: that takes time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Durable {
    /// It is on the disk before it has its name.
    Yes,
    /// It is whole for every reader; what a power failure leaves nobody knows, as with what compilers write.
    No,
}

/// Writes a file as [`write_file`] does, `-` being a name as any other.
pub fn replace(path: &Path, bytes: &[u8], durable: Durable) -> std::io::Result<()> {
    replace_as(path, bytes, durable, FILE)
}

fn replace_as(path: &Path, bytes: &[u8], durable: Durable, mode: u32) -> std::io::Result<()> {
    let old = match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => return std::fs::write(path, bytes),
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        // Links that go round, a folder that is none.
        Err(error) => return Err(error),
    };
    let path = match old {
        Some(_) => path.canonicalize()?,
        None => behind_links(path)?,
    };
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    // A temporary file is private; a result is as any other new file of the user's.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(not(unix))]
    let _ = mode;
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    if let Some(old) = old {
        file.as_file().set_permissions(old.permissions())?;
    }
    if durable == Durable::Yes {
        file.as_file().sync_all()?;
    }
    file.persist(path)?;
    Ok(())
}

/// Where a path leads that nothing is at: a link to a file that is still to be made stays a link.
fn behind_links(path: &Path) -> std::io::Result<PathBuf> {
    /// As many as systems follow.
    const MOST_LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(to) = std::fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new("")).join(to);
    }
    Err(std::io::Error::other("too many links, one behind the other"))
}

/// Prints a value as JSON, as it comes: as a text it may take many times what the value does.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    let mut out = buffered();
    let written = serde_json::to_writer_pretty(&mut out, value).map_err(std::io::Error::from);
    shown(written.and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()))
}

fn buffered() -> std::io::BufWriter<anstream::Stdout> {
    std::io::BufWriter::with_capacity(1 << 16, anstream::stdout())
}

/// Prints a text. Colour is removed where it is not wanted. Whoever reads it may stop at any time: that is no error, and what
/// the command found is still to be said by its status.
pub fn print(text: &str) -> Result<()> {
    let mut out = anstream::stdout();
    shown(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// What became of a text on standard output; a reader that went away had enough of it.
fn shown(written: std::io::Result<()>) -> Result<()> {
    match written {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("standard output"),
    }
}

/// Nobody reads what is written to a [`Stream`] any more. Not an error, and a reason to stop: streams are listings, and
/// no finding comes after them.
#[derive(Debug)]
pub struct ReaderGone;

impl std::fmt::Display for ReaderGone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("nobody reads standard output any more")
    }
}

impl std::error::Error for ReaderGone {}

/// Much text for standard output, written as it comes. Colour is removed where it is not wanted.
pub struct Stream {
    out: std::io::BufWriter<anstream::Stdout>,
}

impl Stream {
    /// Nothing written yet.
    pub fn new() -> Stream {
        Stream { out: buffered() }
    }

    /// Writes a text.
    ///
    /// # Errors
    /// [`ReaderGone`], or that it cannot be written.
    pub fn write(&mut self, text: &str) -> Result<()> {
        streamed(self.out.write_all(text.as_bytes()))
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// As [`Stream::write`].
    pub fn end(mut self) -> Result<()> {
        streamed(self.out.flush())
    }
}

fn streamed(written: std::io::Result<()>) -> Result<()> {
    match written {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Err(ReaderGone.into()),
        written => written.context("standard output"),
    }
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
    table.to_string().lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// A table that is written line by line, as [`render`] writes one, whatever its length: the texts of a million rows of a [`Table`] take gigabytes.
pub struct Columns<const N: usize> {
    heading: [&'static str; N],
    /// Columns that are aligned to the left; numbers are aligned to the right.
    texts: usize,
    widths: [usize; N],
}

impl<const N: usize> Columns<N> {
    /// With a heading. The first columns have texts, the others numbers.
    pub fn new(heading: [&'static str; N], texts: usize) -> Columns<N> {
        Columns { heading, texts, widths: heading.map(width) }
    }

    /// Makes room for a cell of a column: all of them have to be known before anything is written, or the widest.
    pub fn fit(&mut self, column: usize, cell: &str) {
        self.widths[column] = self.widths[column].max(width(cell));
    }

    /// The heading.
    pub fn heading(&self) -> String {
        self.line(&self.heading.map(str::to_owned))
    }

    /// A row.
    pub fn line(&self, row: &[String; N]) -> String {
        let mut line = String::new();
        for (column, (cell, &wide)) in row.iter().zip(&self.widths).enumerate() {
            let blanks = wide.saturating_sub(width(cell));
            let (before, behind) = if column < self.texts { (0, blanks) } else { (blanks, 0) };
            line.extend(std::iter::repeat_n(' ', 1 + before));
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', behind + 1));
        }
        line.truncate(line.trim_end().len());
        line.push('\n');
        line
    }
}

/// Columns of a screen that a text takes.
fn width(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    let mut table = Table::new();
    table.add_row([text]);
    table.column_max_content_widths().first().map_or(0, |&width| width.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_by_lines_is_as_wide_as_one_at_once() {
        let rows = [["name of a kernel", "a", "7"], ["k", "a long block", "1234567"], ["n", "", "-"]];
        let heading = ["function", "block", "insts"];
        let mut whole = table(&heading, &[2]);
        let mut columns = Columns::new(heading, 2);
        for row in rows {
            whole.add_row(row);
            row.iter().enumerate().for_each(|(column, cell)| columns.fit(column, cell));
        }
        let lines = rows.map(|row| columns.line(&row.map(str::to_owned)));
        assert_eq!(columns.heading() + &lines.concat(), render(&whole));
    }
}
