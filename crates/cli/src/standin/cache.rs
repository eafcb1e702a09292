//! Goal: what was rescheduled once is not rescheduled again, and nothing that others leave in the folder does harm.
//!
//! An entry is a file named by its key, a hash of everything that the result depends on. It holds a checksum over key and
//! content, so that a torn, damaged or foreign file is never used. A checksum is no seal: whoever may write to the folder can make one.
//! So a folder of somebody else, or one that others may write to, is not used, and what is found is checked by whoever uses it. Entries are written under another name and renamed:
//! any number of programs may read and write at once, without locks; two that write the same entry write the same bytes.
//! After a write the folder is brought under its bound, what was used longest ago first.
//!
//! Cost: a read and a hash of the entry; a write reads the folder, too.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// What entries start with. Change it when their form changes.
const MAGIC: &[u8; 8] = b"SASSFRC1";
const HASH: usize = blake3::OUT_LEN;
/// How names of entries end.
const ENDING: &str = "entry";
/// That of the mark of a call that was seen.
const SEEN: &str = "seen";
/// What a file takes beside its content, roughly.
const OVERHEAD: u64 = 256;
/// How names of files begin that are being written.
const UNFINISHED: &str = ".new-";
/// Nobody takes longer to write one.
const FORGOTTEN: Duration = Duration::from_secs(3600);

/// A hash of all that a result depends on.
pub type Key = blake3::Hash;

/// A result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What to say about it.
    pub note: String,
    /// The new cubin; none where the one that came stays.
    pub cubin: Option<Vec<u8>>,
}

/// A folder of results.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    /// Most bytes of all entries.
    bound: u64,
}

/// Why there is no cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoCache {
    /// There can be no such folder: no error, and nothing to say.
    NoFolder,
    /// Others can put files there; why, and what to do.
    Exposed(String),
}

