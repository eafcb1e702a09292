//! How messages name things. Works on any numbers: what there is not is `?`.

use super::violation::Instance;
use sassafras_tileir::program::{Op, Program, Value};
use sassafras_tileir::scheduled::{Action, Agent, Input, Reader, Scheduled};

#[derive(Clone, Copy)]
pub(super) struct Names<'a> {
    pub(super) p: &'a Program,
    pub(super) s: &'a Scheduled,
}

impl Names<'_> {
    pub(super) fn op(&self, op: Op) -> String {
        self.p.ops.get(op).map_or("?".into(), |o| o.name.clone())
    }

    pub(super) fn ops(&self, ops: &[Op]) -> Vec<String> {
        ops.iter().map(|&o| self.op(o)).collect()
    }

    pub(super) fn value(&self, value: Value) -> String {
        self.p.values.get(value).map_or("?".into(), |v| v.name.clone())
    }

    pub(super) fn agent(&self, agent: Agent) -> String {
        self.s.agents.get(agent).map_or("?".into(), |a| a.name.clone())
    }

    pub(super) fn reader(&self, r: Reader) -> String {
        match r.input {
            Input::Operand(i) => format!("{} operand {i}", self.op(r.op)),
            Input::Order(i) => format!("{} order {i}", self.op(r.op)),
        }
    }

    /// An input in a sentence.
    pub(super) fn input(&self, r: Reader) -> String {
        match r.input {
            Input::Operand(i) => {
                let value = self.p.ops.get(r.op).and_then(|o| o.operands.get(i as usize));
                let value = value.map_or("?".into(), |o| self.value(o.value));
                format!("operand {i} of `{}` (`{value}`)", self.op(r.op))
            }
            Input::Order(i) => match self.p.orders.get(i as usize) {
                Some(o) => format!("order {i} (`{}` before `{}`)", self.op(o.from), self.op(o.to)),
                None => format!("order {i}"),
            },
        }
    }

    /// A step as texts have it, without its iteration.
    pub(super) fn step(&self, action: Action) -> String {
        match action {
            Action::Acquire(p) => format!("acquire {p}"),
            Action::Run(o) => format!("run {}", self.op(o)),
            Action::Commit(p, o) => format!("commit {p} {}", self.op(o)),
            Action::Wait(p, r) => format!("wait {p} {}", self.reader(r)),
            Action::Release(p, r) => format!("release {p} {}", self.reader(r)),
            Action::Lock(m, o) => format!("lock {m} {}", self.op(o)),
            Action::Unlock(m, o) => format!("unlock {m} {}", self.op(o)),
        }
    }

    pub(super) fn instance(&self, op: Op, iteration: i64) -> Instance {
        Instance { op: self.op(op).into(), iteration }
    }
}
