//! The stand-in for ptxas, behind a ptxas of our own that copies a cubin. What the real one does is in `real_ptxas.rs`.
#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const SASSAFRAS: &str = env!("CARGO_BIN_EXE_sassafras");

/// Copies the file `$CUBIN` to where `-o` says; `$MODE` makes it do something else.
const PTXAS: &str = r#"#!/bin/sh
echo "to standard output: $*"
echo "to standard error" >&2
case $MODE in
    fail) exit 7 ;;
    crash) kill -SEGV $$ ;;
    print) exit 0 ;;
    wait) exec sleep 600 ;;
esac
out=elf.o
while [ $# -gt 0 ]; do
    case $1 in -o) out=$2; shift ;; esac
    shift
done
cat "$CUBIN" > "$out"
"#;

/// A folder with such a ptxas and a cache.
struct Scene {
    folder: TempDir,
}

impl Scene {
    fn new() -> Scene {
        let scene = Scene { folder: tempfile::tempdir().expect("a folder") };
        scene.script("real/ptxas", PTXAS);
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        let source = path.with_extension("text");
        std::fs::write(&source, text).expect("written");
        copy_executable(&source, &path);
        path
    }

    /// A call of `program` in the folder, with an order that differs from the one that came.
    fn call(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.current_dir(self.folder.path());
        for name in ["CUDA_HOME", "SASSAFRAS_PTXAS_CALLED", "MODE"] {
            command.env_remove(name);
        }
        command.env("SASSAFRAS_PTXAS", self.path("real/ptxas"));
        command.env("SASSAFRAS_CACHE_DIR", self.path("cache"));
        command.env("SASSAFRAS_FLAGS", "--strategy reverse").env("CUBIN", input("good.cubin"));
        command
    }

    fn standin(&self, arguments: &[&str]) -> Command {
        let mut command = self.call(SASSAFRAS);
        command.args(["ptxas", "--"]).args(arguments);
        command
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect(name)
    }
}

/// Copies what is to be run, in a process of its own: while one thread of this process writes a file, another may start a command that inherits
/// it, open for writing, and nobody can run such a file ("text file busy").
fn copy_executable(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg(from).arg(to).status().expect("cp runs");
    assert!(copied.success(), "cp: {copied}");
    std::fs::set_permissions(to, PermissionsExt::from_mode(0o755)).expect("set");
}

fn input(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd/binary.in").join(name)
}

fn original() -> Vec<u8> {
    std::fs::read(input("good.cubin")).expect("there")
}

fn run(command: &mut Command) -> Output {
    command.output().expect("the command runs")
}

/// What was said beside what ptxas said; at most one line.
fn said(output: &Output) -> Option<String> {
    let text = String::from_utf8(output.stderr.clone()).expect("text");
    let mut lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.first(), Some(&"to standard error"), "{text}");
    lines.remove(0);
    assert!(lines.len() <= 1, "{text}");
    lines.pop().map(str::to_owned)
}

/// Called, ended well, and delivered what the verifier accepts and is not what came. Gives what was said.
fn rescheduled(scene: &Scene, command: &mut Command, file: &str) -> String {
    let done = run(command);
    let said = said(&done).expect("a line");
    assert!(done.status.success(), "{said}");
    assert!(scene.read(file) != original(), "{said}");
    let against = [
        "verify".as_ref(),
        scene.path(file).as_os_str(),
        "--against".as_ref(),
        input("good.cubin").as_os_str(),
    ]
    .map(std::ffi::OsStr::to_owned);
    let checked = run(Command::new(SASSAFRAS).args(against));
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    assert!(said.starts_with(&format!("sassafras: {file}: 1 of 1 kernels rescheduled, ")), "{said}");
    assert!(said.contains("; verified"), "{said}");
    said
}

/// Called, ended well, and delivered what ptxas wrote. Gives what was said.
fn untouched(scene: &Scene, command: &mut Command, file: &str, wanted: &[u8]) -> Option<String> {
    let done = run(command);
    let said = said(&done);
    assert!(done.status.success(), "{said:?}");
    assert!(scene.read(file) == wanted, "{said:?}");
    said
}

