//! Disjoint sets with directed unions.

/// Numbers in disjoint sets. A union hangs the first one's root under the second one's, as the tile scheduler's do: the
/// leader of a set is who it was told to follow, not who came first.
#[derive(Clone, Debug, Default)]
pub struct Union {
    parent: Vec<usize>,
}

impl Union {
    /// So many sets of one number each.
    pub fn new(count: usize) -> Union {
        Union { parent: (0..count).collect() }
    }

    /// The leader of a number's set; paths are halved on the way.
    pub fn find(&mut self, mut at: usize) -> usize {
        while self.parent[at] != at {
            self.parent[at] = self.parent[self.parent[at]];
            at = self.parent[at];
        }
        at
    }

    /// Puts the set of `child` under the leader of `parent`; false if they were one already.
    pub fn join(&mut self, child: usize, parent: usize) -> bool {
        let (child, parent) = (self.find(child), self.find(parent));
        self.parent[child] = parent;
        child != parent
    }

    /// All sets: the members of each in ascending order, sets by their least member.
    pub fn sets(&mut self) -> Vec<Vec<usize>> {
        let mut by_leader: Vec<Vec<usize>> = vec![Vec::new(); self.parent.len()];
        for at in 0..self.parent.len() {
            let leader = self.find(at);
            by_leader[leader].push(at);
        }
        by_leader.retain(|s| !s.is_empty());
        by_leader.sort_by_key(|s| s[0]);
        by_leader
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_leads() {
        let mut sets = Union::new(5);
        assert!(sets.join(0, 3));
        assert!(sets.join(3, 4));
        assert!(!sets.join(0, 4));
        assert_eq!(sets.find(0), 4);
        assert_eq!(sets.sets(), [vec![0, 3, 4], vec![1], vec![2]]);
    }
}
