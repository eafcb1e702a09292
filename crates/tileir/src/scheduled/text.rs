//! The readable form of scheduled loops: printed, and read with the program they are of at hand.
//!
//! ```text
//! scheduled matmul {
//!   ii 256 stages 3 strategy warp-specialize short below 2
//!   place load_a stage 0 row 0 order 0
//!   place mma stage 2 row 34 order 1
//!   buffer buffer0 shared 16384 f16 * 3 at 0 (Pipe_0 a shift 0)
//!   pipe Pipe_0 tile (load_a) -> (a) -> (mma operand 0) depth 3 initial 0 mbarrier stage 0 order 0
//!   agent loads warps 1 lead 0 {
//!     prologue { }
//!     steady { acquire Pipe_0 @ k + 0 run load_a @ k + 0 commit Pipe_0 load_a @ k + 0 }
//!     epilogue { }
//!     short { }
//!   }
//! }
//! ```
//!
//! Places are there for all operations in their order, or for none. Inputs are operands of an operation, or orders of the
//! program by their position there.
//!
//! A run says where its operands are: `run mma (Pipe_0[k + 0] in buffer0 turn 1 * k + 0, Pipe_1[k - 1] in buffer1 turn 1 * k + 0, -)
//! @ k + 0` reads the fill of its iteration and the one before, and an operand that no pipe hands on. Where a run says nothing,
//! operands are where pipes and buffers have them.

use super::{
    Action, AgentData, At, Backing, BarrierArea, Base, Buffer, BufferData, Coordinate, Flavour, Input,
    Member, Mutex, MutexData, Pipe, PipeData, Place, Reader, Scheduled, Source, Sources, Step, Strategy,
    TileLoop, Turn, WorkTile,
};
use crate::lex::{TextError, Words};
use crate::program::{Op, Persistent, Program, Storage, Value};
use cranelift_entity::{EntityRef, PrimaryMap};
use std::collections::HashMap;
use std::fmt::Write;

/// Prints a scheduled loop so that [`parse`] gives the same one back.
pub fn print(scheduled: &Scheduled, program: &Program) -> String {
    let mut out = String::new();
    Printer { s: scheduled, p: program }.write(&mut out).expect("writing to a string succeeds");
    out
}

struct Printer<'a> {
    s: &'a Scheduled,
    p: &'a Program,
}

