//! Whatever a schedule holds, the checker gives an answer, and soon.

use proptest::prelude::*;
use sassafras_tileir::program::{self, Op, Program, Storage, Value};
use sassafras_tileir::scheduled::{
    self, Action, AgentData, At, Backing, BarrierArea, Base, Buffer, BufferData, Flavour, Input, Member,
    Mutex, MutexData, Pipe, PipeData, Place, Reader, Scheduled, Source, Step, Strategy as Split, Turn,
};
use sassafras_verify::tile::mutate::{Kind, mutate};
use sassafras_verify::tile::{Effort, Limits, check, explore, prove, replay};

const LOOPS: &str = include_str!("tile/loops.txt");
const SCHEDULES: &str = include_str!("tile/schedules.txt");

/// Numbers from a list that proptest shrinks; 0 when it is used up.
struct Dice<'a>(std::slice::Iter<'a, u32>);

impl Dice<'_> {
    fn roll(&mut self) -> u32 {
        self.0.next().copied().unwrap_or(0)
    }

    /// Mostly small, now and then anything.
    fn number(&mut self) -> u32 {
        let r = self.roll();
        if r % 64 == 63 { self.roll() } else { r % 4 }
    }

    fn list<T>(&mut self, most: u32, mut item: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.roll() % (most + 1)).map(|_| item(self)).collect()
    }

    /// Seldom one that there is not.
    fn index(&mut self, count: usize) -> u32 {
        let r = self.roll();
        if r % 32 == 31 { r % 100_000 } else { r % (count as u32).max(1) }
    }

    fn op(&mut self, p: &Program) -> Op {
        Op::from_u32(self.index(p.ops.len()))
    }

    fn value(&mut self, p: &Program) -> Value {
        Value::from_u32(self.index(p.values.len()))
    }

    fn reader(&mut self, p: &Program) -> Reader {
        let (op, i) = (self.op(p), self.number());
        let input = if self.roll().is_multiple_of(3) { Input::Order(i) } else { Input::Operand(i) };
        Reader { op, input }
    }

    fn storage(&mut self) -> Storage {
        Storage::ALL[(self.roll() % 3) as usize]
    }

    fn step(&mut self, p: &Program, pipes: usize, mutexes: usize) -> Step {
        let pipe = Pipe::from_u32(self.index(pipes));
        let mutex = Mutex::from_u32(self.index(mutexes));
        let action = match self.roll() % 8 {
            0 => Action::Acquire(pipe),
            1 => Action::Commit(pipe, self.op(p)),
            2 => Action::Wait(pipe, self.reader(p)),
            3 => Action::Release(pipe, self.reader(p)),
            4 => Action::Lock(mutex, self.op(p)),
            5 => Action::Unlock(mutex, self.op(p)),
            _ => Action::Run(self.op(p)),
        };
        let base = [Base::First, Base::Round, Base::Trips][(self.roll() % 3) as usize];
        let offset = match self.roll() % 64 {
            62 => i64::MAX,
            63 => i64::MIN,
            r => i64::from(r % 4) - 2,
        };
        let source = |d: &mut Self| Source {
            pipe: Pipe::from_u32(d.index(pipes)),
            fill: offset.saturating_sub(i64::from(d.roll() % 3)),
            turn: d.roll().is_multiple_of(2).then(|| Turn {
                buffer: Buffer::from_u32(d.index(3)),
                times: d.number(),
                plus: i64::from(d.number()),
            }),
        };
        let count = if matches!(action, Action::Run(_)) { self.roll() % 3 } else { 0 };
        let sources = (0..count).map(|_| self.roll().is_multiple_of(2).then(|| source(self))).collect();
        Step { action, at: At { base, offset }, sources }
    }
}

