//! The built-in tables hold together, and the loaders notice when a table does not.

use proptest::prelude::*;
use sassafras_machine::*;

const ARCHS: &str = include_str!("../data/architectures.csv");
const OPCODES: &str = include_str!("../data/opcodes.csv");
const VARIANTS: &str = include_str!("../data/opcode_variants.csv");
const ALIASES: &str = include_str!("../data/opcode_aliases.csv");
const CLASSES: &str = include_str!("../data/classes_documented.csv");
const MEASURED: &str = include_str!("../data/latency_measured.csv");
const CONSTANTS: &str = include_str!("../data/constants.csv");

/// A loader by name, so that one test can break them all.
type Load = fn(&str) -> Result<(), TableError>;

fn loaders() -> Vec<(&'static str, &'static str, Load)> {
    vec![
        ("architectures", ARCHS, |t| ArchTable::parse(t).map(drop)),
        ("opcodes", OPCODES, |t| OpcodeTable::parse(t, VARIANTS, ALIASES).map(drop)),
        ("opcode_variants", VARIANTS, |t| OpcodeTable::parse(OPCODES, t, ALIASES).map(drop)),
        ("opcode_aliases", ALIASES, |t| OpcodeTable::parse(OPCODES, VARIANTS, t).map(drop)),
        ("classes_documented", CLASSES, |t| ClassTable::parse(t).map(drop)),
        ("latency_measured", MEASURED, |t| MeasuredTable::parse(t).map(drop)),
        ("constants", CONSTANTS, |t| Constants::parse(t).map(drop)),
    ]
}

fn is_data(line: &&str) -> bool {
    !line.is_empty() && !line.starts_with('#')
}

#[test]
fn every_architecture_resolves() {
    assert!(Arch::all().count() >= 24);
    assert_eq!(Arch::all().last(), Some(Arch::UNIVERSAL));
    for arch in Arch::all() {
        let info = arch.info();
        assert!(!info.layers.is_empty(), "{arch}");
        let chain = arch.inherits();
        let column = chain.last().copied().unwrap_or(arch);
        assert!([Arch::SM_80, Arch::SM_90, Arch::SM_100].contains(&column), "{arch}");
        assert_eq!(info.parent.is_some(), info.parent_inferred.is_some(), "{arch}: a parent needs a reason");
        assert_eq!(info.warp_era.is_none(), arch == Arch::UNIVERSAL);
        if let Some(id) = info.sm_id {
            let profile = WarpProfile::for_arch(arch).unwrap().profile;
            assert_eq!(WarpProfile::for_sm_id(id).era, profile.era, "{arch}");
        }
        for class in ClassTable::documented().iter() {
            let costs = class.costs(arch);
            let complete = costs.latency.is_some() && costs.throughput_inv.is_some();
            assert_eq!(complete, costs.reason.is_none(), "{arch} class {}", class.id);
            assert_eq!(costs.inherited_from.is_some(), !chain.is_empty());
        }
    }
}

#[test]
fn architecture_facts() {
    let layers = |arch: Arch| arch.info().layers.iter().map(|layer| layer.name.as_str()).collect::<Vec<_>>();
    assert_eq!(layers(Arch::SM_80), ["sm_80_base", "sm_80"]);
    assert_eq!(layers(Arch::SM_86), ["sm_80_base", "sm_86"]);
    assert_eq!(layers(Arch::SM_100), ["sm_100", "sm_100_short"]);
    assert_eq!(layers(Arch::SM_103), ["sm_103", "sm_103_short"]);
    assert_eq!(layers(Arch::SM_121), ["sm_120", "sm_120_ext"]);
    assert_eq!(layers(Arch::SM_61), ["universal"]);
    let bytes: Vec<_> = ArchTable::layers().iter().filter_map(|layer| layer.bytes).collect();
    assert_eq!(bytes, [949, 618]);
    let dual: Vec<_> = Arch::all().filter(|arch| arch.info().dual_issue).collect();
    assert_eq!(dual, [Arch::SM_50, Arch::SM_52]);
    for arch in Arch::all() {
        let Some(number) = arch.number() else {
            continue;
        };
        let info = arch.info();
        let uniform = if number < 73 {
            None
        } else if number < 100 {
            Some(63)
        } else {
            Some(80)
        };
        assert_eq!(info.registers.uniform, uniform, "{arch}");
        assert_eq!((info.registers.general, info.registers.predicates), (255, 7));
        assert_eq!(info.encoding == InstructionEncoding::Grouped64, number < 70, "{arch}");
        assert_eq!(info.is_inferred(), !["sm_80", "sm_90", "sm_100"].contains(&arch.to_string().as_str()));
    }
}

