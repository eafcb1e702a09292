//! What a program must be like before anything is made of it.

use super::{Accumulators, Execution, Op, Program, Storage};
use cranelift_entity::EntityRef;
use std::collections::BTreeSet;
use thiserror::Error;

/// The largest number of operations, values, orders and holds of a program, each.
pub const MAX_COUNT: usize = 1 << 16;
/// The largest latency.
pub const MAX_LATENCY: u32 = 1 << 20;
/// The largest iteration distance.
pub const MAX_DISTANCE: u32 = 1 << 10;

/// Why a program makes no sense. Names are those of the program.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramError {
    /// A value from before the loop is said to be wanted after it.
    #[error("`{value}` is wanted after the loop, in which no operation defines it")]
    OutUndefined {
        /// The value.
        value: String,
    },
    /// Two things of one kind have the same name.
    #[error("a second {what} is named `{name}`")]
    Twice {
        /// The kind of thing.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A name that texts cannot hold.
    #[error(
        "`{name}` is no name: names are letters, digits, `_`, `.` and `$`, and do not begin with a digit"
    )]
    BadName {
        /// The name.
        name: String,
    },
    /// Too much of something.
    #[error("{count} {what} are more than {MAX_COUNT}")]
    TooMany {
        /// The kind of thing.
        what: &'static str,
        /// How many.
        count: usize,
    },
    /// No operations.
    #[error("the loop has no operations")]
    Empty,
    /// A value is defined twice.
    #[error("`{value}` is defined by `{first}` and by `{second}`")]
    DefinedTwice {
        /// The value.
        value: String,
        /// The first operation that defines it.
        first: String,
        /// The second one.
        second: String,
    },
    /// Values that are parts of each other.
    #[error("`{value}` is part of itself")]
    PartOfItself {
        /// The value.
        value: String,
    },
    /// A part that lives elsewhere than the whole, or is larger.
    #[error(
        "`{part}` ({part_bytes} bytes, {part_storage}) cannot be part of `{whole}` ({whole_bytes} bytes, {whole_storage})"
    )]
    BadPart {
        /// The part.
        part: String,
        /// Its size.
        part_bytes: u64,
        /// Where it lives.
        part_storage: Storage,
        /// The whole.
        whole: String,
        /// Its size.
        whole_bytes: u64,
        /// Where it lives.
        whole_storage: Storage,
    },
    /// A value that has parts is itself defined: then it is not clear what a slot holds.
    #[error("`{value}` is defined by `{op}` and has parts that are defined too")]
    WholeDefined {
        /// The value.
        value: String,
        /// What defines it.
        op: String,
    },
    /// An operation reads what it or a later operation defines in the same iteration.
    #[error(
        "`{op}` reads `{value}` of its own iteration, which `{by}` defines later; values of earlier iterations are written `{value}[-1]`"
    )]
    ReadBeforeDefined {
        /// The operation.
        op: String,
        /// The value.
        value: String,
        /// What defines it.
        by: String,
    },
    /// An operand in place without a result of the same size and storage, or more than one.
    #[error("`{op}` cannot put its result in place of `{value}`: {why}")]
    BadInPlace {
        /// The operation.
        op: String,
        /// The operand.
        value: String,
        /// What is wrong.
        why: &'static str,
    },
    /// A circuit of dependences within one iteration.
    #[error("`{op}` must run before itself within one iteration")]
    Circuit {
        /// An operation of the circuit.
        op: String,
    },
    /// A number beyond a limit.
    #[error("`{op}`: {what} {number} is more than {limit}")]
    TooLarge {
        /// The operation.
        op: String,
        /// What the number is.
        what: &'static str,
        /// The number.
        number: u64,
        /// The limit.
        limit: u64,
    },
    /// A hold of nothing.
    #[error("`{op}` holds `{resource}` for no cycles or with no units")]
    EmptyHold {
        /// The operation.
        op: String,
        /// The resource.
        resource: String,
    },
    /// More units than there are.
    #[error("`{op}` holds {units} of `{resource}`, which has {capacity}")]
    OverCapacity {
        /// The operation.
        op: String,
        /// The resource.
        resource: String,
        /// What it holds.
        units: u32,
        /// What there is.
        capacity: u32,
    },
    /// A transfer into storage that nothing reads: nobody knows when the next one may write there.
    #[error("nothing in the loop reads what `{op}` transfers: leave the result out, or read it")]
    Unread {
        /// The operation.
        op: String,
    },
    /// A mutex of fewer than two operations, or with one twice.
    #[error("mutex `{mutex}` needs two or more different operations")]
    BadMutex {
        /// The mutex.
        mutex: String,
    },
    /// A loop-carried value in registers or elsewhere that nothing defines.
    #[error(
        "`{op}` reads `{value}[-{distance}]`, which no operation defines: a value from before the loop has no earlier iterations"
    )]
    NoEarlier {
        /// The operation.
        op: String,
        /// The value.
        value: String,
        /// The distance.
        distance: u32,
    },
}

