//! The seven opcode tables and the two class tables once more, cell by cell: a lost, split or shifted cell in the data
//! files shows up here.

use OpcodeGroup::{Collective, Control, Fp32, Fp64, Integer, Memory, Tensor};
use sassafras_machine::*;

/// Table, opcode, mnemonic, class, wide class, latency index as printed (empty: none).
type OpcodeRow = (OpcodeGroup, u16, &'static str, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const OPCODES: &[OpcodeRow] = &[
    (Integer, 1, "IMAD", "130", "", ""),
    (Integer, 2, "IMAD_WIDE", "72", "683", ""),
    (Integer, 3, "IADD3", "72", "683", ""),
    (Integer, 4, "BMSK", "72", "683", ""),
    (Integer, 5, "SGXT", "72", "683", ""),
    (Integer, 6, "LOP3", "72", "683", ""),
    (Integer, 7, "ISETP", "72", "683", ""),
    (Integer, 8, "IABS", "2/3", "", ""),
    (Integer, 10, "SHF", "200", "551", ""),
    (Integer, 14, "FMNMX", "5", "", ""),
    (Integer, 33, "IDP", "75", "", ""),
    (Integer, 35, "I2I", "45", "", ""),
    (Integer, 37, "IMNMX", "143", "", ""),
    (Integer, 38, "POPC", "533", "", ""),
    (Integer, 39, "FLO", "188", "", ""),
    (Integer, 53, "BREV", "547", "", ""),
    (Fp32, 17, "FSEL", "10", "", ""),
    (Fp32, 18, "FSETP", "11/12", "544/769", ""),
    (Fp32, 19, "MOV", "(default)", "", ""),
    (Fp32, 20, "SEL", "(default)", "", ""),
    (Fp32, 23, "S2R", "20", "", ""),
    (Fp32, 24, "PRMT", "21", "641", ""),
    (Fp32, 26, "VOTE", "22", "", ""),
    (Fp32, 27, "CS2R_32", "27", "", ""),
    (Fp32, 28, "CS2R_64", "28", "642", ""),
    (Fp32, 32, "VABSDIFF4", "33", "", ""),
    (Fp32, 36, "I2F/PRMT", "96", "586/707", ""),
    (Fp32, 40, "FCHK", "54", "", ""),
    (Fp32, 42, "MUFU", "548", "", ""),
    (Fp32, 58, "BAR", "64", "", ""),
    (Fp32, 81, "NANOSLEEP", "142", "", ""),
    (Fp32, 119, "SHFL", "202", "", ""),
    (Fp32, 240, "F2F", "99", "", ""),
    (Fp32, 241, "(sm82 FP)", "32", "", ""),
    (Fp64, 122, "DFMA", "619", "", "0xE8"),
    (Fp64, 123, "DADD", "131", "", "0x03"),
    (Fp64, 124, "DMUL", "203", "", ""),
    (Fp64, 125, "DSETP", "190", "", ""),
    (Fp64, 201, "DFMA (sm82+)", "97/98", "175/688", ""),
    (Fp64, 209, "(sm82 DP)", "592", "713", ""),
    (Fp64, 210, "(sm82 DP)", "593", "714", ""),
    (Fp64, 211, "(sm82 DP)", "594", "", ""),
    (Memory, 16, "ATOM", "7", "", ""),
    (Memory, 60, "STG", "67/95", "", ""),
    (Memory, 62, "LDL", "69/70", "", ""),
    (Memory, 63, "CALL", "71", "", ""),
    (Memory, 78, "LD (generic)", "125/126/127", "", ""),
    (Memory, 89, "LDC", "170", "", ""),
    (Memory, 94, "LDS", "29/30", "", ""),
    (Memory, 95, "STS", "25", "", ""),
    (Memory, 96, "LDG", "183", "", ""),
    (Memory, 98, "LDL (ext)", "526", "", ""),
    (Memory, 100, "LD (ext)", "648", "", ""),
    (Memory, 102, "ATOM (ext)", "197", "", ""),
    (Memory, 104, "RED", "198", "", ""),
    (Memory, 109, "CCTLL", "184", "", ""),
    (Control, 67, "BRA", "87", "", ""),
    (Control, 79, "BSYNC", "128", "", ""),
    (Control, 80, "MATCH", "129", "", ""),
    (Control, 93, "OUT_FINAL", "25", "", ""),
    (Tensor, 270, "HMMA_16", "103/104", "", ""),
    (Tensor, 279, "HMMA_32", "106/107", "", ""),
    (Tensor, 280, "HMMA pair", "120/760", "", "0xF9"),
    (Tensor, 282, "IMMA", "121", "", ""),
    (Tensor, 321, "WGMMA", "745", "", "0xF1"),
    (Tensor, 322, "WGMMA (v3)", "744", "", "0xF0"),
    (Tensor, 323, "BGMMA/QMMA", "765-767", "", "0xFB"),
    (Tensor, 324, "Tensor fence", "600", "", "0xE6"),
    (Tensor, 325, "HMMA/BMMA", "759", "", "0xF8"),
    (Tensor, 327, "DP tensor", "757/761", "", "0xF6/0xFA"),
    (Tensor, 329, "Tensor sync", "604", "", "0xE7"),
    (Collective, 317, "Collective", "747/750", "", "0xF2/0xF5"),
    (Collective, 318, "ACQBULK", "749", "", "0xF4"),
    (Collective, 319, "RELBULK", "748", "", "0xF3"),
];

