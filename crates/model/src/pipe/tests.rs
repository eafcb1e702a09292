use proptest::prelude::*;

use super::*;

const TEXT: &str = include_str!("../../data/pipe_classes.csv");

/// A query that satisfies a row's conditions, and no other positive condition by accident.
fn query_for(row: &PipeRow, opcode: u16) -> PipeQuery {
    let mut q = PipeQuery { opcode: u32::from(opcode), ..PipeQuery::default() };
    for l in row.conditions.iter().filter(|l| l.expected) {
        match l.condition {
            Condition::Wide => q.wide = true,
            Condition::DataType(t) => q.data_type = t,
            Condition::OperandBit(bit) => q.operand |= 1 << bit,
            Condition::Memory(m) => q.memory = Some(m),
            Condition::Operand1Class(c) => q.operand_classes[0] = Some(c),
            Condition::Operand2Class(c) => q.operand_classes[1] = Some(c),
            Condition::SameSource => q.same_source = true,
            Condition::FlagOperand => q.flag_operand = true,
            Condition::Extended => q.extended = true,
            Condition::Control => q.control = true,
            Condition::Tensor => q.tensor = true,
        }
    }
    q
}

#[test]
fn every_row_is_reached_and_decides_its_class() {
    let table = PipeTable::shipped();
    for row in table.rows() {
        let opcodes = row.opcodes.clone().unwrap_or(0x1FE..=0x1FF);
        let mut reached = 0;
        for opcode in opcodes.clone() {
            let got = table.assign(&query_for(row, opcode));
            // Within a range a narrower row may take single opcodes over (LOP3 wide).
            if got.row == row {
                reached += 1;
                assert_eq!(got.row.classes, row.classes);
                assert_eq!(got.pipe, row.pipe.unwrap_or(PipeMask::ALL));
                assert_eq!(got.flags, row.flags.unwrap_or(PipeFlags::ALL));
                assert_eq!(got.sub_class, row.sub_class.unwrap_or(SubClass::ALL));
            } else {
                assert!(got.row.specificity() > row.specificity());
            }
        }
        assert!(reached >= opcodes.len().min(5), "{row:?} reached {reached} times");
    }
    assert_eq!(table.rows().count(), TEXT.lines().count() - 1);
}

/// The document's mapping transcribed a second time: opcode, classes, pipe mask, sub-class, flags, in table order. A zero
/// stands for a column without entry.
const TRANSCRIBED: &[(u16, &[u16], u32, u32, u32)] = &[
    (0x01, &[0x08], 0, 0x10, 0),
    (0x02, &[0x03], 0x10000, 0x30, 0),
    (0x06, &[0x03], 0x18000, 0x40, 0),
    (0x02, &[0x0C], 0x08000, 0, 0),
    (0x02, &[0x7B], 0, 0, 0),
    (0x08, &[0x33], 0, 0, 0),
    (0x08, &[0x34], 0, 0, 0),
    (0x10, &[0x68], 0, 0, 0),
    (0x10, &[0x67], 0, 0, 0),
    (0x10, &[0x69], 0, 0, 0),
    (0x10, &[0x66], 0, 0, 0),
    (0x12, &[0x3D], 0, 0, 0),
    (0x12, &[0x78], 0, 0, 0),
    (0x17, &[0x37], 0, 0, 0),
    (0x17, &[0x36], 0, 0, 0),
    (0x17, &[0x38], 0, 0, 0),
    (0x18, &[0x04], 0x08000, 0x20, 0),
    (0x24, &[0x14], 0x10000, 0x30, 0),
    (0x24, &[0x11], 0x10000, 0x30, 0),
    (0x33, &[0x21], 0x08000, 0x20, 0x06),
    (0x3C, &[0x31], 0, 0, 0),
    (0x3C, &[0x32], 0, 0, 0),
    (0x3C, &[0x2B], 0, 0, 0),
    (0x3C, &[0x2C], 0, 0, 0),
    (0x3E, &[0x2D], 0, 0, 0),
    (0x3E, &[0x2E], 0, 0, 0),
    (0x3F, &[], 0, 0, 0),
    (0x42, &[0x5D], 0, 0, 0),
    (0x4D, &[0x84, 0x85], 0x10000, 0x40, 0),
    (0x4D, &[0x141], 0, 0, 0),
    (0x4E, &[0x2F], 0, 0, 0),
    (0x4E, &[0x30], 0, 0, 0),
    (0x66, &[0x09], 0x10000, 0x30, 0x08),
    (0x6E, &[0x0B], 0, 0, 0),
    (0x6E, &[0x7A], 0, 0, 0),
    (0x6E, &[], 0, 0, 0),
    (0x82, &[0x17], 0, 0, 0),
    (0x82, &[0x13], 0xF8000, 0x10, 0),
    (0x8B, &[0x0D], 0, 0, 0),
    (0x8B, &[0x7C], 0, 0, 0),
    (0x8B, &[], 0, 0, 0),
    (0xC9, &[0x07], 0x08000, 0, 0),
    (0xC9, &[0x10, 0x12], 0, 0, 0),
    (0xC9, &[0x7D], 0, 0, 0),
    (0xD1, &[0x05], 0x08000, 0x20, 0),
    (0xD2, &[0x0A], 0x08000, 0x30, 0x04),
    (0xF0, &[0x0F], 0x08000, 0, 0x04),
    (0x10E, &[0x7E], 0x10000, 0, 0x08),
    (0x10E, &[0x141], 0, 0, 0),
    (0x117, &[0x80], 0x10000, 0x40, 0x0C),
    (0x117, &[0x141], 0, 0, 0),
    (0x11A, &[0x81], 0x10000, 0x40, 0),
    (0x11A, &[0x141], 0, 0, 0),
    (0, &[0x88], 0, 0, 0),
];