impl Program {
    /// Whether the program makes sense. Linear but for a sort of names.
    pub fn check(&self) -> Result<(), ProgramError> {
        if self.ops.is_empty() {
            return Err(ProgramError::Empty);
        }
        let holds = self.ops.values().map(|o| o.holds.len()).sum();
        let operands = self.ops.values().map(|o| o.operands.len() + o.results.len()).sum();
        for (what, count) in [
            ("operations", self.ops.len()),
            ("values", self.values.len()),
            ("orders", self.orders.len()),
            ("resources", self.resources.len()),
            ("mutexes", self.mutexes.len()),
            ("holds", holds),
            ("operands", operands),
        ] {
            if count > MAX_COUNT {
                return Err(ProgramError::TooMany { what, count });
            }
        }
        self.check_names()?;
        unique("operation", self.ops.values().map(|o| &o.name))?;
        unique("value", self.values.values().map(|v| &v.name))?;
        unique("resource", self.resources.values().map(|r| &r.name))?;
        unique("mutex", self.mutexes.values().map(|m| &m.name))?;
        self.check_values()?;
        self.check_ops()?;
        let handed = self.handed_over_with();
        // Outs do not count: nobody in the loop would wait until such a transfer is complete before the next one begins.
        let read: BTreeSet<usize> =
            self.ops.values().flat_map(|o| &o.operands).map(|o| handed[o.value.index()]).collect();
        for o in self.ops.values().filter(|o| o.execution == Execution::Async) {
            if o.results.iter().any(|v| !read.contains(&handed[v.index()])) {
                return Err(ProgramError::Unread { op: o.name.clone() });
            }
        }
        let writers = self.writers();
        for o in &self.outs {
            let value = || self.values[o.value].name.clone();
            if writers[o.value.index()].is_empty() {
                return Err(ProgramError::OutUndefined { value: value() });
            }
            if o.distance > MAX_DISTANCE {
                let by = writers[o.value.index()][0];
                return Err(self.too_large(by, "a distance of", o.distance.into(), MAX_DISTANCE.into()));
            }
        }
        let accumulators = Accumulators::of(self);
        for (op, data) in self.ops.iter() {
            if let Some(o) = data.operands.iter().find(|o| o.in_place)
                && !accumulators.replaces(op)
                && !accumulators.permits(self, op, o)
            {
                return Err(ProgramError::BadInPlace {
                    op: data.name.clone(),
                    value: self.values[o.value].name.clone(),
                    why: "such operands must lead back to the value of one iteration ago, and nothing may read a value after it has been overwritten",
                });
            }
        }
        for m in self.mutexes.values() {
            let different: BTreeSet<Op> = m.ops.iter().copied().collect();
            if different.len() < 2 || different.len() != m.ops.len() {
                return Err(ProgramError::BadMutex { mutex: m.name.clone() });
            }
        }
        for o in &self.orders {
            if o.distance > MAX_DISTANCE {
                return Err(self.too_large(o.from, "a distance of", o.distance.into(), MAX_DISTANCE.into()));
            }
            if o.latency > MAX_LATENCY {
                return Err(self.too_large(o.from, "a latency of", o.latency.into(), MAX_LATENCY.into()));
            }
        }
        match self.circuit() {
            Some(op) => Err(ProgramError::Circuit { op: self.ops[op].name.clone() }),
            None => Ok(()),
        }
    }

