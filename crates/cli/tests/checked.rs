//! Nothing looks clean that was not looked at.

use std::path::Path;
use std::process::{Command, Output};

#[path = "../../cubin/tests/support/build.rs"]
mod build;

fn sassafras(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sassafras"));
    command.args(arguments).current_dir(folder).output().expect("the command runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn input(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd/binary.in").join(name))
        .expect("there")
}

/// Files in which there is nothing that can be checked, and what is said of them.
fn unchecked() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let mut ptx = build::fatbin(&[(80, 0, b".version 8.0\n.target sm_80\n.address_size 64\n", 0)]);
    ptx[16..18].copy_from_slice(&1u16.to_le_bytes());
    let empty = build::fatbin(&[]);
    let no_code = build::elf(190, 0x41, 0x0050_0550, &[]);
    let mut old = input("good.cubin");
    // The flags that name the architecture.
    old[48..52].copy_from_slice(&0x0023_0523_u32.to_le_bytes());
    vec![
        ("ptx.fatbin", build::host(&[&ptx]), "1 image of PTX and no cubin"),
        ("empty.fatbin", build::host(&[&empty]), "no image"),
        ("no_code.cubin", no_code, "no code"),
        ("old.cubin", old, "which no table knows"),
    ]
}

#[test]
fn what_holds_nothing_to_check_is_not_clean() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, bytes, why) in unchecked() {
        std::fs::write(folder.path().join(name), bytes).expect("written");
        for json in [&[][..], &["--json"]] {
            let done = sassafras(folder.path(), &[&["verify", name], json].concat());
            let said = text(&done.stderr);
            assert_eq!(done.status.code(), Some(2), "{name}: {said}");
            assert_eq!(text(&done.stdout), "", "{name}");
            assert!(said.contains(&format!("error: {name}: nothing in it was checked")), "{said}");
            assert!(said.contains(why), "{said}");
        }
        // Compared it can be, and it is said that this is all.
        let done = sassafras(folder.path(), &["verify", name, "--against", name]);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(0), "{name}: {said}");
        assert!(said.contains(&format!("warning: {name}: no code in it was checked for hazards")), "{said}");
    }
}

#[test]
fn reports_count_what_was_not_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let good = input("good.cubin");
    let (_, old, _) = unchecked().pop().expect("the old one");
    let report = |images: &[(u32, u64, &[u8], u64)]| -> serde_json::Value {
        std::fs::write(folder.path().join("k.fatbin"), build::fatbin(images)).expect("written");
        let done = sassafras(folder.path(), &["verify", "k.fatbin", "--json"]);
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        serde_json::from_slice(&done.stdout).expect("JSON")
    };
    let both = report(&[(80, 0, &good, 0), (35, 0, &old, 0), (35, 0, &old, 0)]);
    assert_eq!(both["kernels"].as_array().map(Vec::len), Some(1), "{both}");
    let counts: Vec<_> = both["unchecked"].as_object().expect("reasons").values().collect();
    assert_eq!(counts, [2], "{both}");
    assert!(both["kernels"][0]["pairs"].as_u64() > both["kernels"][0]["unknown"].as_u64(), "{both}");
    assert!(report(&[(80, 0, &good, 0)]).get("unchecked").is_none());
}

#[test]
fn what_was_not_verified_is_not_called_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).expect("written");
    let last = |arguments: &[&str]| {
        let done = sassafras(folder.path(), arguments);
        assert!(done.status.success(), "{}", text(&done.stderr));
        text(&done.stdout).trim_end().lines().last().expect("a line").to_owned()
    };
    for (name, bytes, _) in unchecked() {
        write(name, &bytes);
        let said = last(&["schedule", name, "-o", "out"]);
        assert!(said.ends_with("; nothing changed, and nothing was checked"), "{name}: {said}");
    }
    // A hazard that was there stays there, and nobody looked.
    write("bad.cubin", &input("bad.cubin"));
    let said = last(&["schedule", "bad.cubin", "--strategy", "original"]);
    assert_eq!(
        said,
        "1 kernels, 0 kept with a reason; 0 of 8 instructions moved; nothing changed, and nothing was checked"
    );
    // One of two is kept: nobody knows what its first instruction does.
    let good = input("good.cubin");
    let load = 0x000e_a200_001e_e900_0000_0000_020b_7381_u128.to_le_bytes();
    let at = good.windows(16).position(|word| word == load).expect("the load");
    let mut unknown = good.clone();
    unknown[at..at + 16].fill(0);
    write("both.fatbin", &build::fatbin(&[(80, 0, &unknown, 0), (80, 0, &good, 0)]));
    let said = last(&["schedule", "both.fatbin", "--strategy", "reverse"]);
    assert!(said.starts_with("2 kernels, 1 kept with a reason; "), "{said}");
    assert!(said.ends_with("; 1 verified, 1 as it came and not checked"), "{said}");
    write("good.cubin", &good);
    let said = last(&["schedule", "good.cubin", "--strategy", "reverse"]);
    assert!(said.ends_with("; 1 verified"), "{said}");
}