fn garbage(p: &Program, dice: &mut Dice<'_>) -> Scheduled {
    let backing = |d: &mut Dice<'_>| match d.roll() % 3 {
        0 => Backing::Local,
        1 => Backing::Mbarrier,
        _ => Backing::NamedBarrier(d.number()),
    };
    let pipes = dice.list(4, |d| PipeData {
        flavour: if d.roll().is_multiple_of(2) { Flavour::Tile } else { Flavour::Scalar },
        writers: d.list(2, |d| d.op(p)),
        values: d.list(2, |d| d.value(p)),
        readers: d.list(3, |d| d.reader(p)),
        depth: d.number(),
        initial: d.number(),
        backing: backing(d),
        stage: d.number(),
        order: d.number(),
    });
    let mutexes = dice.list(1, |d| MutexData {
        of: program::Mutex::from_u32(d.index(p.mutexes.len())),
        barrier: d.number(),
        stage: d.number(),
        order: d.number(),
    });
    let buffers = dice.list(3, |d| BufferData {
        storage: d.storage(),
        bytes: u64::from(d.number()) * 1024,
        element: "f16".into(),
        depth: d.number(),
        offset: u64::from(d.number()) * 1024,
        members: d.list(3, |d| Member {
            pipe: Pipe::from_u32(d.index(pipes.len())),
            value: d.value(p),
            shift: d.number(),
        }),
    });
    let steps = |d: &mut Dice<'_>| d.list(8, |d| d.step(p, pipes.len(), mutexes.len()));
    let agents = dice.list(3, |d| AgentData {
        name: format!("agent{}", d.number()),
        warps: d.number(),
        lead: d.number(),
        prologue: steps(d),
        steady: steps(d),
        epilogue: steps(d),
        short: steps(d),
    });
    let mut made = Scheduled {
        name: p.name.clone(),
        ii: dice.number(),
        stages: dice.number(),
        strategy: Split::None,
        trivial: false,
        short_below: u64::from(dice.number()),
        places: dice.list(p.ops.len() as u32 + 1, |d| Place {
            stage: d.number(),
            row: d.number(),
            order: d.number(),
        }),
        pipes: pipes.into_iter().collect(),
        mutexes: mutexes.into_iter().collect(),
        buffers: buffers.into_iter().collect(),
        agents: agents.into_iter().collect(),
        barriers: dice
            .roll()
            .is_multiple_of(2)
            .then(|| BarrierArea { offset: u64::from(dice.number()) << 20, bytes: dice.number().into() }),
        tile_loop: None,
    };
    if dice.roll().is_multiple_of(2) {
        made.set_sources(p);
    }
    made
}

fn ask_everything(p: &Program, s: &Scheduled) {
    let effort = Effort { seeds: 1, large: 1, held_steps: 1 << 12, ..Effort::default() };
    let checked = check(p, s, &Limits::NONE);
    for violation in checked.as_ref().err().into_iter().flatten() {
        assert!(!violation.to_string().is_empty());
    }
    for trips in [0, 1, 5, u64::MAX] {
        for seed in 0..7 {
            let replayed = replay(p, s, trips, seed);
            assert!(checked.is_ok() || replayed.is_err());
        }
    }
    assert!(explore(p, s, 2, 500, true).is_err() || checked.is_ok());
    let proven = prove(p, s, &Limits::NONE, &effort);
    assert!(checked.is_ok() || proven.is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn garbage_is_answered(which in 0usize..12, numbers in prop::collection::vec(any::<u32>(), 0..400)) {
        let programs = program::parse(LOOPS).unwrap();
        let p = &programs[which % programs.len()];
        ask_everything(p, &garbage(p, &mut Dice(numbers.iter())));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    /// Good ones with many changes come further than garbage.
    #[test]
    fn changed_ones_are_answered(
        which in 0usize..12,
        changes in prop::collection::vec((0usize..15, any::<u64>()), 1..8),
        numbers in prop::collection::vec(any::<u32>(), 0..4),
    ) {
        let programs = program::parse(LOOPS).unwrap();
        let schedules = scheduled::parse(SCHEDULES, &programs).unwrap();
        let (p, mut s) = (&programs[which % programs.len()], schedules[which % programs.len()].clone());
        for (kind, seed) in changes {
            if let Some(mutant) = mutate(p, &s, Kind::ALL[kind], seed) {
                s = mutant.scheduled;
            }
        }
        let mut dice = Dice(numbers.iter());
        s.short_below = dice.number().into();
        s.stages += dice.number() % 100_000;
        ask_everything(p, &s);
    }
}
