//! The parsed table, and lookup in it.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::error::{Hint, SettingError, shorten};
use crate::knob::{Family, Knob};
use crate::suggest::nearest;
use crate::table::{self, TableError};

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    Registry::from_toml(include_str!("../data/knobs.toml"))
        .unwrap_or_else(|error| panic!("the built-in knob table is broken: {error}"))
});

/// The table of all knobs.
pub fn registry() -> &'static Registry {
    &REGISTRY
}

/// Knobs in the order of the table, found by name or alias.
#[derive(Clone, Debug)]
pub struct Registry {
    knobs: Vec<Knob>,
    families: Vec<Family>,
    by_name: FxHashMap<String, usize>,
}

impl Registry {
    pub(crate) fn from_toml(text: &str) -> Result<Self, TableError> {
        let (knobs, families) = table::parse(text)?;
        let by_name = knobs
            .iter()
            .enumerate()
            .flat_map(|(index, knob)| spellings(knob).map(move |spelling| (spelling.to_owned(), index)))
            .collect();
        Ok(Self { knobs, families, by_name })
    }

    /// All knobs, by document and then by name.
    pub fn iter(&self) -> std::slice::Iter<'_, Knob> {
        self.knobs.iter()
    }

    /// Families of knobs that the documents mention without naming the members.
    pub fn families(&self) -> &[Family] {
        &self.families
    }

    /// The knob with this name or alias, spelled exactly.
    pub fn find(&self, name: &str) -> Option<&Knob> {
        self.lookup(name).map(|(_, knob)| knob)
    }

    /// Position in the table and knob.
    pub(crate) fn lookup(&self, name: &str) -> Option<(usize, &Knob)> {
        self.by_name.get(name).map(|&index| (index, &self.knobs[index]))
    }

    /// Like [`lookup`](Self::lookup), with the error of [`require`](Self::require).
    pub(crate) fn resolve(&self, name: &str) -> Result<(usize, &Knob), SettingError> {
        self.lookup(name).ok_or_else(|| SettingError::Unknown { name: shorten(name), hint: self.hint(name) })
    }

    /// The knob at a position that [`lookup`](Self::lookup) gave.
    pub(crate) fn at(&self, index: usize) -> &Knob {
        &self.knobs[index]
    }

    fn hint(&self, name: &str) -> Hint {
        if let Some(family) = self.families.iter().find(|family| name.starts_with(&family.prefix)) {
            return Hint::Family(family.prefix.clone());
        }
        // Names before aliases, so that a tie suggests the name.
        let names = self.knobs.iter().map(|knob| &*knob.name);
        let aliases = self.knobs.iter().filter_map(|knob| knob.alias.as_deref());
        match nearest(name, names.chain(aliases)) {
            Some(similar) => Hint::Similar(similar.to_owned()),
            None => Hint::None,
        }
    }
}

impl<'a> IntoIterator for &'a Registry {
    type Item = &'a Knob;
    type IntoIter = std::slice::Iter<'a, Knob>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

pub(crate) fn spellings(knob: &Knob) -> impl Iterator<Item = &str> {
    std::iter::once(&*knob.name).chain(knob.alias.as_deref())
}
