//! Matrix and memory instructions in turn.

use super::{is_matrix, memory};
use crate::body::Body;
use crate::code::Code;
use sassafras_deps::Node;
use sassafras_list::{Candidates, Context, Strategy};

/// Goal: transfers run beside the matrix pipe all the time, none of them in a clump. Priorities: memory instructions whose place
/// has come ([`memory::places`]); matrix instructions; the longest path still to go; memory instructions whose place has
/// not come last. Cost: every key changes at most once.
pub struct Interleave<'b> {
    body: &'b Body,
    roles: Vec<Role>,
    /// By how many matrix instructions go first: memory instructions whose place that is.
    due: Vec<Vec<Node>>,
    placed: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Matrix,
    /// A memory instruction, and how many matrix instructions go first.
    Memory(u32),
    Other,
}

impl<'b> Interleave<'b> {
    /// For a block; none where one of the two kinds is missing.
    pub fn new(code: &Code<'_>, body: &'b Body) -> Option<Interleave<'b>> {
        let mut roles: Vec<Role> = body
            .insts
            .iter()
            .map(|&inst| if is_matrix(code, inst) { Role::Matrix } else { Role::Other })
            .collect();
        let count = roles.iter().filter(|&&role| role == Role::Matrix).count();
        let places = memory::places(code, body);
        if count == 0 || places.is_empty() {
            return None;
        }
        let mut due = vec![Vec::new(); count + 1];
        for (node, place) in places {
            let place = (place as usize).min(count);
            roles[node.index()] = Role::Memory(place as u32);
            due[place].push(node);
        }
        Some(Interleave { body, roles, due, placed: 0 })
    }
}

impl Strategy for Interleave<'_> {
    type Key = [i64; 2];
    const NAME: &'static str = "interleave";
    const COMPONENTS: &'static [&'static str] = &["turn", "critical path"];

    fn candidates(&self) -> Candidates {
        Candidates::Ready
    }

    fn key(&self, context: &Context<'_>, node: Node) -> [i64; 2] {
        let turn = match self.roles[node.index()] {
            Role::Memory(place) if place as usize <= self.placed => 3,
            Role::Matrix => 2,
            Role::Other => 1,
            Role::Memory(_) => 0,
        };
        [turn, context.to_go(node) as i64]
    }

    fn placed(&mut self, _: &Context<'_>, node: Node, _: u64, changed: &mut Vec<Node>) {
        // Joins are no instructions and have no role.
        if node.index() < self.body.insts.len() && self.roles[node.index()] == Role::Matrix {
            self.placed += 1;
            changed.extend(self.due.get(self.placed).into_iter().flatten());
        }
    }
}
