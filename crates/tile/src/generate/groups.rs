//! Groups of operations from the constraint attributes.
//!
//! `gid` names a group, `leader_gid` the group it follows: the union hangs the first under the second. An operation without
//! a `gid` is a group of its own; one with a `gid` but without a leader leads itself. (The document's parser takes an absent
//! leader for group 0, which it calls a trap; texts here say so if they mean it.)

use crate::union::Union;
use cranelift_entity::EntityRef;
use sassafras_tileir::program::{Op, Program};
use std::collections::BTreeMap;

/// The groups of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    /// Members of each group, in program order; groups by their first member.
    pub members: Vec<Vec<Op>>,
    /// The leader of each group: the member that the others follow.
    pub leaders: Vec<Op>,
    /// The group of each operation.
    pub of: Vec<usize>,
}

impl Groups {
    /// Reads the attributes of a loop.
    pub fn of(program: &Program) -> Groups {
        // One node per gid, then one per operation without one.
        let mut nodes: BTreeMap<u32, usize> = BTreeMap::new();
        for o in program.ops.values() {
            for gid in [o.attributes.gid, o.attributes.leader_gid].into_iter().flatten() {
                let next = nodes.len();
                nodes.entry(gid).or_insert(next);
            }
        }
        let mut union = Union::new(nodes.len() + program.ops.len());
        let mut node = Vec::with_capacity(program.ops.len());
        for (op, o) in program.ops.iter() {
            let own = o.attributes.gid.or(o.attributes.leader_gid).map(|gid| nodes[&gid]);
            let own = own.unwrap_or(nodes.len() + op.index());
            if let Some(leader) = o.attributes.leader_gid {
                union.join(own, nodes[&leader]);
            }
            node.push(own);
        }
        let mut by_root: BTreeMap<usize, Vec<Op>> = BTreeMap::new();
        for op in program.ops.keys() {
            by_root.entry(union.find(node[op.index()])).or_default().push(op);
        }
        let mut groups: Vec<(usize, Vec<Op>)> = by_root.into_iter().collect();
        groups.sort_by_key(|g| g.1[0]);
        let mut of = vec![0; program.ops.len()];
        let mut leaders = Vec::with_capacity(groups.len());
        for (i, (root, members)) in groups.iter().enumerate() {
            members.iter().for_each(|op| of[op.index()] = i);
            let leader = members.iter().find(|op| node[op.index()] == *root);
            leaders.push(*leader.unwrap_or(&members[0]));
        }
        Groups { members: groups.into_iter().map(|g| g.1).collect(), leaders, of }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sassafras_tileir::program::parse;

    fn groups(attributes: &[&str]) -> Groups {
        let ops: String = attributes
            .iter()
            .enumerate()
            .map(|(i, a)| format!("op o{i} = simt () -> () {{ {a} }}\n"))
            .collect();
        let text = format!("loop l {{ {ops} }}")
            .replace("leader", "tileas.schedule.constraint.leader_gid")
            .replace("gid =", "tileas.schedule.constraint.gid =")
            .replace("leader_tileas.schedule.constraint.gid", "leader_gid");
        Groups::of(&parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))[0])
    }

    #[test]
    fn groups_follow_their_leaders() {
        let ops = |list: &[usize]| list.iter().map(|&i| Op::new(i)).collect::<Vec<_>>();
        let g = groups(&["gid = 3", "", "gid = 7 leader = 3", "gid = 9", "gid = 7", "leader = 9"]);
        assert_eq!(g.members, [ops(&[0, 2, 4]), ops(&[1]), ops(&[3, 5])]);
        assert_eq!(g.leaders, ops(&[0, 1, 3]));
        // Told both ways round, the later one is already true.
        let g = groups(&["gid = 3 leader = 7", "gid = 7 leader = 3"]);
        assert_eq!((g.members.len(), g.leaders[0]), (1, Op::new(1)));
    }
}