    fn check_names(&self) -> Result<(), ProgramError> {
        let names = std::iter::once(&self.name)
            .chain(self.arch.iter())
            .chain(self.ops.values().flat_map(|o| [&o.name, &o.kind]))
            .chain(self.values.values().flat_map(|v| [&v.name, &v.element]))
            .chain(self.resources.values().map(|r| &r.name))
            .chain(self.mutexes.values().map(|m| &m.name));
        match names.into_iter().find(|n| !crate::lex::is_name(n)) {
            Some(name) => Err(ProgramError::BadName { name: name.clone() }),
            None => Ok(()),
        }
    }

    fn too_large(&self, op: Op, what: &'static str, number: u64, limit: u64) -> ProgramError {
        ProgramError::TooLarge { op: self.ops[op].name.clone(), what, number, limit }
    }

    fn check_values(&self) -> Result<(), ProgramError> {
        let mut by: Vec<Option<Op>> = vec![None; self.values.len()];
        for (op, data) in self.ops.iter() {
            for &v in &data.results {
                if let Some(first) = by[v.index()] {
                    return Err(ProgramError::DefinedTwice {
                        value: self.values[v].name.clone(),
                        first: self.ops[first].name.clone(),
                        second: data.name.clone(),
                    });
                }
                by[v.index()] = Some(op);
            }
        }
        for (v, data) in self.values.iter() {
            if self.values[self.origin(v)].part_of.is_some() {
                return Err(ProgramError::PartOfItself { value: data.name.clone() });
            }
            let Some(whole) = data.part_of else { continue };
            let w = &self.values[whole];
            if w.storage != data.storage || w.bytes < data.bytes {
                return Err(ProgramError::BadPart {
                    part: data.name.clone(),
                    part_bytes: data.bytes,
                    part_storage: data.storage,
                    whole: w.name.clone(),
                    whole_bytes: w.bytes,
                    whole_storage: w.storage,
                });
            }
            if let Some(op) = by[whole.index()] {
                return Err(ProgramError::WholeDefined {
                    value: w.name.clone(),
                    op: self.ops[op].name.clone(),
                });
            }
        }
        Ok(())
    }

    fn check_ops(&self) -> Result<(), ProgramError> {
        let defined = self.definitions();
        let writers = self.writers();
        for (op, data) in self.ops.iter() {
            let name = || data.name.clone();
            if data.latency > MAX_LATENCY {
                return Err(self.too_large(op, "a latency of", data.latency.into(), MAX_LATENCY.into()));
            }
            for h in &data.holds {
                let r = &self.resources[h.resource];
                if h.rows == 0 || h.units == 0 {
                    return Err(ProgramError::EmptyHold { op: name(), resource: r.name.clone() });
                }
                if h.units > r.capacity {
                    return Err(ProgramError::OverCapacity {
                        op: name(),
                        resource: r.name.clone(),
                        units: h.units,
                        capacity: r.capacity,
                    });
                }
                let end = u64::from(h.start) + u64::from(h.rows);
                if end > u64::from(MAX_LATENCY) {
                    return Err(self.too_large(op, "a hold until cycle", end, MAX_LATENCY.into()));
                }
            }
            for o in &data.operands {
                let value = || self.values[o.value].name.clone();
                if o.distance > MAX_DISTANCE {
                    return Err(self.too_large(op, "a distance of", o.distance.into(), MAX_DISTANCE.into()));
                }
                let by = writers[o.value.index()].last().copied();
                match by {
                    Some(by) if o.distance == 0 && by >= op => {
                        return Err(ProgramError::ReadBeforeDefined {
                            op: name(),
                            value: value(),
                            by: self.ops[by].name.clone(),
                        });
                    }
                    None if o.distance > 0 => {
                        return Err(ProgramError::NoEarlier {
                            op: name(),
                            value: value(),
                            distance: o.distance,
                        });
                    }
                    _ => {}
                }
            }
            let mut places = data.operands.iter().filter(|o| o.in_place);
            if let Some(o) = places.next() {
                let why = if places.next().is_some() {
                    Some("only one operand can be")
                } else if data.results.len() != 1 {
                    Some("it needs exactly one result")
                } else {
                    let (was, is) = (&self.values[o.value], &self.values[data.results[0]]);
                    if was.part_of.is_some() || is.part_of.is_some() {
                        Some("parts stay where they are")
                    } else if was.storage != is.storage || was.bytes != is.bytes {
                        Some("they differ in size or storage")
                    } else if defined[o.value].is_none() {
                        Some("a value from before the loop is wanted in every iteration")
                    } else {
                        None
                    }
                };
                if let Some(why) = why {
                    let value = self.values[o.value].name.clone();
                    return Err(ProgramError::BadInPlace { op: name(), value, why });
                }
            }
        }
        Ok(())
    }

