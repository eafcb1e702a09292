//! Mutants of random kernels: every kind of damage is noticed, whatever else was done to the kernel.

#[path = "../../ptx/tests/support/mod.rs"]
mod shuffle;
#[path = "support/ptx.rs"]
mod support;

use sassafras_ptx::Module;
use sassafras_testkit::cases;
use sassafras_testkit::rng::Rng;
use sassafras_verify::ptx;
use support::{USED, kernel};

/// A kernel line by line.
struct Kernel(Vec<String>);

impl Kernel {
    /// A random line that the choice takes, with what it makes of it.
    fn pick<T>(&self, rng: &mut Rng, choice: impl Fn(usize, &str) -> Option<T>) -> Option<(usize, T)> {
        let found = self.0.iter().enumerate().filter_map(|(at, line)| Some((at, choice(at, line)?)));
        let mut found: Vec<(usize, T)> = found.collect();
        (!found.is_empty()).then(|| found.swap_remove(rng.below(found.len())))
    }

    /// The lines with one of them replaced.
    fn with(&self, (at, line): (usize, String)) -> String {
        let mut lines = self.0.clone();
        lines[at] = line;
        join(&lines)
    }

    /// The first line behind the block that a line is in.
    fn block_end(&self, at: usize) -> usize {
        at + self.0[at..].iter().take_while(|line| !line.contains("bra ") && !line.starts_with('}')).count()
    }
}

