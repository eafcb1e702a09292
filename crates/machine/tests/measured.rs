//! Measured latencies: facts, fallback and separation from the documented costs.

use sassafras_machine::Category::*;
use sassafras_machine::*;

fn on(arch: Arch) -> MeasuredLatencies<'static> {
    MeasuredLatencies::for_arch(arch)
}

fn cycles(lo: u32, hi: u32) -> Option<Cycles> {
    Span::new(lo, hi).map(Cycles)
}

#[test]
fn hopper() {
    let sm_90 = on(Arch::SM_90);
    assert_eq!(sm_90.raw(Alu, Alu), cycles(4, 4));
    assert_eq!(sm_90.raw(Alu, Fma), cycles(5, 5));
    assert_eq!(sm_90.raw(Fp64, Fp64), cycles(8, 8));
    assert_eq!(sm_90.raw(Tensor, Alu), None, "only HMMA is measured");
    let hmma = MeasuredQuery::between(Hazard::Raw, "HMMA.16816.F32", "IADD3").unwrap();
    assert_eq!(sm_90.lookup(&hmma).unwrap().cycles, cycles(27, 28));
    assert_eq!(sm_90.raw(Uniform, Alu), cycles(6, 6), "mined beats public");
    assert_eq!(sm_90.raw(UniformLoad, Fma), cycles(2, 2));
    assert_eq!(sm_90.issue_gap("FFMA").unwrap().cycles, cycles(1, 1));
    assert_eq!(sm_90.issue_gap("MUFU.RCP").unwrap().cycles, cycles(8, 8));
    assert_eq!(sm_90.issue_gap("LOP3.LUT").unwrap().cycles, cycles(2, 2));
    assert_eq!(sm_90.issue_gap("BAR.SYNC").unwrap().cycles, cycles(6, 6));
    let wait = MeasuredQuery::between(Hazard::MinWait, "BRA", "BRA").unwrap();
    assert_eq!(sm_90.lookup(&wait).unwrap().cycles, cycles(1, 1));
    let waw = MeasuredQuery::between(Hazard::Waw, "FFMA", "LDS.128").unwrap();
    assert_eq!(sm_90.lookup(&waw).unwrap().cycles, cycles(6, 6));
    assert_eq!(sm_90.war(Alu, Alu), None);
}

#[test]
fn guards_lanes_and_names() {
    let sm_90 = on(Arch::SM_90);
    let raw = MeasuredQuery::new(Hazard::Raw, Alu, Fma);
    let guard = MeasuredQuery { role: Role::Guard, register: RegisterKind::Predicate, ..raw };
    assert_eq!(sm_90.lookup(&guard).unwrap().cycles, cycles(13, 13));
    assert_eq!(on(Arch::SM_75).lookup(&guard).unwrap().cycles, cycles(12, 12));
    let wide = MeasuredQuery::new(Hazard::Raw, ImadWide, Fma);
    let lane = |lane| sm_90.lookup(&MeasuredQuery { lane, ..wide }).unwrap().cycles;
    assert_eq!(
        (lane(Some(Lane::Low)), lane(Some(Lane::High)), lane(None)),
        (cycles(3, 3), cycles(5, 5), cycles(5, 5))
    );
    let accumulate = MeasuredQuery {
        lane: Some(Lane::Low),
        role: Role::Accumulator,
        ..MeasuredQuery::new(Hazard::Raw, ImadWide, ImadWide)
    };
    assert_eq!(sm_90.lookup(&accumulate).unwrap().cycles, cycles(5, 5));
    let named =
        |p, c| sm_90.lookup(&MeasuredQuery::between(Hazard::Raw, p, c).unwrap()).and_then(|m| m.cycles);
    assert_eq!(named("FMUL.FTZ", "MUFU.EX2"), cycles(4, 4));
    let longer = MeasuredQuery {
        producer_mnemonic: Some("FMULX"),
        ..MeasuredQuery::between(Hazard::Raw, "FMUL", "MUFU").unwrap()
    };
    assert!(sm_90.lookup(&longer).is_none(), "a longer name is another instruction");
    assert_eq!(named("HFMA2.MMA", "IADD3"), cycles(8, 10));
    assert_eq!(named("UMOV", "IADD3"), cycles(5, 5));
    assert_eq!(named("UIADD3", "LDS"), cycles(9, 9));
    assert_eq!(named("IADD3", "STS"), cycles(5, 5));
}

#[test]
fn variable_latency_has_a_reason_and_no_number() {
    for arch in Arch::all() {
        let answer =
            on(arch).lookup(&MeasuredQuery::between(Hazard::Raw, "LDG.E", "IADD3").unwrap()).unwrap();
        assert_eq!(answer.cycles, None);
        assert_eq!(answer.row.guard, Some(Guard::Scoreboard));
        assert!(answer.row.reason.is_some());
    }
}

#[test]
fn fallback_is_named() {
    let query = MeasuredQuery::new(Hazard::Raw, Fp64, Fp64);
    let of = |arch| on(arch).lookup(&query).map(|m| (m.cycles, m.inherited_from));
    assert_eq!(of(Arch::SM_80), Some((cycles(6, 6), None)));
    assert_eq!(of(Arch::SM_89), Some((cycles(6, 6), Some(Arch::SM_80))));
    assert_eq!(of(Arch::SM_121), Some((cycles(8, 8), Some(Arch::SM_100))));
    assert_eq!(of(Arch::SM_70), Some((cycles(8, 9), Some(Arch::SM_75))));
    assert_eq!(of(Arch::SM_52), None);
    assert!(Arch::SM_52.info().measured_reason.is_some());
}

#[test]
fn unknown_on_hopper_does_not_borrow_from_ampere() {
    let answer = on(Arch::SM_90).lookup(&MeasuredQuery::new(Hazard::Raw, Half, Half)).unwrap();
    assert_eq!((answer.cycles, answer.inherited_from), (None, None));
    assert!(answer.row.reason.is_some());
}

#[test]
fn categories() {
    assert_eq!(Category::of("IMAD.WIDE.U32"), Some(ImadWide));
    assert_eq!(Category::of("IMAD.MOV.U32"), Some(Fma));
    assert_eq!(Category::of("LDG.E.128.CONSTANT"), Some(Global));
    assert_eq!(Category::of("QUUX"), None);
    for row in MeasuredTable::builtin().rows() {
        let fits = |name: &Option<String>, category: Option<Category>| match (name, category) {
            (Some(name), Some(category)) => {
                assert_eq!(Category::of(name), Some(category), "{name}")
            }
            (Some(name), None) => panic!("{name} named without a category"),
            _ => {}
        };
        fits(&row.producer_mnemonic, Some(row.producer));
        let consumer = match row.consumer {
            Consumer::Is(category) => Some(category),
            _ => None,
        };
        fits(&row.consumer_mnemonic, consumer);
    }
}
