//! No two modules of a crate import each other, directly or through others, except a module and its
//! submodules. An import counts for the module that defines the item, not for one that re-exports it.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Item, ItemUse, Macro, UseTree};

use crate::sources::{Crate, SourceFile, product};

type Path = Vec<String>;

#[test]
fn modules_do_not_import_each_other() {
    let product = product();
    let circles = product.iter().flat_map(|product| {
        let circles = Modules::of(product).circles().into_iter();
        circles.map(|circle| format!("{}: {}", product.name, circle.join(", ")))
    });
    assert_eq!(circles.collect::<Vec<_>>(), [""; 0]);
}

/// The modules of a crate, and the names in each.
struct Modules<'a>(BTreeMap<&'a [String], Names>);

#[derive(Default)]
struct Names {
    /// The names that `use` brings into scope, each with its path.
    imported: BTreeMap<String, Path>,
    /// The paths of `use module::*`.
    globs: Vec<Path>,
    /// All paths of two segments and more.
    paths: BTreeSet<Path>,
    /// The items that it defines.
    defined: BTreeSet<String>,
}

impl<'a> Modules<'a> {
    fn of(product: &'a Crate) -> Self {
        Self(product.files.iter().map(|file| (&file.module[..], Names::of(file))).collect())
    }

    /// The groups of modules in which each reaches all others by imports.
    fn circles(&self) -> Vec<Vec<String>> {
        let imports: BTreeMap<_, _> =
            self.0.keys().map(|module| (*module, self.imports_of(module))).collect();
        let reached: BTreeMap<_, _> =
            imports.keys().map(|module| (*module, reachable(&imports, module))).collect();
        let circle_of = |module: &[String]| -> Vec<String> {
            let both_ways = |other: &&&[String]| reached[**other].contains(module);
            reached[module].iter().filter(both_ways).map(|path| path.join("::")).collect()
        };
        let circles: BTreeSet<_> = imports.keys().map(|module| circle_of(module)).collect();
        circles.into_iter().filter(|circle| !circle.is_empty()).collect()
    }

    fn imports_of(&self, module: &[String]) -> BTreeSet<&'a [String]> {
        let paths = self.0[module].paths.iter();
        let named: BTreeSet<_> =
            paths.filter_map(|path| self.resolve(module, path, &mut BTreeSet::new())).collect();
        named.into_iter().filter(|other| !is_family(module, other)).collect()
    }

    /// The module of this crate that defines the item of a path.
    fn resolve(
        &self,
        from: &[String],
        path: &[String],
        seen: &mut BTreeSet<(Path, Path)>,
    ) -> Option<&'a [String]> {
        if !seen.insert((from.to_vec(), path.to_vec())) {
            return None;
        }
        let (first, rest) = path.split_first()?;
        let start = match first.as_str() {
            "crate" => Vec::new(),
            "self" => from.to_vec(),
            "super" => from.split_last()?.1.to_vec(),
            // `use error::error;` names the module by the same name.
            name => match self.0.get(from)?.imported.get(name).filter(|path| path[0] != name) {
                Some(import) => return self.resolve(from, &[import, rest].concat(), seen),
                None => [from, std::slice::from_ref(first)].concat(),
            },
        };
        self.descend(start, rest, seen)
    }

    fn descend(
        &self,
        mut module: Path,
        mut rest: &[String],
        seen: &mut BTreeSet<(Path, Path)>,
    ) -> Option<&'a [String]> {
        while let [next, after @ ..] = rest {
            if next == "super" {
                module.pop();
            } else if self.0.contains_key(&[&module[..], std::slice::from_ref(next)].concat()[..]) {
                module.push(next.clone());
            } else {
                break;
            }
            rest = after;
        }
        let (known, names) = self.0.get_key_value(&module[..])?;
        let Some(item) = rest.first() else { return Some(known) };
        if names.defined.contains(item) {
            return Some(known);
        }
        if let Some(import) = names.imported.get(item) {
            return self.resolve(known, import, seen);
        }
        let mut globs = names.globs.iter().map(|glob| [glob, std::slice::from_ref(item)].concat());
        globs.find_map(|path| self.resolve(known, &path, seen)).or(Some(known))
    }
}

/// Returns whether two modules are the same, or one is within the other.
fn is_family(one: &[String], other: &[String]) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// The modules that can be reached from a module in one or more steps.
fn reachable<'a>(
    imports: &BTreeMap<&'a [String], BTreeSet<&'a [String]>>,
    from: &[String],
) -> BTreeSet<&'a [String]> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<_> = imports[from].iter().copied().collect();
    while let Some(module) = open.pop() {
        if reached.insert(module) {
            open.extend(&imports[module]);
        }
    }
    reached
}

impl Names {
    fn of(file: &SourceFile) -> Self {
        let mut names = Self::default();
        names.defined.extend(file.items.iter().filter_map(defined_name));
        file.visit(&mut names);
        names
    }

    fn import(&mut self, tree: &UseTree, prefix: &[String]) {
        let with = |name: &syn::Ident| [prefix, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.import(&path.tree, &with(&path.ident)),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(tree, prefix)),
            UseTree::Glob(_) => self.globs.push(prefix.to_vec()),
            UseTree::Name(name) if name.ident == "self" => self.add(prefix.to_vec(), None),
            UseTree::Name(name) => self.add(with(&name.ident), None),
            UseTree::Rename(rename) => self.add(with(&rename.ident), Some(&rename.rename)),
        }
    }

    fn add(&mut self, path: Path, renamed: Option<&syn::Ident>) {
        let name = renamed.map_or_else(|| path[path.len() - 1].clone(), ToString::to_string);
        // `use domain;` imports a name from itself.
        if path.len() > 1 {
            self.imported.insert(name, path.clone());
        }
        self.paths.insert(path);
    }

    /// Adds the paths in the arguments of a macro, which the parser leaves as tokens.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let (mut paths, mut path, mut colons) = (Vec::new(), Path::new(), 0);
        for token in tokens {
            colons = match token {
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons + 1,
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        paths.push(std::mem::take(&mut path));
                    }
                    path.push(name.to_string());
                    0
                }
                other => {
                    paths.push(std::mem::take(&mut path));
                    if let TokenTree::Group(group) = other {
                        self.add_tokens(group.stream());
                    }
                    0
                }
            };
        }
        paths.push(path);
        self.paths.extend(paths.into_iter().filter(|path| path.len() > 1));
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.import(&item.tree, &[]);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 && path.leading_colon.is_none() {
            let segments = path.segments.iter().map(|segment| segment.ident.to_string());
            self.paths.insert(segments.collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invocation: &'ast Macro) {
        self.add_tokens(invocation.tokens.clone());
        visit::visit_macro(self, invocation);
    }
}

fn defined_name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        _ => return None,
    };
    Some(name.to_string())
}