impl Printer<'_> {
    fn op(&self, op: Op) -> &str {
        self.p.ops.get(op).map_or("?", |o| &o.name)
    }

    fn value(&self, value: Value) -> &str {
        self.p.values.get(value).map_or("?", |v| &v.name)
    }

    fn reader(&self, r: Reader) -> String {
        match r.input {
            Input::Operand(i) => format!("{} operand {i}", self.op(r.op)),
            Input::Order(i) => format!("{} order {i}", self.op(r.op)),
        }
    }

    fn names<T: Copy>(&self, items: &[T], name: impl Fn(T) -> String) -> String {
        items.iter().map(|&i| name(i)).collect::<Vec<_>>().join(", ")
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let s = self.s;
        writeln!(out, "scheduled {} {{", s.name)?;
        write!(out, "  ii {} stages {} strategy {}", s.ii, s.stages, s.strategy.word())?;
        writeln!(out, " short below {}{}", s.short_below, if s.trivial { " trivial" } else { "" })?;
        if let Some(t) = &s.tile_loop {
            let Persistent { problem, tile, cluster } = &t.shape;
            writeln!(
                out,
                "  tiles {:?} count {} step {} index {} problem {problem:?} tile {tile:?} cluster {cluster:?}",
                t.tiles, t.count, t.step, t.index_bits
            )?;
            for c in &t.coordinates {
                writeln!(out, "  coordinate over {} of {} times {}", c.over, c.of, c.times)?;
            }
            for w in &t.work {
                writeln!(out, "  work {:?}{}", w.coordinates, if w.valid { "" } else { " invalid" })?;
            }
        }
        if let Some(a) = s.barriers {
            writeln!(out, "  barriers {} at {}", a.bytes, a.offset)?;
        }
        for (place, op) in s.places.iter().zip(self.p.ops.keys()) {
            let (stage, row, order) = (place.stage, place.row, place.order);
            writeln!(out, "  place {} stage {stage} row {row} order {order}", self.op(op))?;
        }
        for (buffer, b) in s.buffers.iter() {
            let members: Vec<String> = b
                .members
                .iter()
                .map(|m| format!("{} {} shift {}", m.pipe, self.value(m.value), m.shift))
                .collect();
            let (storage, depth, members) = (b.storage, b.depth, members.join(", "));
            writeln!(
                out,
                "  buffer {buffer} {storage} {} {} * {depth} at {} ({members})",
                b.bytes, b.element, b.offset
            )?;
        }
        for (pipe, p) in s.pipes.iter() {
            write!(out, "  pipe {pipe} {}", p.flavour.word())?;
            write!(out, " ({})", self.names(&p.writers, |o| self.op(o).to_owned()))?;
            write!(out, " -> ({})", self.names(&p.values, |v| self.value(v).to_owned()))?;
            write!(out, " -> ({})", self.names(&p.readers, |r| self.reader(r)))?;
            write!(out, " depth {} initial {} ", p.depth, p.initial)?;
            match p.backing {
                Backing::Local => out.push_str("local"),
                Backing::Mbarrier => out.push_str("mbarrier"),
                Backing::NamedBarrier(i) => write!(out, "barrier {i}")?,
            }
            writeln!(out, " stage {} order {}", p.stage, p.order)?;
        }
        for (mutex, m) in s.mutexes.iter() {
            let of = self.p.mutexes.get(m.of).map_or("?", |m| &m.name);
            writeln!(
                out,
                "  mutex {mutex} of {of} barrier {} stage {} order {}",
                m.barrier, m.stage, m.order
            )?;
        }
        for a in s.agents.values() {
            writeln!(out, "  agent {} warps {} lead {} {{", a.name, a.warps, a.lead)?;
            for (word, steps) in [
                ("prologue", &a.prologue),
                ("steady", &a.steady),
                ("epilogue", &a.epilogue),
                ("short", &a.short),
            ] {
                writeln!(out, "    {word} {{")?;
                for step in steps {
                    self.step(step, out)?;
                }
                writeln!(out, "    }}")?;
            }
            writeln!(out, "  }}")?;
        }
        writeln!(out, "}}")
    }

    fn step(&self, step: &Step, out: &mut String) -> std::fmt::Result {
        out.push_str("      ");
        match step.action {
            Action::Acquire(p) => write!(out, "acquire {p}")?,
            Action::Run(o) => {
                write!(out, "run {}", self.op(o))?;
                if !step.sources.is_empty() {
                    let all: Vec<String> = step.sources.iter().map(|s| source(*s, step.at.base)).collect();
                    write!(out, " ({})", all.join(", "))?;
                }
            }
            Action::Commit(p, o) => write!(out, "commit {p} {}", self.op(o))?,
            Action::Wait(p, r) => write!(out, "wait {p} {}", self.reader(r))?,
            Action::Release(p, r) => write!(out, "release {p} {}", self.reader(r))?,
            Action::Lock(m, o) => write!(out, "lock {m} {}", self.op(o))?,
            Action::Unlock(m, o) => write!(out, "unlock {m} {}", self.op(o))?,
        }
        writeln!(out, " @ {}", counted(step.at.base, step.at.offset))
    }
}

/// What a step counts from, and how far.
fn counted(base: Base, offset: i64) -> String {
    let base = match base {
        Base::First => "first",
        Base::Round => "k",
        Base::Trips => "n",
    };
    let sign = if offset < 0 { '-' } else { '+' };
    format!("{base} {sign} {}", offset.unsigned_abs())
}

fn source(source: Option<Source>, base: Base) -> String {
    let Some(s) = source else { return "-".into() };
    let fill = format!("{}[{}]", s.pipe, counted(base, s.fill));
    match s.turn {
        None => fill,
        Some(Turn { buffer, times: 0, plus }) => format!("{fill} in {buffer} turn {plus}"),
        Some(Turn { buffer, times, plus }) => {
            format!("{fill} in {buffer} turn {times} * {}", counted(base, plus))
        }
    }
}

