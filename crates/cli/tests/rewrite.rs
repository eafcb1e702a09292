//! Binaries in and out: byte for byte, shuffled and restored, and nothing written when something is wrong.

use sassafras_cubin::{Capsules, Code, CodeEdit, Cubin, Reason, RewriteOptions};
use sassafras_list::registry;
use sassafras_passes::{Options, schedule_function};
use sassafras_sass::program::{Program, Relative};
use sassafras_verify::against;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

#[path = "../../cubin/tests/support/linked.rs"]
mod linked;

fn sassafras(arguments: &[&str], files: &[&Path]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sassafras"));
    command.args(arguments).args(files).output().expect("the command runs")
}

fn input(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd/binary.in").join(name)
}

/// A random legal order of one section.
fn shuffled(cubin: &Cubin<'_>, code: &Code<'_>, seed: u64) -> CodeEdit {
    let options = Options { strategy: registry::get("shuffle"), seed, ..Options::default() };
    let program = Program::new(cubin).expect("a table");
    let relative = Relative::new(program.arch());
    let mut edit = CodeEdit::unchanged(code);
    let old = edit.words.clone();
    for mut routine in program.lift(code).expect("lifts") {
        schedule_function(&mut routine.lifted.function, &options).expect("schedules");
        let f = &routine.lifted.function;
        let first = (routine.range.start / 16) as u32;
        for (&inst, to) in f.blocks().flat_map(|block| f.block_insts(block)).zip(first..) {
            let from = routine.slot(inst);
            let word = relative.moved(old[from as usize], u64::from(from) * 16, u64::from(to) * 16);
            edit.order[to as usize] = from;
            edit.words[to as usize] = word.expect("fits");
        }
    }
    edit
}

/// Shuffles everything, compares, and undoes it. Returns how many instructions moved.
fn shuffle_and_restore(name: &str, file: &[u8], seed: u64) -> u64 {
    const KEEP: RewriteOptions = RewriteOptions { capsules: Capsules::Keep };
    let cubin = Cubin::parse(file).expect("parses");
    let mut edits: Vec<CodeEdit> = cubin.code().iter().map(|code| shuffled(&cubin, code, seed)).collect();
    let new = loop {
        match cubin.rewrite_with(&edits, KEEP) {
            Ok(new) => break new,
            // Rows of call frames cannot change places.
            Err(refusal) if matches!(refusal.reason, Reason::Frames { .. } | Reason::Crosses { .. }) => {
                let code = refusal.code.as_deref().and_then(|code| cubin.code_named(code)).expect("named");
                edits.retain(|edit| edit.section != code.section);
            }
            Err(refusal) => panic!("{name}: {refusal}"),
        }
    };
    let parsed = Cubin::parse(&new).expect("parses");
    let compared = against::cubins(&cubin, &parsed);
    assert_eq!(compared.differences, [], "{name}");
    let undo: Vec<CodeEdit> = edits
        .iter()
        .map(|edit| {
            let code = cubin.code().iter().find(|code| code.section == edit.section).expect("there");
            let mut undo = CodeEdit::unchanged(code);
            for (new, &old) in edit.order.iter().enumerate() {
                undo.order[old as usize] = new as u32;
            }
            undo
        })
        .collect();
    assert!(parsed.rewrite_with(&undo, KEEP).expect("rewritten") == file, "{name}: not restored");
    compared.moved
}

#[test]
fn a_shuffle_and_its_inverse_restore_the_file() {
    let file = std::fs::read(input("good.cubin")).expect("there");
    let moved: Vec<u64> = (0..6).map(|seed| shuffle_and_restore("good", &file, seed)).collect();
    assert!(moved.iter().any(|&moved| moved > 0));
}