#[test]
fn what_ptxas_wrote_is_replaced() {
    let scene = Scene::new();
    let done = run(&mut scene.standin(&["-arch=sm_80", "k.ptx", "-o", "k.cubin"]));
    assert_eq!(done.stdout, b"to standard output: -arch=sm_80 k.ptx -o k.cubin\n");
    rescheduled(&scene, &mut scene.standin(&["k.ptx", "-o", "k.cubin"]), "k.cubin");
    rescheduled(&scene, &mut scene.standin(&["k.ptx"]), "elf.o");
    let mut names: Vec<_> = std::fs::read_dir(scene.folder.path()).expect("a folder").flatten().collect();
    names.retain(|file| {
        !["real", "cache", "k.cubin", "elf.o"].contains(&file.file_name().to_str().expect("text"))
    });
    assert!(names.is_empty(), "{names:?}");
    // As nvcc puts a prefix in front of it.
    let mut plain = scene.call(SASSAFRAS);
    rescheduled(&scene, plain.args(["ptxas", "-o", "p.cubin", "k.ptx"]), "p.cubin");
}

#[test]
fn permissions_and_links_stay() {
    let scene = Scene::new();
    std::fs::write(scene.path("file"), "old").expect("written");
    std::fs::set_permissions(scene.path("file"), PermissionsExt::from_mode(0o640)).expect("set");
    symlink("file", scene.path("link")).expect("linked");
    rescheduled(&scene, &mut scene.standin(&["-o", "link"]), "link");
    assert!(scene.path("link").is_symlink());
    assert_eq!(scene.path("file").metadata().expect("there").permissions().mode() & 0o777, 0o640);
}

#[test]
fn called_as_ptxas_by_a_link_or_as_a_copy() {
    let scene = Scene::new();
    for folder in ["link", "copy"] {
        std::fs::create_dir(scene.path(folder)).expect("made");
    }
    symlink(SASSAFRAS, scene.path("link/ptxas")).expect("linked");
    copy_executable(Path::new(SASSAFRAS), &scene.path("copy/ptxas"));
    let folders = ["link", "copy", "real"].map(|folder| scene.path(folder)).to_vec();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = folders.into_iter().chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).expect("a path");
    for name in ["link/ptxas", "copy/ptxas"] {
        let mut command = scene.call(scene.path(name));
        // Found behind both of ourselves.
        command.args(["k.ptx", "-o", "k.cubin"]).env_remove("SASSAFRAS_PTXAS").env("PATH", &path);
        rescheduled(&scene, &mut command, "k.cubin");
    }
    let mut version = scene.call(scene.path("link/ptxas"));
    let done = run(version.arg("--version").env("MODE", "print"));
    assert_eq!(done.stdout, b"to standard output: --version\n", "our options are not asked");
}

#[test]
fn ptxas_ends_and_so_do_we() {
    let scene = Scene::new();
    let failed = run(scene.standin(&["-o", "k.cubin"]).env("MODE", "fail"));
    assert_eq!((failed.status.code(), said(&failed)), (Some(7), None));
    let crashed = run(scene.standin(&["-o", "k.cubin"]).env("MODE", "crash"));
    assert_eq!((crashed.status.signal(), said(&crashed)), (Some(11), None));
    assert!(!scene.path("k.cubin").exists());
}

#[test]
fn signals_go_to_ptxas() {
    let scene = Scene::new();
    let mut command = scene.standin(&["-o", "k.cubin"]);
    let mut child =
        command.env("MODE", "wait").stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it runs");
    let mut lines = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    lines.read_line(&mut line).expect("text");
    assert!(line.starts_with("to standard output"), "{line}");
    assert!(run(Command::new("kill").arg(child.id().to_string())).status.success());
    assert_eq!(child.wait().expect("it ends").signal(), Some(15));
    // Nobody holds the other end any more.
    line.clear();
    lines.read_line(&mut line).expect("text");
    assert_eq!(line, "");
}