#[test]
fn opcode_tables_cell_by_cell() {
    let found: Vec<OpcodeRow> = opcodes()
        .iter()
        .map(|entry| {
            (
                entry.group,
                entry.ori.get(),
                entry.mnemonic.as_str(),
                entry.printed_class.as_str(),
                entry.printed_wide_class.as_str(),
                entry.printed_index.as_str(),
            )
        })
        .collect();
    assert_eq!(found, OPCODES);
}

/// First and last class, pipe, latency on sm_80, sm_90 and sm_100, inverse throughput likewise, latency index override.
type ClassRow = ((u16, u16), &'static str, [&'static str; 3], [&'static str; 3], Option<u16>);

#[rustfmt::skip]
const CLASSES: &[ClassRow] = &[
    ((2, 2), "ALU", ["17", "17", "17"], ["0", "0", "0"], None),
    ((3, 3), "ALU", ["17", "17", "17"], ["0", "0", "0"], None),
    ((4, 4), "FMA", ["42", "42", "42"], ["15", "15", "15"], None),
    ((5, 5), "FMA", ["42", "42", "42"], ["15", "15", "15"], None),
    ((10, 10), "DFMA", ["42", "42", "42"], ["15", "15", "15"], None),
    ((11, 11), "ALU", ["17", "17", "17"], ["0", "0", "0"], None),
    ((15, 15), "LSU", ["255", "22", "22"], ["35", "2", "2"], None),
    ((16, 19), "LSU", ["21-23", "20-23", "21-56"], ["19", "19", "19"], None),
    ((20, 20), "ALU", ["28", "28", "28"], ["5", "5", "5"], None),
    ((21, 21), "LSU", ["22", "22", "22"], ["2", "2", "2"], None),
    ((35, 35), "XU", ["52", "52", "52"], ["21", "21", "21"], None),
    ((52, 52), "LSU", ["13", "48", "46"], ["19", "19", "19"], None),
    ((56, 59), "SFU", ["45-47", "47", "41-45"], ["19", "19", "19"], None),
    ((60, 61), "LSU", ["13-48", "48", "46"], ["19", "19", "19"], None),
    ((66, 67), "DFMA", ["72", "48-74", "72"], ["34", "19-33", "34"], None),
    ((72, 72), "ALU", ["5", "31", "31"], ["9", "12", "12"], None),
    ((118, 118), "MMA", ["15", "14", "15"], ["19", "19", "19"], None),
    ((130, 130), "BRA", ["22", "22", "22"], ["2", "2", "2"], None),
    ((131, 131), "ALU", ["22", "22", "22"], ["2", "2", "2"], None),
    ((140, 140), "FMA", ["22", "22", "22"], ["2", "2", "2"], None),
    ((200, 200), "ALU", ["22", "22", "22"], ["2", "2", "2"], None),
    ((551, 551), "ALU", ["22", "22", "22"], ["2", "2", "2"], None),
    ((575, 575), "FMA", ["42", "42", "42"], ["15", "15", "15"], None),
    ((683, 683), "DFMA", ["70", "70", "70"], ["31", "31", "31"], None),
    ((694, 694), "DFMA", ["70", "70", "70"], ["31", "31", "31"], None),
    ((700, 700), "DFMA", ["70", "70", "70"], ["31", "31", "31"], None),
    ((600, 600), "", ["", "", "42"], ["", "", ""], Some(0xE6)),
    ((604, 604), "", ["", "", "42"], ["", "", ""], Some(0xE7)),
    ((744, 744), "", ["", "", "65"], ["", "", ""], Some(0xF0)),
    ((745, 745), "", ["", "", "65"], ["", "", ""], Some(0xF1)),
    ((747, 747), "", ["", "", "66"], ["", "", ""], Some(0xF2)),
    ((748, 748), "", ["", "", "66"], ["", "", ""], Some(0xF3)),
    ((749, 749), "", ["", "", "66"], ["", "", ""], Some(0xF4)),
    ((750, 750), "", ["", "", "66"], ["", "", ""], Some(0xF5)),
    ((757, 757), "", ["", "", "22"], ["", "", ""], Some(0xF6)),
    ((759, 759), "", ["", "", "22"], ["", "", ""], Some(0xF8)),
    ((761, 761), "", ["", "", "22"], ["", "", ""], Some(0xFA)),
    ((765, 767), "", ["", "", "52"], ["", "", ""], Some(0xFB)),
];

#[test]
fn class_tables_cell_by_cell() {
    let text = |cost: Option<Cost>| cost.map_or(String::new(), |Cost(span)| span.to_string());
    let mut listed = 0;
    for (row, pipe, latency, throughput, index) in CLASSES {
        for number in row.0..=row.1 {
            let class = ClassTable::documented().get(ClassId::new(number).unwrap()).unwrap();
            listed += 1;
            let (first, last) = class.printed_row;
            assert_eq!((first.get(), last.get()), *row);
            assert_eq!(class.pipe.map_or("", |pipe| pipe.name()), *pipe, "{number}");
            let costs = [Arch::SM_80, Arch::SM_90, Arch::SM_100].map(|arch| class.costs(arch));
            assert_eq!(costs.map(|c| text(c.latency)), *latency, "{number}");
            assert_eq!(costs.map(|c| text(c.throughput_inv)), *throughput, "{number}");
            let natural = class.id.natural_index().map(LatencyIndex::get);
            assert_eq!(class.latency_index.map(LatencyIndex::get), index.or(natural), "{number}");
        }
    }
    let printed = |class: &&ClassEntry| class.origin != ClassOrigin::OpcodeOnly;
    assert_eq!(listed, ClassTable::documented().iter().filter(printed).count());
}
