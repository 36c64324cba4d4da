//! Limits of sizes.

use std::collections::BTreeMap;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn, Signature, TraitItemFn};

use crate::sources::{Crate, SourceFile, every_file, product, product_files};
use crate::workspace;

const FILES_IN_A_FOLDER: usize = 20;
const LINES_OF_A_FILE: usize = 500;
const LINES_OF_A_FUNCTION: usize = 60;
const LINES_OF_BOOTSTRAP: usize = 500;
const MACROS_OF_HTTP: usize = 3;

#[test]
fn a_folder_has_at_most_20_files() {
    let folders = product().into_iter().flat_map(|product| product.folders);
    let large: Vec<_> = folders.filter(|(_, files)| *files > FILES_IN_A_FOLDER).collect();
    assert!(large.is_empty(), "{large:#?}");
}

#[test]
fn a_folder_of_sql_has_at_most_20_files() {
    let mut folders = BTreeMap::<_, usize>::new();
    let files = workspace::files().into_iter();
    for path in files.filter(|path| workspace::has_extension(path, "sql")) {
        let (folder, _) = path.rsplit_once('/').expect("a folder");
        *folders.entry(folder.to_owned()).or_default() += 1;
    }
    folders.retain(|_, files| *files > FILES_IN_A_FOLDER);
    assert!(folders.is_empty(), "{folders:#?}");
}

#[test]
fn a_file_has_at_most_500_lines() {
    let lengths = every_file().into_iter().map(|(path, text)| (text.lines().count(), path));
    let long: Vec<_> = lengths.filter(|(lines, _)| *lines > LINES_OF_A_FILE).collect();
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn a_function_has_at_most_60_lines() {
    let mut long = Vec::new();
    for file in &product_files() {
        file.visit(&mut LongFunctions { file, found: &mut long });
    }
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn bootstrap_is_wiring_outside_its_commands() {
    let bootstrap = of("bootstrap");
    let wiring = bootstrap.files.iter().filter(|file| !file.path.contains("/commands/"));
    let lines: usize = wiring.map(|file| file.text.lines().count()).sum();
    assert!(lines <= LINES_OF_BOOTSTRAP, "{lines} lines");
}

#[test]
fn the_http_crate_has_at_most_three_macros() {
    let http = of("http-adapter").files;
    let lines = http.iter().flat_map(|file| file.text.lines());
    let names: Vec<_> = lines.filter_map(|it| it.trim().strip_prefix("macro_rules! ")).collect();
    assert!(names.len() <= MACROS_OF_HTTP, "{names:?}");
}

fn of(name: &str) -> Crate {
    product().into_iter().find(|product| product.name == name).expect("the crate exists")
}

struct LongFunctions<'a> {
    file: &'a SourceFile,
    found: &'a mut Vec<String>,
}

impl LongFunctions<'_> {
    fn measure(&mut self, signature: &Signature, body: &Block) {
        let lines = body.span().end().line - signature.span().start().line + 1;
        if lines > LINES_OF_A_FUNCTION {
            self.found.push(format!("{} {}: {lines}", self.file.path, signature.ident));
        }
    }
}

impl<'ast> Visit<'ast> for LongFunctions<'_> {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.measure(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.measure(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        if let Some(body) = &function.default {
            self.measure(&function.sig, body);
        }
        visit::visit_trait_item_fn(self, function);
    }
}
