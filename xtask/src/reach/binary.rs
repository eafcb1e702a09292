//! The source lines that a program has code of, from its DWARF line table.

use anyhow::{Context, Result, bail};
use gimli::{Dwarf, EndianSlice, LittleEndian, Unit};
use object::{Object, ObjectSection, SectionKind};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::Path;

/// Lines of files of the workspace, which are named from its root.
pub type Lines = BTreeMap<String, BTreeSet<u32>>;

type Reader<'a> = EndianSlice<'a, LittleEndian>;

/// Adds the lines of `crates/` that `program` has code of.
pub fn add_lines(program: &Path, lines: &mut Lines) -> Result<()> {
    let mut read = || -> Result<()> {
        let bytes = fs::read(program)?;
        let file = object::File::parse(&*bytes)?;
        if !file.is_little_endian() {
            bail!("a program of another byte order");
        }
        let code: Vec<Range<u64>> = file
            .sections()
            .filter(|section| section.kind() == SectionKind::Text)
            .map(|section| section.address()..section.address() + section.size())
            .collect();
        let section = |id: gimli::SectionId| -> Result<Reader<'_>> {
            let data = match file.section_by_name(id.name()) {
                Some(section) => section.data()?,
                None => &[],
            };
            Ok(EndianSlice::new(data, LittleEndian))
        };
        let dwarf = Dwarf::load(section)?;
        let mut units = dwarf.units();
        while let Some(header) = units.next()? {
            of_unit(&dwarf, &dwarf.unit(header)?, &code, lines)?;
        }
        Ok(())
    };
    read().with_context(|| program.display().to_string())
}

fn of_unit(
    dwarf: &Dwarf<Reader<'_>>,
    unit: &Unit<Reader<'_>>,
    code: &[Range<u64>],
    lines: &mut Lines,
) -> Result<()> {
    let Some(program) = unit.line_program.clone() else { return Ok(()) };
    let mut files: BTreeMap<u64, Option<String>> = BTreeMap::new();
    let mut rows = program.rows();
    while let Some((header, row)) = rows.next_row()? {
        // What the linker dropped keeps its rows, at addresses that are none.
        if row.end_sequence() || !code.iter().any(|code| code.contains(&row.address())) {
            continue;
        }
        let name = match files.entry(row.file_index()) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(new) => {
                let file = header.file(row.file_index()).context("a row of a file that is not listed")?;
                let part = |value| -> Result<String> {
                    Ok(dwarf.attr_string(unit, value)?.to_string_lossy().into_owned())
                };
                let folder = file.directory(header).map_or(Ok(String::new()), part)?;
                let name = Path::new(&folder).join(part(file.path_name())?);
                new.insert(workspace_path(&name.to_string_lossy()))
            }
        };
        if let (Some(name), Some(line)) = (name, row.line()) {
            let line = u32::try_from(line.get()).unwrap_or(u32::MAX);
            match lines.get_mut(name.as_str()) {
                Some(lines) => drop(lines.insert(line)),
                None => drop(lines.insert(name.clone(), BTreeSet::from([line]))),
            }
        }
    }
    Ok(())
}

/// The path from the root of the workspace, of files of its crates: compilers name files from there, or from the root of the disk.
fn workspace_path(path: &str) -> Option<String> {
    let start = if path.starts_with("crates/") { 0 } else { path.rfind("/crates/")? + 1 };
    let rest = &path[start..];
    rest.split('/').nth(2).is_some_and(|folder| folder == "src").then(|| rest.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_from_the_root_of_the_workspace() {
        assert_eq!(workspace_path("crates/ir/src/lib.rs").as_deref(), Some("crates/ir/src/lib.rs"));
        assert_eq!(workspace_path("/a/b/crates/ir/src/a/b.rs").as_deref(), Some("crates/ir/src/a/b.rs"));
        assert_eq!(workspace_path("/rustc/1/library/core/src/lib.rs"), None);
        assert_eq!(workspace_path("/a/crates/ir/tests/b.rs"), None);
    }

    #[test]
    fn a_program_has_lines_of_what_it_calls_alone() {
        let program = std::env::current_exe().expect("a name");
        // None of the workspace's crates is in this program; of the standard library's, files below `crates/*/src` may be.
        let mut lines = Lines::new();
        add_lines(&program, &mut lines).expect("readable");
        let root = crate::project::Project::find().expect("the project").root;
        assert!(lines.keys().all(|name| !root.join(name).exists()), "{:?}", lines.keys());
        assert!(add_lines(Path::new("Cargo.toml"), &mut lines).is_err());
    }
}
