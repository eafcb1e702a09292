//! Words with other registers: the decoder and the printer, which have tables of their own, see those and nothing else.

use proptest::prelude::*;
use proptest::test_runner::TestRng;
use sassafras_ir::{Lane, RegClass, Span};
use sassafras_machine::Arch;
use sassafras_sass::print::Printer;
use sassafras_sass::rename::{Field, FieldRole, Fields, Renamer, Unnamed, alignment};
use sassafras_sass::{Decoded, Decoder, decode};

/// The words of `print.txt`, which the disassembler has named: architecture and word.
fn golden() -> Vec<(Arch, u128)> {
    let lines = include_str!("print.txt").lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let parts: Vec<&str> = line.splitn(4, ' ').collect();
            let arch = format!("sm_{}", parts[0]).parse().expect("an architecture");
            (arch, u128::from_str_radix(parts[2], 16).expect("a word"))
        })
        .collect()
}

/// Numbers that a field can take: aligned, and away from the registers that have no number.
fn target(field: &Field, random: u32) -> u32 {
    let (lanes, align) = (u32::from(field.span.len()), alignment(field.span.len()));
    let count = match field.span.class() {
        RegClass::Gpr => 255,
        RegClass::Uniform => 63,
        RegClass::Pred | RegClass::UPred => 7,
        RegClass::Barrier | RegClass::Flag => 16,
    };
    random % ((count - lanes) / align + 1) * align
}

fn moved(span: Span, number: u32) -> Span {
    Span::new(Lane::physical(span.class(), number).expect("there"), span.len()).expect("there")
}

/// Every register field of the word renamed at once, and the spans that should stand there. `None` where two results
/// would share a register.
fn renamed(renamer: Renamer, word: u128, random: &mut impl FnMut() -> u32) -> Option<(u128, Vec<Span>)> {
    let mut spans = Vec::new();
    let to = |field: &Field| {
        let number = target(field, random());
        spans.push(moved(field.span, number));
        Some(number)
    };
    match renamer.rename(word, to) {
        Ok(word) => Some((word, spans)),
        Err(Unnamed::Opaque | Unnamed::Clash(_)) => None,
        Err(error) => panic!("{word:032x}: {error}"),
    }
}

/// The text cut at everything that is no letter or digit: register names are pieces of their own.
fn pieces(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric()).collect()
}

/// The text of the old word with new names is the text of the new one.
fn texts_agree(was: &str, is: &str, fields: &Fields, spans: &[Span]) {
    let (old, new) = (pieces(was), pieces(is));
    assert_eq!(old.len(), new.len(), "{was} to {is}");
    for (old, new) in old.iter().zip(&new).filter(|(old, new)| old != new) {
        let mut pairs = fields.named.iter().map(|field| field.span.first()).zip(spans);
        let known = pairs.any(|(from, to)| from.to_string() == *old && to.first().to_string() == *new);
        assert!(known, "{was} to {is}: {old} to {new}");
    }
}

/// Reads, writes and everything else of the new word, against the old one and the spans.
fn decodes_as(old: &Decoded, new: &Decoded, fields: &Fields, spans: &[Span]) {
    let regs = |keep: fn(&Field) -> bool| -> Vec<Span> {
        let named = fields.named.iter().zip(spans);
        named
            .filter(|(field, _)| field.role != FieldRole::Guard && keep(field))
            .map(|(_, &span)| span)
            .collect()
    };
    let listed = |reg: &&sassafras_sass::RegOperand| reg.field.is_some();
    assert_eq!(new.reads().filter(listed).map(|reg| reg.span).collect::<Vec<_>>(), regs(Field::is_read));
    assert_eq!(new.writes().filter(listed).map(|reg| reg.span).collect::<Vec<_>>(), regs(Field::is_written));
    let guard = fields.named.iter().zip(spans).find(|(field, _)| field.role == FieldRole::Guard);
    assert_eq!(new.guard().map(|guard| guard.lane), guard.map(|(_, span)| span.first()));
    assert_eq!(new.guard().map(|guard| guard.negated), old.guard().map(|guard| guard.negated));
    assert_eq!((old.mnemonic(), old.effects(), old.flow()), (new.mnemonic(), new.effects(), new.flow()));
}