/// Reads what [`print`](print()) printed. `programs` are those that the text may be of; the program of each loop is the one with
/// its name.
pub fn parse(text: &str, programs: &[Program]) -> Result<Vec<Scheduled>, TextError> {
    let mut words = Words::new(text)?;
    let mut found = Vec::new();
    while words.peek().is_some() {
        words.expect("scheduled")?;
        found.push(one(&mut words, programs)?);
    }
    if found.is_empty() {
        return words.error("expected a scheduled loop");
    }
    Ok(found)
}

/// The loop behind the word `scheduled`.
pub(crate) fn one(words: &mut Words<'_>, programs: &[Program]) -> Result<Scheduled, TextError> {
    let name = words.name("the name of a loop")?;
    match programs.iter().find(|p| p.name == name) {
        Some(program) => Parser::new(words, program).body(name),
        None => words.error_back(format!("there is no loop `{name}` above that this could be of")),
    }
}

struct Parser<'w, 'a> {
    words: &'w mut Words<'a>,
    program: &'w Program,
    ops: HashMap<&'w str, Op>,
    values: HashMap<&'w str, Value>,
}

impl<'w, 'a> Parser<'w, 'a> {
    fn new(words: &'w mut Words<'a>, program: &'w Program) -> Parser<'w, 'a> {
        let ops = program.ops.iter().map(|(op, o)| (o.name.as_str(), op)).collect();
        let values = program.values.iter().map(|(v, data)| (data.name.as_str(), v)).collect();
        Parser { words, program, ops, values }
    }

    fn body(mut self, name: &str) -> Result<Scheduled, TextError> {
        self.words.expect("{")?;
        self.words.expect("ii")?;
        let ii = self.words.number("an initiation interval")?;
        self.words.expect("stages")?;
        let stages = self.words.number("a number of stages")?;
        self.words.expect("strategy")?;
        let strategy = self.strategy()?;
        self.words.expect("short")?;
        self.words.expect("below")?;
        let short_below = self.words.number("a number of trips")?;
        let mut s = Scheduled {
            name: name.into(),
            ii,
            stages,
            strategy,
            trivial: self.words.eat("trivial"),
            short_below,
            places: Vec::new(),
            pipes: PrimaryMap::new(),
            mutexes: PrimaryMap::new(),
            buffers: PrimaryMap::new(),
            agents: PrimaryMap::new(),
            barriers: None,
            tile_loop: None,
        };
        while !self.words.eat("}") {
            match self.words.name("a line of the loop or `}`")? {
                "tiles" => s.tile_loop = Some(self.tile_loop()?),
                "barriers" => {
                    let bytes = self.words.number("bytes")?;
                    s.barriers = Some(BarrierArea { bytes, offset: self.after("at")? });
                }
                "place" => {
                    let op = self.op()?;
                    if op.index() != s.places.len() {
                        return self.words.error_back("places come in the order of operations, each once");
                    }
                    let stage = self.after("stage")?;
                    let row = self.after("row")?;
                    s.places.push(Place { stage, row, order: self.after("order")? });
                }
                "buffer" => {
                    self.numbered("buffer", s.buffers.len())?;
                    let buffer = self.buffer()?;
                    s.buffers.push(buffer);
                }
                "pipe" => {
                    self.numbered("Pipe_", s.pipes.len())?;
                    let pipe = self.pipe()?;
                    s.pipes.push(pipe);
                }
                "mutex" => {
                    self.numbered("Mutex_", s.mutexes.len())?;
                    let mutex = self.mutex()?;
                    s.mutexes.push(mutex);
                }
                "agent" => {
                    let agent = self.agent()?;
                    s.agents.push(agent);
                }
                word => {
                    return self.words.error_back(format!(
                        "`{word}` begins no line; those are tiles, barriers, place, buffer, pipe, mutex and agent"
                    ));
                }
            }
        }
        self.references(&s)?;
        if !s.places.is_empty() && s.places.len() != self.program.ops.len() {
            return self.words.error_back("some operations have places and some have not");
        }
        let sources = Sources::new(self.program, &s);
        for (op, step) in s.runs_mut().filter(|(_, step)| step.sources.is_empty()) {
            step.sources = sources.of(op, step.at);
        }
        Ok(s)
    }

