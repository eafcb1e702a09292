//! Lanes for registers and for names of memory, made when first asked for.

use super::NoLane;
use crate::syntax::{Module, RegId};
use crate::table::Table;
use rustc_hash::FxHashMap;
use sassafras_ir::{Lane, RegClass, Span};

/// The lanes so far.
#[derive(Default)]
pub(super) struct Registers<'a> {
    first: FxHashMap<(RegId, u32), u32>,
    names: FxHashMap<&'a str, u32>,
    general: u32,
    predicates: u32,
}

impl<'a> Registers<'a> {
    /// The lanes of a register, or of one element of it; `Ok(None)` when its type is not known or it has no such element.
    pub fn span(
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
        let (class, next) = match bytes {
            0 => (RegClass::Pred, &mut self.predicates),
            _ => (RegClass::Gpr, &mut self.general),
        };
        let first = *self.first.entry((register, index)).or_insert_with(|| {
            let first = *next;
            *next = first.saturating_add(lanes);
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
    pub fn name(&mut self, name: &'a str) -> Result<Span, NoLane> {
        let next = self.names.len() as u32;
        let index = *self.names.entry(name).or_insert(next);
        Lane::virt(RegClass::Uniform, index).map(Span::from).ok_or(NoLane)
    }
}
