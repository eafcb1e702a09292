//! The reader and the writer against files that NVIDIA's tools write, with those tools as oracles.
#![cfg(feature = "real-tools")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use sassafras_cubin::{
    AttributeType, Capsules, Code, CodeEdit, Cubin, Format, OffsetLayout, Origin, Reason, RewriteOptions,
};

#[path = "support/references.rs"]
mod references;
#[path = "support/shuffle.rs"]
mod shuffle;
#[path = "support/tools.rs"]
mod tools;

use shuffle::Random;
use tools::{Compiled, TARGETS, compile, kernels, succeed, tool};

/// Every kernel for every target, and for some targets in other forms too.
static CORPUS: LazyLock<Vec<Compiled>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let mut jobs = Vec::new();
    for (release, targets) in TARGETS {
        let ptxas = tool("ptxas", release);
        let folder = folder.path().join(release);
        fs::create_dir(&folder).expect("created");
        for arch in targets {
            let forms: &[&[&str]] = match *arch {
                "70" | "75" | "90" | "100" | "120" => &[&[], &["-c"], &["-lineinfo"]],
                _ => &[&[]],
            };
            for kernel in kernels(arch) {
                jobs.extend(
                    forms
                        .iter()
                        .map(|&options| (ptxas.clone(), *arch, kernel.clone(), options, folder.clone())),
                );
            }
        }
    }
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        while let Some((ptxas, arch, kernel, options, folder)) =
            jobs.get(next.fetch_add(1, Ordering::Relaxed))
        {
            done.push(compile(ptxas, arch, kernel, options, folder));
        }
        done
    };
    std::thread::scope(|scope| {
        let workers = [scope.spawn(worker), scope.spawn(worker)];
        workers.into_iter().flat_map(|worker| worker.join().expect("compiles")).collect()
    })
});

fn plain() -> impl Iterator<Item = &'static Compiled> {
    CORPUS.iter().filter(|compiled| compiled.options.is_empty())
}

/// What `ptxas -v` says of the kernel called `name`: registers and bytes of shared memory.
fn reported(messages: &str, name: &str) -> (u32, u64) {
    let mut lines =
        messages.lines().skip_while(|line| !line.contains(&format!("Compiling entry function '{name}'")));
    let used = lines.find(|line| line.contains("Used ")).expect("resources");
    let number = |what: &str| {
        let before = used.split(what).next().filter(|_| used.contains(what))?;
        before.split([' ', ',']).rfind(|word| !word.is_empty())?.parse::<u64>().ok()
    };
    let registers = number(" registers").expect("registers");
    (registers as u32, number(" bytes smem").unwrap_or(0))
}

#[test]
fn reads_what_ptxas_reports() {
    for compiled in plain() {
        let arch = compiled.arch;
        let cubin = Cubin::parse(&compiled.cubin).expect("parses");
        assert_eq!(cubin.sm().to_string(), format!("sm_{arch}"));
        assert!(!cubin.relocatable());
        let code = cubin.code_named(&compiled.name).expect("the kernel");
        let (registers, shared) = reported(&compiled.messages, &compiled.name);
        assert_eq!(code.registers, Some(registers), "sm_{arch} {}", compiled.name);
        // From sm_90 on the system keeps 1 KiB for itself, and newer ptxas counts it in one place and not the other.
        assert!(
            code.shared_bytes == shared || code.shared_bytes == shared + 1024,
            "sm_{arch} {}",
            compiled.name
        );
        assert!(code.is_kernel() && code.bytes.len().is_multiple_of(16) && !code.bytes.is_empty());
        match compiled.name.as_str() {
            "jump_table" => {
                assert_eq!(code.required_threads, Some([64, 2, 1]));
                assert!(code.constants.iter().any(|bank| bank.bank == 2));
                assert!(code.functions.iter().any(|f| f.frame_bytes.is_some_and(|bytes| bytes >= 128)));
            }
            "mbarrier" => {
                assert_eq!(code.max_threads, Some([128, 1, 1]));
                // ptxas 12 records it for some targets only.
                assert!(matches!(code.barriers, None | Some(1)));
            }
            _ => {}
        }
    }
    assert!(plain().count() > 150, "{}", plain().count());
}

