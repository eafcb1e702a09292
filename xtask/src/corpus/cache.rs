//! Results by the hash of all that went into them: a folder each, made under another name and renamed when complete.

use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A folder of results.
pub struct Cache {
    folder: PathBuf,
    used: Mutex<Used>,
}

#[derive(Default)]
struct Used {
    names: BTreeSet<String>,
    reused: usize,
}

impl Cache {
    /// The cache in a folder, which may be new.
    pub fn open(folder: PathBuf) -> Result<Cache> {
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        Ok(Cache { folder, used: Mutex::default() })
    }

    /// The folder that `make` fills from `inputs`, filled before or now.
    pub fn get(&self, inputs: &impl Hash, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
        // Another version of the hasher costs a new build, nothing else.
        let mut hasher = DefaultHasher::new();
        inputs.hash(&mut hasher);
        let name = format!("{:016x}", hasher.finish());
        let folder = self.folder.join(&name);
        let exists = folder.exists();
        {
            let mut used = self.used.lock().expect("no panic while locked");
            used.names.insert(name.clone());
            used.reused += usize::from(exists);
        }
        if exists {
            return Ok(folder);
        }
        let partial = self.folder.join(format!("{name}.{}", std::process::id()));
        let _ = fs::remove_dir_all(&partial);
        fs::create_dir(&partial).with_context(|| partial.display().to_string())?;
        make(&partial)?;
        fs::rename(&partial, &folder).with_context(|| folder.display().to_string())?;
        Ok(folder)
    }

    /// Removes what was not asked for; returns how many results were reused.
    pub fn prune(self) -> Result<usize> {
        let used = self.used.into_inner().expect("no panic while locked");
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if !used.names.contains(&*entry.file_name().to_string_lossy()) {
                fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(used.reused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    #[test]
    fn results_are_made_once_failures_are_made_again_and_unused_ones_go() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = || Cache::open(folder.path().to_owned()).expect("a cache");
        let write = |folder: &Path| Ok(fs::write(folder.join("x"), "1")?);
        let cache = open();
        assert!(cache.get(&("a", 1), |_| bail!("broken")).is_err());
        let made = cache.get(&("a", 1), write).expect("made");
        let other = cache.get(&("a", 2), write).expect("made");
        assert_eq!(cache.get(&("a", 1), |_| bail!("made twice")).expect("kept"), made);
        assert_eq!(cache.prune().expect("pruned"), 1);
        let cache = open();
        cache.get(&("a", 2), |_| bail!("made twice")).expect("kept");
        assert_eq!(cache.prune().expect("pruned"), 1);
        assert!(other.join("x").exists() && !made.exists());
    }
}
