//! Goal: which build of this program is running, so that no build uses what another one made.
//!
//! The hash of the running file. It takes some ten milliseconds, so it is kept in the cache, by what tells a file from
//! every other one that ever was on this machine: device, number, length, and when content and entry changed.

use super::cache::Cache;
use std::fs::{self, File, Metadata};
use std::path::Path;

/// The hash of the running program; none where it cannot be read.
pub fn id(cache: &Cache) -> Option<blake3::Hash> {
    of(&std::env::current_exe().ok()?, cache)
}

fn of(program: &Path, cache: &Cache) -> Option<blake3::Hash> {
    let mut file = File::open(program).ok()?;
    let stamp = stamp(program, &file.metadata().ok()?);
    let kept = cache.folder().join(format!("{}.build", stamp.to_hex()));
    // Both hashes, and one of them both: nothing else has that content.
    let line = |hash: &blake3::Hash| {
        let both = blake3::keyed_hash(stamp.as_bytes(), hash.as_bytes());
        format!("{}{}", hash.to_hex(), both.to_hex())
    };
    if let Ok(text) = fs::read_to_string(&kept)
        && let Some(hash) = text.get(..64).and_then(|text| blake3::Hash::from_hex(text).ok())
        && text == line(&hash)
    {
        return Some(hash);
    }
    let mut hasher = blake3::Hasher::new();
    std::io::copy(&mut file, &mut hasher).ok()?;
    let hash = hasher.finalize();
    // Without it the hash is made again next time.
    let _ = cache.write(&kept, line(&hash).as_bytes());
    Some(hash)
}

#[cfg(unix)]
fn stamp(program: &Path, metadata: &Metadata) -> blake3::Hash {
    use std::os::unix::fs::MetadataExt;
    let m = metadata;
    let numbers = [m.dev() as i64, m.ino() as i64, m.size() as i64];
    let times = [m.mtime(), m.mtime_nsec(), m.ctime(), m.ctime_nsec()];
    blake3::hash(format!("{} {numbers:?} {times:?}", program.display()).as_bytes())
}

#[cfg(not(unix))]
fn stamp(program: &Path, metadata: &Metadata) -> blake3::Hash {
    let times = [metadata.modified(), metadata.created()].map(Result::ok);
    blake3::hash(format!("{} {} {times:?}", program.display(), metadata.len()).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_content_is_another_build() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::open(&folder.path().join("cache"), 1 << 20).expect("made");
        let program = folder.path().join("program");
        let mut known = Vec::new();
        for content in ["one", "two", "one"] {
            // Another file in its place, as an installation does it.
            let new = folder.path().join("new");
            fs::write(&new, content).expect("written");
            fs::rename(&new, &program).expect("renamed");
            let first = of(&program, &cache).expect("readable");
            assert_eq!(of(&program, &cache), Some(first), "kept");
            assert_eq!(first, blake3::hash(content.as_bytes()));
            known.push(first);
        }
        assert!(known[0] == known[2] && known[0] != known[1]);
        for kept in fs::read_dir(cache.folder()).expect("a folder") {
            fs::write(kept.expect("readable").path(), "damaged").expect("written");
        }
        assert_eq!(of(&program, &cache), Some(known[0]), "what is damaged is not believed");
    }
}
