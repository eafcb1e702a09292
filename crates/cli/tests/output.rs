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
    let text = std::fs::read_to_string(&file).expect("text");
    assert!(text.starts_with("func sgemm_step"));
    let mode = std::fs::metadata(&file).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 2);
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
