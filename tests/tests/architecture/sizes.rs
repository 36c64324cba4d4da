//! Limits of sizes.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn, ItemMacro, Signature, TraitItemFn};

use crate::exemptions::assert_only_exempt;
use crate::sources::{Crate, SourceFile, every_file, product, product_files};

const FILES_IN_A_FOLDER: usize = 20;
const LINES_OF_A_FILE: usize = 500;
const LINES_OF_A_FUNCTION: usize = 60;
const LINES_OF_BOOTSTRAP: usize = 500;
const MACROS_OF_HTTP: usize = 3;

#[test]
fn a_folder_has_at_most_20_files() {
    let folders = product().into_iter().flat_map(|product| product.folders);
    let large = folders.filter(|(_, files)| *files > FILES_IN_A_FOLDER);
    let named = large.map(|(folder, files)| (folder, files.to_string()));
    assert_only_exempt("files in a folder", named);
}

#[test]
fn a_file_has_at_most_500_lines() {
    let lengths = every_file().into_iter().map(|(path, text)| (text.lines().count(), path));
    let long = lengths.filter(|(lines, _)| *lines > LINES_OF_A_FILE);
    let named = long.map(|(lines, path)| (path, lines.to_string()));
    assert_only_exempt("lines of a file", named);
}

#[test]
fn a_function_has_at_most_60_lines() {
    let mut long = Vec::new();
    for file in &product_files() {
        file.visit(&mut LongFunctions { file, found: &mut long });
    }
    assert_only_exempt("lines of a function", long);
}

#[test]
fn bootstrap_is_wiring_outside_its_commands() {
    let bootstrap = of("bootstrap");
    let wiring = bootstrap.files.iter().filter(|file| !file.path.contains("/commands/"));
    let lines: usize = wiring.map(|file| file.text.lines().count()).sum();
    let large = (lines > LINES_OF_BOOTSTRAP).then(|| ("bootstrap".into(), lines.to_string()));
    assert_only_exempt("lines of a crate", large);
}

#[test]
fn the_http_crate_has_at_most_three_macros() {
    let mut macros = Macros(Vec::new());
    of("http-adapter").files.iter().for_each(|file| file.visit(&mut macros));
    let Macros(names) = macros;
    let many = (names.len() > MACROS_OF_HTTP).then(|| ("http-adapter".into(), names.join(", ")));
    assert_only_exempt("macros of a crate", many);
}

fn of(name: &str) -> Crate {
    product().into_iter().find(|product| product.name == name).expect("the crate exists")
}

struct LongFunctions<'a> {
    file: &'a SourceFile,
    found: &'a mut Vec<(String, String)>,
}

impl LongFunctions<'_> {
    fn measure(&mut self, signature: &Signature, body: &Block) {
        let lines = body.span().end().line - signature.span().start().line + 1;
        if lines > LINES_OF_A_FUNCTION {
            let name = format!("{} {}", self.file.path, signature.ident);
            self.found.push((name, lines.to_string()));
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

struct Macros(Vec<String>);

impl<'ast> Visit<'ast> for Macros {
    fn visit_item_macro(&mut self, item: &'ast ItemMacro) {
        self.0.extend(item.ident.as_ref().map(ToString::to_string));
    }
}