/// The facts that make a condition true, and nothing else.
fn facts_for(condition: &Condition) -> Conditions {
    let mut facts = Conditions::default();
    for atom in condition.atoms() {
        match *atom {
            Atom::Wide => facts.wide = true,
            Atom::Mercury => facts.mercury = true,
            Atom::FpWidth => facts.fp_width = true,
            Atom::Type(code) => facts.data_type = Some(code),
            Atom::FlagSet => facts.flag = true,
            Atom::FlagClear => facts.flag = false,
            Atom::Memory(code) => facts.memory = Some(code),
            Atom::RegClass(class) => facts.reg_class = Some(class),
            Atom::Remat => facts.remat = true,
            Atom::Split(n) => facts.split = n,
            Atom::Variant(n) => facts.variant = n,
            Atom::NotVersion(n) => facts.version = Some(n + 1),
        }
    }
    facts
}

#[test]
fn every_variant_is_reachable_and_names_a_class() {
    for entry in opcodes() {
        for variant in &entry.variants {
            let chosen = entry.select(&facts_for(&variant.condition)).unwrap();
            assert_eq!(
                (&chosen.condition, chosen.class),
                (&variant.condition, variant.class),
                "{}",
                entry.mnemonic
            );
            if let Some(class) = variant.class {
                assert!(ClassTable::documented().get(class).is_some(), "{}", entry.mnemonic);
            }
        }
        assert!(!entry.variants.is_empty());
        for alias in &entry.aliases {
            assert!(alias.ori.is_some() || alias.name.is_some());
        }
    }
}

#[test]
fn the_built_in_tables_load() {
    for (table, text, load) in loaders() {
        assert_eq!(load(text), Ok(()), "{table}");
    }
}

#[test]
fn a_dropped_or_added_column_is_noticed() {
    for (table, text, load) in loaders() {
        let header = text.lines().find(is_data).unwrap();
        let columns = header.split(',').count();
        for drop in 0..columns {
            let mut out = String::new();
            let mut reader = csv_lite(text);
            for row in &mut reader {
                row.remove(drop);
                out += &row.join(",");
                out.push('\n');
            }
            let error = load(&out).unwrap_err();
            assert_eq!(error.table, table);
            assert!(error.line > 0, "{error}");
        }
        let extra: String = text.lines().filter(is_data).map(|line| format!("{line},surplus\n")).collect();
        assert!(load(&extra).is_err(), "{table}");
        let short = text.replacen('\n', "\n,\n", 4);
        assert!(load(&short).is_err(), "{table}");
    }
}

/// Splits without quoting: the built-in tables under test use none (checked here).
fn csv_lite(text: &str) -> Vec<Vec<&str>> {
    assert!(!text.contains('"'), "the built-in tables need no quoting");
    text.lines().filter(is_data).map(|line| line.split(',').collect()).collect()
}

#[test]
fn a_repeated_row_is_noticed() {
    for (table, text, load) in loaders() {
        // Two notes may name the same alias; everything else has a key.
        if table == "opcode_aliases" {
            continue;
        }
        let last = text.lines().rfind(is_data).unwrap();
        let error = load(&format!("{text}{last}\n")).unwrap_err();
        assert!(error.message.contains("duplicate"), "{table}: {error}");
        assert_eq!(error.line as usize, text.lines().count() + 1, "{table}: {error}");
    }
}