#[test]
fn nothing_is_written_when_something_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("out");
    for (file, status) in [("cut.cubin", 2), ("empty.cubin", 2), ("host.o", 2), ("nowhere", 2), (".", 2)] {
        let done = sassafras(&["schedule", "--strategy", "original", "-o"], &[&output, &input(file)]);
        assert_eq!(done.status.code(), Some(status), "{file}");
        let message = String::from_utf8_lossy(&done.stderr);
        assert!(message.starts_with("error: ") && message.contains(file), "{file}: {message}");
        assert!(done.stdout.is_empty(), "{file}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
}

#[test]
fn what_is_shuffled_verifies_whatever_holds_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("out");
    for file in ["good.cubin", "two.fatbin", "lib.so"] {
        let done =
            sassafras(&["schedule", "--strategy", "shuffle", "--seed", "1", "-o"], &[&output, &input(file)]);
        assert!(done.status.success(), "{file}: {}", String::from_utf8_lossy(&done.stderr));
        let checked = sassafras(&["verify", "--against"], &[&input(file), &output]);
        assert!(checked.status.success(), "{file}: {}", String::from_utf8_lossy(&checked.stdout));
    }
}

/// The new order of the sample has a longer line table: a linked file has to grow for it, where it can.
#[test]
fn linked_files_grow() {
    let folder = tempfile::tempdir().expect("a folder");
    let (library, output) = (folder.path().join("lib.so"), folder.path().join("out.so"));
    let fatbin = std::fs::read(input("two.fatbin")).expect("there");
    let schedule = |file: &[u8]| {
        std::fs::write(&library, file).expect("written");
        let done =
            sassafras(&["schedule", "--strategy", "shuffle", "--seed", "1", "-o"], &[&output, &library]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let checked = sassafras(&["verify", "--against"], &[&library, &output]);
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
        (String::from_utf8_lossy(&done.stdout).into_owned(), std::fs::read(&output).expect("written"))
    };
    for form in linked::FORMS {
        let file = linked::linked(form, &[&fatbin, &fatbin]).file;
        let (said, new) = schedule(&file);
        let more = format!("a new place behind the last segment: {} bytes more\n", new.len() - file.len());
        assert!(
            new.len() > file.len() && said.ends_with(&more) && !said.contains("kept:"),
            "{form:?}: {said}"
        );
    }
    // Nothing leads to the first two any more, and the others are objects that were linked into these.
    let mut file = linked::linked(linked::Form::Fixed, &[&fatbin, &fatbin]);
    file.put(".nvFatBinSegment", 8, 0);
    let (said, new) = schedule(&file.file);
    assert_eq!(new.len(), file.file.len());
    assert!(said.contains("the file cannot grow: no wrapper is seen to lead to the fatbinary at"), "{said}");
    assert!(said.contains("2 relocatable objects are left as they came"), "{said}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_sassafras"))
        .arg("disasm")
        .arg(input("good.cubin"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    drop(child.stdout.take());
    let mut message = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut message).expect("text");
    assert_eq!((child.wait().expect("it ends").code(), message.as_str()), (Some(0), ""));
}

/// The same on what ptxas compiles, with line tables, calls, jump tables and barriers.
#[cfg(feature = "real-tools")]
mod real_tools {
    use super::*;
    use sassafras_testkit::tools::{succeed, tool};

    const TARGETS: [(&str, &[u32]); 2] = [("12.", &[70]), ("13.", &[75, 80, 90, 100, 120])];

    fn sources() -> Vec<PathBuf> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folders = ["../cubin/tests/ptx", "../control/tests/ptx"].map(|folder| here.join(folder));
        let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("kernels"));
        let mut files: Vec<PathBuf> = files.map(|file| file.expect("readable").path()).collect();
        files.sort();
        files
    }

    /// Compiles a kernel; none where the SM is too old for it.
    fn compile(ptxas: &Path, source: &Path, sm: u32, options: &[&str], folder: &Path) -> Option<PathBuf> {
        let text = std::fs::read_to_string(source).expect("text");
        let needed = text.lines().find_map(|line| line.strip_prefix("// needs sm_"));
        if needed.is_some_and(|needed| sm < needed.parse().expect("a number")) {
            return None;
        }
        let line = |line: &str| match line.split(' ').next() {
            Some(".version") => ".version 8.8\n".to_owned(),
            Some(".target") => format!(".target sm_{sm}\n"),
            _ => format!("{line}\n"),
        };
        let ptx = folder.join("k.ptx");
        std::fs::write(&ptx, text.lines().map(line).collect::<String>()).expect("written");
        let cubin = folder.join("k.cubin");
        let mut command = Command::new(ptxas);
        succeed(command.args(options).arg(format!("-arch=sm_{sm}")).arg(&ptx).arg("-o").arg(&cubin));
        Some(cubin)
    }

    #[test]
    fn compiled_kernels_go_round() {
        let folder = tempfile::tempdir().expect("a folder");
        let output = folder.path().join("out");
        let mut moved = 0;
        for (release, targets) in TARGETS {
            let ptxas = tool("ptxas", release);
            for (&sm, source) in targets.iter().flat_map(|sm| sources().into_iter().map(move |s| (sm, s))) {
                // Relocatable code once: what differs is the file, not the code.
                let options: &[&[&str]] =
                    if sm == 90 { &[&["-lineinfo"], &["-c"]] } else { &[&["-lineinfo"]] };
                for &options in options {
                    let Some(cubin) = compile(&ptxas, &source, sm, options, folder.path()) else { continue };
                    let name = format!("{} sm_{sm} {options:?}", source.display());
                    let bytes = std::fs::read(&cubin).expect("there");
                    moved += shuffle_and_restore(&name, &bytes, u64::from(sm));
                    let schedule = |strategy| {
                        let arguments = ["schedule", "--keep-capsules", "--strategy", strategy, "-o"];
                        let done = sassafras(&arguments, &[&output, &cubin]);
                        assert!(done.status.success(), "{name}: {}", String::from_utf8_lossy(&done.stderr));
                        std::fs::read(&output).expect("written")
                    };
                    assert!(schedule("original") == bytes, "{name}: not the same bytes");
                    schedule("shuffle");
                    let listed = sassafras(&["disasm", "--json"], &[&output]);
                    assert!(listed.status.success(), "{name}");
                    let json: serde_json::Value = serde_json::from_slice(&listed.stdout).expect("JSON");
                    assert_eq!(json["schema"], 1);
                    let old = sassafras(&["verify", "--json", "--against"], &[&cubin, &output]);
                    let json: serde_json::Value = serde_json::from_slice(&old.stdout).expect("JSON");
                    assert_eq!(json["reordering"]["differences"], serde_json::json!([]), "{name}");
                }
            }
        }
        assert!(moved > 1000, "{moved}");
    }

    /// Orders of every policy, with all control fields computed anew, for each kernel of the corpus: none is left as it came, and
    /// nvdisasm reads them.
    #[test]
    fn no_kernel_of_the_corpus_is_left_as_it_came() {
        let corpus = std::env::var_os("SASSAFRAS_CORPUS").expect("set by `cargo xtask test`");
        let nvdisasm = tool("nvdisasm", "13.");
        let folder = tempfile::tempdir().expect("a folder");
        let output = folder.path().join("out.cubin");
        let policies = ["height", "reuse", "early-loads", "steady", "balance", "reverse"];
        let (mut kernels, mut moved) = (0, 0);
        let files = std::fs::read_dir(Path::new(&corpus).join("sm_86")).expect("compiled");
        let mut files: Vec<PathBuf> = files.map(|file| file.expect("readable").path()).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "cubin"));
        files.sort();
        for (file, policy) in files.iter().zip(policies.iter().cycle()) {
            let name = format!("{} {policy}", file.display());
            let done = sassafras(&["schedule", "--json", "--strategy", policy, "-o"], &[&output, file]);
            assert!(done.status.success(), "{name}: {}", String::from_utf8_lossy(&done.stderr));
            let report: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
            for kernel in report["kernels"].as_array().expect("kernels") {
                assert_eq!(kernel["kept"], serde_json::Value::Null, "{name}");
                moved += kernel["moved"].as_u64().expect("a number");
                kernels += 1;
            }
            succeed(Command::new(&nvdisasm).arg("-c").arg(&output));
        }
        assert!(kernels > 30 && moved > 5000, "{kernels} kernels, {moved} instructions moved");
    }

    /// Changes one bit in every few bytes of a rewritten cubin with calls, lines and call frames: all are noticed, but for
    /// control fields.
    #[test]
    fn changed_bits_of_compiled_kernels_are_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let ptxas = tool("ptxas", "13.");
        let sources = sources();
        let source = sources.iter().find(|source| source.ends_with("shared_reduce.ptx")).expect("there");
        let path = compile(&ptxas, source, 90, &["-lineinfo"], folder.path()).expect("compiled");
        let old = std::fs::read(path).expect("there");
        let cubin = Cubin::parse(&old).expect("parses");
        let edits: Vec<_> = cubin.code().iter().map(|code| shuffled(&cubin, code, 1)).collect();
        let new = cubin.rewrite(&edits).expect("rewritten");
        let code: Vec<_> =
            Cubin::parse(&new).expect("parses").code().iter().map(|code| code.file_range.clone()).collect();
        let missed: Vec<(usize, usize)> = (0..new.len())
            .step_by(3)
            .map(|at| (at, at / 3 % 8))
            .filter(|&(at, bit)| {
                let section = code.iter().find(|range| range.contains(&at));
                let in_word = section.map(|range| (at - range.start) % 16 * 8 + bit);
                let control = in_word.is_some_and(|bit| (105..126).contains(&bit));
                let mut new = new.clone();
                new[at] ^= 1 << bit;
                let legal = Cubin::parse(&new).is_ok_and(|new| against::cubins(&cubin, &new).is_legal());
                legal != control
            })
            .collect();
        assert!(
            missed.is_empty(),
            "{} of {}: {:x?}",
            missed.len(),
            new.len(),
            &missed[..missed.len().min(20)]
        );
    }
}

