//! Goal: how long a sub-core takes for the body of a loop as it is written, control fields included.
//!
//! Where [`Pipeline`](crate::pipeline::Pipeline) judges orders by what they depend on, this runs code by its stalls, scoreboards, turns and
//! reuse flags, as the hardware does, and so also sees what they cost: scoreboards that several results share, waits that come
//! too early, turns that are given away, operands that another warp has pushed out.
//!
//! Every cycle one warp may issue: the one that issued last if it has kept its turn, else any other, else itself. A warp can issue when
//! its stall is over, the scoreboards that it waits for are clear and its pipes are free. An instruction whose sources cannot be read
//! within the window of the register banks holds everybody up. A stall of 0 lets the pipeline drain: what follows comes when all results of fixed
//! latency have settled. At a barrier warps wait for each other. Copies that run beside the warp are
//! gathered by `LDGDEPBAR`, matrix products of a warpgroup by their group; `DEPBAR` and `WARPGROUP.DEPBAR` wait for all but so many.
//!
//! [`Replay::cycles`] says how long it takes, [`Replay::watch`] what every cycle was lost to.
//!
//! Cost: linear in warps times instructions times iterations. Source: measured on an H200. The loop of n-body takes 188 cycles per warp and
//! iteration with eight warps and 240 with two (ncu), and 188 and 240 here; over 47 versions of it times rank with 0.86 and 0.46, over 62
//! orders of sgemm128 with 0.76.

use crate::banks::Banks;
use crate::body::NodeFacts;
use crate::code::{Code, Sources, Special, index};
use crate::original::{Depbar, Fields};
use sassafras_ir::{Effects, Inst, Payload, Span};
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
    /// Whether anybody counts those that set a scoreboard.
    counts: bool,
    sm: &'static Multiprocessor,
}

/// An instruction.
struct Step {
    fields: Fields,
    pipes: SmallVec<[(Pipe, u16); 2]>,
    sources: Sources,
    /// Cycles until the result is there, and until the sources are read.
    latencies: [u32; 2],
    /// Cycles until a result of fixed latency has settled; 0 for what takes its time.
    settle: u32,
    meets: bool,
    beside: Beside,
}

/// What an instruction has to do with work that goes on beside the warp.
#[derive(Clone, Copy)]
enum Beside {
    /// Nothing.
    No,
    /// A copy from global to shared memory, and the cycles until it is done.
    Copy(u32),
    /// Its scoreboard is clear when all copies so far are done.
    Gather,
    /// Waits for scoreboards, one of them but for so many.
    Boards(Depbar),
    /// A matrix product that keeps the tensor pipe for so many cycles; the last of a group says so.
    Product { cycles: u32, last: bool },
    /// Waits for all groups of products but so many.
    Groups(usize),
}

/// An instruction that was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issue {
    /// By which warp.
    pub warp: usize,
    /// Its place in the body.
    pub step: usize,
    /// The cycle.
    pub at: u32,
    /// The cycles since the warp's last instruction, but for the one that it took.
    pub lost: Lost,
    /// When its pipes took it up: later than it was issued where it queued.
    pub started: u32,
    /// When the scoreboard of its result is clear, and that of its sources; what it would be where it sets none.
    pub done: [u32; 2],
}

/// Cycles between two instructions of a warp by what they were lost to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// The stall of the instruction before.
    pub stall: u32,
    /// A barrier that others had not come to.
    pub meeting: u32,
    /// A scoreboard.
    pub wait: u32,
    /// Which one came last; none where work beside the warp was waited for.
    pub board: Option<u8>,
    /// A pipe that was busy.
    pub busy: u32,
    /// Which one.
    pub pipe: Option<Pipe>,
    /// Turns of other warps, and their register reads.
    pub turn: u32,
    /// Reads of its own sources, after its turn had come.
    pub banks: u32,
}

impl Lost {
    /// All of them.
    pub fn total(&self) -> u32 {
        self.stall + self.meeting + self.wait + self.busy + self.turn + self.banks
    }
}

