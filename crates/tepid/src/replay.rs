//! Goal: how long a sub-core takes for the body of a loop as it is written, control fields included.
//!
//! Where [`Pipeline`](crate::pipeline::Pipeline) judges orders by what they depend on, this runs code by its stalls, scoreboards, turns and
//! reuse flags, as the hardware does, and so also sees what they cost: scoreboards that several results share, waits that come
//! too early, turns that are given away, operands that another warp has pushed out.
//!
//! Every cycle one warp may issue: the one that issued last if it has kept its turn, else any other, else itself. A warp can issue when
//! its stall is over, the scoreboards that it waits for are clear and its pipes are free. An instruction whose sources cannot be read
//! within the window of the register banks holds everybody up. At a barrier warps wait for each other.
//!
//! Cost: linear in warps times instructions times iterations. Source: measured on an H200. The loop of n-body takes 188 cycles per warp and
//! iteration with eight warps and 240 with two (ncu), and 188 and 240 here; over 47 versions of it times rank with 0.86 and 0.46, over 62
//! orders of sgemm128 with 0.76.

use crate::banks::Banks;
use crate::body::NodeFacts;
use crate::code::{Code, Sources, index};
use crate::original::Fields;
use sassafras_ir::{Effects, Inst, Span};
use sassafras_machine::dispatch::Pipe;
use sassafras_machine::multiprocessor::Multiprocessor;
use smallvec::SmallVec;

/// Iterations that are run, of which the first warms up.
const ITERATIONS: usize = 5;
/// Scoreboards of a warp.
const BOARDS: usize = 6;
/// Cycles that a barrier takes when all have come.
const BARRIER: u32 = 10;
/// Who waits for others at a barrier.
const NEVER: u32 = u32::MAX;

/// The body of a loop, as it is written.
pub struct Replay {
    steps: Vec<Step>,
    sm: &'static Multiprocessor,
}

/// An instruction.
struct Step {
    fields: Fields,
    pipes: SmallVec<[(Pipe, u16); 2]>,
    sources: Sources,
    /// Cycles until the result is there, and until the sources are read.
    latencies: [u32; 2],
    meets: bool,
}

#[derive(Clone, Default)]
struct Warp {
    at: usize,
    /// When its stall is over.
    next: u32,
    /// When each scoreboard is clear.
    boards: [u32; BOARDS],
    meets: bool,
}

/// What all warps share.
#[derive(Default)]
struct Shared {
    free: [u32; Pipe::ALL.len()],
    banks: Banks,
    /// By place and bank: whose register is at hand.
    kept: [[Option<(usize, Span)>; 2]; 3],
}

impl Replay {
    /// Instructions with their control fields, which are found by instruction.
    pub fn new(code: &Code<'_>, insts: &[Inst], fields: &[Fields]) -> Replay {
        let sm = Multiprocessor::of(code.arch);
        let step = |&inst: &Inst| {
            let facts = NodeFacts::new(code, inst, sm);
            Step {
                fields: fields[index(inst)],
                pipes: facts.pipes,
                sources: facts.sources,
                latencies: [code.op(inst).expected.write, code.op(inst).expected.read].map(u32::from),
                meets: code.f.inst(inst).effects.contains(Effects::BARRIER),
            }
        };
        Replay { steps: insts.iter().map(step).collect(), sm }
    }

    /// Cycles per iteration and warp, times 16, with so many warps.
    pub fn cycles(&self, warps: usize) -> u32 {
        let Replay { steps, sm } = self;
        if steps.is_empty() || warps == 0 {
            return 0;
        }
        let once = steps.len() * warps;
        let mut warps = vec![Warp::default(); warps];
        let mut shared = Shared::default();
        let (mut now, mut current, mut keeps, mut warm) = (0, 0, false, 0);
        for issued in 0..ITERATIONS * once {
            let chosen = loop {
                let ready = |i: usize| warps[i].ready(steps, &shared, sm.memory_queue);
                let others = (0..warps.len()).rev().filter(|&i| i != current);
                let first = keeps.then_some(current).into_iter().chain(others).chain(Some(current));
                let mut soonest = NEVER;
                let mut found = None;
                for i in first {
                    let at = ready(i);
                    if at <= now {
                        found = Some(i);
                        break;
                    }
                    soonest = soonest.min(at);
                }
                match found {
                    Some(i) => break i,
                    // All wait for somebody who never comes: there is no such code.
                    None if soonest == NEVER => return NEVER,
                    None => now = soonest,
                }
            };
            let step = &steps[warps[chosen].at];
            let held = shared.read(step, chosen, now, sm.bank_window);
            now += held;
            let started = shared.occupy(step, now);
            warps[chosen].go_on(step, now, started, steps.len());
            if step.meets && warps.iter().all(|warp| warp.meets) {
                for warp in &mut warps {
                    warp.meets = false;
                    warp.next = warp.next.max(now + BARRIER);
                }
            }
            (current, keeps) = (chosen, !step.fields.yields);
            now += 1;
            if issued + 1 == once {
                warm = now;
            }
        }
        let counted = (ITERATIONS - 1) * warps.len();
        ((u64::from(now - warm) * 16) / counted as u64) as u32
    }
}

impl Warp {
    /// When it can issue its next instruction.
    fn ready(&self, steps: &[Step], shared: &Shared, queue: u32) -> u32 {
        if self.meets {
            return NEVER;
        }
        let step = &steps[self.at];
        let mut at = self.next;
        for board in (0..BOARDS).filter(|board| step.fields.wait >> board & 1 == 1) {
            at = at.max(self.boards[board]);
        }
        for &(pipe, _) in &step.pipes {
            let slack = if pipe == Pipe::Memory { queue } else { 0 };
            at = at.max(shared.free[pipe as usize].saturating_sub(slack));
        }
        at
    }

    fn go_on(&mut self, step: &Step, now: u32, started: u32, length: usize) {
        for (board, latency) in [step.fields.write, step.fields.read].into_iter().zip(step.latencies) {
            if let Some(slot) = board.and_then(|board| self.boards.get_mut(usize::from(board))) {
                *slot = (*slot).max(started + latency);
            }
        }
        self.next = now + u32::from(step.fields.stall.max(1));
        self.meets = step.meets;
        self.at = (self.at + 1) % length;
    }
}

impl Shared {
    /// Reads the sources of an instruction. Returns for how long that holds up what follows.
    fn read(&mut self, step: &Step, warp: usize, now: u32, window: u32) -> u32 {
        let mut fetched = [0u8; 2];
        for (place, source) in step.sources.iter().enumerate() {
            let Some(span) = *source else { continue };
            let bank = span.first().index() as usize % 2;
            if self.kept[place][bank] != Some((warp, span)) {
                span.lanes().for_each(|lane| fetched[lane.index() as usize % 2] += 1);
            }
            let stays = step.fields.reuse >> place & 1 == 1;
            self.kept[place][bank] = stays.then_some((warp, span));
            if span.len() > 1 {
                self.kept[place][1 - bank] = None;
            }
        }
        self.banks.read(now, fetched, window)
    }

    /// Takes the pipes. Returns when the instruction's turn in the queue has come.
    fn occupy(&mut self, step: &Step, now: u32) -> u32 {
        let mut started = now;
        for &(pipe, cycles) in &step.pipes {
            let free = &mut self.free[pipe as usize];
            if pipe == Pipe::Memory {
                started = now.max(*free);
                *free = started + u32::from(cycles);
            } else {
                *free = now + u32::from(cycles);
            }
        }
        started
    }
}