impl Cache {
    /// A cache in a folder, which is made if it is not there.
    ///
    /// # Errors
    /// When it cannot be made, or others can put files there.
    pub fn open(folder: &Path, bound: u64) -> Result<Cache, NoCache> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder).map_err(|_| NoCache::NoFolder)?;
        exposed(folder).map_or(Ok(()), |why| Err(NoCache::Exposed(why)))?;
        Ok(Cache { folder: folder.to_owned(), bound })
    }

    /// Where caches are: `SASSAFRAS_CACHE_DIR`, or `sassafras` in `XDG_CACHE_HOME` or in `.cache` of the home folder.
    pub fn default_folder() -> Option<PathBuf> {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        variable("SASSAFRAS_CACHE_DIR")
            .or_else(|| variable("XDG_CACHE_HOME").map(|folder| folder.join("sassafras")))
            .or_else(|| variable("HOME").map(|home| home.join(".cache/sassafras")))
    }

    /// Where the cache is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A result, if it is there and whole. It counts as used now.
    pub fn get(&self, key: &Key) -> Option<Entry> {
        let path = self.path(key);
        let bytes = fs::read(&path).ok()?;
        let (hash, rest) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<HASH>()?;
        if checksum(key, rest) != *hash {
            return None;
        }
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (note, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let (&has_cubin, cubin) = rest.split_first()?;
        // Only a wish: without it the entry goes sooner than it should.
        let _ =
            File::options().append(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        Some(Entry {
            note: String::from_utf8(note.to_vec()).ok()?,
            cubin: (has_cubin == 1).then(|| cubin.to_vec()),
        })
    }

    /// Drops a result.
    pub fn forget(&self, key: &Key) {
        // What stays is looked at again next time.
        let _ = fs::remove_file(self.path(key));
    }

    /// Keeps a result. One that cannot be kept is made again next time.
    pub fn put(&self, key: &Key, entry: &Entry) {
        let mut rest = Vec::new();
        rest.extend((entry.note.len() as u32).to_le_bytes());
        rest.extend(entry.note.as_bytes());
        rest.push(u8::from(entry.cubin.is_some()));
        rest.extend(entry.cubin.iter().flatten());
        let bytes = [MAGIC, &checksum(key, &rest)[..], &rest].concat();
        if bytes.len() as u64 <= self.bound && self.write(&self.path(key), &bytes).is_ok() {
            self.shrink();
        }
    }

    /// Writes a file of the cache whole or not at all.
    pub fn write(&self, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(&self.folder)?;
        file.write_all(bytes)?;
        file.persist(path)?;
        Ok(())
    }

    /// Remembers a call whose result is kept.
    pub fn see(&self, mark: &Key) {
        // Only a wish: without it the next call does some work for nothing.
        let _ = self.write(&self.mark(mark), &[]);
    }

    /// Whether a call was seen.
    pub fn was_seen(&self, mark: &Key) -> bool {
        self.mark(mark).exists()
    }

    fn mark(&self, mark: &Key) -> PathBuf {
        self.folder.join(format!("{}.{SEEN}", mark.to_hex()))
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.folder.join(format!("{}.{ENDING}", key.to_hex()))
    }

    /// Drops what was used longest ago until the rest is within the bound. Files that are not ours stay.
    fn shrink(&self) {
        let Ok(files) = fs::read_dir(&self.folder) else { return };
        let mut entries: Vec<(SystemTime, PathBuf, u64)> = Vec::new();
        for file in files.flatten() {
            let (path, name) = (file.path(), file.file_name());
            let Ok(metadata) = file.metadata() else { continue };
            let Ok(used) = metadata.modified() else { continue };
            let ending = path.extension().and_then(|ending| ending.to_str());
            if matches!(ending, Some(ENDING | SEEN)) {
                entries.push((used, path, metadata.len() + OVERHEAD));
            } else if name.to_str().is_some_and(|name| name.starts_with(UNFINISHED))
                && used.elapsed().is_ok_and(|age| age > FORGOTTEN)
            {
                let _ = fs::remove_file(path);
            }
        }
        let mut size: u64 = entries.iter().map(|(_, _, length)| length).sum();
        entries.sort_unstable();
        for (_, path, length) in entries {
            if size <= self.bound {
                break;
            }
            // Somebody else may have dropped it by now.
            let _ = fs::remove_file(path);
            size -= length;
        }
    }
}

/// Why others than the user can put files into a folder.
#[cfg(unix)]
fn exposed(folder: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let name = folder.display();
    let Ok(metadata) = folder.metadata() else { return Some(format!("{name} cannot be looked at")) };
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Some(format!("{name} belongs to somebody else"));
    }
    let open = metadata.mode() & 0o022 != 0;
    open.then(|| format!("others may write to {name}; `chmod go-w` it"))
}

#[cfg(not(unix))]
fn exposed(_: &Path) -> Option<String> {
    None
}

