use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::register_cost::PipelineBits;

fn reg(index: u32, class: u8, bits: u32) -> RegisterDesc {
    RegisterDesc { index, class, pipeline: PipelineBits::from_property_word(bits << 20) }
}

/// Register ids 0..64; ids 41..=44 would be expensive if the sentinel rule failed.
fn registers() -> Vec<RegisterDesc> {
    (0..64).map(|i| reg(i / 2, (i % 9) as u8, i % 4)).collect()
}

fn operand(id: u32) -> Operand {
    Operand { register: Some(id), last_use: false, release_eligible: true, exempt: false }
}

/// The model without state changes: a set, a fold, and nothing to roll back.
fn recompute(
    held: &BTreeSet<u32>,
    regs: &[RegisterDesc],
    tracking: Tracking,
    instr: &ResourceInstr<'_>,
    differential: bool,
) -> (ResourceVector, BTreeSet<u32>) {
    let mut held = held.clone();
    let mut out = [0; PIPES];
    for op in instr.operands {
        let Some(id) = op.register else { continue };
        let desc = regs[id as usize];
        if (41..=44).contains(&id) || desc.class > 6 {
            continue;
        }
        let c = register_cost(tracking, &desc);
        if differential && op.last_use {
            if op.release_eligible && held.remove(&c.start) {
                out[usize::from(desc.class)] -= c.cost;
            }
        } else if !op.exempt && held.insert(c.start) {
            out[usize::from(desc.class)] += c.cost;
        }
    }
    let pressure = i32::from(instr.sched_word % 512);
    if differential && pressure > 0 && out[6] < pressure {
        out[6] = pressure;
    }
    (out, held)
}

fn any_operand() -> impl Strategy<Value = Operand> {
    (proptest::option::weighted(0.9, 0u32..64), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(register, last_use, release_eligible, exempt)| Operand {
            register,
            last_use,
            release_eligible,
            exempt,
        },
    )
}

proptest! {
    #[test]
    fn differential_mode_leaves_no_trace_and_equals_recomputation(
        before in proptest::collection::vec(any_operand(), 0..6),
        operands in proptest::collection::vec(any_operand(), 0..12),
        live in proptest::collection::btree_set(0u32..64, 0..20),
        sched_word: u16,
        tracking in (0u8..4).prop_map(|b| Tracking::from_bits_truncate(b << 3)),
    ) {
        let regs = registers();
        let mut state = ResourceState::default();
        live.iter().for_each(|&r| state.hold(r));
        let mut out = [0; PIPES];
        let first = ResourceInstr { operands: &before, sched_word: 0 };
        state.cost(CostMode::OwnCost, &regs[..], tracking, &first, &mut out).unwrap();
        let (expected, held) = recompute(&live, &regs, tracking, &first, false);
        prop_assert_eq!(out, expected);
        prop_assert!(state.held.ones().map(|i| i as u32).eq(held.iter().copied()));

        let instr = ResourceInstr { operands: &operands, sched_word };
        let snapshot = state.clone();
        state.cost(CostMode::Differential, &regs[..], tracking, &instr, &mut out).unwrap();
        prop_assert!(state == snapshot);
        prop_assert_eq!(out, recompute(&held, &regs, tracking, &instr, true).0);
    }

    #[test]
    fn slot_bytes_round_trip(bytes in proptest::collection::vec(any::<u8>(), BlockSlot::BYTES)) {
        let bytes: [u8; BlockSlot::BYTES] = bytes.try_into().unwrap();
        prop_assert_eq!(BlockSlot::from_bytes(&bytes).to_bytes(), bytes);
    }

    #[test]
    fn no_operand_word_panics(raws in proptest::collection::vec(any::<(u64, bool)>(), 0..8), sched_word: u16) {
        struct Huge;
        impl RegisterTable for Huge {
            fn register(&self, id: u32) -> Option<RegisterDesc> {
                Some(reg(id.wrapping_mul(1 << 12), (id % 8) as u8, id % 4))
            }
        }
        let operands: Vec<_> = raws.iter().map(|&(r, e)| Operand::from_raw(r, e)).collect();
        let instr = ResourceInstr { operands: &operands, sched_word };
        let _ = BlockSlot::default().charge(&mut ResourceState::default(), &Huge, Tracking::DUAL, &instr);
    }
}

