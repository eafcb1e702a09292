//! What nodes occupy.
//!
//! The engine asks of a unit only when a copy of it is free next, at a clock that never goes back, so a number per copy is
//! its whole reservation table. That of `modulo` wraps at II, is asked about any row, and gives rows back; it would make every
//! pick here pay for that. What the two have in common is the description: [`Resources::problem`] gives it as a
//! [`Problem`], and [`Input`](crate::Input) takes one.

use sassafras_problem::graph::{Graph, Node};
use sassafras_problem::{Problem, Use};
use thiserror::Error;

/// A kind of unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Its name, for reports.
    pub name: String,
    /// How many there are.
    pub copies: u32,
}

/// What one class of nodes occupies from the cycle it starts in: `(unit, cycles)`, each unit at most once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// The units, by position in [`Resources::units`].
    pub units: Vec<(u16, u16)>,
}

/// Units, demands and the class of every node.
#[derive(Clone, Debug)]
pub struct Resources {
    issue_width: u32,
    units: Vec<Unit>,
    demands: Vec<Demand>,
    class_of: Vec<u16>,
}

/// Resources that contradict themselves.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ResourceError {
    /// Nothing can ever start.
    #[error("nothing can start: the issue width is 0")]
    NoIssue,
    /// A unit that does not exist, or of which there are no copies.
    #[error("demand {demand} needs unit {unit}, of which there is none")]
    NoUnit {
        /// The demand.
        demand: usize,
        /// The unit.
        unit: u16,
    },
    /// A unit named twice by one demand.
    #[error("demand {demand} names unit {unit} twice")]
    Repeated {
        /// The demand.
        demand: usize,
        /// The unit.
        unit: u16,
    },
    /// A node whose class does not exist.
    #[error("node {node} has class {class}, which does not exist")]
    NoClass {
        /// The node.
        node: usize,
        /// The class.
        class: u16,
    },
}

impl Resources {
    /// Checks and keeps the records. `class_of` has an entry per instruction of the graph.
    pub fn new(
        issue_width: u32,
        units: Vec<Unit>,
        demands: Vec<Demand>,
        class_of: Vec<u16>,
    ) -> Result<Resources, ResourceError> {
        if issue_width == 0 {
            return Err(ResourceError::NoIssue);
        }
        for (demand, d) in demands.iter().enumerate() {
            for (i, &(unit, _)) in d.units.iter().enumerate() {
                if units.get(usize::from(unit)).is_none_or(|u| u.copies == 0) {
                    return Err(ResourceError::NoUnit { demand, unit });
                }
                if d.units[..i].iter().any(|&(other, _)| other == unit) {
                    return Err(ResourceError::Repeated { demand, unit });
                }
            }
        }
        for (node, &class) in class_of.iter().enumerate() {
            if usize::from(class) >= demands.len() {
                return Err(ResourceError::NoClass { node, class });
            }
        }
        Ok(Resources { issue_width, units, demands, class_of })
    }

    /// No units at all: only dependences and the issue width count.
    pub fn unlimited(issue_width: u32, nodes: usize) -> Resources {
        Resources {
            issue_width: issue_width.max(1),
            units: Vec::new(),
            demands: vec![Demand::default()],
            class_of: vec![0; nodes],
        }
    }

    /// The graph with these resources as a problem, for `modulo` and for the checkers: the operation of each node has its
    /// number, joins included, which hold nothing. `name` names the instructions. The issue width is a resource too.
    pub fn problem(&self, graph: &Graph, mut name: impl FnMut(Node) -> String) -> Problem {
        let mut problem = Problem::new();
        let issue = problem.add_resource("issue", self.issue_width);
        let mut add = |unit: &Unit| problem.add_resource(unit.name.as_str(), unit.copies);
        let units: Vec<_> = self.units.iter().map(&mut add).collect();
        graph.add_to(&mut problem, |node| {
            if graph.is_join(node) {
                return (format!("join {}", node.0), Vec::new());
            }
            let demand = &self.demands[self.class_of(node.index())];
            let held = demand.units.iter().filter(|(_, cycles)| *cycles > 0);
            let held = held.map(|&(unit, cycles)| Use::first(units[usize::from(unit)], u32::from(cycles)));
            (name(node), std::iter::once(Use::first(issue, 1)).chain(held).collect())
        });
        problem
    }

    /// How many nodes may start in one cycle.
    pub fn issue_width(&self) -> u32 {
        self.issue_width
    }

    /// The units.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// The classes of nodes.
    pub fn demands(&self) -> &[Demand] {
        &self.demands
    }

    /// The class of an instruction.
    pub fn class_of(&self, inst: usize) -> usize {
        usize::from(self.class_of[inst])
    }
}

/// When each copy of each unit is free again, and how many nodes have started in the present cycle.
#[derive(Clone, Debug)]
pub(crate) struct Reservations<'r> {
    resources: &'r Resources,
    /// Per unit, the cycles its copies are free from; the earliest first.
    free_from: Vec<Vec<u64>>,
    cycle: u64,
    started: u32,
}

impl<'r> Reservations<'r> {
    pub fn new(resources: &'r Resources) -> Reservations<'r> {
        let free_from = resources.units.iter().map(|u| vec![0; u.copies as usize]).collect();
        Reservations { resources, free_from, cycle: 0, started: 0 }
    }

    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Moves the clock on.
    pub fn advance_to(&mut self, cycle: u64) {
        if cycle > self.cycle {
            (self.cycle, self.started) = (cycle, 0);
        }
    }

    /// The first cycle from now on with an issue slot left.
    pub fn next_slot(&self) -> u64 {
        self.cycle + u64::from(self.started >= self.resources.issue_width)
    }

    /// The first cycle from now on in which a node of the class may start, as far as units and slots go.
    pub fn earliest(&self, class: usize) -> u64 {
        let demand = &self.resources.demands[class];
        let units = demand.units.iter().map(|&(unit, _)| self.free_from[usize::from(unit)][0]).max();
        self.next_slot().max(units.unwrap_or(0))
    }

    /// Starts a node of the class now.
    pub fn start(&mut self, class: usize) {
        self.started += 1;
        for &(unit, cycles) in &self.resources.demands[class].units {
            let copies = &mut self.free_from[usize::from(unit)];
            copies[0] = self.cycle + u64::from(cycles);
            // Keep the earliest in front; there are few copies.
            let mut i = 0;
            while i + 1 < copies.len() && copies[i] > copies[i + 1] {
                copies.swap(i, i + 1);
                i += 1;
            }
        }
    }
}