#[test]
fn a_shuffle_and_its_inverse_restore_every_byte() {
    let (mut shuffled_code, mut left_out) = (0, 0);
    for compiled in CORPUS.iter() {
        let what = format!("sm_{} {} {:?}", compiled.arch, compiled.name, compiled.options);
        let cubin = Cubin::parse(&compiled.cubin).expect("parses");
        let same: Vec<_> = cubin.code().iter().map(CodeEdit::unchanged).collect();
        assert_eq!(cubin.rewrite(&same).expect("nothing changes"), compiled.cubin, "{what}");
        for seed in 0..3 {
            let (new, edits, left) = shuffle::shuffle(&cubin, &mut Random(seed))
                .unwrap_or_else(|refusal| panic!("{what}: {refusal}"));
            assert_ne!(new, compiled.cubin, "{what}");
            follows(&cubin, &Cubin::parse(&new).expect("parses"), &edits);
            assert!(shuffle::unshuffle(&new, &edits) == compiled.cubin, "{what}: not restored");
            shuffled_code += edits.len();
            left_out += left.len();
        }
    }
    assert!(shuffled_code > 1000 && left_out * 50 < shuffled_code, "{shuffled_code}, {left_out} left out");
}

/// Whatever names an instruction still names the same one, found without the writer's help: by its word.
fn follows(old: &Cubin, new: &Cubin, edits: &[CodeEdit]) {
    for edit in edits {
        let find = |cubin: &Cubin| cubin.code().iter().position(|code| code.section == edit.section);
        let (old, new) = (&old.code()[find(old).unwrap()], &new.code()[find(new).unwrap()]);
        assert_eq!(named(old), named(new), "{}", old.name);
        for (old_entry, new_entry) in old.relocations.iter().zip(&new.relocations) {
            assert_eq!(word(old, old_entry.offset), word(new, new_entry.offset));
        }
    }
}

fn word<'d>(code: &Code<'d>, offset: u64) -> &'d [u8; 16] {
    code.bytes[offset as usize..].first_chunk().expect("an instruction")
}

/// The words that attribute records name, with the rest of each record, sorted per attribute.
fn named(code: &Code) -> Vec<Vec<(Vec<u8>, Vec<u32>)>> {
    let lists = code.attributes.iter().filter(|attribute| attribute.format == Format::Sized);
    lists
        .map(|attribute| {
            let words: Vec<u32> = attribute.words().collect();
            let (size, at) = match attribute.kind.offsets() {
                OffsetLayout::Records { words, at } => (words, at),
                _ => return Vec::new(),
            };
            let rest = |record: &[u32]| [&record[..at], &record[at + 1..]].concat();
            let mut records: Vec<_> = words
                .chunks(size)
                .map(|record| (word(code, record[at].into()).to_vec(), rest(record)))
                .collect();
            let ascending = attribute.kind.info().is_some_and(|info| info.ascending);
            assert!(
                !ascending || words.chunks(size).is_sorted_by_key(|record| record[at]),
                "{}",
                attribute.kind
            );
            records.sort();
            records
        })
        .collect()
}

#[test]
fn the_attributes_we_follow_do_occur() {
    let mut seen = std::collections::BTreeSet::new();
    for compiled in plain() {
        let cubin = Cubin::parse(&compiled.cubin).expect("parses");
        let attributes = cubin.code().iter().flat_map(|code| &code.attributes);
        for attribute in attributes.filter(|attribute| !attribute.payload.is_empty()) {
            assert_ne!(attribute.kind.offsets(), OffsetLayout::Unknown, "{}", attribute.kind);
            seen.insert(attribute.kind.to_string());
        }
    }
    for name in [
        "EXIT_INSTR_OFFSETS",
        "COOP_GROUP_INSTR_OFFSETS",
        "COOP_GROUP_MASK_REGIDS",
        "INT_WARP_WIDE_INSTR_OFFSETS",
        "INDIRECT_BRANCH_TARGETS",
        "MBARRIER_INSTR_OFFSETS",
        "ATOM16_EMUL_INSTR_REG_MAP",
    ] {
        assert!(seen.contains(name), "{name} not in {seen:?}");
    }
}

/// What `nvdisasm` says the source location of every instruction is, by kernel.
fn lines(nvdisasm: &Path, cubin: &Path, option: &str) -> BTreeMap<String, Vec<String>> {
    let text = succeed(Command::new(nvdisasm).args(["-c", option]).arg(cubin));
    let mut found = BTreeMap::new();
    let mut kernel: &mut Vec<String> = &mut Vec::new();
    let (mut location, mut fresh) = (Vec::new(), true);
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix(".section\t.text.") {
            kernel = found.entry(name.split(',').next().expect("a name").to_owned()).or_default();
            location.clear();
        } else if let Some(comment) = line.strip_prefix("//## ") {
            if std::mem::take(&mut fresh) {
                location.clear();
            }
            location.push(comment.to_owned());
        } else if line.starts_with("/*") && line.get(6..8) == Some("*/") {
            fresh = true;
            kernel.push(location.join(" / "));
        }
    }
    found
}

