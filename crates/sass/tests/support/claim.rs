//! A decoded instruction as the comparison with nvdisasm takes it.

use sassafras_ir::{Effects, Lane, RegClass};
use sassafras_sass::Decoded;
use sassafras_testkit::nvdisasm::{Claim, Lanes};

/// The registers that a decoder names for an instruction which is not opaque.
pub fn claim(inst: &Decoded) -> Claim<'static> {
    // Convergence barriers are not listed.
    let listed = |lane: &Lane| lane.class() != RegClass::Barrier;
    let mut reads: Lanes = inst.reads().flat_map(|reg| reg.span.lanes()).filter(listed).collect();
    reads.extend(inst.guard().map(|guard| guard.lane));
    Claim {
        mnemonic: inst.mnemonic().expect("not opaque"),
        never_runs: inst.never_runs(),
        calls: inst.effects().contains(Effects::CALL),
        reads,
        writes: inst.writes().flat_map(|reg| reg.span.lanes()).filter(listed).collect(),
    }
}