fn rng(seed: [u8; 32]) -> impl FnMut() -> u32 {
    let mut rng = TestRng::from_seed(proptest::test_runner::RngAlgorithm::ChaCha, &seed);
    move || rng.next_u32()
}

proptest! {
    #[test]
    fn known_words_with_other_registers(seed: [u8; 32]) {
        let mut random = rng(seed);
        for (arch, word) in golden() {
            let renamer = Renamer::new(arch);
            let Some((new, spans)) = renamed(renamer, word, &mut random) else { continue };
            let fields = renamer.fields(word).expect("known");
            let mask = fields.named.iter().fold(0, |mask, field| mask | field.mask());
            prop_assert_eq!(word & !mask, new & !mask);
            decodes_as(&decode(word, arch, 0), &decode(new, arch, 0), &fields, &spans);
            let printer = Printer::new(arch);
            texts_agree(&printer.print(word, 0).text, &printer.print(new, 0).text, &fields, &spans);
            let mut back = fields.named.iter().map(|field| field.span.first().index());
            prop_assert_eq!(renamer.rename(new, |_| back.next()), Ok(word), "and back");
        }
    }

    /// Whatever the word, what comes out differs in the fields only, and nothing panics.
    #[test]
    fn any_word(word: u128, numbers in proptest::collection::vec(any::<u32>(), 9), wide: bool) {
        for arch in [Arch::SM_70, Arch::SM_75, Arch::SM_80, Arch::SM_90, Arch::SM_100] {
            let renamer = Renamer::new(arch);
            let Some(fields) = renamer.fields(word) else {
                prop_assert_eq!(renamer.rename(word, |_| None), Err(Unnamed::Opaque));
                continue;
            };
            let mask = fields.named.iter().fold(0, |mask, field| mask | field.mask());
            let mut numbers = numbers.iter().map(|&n| if wide { n } else { n % 64 });
            if let Ok(new) = renamer.rename(word, |_| numbers.next()) {
                prop_assert_eq!(word & !mask, new & !mask);
                prop_assert_eq!(decode(new, arch, 0).mnemonic(), decode(word, arch, 0).mnemonic());
            }
        }
    }
}

#[test]
fn results_and_sources_are_renamed_apart() {
    // IMAD.WIDE.U32 R20, R0, 0x10, R20
    let (word, renamer) = (0x078e_0014_0000_0010_0014_7825, Renamer::new(Arch::SM_80));
    let new = renamer.rename(word, |field| field.is_written().then_some(22)).expect("renamed");
    let inst = decode(new, Arch::SM_80, 0);
    assert_eq!(inst.writes().map(|reg| reg.span.to_string()).collect::<Vec<_>>(), ["R22:2"]);
    assert_eq!(inst.reads().map(|reg| reg.span.to_string()).collect::<Vec<_>>(), ["R0", "R20:2"]);
}

#[test]
fn what_is_no_register_is_refused() {
    let refused = |arch, word, number| {
        Renamer::new(arch).rename(word, |field| field.is_written().then_some(number)).expect_err("refused")
    };
    // LDG.E.128 R12, desc[UR4][R20.64+0x2000]
    let (sm, load) = (Arch::SM_90, 0x0c1e_1d00_0020_0004_140c_7981);
    for number in [13, 14, 18, 253] {
        assert!(matches!(
            refused(sm, load, number),
            Unnamed::Misaligned { .. } | Unnamed::NoSuchRegister { .. }
        ));
    }
    for number in [252, 255, 256, u32::MAX] {
        assert!(matches!(refused(sm, load, number), Unnamed::NoSuchRegister { .. }), "{number}");
    }
    // R63 of the uniform file is no register before sm_100.
    let umov = 0x0000_0000_0004_7882;
    assert!(matches!(refused(sm, umov, 63), Unnamed::NoSuchRegister { .. }));
    assert!(Renamer::new(Arch::SM_100).rename(umov, |_| Some(63)).is_ok());
    // TEX writes two pairs, which cannot be one.
    let tex = 0x0190_1f12_2800_0004_1010_7361;
    assert!(matches!(refused(Arch::SM_80, tex, 4), Unnamed::Clash(_)));
    assert_eq!(Renamer::new(sm).rename(0xfff, |_| Some(1)), Err(Unnamed::Opaque));
}