    /// Pipes and mutexes that are named must be there; buffers may name pipes that come later.
    fn references(&self, s: &Scheduled) -> Result<(), TextError> {
        let pipe = |p: Pipe| p.index() < s.pipes.len();
        let mutex = |m: Mutex| m.index() < s.mutexes.len();
        let members = s.buffers.values().flat_map(|b| &b.members).all(|m| pipe(m.pipe));
        let steps = s.agents.values().flat_map(|a| [&a.prologue, &a.steady, &a.epilogue, &a.short]).flatten();
        let buffer = |b: Buffer| b.index() < s.buffers.len();
        let there = |s: &Source| pipe(s.pipe) && s.turn.is_none_or(|t| buffer(t.buffer));
        let steps = steps.into_iter().all(|step| match step.action {
            Action::Acquire(p) | Action::Commit(p, _) | Action::Wait(p, _) | Action::Release(p, _) => pipe(p),
            Action::Lock(m, _) | Action::Unlock(m, _) => mutex(m),
            Action::Run(_) => step.sources.iter().flatten().all(there),
        });
        if members && steps {
            Ok(())
        } else {
            self.words.error_back("a pipe, a buffer or a mutex is used that the loop does not have")
        }
    }

    fn strategy(&mut self) -> Result<Strategy, TextError> {
        let word = self.words.name("a strategy")?;
        // `warp-specialize` is two words with a mark between them.
        if word == "warp" {
            self.words.expect("-")?;
            self.words.expect("specialize")?;
            return Ok(Strategy::WarpSpecialize);
        }
        match Strategy::ALL.into_iter().find(|s| s.word() == word) {
            Some(strategy) => Ok(strategy),
            None => self.words.error_back(format!("`{word}` is no strategy")),
        }
    }

    fn numbered(&mut self, prefix: &str, number: usize) -> Result<(), TextError> {
        self.words.expect(&format!("{prefix}{number}"))
    }

    fn index(&mut self, prefix: &str) -> Result<usize, TextError> {
        let name = self.words.name(&format!("`{prefix}` with a number"))?;
        match name.strip_prefix(prefix).and_then(|n| n.parse::<u32>().ok()) {
            Some(n) if n < u32::MAX => Ok(n as usize),
            _ => self.words.error_back(format!("expected `{prefix}` with a number, found `{name}`")),
        }
    }

    fn op(&mut self) -> Result<Op, TextError> {
        let name = self.words.name("an operation")?;
        match self.ops.get(name) {
            Some(&op) => Ok(op),
            None => self.words.error_back(format!("the loop has no operation `{name}`")),
        }
    }

    fn value(&mut self) -> Result<Value, TextError> {
        let name = self.words.name("a value")?;
        match self.values.get(name) {
            Some(&value) => Ok(value),
            None => self.words.error_back(format!("the loop has no value `{name}`")),
        }
    }

    fn reader(&mut self) -> Result<Reader, TextError> {
        let op = self.op()?;
        let input = if self.words.eat("operand") {
            Input::Operand(self.words.number("a position")?)
        } else {
            self.words.expect("order")?;
            Input::Order(self.words.number("a position")?)
        };
        let reader = Reader { op, input };
        match reader.distance(self.program) {
            Some(_) => Ok(reader),
            None => self.words.error_back("the operation has no such input"),
        }
    }

    fn list<T>(&mut self, item: fn(&mut Self) -> Result<T, TextError>) -> Result<Vec<T>, TextError> {
        self.words.expect("(")?;
        let mut found = Vec::new();
        while !self.words.eat(")") {
            if !found.is_empty() {
                self.words.expect(",")?;
            }
            found.push(item(self)?);
        }
        Ok(found)
    }

