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

/// The tables.
#[derive(Debug, Default)]
pub(crate) struct Registers {
    dense: [Vec<u32>; 2 * RegClass::ALL.len()],
    sparse: FxHashMap<Lane, u32>,
    rows: Vec<Row>,
    arena: Vec<Entry>,
    /// For a long list, the reason to wait and the class of consumers: the join over its first entries, and the list's head at that time.
    joins: FxHashMap<(u32, EdgeKind, u16), (Source, u32)>,
    ids: u32,
}

impl Registers {
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
        self.connect(
            edges,
            self.rows[row].writers,
            reader,
            class,
            end,
            EdgeKind::Raw,
            raw,
            false,
        );
        push(
            &mut self.arena,
            &mut self.rows[row].readers,
            reader,
            class,
            end,
        );
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
        let row = row as usize;
        let Row {
            writers, readers, ..
        } = self.rows[row];
        self.connect(
            edges,
            readers,
            writer,
            class,
            end,
            EdgeKind::War,
            war,
            kills,
        );
        self.connect(
            edges,
            writers,
            writer,
            class,
            end,
            EdgeKind::Waw,
            waw,
            kills,
        );
        if kills {
            self.rows[row] = new_row(&mut self.ids);
            // What the instruction itself read stays: the next write waits for that read too.
            let mut at = readers.head;
            while at != NIL && self.arena[at as usize].source == writer {
                let Entry {
                    class, end, next, ..
                } = self.arena[at as usize];
                push(
                    &mut self.arena,
                    &mut self.rows[row].readers,
                    writer,
                    class,
                    end,
                );
                at = next;
            }
        }
        self.ids += 1;
        self.rows[row].value = self.ids;
        push(
            &mut self.arena,
            &mut self.rows[row].writers,
            writer,
            class,
            end,
        );
    }

    /// Edges from a list to a consumer: one per entry when the list is short or ends here, through a join otherwise.
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
        ends_here: bool,
    ) {
        if list.len <= DIRECT || ends_here {
            let mut at = list.head;
            while at != NIL {
                let entry = self.arena[at as usize];
                // What an instruction read it may overwrite itself.
                if entry.source != consumer {
                    edges.add(
                        entry.source,
                        consumer,
                        cost(entry.class, class),
                        kind,
                        entry.end,
                        end,
                    );
                }
                at = entry.next;
            }
            return;
        }
        let old = self.joins.get(&(list.id, kind, class)).copied();
        let covered = old.map_or(NIL, |(_, head)| head);
        let mut join = old.map(|(join, _)| join);
        // The consumer's own entries are the newest; they stay uncovered.
        let mut at = list.head;
        while at != covered && at != NIL && self.arena[at as usize].source == consumer {
            at = self.arena[at as usize].next;
        }
        if at != covered {
            let fresh = edges.add_join(consumer);
            if let Some(old) = join {
                edges.add(old, fresh, 0, kind, End::NONE, End::NONE);
            }
            let newest = at;
            while at != covered {
                let entry = self.arena[at as usize];
                edges.add(
                    entry.source,
                    fresh,
                    cost(entry.class, class),
                    kind,
                    entry.end,
                    End::NONE,
                );
                at = entry.next;
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
    let list = |id| List {
        head: NIL,
        len: 0,
        id,
    };
    Row {
        writers: list(*ids - 1),
        readers: list(*ids),
        value: *ids,
    }
}

fn push(arena: &mut Vec<Entry>, list: &mut List, source: Source, class: u16, end: End) {
    arena.push(Entry {
        source,
        class,
        end,
        next: list.head,
    });
    list.head = arena.len() as u32 - 1;
    list.len += 1;
}
