//! Where results are written to: links, files that are none, standard output.
#![cfg(unix)]

use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Output};

fn sassafras(arguments: &[&str], output: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sassafras"))
        .args(arguments)
        .arg(output)
        .output()
        .expect("the command runs")
}

#[test]
fn a_link_stays_a_link_and_permissions_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, link) = (folder.path().join("file"), folder.path().join("link"));
    std::fs::write(&file, "old").expect("written");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).expect("set");
    symlink("file", &link).expect("linked");
    assert!(sassafras(&["schedule", "-o"], &link).status.success());
    let metadata = std::fs::symlink_metadata(&link).expect("there");
    assert!(metadata.is_symlink());
    let bytes = std::fs::read(&file).expect("bytes");
    assert!(bytes.starts_with(b"\x7fELF"));
    let mode = std::fs::metadata(&file).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 2);
}

#[test]
fn a_link_to_nothing_stays_a_link_and_its_file_is_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    std::fs::create_dir(path("inner")).expect("made");
    symlink("inner/second", path("first")).expect("linked");
    symlink("../file", path("inner/second")).expect("linked");
    assert!(sassafras(&["schedule", "-o"], &path("first")).status.success());
    assert!(path("first").is_symlink() && path("inner/second").is_symlink());
    assert!(!path("file").is_symlink());
    assert!(std::fs::read(path("file")).expect("bytes").starts_with(b"\x7fELF"));
    assert_eq!(std::fs::read_dir(path("inner")).expect("a folder").count(), 1, "nothing is left behind");
    // Where there can be no file there is an error, and nothing changes.
    symlink("nowhere/file", path("lost")).expect("linked");
    symlink("round", path("round")).expect("linked");
    for name in ["lost", "round"] {
        assert_eq!(sassafras(&["schedule", "-o"], &path(name)).status.code(), Some(2), "{name}");
        assert!(path(name).is_symlink(), "{name}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 5);
}

#[test]
fn what_is_no_file_is_never_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("socket");
    let _listener = UnixListener::bind(&socket).expect("bound");
    let output = sassafras(&["schedule", "-o"], &socket);
    assert_eq!(output.status.code(), Some(2), "a socket cannot be opened");
    let kind = std::fs::metadata(&socket).expect("there").file_type();
    assert!(kind.is_socket());
}

#[test]
fn a_profile_on_standard_output_is_the_profile_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("profile");
    let arguments = ["model", "--arch", "sm_80", "--hw-profile"];
    assert!(sassafras(&arguments, &file).status.success());
    let piped = sassafras(&arguments, Path::new("-"));
    assert_eq!(piped.stdout, std::fs::read(&file).expect("written"));
}

#[test]
fn what_is_made_of_a_program_is_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let cubin = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd/binary.in/good.cubin");
    for (mode, runs) in [(0o644, false), (0o755, true)] {
        let (old, new) = (folder.path().join(format!("old{mode}")), folder.path().join(format!("new{mode}")));
        std::fs::copy(&cubin, &old).expect("copied");
        std::fs::set_permissions(&old, PermissionsExt::from_mode(mode)).expect("set");
        assert!(sassafras(&["schedule", old.to_str().expect("a name"), "-o"], &new).status.success());
        let made = std::fs::metadata(&new).expect("there").permissions().mode();
        assert_eq!(made & 0o100 != 0, runs, "{made:o} of {mode:o}");
    }
}

/// The status of a command whose standard output nobody reads.
fn unread(arguments: &[&str]) -> Option<i32> {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_sassafras"));
    command.args(arguments).current_dir(binaries()).stdout(writer);
    command.output().expect("the command runs").status.code()
}

fn binaries() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd/binary.in")
}

#[test]
fn the_status_says_what_was_found_though_nobody_reads() {
    for json in [&[][..], &["--json"]] {
        let status = |words: &[&str]| unread(&[words, json].concat());
        assert_eq!(status(&["verify", "good.cubin"]), Some(0));
        assert_eq!(status(&["verify", "bad.cubin"]), Some(1), "hazards");
        assert_eq!(status(&["verify", "wrong.cubin", "--against", "good.cubin"]), Some(1), "differences");
        assert_eq!(status(&["verify", "cut.cubin"]), Some(2), "unreadable");
        assert_eq!(status(&["disasm", "good.cubin"]), Some(0), "a listing may be left");
        assert_eq!(status(&["schedule", "cut.cubin"]), Some(2), "unreadable");
    }
}

#[test]
fn the_status_says_what_was_found_without_standard_output() {
    let status = |words: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", words, env!("CARGO_BIN_EXE_sassafras")]).current_dir(binaries());
        command.output().expect("the shell runs").status.code()
    };
    assert_eq!(status("\"$0\" verify bad.cubin >&-"), Some(1));
    assert_eq!(status("\"$0\" verify cut.cubin >&-"), Some(2));
    assert_eq!(status("\"$0\" verify bad.cubin >&- 2>&-"), Some(1));
    if Path::new("/dev/full").exists() {
        assert_eq!(status("\"$0\" verify good.cubin >/dev/full"), Some(2), "the report is lost");
        assert_eq!(status("\"$0\" disasm good.cubin >/dev/full"), Some(2));
        assert_eq!(status("\"$0\" schedule good.cubin -o - >/dev/full"), Some(2));
    }
}

#[test]
fn a_device_is_not_read() {
    for name in ["/dev/zero", "/dev/null"] {
        let output = sassafras(&["verify"], Path::new(name));
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.starts_with(&format!("error: {name}: a device, which need not end")), "{message}");
    }
}

/// A table, a graph and a JSON form of very many blocks are written as they come: all of them at once took kilobytes a block.
#[cfg(target_os = "linux")]
#[test]
fn many_blocks_are_written_in_little_memory() {
    const BLOCKS: usize = 60_000;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("many.sir");
    let blocks: String = (0..BLOCKS).map(|n| format!("^b{n}:\n")).collect();
    std::fs::write(&file, format!("func f sm_90 {{\n{blocks} EXIT !exit\n}}\n")).expect("written");
    for (option, lines) in [("--acyclic", BLOCKS + 3), ("--json", 7 * BLOCKS), ("--dot", 2 * BLOCKS)] {
        let limited = format!("ulimit -v {}; exec \"$0\" deps {option} \"$1\"", 200 << 10);
        let done =
            Command::new("sh").args(["-c", &limited, env!("CARGO_BIN_EXE_sassafras")]).arg(&file).output();
        let done = done.expect("the command runs");
        assert!(done.status.success(), "{option}: {}", String::from_utf8_lossy(&done.stderr));
        let found = done.stdout.iter().filter(|&&byte| byte == b'\n').count();
        assert!(found >= lines, "{option}: {found} lines");
    }
}