    fn after<N: TryFrom<u64>>(&mut self, word: &str) -> Result<N, TextError> {
        self.words.expect(word)?;
        self.words.number(word)
    }

    fn tile_loop(&mut self) -> Result<TileLoop, TextError> {
        let tiles = self.words.numbers("a number of tiles")?;
        let count = self.after("count")?;
        let step = self.after("step")?;
        let index_bits = self.after("index")?;
        self.words.expect("problem")?;
        let problem = self.words.numbers("an extent")?;
        self.words.expect("tile")?;
        let tile = self.words.numbers("an extent")?;
        self.words.expect("cluster")?;
        let cluster = self.words.numbers("an extent")?;
        let shape = Persistent { problem, tile, cluster };
        let (mut coordinates, mut work) = (Vec::new(), Vec::new());
        while self.words.eat("coordinate") {
            let (over, of, times): (u64, u64, u64) =
                (self.after("over")?, self.after("of")?, self.after("times")?);
            if over == 0 || of == 0 {
                return self.words.error_back("an index cannot be divided by 0");
            }
            coordinates.push(Coordinate { over, of, times });
        }
        // A text that leaves them out means the usual ones.
        if coordinates.is_empty() {
            coordinates = TileLoop::coordinates_of(&shape, &tiles);
        }
        while self.words.eat("work") {
            let coordinates = self.words.numbers("a coordinate")?;
            work.push(WorkTile { coordinates, valid: !self.words.eat("invalid") });
        }
        Ok(TileLoop { shape, tiles, count, step, index_bits, coordinates, work })
    }

    fn buffer(&mut self) -> Result<BufferData, TextError> {
        let word = self.words.name("a storage")?;
        let Some(storage) = Storage::ALL.into_iter().find(|s| s.word() == word) else {
            return self.words.error_back(format!("`{word}` is no storage"));
        };
        let bytes = self.words.number("bytes")?;
        let element = self.words.name("an element type")?.to_owned();
        let depth = self.after("*")?;
        let offset = self.after("at")?;
        let members = self.list(|p| {
            let pipe = Pipe::new(p.index("Pipe_")?);
            let value = p.value()?;
            Ok(Member { pipe, value, shift: p.after("shift")? })
        })?;
        Ok(BufferData { storage, bytes, element, depth, offset, members })
    }

    fn pipe(&mut self) -> Result<PipeData, TextError> {
        let flavour = match self.words.name("a flavour")? {
            "scalar" => Flavour::Scalar,
            "tile" => Flavour::Tile,
            word => {
                return self.words.error_back(format!("`{word}` is no flavour; those are scalar and tile"));
            }
        };
        let writers = self.list(Self::op)?;
        self.words.expect("->")?;
        let values = self.list(Self::value)?;
        self.words.expect("->")?;
        let readers = self.list(Self::reader)?;
        let depth = self.after("depth")?;
        let initial = self.after("initial")?;
        let backing = match self.words.name("a backing")? {
            "local" => Backing::Local,
            "mbarrier" => Backing::Mbarrier,
            "barrier" => Backing::NamedBarrier(self.words.number("a barrier")?),
            word => {
                return self
                    .words
                    .error_back(format!("`{word}` is no backing; those are local, mbarrier and barrier"));
            }
        };
        let stage = self.after("stage")?;
        let order = self.after("order")?;
        Ok(PipeData { flavour, writers, values, readers, depth, initial, backing, stage, order })
    }

    fn mutex(&mut self) -> Result<MutexData, TextError> {
        self.words.expect("of")?;
        let name = self.words.name("a mutex of the loop")?;
        let Some((of, _)) = self.program.mutexes.iter().find(|(_, m)| m.name == name) else {
            return self.words.error_back(format!("the loop has no mutex `{name}`"));
        };
        let barrier = self.after("barrier")?;
        let stage = self.after("stage")?;
        Ok(MutexData { of, barrier, stage, order: self.after("order")? })
    }

