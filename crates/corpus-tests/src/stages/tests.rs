//! Loops made by hand.

use super::text::{Arg, Step};
use super::{Launch, Movement, Objects, Reading, read};
use sassafras_ir::function::InstSpec;
use sassafras_ir::{Block, Effects, Function, Guard, Lane, Operand, Payload, RegClass};
use std::collections::BTreeMap;

/// A function of a listing: an instruction or a label per line.
fn function(listing: &str) -> Function {
    let mut function = Function::new("listing", "sm_90");
    let lines: Vec<&str> = listing.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut blocks: BTreeMap<&str, Block> = BTreeMap::new();
    let mut starts = Vec::new();
    let mut fresh = true;
    for line in &lines {
        let label = line.strip_suffix(':');
        if label.is_some() || fresh {
            let block = function.add_block(label.unwrap_or("next"));
            starts.push(Some(block));
            blocks.extend(label.map(|label| (label, block)));
        } else {
            starts.push(None);
        }
        fresh = label.is_none() && (line.contains("BRA") || line.contains("EXIT"));
    }
    let mut block = Block::from_u32(0);
    for (number, line) in lines.iter().enumerate() {
        block = starts[number].unwrap_or(block);
        if line.ends_with(':') {
            continue;
        }
        let step = Step::parse(line, true);
        let guard = line.strip_prefix('@').filter(|_| !step.never).map(|rest| {
            let name = rest.split(' ').next().expect("a guard");
            let (negated, name) = name.strip_prefix('!').map_or((false, name), |name| (true, name));
            let class = if name.starts_with('U') { RegClass::UPred } else { RegClass::Pred };
            let index = name.trim_start_matches(['U', 'P']).parse().expect("a number");
            Guard { lane: Lane::physical(class, index).expect("a predicate"), negated }
        });
        let effects = match step.name() {
            "BRA" => Effects::BRANCH,
            "EXIT" => Effects::EXIT,
            _ => Effects::empty(),
        };
        let lanes: Vec<(usize, Lane)> = step
            .args
            .iter()
            .enumerate()
            .flat_map(|(place, arg)| match arg {
                Arg::Register { lane, .. } | Arg::Predicate { lane, .. } => vec![(place, *lane)],
                Arg::Address { registers, .. } => registers.iter().map(|lane| (place + 1, *lane)).collect(),
                _ => Vec::new(),
            })
            .filter_map(|(place, lane)| Some((place, lane?)))
            .collect();
        let writes = |place: usize| place == 0 && effects.is_empty();
        let reg = |(_, lane): &(usize, Lane)| Operand::Reg((*lane).into());
        let defs: Vec<Operand> = lanes.iter().filter(|lane| writes(lane.0)).map(reg).collect();
        let mut uses: Vec<Operand> = lanes.iter().filter(|lane| !writes(lane.0)).map(reg).collect();
        if step.name() == "BRA" {
            let target = line.rsplit(' ').next().expect("a target");
            uses.push(Operand::Label(blocks[target]));
            if step.has("U") {
                uses.extend(starts[number + 1].map(Operand::Label));
            }
        }
        let payload = Payload::Text(function.intern(line));
        let opcode = step.words.join(".");
        let spec =
            InstSpec { opcode: &opcode, guard, defs: &defs, uses: &uses, effects: Some(effects), payload };
        function.push(block, &spec);
    }
    function
}

fn reading(listing: &str) -> Reading {
    read(&function(listing), None, Launch { threads: 64, shared: 0x4000 })
}

