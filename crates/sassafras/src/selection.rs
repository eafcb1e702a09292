//! Which kernels and architectures of a file are worked on.

use sassafras_machine::Arch;
use std::collections::BTreeMap;
use thiserror::Error;

/// A selection of code; the default takes everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Names of kernels and functions; all where there are none.
    pub kernels: Vec<String>,
    /// Architectures; all where there are none.
    pub archs: Vec<Arch>,
}

/// Something was selected that the file does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SelectionError {
    /// An architecture.
    #[error("no code for {arch}; there is code for: {known}", known = listed(known))]
    Arch {
        /// What was selected.
        arch: Arch,
        /// What there is.
        known: Vec<String>,
    },
    /// A function.
    #[error("no function is called `{name}`; there are: {known}", known = listed(known))]
    Name {
        /// What was selected.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
}

/// So many names stand in a message.
const MOST_LISTED: usize = 20;

fn listed(names: &[String]) -> String {
    let more = names.len().saturating_sub(MOST_LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names.iter().take(MOST_LISTED).cloned().collect::<Vec<_>>().join(", "))
}

impl Selection {
    /// Whether nothing is left out.
    pub fn takes_all(&self) -> bool {
        self.kernels.is_empty() && self.archs.is_empty()
    }

    /// Whether a function or section of this name is selected.
    pub fn takes_name(&self, name: &str) -> bool {
        self.kernels.is_empty() || self.kernels.iter().any(|kernel| kernel == name)
    }

    /// Whether code for this architecture is selected.
    pub fn takes_arch(&self, arch: &str) -> bool {
        self.archs.is_empty() || self.archs.iter().any(|wanted| wanted.to_string() == arch)
    }

    /// Checks that every name and architecture that is selected is among those found, `(name, architecture)`. Returns names that
    /// several functions of one architecture have, with their number: all of them are selected.
    ///
    /// # Errors
    /// With the first that is not there.
    pub fn check<'n>(
        &self,
        found: impl Iterator<Item = (&'n str, &'n str)>,
    ) -> Result<Vec<(String, u32)>, SelectionError> {
        let mut counts: BTreeMap<(&str, &str), u32> = BTreeMap::new();
        for pair in found {
            *counts.entry(pair).or_default() += 1;
        }
        let distinct = |pick: fn(&(&'n str, &'n str)) -> &'n str| {
            let mut names: Vec<String> = counts.keys().map(|pair| pick(pair).to_owned()).collect();
            names.sort_unstable();
            names.dedup();
            names
        };
        for &arch in &self.archs {
            if !counts.keys().any(|(_, found)| *found == arch.to_string()) {
                return Err(SelectionError::Arch { arch, known: distinct(|(_, arch)| arch) });
            }
        }
        let mut several = Vec::new();
        for name in &self.kernels {
            let here = counts.iter().filter(|((found, arch), _)| found == name && self.takes_arch(arch));
            match here.map(|(_, count)| *count).max() {
                None => {
                    return Err(SelectionError::Name {
                        name: name.clone(),
                        known: distinct(|(name, _)| name),
                    });
                }
                Some(1) => {}
                Some(count) => several.push((name.clone(), count)),
            }
        }
        Ok(several)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_named_with_what_is() {
        let found = [("add", "sm_90"), ("add", "sm_90"), ("mul", "sm_80")];
        let select = |kernels: &[&str], archs: &[&str]| Selection {
            kernels: kernels.iter().map(|&name| name.to_owned()).collect(),
            archs: archs.iter().map(|arch| arch.parse().expect("known")).collect(),
        };
        let check = |selection: &Selection| selection.check(found.into_iter());
        assert_eq!(check(&Selection::default()), Ok(Vec::new()));
        assert_eq!(check(&select(&["add"], &[])), Ok(vec![("add".to_owned(), 2)]));
        let error = check(&select(&["add"], &["sm_80"])).expect_err("none for sm_80");
        assert_eq!(error.to_string(), "no function is called `add`; there are: add, mul");
        let error = check(&select(&[], &["sm_75"])).expect_err("none for sm_75");
        assert_eq!(error.to_string(), "no code for sm_75; there is code for: sm_80, sm_90");
    }
}
