//! Last-writer and last-reader tables, one row per lane.
//!
//! A row holds the writes that may reach the present point (one killing write and the guarded ones after it) and the
//! reads since the killing write. Lists live in one arena, so that a row is a few words and killing it is constant time.

use crate::build::{Edges, Source};
use crate::graph::{EdgeKind, End};
use rustc_hash::FxHashMap;
use sassafras_ir::{Lane, RegClass};

/// Up to this many entries of a row get an edge each; a longer row that is not killed goes through joins.
const DIRECT: u32 = 3;
const NIL: u32 = u32::MAX;
/// Lanes with a larger index are found by hashing: nobody gets a large table by naming a large register.
const DENSE: u32 = 1 << 20;

/// One read or write of a lane.
#[derive(Clone, Copy, Debug)]
struct Entry {
    source: Source,
    class: u16,
    end: End,
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    len: u32,
    /// Distinguishes the lists that a lane had one after the other, as keys of `joins`.
    id: u32,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    writers: List,
    readers: List,
    /// Names the value in the lane: changes with every write that may happen.
    value: u32,
}

/// Entries of all lists. Those of lists that ended are used again, so that what is touched stays small and near.
#[derive(Debug, Default)]
struct Arena {
    entries: Vec<Entry>,
    free: u32,
}

impl Arena {
    fn new() -> Arena {
        Arena { entries: Vec::new(), free: NIL }
    }

    fn push(&mut self, list: &mut List, source: Source, class: u16, end: End) {
        let entry = Entry { source, class, end, next: list.head };
        list.len += 1;
        if self.free == NIL {
            list.head = self.entries.len() as u32;
            self.entries.push(entry);
        } else {
            list.head = self.free;
            let slot = &mut self.entries[self.free as usize];
            self.free = slot.next;
            *slot = entry;
        }
    }

    /// Takes the first entry off a list.
    fn pop(&mut self, list: &mut List) -> Option<Entry> {
        let at = list.head;
        if at == NIL {
            return None;
        }
        let slot = &mut self.entries[at as usize];
        let entry = *slot;
        list.head = entry.next;
        list.len -= 1;
        slot.next = self.free;
        self.free = at;
        Some(entry)
    }
}

/// The tables.
#[derive(Debug, Default)]
pub(crate) struct Registers {
    dense: [Vec<u32>; 2 * RegClass::ALL.len()],
    sparse: FxHashMap<Lane, u32>,
    rows: Vec<Row>,
    arena: Arena,
    /// For a long list, the reason to wait and the class of consumers: the join over its first entries, and the list's head at that time.
    joins: FxHashMap<(u32, EdgeKind, u16), (Source, u32)>,
    ids: u32,
}

impl Registers {
    pub fn new() -> Registers {
        Registers { arena: Arena::new(), ..Registers::default() }
    }

    /// The row of a lane, made when it is first met.
    pub fn row(&mut self, lane: Lane) -> u32 {
        let table = &mut self.dense[lane.class() as usize * 2 + usize::from(lane.is_virtual())];
        let index = lane.index();
        if index < DENSE {
            let index = index as usize;
            if index >= table.len() {
                table.resize(index + 1, NIL);
            }
            if table[index] == NIL {
                table[index] = self.rows.len() as u32;
                self.rows.push(new_row(&mut self.ids));
            }
            table[index]
        } else {
            *self.sparse.entry(lane).or_insert_with(|| {
                self.rows.push(new_row(&mut self.ids));
                self.rows.len() as u32 - 1
            })
        }
    }

    /// What names the value that the lane holds now.
    pub fn value(&mut self, lane: Lane) -> u32 {
        let row = self.row(lane);
        self.rows[row as usize].value
    }

    /// Makes a reader wait for the writes that may reach it, and remembers it.
    pub fn read(
        &mut self,
        edges: &mut Edges,
        row: u32,
        reader: Source,
        class: u16,
        end: End,
        raw: impl Fn(u16, u16) -> u16,
    ) {
        let row = row as usize;
        self.connect(edges, self.rows[row].writers, reader, class, end, EdgeKind::Raw, raw);
        self.arena.push(&mut self.rows[row].readers, reader, class, end);
    }

    /// Makes a writer wait for the reads and writes before it, and remembers it. A killing write ends the row's lists.
    #[allow(clippy::too_many_arguments)] // one call site; a struct would only rename the arguments
    pub fn write(
        &mut self,
        edges: &mut Edges,
        row: u32,
        writer: Source,
        class: u16,
        end: End,
        kills: bool,
        war: impl Fn(u16, u16) -> u16,
        waw: impl Fn(u16, u16) -> u16,
    ) {
        let index = row as usize;
        let row = &mut self.rows[index];
        if kills {
            let ended = std::mem::replace(row, new_row(&mut self.ids));
            let (mut readers, mut writers) = (ended.readers, ended.writers);
            while let Some(e) = self.arena.pop(&mut readers) {
                edges.add(e.source, writer, war(e.class, class), EdgeKind::War, e.end, end);
                if e.source == writer {
                    // What the instruction itself read stays: the next write waits for that read too.
                    self.arena.push(&mut row.readers, e.source, e.class, e.end);
                }
            }
            while let Some(e) = self.arena.pop(&mut writers) {
                edges.add(e.source, writer, waw(e.class, class), EdgeKind::Waw, e.end, end);
            }
        } else {
            let Row { readers, writers, .. } = *row;
            self.connect(edges, readers, writer, class, end, EdgeKind::War, war);
            self.connect(edges, writers, writer, class, end, EdgeKind::Waw, waw);
        }
        self.ids += 1;
        let row = &mut self.rows[index];
        row.value = self.ids;
        self.arena.push(&mut row.writers, writer, class, end);
    }

    /// Edges from a list that goes on to a consumer: one per entry while the list is short, through a join otherwise.
    #[allow(clippy::too_many_arguments)]
    fn connect(
        &mut self,
        edges: &mut Edges,
        list: List,
        consumer: Source,
        class: u16,
        end: End,
        kind: EdgeKind,
        cost: impl Fn(u16, u16) -> u16,
    ) {
        let entries = &self.arena.entries;
        let mut at = list.head;
        if list.len <= DIRECT {
            while at != NIL {
                let e = entries[at as usize];
                edges.add(e.source, consumer, cost(e.class, class), kind, e.end, end);
                at = e.next;
            }
            return;
        }
        let old = self.joins.get(&(list.id, kind, class)).copied();
        let covered = old.map_or(NIL, |(_, head)| head);
        let mut join = old.map(|(join, _)| join);
        // The consumer's own entries are the newest; they stay uncovered.
        while at != covered && at != NIL && entries[at as usize].source == consumer {
            at = entries[at as usize].next;
        }
        if at != covered {
            let fresh = edges.add_join(consumer);
            if let Some(old) = join {
                edges.add(old, fresh, 0, kind, End::NONE, End::NONE);
            }
            let newest = at;
            while at != covered {
                let e = entries[at as usize];
                edges.add(e.source, fresh, cost(e.class, class), kind, e.end, End::NONE);
                at = e.next;
            }
            self.joins.insert((list.id, kind, class), (fresh, newest));
            join = Some(fresh);
        }
        if let Some(join) = join {
            edges.add(join, consumer, 0, kind, End::NONE, end);
        }
    }
}

fn new_row(ids: &mut u32) -> Row {
    *ids += 2;
    let list = |id| List { head: NIL, len: 0, id };
    Row { writers: list(*ids - 1), readers: list(*ids), value: *ids }
}