/// Thread 0 makes `filled` objects at 0x3000 for one arrival and `freed` ones at 0x3100 for 128, then warp 1 loads in a loop that goes on
/// with `body`.
fn loads(filled: u32, freed: u32, body: &str) -> String {
    let mut text = String::from(
        "S2R R0, SR_TID.X
        S2UR UR5, SR_CgaCtaId
        UMOV UR4, 0x400
        ULEA UR4, UR5, UR4, 0x18
        ISETP.NE.U32.AND P0, PT, R0, RZ, PT
        @P0 BRA made
        UMOV UR6, 0x1
        UIADD3 UR6, -UR6, 0x100000, URZ
        USHF.L.U32 UR6, UR6, 0x1, URZ
        UMOV UR7, 0x80
        UIADD3 UR7, -UR7, 0x100000, URZ
        USHF.L.U32 UR7, UR7, 0x1, URZ\n",
    );
    for number in 0..filled {
        text += &format!("SYNCS.EXCH.64 URZ, [UR4+{:#x}], UR6\n", 0x3000 + 8 * number);
    }
    for number in 0..freed {
        text += &format!("SYNCS.EXCH.64 URZ, [UR4+{:#x}], UR7\n", 0x3100 + 8 * number);
    }
    text + "made:
        SHF.R.U32.HI R0, RZ, 0x5, R0
        ISETP.NE.U32.AND P0, PT, R0, 0x1, PT
        @P0 BRA done
        UMOV UR8, URZ
        UMOV UR9, 0x1
        loop:
        USHF.L.U32 UR10, UR9, 0x1f, URZ
        IMAD.U32 R2, RZ, RZ, UR10
        ULEA UR11, UR8, UR4, 0x3
        SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR11+0x3100], R2
        @!P0 BRA loop
        ULEA UR12, UR8, UR4, 0xa
        UIADD3 UR13, UR11, 0x3000, URZ
        UTMALDG.2D [UR12], [UR20], desc[URZ]\n"
        + body
        + "ULDC UR16, c[0x0][0x210]
        UISETP.NE.U32.AND UP1, UPT, UR16, URZ, UPT
        BRA.U UP1, loop
        done:
        EXIT"
}

/// A counter that is compared and set to zero.
const COMPARED: &str = "UIADD3 UR8, UR8, 0x1, URZ
    UISETP.NE.U32.AND UP0, UPT, UR8, 0x3, UPT
    USEL UR8, UR8, URZ, UP0
    @!UP0 ULOP3.LUT UR9, UR9, 0x1, URZ, 0x3c, !UPT\n";

/// A counter whose low bits are used.
const MASKED: &str = "UIADD3 UR8, UR8, 0x1, URZ
    USHF.R.U32.HI UR15, URZ, 0x2, UR8
    ULOP3.LUT UR9, UR9, UR15, URZ, 0x3c, !UPT
    ULOP3.LUT UR8, UR8, 0x3, URZ, 0xc0, !UPT\n";

#[test]
fn rings_are_counted_however_the_counter_is_made() {
    for (slots, body) in [(3, COMPARED), (4, MASKED)] {
        let reading = reading(&loads(slots, slots, body));
        let [load] = &reading.transfers[..] else { panic!("{reading}") };
        let count = slots as usize;
        assert_eq!((load.movement, &load.slots), (Movement::Load, &Ok(count)), "{reading}");
        assert_eq!(load.filled, Some(Objects { count, arrivals: 1 }));
        assert_eq!(load.freed, Some(Objects { count, arrivals: 128 }));
        assert_eq!(load.stride, Some(1024));
    }
    let reading = reading(&loads(3, 3, COMPARED));
    assert_eq!(reading.to_string(), "3 (filled 3×1, freed 3×128, 1024 apart)");
    assert_eq!(reading.slots(), "3");
}

#[test]
fn what_does_not_fit_is_not_guessed() {
    let why = |listing: &str| {
        let reading = reading(listing);
        assert_eq!(reading.slots(), "?", "{reading}");
        reading.transfers[0].slots.clone().expect_err("a reason")
    };
    // Fewer objects are made than are used.
    assert!(why(&loads(2, 3, COMPARED)).contains("not made alike"));
    // The phase stays.
    let stuck = COMPARED.replace("@!UP0 ULOP3.LUT UR9, UR9, 0x1, URZ, 0x3c, !UPT", "");
    let waits_for_filled = loads(3, 3, &stuck).replace("UR11+0x3100", "UR11+0x3000");
    assert!(why(&waits_for_filled).contains("does not turn"));
    // The number of slots is an argument of the kernel.
    let argument = format!("ULDC UR14, c[0x0][0x218]\n{}", COMPARED.replace("UR8, 0x3,", "UR8, UR14,"));
    assert!(why(&loads(3, 3, &argument)).contains("not known"));
    // The counter never begins anew.
    let endless = "UIADD3 UR8, UR8, 0x1, URZ\n";
    assert!(why(&loads(3, 3, endless)).contains("outside shared memory"));
    // Two places, three objects.
    let two = loads(3, 3, COMPARED).replace(
        "ULEA UR12, UR8, UR4, 0xa",
        "ULOP3.LUT UR14, UR8, 0x1, URZ, 0xc0, !UPT\nULEA UR12, UR14, UR4, 0xa",
    );
    assert!(why(&two).contains("do not come in turn"));
    // One place, three objects.
    let one = loads(3, 3, COMPARED).replace("ULEA UR12, UR8, UR4, 0xa", "UMOV UR12, UR4");
    assert_eq!(why(&one), "1 places, 3 barrier objects");
}

