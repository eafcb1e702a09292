//! Code that is more than any function, or any file of its size, has: it stays as it came, and that is said.

use std::path::Path;
use std::process::Command;

#[path = "../../cubin/tests/support/build.rs"]
mod build;

/// What a command says, on both ways.
fn said(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sassafras"));
    let done = command.args(arguments).current_dir(folder).output().expect("the command runs");
    (String::from_utf8_lossy(&done.stdout) + String::from_utf8_lossy(&done.stderr)).into_owned()
}

fn good() -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd/binary.in/good.cubin"))
        .expect("there")
}

/// A cubin of one kernel with this code.
fn cubin(words: Vec<u8>) -> Vec<u8> {
    let mut symbols = vec![0; 24];
    symbols.extend(build::symbol(1, 2, 0x10, 1, 0, words.len() as u64));
    let parts = [
        build::Part { name: ".text.k", kind: 1, bytes: words, ..build::Part::default() },
        build::Part { name: ".strtab", kind: 3, bytes: b"\0k\0".to_vec(), ..build::Part::default() },
        build::Part { name: ".symtab", kind: 2, link: 2, info: 1, entry_size: 24, bytes: symbols },
    ];
    let good = good();
    let flags = u32::from_le_bytes(good[48..52].try_into().expect("four bytes"));
    build::elf(190, good[7], flags, &parts)
}

#[test]
fn a_section_that_is_longer_than_any_function_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = cubin(vec![0; ((1 << 18) + 1) * 16]);
    std::fs::write(folder.path().join("long"), &file).expect("written");
    let long = ".text.k: 262145 instructions in one section";
    for strategy in ["tepid", "height"] {
        let said = said(folder.path(), &["schedule", "long", "--strategy", strategy, "-o", "out"]);
        assert!(said.contains(&format!("kept: {long}; up to 262144 are scheduled")), "{said}");
        assert!(std::fs::read(folder.path().join("out")).expect("written") == file);
    }
    let said = said(folder.path(), &["analyze", "long"]);
    assert!(said.contains(&format!("{long}, up to 262144 are")), "{said}");
}

#[test]
fn a_function_in_which_too_many_may_wait_for_too_many_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    // A load that sets a scoreboard, and an exit under a predicate, which ends a block.
    let load = 0x000e_a200_001e_e900_0000_0000_020b_7381_u128.to_le_bytes();
    let exit = |guard: u128| (0x000f_ea00_0380_0000_0000_0000_0000_094d_u128 | guard << 12).to_le_bytes();
    let mut words: Vec<u8> = [load, exit(0)].as_flattened().repeat(33_000);
    words.extend(exit(7));
    let file = cubin(words);
    std::fs::write(folder.path().join("tangled"), &file).expect("written");
    let said = said(folder.path(), &["schedule", "tangled", "--strategy", "height", "-o", "out"]);
    assert!(said.contains("kept: k has 33001 blocks and sets 33000 scoreboards; "), "{said}");
    assert!(std::fs::read(folder.path().join("out")).expect("written") == file);
}

/// A raw LZ4 block of some bytes and zeros behind them.
fn packed(bytes: &[u8], zeros: usize) -> Vec<u8> {
    let length = |out: &mut Vec<u8>, more: usize| {
        out.extend(std::iter::repeat_n(255, more / 255));
        out.push((more % 255) as u8);
    };
    // Literals of which the last one is the first zero, that one again and again, and twelve literals more.
    let mut out = vec![0xff];
    length(&mut out, bytes.len() + 1 - 15);
    out.extend_from_slice(bytes);
    out.extend([0, 1, 0]);
    length(&mut out, zeros - 13 - 4 - 15);
    out.push(12 << 4);
    out.extend([0; 12]);
    out
}

#[test]
fn a_file_that_stands_for_more_than_any_of_its_size_is_looked_at_in_part() {
    let folder = tempfile::tempdir().expect("a folder");
    // A byte of LZ4 may stand for so many and no more: noise, which takes as much as it is.
    let mut image = good();
    let mut noise = 1u64;
    image.extend(
        std::iter::repeat_with(|| {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (noise >> 56) as u8
        })
        .take(60 << 10),
    );
    let (zeros, size) = ((5 << 20) - image.len(), 5 << 20);
    let stored = packed(&image, zeros);
    let file = build::fatbin(&[(80, 1 << 13, &stored[..], size); 3]);
    assert!(file.len() < 1 << 20);
    std::fs::write(folder.path().join("many"), &file).expect("written");
    let done = said(folder.path(), &["schedule", "many", "--strategy", "reverse", "-o", "out"]);
    assert!(done.contains("3 kernels, 1 kept with a reason"), "{done}");
    let why = "its file stands for more than 12582912 bytes, and what is beyond is not looked at";
    assert!(done.contains(why), "{done}");
    for command in ["analyze", "verify", "deps", "disasm"] {
        let done = said(folder.path(), &[command, "many"]);
        assert_eq!(done.matches(why).count(), 1, "{command}: {done}");
    }
    let mut verify = Command::new(env!("CARGO_BIN_EXE_sassafras"));
    let verdict =
        verify.args(["verify", "many"]).current_dir(folder.path()).output().expect("the command runs");
    assert_eq!(verdict.status.code(), Some(2), "what was not looked at is not clean");
    // Of two of them nothing is left out.
    let file = build::fatbin(&[(80, 1 << 13, &stored[..], size); 2]);
    std::fs::write(folder.path().join("two"), file).expect("written");
    let done = said(folder.path(), &["schedule", "two", "--strategy", "reverse", "-o", "out"]);
    assert!(done.contains("2 kernels, 0 kept with a reason"), "{done}");
    // It is unusual all the same, and nothing is searched.
    let unsearched = "nothing was searched: the file stands for more code than files do";
    assert!(!done.contains(unsearched), "an order by name: {done}");
    let done = said(folder.path(), &["schedule", "two", "-o", "out"]);
    assert!(done.contains(unsearched), "{done}");
    let usual = build::fatbin(&[(80, 0, &good()[..], 0); 2]);
    std::fs::write(folder.path().join("usual"), usual).expect("written");
    let done = said(folder.path(), &["schedule", "usual", "-o", "out"]);
    assert!(done.contains("2 kernels") && !done.contains(unsearched), "{done}");
}

#[test]
fn what_nobody_waits_for_is_a_hazard_however_much_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    // Loads of one register under a predicate, none of which ends those before it.
    let load = (0x000e_a200_001e_e900_0000_0000_020b_7381_u128 & !(0xf << 12) | 1 << 12).to_le_bytes();
    let exit = 0x000f_ea00_0380_0000_0000_0000_0000_794d_u128.to_le_bytes();
    let words: Vec<u8> = load.repeat(4_000).into_iter().chain(exit).collect();
    std::fs::write(folder.path().join("loads"), cubin(words)).expect("written");
    let mut verify = Command::new(env!("CARGO_BIN_EXE_sassafras"));
    let done =
        verify.args(["verify", "loads", "--json"]).current_dir(folder.path()).output().expect("it runs");
    assert_eq!(done.status.code(), Some(1));
    let found: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let kernel = &found["kernels"][0];
    assert_eq!(kernel["hazards"].as_array().map(Vec::len), Some(10_000));
    // Of 1,024 under way on a register the next one forgets all: 500 are met in the mean.
    let more = kernel["more_hazards"].as_u64().expect("a number");
    assert!((1_500_000..2_500_000).contains(&more), "{more}");
}
