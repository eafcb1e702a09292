//! Goal: a block as the strategies of [`sassafras_list::registry`] see it.

use crate::body::Body;
use crate::classify::Kind;
use sassafras_deps::paths::Paths;
use sassafras_deps::{Graph, Node};
use sassafras_ir::Span;
use sassafras_list::strategies::Terms;
use sassafras_list::{Entry, Prepared, Request, Resources, SubCore, Values};
use sassafras_machine::dispatch::Pipe;
use std::cell::OnceCell;

/// A block, and its values for strategies that look at registers: few do, so they are found when one asks.
pub(crate) struct Ready<'b> {
    pub body: &'b Body,
    find: &'b dyn Fn() -> Option<Values>,
    values: OnceCell<Option<Values>>,
    terms: Terms,
}

impl<'b> Ready<'b> {
    /// For code that may use so many general registers; without any, as many as by default.
    pub fn new(body: &'b Body, registers: u32, find: &'b dyn Fn() -> Option<Values>) -> Ready<'b> {
        let standard = Terms::default();
        let budget = if registers == 0 { standard.budget } else { i64::from(registers) };
        Ready { body, find, values: OnceCell::new(), terms: Terms { budget, ..standard } }
    }

    /// What strategies are made from.
    pub fn problem(&self) -> Request<'_> {
        Request { terms: self.terms, ..Request::new(self) }
    }

    /// The order that a strategy gives the block, with its name; none where the block lacks something that it looks at.
    pub fn order(&self, strategy: &Entry, problem: &Request<'_>) -> Option<(&'static str, Vec<Node>)> {
        strategy.order(problem).map(|made| (strategy.name, made.order))
    }
}

impl Prepared for Ready<'_> {
    fn graph(&self) -> &Graph {
        &self.body.graph
    }

    fn paths(&self) -> &Paths {
        &self.body.paths
    }

    fn resources(&self) -> &Resources {
        &self.body.resources
    }

    fn values(&self) -> Option<&Values> {
        self.values.get_or_init(self.find).as_ref()
    }

    fn boosted(&self) -> &[Node] {
        &[]
    }

    fn sub_core(&self) -> Option<&dyn SubCore> {
        Some(self.body)
    }
}

impl SubCore for Body {
    fn is_transfer(&self, node: Node) -> bool {
        self.nodes[node.index()].kind == Kind::Transfer
    }

    fn is_global_load(&self, node: Node) -> bool {
        self.nodes[node.index()].is_load
    }

    fn cycles(&self, node: Node) -> u32 {
        self.nodes[node.index()].cycles
    }

    fn pipes(&self, node: Node) -> &[(Pipe, u16)] {
        &self.nodes[node.index()].pipes
    }

    fn sources(&self, node: Node) -> [Option<Span>; 3] {
        self.nodes[node.index()].sources
    }

    fn writes(&self, node: Node) -> &[Span] {
        &self.nodes[node.index()].writes
    }

    fn steady(&self, node: Node) -> i64 {
        self.steady[node.index()]
    }
}
