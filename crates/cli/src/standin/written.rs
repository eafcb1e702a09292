//! Goal: the file that ptxas wrote, and another in its place, whole or not at all.

use crate::output;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// A file as it is at one moment.
#[derive(Debug, PartialEq, Eq)]
struct Stamp(Vec<i128>);

/// An output file of ptxas, looked at before it runs.
pub struct Expected {
    path: PathBuf,
    before: Option<Stamp>,
}

impl Expected {
    /// Looks at the file as it is now.
    pub fn new(path: PathBuf) -> Expected {
        let before = path.metadata().ok().map(|metadata| stamp(&metadata));
        Expected { path, before }
    }

    /// The path as ptxas was given it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What ptxas wrote; none where it wrote no ordinary file: it was asked for something else, or for a pipe.
    pub fn read(&self) -> Option<std::io::Result<Vec<u8>>> {
        let metadata = self.path.metadata().ok()?;
        let changed = self.before.as_ref() != Some(&stamp(&metadata));
        (metadata.is_file() && changed).then(|| std::fs::read(&self.path))
    }

    /// Puts other content in its place.
    ///
    /// # Errors
    /// When it cannot be put there without more changing than the content; then nothing has changed.
    pub fn replace(&self, bytes: &[u8]) -> Result<(), String> {
        let metadata = self.path.metadata().map_err(|error| error.to_string())?;
        #[cfg(unix)]
        if std::os::unix::fs::MetadataExt::nlink(&metadata) > 1 {
            return Err("the file has other names, which would keep the old content".to_owned());
        }
        #[cfg(unix)]
        if std::os::unix::fs::MetadataExt::uid(&metadata) != rustix::process::geteuid().as_raw() {
            return Err("the file belongs to somebody else".to_owned());
        }
        if metadata.permissions().readonly() {
            return Err("the file may not be written".to_owned());
        }
        output::replace(&self.path, bytes, output::Durable::No).map_err(|error| error.to_string())
    }
}

#[cfg(unix)]
fn stamp(metadata: &Metadata) -> Stamp {
    use std::os::unix::fs::MetadataExt;
    let m = metadata;
    let numbers = [m.dev(), m.ino(), m.size()].map(i128::from);
    let times = [m.mtime(), m.mtime_nsec(), m.ctime(), m.ctime_nsec()].map(i128::from);
    Stamp(numbers.into_iter().chain(times).collect())
}

#[cfg(not(unix))]
fn stamp(metadata: &Metadata) -> Stamp {
    let time = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    Stamp(vec![i128::from(metadata.len()), time.map_or(0, |time| time.as_nanos() as i128)])
}