/// How many instructions a run moved, from its JSON.
fn moved(arguments: &[&str], file: &str) -> u64 {
    let done = sassafras(&[&["schedule", "--json"], arguments].concat(), &[&input(file)]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let report: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let kernels = report["kernels"].as_array().expect("kernels");
    kernels.iter().map(|kernel| kernel["moved"].as_u64().expect("a number")).sum()
}

#[test]
fn bisection_lets_some_blocks_change_and_no_others() {
    let reverse = ["--strategy", "reverse"];
    let with = |more: &[&str]| moved(&[&reverse, more].concat(), "two.fatbin");
    let all = with(&[]);
    assert!(all > 0);
    assert_eq!(with(&["--cutoff", "0"]), 0);
    let half = with(&["--cutoff", "1"]);
    assert!(half > 0 && half < all, "one of two kernels: {half} of {all}");
    assert_eq!(with(&["--cutoff", "99"]), all);
    assert_eq!(with(&["--only-block", "0"]), all, "there is one block in each");
    assert_eq!(with(&["--only-block", "7"]), 0);
    assert_eq!(with(&["--knob", "tepid-aggressiveness=0"]), 0, "switched off");
}

#[test]
fn any_number_of_threads_gives_the_same_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = ["1", "2", "5"].map(|jobs| {
        let output = folder.path().join(jobs);
        let done = sassafras(
            &["schedule", "--strategy", "reverse", "--jobs", jobs, "-o"],
            &[&output, &input("two.fatbin")],
        );
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        std::fs::read(output).expect("written")
    });
    assert!(files[0] == files[1] && files[0] == files[2]);
}