#[test]
fn an_unrolled_ring_is_not_taken_for_two() {
    let twice = "UIADD3 UR17, UR12, 0x400, URZ
        UIADD3 UR18, UR13, 0x8, URZ
        UMOV UR24, UR17
        UMOV UR25, UR18
        UTMALDG.2D [UR24], [UR20], desc[URZ]
        UIADD3 UR8, UR8, 0x1, URZ\n"
        .to_owned()
        + MASKED;
    let reading = reading(&loads(4, 4, &twice));
    assert_eq!(reading.slots(), "?, ?");
    assert!(reading.to_string().contains("are no array"), "{reading}");
}

#[test]
fn a_load_outside_loops_is_none() {
    let once = loads(3, 3, COMPARED).replace("BRA.U UP1, loop", "NOP").replace("@!P0 BRA loop", "NOP");
    assert_eq!(reading(&once).transfers, []);
}

#[test]
fn copies_are_followed_to_their_reads() {
    let listing = "S2R R0, SR_TID.X
        LEA R1, R0, RZ, 0x4
        MOV R2, 0x2
        MOV R3, RZ
        LDGSTS.E.128 [R1], [R8.64], P0
        LDGDEPBAR
        LDGSTS.E.128 [R1+0x800], [R8.64], P0
        LDGDEPBAR
        loop:
        LEA R4, R2, R1, 0xb
        LDGSTS.E.128 [R4], [R8.64], P0
        LDGSTS.E.128 [R4+0x400], [R8.64], P0
        LDGDEPBAR
        DEPBAR.LE SB0, 0x2
        LEA R5, R3, RZ, 0xb
        LDS R6, [R5+0x20]
        @!PT LDS RZ, [RZ]
        IADD3 R2, R2, 0x1, RZ
        ISETP.NE.U32.AND P1, PT, R2, 0x3, PT
        SEL R2, R2, RZ, P1
        IADD3 R3, R3, 0x1, RZ
        ISETP.NE.U32.AND P1, PT, R3, 0x3, PT
        SEL R3, R3, RZ, P1
        ISETP.NE.U32.AND P2, PT, R7, RZ, PT
        @P2 BRA loop
        EXIT";
    assert_eq!(reading(listing).to_string(), "3 (copied, 2048 apart, 2 ahead, 2 open)");
    // Places that depend on memory.
    let unknown = listing.replace("IADD3 R3, R3, 0x1, RZ", "LDS R2, [R9]");
    assert!(
        reading(&unknown).to_string().starts_with("cannot be told: an address depends on what is not known")
    );
}

#[test]
fn registers_are_followed_through_moves() {
    let listing = "loop:
        FADD R4, R4, R3
        MOV R3, R2
        LDG.E R2, [R8.64]
        ISETP.NE.U32.AND P0, PT, R7, RZ, PT
        @P0 BRA loop
        EXIT";
    assert_eq!(reading(listing).to_string(), "2 (registers, 2 ahead)");
    // Used at once and once more before the register is loaded again.
    let twice = listing
        .replace("R4, R3", "R4, R2")
        .replace("MOV R3, R2", "NOP")
        .replace("ISETP.NE.U32.AND P0, PT, R7", "FADD R4, R4, R2\nISETP.NE.U32.AND P0, PT, R7");
    assert_eq!(reading(&twice).to_string(), "1 (registers, 0 to 1 ahead)");
    let at_once = listing
        .replace("R4, R3", "R4, R4")
        .replace("MOV R3, R2", "NOP")
        .replace("ISETP.NE.U32.AND P0, PT, R7", "FADD R4, R4, R2\nISETP.NE.U32.AND P0, PT, R7");
    assert_eq!(reading(&at_once).to_string(), "1 (registers, 0 ahead)");
}

#[test]
fn loops_are_parted() {
    let one = "LDG.E R2, [R8.64]\nFADD R4, R4, R2\nISETP.NE.U32.AND P0, PT, R7, RZ, PT\n";
    let listing = format!("first:\n{one}@P0 BRA first\nsecond:\n{one}@P0 BRA second\nEXIT");
    let reading = reading(&listing);
    assert_eq!(reading.to_string(), "1 (registers, 0 ahead); 1 (registers, 0 ahead)");
    assert_eq!(reading.slots(), "1; 1");
}