    /// An operation of a circuit of orders and values within one iteration. Values alone cannot make one.
    fn circuit(&self) -> Option<Op> {
        let n = self.ops.len();
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); n];
        let mut before = vec![0u32; n];
        for (from, to, distance) in self.dependences() {
            if distance == 0 {
                next[from.index()].push(to.index());
                before[to.index()] += 1;
            }
        }
        let mut ready: Vec<usize> = (0..n).filter(|&o| before[o] == 0).collect();
        let mut seen = 0;
        while let Some(op) = ready.pop() {
            seen += 1;
            for &to in &next[op] {
                before[to] -= 1;
                if before[to] == 0 {
                    ready.push(to);
                }
            }
        }
        (seen < n).then(|| (0..n).find(|&o| before[o] > 0)).flatten().map(Op::new)
    }

    /// All dependences, of values and of orders: from, to, distance.
    pub fn dependences(&self) -> Vec<(Op, Op, u32)> {
        let mut found = Vec::new();
        let writers = self.writers();
        for (op, data) in self.ops.iter() {
            for o in &data.operands {
                for &by in &writers[o.value.index()] {
                    found.push((by, op, o.distance));
                }
            }
        }
        found.extend(self.orders.iter().map(|o| (o.from, o.to, o.distance)));
        found
    }

    /// For each value the operations that must have run before it can be read: whatever defines a part of its origin, or
    /// of another origin that one of them defines a part of too. Storage is handed over as a whole, and what one
    /// operation produces is handed over together.
    pub fn writers(&self) -> Vec<Vec<Op>> {
        let handed = self.handed_over_with();
        let mut of: Vec<Vec<Op>> = vec![Vec::new(); self.values.len()];
        for (op, data) in self.ops.iter() {
            for v in &data.results {
                of[handed[v.index()]].push(op);
            }
        }
        // An operation with two results of one group writes it once.
        of.iter_mut().for_each(|w| w.dedup());
        self.values.keys().map(|v| of[handed[v.index()]].clone()).collect()
    }

    /// For each value the least value that it is handed over together with.
    fn handed_over_with(&self) -> Vec<usize> {
        let mut least: Vec<usize> = (0..self.values.len()).collect();
        fn find(least: &mut [usize], mut at: usize) -> usize {
            while least[at] != at {
                least[at] = least[least[at]];
                at = least[at];
            }
            at
        }
        let mut join = |a: usize, b: usize| {
            let (a, b) = (find(&mut least, a), find(&mut least, b));
            least[a.max(b)] = a.min(b);
        };
        for v in self.values.keys() {
            join(v.index(), self.origin(v).index());
        }
        for results in self.ops.values().map(|o| &o.results) {
            results.windows(2).for_each(|pair| join(pair[0].index(), pair[1].index()));
        }
        (0..self.values.len()).map(|v| find(&mut least, v)).collect()
    }
}

fn unique<'a>(what: &'static str, names: impl Iterator<Item = &'a String>) -> Result<(), ProgramError> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(ProgramError::Twice { what, name: name.clone() });
        }
    }
    Ok(())
}
