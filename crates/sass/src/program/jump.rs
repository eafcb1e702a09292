//! Goal: calls that nothing comes back from, told apart from those that return.
//!
//! `CALL.REL` keeps no return address: whoever calls puts one into registers, and `RET` reads it there. So a call is a plain
//! branch when no `RET` that its target leads to can have the address from before the target. Compilers end loops of sm_80 to
//! sm_89 so: `@P0 CALL.REL.NOINC behind; BRA loop`. Taken for a call, such a loop would wait for everything that is under way,
//! every time around.
//!
//! In order of priority: no call that may return is taken for a branch; as many branches as can be are found. What is not
//! known stays a call: a target that a symbol names (it is a function), one that leads to an indirect branch or call, to
//! opaque code or out of the section, and one that leads to a return whose address comes from memory or arithmetic.
//!
//! Cost: linear in the code, once for every register that holds return addresses. Ways lead into callees and past calls.

use std::collections::{BTreeSet, HashSet};

use sassafras_ir::{Lane, Span};

use crate::decode::{Decoded, Flow, INSTRUCTION_BYTES};

/// The addresses of calls that are branches, in order. The code is that of a whole section.
pub(super) fn find(decoded: &[Decoded], functions: &[u64], indirect: &[(u64, Vec<u64>)]) -> Vec<u64> {
    let functions: BTreeSet<u64> = functions.iter().copied().collect();
    let is_local = |target: &u64| at(decoded, *target).is_some() && !functions.contains(target);
    let calls: Vec<(u64, u64)> =
        decoded.iter().filter_map(|inst| Some((inst.pc(), call_target(inst).filter(is_local)?))).collect();
    if calls.is_empty() {
        return Vec::new();
    }
    let returns = Ways::new(decoded, indirect).returns();
    let jumps = calls.into_iter().filter(|&(_, target)| at(decoded, target).is_some_and(|to| !returns[to]));
    jumps.map(|(call, _)| call).collect()
}

fn call_target(inst: &Decoded) -> Option<u64> {
    match inst.flow() {
        Flow::Call { target } if !inst.is_opaque() => Some(target),
        _ => None,
    }
}

/// The number of the instruction at an address.
fn at(decoded: &[Decoded], address: u64) -> Option<usize> {
    let index = usize::try_from(address / INSTRUCTION_BYTES).ok()?;
    (address.is_multiple_of(INSTRUCTION_BYTES) && index < decoded.len()).then_some(index)
}

/// Where control may go, backwards. Nothing leads on from a return: those who called have ways past their calls.
struct Ways<'a> {
    decoded: &'a [Decoded],
    /// By instruction: those that control may come from.
    from: Vec<Vec<u32>>,
    /// Instructions behind which nothing is known.
    lost: Vec<usize>,
}

impl<'a> Ways<'a> {
    fn new(decoded: &'a [Decoded], indirect: &[(u64, Vec<u64>)]) -> Ways<'a> {
        let mut ways = Ways { decoded, from: vec![Vec::new(); decoded.len()], lost: Vec::new() };
        for (i, inst) in decoded.iter().enumerate() {
            let known = match inst.flow() {
                _ if inst.is_opaque() => false,
                Flow::Next | Flow::Return | Flow::Exit => true,
                Flow::Branch { target } | Flow::Call { target } | Flow::Reconverge { target } => {
                    ways.add(i, target)
                }
                Flow::IndirectBranch => {
                    let targets = indirect.iter().find(|(branch, _)| *branch == inst.pc());
                    let targets = targets.map_or(&[][..], |(_, targets)| targets);
                    !targets.is_empty() && targets.iter().all(|&target| ways.add(i, target))
                }
                Flow::CallElsewhere => false,
            };
            if !known || !inst.leaves() && !ways.add(i, inst.pc() + INSTRUCTION_BYTES) {
                ways.lost.push(i);
            }
        }
        ways
    }

    /// Control may go to an address. Returns whether that is in the code.
    fn add(&mut self, from: usize, to: u64) -> bool {
        let to = at(self.decoded, to);
        if let Some(to) = to {
            self.from[to].push(from as u32);
        }
        to.is_some()
    }

    /// By instruction: whether control that comes to it may return to an address from before, or get lost.
    fn returns(mut self) -> Vec<bool> {
        let mut returns = vec![false; self.decoded.len()];
        let mut seen = HashSet::new();
        let mut stack = Vec::new();
        for (i, inst) in self.decoded.iter().enumerate().filter(|(_, inst)| inst.flow() == Flow::Return) {
            match inst.reads().find(|reg| !reg.span.class().can_guard()) {
                Some(reg) => stack.push((i, reg.span.first())),
                None => self.lost.push(i),
            }
        }
        // A register in which a return finds its address, and an instruction before which the address is there.
        while let Some((i, address)) = stack.pop() {
            if !seen.insert((i, address)) {
                continue;
            }
            returns[i] = true;
            for from in self.from[i].iter().map(|&from| from as usize) {
                let source = source(&self.decoded[from], address);
                stack.extend(source.lanes.into_iter().flatten().map(|lane| (from, lane)));
                if source.is_unknown {
                    self.lost.push(from);
                }
            }
        }
        self.mark_back(&mut returns);
        returns
    }

    /// Marks everything that leads to where control gets lost.
    fn mark_back(mut self, marks: &mut [bool]) {
        let mut seen = vec![false; self.decoded.len()];
        while let Some(i) = self.lost.pop() {
            if !std::mem::replace(&mut seen[i], true) {
                marks[i] = true;
                self.lost.extend(self.from[i].iter().map(|&from| from as usize));
            }
        }
    }
}

/// Where an address that is in a register behind an instruction may be from.
#[derive(Clone, Copy, Debug, Default)]
struct Source {
    /// Registers before the instruction.
    lanes: [Option<Lane>; 2],
    /// Memory, or something that was computed.
    is_unknown: bool,
}

/// Where an address in a register behind an instruction is from: nowhere if the instruction itself names the address.
fn source(inst: &Decoded, address: Lane) -> Source {
    let runs = !inst.never_runs();
    let writes = runs && inst.writes().any(|reg| reg.span.overlaps(Span::from(address)));
    let stays = (!writes || inst.guard().is_some()).then_some(address);
    let copied = inst.copied().filter(|_| writes);
    let is_unknown = writes && copied.is_none() && !inst.names_a_place();
    Source { lanes: [stays, copied], is_unknown }
}