#[test]
fn every_row_says_what_the_document_says() {
    let table = PipeTable::shipped();
    assert_eq!(table.rows().count(), TRANSCRIBED.len());
    for (row, (opcode, classes, pipe, sub_class, flags)) in table.rows().zip(TRANSCRIBED) {
        let first = row.opcodes.as_ref().map_or(0, |o| *o.start());
        assert_eq!((first, &row.classes[..]), (*opcode, *classes));
        let fields = (
            row.pipe.map_or(0, PipeMask::in_place),
            row.sub_class.map_or(0, SubClass::in_place),
            row.flags.map_or(0, PipeFlags::in_place),
        );
        assert_eq!(fields, (*pipe, *sub_class, *flags), "{row:?}");
    }
}

#[test]
fn documented_examples() {
    let class = |q: PipeQuery| PipeTable::shipped().assign(&q).class();
    let op = |opcode| PipeQuery { opcode, ..PipeQuery::default() };
    assert_eq!(class(op(1)), Some(0x08));
    // Memory split: same/different source by flag, for STG; by flag only for LDL and LD.
    let split =
        |opcode, same_source, flag_operand| class(PipeQuery { same_source, flag_operand, ..op(opcode) });
    let stg = [(true, false), (true, true), (false, false), (false, true)].map(|(s, f)| split(0x3C, s, f));
    assert_eq!(stg, [0x31, 0x32, 0x2B, 0x2C].map(Some));
    for same in [false, true] {
        assert_eq!([split(0x3E, same, false), split(0x3E, same, true)], [Some(0x2D), Some(0x2E)]);
        assert_eq!([split(0x4E, same, false), split(0x4E, same, true)], [Some(0x2F), Some(0x30)]);
    }
    // Type 19 matters to narrow types only.
    for (opcodes, plain, special) in [
        (2..=7, Some(0x0C), 0x7B),
        (0x6E..=0x72, Some(0x0B), 0x7A),
        (0x8B..=0x8C, Some(0x0D), 0x7C),
        (0xC9..=0xCA, None, 0x7D),
    ] {
        for opcode in opcodes {
            assert_eq!(class(op(opcode)), plain);
            assert_eq!(class(PipeQuery { data_type: 19, ..op(opcode) }), Some(special));
        }
    }
    assert_eq!(class(PipeQuery { data_type: 19, wide: true, ..op(3) }), Some(0x03));
    // Atomics: the flag comes before the memory space.
    let atom = |operand, memory| class(PipeQuery { operand, memory, ..op(0x10) });
    let atoms = [atom(4, Some(3)), atom(0, Some(3)), atom(0, Some(4)), atom(0, Some(16)), atom(0, None)];
    assert_eq!(atoms, [0x68, 0x67, 0x69, 0x66, 0x66].map(Some));
    // S2R: the first operand is asked first.
    let s2r = |a, b| class(PipeQuery { operand_classes: [a, b], ..op(0x17) });
    assert_eq!([s2r(Some(6), Some(6)), s2r(None, Some(6)), s2r(Some(1), None)], [0x37, 0x36, 0x38].map(Some));
    // Tensor gate.
    for opcode in [0x4D, 0x10E, 0x117, 0x11A] {
        assert_eq!(class(op(opcode)), Some(0x141));
        assert_ne!(class(PipeQuery { tensor: true, ..op(opcode) }), Some(0x141));
    }
    // The marker opcode without either property, and anything unknown, get the sentinel on all pipes.
    for opcode in [0x82, 0x00, 0x1FF, u32::MAX] {
        let got = PipeTable::shipped().assign(&op(opcode));
        assert_eq!((got.class(), got.pipe.in_place(), got.flags.in_place()), (Some(0x88), 0xF8000, 0x3E));
        assert!(got.is_default());
        let bits = got.descriptor().unwrap().bits();
        assert_eq!(
            bits,
            Descriptor::ALL_PIPES.bits() | 0x88,
            "only the class differs from the initial value"
        );
    }
}

