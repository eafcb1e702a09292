//! Many before many, with a linear number of edges.
//!
//! A [`Fan`] holds producers that every later consumer of one kind must wait for. A few are connected directly; beyond
//! that a join collects them, and the next consumer gets one edge from the join. Joins never change once made: new
//! producers go into a new join that the old one feeds.

use crate::build::{Edges, Source};
use crate::graph::{EdgeKind, End};
use smallvec::SmallVec;

/// Up to this many producers get an edge each.
const DIRECT: usize = 3;

/// One producer with what its edges say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spoke {
    pub source: Source,
    pub latency: u16,
    pub end: End,
}

/// Producers and the join over those that came first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fan {
    join: Option<Source>,
    loose: SmallVec<[Spoke; DIRECT]>,
}

impl Fan {
    pub fn push(&mut self, source: Source, latency: u16) {
        self.loose.push(Spoke { source, latency, end: End::NONE });
    }

    /// Makes `consumer` wait for every producer so far, itself excepted.
    pub fn connect(&mut self, edges: &mut Edges, consumer: Source, kind: EdgeKind) {
        if self.join.is_none() && self.loose.len() <= DIRECT {
            for spoke in &self.loose {
                edges.add(spoke.source, consumer, spoke.latency, kind, spoke.end, End::NONE);
            }
            return;
        }
        if self.loose.iter().any(|s| s.source != consumer) {
            let join = edges.add_join(consumer);
            if let Some(old) = self.join {
                edges.add(old, join, 0, kind, End::NONE, End::NONE);
            }
            for spoke in self.loose.iter().filter(|s| s.source != consumer) {
                edges.add(spoke.source, join, spoke.latency, kind, spoke.end, End::NONE);
            }
            // An instruction with two accesses may meet itself here; it stays for the consumers after it.
            self.loose.retain(|s| s.source == consumer);
            self.join = Some(join);
        }
        if let Some(join) = self.join {
            edges.add(join, consumer, 0, kind, End::NONE, End::NONE);
        }
    }
}
