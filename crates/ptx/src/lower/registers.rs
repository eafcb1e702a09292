//! Lanes for registers and for names of memory, made when first asked for.

use super::NoLane;
use crate::syntax::{Module, RegId};
use crate::table::Table;
use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};
use sassafras_ir::{Lane, RegClass, Span};

/// Which lanes registers and names of memory are.
///
/// Lanes are given out when they are first asked for. Functions with the same declarations that are lowered with one numbering name the
/// same registers by the same lanes, in whatever order they use them.
#[derive(Clone, Debug, Default)]
pub struct Numbering {
    first: FxHashMap<(RegId, u32), u32>,
    /// The register of every lane, general ones and predicates.
    owners: [Vec<Owner>; 2],
    names: IndexSet<Box<str>, FxBuildHasher>,
}

#[derive(Clone, Copy, Debug)]
struct Owner {
    register: RegId,
    index: u32,
}

impl Numbering {
    /// The register or the name of memory that a lane belongs to, as the module spells it; `None` for lanes that it has not given out.
    pub fn name(&self, module: &Module, lane: Lane) -> Option<String> {
        let at = lane.index() as usize;
        let owners = match lane.class() {
            _ if !lane.is_virtual() => return None,
            RegClass::Uniform => return self.names.get_index(at).map(|name| name.to_string()),
            RegClass::Pred => &self.owners[1],
            _ => &self.owners[0],
        };
        let &Owner { register, index } = owners.get(at)?;
        let declared = module.register(register);
        let name = module.text(declared.name);
        Some(if declared.count.is_some() { format!("{name}{index}") } else { name.to_owned() })
    }

    /// The lanes of a register, or of one element of it; `Ok(None)` when its type is not known or it has no such element.
    pub(super) fn span(
        &mut self,
        module: &Module,
        register: RegId,
        index: u32,
        element: Option<u8>,
    ) -> Result<Option<Span>, NoLane> {
        let declared = module.register(register);
        let Some(bytes) = Table::get().type_bytes(module.text(declared.ty)) else { return Ok(None) };
        if element.is_some_and(|e| e >= declared.elements) {
            return Ok(None);
        }
        let each = bytes.div_ceil(4).max(1);
        let lanes = each * u32::from(declared.elements);
        let (class, owners) = match bytes {
            0 => (RegClass::Pred, &mut self.owners[1]),
            _ => (RegClass::Gpr, &mut self.owners[0]),
        };
        let first = *self.first.entry((register, index)).or_insert_with(|| {
            let first = owners.len() as u32;
            owners.extend((0..lanes).map(|_| Owner { register, index }));
            first
        });
        let (start, len) = match element {
            Some(element) => (first + each * u32::from(element), each),
            None => (first, lanes),
        };
        let span = Lane::virt(class, start).and_then(|lane| Span::new(lane, len as u8));
        span.map(Some).ok_or(NoLane)
    }

    /// The lane that stands for the address of a name.
    pub(super) fn memory(&mut self, name: &str) -> Result<Span, NoLane> {
        let index = match self.names.get_index_of(name) {
            Some(index) => index,
            None => self.names.insert_full(name.into()).0,
        };
        Lane::virt(RegClass::Uniform, index as u32).map(Span::from).ok_or(NoLane)
    }
}
