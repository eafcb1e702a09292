//! Wheels: where they come from, and the files in them that hold device code.
//!
//! A wheel is a zip archive whose name says name and version (`NAME-VERSION-…-PLATFORM.whl`, the binary distribution format of Python packages).
//! It is downloaded as the pinned tools are (`tools`), or lies on disk. Files of it are looked through for what marks device code: the header of a
//! fatbinary (magic 0xba55ed50), the wrapper that a host program registers one with (0x466243b1), both with the version that follows, and the ELF
//! header of a cubin (machine 190). A file that is named like device code is taken as well.
//!
//! Cost: every file is decompressed once to look through it, a piece at a time, and a second time if something was found; one unpacked file lies
//! on disk at any time.

use crate::project::{Project, run};
use crate::tools;
use anyhow::{Context, Result, ensure};
use memchr::memmem;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use zip::ZipArchive;

/// A fatbinary: magic, version 1, a header of 16 bytes.
const HEADER: [u8; 8] = [0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
/// What a host program registers it with: magic, and a version below 256.
const WRAPPER: [u8; 4] = [0xb1, 0x43, 0x62, 0x46];
/// An ELF file.
const ELF: [u8; 4] = [0x7f, b'E', b'L', b'F'];
/// Where an ELF header says for what machine it is.
const MACHINE_AT: usize = 18;
/// The machine of cubins.
const CUDA: [u8; 2] = [190, 0];
/// The most bytes that one mark needs.
const LONGEST: usize = MACHINE_AT + CUDA.len();
/// How much is looked through at once.
const PIECE: usize = 1 << 20;
/// Names of device code.
const ENDINGS: [&str; 3] = [".cubin", ".fatbin", ".a"];

/// A wheel that is asked for.
#[derive(Debug, PartialEq, Eq)]
pub enum Request {
    /// A file.
    File(PathBuf),
    /// A package, of the newest version or a stated one.
    Package(String),
}

impl Request {
    /// What a word of the command line asks for.
    pub fn new(word: &str) -> Request {
        match word.ends_with(".whl") {
            true => Request::File(word.into()),
            false => Request::Package(word.to_owned()),
        }
    }

    /// The wheel's file; one that is not there yet is downloaded into `folder`.
    pub fn get(&self, project: &Project, folder: &Path) -> Result<PathBuf> {
        let package = match self {
            Request::File(path) => return Ok(path.clone()),
            Request::Package(package) => package,
        };
        let mut pip = tools::pip(project, "download")?;
        pip.args(["--no-deps", "--only-binary", ":all:", "--dest"]).arg(folder).arg("--").arg(package);
        run(&mut pip)
            .with_context(|| format!("cannot download {package} (network? is there a wheel of it?)"))?;
        let mut found = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
        ensure!(found.len() == 1, "{package}: {} files were downloaded instead of one", found.len());
        Ok(found.remove(0).path())
    }
}

/// What a wheel's file is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The package, in small letters, with `_` between words.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl Name {
    /// From the name of a file.
    pub fn of(path: &Path) -> Result<Name> {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let mut parts = file.strip_suffix(".whl").unwrap_or_default().split('-');
        let (name, version, rest) = (parts.next(), parts.next(), parts.count());
        match (name, version) {
            (Some(name), Some(version)) if rest >= 3 => {
                Ok(Name { name: normal(name), version: version.to_lowercase() })
            }
            _ => anyhow::bail!("{file} is not named as wheels are: NAME-VERSION-PYTHON-ABI-PLATFORM.whl"),
        }
    }
}

/// A package's name in one spelling: case, and which of `-`, `_` and `.` stand between words, make no difference.
pub fn normal(name: &str) -> String {
    let words = name.split(['-', '_', '.']).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("_")
}

/// A file in a wheel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    index: usize,
    /// Its path in the wheel.
    pub path: String,
}

/// An opened wheel.
pub struct Wheel {
    archive: ZipArchive<BufReader<File>>,
}

impl Wheel {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Wheel> {
        let file = File::open(path).with_context(|| path.display().to_string())?;
        let archive = ZipArchive::new(BufReader::new(file)).with_context(|| path.display().to_string())?;
        Ok(Wheel { archive })
    }

    /// The files that hold device code, in the order of the wheel.
    pub fn device_code(&mut self) -> Result<Vec<Member>> {
        let mut found = Vec::new();
        for index in 0..self.archive.len() {
            let mut entry = self.archive.by_index(index)?;
            if entry.is_dir() {
                continue;
            }
            let path = entry.name()?.into_owned();
            let named = ENDINGS.iter().any(|ending| path.ends_with(ending));
            if named || holds_device_code(&mut entry).with_context(|| path.clone())? {
                found.push(Member { index, path });
            }
        }
        Ok(found)
    }

    /// Unpacks a file below a folder; returns where it is.
    pub fn unpack(&mut self, member: &Member, folder: &Path) -> Result<PathBuf> {
        let mut entry = self.archive.by_index(member.index)?;
        let inside = entry.enclosed_name().with_context(|| format!("{} leaves the wheel", member.path))?;
        let path = folder.join(inside);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
        }
        let mut file = File::create(&path).with_context(|| path.display().to_string())?;
        io::copy(&mut entry, &mut file).with_context(|| member.path.clone())?;
        Ok(path)
    }
}