#[test]
fn without_ptxas_there_is_an_error() {
    let scene = Scene::new();
    std::fs::create_dir(scene.path("link")).expect("made");
    symlink(SASSAFRAS, scene.path("link/ptxas")).expect("linked");
    let mut command = scene.standin(&["k.ptx"]);
    let done = run(command.env_remove("SASSAFRAS_PTXAS").env("PATH", scene.path("link")));
    let message = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{message}");
    assert!(message.starts_with("error: no ptxas found") && message.lines().count() == 1, "{message}");
    for (choice, wanted) in [("nowhere", "is no program"), ("link/ptxas", "is sassafras itself")] {
        let done = run(scene.standin(&["k.ptx"]).env("SASSAFRAS_PTXAS", scene.path(choice)));
        let message = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(2), "{message}");
        assert!(message.contains(wanted), "{message}");
    }
}

#[test]
fn a_script_that_calls_us_again_does_not_go_round_for_ever() {
    let scene = Scene::new();
    let script = scene.script("script/ptxas", "#!/bin/sh\nexec ptxas \"$@\"\n");
    std::fs::create_dir(scene.path("link")).expect("made");
    symlink(SASSAFRAS, scene.path("link/ptxas")).expect("linked");
    let path = |folders: &[&str]| {
        let ours = folders.iter().map(|folder| scene.path(folder));
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::join_paths(ours.chain(std::env::split_paths(&path))).expect("a path")
    };
    let mut round = scene.standin(&["-o", "k.cubin"]);
    let done = run(round.env("SASSAFRAS_PTXAS", &script).env("PATH", path(&["link"])));
    assert_eq!(done.status.code(), Some(2), "{}", String::from_utf8_lossy(&done.stderr));
    // With the real one behind it, the first of us does the work and says so once.
    let mut through = scene.standin(&["-o", "k.cubin"]);
    through.env("SASSAFRAS_PTXAS", &script).env("PATH", path(&["link", "real"]));
    rescheduled(&scene, &mut through, "k.cubin");
}

#[test]
fn a_second_time_costs_nothing_and_gives_the_same() {
    let scene = Scene::new();
    let call = || scene.standin(&["-o", "k.cubin"]);
    assert!(!rescheduled(&scene, &mut call(), "k.cubin").contains("cached"));
    let first = scene.read("k.cubin");
    assert!(rescheduled(&scene, &mut call(), "k.cubin").ends_with("(cached)"));
    assert!(scene.read("k.cubin") == first);
    // Other flags are other results, and so is another folder or none.
    let flags = |flags: &str| rescheduled(&scene, call().env("SASSAFRAS_FLAGS", flags), "k.cubin");
    assert!(!flags("--strategy reverse --launch block=32").contains("cached"));
    assert!(!flags("--strategy reverse --cache-dir other").contains("cached"));
    assert!(!flags("--strategy reverse --no-cache").contains("cached"));
    assert!(flags("--strategy reverse").contains("cached"));
    for file in std::fs::read_dir(scene.path("cache")).expect("a folder").flatten() {
        std::fs::write(file.path(), "damaged").expect("written");
    }
    assert!(!flags("--strategy reverse").contains("cached"));
    assert!(scene.read("k.cubin") == first);
    // A folder that cannot be is no cache.
    for _ in 0..2 {
        let mut nowhere = call();
        nowhere.env("SASSAFRAS_CACHE_DIR", "/dev/null/cache");
        assert!(!rescheduled(&scene, &mut nowhere, "k.cubin").contains("cached"));
    }
}

/// Puts a result into the cache in place of the one that is there, with a checksum as it has to be.
fn forge(scene: &Scene, note: &str, cubin: &[u8]) {
    let files = std::fs::read_dir(scene.path("cache")).expect("a folder").flatten();
    let mut entries =
        files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|e| e == "entry"));
    let path = entries.next().expect("an entry");
    let key = blake3::Hash::from_hex(path.file_stem().expect("a name").as_encoded_bytes()).expect("a hash");
    let length = (note.len() as u32).to_le_bytes();
    let rest = [&length[..], note.as_bytes(), &[1], cubin].concat();
    let seal = blake3::keyed_hash(key.as_bytes(), &rest);
    std::fs::write(&path, [b"SASSFRC1", &seal.as_bytes()[..], &rest].concat()).expect("written");
}