fn join(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn is_code(line: &str) -> bool {
    line.starts_with("\t") && line.contains(';') && !line.starts_with("\t.") && !line.starts_with("\t//")
}

/// Not a branch or a return.
fn is_plain(line: &str) -> bool {
    is_code(line) && !line.contains("bra ") && !line.contains("ret;")
}

/// The registers of a line, with where they stand.
fn registers(line: &str) -> Vec<(usize, String)> {
    let code = line.split("//").next().unwrap_or_default();
    let ends = |c: char| !c.is_ascii_alphanumeric();
    let name = |at: usize| {
        let rest = &code[at + 1..];
        (at, format!("%{}", rest.split(ends).next().unwrap_or_default()))
    };
    let known = |(_, name): &(usize, String)| name.ends_with(|c: char| c.is_ascii_digit());
    code.match_indices('%').map(|(at, _)| name(at)).filter(known).collect()
}

/// The register that a line writes for certain, when it is a single one of 32 bits.
fn result(line: &str) -> Option<String> {
    let code = line.trim_start();
    let (opcode, operands) = code.split_once(' ')?;
    let writes = is_plain(line) && !opcode.starts_with('@') && !opcode.starts_with("st.");
    let name = operands.split(',').next()?.to_owned();
    (writes && (name.starts_with("%r") || name.starts_with("%f")) && !name.starts_with("%rd")).then_some(name)
}

fn replace_at(line: &str, at: usize, old: &str, new: &str) -> String {
    format!("{}{new}{}", &line[..at], &line[at + old.len()..])
}

/// A register of the same kind with another number.
fn another(rng: &mut Rng, name: &str) -> String {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number: usize = name[stem.len()..].parse().expect("a number");
    format!("{stem}{}", (number + 1 + rng.below(USED - 1)) % USED)
}

/// The last write of a register in its block gets an unused register; with `readers`, so do all reads behind it.
fn rename_last(kernel: &Kernel, rng: &mut Rng, readers: bool) -> Option<String> {
    let names = |line: &str, name: &str| registers(line).iter().any(|(_, found)| found == name);
    let (at, name) = kernel.pick(rng, |at, line| {
        let name = result(line)?;
        let rest = &kernel.0[at + 1..kernel.block_end(at)];
        // A second result or a guarded write may be another one.
        let writes = |line: &&String| {
            let operands = line.split_once(' ').map_or("", |(_, operands)| operands);
            is_code(line)
                && (line.contains('{') || line.contains('@') || operands.starts_with(&format!("{name},")))
                && names(line, &name)
        };
        (rest.iter().filter(writes).count() == 0).then_some(name)
    })?;
    let unused = format!("{}9", name.trim_end_matches(|c: char| c.is_ascii_digit()));
    let mut lines = kernel.0.clone();
    let place = registers(&lines[at])[0].0;
    lines[at] = replace_at(&lines[at], place, &name, &unused);
    for line in lines[at + 1..kernel.block_end(at)].iter_mut().filter(|_| readers) {
        for (place, _) in registers(line).into_iter().rev().filter(|(_, found)| *found == name) {
            *line = replace_at(line, place, &name, &unused);
        }
    }
    Some(join(&lines))
}

type Mutation = fn(&Kernel, &mut Rng) -> Option<String>;

const MUTATIONS: [(&str, Mutation); 17] = [
    ("another immediate", |kernel, rng| {
        let number = |line: &str| {
            line.split([' ', ',', ';', '}'])
                .find(|w| w.len() == 3 && w.parse::<u32>().is_ok())
                .map(str::to_owned)
        };
        let found = kernel.pick(rng, |_, line| {
            let code = line.split("//").next().unwrap_or_default();
            number(code).filter(|_| is_plain(line)).map(|number| code.replace(&number, &format!("1{number}")))
        })?;
        Some(kernel.with(found))
    }),
    ("another source", |kernel, rng| {
        let (at, all) = kernel.pick(rng, |_, line| {
            let all = registers(line);
            let results = if line.contains('|') || line.contains('{') { 2 } else { 1 };
            let skip = if line.contains("st.") { 0 } else { results + usize::from(line.contains('@')) };
            (is_plain(line) && all.len() > skip).then(|| all[skip..].to_vec())
        })?;
        let (place, name) = rng.pick(&all).clone();
        let changed = replace_at(&kernel.0[at], place, &name, &another(rng, &name));
        Some(kernel.with((at, changed)))
    }),
    ("another modifier", |kernel, rng| {
        let pairs = [
            (".s32", ".u32"),
            ("ld.global.u32", "ld.global.s32"),
            ("st.shared", "st.volatile.shared"),
            (".s64", ".u64"),
        ];
        let found = kernel.pick(rng, |_, line| {
            let (old, new) = pairs.iter().find(|(old, _)| is_plain(line) && line.contains(old))?;
            Some(line.replacen(old, new, 1))
        })?;
        Some(kernel.with(found))
    }),
    ("another opcode", |kernel, rng| {
        let pairs =
            [("add.s32", "sub.s32"), ("sub.s32", "add.s32"), ("mul.f32", "add.f32"), ("setp.eq", "setp.ne")];
        let found = kernel.pick(rng, |_, line| {
            let (old, new) = pairs.iter().find(|(old, _)| is_plain(line) && line.contains(old))?;
            Some(line.replacen(old, new, 1))
        })?;
        Some(kernel.with(found))
    }),
    ("dropped", |kernel, rng| {
        let (at, ()) = kernel.pick(rng, |_, line| is_code(line).then_some(()))?;
        let mut lines = kernel.0.clone();
        lines.remove(at);
        Some(join(&lines))
    }),
    ("doubled", |kernel, rng| {
        let (at, line) = kernel.pick(rng, |_, line| is_plain(line).then(|| line.to_owned()))?;
        let mut lines = kernel.0.clone();
        lines.insert(at, line);
        Some(join(&lines))
    }),
    ("moved to another block", |kernel, rng| {
        let (from, line) = kernel.pick(rng, |_, line| is_plain(line).then(|| line.to_owned()))?;
        let end = kernel.block_end(from);
        let (to, ()) = kernel.pick(rng, |at, line| (is_plain(line) && at > end).then_some(()))?;
        let mut lines = kernel.0.clone();
        lines.insert(to, line);
        lines.remove(from);
        Some(join(&lines))
    }),
    ("another directive", |kernel, rng| {
        let pairs = [
            (".maxntid 128", ".maxntid 64"),
            ("sm_90", "sm_80"),
            (".align 8", ".align 16"),
            (".visible", ".weak"),
            ("mem[4096]", "mem[4092]"),
            (".version 9.0", ".version 8.8"),
            ("k.cu", "j.cu"),
        ];
        let found = kernel.pick(rng, |_, line| {
            let (old, new) = pairs.iter().find(|(old, _)| line.contains(old))?;
            Some(line.replacen(old, new, 1))
        })?;
        Some(kernel.with(found))
    }),
    ("opposite guard", |kernel, rng| {
        let found = kernel.pick(rng, |_, line| {
            let (old, new) = if line.contains("@!%p") { ("@!%p", "@%p") } else { ("@%p", "@!%p") };
            (is_code(line) && line.contains(old)).then(|| line.replacen(old, new, 1))
        })?;
        Some(kernel.with(found))
    }),
    ("guard lost", |kernel, rng| {
        let found = kernel.pick(rng, |_, line| {
            let guarded = line.trim_start().strip_prefix('@')?;
            guarded.split_once(' ').map(|(_, code)| format!("\t{code}"))
        })?;
        Some(kernel.with(found))
    }),
    ("renamed result without its readers", |kernel, rng| rename_last(kernel, rng, false)),
    ("renamed value that is wanted behind the block", |kernel, rng| rename_last(kernel, rng, true)),
    ("exchanged operands that do not commute", |kernel, rng| {
        let opcodes = ["sub.s32", "selp.b32", "setp.lt.and.s32"];
        let found = kernel.pick(rng, |_, line| {
            let opcode = opcodes.iter().find(|opcode| line.contains(*opcode))?;
            let (head, operands) = line.split_once(opcode)?;
            let mut operands: Vec<&str> = operands.trim().trim_end_matches(';').split(", ").collect();
            operands.swap(1, 2);
            Some(format!("{head}{opcode} {};", operands.join(", ")))
        })?;
        Some(kernel.with(found))
    }),
    ("another target of a branch", |kernel, rng| {
        let found = kernel.pick(rng, |_, line| {
            let (head, label) = line.split_once("bra ")?;
            Some(format!("{head}bra {};", if label == "END;" { "L0" } else { "END" }))
        })?;
        Some(kernel.with(found))
    }),
    ("another label", |kernel, rng| {
        let found = kernel.pick(rng, |_, line| line.strip_suffix(':').map(|name| format!("{name}x:")))?;
        Some(kernel.with(found))
    }),
    ("another number of registers", |kernel, rng| {
        let found =
            kernel.pick(rng, |_, line| line.contains("<10>").then(|| line.replace("<10>", "<11>")))?;
        Some(kernel.with(found))
    }),
    ("another place in the sources", |kernel, rng| {
        let found = kernel.pick(rng, |_, line| {
            line.strip_suffix(" 1").filter(|l| l.contains(".loc")).map(|l| format!("{l} 7"))
        })?;
        Some(kernel.with(found))
    }),
];

#[test]
fn every_kind_of_damage_is_noticed() {
    let wanted = cases(60);
    let mut counts = Vec::new();
    for (number, (what, mutate)) in (0..).zip(MUTATIONS) {
        let (mut tried, mut moved) = (0, 0);
        for seed in 0..u64::from(wanted) * 20 {
            if tried == wanted {
                break;
            }
            let mut rng = Rng::new(seed << 8 | number);
            let text = kernel(&mut rng);
            let old = Module::parse(&text).expect("sound");
            let Some(mutant) = mutate(&Kernel(text.lines().map(str::to_owned).collect()), &mut rng) else {
                continue;
            };
            assert_ne!(mutant, text);
            let mut new = Module::parse(&mutant)
                .unwrap_or_else(|e| panic!("{what}: {}", e.render("mutant", &mutant, false)));
            // Half of them also in another order.
            if rng.chance(50) {
                moved += shuffle::shuffle(&mut new, &mut rng);
            }
            let found = ptx::check(&old, &new);
            // A `.loc` that no instruction sees is lost when its block gets another order.
            let unseen = what == "another place in the sources" && found.is_ok();
            assert!(found.is_err() || unseen, "{what}, seed {seed}:\n{text}\n{}", new.print());
            tried += 1;
        }
        assert!(tried == wanted && moved > 0, "{what}: only {tried} mutants");
        counts.push((what, tried));
    }
    eprintln!("{counts:?}");
}
