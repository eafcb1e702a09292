//! Registers in use while a schedule grows from the end.
//!
//! Growing from the end, a value is live from the pick of its last reader to the pick of its writer: picking a reader may open a
//! live range, picking the writer closes it. What a pick would change is kept per node and brought up to date when a value becomes
//! live, once per reader.
//!
//! Cost: linear in the operands over all regions of a block.

use crate::values::{Value, Values, regions_of};
use sassafras_problem::graph::{Graph, Node};

/// The state of every value, and what picking a node would change.
#[derive(Clone, Debug)]
pub struct Pressure<'v> {
    values: &'v Values,
    /// By value: since which cycle it is live, counted from the end of the region as 1; 0 for what is live behind it, [`DEAD`] for what is
    /// not live.
    since: Vec<u64>,
    /// By region: values written there that are read behind it, and values read there for the last time.
    written: Vec<Vec<Value>>,
    ending: Vec<Vec<Value>>,
    /// By value: the region of its last reader.
    last: Vec<u32>,
    bounds: Vec<(u32, u32)>,
    region: usize,
    now: i64,
    peak: i64,
    nodes: Vec<NodeState>,
}

/// What picking a node would change, and how many values that it reads are live.
#[derive(Clone, Copy, Debug, Default)]
struct NodeState {
    delta: i32,
    live_uses: u32,
}

/// Not live.
const DEAD: u64 = u64::MAX;

/// Behind the last region.
const BEHIND: u32 = u32::MAX;

impl<'v> Pressure<'v> {
    /// Nothing is placed.
    pub fn new(graph: &Graph, values: &'v Values) -> Pressure<'v> {
        let regions = graph.regions().len();
        let region_of = regions_of(graph);
        let mut written = vec![Vec::new(); regions];
        let mut ending = vec![Vec::new(); regions];
        let mut last = vec![0; values.count()];
        for value in values.all() {
            let reader = values.users(value).last().map(|node| region_of[node.index()]);
            let from = values.def(value).map_or(0, |node| region_of[node.index()]);
            let to = if values.is_live_out(value) { BEHIND } else { reader.unwrap_or(from) };
            last[value.index()] = to;
            if to > from && (from as usize) < regions {
                written[from as usize].push(value);
            }
            if let Some(bucket) = ending.get_mut(to as usize) {
                bucket.push(value);
            }
        }
        Pressure {
            values,
            since: vec![DEAD; values.count()],
            written,
            ending,
            last,
            bounds: graph.regions().iter().map(|region| (region.start, region.end)).collect(),
            region: 0,
            now: 0,
            peak: 0,
            nodes: vec![NodeState::default(); graph.node_count()],
        }
    }

    /// Starts with a region: live is what is wanted behind it.
    pub fn begin(&mut self, region: usize) {
        self.region = region;
        let before = region.checked_sub(1);
        let (written, ending) = (std::mem::take(&mut self.written), std::mem::take(&mut self.ending));
        for at in before.into_iter().chain([region]) {
            for &value in &written[at] {
                // What ends in this region opens when it is read.
                self.set(value, self.last[value.index()] > region as u32);
            }
            for &value in &ending[at] {
                self.set(value, false);
            }
        }
        (self.written, self.ending) = (written, ending);
        self.peak = self.peak.max(self.now);
        let (start, end) = self.bounds[region];
        for node in (start..end).map(Node) {
            let (mut delta, mut live_uses) = (0, 0);
            for value in self.values.uses(node) {
                if self.is_live(value) {
                    live_uses += 1;
                } else {
                    delta += self.values.width(value);
                }
            }
            for value in self.values.defs(node) {
                if self.is_wanted(value) {
                    delta -= self.values.width(value);
                }
            }
            self.nodes[node.index()] = NodeState { delta: delta as i32, live_uses };
        }
    }

    fn is_live(&self, value: Value) -> bool {
        self.since[value.index()] != DEAD
    }

    fn set(&mut self, value: Value, live: bool) {
        let was = std::mem::replace(&mut self.since[value.index()], if live { 0 } else { DEAD }) != DEAD;
        if was != live {
            let width = self.values.width(value);
            self.now += if live { width } else { -width };
        }
    }

    fn is_wanted(&self, value: Value) -> bool {
        self.values.is_live_out(value) || self.values.users(value).len() > 0
    }

    /// Follows a pick. Adds to `changed` the nodes that would now change something else.
    pub fn placed(&mut self, node: Node, cycle: u64, changed: &mut Vec<Node>) {
        let values = self.values;
        let dead = values.defs(node).filter(|&v| !self.is_live(v)).map(|v| values.width(v)).sum::<i64>();
        self.peak = self.peak.max(self.now + dead);
        for value in values.defs(node) {
            if std::mem::replace(&mut self.since[value.index()], DEAD) != DEAD {
                self.now -= values.width(value);
            }
        }
        let (start, end) = self.bounds[self.region];
        for value in self.values.uses(node) {
            if self.is_live(value) {
                continue;
            }
            self.since[value.index()] = cycle + 1;
            let width = self.values.width(value);
            self.now += width;
            for user in self.values.users_within(value, start, end) {
                let state = &mut self.nodes[user.index()];
                state.delta -= width as i32;
                state.live_uses += 1;
                if user != node {
                    changed.push(user);
                }
            }
        }
        self.peak = self.peak.max(self.now);
    }

    /// Registers in use.
    pub fn now(&self) -> i64 {
        self.now
    }

    /// The most that were in use.
    pub fn peak(&self) -> i64 {
        self.peak
    }

    /// By how much picking a node would change the registers in use.
    pub fn delta(&self, node: Node) -> i64 {
        i64::from(self.nodes[node.index()].delta)
    }

    /// How many values that a node reads are live anyway.
    pub fn live_uses(&self, node: Node) -> i64 {
        i64::from(self.nodes[node.index()].live_uses)
    }

    /// The cycle, counted from the end of the region as 1, since which what a node writes is live: that of its last reader. Of several
    /// values the one that has been live longest counts; what is wanted behind the region, and what writes nothing that is wanted, has 0.
    ///
    /// Now minus this is the length of the live range if the node were picked now. It is fixed once the node can be picked.
    pub fn live_since(&self, node: Node) -> u64 {
        let since =
            self.values.defs(node).map(|value| self.since[value.index()]).filter(|&since| since != DEAD);
        since.min().unwrap_or(0)
    }
}