#[derive(Clone, Default)]
struct Warp {
    at: usize,
    /// When its stall is over, and when its last instruction was.
    next: u32,
    since: u32,
    /// When the last of its results of fixed latency has settled.
    drained: u32,
    /// When each scoreboard is clear.
    boards: [u32; BOARDS],
    /// When each of those who set it is done, where somebody counts them.
    pending: [SmallVec<[u32; 4]>; BOARDS],
    /// When the copies so far, the products of this group, and those of groups before are done.
    copied: u32,
    product: u32,
    groups: SmallVec<[u32; 4]>,
    meets: bool,
    /// When it may leave the barrier.
    released: u32,
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
                settle: if code.op(inst).decoupled { 0 } else { code.settle(inst).into() },
                meets: code.f.inst(inst).effects.contains(Effects::BARRIER) && !code.has_group(&[inst]),
                beside: Beside::of(code, inst),
            }
        };
        let steps: Vec<Step> = insts.iter().map(step).collect();
        let counts = steps.iter().any(|step| matches!(step.beside, Beside::Boards(_)));
        Replay { steps, counts, sm }
    }

    /// Cycles per iteration and warp, times 16, with so many warps.
    pub fn cycles(&self, warps: usize) -> u32 {
        self.cycles_within(warps, NEVER - 1).unwrap_or(NEVER)
    }

    /// As [`Replay::cycles`], unless they are more than a limit, which is told as soon as it is clear.
    pub fn cycles_within(&self, warps: usize, limit: u32) -> Option<u32> {
        let counted = ((ITERATIONS - 1) * warps.max(1)) as u64;
        // So long they take when they take one more than that.
        let longest = (u64::from(limit) + 1) * counted;
        let (warm, end) = self.run(warps, [ITERATIONS, 1], longest.div_ceil(16), None)?;
        let cycles = u64::from(end - warm) * 16 / counted;
        u32::try_from(cycles).ok().filter(|&cycles| cycles <= limit)
    }

    /// The fewest cycles that any order takes, as [`Replay::cycles`] counts them: one for each instruction.
    pub fn least(&self) -> u32 {
        16 * self.steps.len() as u32
    }

    /// Runs so many iterations and shows every instruction that is issued. Returns when the first iterations of all warps were over, and
    /// the last; none where warps wait for each other for ever.
    pub fn watch(&self, warps: usize, iterations: usize, mut see: impl FnMut(Issue)) -> Option<(u32, u32)> {
        self.run(warps, [iterations, 1], u64::MAX, Some(&mut see))
    }

    /// As [`Replay::watch`] with nobody watching. Returns when the first `warm` iterations of all warps were over, and the last.
    pub fn times(&self, warps: usize, iterations: usize, warm: usize) -> Option<(u32, u32)> {
        self.run(warps, [iterations, warm], u64::MAX, None)
    }

    /// Of the iterations so many warm up. Gives up when it is clear that those behind them take `longest` cycles or more.
    fn run(
        &self,
        warps: usize,
        [iterations, warming]: [usize; 2],
        longest: u64,
        mut see: Option<&mut dyn FnMut(Issue)>,
    ) -> Option<(u32, u32)> {
        let Replay { steps, sm, .. } = self;
        let once = steps.len() * warps;
        let mut warps = vec![Warp::default(); warps];
        // When each can go, side by side: all of them are looked at for every instruction.
        let mut could = vec![0; warps.len()];
        let mut shared = Shared::default();
        let (all, warming) = (iterations * once, warming * once);
        let (mut now, mut current, mut keeps, mut warm) = (0, 0, false, 0);
        for issued in 0..all {
            let free = |i: usize| shared.free(&steps[warps[i].at], sm.memory_queue).0;
            let others = (0..could.len()).rev().filter(|&i| i != current);
            let mut soonest = (NEVER, None);
            // Who can go at once goes; otherwise who can go soonest, the first of these. Most cannot, whatever pipes are free.
            for i in keeps.then_some(current).into_iter().chain(others).chain(Some(current)) {
                if could[i] >= soonest.0 {
                    continue;
                }
                let at = could[i].max(free(i));
                if at <= now {
                    soonest = (now, Some(i));
                    break;
                }
                if at < soonest.0 {
                    soonest = (at, Some(i));
                }
            }
            // All wait for somebody who never comes: there is no such code.
            let (at, Some(chosen)) = soonest else { return None };
            now = at;
            let step = &steps[warps[chosen].at];
            let held = shared.read(step, chosen, now, sm.bank_window);
            let lost = see
                .is_some()
                .then(|| Lost { banks: held, ..warps[chosen].lost(steps, &shared, sm.memory_queue, now) });
            now += held;
            let at = warps[chosen].at;
            let started = shared.occupy(step, now);
            let done = warps[chosen].go_on(step, now, started, self);
            could[chosen] = warps[chosen].could(steps);
            if let (Some(see), Some(lost)) = (&mut see, lost) {
                see(Issue { warp: chosen, step: at, at: now, lost, started, done });
            }
            if step.meets && warps.iter().all(|warp| warp.meets) {
                for (warp, could) in warps.iter_mut().zip(&mut could) {
                    warp.meets = false;
                    warp.released = now + BARRIER;
                    *could = warp.could(steps);
                }
            }
            (current, keeps) = (chosen, !step.fields.yields);
            now += 1;
            if issued + 1 == warming {
                warm = now;
            }
            // Whatever is still to come takes a cycle at least.
            if issued + 1 > warming && u64::from(now - warm) + (all - issued - 1) as u64 >= longest {
                return None;
            }
        }
        Some((warm, now))
    }
}

impl Beside {
    fn of(code: &Code<'_>, inst: Inst) -> Beside {
        let f = code.f;
        let Payload::Word(word) = f.inst(inst).payload else { return Beside::No };
        let name = f.opcode_text(f.inst(inst).opcode);
        match code.op(inst).special {
            Special::Depbar => Beside::Boards(Depbar::of(word)),
            Special::Warpgroup if name.starts_with("WARPGROUP") => match word >> WAITS & 1 {
                1 => Beside::Groups((word >> GROUPS & 7) as usize),
                _ => Beside::No,
            },
            Special::Warpgroup => {
                let cycles = code.product_cycles(inst);
                Beside::Product { cycles, last: word >> GROUP & 7 != NO_GROUP }
            }
            _ if name.starts_with("LDGSTS") => Beside::Copy(code.op(inst).expected.write.into()),
            _ if name.starts_with("LDGDEPBAR") => Beside::Gather,
            _ => Beside::No,
        }
    }
}

