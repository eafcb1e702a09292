//! Which values the nodes of a block write and read.
//!
//! A value is what one instruction writes into the registers of one operand, or what a register holds where the block
//! begins. Registers do not matter here: a register that is written twice holds two values.

use sassafras_problem::graph::{Graph, Node};

/// A value of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(u32);

impl Value {
    /// As an index into tables over values.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The value that was added so many values later.
    #[must_use]
    pub const fn after(self, number: usize) -> Value {
        Value(self.0 + number as u32)
    }
}

#[derive(Clone, Copy, Debug)]
struct Facts {
    /// What it takes of the registers that are counted; nothing for predicates.
    width: u16,
    physical: bool,
    live_out: bool,
    /// None where the block begins with it.
    def: Option<Node>,
}

/// The values of a block.
#[derive(Clone, Debug, Default)]
pub struct Values {
    facts: Vec<Facts>,
    defs: Lists,
    uses: Lists,
    users: Lists,
}

/// A list of numbers per row, in one piece of memory.
#[derive(Clone, Debug, Default)]
struct Lists {
    /// Where each row ends.
    ends: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    fn close_row(&mut self) {
        self.ends.push(self.items.len() as u32);
    }

    fn row(&self, at: usize) -> &[u32] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.items[start as usize..self.ends[at] as usize]
    }
}

impl Values {
    /// Values without any node.
    pub fn new() -> Values {
        Values::default()
    }

    /// A value that is there from the beginning. `width` counts registers.
    pub fn enters(&mut self, width: u16, physical: bool) -> Value {
        self.add(width, physical, None)
    }

    fn add(&mut self, width: u16, physical: bool, def: Option<Node>) -> Value {
        self.facts.push(Facts { width, physical, live_out: false, def });
        Value(self.facts.len() as u32 - 1)
    }

    /// The next node reads these values, of which each should be named once, and writes values of these widths, physical registers
    /// or not. Returns the first of the new values; the others follow.
    pub fn node(&mut self, reads: &[Value], writes: impl IntoIterator<Item = (u16, bool)>) -> Value {
        let node = Node(self.uses.ends.len() as u32);
        let first = Value(self.facts.len() as u32);
        self.uses.items.extend(reads.iter().map(|value| value.0));
        self.uses.close_row();
        for (width, physical) in writes {
            let value = self.add(width, physical, Some(node));
            self.defs.items.push(value.0);
        }
        self.defs.close_row();
        first
    }

    /// A value that is wanted behind the block.
    pub fn leaves(&mut self, value: Value) {
        self.facts[value.index()].live_out = true;
    }

    /// To be called when all nodes are there: finds the readers of every value.
    pub fn finish(&mut self) {
        let mut counts = vec![0u32; self.facts.len()];
        for &value in &self.uses.items {
            counts[value as usize] += 1;
        }
        let mut next = 0;
        let mut places: Vec<u32> = Vec::with_capacity(counts.len());
        self.users.ends.clear();
        for count in counts {
            places.push(next);
            next += count;
            self.users.ends.push(next);
        }
        self.users.items = vec![0; next as usize];
        for node in 0..self.uses.ends.len() {
            for &value in self.uses.row(node) {
                let place = &mut places[value as usize];
                self.users.items[*place as usize] = node as u32;
                *place += 1;
            }
        }
    }

    /// How many values there are.
    pub fn count(&self) -> usize {
        self.facts.len()
    }

    /// All values.
    pub fn all(&self) -> impl Iterator<Item = Value> + use<> {
        (0..self.facts.len() as u32).map(Value)
    }

    /// What a node writes; joins write nothing.
    pub fn defs(&self, node: Node) -> impl Iterator<Item = Value> + '_ {
        self.of(&self.defs, node)
    }

    /// What a node reads, each value once.
    pub fn uses(&self, node: Node) -> impl Iterator<Item = Value> + '_ {
        self.of(&self.uses, node)
    }

    fn of<'v>(&self, lists: &'v Lists, node: Node) -> impl Iterator<Item = Value> + use<'v> {
        let row = if node.index() < lists.ends.len() { lists.row(node.index()) } else { &[] };
        row.iter().map(|&value| Value(value))
    }

    /// The nodes that read a value, in program order.
    pub fn users(&self, value: Value) -> impl ExactSizeIterator<Item = Node> + '_ {
        self.users.row(value.index()).iter().map(|&node| Node(node))
    }

    /// Those of them from one node on to just before another.
    pub fn users_within(&self, value: Value, from: u32, to: u32) -> impl Iterator<Item = Node> + '_ {
        let all = self.users.row(value.index());
        let first = all.partition_point(|&node| node < from);
        all[first..].iter().take_while(move |&&node| node < to).map(|&node| Node(node))
    }

    /// Who writes a value; none where the block begins with it.
    pub fn def(&self, value: Value) -> Option<Node> {
        self.facts[value.index()].def
    }

    /// The registers that a value takes, of those that are counted.
    pub fn width(&self, value: Value) -> i64 {
        i64::from(self.facts[value.index()].width)
    }

    /// Whether the value is in a physical register.
    pub fn is_physical(&self, value: Value) -> bool {
        self.facts[value.index()].physical
    }

    /// Whether the value is wanted behind the block.
    pub fn is_live_out(&self, value: Value) -> bool {
        self.facts[value.index()].live_out
    }

    /// The most registers that are needed at once when the nodes run in an order: what is live behind a node together with what
    /// it writes. Linear.
    pub fn peak(&self, order: &[Node]) -> i64 {
        let mut live: Vec<bool> = self.facts.iter().map(|facts| facts.live_out).collect();
        let mut now: i64 = self.all().filter(|&v| live[v.index()]).map(|v| self.width(v)).sum();
        let mut peak = now;
        for &node in order.iter().rev() {
            let dead = self.defs(node).filter(|v| !live[v.index()]).map(|v| self.width(v)).sum::<i64>();
            peak = peak.max(now + dead);
            for value in self.defs(node) {
                if std::mem::replace(&mut live[value.index()], false) {
                    now -= self.width(value);
                }
            }
            for value in self.uses(node) {
                if !std::mem::replace(&mut live[value.index()], true) {
                    now += self.width(value);
                }
            }
            peak = peak.max(now);
        }
        peak
    }
}

/// The region of every instruction of a graph, and of joins no region.
pub(crate) fn regions_of(graph: &Graph) -> Vec<u32> {
    let mut region_of = vec![u32::MAX; graph.node_count()];
    for (number, region) in (0u32..).zip(graph.regions()) {
        region_of[region.start as usize..region.end as usize].fill(number);
    }
    region_of
}
