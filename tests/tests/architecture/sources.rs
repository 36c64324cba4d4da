//! The Rust sources of the product: every crate of the workspace except those for tests.

use std::collections::BTreeMap;
use std::fs;

use syn::visit::Visit;
use syn::{Attribute, Item};

use crate::workspace;

/// The crates of the product.
pub fn product() -> Vec<Crate> {
    let mut packages = workspace::packages();
    packages.retain(|package| !workspace::OUTSIDE.contains(&workspace::name(package).as_str()));
    packages.iter().map(Crate::read).collect()
}

/// The path from the root and the text of every Rust file of the repository, including tests.
pub fn every_file() -> Vec<(String, String)> {
    rust_files("").into_iter().map(|path| (path.clone(), read(&path))).collect()
}

/// The files of the product that are compiled outside tests.
pub fn product_files() -> Vec<SourceFile> {
    product().into_iter().flat_map(|product| product.files).collect()
}

pub struct Crate {
    pub name: String,
    /// The number of `.rs` files in each folder, including tests.
    pub folders: BTreeMap<String, usize>,
    /// The files that are compiled outside tests.
    pub files: Vec<SourceFile>,
}

pub struct SourceFile {
    /// From the root of the workspace.
    pub path: String,
    /// The path within the crate: `["groups", "table"]`; empty for `lib.rs` and `main.rs`.
    pub module: Vec<String>,
    pub text: String,
    pub items: Vec<Item>,
}

impl Crate {
    fn read(package: &serde_json::Value) -> Self {
        let (mut folders, mut files) = (BTreeMap::new(), Vec::new());
        for source_folder in workspace::source_folders(package) {
            for path in rust_files(&format!("{source_folder}/")) {
                let (folder, _) = path.rsplit_once('/').expect("a folder");
                *folders.entry(folder.to_owned()).or_default() += 1;
                files.push(SourceFile::read(&source_folder, path));
            }
        }
        let tests: Vec<_> = files.iter().flat_map(SourceFile::test_modules).collect();
        files.retain(|file| !tests.iter().any(|test| file.module.starts_with(test)));
        for file in &mut files {
            file.items.retain(|item| !is_for_tests(attributes(item)));
        }
        Self { name: workspace::name(package), folders, files }
    }
}

impl SourceFile {
    fn read(source_folder: &str, path: String) -> Self {
        let text = read(&path);
        let items = syn::parse_file(&text).unwrap_or_else(|error| panic!("{path}: {error}")).items;
        let within = path[source_folder.len() + 1..].trim_end_matches(".rs");
        let mut module: Vec<_> = within.split('/').map(str::to_owned).collect();
        module.pop_if(|last| matches!(last.as_str(), "mod" | "lib" | "main"));
        Self { path, module, text, items }
    }

    /// The paths of the modules that it declares for tests only.
    fn test_modules(&self) -> Vec<Vec<String>> {
        let declared = self.items.iter().filter_map(|item| match item {
            Item::Mod(module) if is_for_tests(&module.attrs) => Some(module.ident.to_string()),
            _ => None,
        });
        declared.map(|name| [&self.module[..], &[name]].concat()).collect()
    }

    /// Walks the syntax of the file without the items for tests.
    pub fn visit<'a>(&'a self, visitor: &mut impl Visit<'a>) {
        self.items.iter().for_each(|item| visitor.visit_item(item));
    }
}

/// The Rust files in a folder, by their paths from the root.
fn rust_files(folder: &str) -> Vec<String> {
    let is_within =
        |path: &String| path.starts_with(folder) && workspace::has_extension(path, "rs");
    workspace::files().into_iter().filter(is_within).collect()
}

fn read(path: &str) -> String {
    fs::read_to_string(workspace::root().join(path)).expect("UTF-8")
}

/// Returns whether an item is compiled for tests only.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    let is_test = |attribute: &Attribute| {
        let condition = attribute.meta.require_list().map(|list| list.tokens.to_string());
        attribute.path().is_ident("cfg") && condition.is_ok_and(|condition| condition == "test")
    };
    attributes.iter().any(is_test)
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
