//! A block made ready for the list engine.

use crate::dialect::Dialect;
use crate::list_schedule::Options;
use crate::resources::UnitTable;
use crate::wmma;
use sassafras_deps::cyclic::critical_recurrence;
use sassafras_deps::models::Latencies;
use sassafras_deps::paths::Paths;
use sassafras_deps::{BuildOptions, Graph, Node, build};
use sassafras_ir::cfg::Cfg;
use sassafras_ir::liveness::Liveness;
use sassafras_ir::{Block, Function, Inst};
use sassafras_list::block_values::values;
use sassafras_list::{Request, Resources, SubCore, Values};
use sassafras_ptx::contraction;

/// What there is to know about a block before it is ordered.
pub(crate) struct Prepared {
    pub block: Block,
    /// Its instructions as they came: the nodes of the graph.
    pub insts: Vec<Inst>,
    /// Dependences, and orders that are wanted besides.
    pub graph: Graph,
    /// Dependences alone, where orders are wanted that the block did not come in.
    plain: Option<Graph>,
    pub paths: Paths,
    pub resources: Resources,
    pub values: Values,
    /// Asynchronous tensor copies.
    pub boosted: Vec<Node>,
}

/// What all blocks of a function share.
pub(crate) struct Shared<'f> {
    pub f: &'f Function,
    pub cfg: &'f Cfg,
    pub liveness: &'f Liveness,
    pub model: &'f Latencies,
    pub units: &'f UnitTable,
}

impl Prepared {
    /// Near-linear in the size of the block.
    pub fn new(shared: &Shared<'_>, block: Block, options: &Options) -> Prepared {
        let f = shared.f;
        let insts = f.block_insts(block).to_vec();
        // What a loop carries matters to those who look at registers or at the path around it.
        let is_loop = shared.cfg.succs(block).contains(&block);
        let mut graph = build(f, &insts, shared.model, BuildOptions { carried: is_loop });
        let boosted: Vec<Node> = match options.async_tensor {
            Some(_) => tensor_copies(f, &insts, options.dialect),
            None => Vec::new(),
        };
        if let Some(latency) = options.async_tensor
            && !boosted.is_empty()
        {
            graph = graph.with_latency(&boosted, latency);
        }
        let mut orders = Vec::new();
        if options.dialect == Dialect::Ptx {
            let kept = contraction::kept(f, block);
            orders.extend(kept.windows(2).map(|pair| (Node(pair[0]), Node(pair[1]))));
        }
        if !orders.is_empty()
            && let Some(more) = graph.with_orders(&orders)
        {
            graph = more;
        }
        let plain = options.group_wmma.then(|| graph.clone());
        if options.group_wmma {
            graph = wmma::grouped(f, &insts, graph);
        }
        let mut paths = Paths::new(&graph);
        if options.cyclic_critical_path
            && is_loop
            && let Some(recurrence) = critical_recurrence(&graph)
        {
            paths = paths.around(&graph, &recurrence);
        }
        Prepared {
            block,
            plain,
            resources: shared.units.resources(f, &insts),
            values: values(f, &insts, shared.liveness.live_out(block)),
            insts,
            graph,
            paths,
            boosted,
        }
    }

    /// What strategies are made from.
    pub fn problem(&self, options: &Options) -> Request<'_> {
        let Options { terms, direction, seed, .. } = *options;
        Request { terms, direction, seed, ..Request::new(self) }
    }

    /// The graph that any legal order can be timed by.
    pub fn timed(&self) -> &Graph {
        self.plain.as_ref().unwrap_or(&self.graph)
    }
}

impl sassafras_list::Prepared for Prepared {
    fn graph(&self) -> &Graph {
        &self.graph
    }

    fn paths(&self) -> &Paths {
        &self.paths
    }

    fn resources(&self) -> &Resources {
        &self.resources
    }

    fn values(&self) -> Option<&Values> {
        Some(&self.values)
    }

    fn boosted(&self) -> &[Node] {
        &self.boosted
    }

    fn sub_core(&self) -> Option<&dyn SubCore> {
        None
    }
}

fn tensor_copies(f: &Function, insts: &[Inst], dialect: Dialect) -> Vec<Node> {
    let opcodes: Vec<bool> = f.opcodes().map(|opcode| dialect.is_async_tensor(opcode)).collect();
    let is_copy = |inst: &Inst| opcodes[f.inst(*inst).opcode.as_u32() as usize];
    (0u32..).zip(insts).filter(|(_, inst)| is_copy(inst)).map(|(place, _)| Node(place)).collect()
}