#[test]
fn nvdisasm_finds_every_instruction_on_its_old_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let nvdisasm = tool("nvdisasm", "13.");
    let mut changed = 0;
    let kernels = ["inlined_lines", "jump_table", "calls", "mbarrier"];
    let with_lines = |compiled: &&Compiled| {
        compiled.options == ["-lineinfo"]
            && compiled.arch != "70"
            && kernels.contains(&compiled.name.as_str())
    };
    for compiled in CORPUS.iter().filter(with_lines) {
        let cubin = Cubin::parse(&compiled.cubin).expect("parses");
        let (new, edits, _) = shuffle::shuffle(&cubin, &mut Random(5)).expect("follows");
        let (old_path, new_path) = (folder.path().join("old.cubin"), folder.path().join("new.cubin"));
        fs::write(&old_path, &compiled.cubin).expect("written");
        fs::write(&new_path, new).expect("written");
        for option in ["-gi", "-gp"] {
            let (old, new) = (lines(&nvdisasm, &old_path, option), lines(&nvdisasm, &new_path, option));
            for edit in &edits {
                let code = cubin.code().iter().find(|code| code.section == edit.section).expect("same");
                let (old, new) = (&old[code.name], &new[code.name]);
                let followed: Vec<_> = edit.order.iter().map(|&from| old[from as usize].clone()).collect();
                assert_eq!(*new, followed, "sm_{} {} {option}", compiled.arch, code.name);
                changed += usize::from(new != old);
            }
        }
    }
    assert!(changed > 20, "{changed}");
}

/// References of code that grew lead where they led, and taking out what was put in gives the old bytes.
#[test]
fn references_follow_code_of_another_length() {
    let kinds = [
        references::Kinds { copies: true, moves: true, deletes: true },
        references::Kinds { copies: true, moves: false, deletes: false },
        references::Kinds { copies: false, moves: false, deletes: false },
    ];
    let (mut followed, mut restored, mut refused) = (0, 0, BTreeMap::new());
    for compiled in CORPUS.iter() {
        let cubin = Cubin::parse(&compiled.cubin).expect("parses");
        for code in cubin.code() {
            let what = format!("sm_{} {} {:?} {}", compiled.arch, compiled.name, compiled.options, code.name);
            for (seed, kinds) in (0..).zip(kinds) {
                let edit = references::random(&cubin, code, &mut Random(seed), kinds);
                let new = match cubin.relayout(std::slice::from_ref(&edit), shuffle::KEEP) {
                    Ok(new) => new,
                    Err(refusal) => {
                        let known = matches!(
                            refusal.reason,
                            Reason::Frames { .. } | Reason::Lines { .. } | Reason::MaybeOffset { .. }
                        );
                        assert!(known && (kinds.copies || kinds.moves), "{what}: {refusal}");
                        *refused.entry(refusal.reason.to_string()).or_insert(0) += 1;
                        continue;
                    }
                };
                let new = Cubin::parse(&new).expect("parses");
                let size = new.code_named(code.name).expect("the code").bytes.len() as u64;
                let found = references::references(&new, edit.section, &references::SAME);
                assert_eq!(found, references::expected(&cubin, &edit, size), "{what}");
                followed += 1;
                if !kinds.moves {
                    let undo = references::inverse(&new, &edit);
                    let back = new.relayout(&[undo], shuffle::KEEP).expect("follows");
                    assert!(back == compiled.cubin, "{what}: not restored");
                    restored += 1;
                }
            }
        }
    }
    let left: usize = refused.values().sum();
    assert!(followed > 1000 && restored > 700 && left * 20 < followed, "{followed} {restored} {refused:?}");
}

