//! Names that texts of programs can hold.

use crate::cuda::Value;
use std::collections::BTreeSet;

/// A name made of a text: what cannot be part of one becomes `_`.
pub(super) fn valid(text: &str) -> String {
    let mut name: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() || "_$.".contains(c) { c } else { '_' }).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || "_$".contains(c)) {
        name.insert(0, 'v');
    }
    name
}

/// What a value is called without `%`: `for_1` of `%for#1`.
pub(super) fn plain(value: &Value) -> String {
    match value.number {
        Some(number) => format!("{}_{number}", value.name),
        None => value.name.clone(),
    }
}

/// `kind_name`, or the name alone where it begins with the kind.
pub(super) fn prefixed(prefix: &str, plain: &str) -> String {
    match plain.strip_prefix(prefix) {
        Some(rest) if rest.is_empty() || rest.starts_with('_') => plain.to_owned(),
        _ => format!("{prefix}_{plain}"),
    }
}

/// Names that have been given.
#[derive(Default)]
pub(super) struct Given(BTreeSet<String>);

impl Given {
    /// The name, with a number behind it if it has been given before.
    pub(super) fn unique(&mut self, name: &str) -> String {
        let name = valid(name);
        let mut new = name.clone();
        let mut number = 1;
        while !self.0.insert(new.clone()) {
            number += 1;
            new = format!("{name}.{number}");
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_and_unique() {
        assert_eq!(["4", "a b", "", "x.y", ".z"].map(valid), ["v4", "a_b", "v", "x.y", "v.z"]);
        assert_eq!(prefixed("reduce", "reduce_4"), "reduce_4");
        assert_eq!(prefixed("load", "loader"), "load_loader");
        let mut given = Given::default();
        assert_eq!(["4", "4", "v4"].map(|n| given.unique(n)), ["v4", "v4.2", "v4.3"]);
    }
}
