//! The checker of PTX modules: what is legal is accepted, and every kind of damage is noticed.

#[path = "../../ptx/tests/support/mod.rs"]
mod shuffle;
#[path = "support/ptx.rs"]
mod support;

use proptest::prelude::*;
use sassafras_ptx::Module;
use sassafras_testkit::cases;
use sassafras_testkit::rng::Rng;
use sassafras_verify::ptx::{self, Options, Rule};
use std::collections::BTreeMap;
use support::{DECLARED, USED, kernel, lifted, swapped};

fn parse(text: &str) -> Module {
    Module::parse(text).unwrap_or_else(|error| panic!("{}", error.render("kernel", text, false)))
}

fn printed(module: &Module) -> Module {
    parse(&module.print())
}

/// Exchanges the operands of random instructions.
fn commute(module: &mut Module, rng: &mut Rng) -> usize {
    let insts: Vec<_> = module.functions().iter().flat_map(|f| f.insts()).collect();
    insts.into_iter().filter(|&inst| rng.chance(50) && module.commute(inst).is_ok()).count()
}

/// Gives values that live between two writes of one register in one block a register that nothing uses. Returns how many.
fn rename(text: &str, rng: &mut Rng) -> (String, usize) {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut free: BTreeMap<&str, usize> = ["%r", "%f"].into_iter().map(|name| (name, USED)).collect();
    let mut renamed = 0;
    let writes = |line: &str, register: &str| {
        let line = line.trim_start();
        let first = line.split([' ', ',']).nth(1).unwrap_or_default();
        !line.starts_with(['@', '.', '/', '$', '{']) && !line.starts_with("st.") && first == register
    };
    let names = |line: &str, register: &str| {
        let code = line.split("//").next().unwrap_or_default();
        code.split(|c: char| !c.is_alphanumeric() && c != '%').any(|word| word == register)
    };
    for at in 0..lines.len() {
        for prefix in ["%r", "%f"] {
            let old = format!("{prefix}{}", rng.below(USED));
            let new = free[prefix];
            let ends = |line: &String| line.starts_with('L') || line.contains("bra ");
            if new >= DECLARED || !writes(&lines[at], &old) || !rng.chance(60) {
                continue;
            }
            let Some(end) =
                (at + 1..lines.len()).take_while(|&i| !ends(&lines[i])).find(|&i| writes(&lines[i], &old))
            else {
                continue;
            };
            let inside = |line: &str, from: usize| {
                let (keep, change) = line.split_at(from);
                let mut out = keep.to_owned();
                for word in change.split_inclusive(|c: char| !c.is_alphanumeric() && c != '%') {
                    let (name, rest) = word
                        .split_at(word.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '%').len());
                    out.push_str(if name == old { "" } else { name });
                    if name == old {
                        out.push_str(&format!("{prefix}{new}"));
                    }
                    out.push_str(rest);
                }
                out
            };
            // The first line defines it: only its result gets the new name. The last one may read it.
            let after_result = |line: &str| line.find(',').unwrap_or(0);
            let (head, tail) = lines[at].split_at(after_result(&lines[at]));
            lines[at] = format!("{}{tail}", inside(head, 0));
            for line in &mut lines[at + 1..end] {
                *line = inside(line, 0);
            }
            let from = after_result(&lines[end]);
            lines[end] = inside(&lines[end], from);
            renamed += (at..=end).filter(|&i| names(&lines[i], &format!("{prefix}{new}"))).count();
            *free.get_mut(prefix).expect("there") += 1;
        }
    }
    (lines.join("\n") + "\n", renamed)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(300)))]

    #[test]
    fn legal_orders_are_accepted(seed: u64) {
        let mut rng = Rng::new(seed);
        let old = parse(&kernel(&mut rng));
        let mut new = old.clone();
        let moved = shuffle::shuffle(&mut new, &mut rng);
        let report = ptx::check(&old, &printed(&new));
        prop_assert!(report.is_ok(), "{}\n{}\n{}", report.unwrap_err(), old.source(), new.print());
        // Without printing it first, too.
        prop_assert_eq!(ptx::check(&old, &new), report.clone());
        // The other way around, too, unless a `.loc` came to instructions without one, which cannot be taken back.
        prop_assert!(ptx::check(&new, &old).is_ok() || old.source().contains(".loc"));
        let report = report.expect("legal");
        prop_assert_eq!((report.moved, report.renamed, report.commuted), (moved as u64, 0, 0));
        prop_assert_eq!(report.instructions, old.inst_count() as u64);
    }

    #[test]
    fn legal_renames_and_exchanges_are_accepted(seed: u64) {
        let mut rng = Rng::new(seed);
        let text = kernel(&mut rng);
        let (renamed_text, renamed) = rename(&text, &mut rng);
        let (old, mut new) = (parse(&text), parse(&renamed_text));
        let exchanged = commute(&mut new, &mut rng);
        if rng.chance(70) {
            shuffle::shuffle(&mut new, &mut rng);
        }
        let found = ptx::compare(&old, &new, Options { rounding: false });
        prop_assert!(found.differences.is_empty(), "{}\n{}\n{}", found.differences[0], text, new.print());
        // An instruction that names two of them is one.
        prop_assert!(found.report.renamed <= renamed as u64, "\n{}\n{}", text, renamed_text);
        prop_assert_eq!(found.report.renamed == 0, renamed == 0, "\n{}\n{}", text, renamed_text);
        // Two operands that are the same cannot be told apart.
        prop_assert!(found.report.commuted <= exchanged as u64);
        // With the rule about rounding either the same, or that rule is the reason.
        match ptx::check(&old, &new) {
            Ok(report) => prop_assert_eq!(report, found.report),
            Err(illegal) => prop_assert!(matches!(illegal.rule, Rule::RoundingOperands(_)), "{}", illegal),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(300)))]

    /// Any two modules can be compared, and each is a legal reordering of itself.
    #[test]
    fn damage_never_panics(seed: u64) {
        let mut rng = Rng::new(seed);
        let text = kernel(&mut rng);
        let damaged = || {
            let mut bytes = text.clone().into_bytes();
            for _ in 0..rng.below(4) {
                let at = rng.below(bytes.len());
                match rng.below(4) {
                    0 => drop(bytes.remove(at)),
                    1 => bytes[at] = *rng.pick(b"{}[](),;:.%@!|+-<>\"/*\n\\a0"),
                    2 => bytes.insert(at, *rng.pick(b"{}[](),;:.%@!|+-<>\"/*\n\\a0")),
                    _ => {
                        let (from, len) = (rng.below(bytes.len()), rng.below(60));
                        let piece = bytes[from..(from + len).min(bytes.len())].to_vec();
                        bytes.splice(at..at, piece);
                    }
                }
            }
            String::from_utf8(bytes).ok().and_then(|text| Module::parse(&text).ok())
        };
        let modules: Vec<Module> = std::iter::repeat_with(damaged).take(6).flatten().collect();
        for (old, new) in modules.iter().flat_map(|old| modules.iter().map(move |new| (old, new))) {
            let found = ptx::compare(old, new, Options::default());
            found.differences.iter().for_each(|illegal| assert!(!illegal.to_string().is_empty()));
            prop_assert!(old.source() != new.source() || found.differences.is_empty());
        }
    }
}