#[test]
fn nvdisasm_finds_code_of_another_length_on_its_old_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let (nvdisasm, cuobjdump) = (tool("nvdisasm", "13."), tool("cuobjdump", "13."));
    let kernels = ["inlined_lines", "jump_table", "calls", "mbarrier"];
    let with_lines = |compiled: &&Compiled| {
        compiled.options == ["-lineinfo"]
            && compiled.arch != "70"
            && kernels.contains(&compiled.name.as_str())
    };
    let mut seen = 0;
    for compiled in CORPUS.iter().filter(with_lines) {
        let cubin = Cubin::parse(&compiled.cubin).expect("parses");
        let kinds = references::Kinds { copies: true, moves: false, deletes: false };
        let edits: Vec<_> = (cubin.code().iter())
            .map(|code| references::random(&cubin, code, &mut Random(9), kinds))
            .collect();
        let Ok(new) = cubin.relayout(&edits, shuffle::KEEP) else {
            continue;
        };
        let (old_path, new_path) = (folder.path().join("old.cubin"), folder.path().join("new.cubin"));
        fs::write(&old_path, &compiled.cubin).expect("written");
        fs::write(&new_path, new).expect("written");
        succeed(Command::new(&cuobjdump).args(["-elf", "-sass"]).arg(&new_path));
        for option in ["-gi", "-gp"] {
            let (old, new) = (lines(&nvdisasm, &old_path, option), lines(&nvdisasm, &new_path, option));
            for edit in &edits {
                let code = cubin.code().iter().find(|code| code.section == edit.section).expect("same");
                let (old, new) = (&old[code.name], &new[code.name]);
                for (slot, line) in edit.slots.iter().zip(new) {
                    if let Origin::Moved(from) | Origin::Copied(from) = slot.origin {
                        assert_eq!(*line, old[from as usize], "sm_{} {}", compiled.arch, code.name);
                        seen += 1;
                    }
                }
            }
        }
    }
    assert!(seen > 1000, "{seen}");
}

/// Each thing that cannot follow is refused by name.
#[test]
fn refusals() {
    let folder = tempfile::tempdir().expect("a folder");
    let ptxas = tool("ptxas", "13.");
    let kernel = |name: &str| {
        let kernels = kernels("100");
        kernels.into_iter().find(|path| path.ends_with(name)).expect("the kernel")
    };
    let reason = |cubin: &[u8], name: &str, options, edit: &dyn Fn(&mut Vec<u32>)| {
        let cubin = Cubin::parse(cubin).expect("parses");
        let code = cubin.code_named(name).expect("the kernel");
        let mut order: Vec<u32> = (0..code.bytes.len() as u32 / 16).collect();
        edit(&mut order);
        let refusal = cubin.rewrite_with(&[CodeEdit::permuted(code, order)], options).expect_err("refused");
        (refusal.section, refusal.reason)
    };
    let keep = RewriteOptions { capsules: Capsules::Keep };

    let table = compile(&ptxas, "90", &kernel("jump_table.ptx"), &[], folder.path());
    let reverse = |order: &mut Vec<u32>| order.reverse();
    let (section, why) = reason(&table.cubin, "jump_table", keep, &reverse);
    assert!(section == ".text.jump_table" && matches!(why, Reason::Crosses { .. }), "{why}");

    let capsule = compile(&ptxas, "100", &kernel("fma_loop.ptx"), &[], folder.path());
    let swap = |order: &mut Vec<u32>| order.swap(4, 5);
    let (section, why) = reason(&capsule.cubin, "fma_loop", RewriteOptions::default(), &swap);
    assert_eq!((section.as_str(), why), (".nv.capmerc.text.fma_loop", Reason::Capsule));

    let debug = compile(&ptxas, "90", &kernel("inlined_lines.ptx"), &["-g"], folder.path());
    let (section, why) = reason(&debug.cubin, "inlined_lines", keep, &swap);
    assert!(section.starts_with(".nv_debug_info_reg"), "{section}");
    assert_eq!(why, Reason::DebugInfo);

    // An attribute that nobody knows, with an offset in it.
    let mut unknown = table.cubin.clone();
    let cubin = Cubin::parse(&table.cubin).expect("parses");
    let attributes = &cubin.section_named(".nv.info.jump_table").expect("attributes").1.file_range;
    let exits = cubin.code()[0].attributes.iter().find(|a| a.kind == AttributeType::EXIT_INSTR_OFFSETS);
    let at = attributes.start + exits.expect("it ends").payload_range.start - 4;
    unknown[at + 1] = 0x7f;
    let exit = u32::from_le_bytes(unknown[at + 4..at + 8].try_into().expect("a word")) / 16;
    let swap_exit = |order: &mut Vec<u32>| order.swap(exit as usize, exit as usize - 1);
    let (section, why) = reason(&unknown, "jump_table", keep, &swap_exit);
    assert_eq!(section, ".nv.info.jump_table");
    assert!(matches!(why, Reason::UnknownAttribute { value, .. } if value == exit * 16), "{why}");

    let old = tool("ptxas", "12.");
    let maxwell = compile(&old, "61", &kernel("fma_loop.ptx"), &[], folder.path());
    let (_, why) = reason(&maxwell.cubin, "fma_loop", keep, &swap);
    assert!(matches!(why, Reason::SmallSlots(_)), "{why}");
}
