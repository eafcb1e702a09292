//! Goal: from a real SASS mnemonic to documented classes and units.
//!
//! Source: latency-model document. The opcode tables come first, then opcodes their notes put into the same case, then the
//! names the class tables give as examples; the answer says which. Several answers are normal (FFMA is an example of
//! two classes): [`classes_for_mnemonic`] gives all, best first.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::class::ClassSpan;
use crate::table::{self, embedded};
use crate::{ClassId, ClassRef, Conditions, OpcodeEntry, OpcodeTable, Unit, opcodes, resolve_class};

/// How a mnemonic led to a class, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// A row of an opcode table.
    Table,
    /// An opcode that a row's note puts into the same case.
    Alias,
    /// An example of a class table.
    Example,
}

/// A class for a mnemonic, and how it was found.
#[derive(Debug, Clone, Copy)]
pub struct MnemonicClass {
    /// The class under the facts given.
    pub class: ClassRef,
    /// How it was found.
    pub via: Via,
    /// The opcode entry, unless found by example.
    pub entry: Option<&'static OpcodeEntry>,
    /// What narrows the example, e.g. `64-bit`; empty otherwise.
    pub qualifier: &'static str,
    /// Where it comes from.
    pub source: &'static str,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Example {
    #[serde(deserialize_with = "table::text")]
    pub mnemonic: String,
    pub qualifier: String,
    #[serde(deserialize_with = "table::parse")]
    pub class: ClassSpan,
    #[serde(deserialize_with = "table::text")]
    pub source: String,
}

static EXAMPLES: LazyLock<Vec<Example>> =
    embedded!("examples", Example, |row| format!("{} {} {:?}", row.mnemonic, row.qualifier, row.class));

/// Every example of the class tables.
pub(crate) fn examples() -> &'static [Example] {
    &EXAMPLES
}

/// The names to try for a mnemonic, most specific first: `IMAD.WIDE.U32` is tried as `IMAD_WIDE`, then `IMAD`.
pub(crate) fn spellings(mnemonic: &str) -> Vec<String> {
    let mut parts = mnemonic.trim().split('.');
    let base = parts.next().unwrap_or_default().to_ascii_uppercase();
    let mut out = Vec::new();
    if let Some(modifier) = parts.next() {
        out.push(format!("{base}_{}", modifier.to_ascii_uppercase()));
    }
    out.push(base);
    out
}

/// Every class the document gives for a mnemonic (modifiers allowed), best first: opcode rows, then aliases, then
/// unqualified examples, then qualified ones; within each, the document's order.
pub fn classes_for_mnemonic(mnemonic: &str, facts: &Conditions) -> Vec<MnemonicClass> {
    let mut out = Vec::new();
    for name in spellings(mnemonic) {
        let from = |entry: &'static OpcodeEntry, via| MnemonicClass {
            class: resolve_class(entry, facts),
            via,
            entry: Some(entry),
            qualifier: "",
            source: &entry.source,
        };
        out.extend(OpcodeTable::documented().named(&name).map(|entry| from(entry, Via::Table)));
        let shares =
            |entry: &&OpcodeEntry| entry.aliases.iter().any(|alias| alias.name.as_deref() == Some(&name));
        out.extend(opcodes().iter().filter(shares).map(|entry| from(entry, Via::Alias)));
        let dotted = name.replace('_', ".");
        let named = |example: &&Example| example.mnemonic == name || example.mnemonic == dotted;
        out.extend(EXAMPLES.iter().filter(named).flat_map(|example| {
            example.class.iter().map(|class| MnemonicClass {
                class: example_class(class),
                via: Via::Example,
                entry: None,
                qualifier: &example.qualifier,
                source: &example.source,
            })
        }));
    }
    // Stable: within a rank the more specific spelling and then the document's order stay.
    out.sort_by_key(|found| (found.via, !found.qualifier.is_empty()));
    out
}

fn example_class(class: ClassId) -> ClassRef {
    let latency_index = crate::ClassTable::documented().get(class).and_then(|entry| entry.latency_index);
    ClassRef::Class(crate::ClassChoice {
        class,
        latency_index,
        pipe_mask: None,
        sub_class: None,
        pipe_flags: None,
    })
}

/// The best class for a mnemonic under the document's default facts.
pub fn class_for_mnemonic(mnemonic: &str) -> Option<MnemonicClass> {
    classes_for_mnemonic(mnemonic, &Conditions::default()).into_iter().next()
}

/// The counted unit for a mnemonic: the unit table's examples first, then the unit of its opcode table.
pub fn unit_for_mnemonic(mnemonic: &str) -> Option<Unit> {
    let names = spellings(mnemonic);
    let lists = |unit: &&Unit| unit.info().instructions.iter().any(|i| names.contains(i));
    Unit::ALL.iter().find(lists).copied().or_else(|| {
        names.iter().find_map(|name| OpcodeTable::documented().named(name).find_map(|entry| entry.unit))
    })
}
