//! The built-in tables parse, and a broken table is refused at its line.

use proptest::prelude::*;
use sassafras_machine::{Arch, InstructionEncoding};
use sassafras_sass::Decoder;
use sassafras_sass::table::Sources;

#[test]
fn every_128_bit_architecture_has_a_table() {
    Sources::builtin().validate().expect("the built-in tables");
    for arch in Arch::all() {
        let wanted = arch.info().encoding == InstructionEncoding::Single128;
        assert_eq!(Decoder::new(arch).has_table(), wanted, "{arch}");
    }
}

/// A change to one of the texts and what the error must say.
struct Break {
    file: &'static str,
    from: &'static str,
    to: &'static str,
    says: &'static str,
}

#[test]
fn broken_tables_name_the_place() {
    let breaks = [
        Break { file: "volta", from: "0x021,1237,", to: "0x921,1237,", says: "with form" },
        Break { file: "volta", from: "0x919,,", to: "0x1919,,", says: "is no opcode" },
        Break { file: "volta", from: "<P87:bar", to: "<P87:nonsense", says: "no lane rule" },
        Break {
            file: "volta",
            from: ">R16 <R24 <PM32",
            to: ">R16 <Q24 <PM32",
            says: "no such register class",
        },
        Break {
            file: "volta",
            from: ">P81 >R16 <R24:addr",
            to: ">P81 >R16 <@R24:addr",
            says: "without a memory access",
        },
        Break { file: "volta", from: ",exit,", to: ",quit,", says: "no control-flow role" },
        Break { file: "volta", from: "branch 34..82", to: "branch 34..180", says: "no bit" },
        Break { file: "volta", from: "cross_lane,shuffle", to: "crosslane,shuffle", says: "no effect" },
        Break { file: "volta", from: ",fp64,plr", to: ",fp65,plr", says: "`fp65`" },
        Break { file: "volta", from: ",alu,plr", to: ",alu,", says: "no source" },
        Break { file: "volta", from: "order70", to: "order71", says: "no order rule" },
        Break { file: "volta", from: "load shared ldst", to: "load chared ldst", says: "no space" },
        Break { file: "lanes", from: "ldst,73..76,5,", to: "ldst,73..77,5,", says: "two fields" },
        Break { file: "lanes", from: "ldst,73..76,5,", to: "ldst,73..76,4,", says: "twice" },
        Break { file: "lanes", from: "ldst,73..76,5,", to: "ldst,73..76,8,", says: "does not fit" },
        Break { file: "lanes", from: "*,4v+4", to: "*,40v+4", says: "lanes at value" },
        Break { file: "orders", from: ",weak,", to: ",meek,", says: "no memory order" },
        Break { file: "lanes", from: "1?????", to: "1?????0", says: "does not fit" },
        Break {
            file: "volta",
            from: "tex_lod+if76+if78|hi",
            to: "tex_lod+if76+if78|up",
            says: "neither `hi`",
        },
        Break { file: "volta", from: "1+tex_lod+if76", to: "1+tex_lod+if760", says: "no lane rule `if760`" },
        Break {
            file: "volta",
            from: "<@R24:addr <R32:atom,",
            to: "<@R24:addr <@R32 <@R64,",
            says: "no third address",
        },
        Break { file: "families", from: "0x140..0x160", to: "140..160", says: "no range of opcodes" },
        Break { file: "families", from: "turing,xavier,75", to: "turing,xavier,70", says: "two families" },
        Break { file: "families", from: "turing,xavier", to: "turin,xavier", says: "no table" },
        Break {
            file: "families",
            from: "turing,xavier",
            to: "turing,ampere",
            says: "no line before it names",
        },
    ];
    for Break { file, from, to, says } in breaks {
        let mut sources = Sources::builtin();
        let original = match file {
            "lanes" => sources.lanes,
            "orders" => sources.orders,
            "families" => sources.families,
            name => sources.opcodes.iter().find(|(n, _)| *n == name).expect("a table").1,
        };
        let changed = original.replacen(from, to, 1);
        assert_ne!(original, changed, "{file}: `{from}` is not there");
        match file {
            "lanes" => sources.lanes = &changed,
            "orders" => sources.orders = &changed,
            "families" => sources.families = &changed,
            name => {
                let slot = sources.opcodes.iter_mut().find(|(n, _)| *n == name);
                slot.expect("a table").1 = &changed;
            }
        }
        let error = sources.validate().expect_err(to);
        assert!(error.to_string().contains(says), "{to}: {error}");
        assert_eq!(error.table, file);
        assert!(error.line > 1, "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Any text in any cell is refused or taken, never a panic.
    #[test]
    fn any_cell_text_is_survived(column in 0usize..11, row in 1usize..140, cell in "[ -~]{0,12}") {
        let mut sources = Sources::builtin();
        let mut lines: Vec<String> = sources.opcodes[0].1.lines().map(str::to_owned).collect();
        let at = row % lines.len();
        let line = &mut lines[at];
        let mut cells: Vec<&str> = line.split(',').collect();
        if let Some(place) = cells.get_mut(column) {
            *place = &cell;
        }
        *line = cells.join(",");
        let text = lines.join("\n");
        sources.opcodes[0].1 = &text;
        let _ = sources.validate();
    }
}