#[test]
fn masks_and_constants_have_no_field() {
    // P2R R0, PR, RZ, 0x2c
    let fields = Renamer::new(Arch::SM_75).fields(0x2c_ff00_7803).expect("known");
    let fixed: Vec<String> = fields.fixed.iter().map(ToString::to_string).collect();
    assert_eq!(fixed, ["P2", "P3", "P5"]);
    let spans: Vec<String> = fields.named.iter().map(|field| field.span.to_string()).collect();
    assert_eq!(spans, ["R0"], "neither PT nor RZ");
}

/// No two operands of an instruction share a bit, whatever the word: then one field can be written without another.
#[test]
fn fields_do_not_overlap() {
    let mut random = rng([7; 32]);
    for arch in [Arch::SM_70, Arch::SM_75, Arch::SM_80, Arch::SM_90, Arch::SM_100, Arch::SM_120] {
        let decoder = Decoder::new(arch);
        for opcode in 0..1u128 << 12 {
            for _ in 0..8 {
                let mut word = (0..4).fold(0, |word, _| word << 32 | u128::from(random()));
                word = word & !0xfff | opcode;
                let Some(fields) = sassafras_sass::rename::fields(&decoder.decode(word, 0)) else { continue };
                let mut taken = 0xfff | 1 << 15 | ((1 << 21) - 1) << 105;
                for field in &fields.named {
                    assert_eq!(taken & field.mask(), 0, "{arch} {opcode:#05x}: {field:?}");
                    taken |= field.mask();
                }
            }
        }
    }
}

/// The disassembler reads every renamed word, and shows the new registers and nothing else changed.
#[cfg(feature = "real-tools")]
#[test]
fn nvdisasm_shows_the_other_registers() {
    use std::collections::BTreeMap;
    use std::process::Command;

    let nvdisasm = sassafras_testkit::tools::tool("nvdisasm", "13.");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("words.bin");
    let listed = |arch: Arch, words: &[u128]| -> Vec<String> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        std::fs::write(&file, bytes).expect("written");
        let target = format!("SM{}", arch.to_string().trim_start_matches("sm_"));
        let out = sassafras_testkit::tools::run(Command::new(&nvdisasm).args(["-b", &target]).arg(&file));
        let errors = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success() && errors.is_empty(), "{arch}: {errors}");
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let lines = text.lines().filter_map(|line| line.trim_start().strip_prefix("/*")?.split_once("*/"));
        lines.map(|(_, rest)| rest.trim().trim_end_matches(';').trim().to_owned()).collect()
    };
    let mut by_arch: BTreeMap<Arch, Vec<u128>> = BTreeMap::new();
    for (arch, word) in golden().into_iter().filter(|(arch, _)| arch.number() >= Some(75)) {
        by_arch.entry(arch).or_default().push(word);
    }
    let mut random = rng([3; 32]);
    for (arch, words) in by_arch {
        let renamer = Renamer::new(arch);
        let pairs: Vec<_> = (0..8)
            .flat_map(|_| words.clone())
            .filter_map(|word| Some((word, renamed(renamer, word, &mut random)?)))
            .collect();
        let old = listed(arch, &pairs.iter().map(|(word, _)| *word).collect::<Vec<_>>());
        let new = listed(arch, &pairs.iter().map(|(_, (word, _))| *word).collect::<Vec<_>>());
        assert_eq!((old.len(), new.len()), (pairs.len(), pairs.len()));
        for ((word, (_, spans)), (old, new)) in pairs.iter().zip(old.iter().zip(&new)) {
            texts_agree(old, new, &renamer.fields(*word).expect("known"), spans);
        }
    }
}
