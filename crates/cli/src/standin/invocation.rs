//! Goal: which file a call of ptxas writes, from its arguments.
//!
//! As ptxas 13.4 reads them (tried): `-o F`, `-o=F`, `--output-file F` and `--output-file=F`, the last one counts; without
//! any, `elf.o`. Several inputs make one output. `-optf F`, `--options-file=F` put the words of a file in their place. A
//! value of another option that looks like one of these would mislead us; whoever asks checks that the file was written.

use crate::words::{self, Quotes};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What ptxas calls its output when nobody says.
const DEFAULT: &str = "elf.o";
/// Files of options that files of options name, and so on.
const MOST_FILES: usize = 64;

/// Finds the output file. Relative paths are as they were given.
///
/// # Errors
/// When the arguments are not understood: a file of options that cannot be read, or an option without its value.
pub fn output(arguments: &[OsString]) -> Result<PathBuf, String> {
    let mut output = PathBuf::from(DEFAULT);
    let mut waiting: Vec<OsString> = arguments.iter().rev().cloned().collect();
    let mut files = 0;
    while let Some(argument) = waiting.pop() {
        let (name, value) = parts(&argument);
        let is_output = matches!(name, "-o" | "--output-file");
        if !is_output && !matches!(name, "-optf" | "--options-file") {
            continue;
        }
        let value = match value {
            Some(value) => value,
            None => waiting.pop().ok_or_else(|| format!("`{name}` has no value"))?,
        };
        if is_output {
            output = PathBuf::from(value);
            continue;
        }
        files += 1;
        if files > MOST_FILES {
            return Err("files of options name each other without end".to_owned());
        }
        let words = read(Path::new(&value))?;
        waiting.extend(words.into_iter().rev().map(OsString::from));
    }
    Ok(output)
}

/// An option and what stands behind its `=`.
fn parts(argument: &OsStr) -> (&str, Option<OsString>) {
    let bytes = argument.as_encoded_bytes();
    for name in ["-o", "--output-file", "-optf", "--options-file"] {
        match bytes.strip_prefix(name.as_bytes()) {
            Some([]) => return (name, None),
            Some([b'=', ..]) => return (name, after_equals(argument)),
            _ => {}
        }
    }
    ("", None)
}

#[cfg(unix)]
fn after_equals(argument: &OsStr) -> Option<OsString> {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let (_, value) = argument.as_bytes().split_at(argument.as_bytes().iter().position(|&b| b == b'=')? + 1);
    Some(OsString::from_vec(value.to_vec()))
}

#[cfg(not(unix))]
fn after_equals(argument: &OsStr) -> Option<OsString> {
    argument.to_str()?.split_once('=').map(|(_, value)| OsString::from(value))
}

fn read(path: &Path) -> Result<Vec<String>, String> {
    let name = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))?;
    words::split(&text, Quotes::Double).map_err(|error| format!("{name}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(arguments: &str) -> Result<PathBuf, String> {
        output(&arguments.split_ascii_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn the_output_is_where_ptxas_puts_it() {
        for (arguments, wanted) in [
            ("k.ptx", "elf.o"),
            ("-arch=sm_90 a.ptx b.ptx", "elf.o"),
            ("k.ptx -o k.cubin", "k.cubin"),
            ("-o=k.cubin k.ptx", "k.cubin"),
            ("--output-file k.cubin k.ptx", "k.cubin"),
            ("--output-file=a=b k.ptx", "a=b"),
            ("-o a -o b", "b"),
            ("-o -", "-"),
            // Not an option of ptxas: it ends with an error of its own.
            ("k.ptx -oX", "elf.o"),
            ("--version", "elf.o"),
        ] {
            assert_eq!(found(arguments), Ok(PathBuf::from(wanted)), "{arguments}");
        }
        assert!(found("k.ptx -o").is_err());
        assert!(found("-optf /no/such/file").is_err());
    }

    #[test]
    fn words_of_files_stand_in_their_place() {
        let folder = tempfile::tempdir().expect("a folder");
        let [first, second, endless] = ["1", "2", "3"].map(|name| folder.path().join(name));
        std::fs::write(&first, "-arch=sm_90 -o \"y z\"\n").expect("written");
        std::fs::write(&second, format!("-optf={}", first.display())).expect("written");
        std::fs::write(&endless, format!("--options-file {}", endless.display())).expect("written");
        let [first, second, endless] = [first, second, endless].map(|path| path.display().to_string());
        assert_eq!(found(&format!("-o x -optf {first}")), Ok(PathBuf::from("y z")));
        assert_eq!(found(&format!("--options-file={second} k.ptx")), Ok(PathBuf::from("y z")));
        assert_eq!(found(&format!("--options-file {second} -o x")), Ok(PathBuf::from("x")));
        assert!(found(&format!("-optf {endless}")).is_err());
    }
}