#[test]
fn packed_operands() {
    let op = Operand::from_raw(0x1000_0005, true);
    assert_eq!(op, operand(5));
    assert!(Operand::from_raw(0x9000_0005, true).last_use);
    assert!(Operand::from_raw(0x0080_0000_1000_0005, true).exempt);
    assert_eq!(Operand::from_raw(0x2000_0005, true).register, None);
}

#[test]
fn skip_rules() {
    let regs = registers();
    let mut state = ResourceState::default();
    let mut out = [9; PIPES];
    let no_register = Operand { register: None, ..operand(0) };
    let exempt = Operand { exempt: true, ..operand(0) };
    let ops =
        [operand(41), operand(42), operand(43), operand(44), operand(7), operand(8), no_register, exempt];
    let instr = ResourceInstr { operands: &ops, sched_word: 0 };
    state.cost(CostMode::OwnCost, &regs[..], Tracking::empty(), &instr, &mut out).unwrap();
    assert_eq!(out, [0; PIPES], "sentinels, classes 7 and 8, immediates and exempt operands are free");
    let ops = [operand(64)];
    let instr = ResourceInstr { operands: &ops, sched_word: 0 };
    let error = state.cost(CostMode::Differential, &regs[..], Tracking::empty(), &instr, &mut out);
    assert_eq!(error, Err(ResourceError::UnknownRegister { operand: 0, id: 64 }));
}

#[test]
fn three_phases_fill_their_parts_of_the_slot() {
    // Two operands name r5 (class 0, cost 1), once as its last use; r6 (class 6, double width) stays alive.
    let regs = [reg(5, 0, 1), reg(6, 6, 3)];
    let last = Operand { last_use: true, ..operand(0) };
    let ops = [operand(0), last, operand(1)];
    let instr = ResourceInstr { operands: &ops, sched_word: 0xFE00 | 3 };
    let (mut slot, mut state) = (BlockSlot::default(), ResourceState::default());
    slot.charge(&mut state, &regs[..], Tracking::empty(), &instr).unwrap();
    assert_eq!((slot.usage[0], slot.usage[6]), (1, 2));
    assert_eq!((slot.delta[0], slot.delta[6]), (-1, 3), "one release; the pressure field fills bucket 6");
    assert_eq!((slot.entered, slot.pressure, state.pressure()), (true, 3, 3));
    assert_eq!(state.added(), [5, 6]);
    assert_eq!(slot.view()[..PIPES], slot.usage);
    assert_eq!(slot.view()[PIPES..], slot.delta);
    assert_eq!(slot.to_bytes()[80..], [3 << 1 | 1, 0, 0, 0]);
}

#[test]
fn pressure_only_raises_the_bucket() {
    assert_eq!((raised(5, 3), raised(2, 3), raised(-4, 0), raised(-4, 1)), (5, 3, -4, 1));
}

#[test]
fn a_released_register_costs_again() {
    let regs = [reg(5, 0, 1)];
    let instr = ResourceInstr { operands: &[operand(0)], sched_word: 0 };
    let mut state = ResourceState::default();
    let mut own = || {
        let mut out = [0; PIPES];
        state.cost(CostMode::OwnCost, &regs[..], Tracking::empty(), &instr, &mut out).unwrap();
        state.release(6);
        let before = (out[0], state.is_held(5));
        if out[0] == 0 {
            state.release(5);
        }
        before
    };
    assert_eq!([own(), own(), own()], [(1, true), (0, true), (1, true)]);
}

#[test]
fn mode_numbers() {
    let modes: Vec<_> = (0..5).map(CostMode::from_number).collect();
    let expected = [CostMode::OwnCost, CostMode::OwnCost, CostMode::Differential, CostMode::Pressure];
    assert_eq!(modes[..4], expected.map(Some));
    assert_eq!(modes[4], None);
}