#[test]
fn what_somebody_put_into_the_cache_is_not_delivered() {
    let scene = Scene::new();
    let call = || scene.standin(&["-o", "k.cubin"]);
    let note = "1 of 1 kernels rescheduled, 9 → 1 cycles by the model; verified";
    rescheduled(&scene, &mut call(), "k.cubin");
    let first = scene.read("k.cubin");
    // As the scheduler made it, but for the control fields of one instruction.
    let hazardous = std::fs::read(input("bad.cubin")).expect("there");
    let checked = run(Command::new(SASSAFRAS)
        .arg("verify")
        .arg(input("bad.cubin"))
        .arg("--against")
        .arg(input("good.cubin")));
    assert!(
        String::from_utf8_lossy(&checked.stdout).contains("a legal reordering"),
        "hazards are all that is wrong"
    );
    let other = std::fs::read(input("wrong.cubin")).expect("there");
    for cubin in [b"\x7fELF this is no cubin at all", &hazardous[..], &other, b""] {
        forge(&scene, note, cubin);
        let said = rescheduled(&scene, &mut call(), "k.cubin");
        assert!(said.contains("; what the cache held was not verified and is made anew: "), "{said}");
        assert!(!said.contains("cached") && !said.contains("9 → 1"), "{said}");
        assert!(scene.read("k.cubin") == first);
        assert!(rescheduled(&scene, &mut call(), "k.cubin").ends_with("; verified (cached)"), "made anew");
    }
    forge(&scene, "one line\nand another", &first);
    let said = rescheduled(&scene, &mut call(), "k.cubin");
    assert!(said.contains("its note is no line of text"), "{said}");
}

#[test]
fn a_cache_that_others_may_write_to_is_not_used() {
    let scene = Scene::new();
    let call = || scene.standin(&["-o", "k.cubin"]);
    rescheduled(&scene, &mut call(), "k.cubin");
    std::fs::set_permissions(scene.path("cache"), PermissionsExt::from_mode(0o777)).expect("set");
    let said = rescheduled(&scene, &mut call(), "k.cubin");
    assert!(said.contains("; the cache is not used: others may write to "), "{said}");
    assert!(!said.contains("cached"), "{said}");
    std::fs::set_permissions(scene.path("cache"), PermissionsExt::from_mode(0o755)).expect("set");
    assert!(rescheduled(&scene, &mut call(), "k.cubin").ends_with("(cached)"));
}

#[test]
fn eight_at_once_share_a_cache() {
    let scene = Scene::new();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let scene = &scene;
            scope.spawn(move || {
                for _ in 0..3 {
                    let file = format!("{number}.cubin");
                    rescheduled(scene, &mut scene.standin(&["-o", &file]), &file);
                }
            });
        }
    });
    let first = scene.read("0.cubin");
    assert!((1..8).all(|number| scene.read(&format!("{number}.cubin")) == first));
}

#[test]
fn wrong_flags_leave_the_cubin_alone() {
    let scene = Scene::new();
    for flags in ["--fast", "'", "--knob nothing=1", "--strategy given", "--strategy reverse --control keep"]
    {
        let mut command = scene.standin(&["-o", "k.cubin"]);
        let said = untouched(&scene, command.env("SASSAFRAS_FLAGS", flags), "k.cubin", &original());
        assert!(said.is_some_and(|said| said.contains("untouched: SASSAFRAS_FLAGS: ")), "{flags}");
    }
}

#[test]
fn quiet_is_quiet() {
    let scene = Scene::new();
    let mut command = scene.standin(&["-o", "k.cubin"]);
    let done = run(command.env("SASSAFRAS_FLAGS", "--strategy reverse --quiet"));
    assert_eq!((done.status.success(), said(&done)), (true, None));
    assert!(scene.read("k.cubin") != original());
}