/// A file that belongs to another key is as wrong as a damaged one.
fn checksum(key: &Key, rest: &[u8]) -> [u8; HASH] {
    *blake3::keyed_hash(key.as_bytes(), rest).as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u32) -> Key {
        blake3::hash(&number.to_le_bytes())
    }

    fn entry(number: u32, length: usize) -> Entry {
        Entry { note: format!("note {number}"), cubin: Some(vec![number as u8; length]) }
    }

    fn files(folder: &Path) -> Vec<PathBuf> {
        fs::read_dir(folder).expect("a folder").map(|file| file.expect("readable").path()).collect()
    }

    #[test]
    fn what_is_put_in_comes_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::open(&folder.path().join("a/b"), 1 << 20).expect("made");
        assert_eq!(cache.get(&key(1)), None);
        let untouched = Entry { note: "nothing to do".to_owned(), cubin: None };
        let empty = Entry { note: String::new(), cubin: Some(Vec::new()) };
        for (number, entry) in (1..).zip([entry(1, 100), untouched, empty]) {
            cache.put(&key(number), &entry);
            assert_eq!(cache.get(&key(number)), Some(entry));
        }
    }

    #[test]
    fn torn_damaged_and_foreign_entries_are_not_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::open(folder.path(), 1 << 20).expect("made");
        cache.put(&key(1), &entry(1, 50));
        let path = cache.path(&key(1));
        let whole = fs::read(&path).expect("there");
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).expect("written");
            assert_eq!(cache.get(&key(1)), None, "{length} bytes");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&path, damaged).expect("written");
            assert_eq!(cache.get(&key(1)), None, "byte {at}");
        }
        fs::write(cache.path(&key(2)), &whole).expect("written");
        assert_eq!(cache.get(&key(2)), None, "an entry of another key");
        fs::write(&path, &whole).expect("written");
        assert!(cache.get(&key(1)).is_some());
    }

    #[test]
    fn the_bound_holds_and_what_is_used_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::open(folder.path(), 5800).expect("made");
        fs::write(folder.path().join("letter.txt"), [0; 9000]).expect("written");
        let old = |number: u32, seconds: u64| {
            let file = File::options().append(true).open(cache.path(&key(number))).expect("there");
            file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).expect("set");
        };
        for number in 0..4 {
            cache.put(&key(number), &entry(number, 1000));
            old(number, 100 - u64::from(number));
        }
        assert!(cache.get(&key(0)).is_some(), "used again, so the youngest now");
        cache.put(&key(4), &entry(4, 1000));
        let there: Vec<u32> = (0..5).filter(|&number| cache.path(&key(number)).exists()).collect();
        assert_eq!(there, [0, 2, 3, 4], "four entries of 1300 bytes, and 1 is the oldest");
        cache.put(&key(9), &entry(9, 6000));
        assert_eq!(cache.get(&key(9)), None, "too large for the whole cache");
        assert_eq!(files(folder.path()).len(), 5, "the letter is not ours");
    }

    #[test]
    fn calls_are_remembered_for_a_while() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::open(folder.path(), 2000).expect("made");
        cache.see(&key(1));
        assert!(cache.was_seen(&key(1)) && !cache.was_seen(&key(2)));
        for number in 3..30 {
            cache.see(&key(number));
        }
        cache.put(&key(100), &entry(100, 10));
        assert!(files(folder.path()).len() <= 8, "marks count, too");
    }

    #[test]
    fn forgotten_unfinished_files_go() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::open(folder.path(), 5000).expect("made");
        let [old, new] = ["old", "new"].map(|name| folder.path().join(format!("{UNFINISHED}{name}")));
        fs::write(&old, "half").expect("written");
        fs::write(&new, "half").expect("written");
        let file = File::options().append(true).open(&old).expect("there");
        file.set_modified(SystemTime::now() - 2 * FORGOTTEN).expect("set");
        cache.put(&key(1), &entry(1, 10));
        assert!(!old.exists() && new.exists());
    }

    #[test]
    fn many_writers_and_readers_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::open(folder.path(), 20_000).expect("made");
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let cache = &cache;
                scope.spawn(move || {
                    for round in 0..50 {
                        let number = (thread + round) % 30;
                        cache.put(&key(number), &entry(number, 1000));
                        let other = (thread * 7 + round) % 30;
                        let found = cache.get(&key(other));
                        assert!(found.is_none_or(|found| found == entry(other, 1000)), "{other}");
                    }
                });
            }
        });
        let size: u64 = files(folder.path()).iter().map(|path| path.metadata().expect("there").len()).sum();
        assert!(size <= 20_000, "{size}");
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_cannot_be_is_no_cache() {
        assert_eq!(Cache::open(Path::new("/dev/null/cache"), 1).err(), Some(NoCache::NoFolder));
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_may_write_to_is_no_cache() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let made = folder.path().join("made");
        assert!(Cache::open(&made, 1).is_ok());
        let mode = |path: &Path| path.metadata().expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(&made), 0o700, "a new one is private");
        for (mode, usable) in [(0o755, true), (0o775, false), (0o757, false), (0o1777, false), (0o700, true)]
        {
            fs::set_permissions(&made, PermissionsExt::from_mode(mode)).expect("set");
            assert_eq!(Cache::open(&made, 1).is_ok(), usable, "{mode:o}");
        }
        // Only root can give a folder away.
        if std::os::unix::fs::chown(&made, Some(65534), None).is_ok() {
            let Err(NoCache::Exposed(why)) = Cache::open(&made, 1) else { panic!("used") };
            assert!(why.ends_with("belongs to somebody else"), "{why}");
        }
    }
}
