//! Every opcode has a row in the machine's table of hidden state, and the effects of two that share some keep them in order.

use super::{Direction, FamilyTable, Row, SMS, SlotClass, Tables};
use sassafras_ir::Effects;
use sassafras_machine::special;
use sassafras_machine::state::{State, StateTable};
use std::collections::BTreeMap;

/// How the effects of an instruction order it, as dependence graphs take them.
#[derive(Clone, Copy, Debug)]
struct Orders {
    full: bool,
    sync: bool,
    ordered: bool,
    soft: bool,
}

fn orders(row: &Row) -> Orders {
    let written = |class: SlotClass| {
        matches!(
            class,
            SlotClass::Uniform
                | SlotClass::UPred
                | SlotClass::UPredDown
                | SlotClass::UPredMask
                | SlotClass::AllUPreds
        )
    };
    let uniform = row.slots.iter().any(|slot| slot.direction != Direction::Read && written(slot.class));
    let reconverges = matches!(row.flow, Some(super::FlowKind::Reconverge(_)) | None);
    Orders {
        full: !reconverges || row.effects.intersects(Effects::OPAQUE),
        sync: row.effects.intersects(Effects::BARRIER | Effects::CONVERGENCE),
        ordered: row.effects.contains(Effects::ORDERED),
        soft: row.effects.contains(Effects::CROSS_LANE) || uniform || !row.mem.is_empty(),
    }
}

fn in_order(a: Orders, b: Orders) -> bool {
    let any = |o: Orders| o.sync || o.ordered || o.soft;
    a.full || b.full || (a.sync && any(b)) || (b.sync && any(a)) || (a.ordered && b.ordered)
}

fn rows(table: &FamilyTable) -> impl Iterator<Item = &Row> {
    (0..1 << 12).flat_map(|opcode| table.rows(opcode))
}

#[test]
fn every_opcode_has_a_row_and_who_shares_state_keeps_its_order() {
    let table = StateTable::documented();
    let mut families = BTreeMap::new();
    for family in (0..SMS as u16).filter_map(Tables::builtin) {
        families.insert(family.name.as_str(), family);
    }
    assert!(families.len() > 5);
    let mut loose = Vec::new();
    for (name, family) in families {
        let mut forms: BTreeMap<&str, (State, Orders)> = BTreeMap::new();
        // CS2R of the register that is always zero, which has a row of its own, reads nothing.
        let reads_zero = |row: &Row| &*row.mnemonic == "CS2R" && row.effects.is_empty();
        for row in rows(family).filter(|row| &*row.mnemonic != "-" && !reads_zero(row)) {
            let state = table.get(&row.mnemonic);
            let state = state.unwrap_or_else(|| panic!("{name}: {} has no row in state.csv", row.mnemonic));
            let new = orders(row);
            let weakest = forms.entry(&row.mnemonic).or_insert((state, new));
            weakest.1.full &= new.full;
            weakest.1.sync &= new.sync;
            weakest.1.ordered &= new.ordered;
            weakest.1.soft &= new.soft;
        }
        for (first, (state, a)) in &forms {
            for (second, (other, b)) in &forms {
                if state.meets(*other) && !in_order(*a, *b) {
                    loose.push(format!("{name}: {first} and {second}"));
                }
            }
        }
    }
    assert!(loose.is_empty(), "share hidden state, and nothing orders them: {loose:#?}");
}

#[test]
fn special_registers_that_change_are_read_in_place() {
    // Opcodes of S2R, CS2R, S2UR and CS2UR, and where they name the register.
    for opcode in [0x919, 0x805, 0x9c3, 0x8cb_u128] {
        for family in (0..SMS as u16).filter_map(Tables::builtin) {
            for number in 0..=255_u8 {
                let word = opcode | u128::from(number) << 72;
                let row =
                    family.rows(opcode as usize).iter().find(|row| row.when.iter().all(|c| c.holds(word)));
                let Some(row) = row.filter(|row| &*row.mnemonic != "-") else { continue };
                let (kept, changes) = (orders(row).sync, special::changes(number).is_some());
                assert_eq!(kept, changes, "{} of {} in {}", row.mnemonic, number, family.name);
            }
        }
    }
}