    fn agent(&mut self) -> Result<AgentData, TextError> {
        let name = self.words.name("the name of an agent")?.to_owned();
        let warps = self.after("warps")?;
        let lead = self.after("lead")?;
        self.words.expect("{")?;
        let mut steps = Vec::new();
        for word in ["prologue", "steady", "epilogue", "short"] {
            self.words.expect(word)?;
            steps.push(self.steps()?);
        }
        self.words.expect("}")?;
        let mut steps = steps.into_iter();
        let mut next = || steps.next().unwrap_or_default();
        Ok(AgentData { name, warps, lead, prologue: next(), steady: next(), epilogue: next(), short: next() })
    }

    fn steps(&mut self) -> Result<Vec<Step>, TextError> {
        self.words.expect("{")?;
        let mut steps = Vec::new();
        while !self.words.eat("}") {
            let word = self.words.name("a step or `}`")?;
            let mut sources = Vec::new();
            let action = match word {
                "run" => {
                    let op = self.op()?;
                    if self.words.peek_is("(") {
                        sources = self.list(Self::source)?;
                        if sources.len() != self.program.ops[op].operands.len() {
                            return self.words.error_back("the operation has another number of operands");
                        }
                    }
                    Action::Run(op)
                }
                "acquire" => Action::Acquire(Pipe::new(self.index("Pipe_")?)),
                "commit" => Action::Commit(Pipe::new(self.index("Pipe_")?), self.op()?),
                "wait" => Action::Wait(Pipe::new(self.index("Pipe_")?), self.reader()?),
                "release" => Action::Release(Pipe::new(self.index("Pipe_")?), self.reader()?),
                "lock" => Action::Lock(Mutex::new(self.index("Mutex_")?), self.op()?),
                "unlock" => Action::Unlock(Mutex::new(self.index("Mutex_")?), self.op()?),
                _ => return self.words.error_back(format!("`{word}` is no step")),
            };
            self.words.expect("@")?;
            let at = self.counted()?;
            if sources.iter().flatten().any(|s: &(Source, Base)| s.1 != at.base) {
                return self.words.error_back("operands are counted from something else than the step is");
            }
            let sources = sources.into_iter().map(|s| s.map(|s| s.0)).collect();
            steps.push(Step { action, at, sources });
        }
        Ok(steps)
    }

    fn counted(&mut self) -> Result<At, TextError> {
        let base = match self.words.name("first, k or n")? {
            "first" => Base::First,
            "k" => Base::Round,
            "n" => Base::Trips,
            word => return self.words.error_back(format!("expected first, k or n, found `{word}`")),
        };
        let negative = self.words.eat("-");
        if !negative {
            self.words.expect("+")?;
        }
        let number: u32 = self.words.number("an iteration")?;
        let offset = if negative { -i64::from(number) } else { i64::from(number) };
        Ok(At { base, offset })
    }

    /// Where an operand is, with what that is counted from.
    fn source(&mut self) -> Result<Option<(Source, Base)>, TextError> {
        if self.words.eat("-") {
            return Ok(None);
        }
        let pipe = Pipe::new(self.index("Pipe_")?);
        self.words.expect("[")?;
        let At { base, offset: fill } = self.counted()?;
        self.words.expect("]")?;
        let mut turn = None;
        if self.words.eat("in") {
            let buffer = Buffer::new(self.index("buffer")?);
            self.words.expect("turn")?;
            // What is from before the loop is the same in every fill, also in those before the first.
            let negative = self.words.eat("-");
            let number: u32 = self.words.number("a turn")?;
            turn = Some(if negative {
                Turn { buffer, times: 0, plus: -i64::from(number) }
            } else if self.words.eat("*") {
                let at = self.counted()?;
                if at.base != base || number == 0 {
                    return self.words.error_back("turns are counted from something else than the fill is");
                }
                Turn { buffer, times: number, plus: at.offset }
            } else {
                Turn { buffer, times: 0, plus: number.into() }
            });
        }
        Ok(Some((Source { pipe, fill, turn }, base)))
    }
}