/// A run that may write no file of more than half a kilobyte: what a full disk does, or, where the signal is not caught, somebody
/// who ends the program half-way.
#[cfg(unix)]
#[test]
fn a_run_cut_short_leaves_the_files_as_they_were() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, output) = (folder.path().join("in.so"), folder.path().join("out.so"));
    let original = std::fs::read(input("lib.so")).expect("there");
    std::fs::write(&file, &original).expect("written");
    std::fs::write(&output, "as it was").expect("written");
    for prepare in ["trap '' XFSZ; ", ""] {
        for target in [&output, &file] {
            let script =
                format!("{prepare}ulimit -f 1; exec \"$0\" schedule --strategy reverse -o \"$2\" \"$1\"");
            let done = Command::new("sh")
                .args(["-c", &script, env!("CARGO_BIN_EXE_sassafras")])
                .args([&file, target])
                .output()
                .expect("a shell");
            assert!(!done.status.success(), "{prepare}");
            assert_eq!(std::fs::read(&file).expect("there"), original, "{prepare}");
            assert_eq!(std::fs::read(&output).expect("there"), b"as it was", "{prepare}");
            if !prepare.is_empty() {
                assert_eq!(done.status.code(), Some(2), "{}", String::from_utf8_lossy(&done.stderr));
                let names = std::fs::read_dir(folder.path()).expect("a folder").count();
                assert_eq!(names, 2, "nothing else is left");
            }
        }
    }
}
