//! Which block a name is, seen from a scope.

use crate::syntax::{Body, Module, ScopeId};
use crate::text::Span;
use rustc_hash::FxHashMap;
use sassafras_ir::Block;

/// The labels of a function.
pub(super) struct Labels<'a> {
    /// The instruction behind each label.
    insts: FxHashMap<(ScopeId, &'a str), u32>,
    lists: FxHashMap<(ScopeId, &'a str), &'a [Span]>,
    /// The first label in front of an instruction, of those that code names.
    names: FxHashMap<u32, &'a str>,
    /// The block that begins with an instruction.
    blocks: FxHashMap<u32, Block>,
}

impl<'a> Labels<'a> {
    pub fn new(module: &'a Module, body: &Body) -> Labels<'a> {
        let range = |r: &std::ops::Range<u32>| r.start as usize..r.end as usize;
        let labels = &module.labels[range(&body.labels)];
        let lists = &module.target_lists[range(&body.target_lists)];
        let mut names = FxHashMap::default();
        for label in labels.iter().filter(|label| label.named) {
            names.entry(label.inst).or_insert(module.text(label.name));
        }
        Labels {
            insts: labels.iter().map(|l| ((l.scope, module.text(l.name)), l.inst)).collect(),
            lists: lists.iter().map(|l| ((l.scope, module.text(l.name)), l.targets.as_slice())).collect(),
            names,
            blocks: FxHashMap::default(),
        }
    }

    /// Says which block begins with an instruction.
    pub fn starts(&mut self, inst: u32, block: Block) {
        self.blocks.insert(inst, block);
    }

    /// The first label in front of an instruction that code names.
    pub fn name_of(&self, inst: u32) -> Option<&'a str> {
        self.names.get(&inst).copied()
    }

    /// The block behind a label.
    pub fn find(&self, module: &Module, scope: ScopeId, name: &str) -> Option<Block> {
        self.look(module, scope, |scope| {
            self.insts.get(&(scope, name)).and_then(|i| self.blocks.get(i)).copied()
        })
    }

    /// The blocks of a list of targets; `None` when there is no such list or one of its labels is missing.
    pub fn list(&self, module: &'a Module, scope: ScopeId, name: &str) -> Option<Vec<Block>> {
        let targets = self.look(module, scope, |scope| self.lists.get(&(scope, name)).copied())?;
        let mut blocks: Vec<Block> =
            targets.iter().map(|&span| self.find(module, scope, module.text(span))).collect::<Option<_>>()?;
        blocks.sort_unstable();
        blocks.dedup();
        Some(blocks)
    }

    /// Asks the scopes from the innermost outwards; they nest only so deep.
    fn look<T>(&self, module: &Module, scope: ScopeId, get: impl Fn(ScopeId) -> Option<T>) -> Option<T> {
        let mut scope = Some(scope);
        while let Some(present) = scope {
            if let Some(found) = get(present) {
                return Some(found);
            }
            scope = module.parents.get(present.index()).copied().flatten();
        }
        None
    }
}