#[test]
fn broken_cells_are_noticed() {
    let cases: &[(usize, &str, &str, &str)] = &[
        (0, "sm_80_base;sm_86,", "sm_80_base;sm_99,", "unknown layer"),
        (
            0,
            "Ampere,A100,sm_80_base;sm_80,,,",
            "Ampere,A100,sm_80_base;sm_80,,sm_86,",
            "inherits from itself",
        ),
        (
            0,
            "sm_120,not in the document: same",
            "sm_999,not in the document: same",
            "inherits unknown sm_999",
        ),
        (0, ",grouped64,yes,", ",grouped64,maybe,", "neither yes nor no"),
        (0, "sm_107,a;f", "sm_107,a;q", "not an architecture name"),
        (0, "sm_107,a;f", "sm_107,a;a", "duplicate key sm_107a"),
        (0, "sm_107,a;f", "sm_107,a;f;a;f", "more suffixes"),
        (1, "int,6,0x06,", "int,6,0x07,", "hexadecimal 0x7 is not 6"),
        (1, "int,6,0x06,", "int,six,0x06,", "opcode number"),
        (1, "int,6,0x06,", "int,6,06,", "not hexadecimal"),
        (1, "IMAD,0,130,", "IMAD,0,131,", "class 131"),
        (1, "IMAD,0,130,", "IMAD,12,130,", "no unit 12"),
        (1, "619,,0xE8,", "619,,0xE9,", "index 0xE9"),
        (1, "MOV,1,(default),", "IMOV,1,(default),", "no opcode MOV"),
        (2, "IMAD,1,default,130", "IMAD,1,sometimes,130", "not a condition"),
        (2, "IMAD,1,default,130", "IMAD,1,wide,130", "no class by default"),
        (2, "IMAD,1,default,130", "IMAD,1,default,1300", "scheduling class"),
        (2, "IMAD,1,default,130", "IMAD,1,default,dynamic", "class 130"),
        (2, ",0x18000,", ",0x18001,", "outside its field"),
        (2, "DFMA,122,default,619,0xE8", "DFMA,122,default,619,0x200", "latency index"),
        (3, "0x37,I2IP", ",", "number or a name"),
        (3, "BREV,53,0x37", "BREV,54,0x37", "no opcode BREV 54"),
        (4, "common,16-19,", "common,19-16,", "backwards"),
        (4, "common,16-19,", "common,15-19,", "duplicate key 15"),
        (4, ",21-23,", ",21-,", "number or a range"),
        (4, ",255,22,22,", ",,22,22,", "without a reason"),
        (4, "common,2,ALU", "common,2,LSD", "expected one of"),
        (4, "common,2,ALU", "opcode-only,2,ALU", "derived"),
        (5, "sm_75,alu,", "sm_76,alu,", "unknown architecture"),
        (5, ",gpr,4,4,", ",gpr,4,,", "both ends"),
        (5, ",gpr,4,4,", ",gpr,5,4,", "backwards"),
        (5, ",gpr,4,4,", ",gpr,,,", "without a reason"),
        (5, ",fixed,public", ",fixed,rumour", "expected one of"),
        (6, "infinite_latency,99999", "infinite_latency,1e5", "not a number"),
        (6, "scoreboards,6", "scoreboards,600", "out of range"),
        (6, "scoreboards,6", "scorebords,6", "unknown constant"),
    ];
    let loaders = loaders();
    for &(at, from, to, expected) in cases {
        let (table, text, load) = loaders[at];
        assert!(text.contains(from), "{table} has no `{from}`");
        let error = load(&text.replacen(from, to, 1)).expect_err(to);
        assert!(error.message.contains(expected), "{to}: {error}");
    }
    let missing: String =
        CONSTANTS.lines().filter(|l| !l.starts_with("scoreboards,")).map(|l| format!("{l}\n")).collect();
    assert!(Constants::parse(&missing).unwrap_err().message.contains("no constant `scoreboards`"));
}

#[test]
fn every_row_has_a_source() {
    for (table, text, load) in loaders() {
        let header: Vec<_> = text.lines().find(is_data).unwrap().split(',').collect();
        let Some(column) = header.iter().position(|&name| name == "source") else {
            panic!("{table} has no source column")
        };
        let mut rows = csv_lite(text);
        rows[1][column] = "";
        let out: String = rows.iter().map(|row| row.join(",") + "\n").collect();
        assert!(load(&out).is_err(), "{table} takes a row without source");
    }
}

#[test]
fn random_bytes_never_panic() {
    let loaders = loaders();
    arbtest::arbtest(|u| {
        let (_, text, load) = loaders[u.choose_index(loaders.len())?];
        let header = text.lines().find(is_data).unwrap();
        let noise: String = u.arbitrary()?;
        let with_header: bool = u.arbitrary()?;
        let input = if with_header { format!("{header}\n{noise}") } else { noise };
        let _ = load(&input);
        Ok(())
    })
    .budget_ms(500);
}

#[test]
fn damaged_tables_never_panic() {
    let loaders = loaders();
    arbtest::arbtest(|u| {
        let (_, text, load) = loaders[u.choose_index(loaders.len())?];
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..u.int_in_range(1..=8)? {
            let at = u.choose_index(bytes.len())?;
            bytes[at] = *u.choose(b"0123456789,;-|&=*\n\"xXaz#. ")?;
        }
        let _ = load(&String::from_utf8_lossy(&bytes));
        Ok(())
    })
    .budget_ms(800);
}

proptest! {
    #[test]
    fn spans_round_trip(lo in any::<u32>(), hi in any::<u32>()) {
        let span = Span::new(lo.min(hi), lo.max(hi)).unwrap();
        prop_assert_eq!(span.to_string().parse(), Ok(span));
        prop_assert_eq!(Span::new(hi, lo).is_some(), hi <= lo);
    }
}