/// Whether a mark of device code stands anywhere in a file.
fn holds_device_code(file: &mut impl Read) -> io::Result<bool> {
    let (header, wrapper, elf) =
        (memmem::Finder::new(&HEADER), memmem::Finder::new(&WRAPPER), memmem::Finder::new(&ELF));
    let mut piece = vec![0; PIECE];
    let mut kept = 0;
    loop {
        let read = fill(file, &mut piece[kept..])?;
        let bytes = &piece[..kept + read];
        let version = |at: usize| bytes.get(at + 4..at + 8).is_some_and(|v| v[0] != 0 && v[1..] == [0; 3]);
        let machine = |at: usize| bytes.get(at + MACHINE_AT..at + LONGEST).is_some_and(|m| m == CUDA);
        if header.find(bytes).is_some()
            || wrapper.find_iter(bytes).any(version)
            || elf.find_iter(bytes).any(machine)
        {
            return Ok(true);
        }
        if kept + read < piece.len() {
            return Ok(false);
        }
        // A mark may stand across the border.
        kept = LONGEST - 1;
        piece.copy_within(PIECE - kept.., 0);
    }
}

/// Reads until there is no more room or nothing more to read.
fn fill(file: &mut impl Read, mut room: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while !room.is_empty() {
        match file.read(room)? {
            0 => break,
            more => {
                read += more;
                room = &mut room[more..];
            }
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use zip::write::SimpleFileOptions;

    fn cubin() -> Vec<u8> {
        let mut bytes = ELF.to_vec();
        bytes.resize(MACHINE_AT, 0);
        bytes.extend(CUDA);
        bytes
    }

    fn host() -> Vec<u8> {
        let mut bytes = cubin();
        bytes[MACHINE_AT] = 62;
        bytes
    }

    #[test]
    fn names_say_package_and_version() {
        let name = |file: &str| Name::of(Path::new(file)).map(|n| (n.name, n.version));
        let expected = |n: &str, v: &str| (n.to_owned(), v.to_owned());
        assert_eq!(
            name("a/Torch_Audio.x-2.11.0+CU1-cp311-cp311-linux_x86_64.whl").expect("a name"),
            expected("torch_audio_x", "2.11.0+cu1")
        );
        assert_eq!(name("a-1-1build-py3-none-any.whl").expect("a name"), expected("a", "1"));
        assert!(name("a-1-py3-none.whl").is_err() && name("a-1-py3-none-any.zip").is_err());
        assert_eq!(normal("Nvidia--cuBLAS.cu12"), "nvidia_cublas_cu12");
    }

    #[test]
    fn a_word_is_a_file_or_a_package() {
        assert_eq!(Request::new("d/a-1-py3-none-any.whl"), Request::File("d/a-1-py3-none-any.whl".into()));
        assert_eq!(Request::new("torch==2.11.0"), Request::Package("torch==2.11.0".to_owned()));
    }

    #[test]
    fn marks_are_found_wherever_they_stand() {
        let wrapper = [&WRAPPER[..], &[2, 0, 0, 0]].concat();
        let holds = |bytes: &[u8]| holds_device_code(&mut &*bytes).expect("readable");
        for mark in [&HEADER[..], &wrapper, &cubin()] {
            for at in [0, 7, PIECE - mark.len(), PIECE - mark.len() + 1, PIECE - 1, PIECE, 2 * PIECE - 25] {
                let mut bytes = vec![0x11; at];
                bytes.extend(mark);
                assert!(holds(&bytes), "{mark:x?} at {at}");
                assert!(!holds(&bytes[..bytes.len() - 1]), "a part of {mark:x?} at {at}");
            }
        }
        assert!(!holds(&[]) && !holds(&host()));
        // A program that compares with the magic has it among its instructions.
        assert!(!holds(&[&WRAPPER[..], &[0x75, 0x10, 0x48, 0x8b]].concat()));
    }

    #[test]
    fn files_with_device_code_are_found_and_unpacked() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tiny-1.0-py3-none-any.whl");
        let mut zip = zip::ZipWriter::new(File::create(&path).expect("a file"));
        let library = [&host(), &vec![7; 3 * PIECE], &HEADER[..], b"code"].concat();
        let files: [(&str, &[u8]); 6] = [
            ("tiny/__init__.py", b"import tiny"),
            ("tiny/lib/libtiny.so", &library),
            ("tiny/lib/libhost.so", &host()),
            ("tiny/data", &cubin()),
            ("tiny/lib/libtiny.a", b"!<arch>\n"),
            ("tiny/empty.cubin", b""),
        ];
        zip.add_directory("tiny/lib.a/", SimpleFileOptions::default()).expect("added");
        for (name, bytes) in files {
            zip.start_file(name, SimpleFileOptions::default()).expect("added");
            zip.write_all(bytes).expect("written");
        }
        zip.finish().expect("whole");
        let mut wheel = Wheel::open(&path).expect("a wheel");
        let found = wheel.device_code().expect("readable");
        let names: Vec<_> = found.iter().map(|member| member.path.as_str()).collect();
        assert_eq!(names, ["tiny/lib/libtiny.so", "tiny/data", "tiny/lib/libtiny.a", "tiny/empty.cubin"]);
        let unpacked = wheel.unpack(&found[0], &folder.path().join("out")).expect("unpacked");
        assert!(unpacked.ends_with("out/tiny/lib/libtiny.so"));
        assert_eq!(fs::read(unpacked).expect("a file"), library);
    }

    #[test]
    fn nothing_is_unpacked_outside() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.whl");
        let mut zip = zip::ZipWriter::new(File::create(&path).expect("a file"));
        zip.start_file("../x.cubin", SimpleFileOptions::default()).expect("added");
        zip.finish().expect("whole");
        let mut wheel = Wheel::open(&path).expect("a wheel");
        let found = wheel.device_code().expect("readable");
        assert_eq!(found.len(), 1);
        assert!(wheel.unpack(&found[0], &folder.path().join("out")).is_err());
        assert!(!folder.path().join("x.cubin").exists());
    }
}
