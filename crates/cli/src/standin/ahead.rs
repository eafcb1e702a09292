//! Goal: what takes time at the start, done while ptxas runs.
//!
//! Tables of the architecture are read ahead, those of the checker only if this very call was seen before: then its result is in the
//! cache, and only has to be checked.
//! A call is known by its arguments and the content of the files that they name; a mark in the cache says that it was seen.
//!
//! Cost: a hash of the input; the tables take some milliseconds of another core.

use super::cache::Cache;
use sassafras_ir::text::parse;
use sassafras_machine::Arch;
use sassafras_sass::Decoder;
use sassafras_tepid::function::choose;
use sassafras_tepid::schedule::Settings;
use sassafras_tepid::{Code, Original, rebuild};
use sassafras_verify::hazards::{Rules, check};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Larger files are not looked into: then tables are read ahead for nothing, sometimes.
const MOST_BYTES: u64 = 64 << 20;

/// A few instructions of several kinds, to have their tables read.
const SOME_CODE: &str = "func f sm_90 (R0, R2) {\n^a:\n R4 = LDG global.4[R2]\n R5 = FADD R4, R0\n R6 = LOP3 R5, R0\n \
                         global.4[R2] = STG R6\n EXIT !exit\n}";

/// The mark of a call that writes `output`, which may be there from the last time.
pub fn mark(arguments: &[OsString], output: &Path) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for argument in arguments {
        hasher.update(argument.as_encoded_bytes()).update(&[0]);
        let path = Path::new(argument);
        let input = |metadata: std::fs::Metadata| metadata.is_file() && metadata.len() <= MOST_BYTES;
        if path != output
            && path.metadata().is_ok_and(input)
            && let Ok(bytes) = std::fs::read(path)
        {
            hasher.update(&bytes);
        }
    }
    hasher.finalize()
}

/// Reads tables ahead: the scheduler's only if the call was not seen before.
pub fn read_tables(arguments: &[OsString], mark: &blake3::Hash, cache: Option<&Cache>) {
    let seen = cache.is_some_and(|cache| cache.was_seen(mark));
    let Some(arch) = arch(arguments) else { return };
    let decoder = Decoder::new(arch);
    let Ok(module) = parse(SOME_CODE) else { return };
    if let (true, Some(f)) = (decoder.has_table(), module.functions.first()) {
        if !seen {
            let code = Code::new(f, &[], arch);
            let _ = rebuild(&code, &Original::new(&code));
            let _ = choose(&code, &Settings { evaluations: 0, ..Settings::default() });
        }
        let _ = check(f, Rules::of(arch));
    }
}

/// The architecture that ptxas is asked for, where that is easily seen.
fn arch(arguments: &[OsString]) -> Option<Arch> {
    let text = |argument: &OsStr| argument.to_str().map(str::to_owned);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let Some(argument) = text(argument) else { continue };
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (argument, None),
        };
        if matches!(name.as_str(), "-arch" | "--gpu-name") {
            let value = value.or_else(|| arguments.next().and_then(|next| text(next)))?;
            return value.parse().ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_architecture_is_seen() {
        let found = |words: &str| {
            arch(&words.split(' ').map(OsString::from).collect::<Vec<_>>()).map(|a| a.to_string())
        };
        assert_eq!(found("k.ptx -arch=sm_90 -o k").as_deref(), Some("sm_90"));
        assert_eq!(found("--gpu-name sm_80 k.ptx").as_deref(), Some("sm_80"));
        assert_eq!((found("k.ptx"), found("-arch=compute_90"), found("-arch")), (None, None, None));
    }

    #[test]
    fn marks_follow_the_content_of_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("k.ptx");
        let of = |content: &str, more: &str| {
            std::fs::write(&path, content).expect("written");
            mark(&[path.clone().into_os_string(), more.into()], Path::new("k.cubin"))
        };
        assert_eq!(of("a", "-v"), of("a", "-v"));
        assert_ne!(of("a", "-v"), of("b", "-v"));
        assert_ne!(of("a", "-v"), of("a", "-O1"));
        let written = |content: &str| {
            std::fs::write(&path, content).expect("written");
            mark(&["-o".into(), path.clone().into_os_string()], &path)
        };
        assert_eq!(written("a"), written("b"), "what the last call wrote does not count");
    }

    #[test]
    fn tables_are_there_for_the_code() {
        // Without these the code above would not be read, and nothing would be read ahead.
        let module = parse(SOME_CODE).expect("parses");
        assert_eq!(module.functions.len(), 1);
        read_tables(&["-arch=sm_90".into()], &blake3::hash(b""), None);
    }
}
