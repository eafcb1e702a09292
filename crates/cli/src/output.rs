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

/// Prints a value as JSON.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    print(&format!("{}\n", serde_json::to_string_pretty(value)?))
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
        Stream { out: std::io::BufWriter::with_capacity(1 << 16, anstream::stdout()) }
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