/// Bits of the words of warpgroups: whether one waits, for all but how many groups, and the group that a product ends.
const WAITS: u32 = 47;
const GROUPS: u32 = 72;
const GROUP: u32 = 84;
const NO_GROUP: u128 = 7;

/// When at most `but` of these are under way.
fn all_but(times: &[u32], but: usize) -> u32 {
    match times.len().checked_sub(but + 1) {
        // They come in order, nearly always: what is asked for is when so many have come.
        Some(last) => times[..=last].iter().copied().max().unwrap_or(0),
        None => 0,
    }
}

impl Warp {
    /// When it can issue its next instruction, pipes aside: only its own instructions and barriers change that.
    fn could(&self, steps: &[Step]) -> u32 {
        if self.meets {
            return NEVER;
        }
        self.next.max(self.released).max(self.clear(&steps[self.at]).0)
    }

    /// When what an instruction waits for is done, and the scoreboard that is last.
    fn clear(&self, step: &Step) -> (u32, Option<u8>) {
        let mut last = (0, None);
        let mut waits = step.fields.wait;
        match step.beside {
            Beside::Boards(depbar) => {
                waits |= depbar.drained;
                let board = usize::from(depbar.board).min(BOARDS - 1);
                last = (all_but(&self.pending[board], usize::from(depbar.count)), Some(depbar.board));
            }
            Beside::Groups(but) => last = (all_but(&self.groups, but), None),
            _ => {}
        }
        for board in (0..BOARDS as u8).filter(|board| waits >> board & 1 == 1) {
            let at = self.boards[usize::from(board)];
            if at > last.0 {
                last = (at, Some(board));
            }
        }
        last
    }

    /// What the cycles since its last instruction were lost to, now that it issues the next.
    fn lost(&self, steps: &[Step], shared: &Shared, queue: u32, now: u32) -> Lost {
        let step = &steps[self.at];
        let mut at = self.since;
        let mut until = |end: u32| {
            let lost = end.min(now).saturating_sub(at);
            at += lost;
            lost
        };
        let (clear, board) = self.clear(step);
        let (free, pipe) = shared.free(step, queue);
        let (stall, meeting, wait, busy) =
            (until(self.next), until(self.released), until(clear), until(free));
        let board = board.filter(|_| wait > 0);
        let pipe = pipe.filter(|_| busy > 0);
        Lost { stall, meeting, wait, board, busy, pipe, turn: until(now), banks: 0 }
    }

    /// Notes that an instruction was issued. Returns when its result is there and its sources are read.
    fn go_on(&mut self, step: &Step, now: u32, started: u32, replay: &Replay) -> [u32; 2] {
        let mut latencies = step.latencies;
        match step.beside {
            Beside::Copy(latency) => self.copied = self.copied.max(started + latency),
            Beside::Gather => latencies[0] = latencies[0].max(self.copied.saturating_sub(started)),
            Beside::Product { cycles, last } => {
                self.product = self.product.max(started + cycles);
                if last {
                    self.groups.retain(|done| *done > now);
                    self.groups.push(self.product);
                }
            }
            _ => {}
        }
        for (board, latency) in [step.fields.write, step.fields.read].into_iter().zip(latencies) {
            if let Some(board) = board.map(usize::from).filter(|&board| board < BOARDS) {
                let done = started + latency;
                self.boards[board] = self.boards[board].max(done);
                if replay.counts {
                    self.pending[board].retain(|done| *done > now);
                    self.pending[board].push(done);
                }
            }
        }
        self.since = now + 1;
        self.drained = self.drained.max(started + step.settle);
        self.next = match step.fields.stall {
            0 => self.drained.max(now + 1),
            stall => now + u32::from(stall),
        };
        self.meets = step.meets;
        self.at = if self.at + 1 == replay.steps.len() { 0 } else { self.at + 1 };
        latencies.map(|latency| started + latency)
    }
}

impl Shared {
    /// When the pipes of an instruction are free, and the one that is last. Some are queued for and hold nobody up.
    fn free(&self, step: &Step, queue: u32) -> (u32, Option<Pipe>) {
        let mut last = (0, None);
        for &(pipe, _) in &step.pipes {
            let slack = if pipe == Pipe::Memory { queue } else { 0 };
            let at = self.free[pipe as usize].saturating_sub(slack);
            if at > last.0 && !matches!(step.beside, Beside::Product { .. }) {
                last = (at, Some(pipe));
            }
        }
        last
    }

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
        if let Beside::Product { cycles, .. } = step.beside {
            let free = &mut self.free[Pipe::Tensor as usize];
            started = now.max(*free);
            *free = started + cycles;
            return started;
        }
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
