//! Fatbinaries against the tools that write and read them: fatbinary and cuobjdump.
#![cfg(feature = "real-tools")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sassafras_cubin::{Compression, Container, ContainerKind, Cubin, ImageKind, NoRoom};

#[path = "support/build.rs"]
mod build;
#[path = "support/shuffle.rs"]
mod shuffle;
#[path = "support/tools.rs"]
mod tools;

use shuffle::Random;
use tools::{compile, kernels, succeed, tool};

const TARGETS: [&str; 6] = ["75", "90", "90a", "100", "100a", "100f"];

/// Modes of `fatbinary`, and how they store cubins.
const MODES: [(&[&str], Compression); 6] = [
    (&["--compress=false"], Compression::None),
    (&["--compress-all", "-compress-mode=speed"], Compression::Lz4),
    (&["--compress-all", "-compress-mode=size"], Compression::Zstd),
    (&["--compress-all", "-compress-mode=balance"], Compression::Zstd),
    (&["--compress-all"], Compression::Zstd),
    (&["--compress-all", "--concat"], Compression::Zstd),
];

struct Corpus {
    folder: tempfile::TempDir,
    /// SM and bytes.
    cubins: Vec<(&'static str, Vec<u8>)>,
    images: Vec<String>,
}

fn corpus() -> Corpus {
    let folder = tempfile::tempdir().expect("a folder");
    let ptxas = tool("ptxas", "13.");
    let kernel =
        kernels("100").into_iter().find(|path| path.ends_with("wide_integer.ptx")).expect("the kernel");
    let mut corpus = Corpus { folder, cubins: Vec::new(), images: Vec::new() };
    for arch in TARGETS {
        let compiled = compile(&ptxas, arch, &kernel, &[], corpus.folder.path());
        let file = corpus.folder.path().join(format!("wide_integer.{arch}.cubin"));
        corpus.images.push(format!("--image3=kind=elf,sm={arch},file={}", file.display()));
        corpus.cubins.push((arch, compiled.cubin));
    }
    let ptx = corpus.folder.path().join("wide_integer.90.ptx");
    corpus.images.push(format!("--image3=kind=ptx,sm=90,file={}", ptx.display()));
    corpus
}

impl Corpus {
    fn fatbin(&self, options: &[&str]) -> Vec<u8> {
        let path = self.folder.path().join("k.fatbin");
        let mut command = Command::new(tool("fatbinary", "13."));
        succeed(
            command.arg("-64").args(options).arg(format!("--create={}", path.display())).args(&self.images),
        );
        fs::read(path).expect("a fatbinary")
    }
}

/// What `cuobjdump` extracts, in its order.
fn extracted(file: &[u8]) -> Vec<Vec<u8>> {
    let cuobjdump = tool("cuobjdump", "13.");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("k.fatbin");
    fs::write(&path, file).expect("written");
    succeed(Command::new(cuobjdump).current_dir(folder.path()).args(["-xelf", "all"]).arg(&path));
    let mut cubins: Vec<PathBuf> = fs::read_dir(folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "cubin"))
        .collect();
    let number = |path: &Path| {
        let name = path.file_name().expect("a name").to_str().expect("text");
        name.split('.').nth(1).expect("a number").parse::<u32>().expect("a number")
    };
    cubins.sort_by_key(|path| number(path));
    cubins.iter().map(|path| fs::read(path).expect("a cubin")).collect()
}

#[test]
fn images_are_what_cuobjdump_extracts() {
    let corpus = corpus();
    for (options, compression) in MODES {
        let file = corpus.fatbin(options);
        let container = Container::parse(&file).expect("reads");
        assert_eq!(container.kind(), ContainerKind::Fatbinary);
        let cubins: Vec<_> = container.cubins().collect();
        let oracle = extracted(&file);
        assert_eq!(cubins.len(), TARGETS.len(), "{options:?}");
        assert_eq!(oracle.len(), TARGETS.len(), "{options:?}");
        for ((image, expected), (arch, original)) in cubins.iter().zip(&oracle).zip(&corpus.cubins) {
            let bytes = container.bytes(image).expect("decompresses");
            assert!(*bytes == *expected && *bytes == *original, "{options:?} {}", image.location);
            assert_eq!(image.compression, compression, "{options:?}");
            assert_eq!(image.sm.to_string(), format!("sm_{arch}"));
            assert_eq!(Cubin::parse(&bytes).expect("parses").sm(), image.sm);
        }
        let ptx = container.images().iter().find(|image| image.kind == ImageKind::Ptx).expect("PTX");
        let text = container.bytes(ptx).expect("decompresses");
        assert!(text.windows(8).any(|window| window == b".version"), "{options:?}");
    }
}

/// A rewritten cubin goes back into its fatbinary, and both readers find it and all others.
#[test]
fn rewritten_cubins_go_back() {
    let corpus = corpus();
    let (mut fitted, mut refused) = (0, 0);
    for (options, compression) in MODES {
        let fatbin = corpus.fatbin(options);
        for file in [fatbin.clone(), build::host(&[&fatbin])] {
            let container = Container::parse(&file).expect("reads");
            for (index, image) in container.cubins().enumerate() {
                let original = container.bytes(image).expect("decompresses");
                let cubin = Cubin::parse(&original).expect("parses");
                let (new, _, _) = shuffle::shuffle(&cubin, &mut Random(3)).expect("follows");
                let replaced = match container.replace(image, &new) {
                    Ok(replaced) => replaced,
                    Err(NoRoom::TooLarge { .. }) => {
                        assert!(container.kind() == ContainerKind::Host && compression != Compression::None);
                        refused += 1;
                        continue;
                    }
                    Err(error) => panic!("{options:?}: {error}"),
                };
                fitted += 1;
                let again = Container::parse(&replaced).expect("still whole");
                let ours = again.cubins().map(|image| again.bytes(image).expect("decompresses").into_owned());
                let expected = (corpus.cubins.iter().enumerate())
                    .map(|(other, (_, old))| if other == index { new.clone() } else { old.clone() });
                let expected: Vec<_> = expected.collect();
                assert!(ours.eq(expected.iter().cloned()), "{options:?} {}", image.location);
                if container.kind() == ContainerKind::Fatbinary {
                    assert!(extracted(&replaced) == expected, "{options:?} {}", image.location);
                }
            }
        }
    }
    assert!(fitted >= 36, "{fitted} fitted, {refused} refused");
}