#[test]
fn descriptor_carries_the_overrides() {
    let q = PipeQuery { opcode: 0x117, tensor: true, ..PipeQuery::default() };
    let got = PipeTable::shipped().assign(&q).descriptor().unwrap().unpack();
    assert_eq!(got.latency_index.get(), 0x80);
    let fields = (got.pipe_mask.in_place(), got.sub_class.in_place(), got.pipe_flags.in_place());
    assert_eq!(fields, (0x10000, 0x40, 0x0C));
    assert_eq!((got.read_barriers, got.write_barriers), (0x1F, 0x1F));
    let open = PipeQuery { opcode: 0x4D, tensor: true, ..PipeQuery::default() };
    assert_eq!(PipeTable::shipped().assign(&open).descriptor(), None, "two classes, no choice printed");
}

#[test]
fn lop3_wide_moves_to_pipe_c() {
    let wide =
        |opcode| PipeTable::shipped().assign(&PipeQuery { opcode, wide: true, ..PipeQuery::default() });
    assert_eq!(
        (wide(6).class(), wide(6).pipe.in_place(), wide(6).sub_class.in_place()),
        (Some(0x03), 0x18000, 0x40)
    );
    assert_eq!(
        (wide(5).class(), wide(5).pipe.in_place(), wide(5).sub_class.in_place()),
        (Some(0x03), 0x10000, 0x30)
    );
}

#[test]
fn names_lead_to_this_tables_opcodes() {
    let table = PipeTable::shipped();
    assert_eq!(table.opcodes_named("IADD3"), [3]);
    assert_eq!(table.opcodes_named("FADD"), [0x12]);
    assert_eq!(table.opcodes_named("DFMA"), [0xC9, 0xD1]);
    assert_eq!(table.opcodes_named("DADD"), [0xCA]);
    assert!(table.opcodes_named("default").is_empty());
}

#[test]
fn modifier_bits_do_not_matter() {
    let q = PipeQuery { opcode: 0x3018, ..PipeQuery::default() };
    assert_eq!(PipeTable::shipped().assign(&q).class(), Some(0x04));
}

#[test]
fn broken_tables_are_noticed() {
    let breaks = |from: &str, to: &str| {
        assert!(TEXT.contains(from), "{from}");
        PipeTable::parse(&TEXT.replacen(from, to, 1)).unwrap_err()
    };
    breaks("0x01,0x01,IMAD,,0x08", "0x02,0x01,IMAD,,0x08");
    breaks("0x01,0x01,IMAD,,0x08", "0x01,,IMAD,,0x08");
    breaks("0x01,0x01,IMAD,,0x08", "0x01,0x01,IMAD,,0x208");
    breaks("0x01,0x01,IMAD,,0x08", "0x01,0x01,IMAD,,");
    breaks("0x01,0x01,IMAD,,0x08", "0x08,0x08,IABS,operand.0,0x08");
    breaks("IMAD_WIDE;IADD3;BMSK", "IMAD_WIDE;BMSK");
    breaks("wide,0x03,B,0x30", "width,0x03,B,0x30");
    breaks("wide,0x03,B,0x30", "wide !wide,0x03,B,0x30");
    breaks("wide,0x03,B,0x30", "wide,0x03,D,0x30");
    breaks("wide,0x03,B,0x30", "wide,0x03,B,0x31");
    breaks("0x04,latency-model", "0x05,latency-model");
    breaks(",,default,,0x88", "0x1FF,0x1FF,default,,0x88");
    breaks("0x84|0x85", "0x84|");
    breaks("operand.10", "operand.32");
    breaks("mnemonic", "name");
    // Dropping the disambiguating half of a condition leaves a tie.
    let error = breaks("!op1-class=6 op2-class=6", "op2-class=6");
    assert!(error.to_string().contains("overlaps line"), "{error}");
    // Every row needs its source.
    for (i, line) in TEXT.lines().enumerate().skip(1) {
        let unsourced = line
            .split(',')
            .enumerate()
            .map(|(c, f)| if c == 8 { "" } else { f })
            .collect::<Vec<_>>()
            .join(",");
        assert!(PipeTable::parse(&TEXT.replacen(line, &unsourced, 1)).is_err(), "line {i}");
    }
}

fn any_query() -> impl Strategy<Value = PipeQuery> {
    let bools = any::<[bool; 6]>();
    let small = (0u32..0x180, 17u8..21, any::<u32>(), proptest::option::of(2u8..5));
    (small, bools, proptest::array::uniform2(proptest::option::of(5u8..8))).prop_map(
        |((opcode, data_type, operand, memory), b, operand_classes)| PipeQuery {
            opcode,
            wide: b[0],
            data_type,
            operand,
            memory,
            operand_classes,
            same_source: b[1],
            flag_operand: b[2],
            extended: b[3],
            control: b[4],
            tensor: b[5],
        },
    )
}

proptest! {
    #[test]
    fn the_most_specific_row_is_unique(q in any_query()) {
        let table = PipeTable::shipped();
        let best = table.assign(&q);
        let rivals = table.rows().filter(|r| r.matches(&q) && r.specificity() == best.row.specificity());
        prop_assert_eq!(rivals.count(), 1);
    }

    #[test]
    fn parser_never_panics(text in "[0-9a-zA-Z,!=.|\"\n -]{0,200}") {
        let _ = PipeTable::parse(&text);
        let _ = PipeTable::parse(&format!("{TEXT}{text}"));
    }
}
