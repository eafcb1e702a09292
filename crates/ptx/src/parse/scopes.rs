//! Which register a name is: scopes from the innermost outwards, single names and ranges.
//!
//! A range costs one entry whatever its size. `%r12` may be number 12 of `%r<…>` or number 2 of `%r1<…>`; every split of
//! its digits is asked.

use super::{Parser, Result};
use crate::syntax::{AtomKind, RegId, Register, ScopeId};
use crate::text::Span;
use rustc_hash::FxHashMap;

/// How deep scopes may nest: each level is one more place to look for a name.
const MAX_DEPTH: usize = 64;
/// The digits of the largest number that a range can have.
const MAX_DIGITS: usize = 10;

#[derive(Default)]
struct Scope<'a> {
    id: u32,
    names: FxHashMap<&'a str, RegId>,
    ranges: FxHashMap<&'a str, (RegId, u32)>,
}

/// The open scopes, the function's first.
#[derive(Default)]
pub(super) struct Scopes<'a>(Vec<Scope<'a>>);

impl Scopes<'_> {
    pub fn open_function(&mut self, parents: &mut Vec<Option<ScopeId>>) {
        self.0.clear();
        self.open(parents);
    }

    pub fn close_function(&mut self) {
        self.0.clear();
    }

    /// Opens a scope; false when there are too many.
    pub fn open(&mut self, parents: &mut Vec<Option<ScopeId>>) -> bool {
        if self.0.len() >= MAX_DEPTH {
            return false;
        }
        let id = parents.len() as u32;
        parents.push(self.0.last().map(|scope| ScopeId(scope.id)));
        self.0.push(Scope { id, ..Scope::default() });
        true
    }

    /// Closes the innermost scope; returns whether the function's own is still open.
    pub fn close(&mut self) -> bool {
        self.0.pop();
        !self.0.is_empty()
    }

    pub fn innermost(&self) -> ScopeId {
        ScopeId(self.0.last().map_or(0, |scope| scope.id))
    }

    /// The register of a name.
    pub fn find(&self, word: &str) -> Option<AtomKind> {
        let (name, element) = match word.split_once('.') {
            None => (word, None),
            // Bytes and halves of video instructions: the register as a whole.
            Some((name, field)) if is_selector(field) => (name, None),
            Some((name, field)) => (name, Some(element(field)?)),
        };
        let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        for scope in self.0.iter().rev() {
            if let Some(&register) = scope.names.get(name) {
                return Some(AtomKind::Register { register, index: 0, element });
            }
            if scope.ranges.is_empty() {
                continue;
            }
            for taken in (1..=digits.min(MAX_DIGITS)).rev() {
                let (prefix, number) = name.split_at(name.len() - taken);
                let canonical = number == "0" || !number.starts_with('0');
                if let (true, Some(&(register, count)), Ok(index)) =
                    (canonical, scope.ranges.get(prefix), number.parse::<u32>())
                    && index < count
                {
                    return Some(AtomKind::Register { register, index, element });
                }
            }
        }
        None
    }
}

/// `b0`, `h1`, `b3210`
fn is_selector(field: &str) -> bool {
    let digits = field.strip_prefix(['b', 'h']).unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

fn element(field: &str) -> Option<u8> {
    let fields = ["x", "y", "z", "w"].iter().position(|f| *f == field);
    let colours = || ["r", "g", "b", "a"].iter().position(|f| *f == field);
    fields.or_else(colours).map(|i| i as u8)
}

impl Parser<'_> {
    /// Declares a name or a range in the innermost scope.
    pub(super) fn declare(
        &mut self,
        name: Span,
        count: Option<u32>,
        ty: Span,
        elements: u8,
    ) -> Result<RegId> {
        let register = RegId(self.module.registers.len() as u32);
        let text = self.slice(name);
        let twice = match (self.scopes.0.last_mut(), count) {
            (Some(scope), Some(count)) => scope.ranges.insert(text, (register, count)).is_some(),
            (Some(scope), None) => scope.names.insert(text, register).is_some(),
            (None, _) => false,
        };
        if twice {
            return self.error(name, format!("`{text}` is declared twice in one scope"));
        }
        let ty = Span::new(ty.start() + 1, ty.end());
        self.module.registers.push(Register { name, count, ty, elements });
        Ok(register)
    }
}
