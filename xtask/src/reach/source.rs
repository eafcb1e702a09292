//! The public functions of the library crates, with the lines that they stand on.
//!
//! Free functions, inherent methods, and methods with a body of public traits. Methods of `impl Trait for` belong to the trait,
//! whose callers say whether they are needed; code behind `cfg(test)` or a feature is not part of what is shipped.

use super::binary::Lines;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use syn::spanned::Spanned;
use syn::{Attribute, ImplItem, Item, TraitItem, Type, Visibility};

/// A public function.
#[derive(Debug)]
pub struct Function {
    /// `crate::module::Type::function`.
    pub path: String,
    /// Its file, from the root of the repository.
    pub file: String,
    /// The line of its `fn`.
    pub first: u32,
    /// The line that its body ends on.
    pub last: u32,
}

impl Function {
    /// Whether some line of it is in the binary.
    pub fn is_in(&self, lines: &Lines) -> bool {
        lines.get(&self.file).is_some_and(|lines| lines.range(self.first..=self.last).next().is_some())
    }
}

/// All public functions of crates that are libraries.
pub fn functions(root: &Path) -> Result<Vec<Function>> {
    let mut crates: Vec<PathBuf> =
        fs::read_dir(root.join("crates"))?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    crates.sort();
    let mut found = Vec::new();
    for folder in crates {
        let lib = folder.join("src/lib.rs");
        if lib.exists() {
            let name = folder.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
            Search { root, found: &mut found }.file(&lib, &name)?;
        }
    }
    Ok(found)
}

struct Search<'a> {
    root: &'a Path,
    found: &'a mut Vec<Function>,
}

impl Search<'_> {
    fn file(&mut self, file: &Path, module: &str) -> Result<()> {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let parsed = syn::parse_file(&text).with_context(|| file.display().to_string())?;
        let name = file.strip_prefix(self.root)?.to_string_lossy().into_owned();
        let folder = file.parent().context("a file has a folder")?;
        let folder = match file.file_stem().and_then(|stem| stem.to_str()) {
            Some("lib" | "mod") | None => folder.to_owned(),
            Some(stem) => folder.join(stem),
        };
        self.items(&parsed.items, &name, &folder, module)
    }

    fn items(&mut self, items: &[Item], file: &str, folder: &Path, module: &str) -> Result<()> {
        for item in items {
            match item {
                Item::Fn(f) if is_shipped(&f.attrs) => {
                    self.add(&f.vis, format!("{module}::{}", f.sig.ident), file, &f.sig, &f.block);
                }
                Item::Impl(block) if block.trait_.is_none() && is_shipped(&block.attrs) => {
                    let owner = type_name(&block.self_ty);
                    for item in &block.items {
                        let ImplItem::Fn(f) = item else { continue };
                        if is_shipped(&f.attrs) {
                            let path = format!("{module}::{owner}::{}", f.sig.ident);
                            self.add(&f.vis, path, file, &f.sig, &f.block);
                        }
                    }
                }
                Item::Trait(declared) if is_shipped(&declared.attrs) => {
                    for item in &declared.items {
                        if let TraitItem::Fn(f) = item
                            && let Some(body) = f.default.as_ref().filter(|_| is_shipped(&f.attrs))
                        {
                            let path = format!("{module}::{}::{}", declared.ident, f.sig.ident);
                            self.add(&declared.vis, path, file, &f.sig, body);
                        }
                    }
                }
                Item::Mod(inner) if is_shipped(&inner.attrs) => {
                    let path = format!("{module}::{}", inner.ident);
                    let name = inner.ident.to_string();
                    match &inner.content {
                        Some((_, items)) => self.items(items, file, &folder.join(name), &path)?,
                        None => self.file(&module_file(folder, &name)?, &path)?,
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn add(&mut self, vis: &Visibility, path: String, file: &str, head: &impl Spanned, body: &impl Spanned) {
        let line = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
        if matches!(vis, Visibility::Public(_)) {
            let (first, last) = (line(head.span().start().line), line(body.span().end().line));
            self.found.push(Function { path, file: file.to_owned(), first, last });
        }
    }
}

/// The file of `mod name;` in a module whose files are in `folder`.
fn module_file(folder: &Path, name: &str) -> Result<PathBuf> {
    let candidates = [folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs")];
    match candidates.into_iter().find(|file| file.exists()) {
        Some(file) => Ok(file),
        None => bail!("{}: no file of the module `{name}`", folder.display()),
    }
}

/// Whether nothing says that this is only there for tests or with a feature.
fn is_shipped(attributes: &[Attribute]) -> bool {
    !attributes.iter().any(|attribute| {
        let Ok(list) = attribute.meta.require_list() else { return false };
        let condition = list.tokens.to_string();
        attribute.path().is_ident("cfg")
            && !condition.starts_with("not")
            && (condition.starts_with("test") || condition.contains("feature") || condition.contains("(test"))
    })
}

fn type_name(ty: &Type) -> String {
    match ty {
        Type::Path(path) => path.path.segments.last().map_or_else(String::new, |s| s.ident.to_string()),
        Type::Reference(reference) => type_name(&reference.elem),
        _ => "_".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    const LIB: &str = "\
mod b;
pub fn one() {
    two();
}
fn two() {}
#[cfg(test)]
mod tests {
    pub fn three() {}
}
#[cfg(feature = \"x\")]
pub fn four() {}
pub struct S<T>(T);
impl<T> S<T> {
    pub fn five(&self) -> u8 {
        5
    }
    pub(crate) fn six() {}
}
impl<T> Drop for S<T> {
    fn drop(&mut self) {}
}
pub trait Seven {
    fn eight(&self);
    fn nine(&self) {}
}
";

    fn found() -> Vec<Function> {
        let root = tempfile::tempdir().expect("a folder");
        let src = root.path().join("crates/a/src");
        fs::create_dir_all(src.join("b")).expect("folders");
        fs::write(src.join("lib.rs"), LIB).expect("a file");
        fs::write(src.join("b/mod.rs"), "mod c;\npub const fn ten() {}\n").expect("a file");
        fs::write(src.join("b/c.rs"), "pub fn eleven() {}\n").expect("a file");
        functions(root.path()).expect("readable")
    }

    #[test]
    fn what_is_public_and_shipped_is_found_with_its_lines() {
        let found = found();
        let shown: Vec<_> = found.iter().map(|f| (f.path.as_str(), f.first, f.last)).collect();
        let expected = [
            ("a::b::c::eleven", 1, 1),
            ("a::b::ten", 2, 2),
            ("a::one", 2, 4),
            ("a::S::five", 14, 16),
            ("a::Seven::nine", 24, 24),
        ];
        assert_eq!(shown, expected);
        assert_eq!(found[0].file, "crates/a/src/b/c.rs");
    }

    #[test]
    fn a_line_inside_is_enough() {
        let found = found();
        let lines = BTreeMap::from([("crates/a/src/lib.rs".to_owned(), BTreeSet::from([3, 13, 17]))]);
        let reached: Vec<_> = found.iter().filter(|f| f.is_in(&lines)).map(|f| f.path.as_str()).collect();
        assert_eq!(reached, ["a::one"]);
    }
}
