//! The text of instructions: known words, words that nobody compiled, and (with the real tools) whole programs against
//! NVIDIA's disassembler.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use proptest::prelude::*;
use sassafras_machine::Arch;
use sassafras_sass::print::{Assembler, Coverage, PrintSources, Printer, Templates, text};

/// The bits below the control field.
const TOLD: u32 = 105;

/// A line of `print.txt`.
struct Golden {
    arch: Arch,
    address: u64,
    word: u128,
    text: String,
}

impl FromStr for Golden {
    type Err = String;

    fn from_str(line: &str) -> Result<Golden, String> {
        let mut parts = line.splitn(4, ' ');
        let mut part = || parts.next().ok_or_else(|| format!("too short: {line}"));
        let (sm, address, word, text) = (part()?, part()?, part()?, part()?);
        Ok(Golden {
            arch: format!("sm_{sm}").parse().map_err(|e| format!("{line}: {e}"))?,
            address: u64::from_str_radix(address.trim_start_matches("0x"), 16).map_err(|e| e.to_string())?,
            word: u128::from_str_radix(word, 16).map_err(|e| e.to_string())?,
            text: text.to_owned(),
        })
    }
}

fn golden() -> Vec<Golden> {
    let lines = include_str!("print.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.parse().unwrap_or_else(|e| panic!("{e}"))).collect()
}

#[test]
fn known_words_print_as_known() {
    let golden = golden();
    assert!(golden.len() > 300);
    for line in &golden {
        let printed = text(line.word, line.arch, line.address);
        assert_eq!(printed.text, line.text, "{:032x}", line.word);
        assert_eq!(printed.coverage, Coverage::Complete, "{}", line.text);
    }
}

/// A complete text tells every bit: no other word one bit away has the same one and is complete, too.
#[test]
fn no_bit_of_a_complete_word_goes_untold() {
    for line in golden() {
        let printer = Printer::new(line.arch);
        for bit in 0..TOLD {
            let other = printer.print(line.word ^ 1 << bit, line.address);
            assert!(
                other.text != line.text || !other.coverage.is_complete(),
                "bit {bit} of {:032x} {}",
                line.word,
                line.text
            );
        }
    }
}

#[test]
fn unknown_words_say_so() {
    let opaque = text(0xfff, Arch::SM_90, 0);
    assert_eq!(opaque.text, "OPAQUE 0x00000000000000000000000000000fff");
    assert_eq!(opaque.coverage, Coverage::Opaque);
    assert_eq!(text(0x7918, Arch::UNIVERSAL, 0).coverage, Coverage::Opaque);
    // An unnamed modifier value: FSETP combines its results by and, or, exclusive or, and there is no fourth way.
    let unnamed = text(0x0bf0_6c00_0000_0004_ff00_7c0b, Arch::SM_90, 0);
    assert_eq!(unnamed.text, "FSETP.GE.?0x3 P0, PT, RZ, UR4, PT");
    assert_eq!(unnamed.coverage, Coverage::Partial);
    // A NaN does not show its payload.
    let nan = |bits: u128| text(0x1400 << 64 | bits << 32 | 0x7908, Arch::SM_90, 0);
    assert_eq!(
        (nan(0xffff_ffff).text.as_str(), nan(0xffff_ffff).coverage),
        ("MUFU.RSQ R0, -QNAN", Coverage::Complete)
    );
    assert_eq!(
        (nan(0xffc0_0000).text.as_str(), nan(0xffc0_0000).coverage),
        ("MUFU.RSQ R0, -QNAN", Coverage::Partial)
    );
}

#[test]
fn targets_are_absolute() {
    let bra = |pc| text(0x0383_ffff << 64 | 0xffff_fffc_00fc_7947, Arch::SM_90, pc).text;
    assert_eq!((bra(0x120), bra(0x40)), ("BRA 0x120".to_owned(), "BRA 0x40".to_owned()));
}

#[test]
fn a_full_sink_is_an_error_not_a_panic() {
    struct Full;
    impl fmt::Write for Full {
        fn write_str(&mut self, _: &str) -> fmt::Result {
            Err(fmt::Error)
        }
    }
    assert!(Printer::new(Arch::SM_90).write(&mut Full, 0x7918, 0).is_err());
}

/// Breaks one thing in one of the tables and expects the loader to say where.
#[test]
fn broken_tables_are_refused() {
    let built = PrintSources::builtin();
    Templates::parse(&built).expect("the built-in tables");
    let places = built.places.replace("{R:24}", "{R:}");
    let values = built.values.replacen("\nfcmp,1,", "\nfcmp,0,", 1);
    let families = built.families.replace("ampere,turing", "amper,turing");
    let forms = built.forms.replace("\n1,", "\none,");
    for (broken, table) in [
        (PrintSources { places: &places, ..built.clone() }, "volta"),
        (PrintSources { values: &values, ..built.clone() }, "values"),
        (PrintSources { families: &families, ..built.clone() }, "families"),
        (PrintSources { forms: &forms, ..built.clone() }, "forms"),
    ] {
        let error = Templates::parse(&broken).expect_err(table);
        assert_eq!(error.table, table, "{error}");
    }
    let (name, volta) = built.templates[0];
    for (good, bad) in [
        ("{=round:78..80}", "{=rounding:78..80}"),
        ("{=round:78..80}", "{=round:78}"),
        ("{=round:78..80}", "{=round:78..80"),
        ("0x021,1237", "0x421,1237"),
        ("0x021,1237", "0x021,1239"),
        ("nvdisasm\n", "\n"),
        ("<81..84!=7?", "<81..84!=9?"),
    ] {
        let volta = volta.replacen(good, bad, 1);
        let mut broken = built.clone();
        broken.templates[0] = (name, &volta);
        let error = Templates::parse(&broken).expect_err(bad);
        assert!(error.table == "volta" && error.line > 0, "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// Nothing upsets the printer, and what it cannot tell it does not claim to.
    #[test]
    fn any_word_prints(word: u128, pc: u64, opcode in 0u128..0x1000, arch in 0usize..64) {
        let archs: Vec<Arch> = Arch::all().collect();
        let arch = archs[arch % archs.len()];
        for word in [word, word & !0xfff | opcode] {
            let printed = text(word, arch, pc);
            prop_assert!(printed.text.starts_with(|c: char| c == '@' || c.is_ascii_uppercase()), "{}", printed.text);
        }
    }

    /// Words near compiled ones, several bits away.
    #[test]
    fn neighbours_of_known_words_print(index in 0usize..10_000, flips in prop::collection::vec(0u32..128, 1..6)) {
        static GOLDEN: LazyLock<Vec<Golden>> = LazyLock::new(golden);
        let line = &GOLDEN[index % GOLDEN.len()];
        let word = flips.iter().fold(line.word, |word, bit| word ^ 1 << bit);
        for arch in Arch::all() {
            prop_assert!(!text(word, arch, line.address).text.is_empty());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Tables are a user's input, too.
    #[test]
    fn random_templates_do_not_upset_the_loader(template in "[-A-Z{}<>?!=:.$|~*+ 0-9a-z/]{0,40}") {
        let mut sources = PrintSources::builtin();
        let text = format!("opcode,forms,when,guard,text,fixed,source\n0x021,1237,,,\"{template}\",,test\n");
        sources.templates[0].1 = &text;
        if let Ok(templates) = Templates::parse(&sources) {
            let _ = templates.printer(Arch::SM_70).print(0x221, 0);
        }
    }
}

#[cfg(feature = "real-tools")]
#[allow(dead_code)] // what the decoder claims is for its own tests
mod support;

#[cfg(feature = "real-tools")]
mod programs {
    use std::path::Path;
    use std::process::Command;
    use std::{fs, str};

    use object::{Object, ObjectSection};
    use sassafras_testkit::nvdisasm::Listing;
    use sassafras_testkit::tools::{find, run, sm_number, tool};

    use super::support::{TARGETS, compile, snippets};
    use super::*;

    /// One target per family of spellings; the rest are spelled like one of these.
    const COMPARED: [&str; 9] = ["70", "75", "80", "86", "89", "90a", "100a", "107a", "120a"];
    /// The least share of texts that must be the disassembler's. Missing are UTCQMMA and its kin, scaled QMMA and OMMA, and
    /// narrow conversions of sm_100.
    const EXACT: f64 = 0.99;

    /// All code of a cubin, one section after the other.
    fn code(cubin: &Path) -> Vec<u8> {
        let data = fs::read(cubin).expect("cubin");
        let file = object::File::parse(&*data).expect("an ELF file");
        let sections = file.sections().filter(|s| s.name().is_ok_and(|name| name.starts_with(".text.")));
        sections.flat_map(|section| section.data().expect("in the file").to_vec()).collect()
    }

    /// The disassembler puts a blank before some commas and brackets.
    fn tidy(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ").replace(" ,", ",").replace("] [", "][")
    }

    /// Compares and returns `(instructions, exact, complete)`.
    fn compare(name: &str, listing: &Listing) -> (usize, usize, usize) {
        let printer = Printer::new(format!("sm_{name}").parse().expect("known"));
        let (mut exact, mut complete) = (0, 0);
        for line in &listing.lines {
            let printed = printer.print(line.word, line.address);
            let theirs = tidy(&line.text);
            let same = printed.text == theirs;
            exact += usize::from(same);
            complete += usize::from(printed.coverage.is_complete());
            assert!(
                same || !printed.coverage.is_complete(),
                "sm_{name} {:032x}\n  nvdisasm: {theirs}\n  printer:  {}",
                line.word,
                printed.text
            );
        }
        (listing.lines.len(), exact, complete)
    }

    #[test]
    fn texts_agree_with_nvdisasm() {
        let folder = tempfile::tempdir().expect("a folder");
        for (release, version, targets) in TARGETS {
            let ptxas = tool("ptxas", release);
            // Volta's disassembler comes with some releases of 12 only.
            let Some(nvdisasm) = find("nvdisasm", release) else {
                assert_eq!(release, "12.", "no nvdisasm");
                continue;
            };
            for name in targets.iter().filter(|name| COMPARED.contains(name)) {
                let cubin = compile(&ptxas, name, &snippets(name, version), &["-O3"], folder.path());
                let raw = folder.path().join(format!("{name}.raw"));
                fs::write(&raw, code(&cubin)).expect("written");
                let listed =
                    run(Command::new(&nvdisasm).arg("-b").arg(format!("SM{name}")).arg("-hex").arg(&raw));
                assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
                let listing = Listing::parse(str::from_utf8(&listed.stdout).expect("text"));
                let (all, exact, complete) = compare(name, &listing);
                let share = |part: usize| part as f64 / all as f64;
                eprintln!(
                    "sm_{name}: {all} instructions, {:.4} exact, {:.4} complete",
                    share(exact),
                    share(complete)
                );
                assert!(all > 3_000 && share(exact) >= EXACT, "sm_{name}: {exact} of {all}");
                assert_eq!(sm_number(name).to_string(), name.trim_end_matches('a'));
            }
        }
    }
}

/// Every complete text is read back to the word that it was printed from, control fields left out.
#[test]
fn known_texts_assemble_to_their_words() {
    let told = (1 << TOLD) - 1;
    let other = golden().into_iter().filter_map(|line| {
        let assembler = Assembler::new(line.arch).expect("tables");
        let word = assembler.assemble(&line.text, line.address).map(|word| word & told);
        (word != Ok(line.word & told))
            .then(|| format!("{} {:032x} {}: {word:x?}", line.arch, line.word & told, line.text))
    });
    assert_eq!(other.collect::<Vec<_>>(), [""; 0]);
}
