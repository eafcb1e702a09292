//! Goal: the real ptxas, and never ourselves.
//!
//! `SASSAFRAS_PTXAS` first, then the folders of `PATH`, then `CUDA_HOME/bin`. A program is ourselves if it is the same file
//! by any link, or a copy. What calls us in turn (a script that calls `ptxas`) is known by the variable [`CALLED`], which
//! names every program on the way; each is called once, so that nothing goes round for ever.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Programs that were called on the way here.
pub const CALLED: &str = "SASSAFRAS_PTXAS_CALLED";
/// The user's choice.
pub const CHOICE: &str = "SASSAFRAS_PTXAS";

/// Where to look, and what not to take.
#[derive(Debug, Default)]
pub struct Places {
    /// What the user says.
    pub choice: Option<PathBuf>,
    /// Folders, as `PATH` has them.
    pub path: Option<OsString>,
    /// Where the toolkit is.
    pub cuda_home: Option<PathBuf>,
    /// Our own file.
    pub own: Option<PathBuf>,
    /// Programs that were called on the way here.
    pub called: Vec<PathBuf>,
}

impl Places {
    /// Those of the environment.
    pub fn of_environment() -> Places {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let called = variable(CALLED);
        Places {
            choice: variable(CHOICE).map(PathBuf::from),
            path: variable("PATH"),
            cuda_home: variable("CUDA_HOME").map(PathBuf::from),
            own: std::env::current_exe().ok(),
            called: called.iter().flat_map(std::env::split_paths).collect(),
        }
    }

    /// The real one.
    ///
    /// # Errors
    /// Why there is none.
    pub fn find(&self) -> Result<PathBuf, String> {
        if let Some(choice) = &self.choice
            && !self.was_called(choice)
        {
            if !is_program(choice) {
                return Err(format!("{CHOICE}: {} is no program", choice.display()));
            }
            if self.is_own(choice) {
                return Err(format!("{CHOICE}: {} is sassafras itself", choice.display()));
            }
            return Ok(choice.clone());
        }
        let folders = self.path.iter().flat_map(std::env::split_paths);
        let folders = folders.chain(self.cuda_home.iter().map(|home| home.join("bin")));
        let name = format!("ptxas{}", std::env::consts::EXE_SUFFIX);
        let mut programs = folders.map(|folder| folder.join(&name)).filter(|path| is_program(path));
        let found = programs.find(|path| !self.was_called(path) && !self.is_own(path));
        found.ok_or_else(|| format!("no ptxas found in PATH or CUDA_HOME/bin; {CHOICE} can name one"))
    }

    /// The variable for a program that is called now.
    pub fn called_with(&self, program: &Path) -> OsString {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let here = self.own.iter().map(PathBuf::as_path).chain([program]).map(real);
        // A path with a separator in it cannot be told; what calls us by it will end at the next one.
        let all: Vec<PathBuf> = self.called.iter().cloned().chain(here).collect();
        std::env::join_paths(&all).unwrap_or_else(|_| OsString::from("?"))
    }

    fn was_called(&self, path: &Path) -> bool {
        path.canonicalize().is_ok_and(|path| self.called.contains(&path))
    }

    fn is_own(&self, path: &Path) -> bool {
        let Some(own) = &self.own else { return false };
        match (path.canonicalize(), own.canonicalize()) {
            (Ok(path), Ok(own)) => path == own || same_content(&path, &own).unwrap_or(false),
            _ => false,
        }
    }
}

fn is_program(path: &Path) -> bool {
    let Ok(metadata) = path.metadata() else { return false };
    #[cfg(unix)]
    let executable = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let executable = true;
    metadata.is_file() && executable
}

/// Whether two files have the same bytes. Most differ in their length, which costs no reading.
fn same_content(one: &Path, other: &Path) -> std::io::Result<bool> {
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut here, mut there) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let read = one.read(&mut here)?;
        if read == 0 {
            return Ok(true);
        }
        other.read_exact(&mut there[..read])?;
        if here[..read] != there[..read] {
            return Ok(false);
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn program(folder: &Path, name: &str, content: &str) -> PathBuf {
        std::fs::create_dir_all(folder).expect("a folder");
        let path = folder.join(name);
        std::fs::write(&path, content).expect("written");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("set");
        path
    }

    #[test]
    fn links_and_copies_of_ourselves_are_passed_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let [link, copy, plain, real] =
            ["link", "copy", "plain", "real"].map(|name| folder.path().join(name));
        let own = program(folder.path(), "sassafras", "ours");
        std::fs::create_dir(&link).expect("a folder");
        symlink(&own, link.join("ptxas")).expect("linked");
        program(&copy, "ptxas", "ours");
        std::fs::create_dir(&plain).expect("a folder");
        std::fs::write(plain.join("ptxas"), "no program").expect("written");
        let theirs = program(&real, "ptxas", "real");
        let path = std::env::join_paths([&link, &copy, &plain, &real]).expect("a path");
        let places = Places { path: Some(path), own: Some(own.clone()), ..Places::default() };
        assert_eq!(places.find(), Ok(theirs.clone()));

        let home = program(&folder.path().join("home/bin"), "ptxas", "toolkit");
        let none = Places {
            path: Some(link.clone().into()),
            cuda_home: Some(folder.path().join("home")),
            own: Some(own.clone()),
            ..Places::default()
        };
        assert_eq!(none.find(), Ok(home));
        let chosen =
            |choice: PathBuf| Places { choice: Some(choice), own: Some(own.clone()), ..Places::default() };
        assert_eq!(chosen(theirs.clone()).find(), Ok(theirs));
        assert!(chosen(copy.join("ptxas")).find().expect_err("ours").contains("itself"));
        assert!(chosen(plain.join("ptxas")).find().expect_err("no program").contains("no program"));
        assert!(Places::default().find().expect_err("nowhere").contains(CHOICE));
    }

    #[test]
    fn what_was_called_is_not_called_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = program(&folder.path().join("a"), "ptxas", "script");
        let real = program(&folder.path().join("b"), "ptxas", "real");
        let path = std::env::join_paths([folder.path().join("a"), folder.path().join("b")]).expect("a path");
        let mut places = Places { path: Some(path), choice: Some(script.clone()), ..Places::default() };
        for wanted in [&script, &real] {
            assert_eq!(places.find().as_ref(), Ok(wanted));
            places.called = std::env::split_paths(&places.called_with(wanted)).collect();
        }
        assert!(places.find().is_err(), "there is an end");
    }
}