#[test]
fn long_blocks_take_linear_time() {
    let body = |order: &mut dyn Iterator<Item = usize>| {
        let mut text = String::from(".entry k() {\n.reg .b32 %r<99999>;\n.reg .b64 %rd<3>;\n");
        for i in order {
            text.push_str(&format!(
                "add.s32 %r{i}, 5, %r{};\nst.global.u32 [%rd1+{}], %r{i};\n",
                i + 1,
                4 * i
            ));
        }
        parse(&(text + "ret;\n}\n"))
    };
    let count = 40_000;
    // Backwards, every sum reads what the one before wrote; forwards, none does.
    let old = body(&mut (0..count).rev());
    assert_eq!(ptx::check(&old, &old).expect("itself").moved, 0);
    let other = body(&mut (0..count));
    assert!(ptx::check(&old, &other).is_err());
    // Loads are free among themselves.
    let loads = |order: &mut dyn Iterator<Item = usize>| {
        let lines = order.map(|i| format!("ld.global.u32 %r{i}, [%rd1+{}];\n", 4 * i));
        let lines: String = lines.collect();
        parse(&format!(".entry k() {{\n.reg .b32 %r<99999>;\n.reg .b64 %rd<3>;\n{lines}ret;\n}}\n"))
    };
    let (old, new) = (loads(&mut (0..count)), loads(&mut (0..count).rev()));
    assert_eq!(ptx::check(&old, &new).expect("legal").moved, count as u64);
}

/// Names that live in many blocks, and lanes that differ in all of them.
#[test]
fn many_blocks_take_linear_time() {
    let text = |scratch: usize| {
        let mut text = String::from(".entry k() {\n.reg .pred %p<3>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<3>;\n");
        for block in 0..20_000 {
            text.push_str(&format!(
                "L{block}:\nmov.u32 %r{scratch}, {block};\nst.global.u32 [%rd1], %r{scratch};\n@%p1 bra L{block};\n"
            ));
        }
        parse(&(text + "ret;\n}\n"))
    };
    let report = ptx::check(&text(1), &text(2)).expect("legal");
    assert_eq!((report.renamed, report.moved), (40_000, 0));
}

#[test]
fn a_thousand_illegal_swaps_are_noticed() {
    let mut tried: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 0.. {
        let mut rng = Rng::new(seed);
        let old = parse(&kernel(&mut rng));
        for (block, lifted) in lifted(&old) {
            let mut pairs: BTreeMap<&str, Vec<(usize, usize)>> = BTreeMap::new();
            for (i, j) in (0..lifted.insts.len()).flat_map(|j| (0..j).map(move |i| (i, j))) {
                if let Some(why) = lifted.conflict(i, j) {
                    pairs.entry(why).or_default().push((i, j));
                }
            }
            for (why, pairs) in pairs {
                let &(i, j) = rng.pick(&pairs);
                let new = swapped(&old, block, i, j);
                let text = |at: usize| old.text(old.inst(lifted.ids[at]).span());
                let found = ptx::check(&old, &new);
                assert!(found.is_err(), "seed {seed}, {why}: {} / {}\n{}", text(i), text(j), new.source());
                *tried.entry(why).or_default() += 1;
            }
        }
        let enough = cases(100) as usize;
        if tried.len() == 7 && tried.values().all(|&count| count >= enough) {
            break;
        }
    }
    let total = tried.values().sum::<usize>();
    eprintln!("{total} illegal swaps: {tried:?}");
    assert!(total >= 1_000);
}