/// Two identical instructions that trade places have moved for who knows where they came from, and for nobody else.
#[test]
fn schedule_and_verify_count_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let cubin = input("good.cubin");
    let load = 0x000e_a200_001e_e900_0000_0000_020b_7381_u128.to_le_bytes();
    let code = cubin.windows(16).position(|word| word == load).expect("the load");
    let mut words = cubin[code..code + 128].to_vec();
    // FADD RZ, R20, R21 in three places, as it stands in the first of them but for the result.
    words[48 + 2] = 255;
    words.copy_within(48..64, 64);
    words.copy_within(48..64, 80);
    // Without lines, which would tell the three apart.
    let mut symbols = vec![0; 24];
    symbols.extend(build::symbol(1, 2, 0x10, 1, 0, 128));
    let parts = [
        build::Part { name: ".text.k", kind: 1, bytes: words, ..build::Part::default() },
        build::Part { name: ".strtab", kind: 3, bytes: b"\0k\0".to_vec(), ..build::Part::default() },
        build::Part { name: ".symtab", kind: 2, link: 2, info: 1, entry_size: 24, bytes: symbols },
    ];
    let flags = u32::from_le_bytes(cubin[48..52].try_into().expect("four bytes"));
    std::fs::write(folder.path().join("in"), build::elf(190, cubin[7], flags, &parts)).expect("written");
    let counted = |text: &str| -> u64 {
        let (before, _) = text.split_once(" of 8 instructions moved").expect("a count");
        before.rsplit(' ').next().and_then(|count| count.parse().ok()).expect("a number")
    };
    let mut apart = 0;
    for seed in 0..20 {
        let seed = seed.to_string();
        let schedule = ["schedule", "in", "--strategy", "shuffle", "--seed", &seed, "-o", "out"];
        let scheduled = counted(&text(&sassafras(folder.path(), &schedule).stdout));
        let json = sassafras(folder.path(), &[&schedule[..], &["--json"]].concat());
        let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
        let verified = sassafras(folder.path(), &["verify", "out", "--against", "in"]);
        assert_eq!(scheduled, counted(&text(&verified.stdout)), "seed {seed}");
        apart += u32::from(json["kernels"][0]["moved"] != scheduled);
    }
    assert!(apart > 0, "the scheduler never exchanged the twins");
}

/// No loader takes a frame that states another size than it has, so nobody here does.
#[test]
fn a_zstd_frame_that_lies_is_refused_by_every_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let cubin = input("good.cubin");
    let size = cubin.len() as u32;
    // Magic, a size of four bytes without a window, and one block that is stored as it is, the last.
    let block = (size << 3 | 1).to_le_bytes();
    let frame = [&[0x28, 0xb5, 0x2f, 0xfd, 0xa0], &size.to_le_bytes()[..], &block[..3], &cubin].concat();
    let mut lying = frame.clone();
    lying[6] ^= 1;
    for (name, frame) in [("good", frame), ("lying", lying)] {
        let file = build::fatbin(&[(80, 1 << 15, &frame, size.into())]);
        std::fs::write(folder.path().join(name), file).expect("written");
    }
    let done = sassafras(folder.path(), &["verify", "good"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    for arguments in [
        &["verify", "lying"][..],
        &["verify", "lying", "--against", "good"],
        &["verify", "good", "--against", "lying"],
        &["schedule", "lying", "-o", "out"],
        &["disasm", "lying"],
    ] {
        let done = sassafras(folder.path(), arguments);
        assert_eq!(done.status.code(), Some(2), "{arguments:?}: {}", text(&done.stdout));
        assert!(text(&done.stderr).contains("zstd data: the frame says "), "{}", text(&done.stderr));
    }
    assert!(!folder.path().join("out").exists());
}