#[test]
fn what_is_no_cubin_stays() {
    let scene = Scene::new();
    for (name, content) in [("cut", &original()[..200]), ("text", b"hello"), ("empty", b"")] {
        let path = scene.path(name);
        std::fs::write(&path, content).expect("written");
        let mut command = scene.standin(&["-o", "k.cubin"]);
        let said = untouched(&scene, command.env("CUBIN", &path), "k.cubin", content);
        assert!(said.is_some_and(|said| said.contains("k.cubin: untouched: ")), "{name}");
    }
}

#[test]
fn what_ptxas_did_not_write_stays() {
    let scene = Scene::new();
    std::fs::write(scene.path("elf.o"), original()).expect("written");
    for arguments in [&["--version"][..], &["--help", "-o", "elf.o"]] {
        let mut command = scene.standin(arguments);
        let said = untouched(&scene, command.env("MODE", "print"), "elf.o", &original());
        assert_eq!(said, None);
    }
    let mut pipe = scene.standin(&["-o", "/dev/stdout"]);
    let done = run(&mut pipe);
    assert!(done.stdout.ends_with(&original()));
    assert_eq!(said(&done), None);
    // An option that we do not understand is for ptxas to judge.
    let mut doubt = scene.standin(&["k.ptx", "-optf", "nowhere", "-o", "elf.o"]);
    let said = untouched(&scene, &mut doubt, "elf.o", &original());
    assert!(said.is_some_and(|said| said.starts_with("sassafras: untouched: nowhere: ")));
}

#[test]
fn a_file_that_cannot_be_replaced_stays() {
    let scene = Scene::new();
    std::fs::write(scene.path("k.cubin"), "old").expect("written");
    std::fs::hard_link(scene.path("k.cubin"), scene.path("other")).expect("linked");
    let said = untouched(&scene, &mut scene.standin(&["-o", "k.cubin"]), "k.cubin", &original());
    assert!(said.is_some_and(|said| said.contains("untouched: the file has other names")));
    assert!(scene.read("other") == original());
}

/// Nobody's number.
const NOBODY: u32 = 65534;

#[test]
fn a_folder_that_may_not_be_written_stays_as_ptxas_left_it() {
    let scene = Scene::new();
    let folder = scene.path("closed");
    let mode = |path: &Path, mode: u32| {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("set");
    };
    std::fs::create_dir(&folder).expect("made");
    std::fs::write(folder.join("k.cubin"), "old").expect("written");
    mode(&folder, 0o555);
    // Root may write anywhere: then somebody else is asked to, with copies of all that is needed.
    let mut command = if std::fs::write(folder.join("new"), "").is_err() {
        scene.standin(&["-o", "closed/k.cubin"])
    } else {
        std::fs::remove_file(folder.join("new")).expect("there");
        let (program, cubin) = (scene.path("sassafras"), scene.path("good.cubin"));
        copy_executable(Path::new(SASSAFRAS), &program);
        std::fs::copy(input("good.cubin"), &cubin).expect("copied");
        mode(&cubin, 0o644);
        mode(scene.folder.path(), 0o755);
        std::os::unix::fs::chown(folder.join("k.cubin"), Some(NOBODY), None).expect("root may");
        let mut command = scene.call(program);
        command.args(["ptxas", "--", "-o", "closed/k.cubin"]).env("CUBIN", cubin).uid(NOBODY);
        command
    };
    let said = untouched(&scene, &mut command, "closed/k.cubin", &original());
    assert!(said.as_ref().is_some_and(|said| said.contains("untouched: ")), "{said:?}");
    let names: Vec<_> = std::fs::read_dir(&folder)
        .expect("a folder")
        .map(|file| file.expect("readable").file_name())
        .collect();
    assert_eq!(names, ["k.cubin"], "nothing is left behind");
    mode(&folder, 0o755);
}
