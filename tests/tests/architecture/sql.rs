//! Only the files in `sql.txt` have SQL as text, each with its reason.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprBinary, ExprMethodCall, Item, Macro};

use crate::sources::product_files;
use crate::workspace;

/// Parts of statements.
const SQL: [&str; 14] = [
    "SELECT ",
    "INSERT INTO ",
    "INSERT OR ",
    "DELETE FROM ",
    "CREATE TABLE",
    "CREATE INDEX",
    "CREATE VIEW",
    "ALTER TABLE",
    "PRAGMA ",
    "LOCK TABLE",
    "SET LOCAL ",
    " WHERE ",
    " JOIN ",
    "ORDER BY ",
];

#[test]
fn only_files_with_a_reason_have_sql() {
    let listed = workspace::root().join("tests/tests/architecture/sql.txt");
    let listed = fs::read_to_string(listed).expect("the list of files");
    let lines = listed.lines().filter(|line| !line.starts_with('#'));
    let reasons = lines.map(|line| line.split_once(": ").expect("a path and a reason"));
    let reasons = reasons.inspect(|(path, reason)| assert!(!reason.is_empty(), "reason of {path}"));
    let listed: BTreeSet<_> = reasons.map(|(path, _)| path.to_owned()).collect();
    let files = product_files().into_iter().filter(|file| has_sql(&file.text));
    let found: BTreeSet<_> = files.map(|file| file.path).collect();
    let new: Vec<_> = found.difference(&listed).collect();
    assert!(new.is_empty(), "use the query builder, or give a reason in sql.txt: {new:#?}");
    let needless: Vec<_> = listed.difference(&found).collect();
    assert!(needless.is_empty(), "no longer needed in sql.txt: {needless:#?}");
    let elsewhere: Vec<_> =
        found.iter().filter(|path| !Path::new(path).starts_with("adapters/storage")).collect();
    assert!(elsewhere.is_empty(), "only the storage adapter knows SQL: {elsewhere:#?}");
}

fn has_sql(text: &str) -> bool {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    code.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .any(|line| SQL.iter().any(|words| line.contains(words)))
}

/// The text of a SQL file is sent as it is, so that it can be read, pasted and prepared by a test.
#[test]
fn the_text_of_a_sql_file_is_not_changed() {
    let files = product_files();
    let constants = files.iter().flat_map(|file| &file.items).filter_map(|item| match item {
        Item::Const(item) if is_sql_file(&item.expr) => Some(item.ident.to_string()),
        _ => None,
    });
    let constants: BTreeSet<_> = constants.collect();
    for file in &files {
        let mut changes = Changes { constants: &constants, found: Vec::new() };
        file.visit(&mut changes);
        assert!(changes.found.is_empty(), "{}: {:?}", file.path, changes.found);
    }
}

fn is_sql_file(expression: &Expr) -> bool {
    matches!(expression, Expr::Macro(call) if call.mac.path.is_ident("sql_file"))
}

/// Finds what changes the text of files.
struct Changes<'a> {
    /// The names of constants with the text of a file.
    constants: &'a BTreeSet<String>,
    found: Vec<String>,
}

impl Changes<'_> {
    fn is_text(&self, expression: &Expr) -> bool {
        match expression {
            Expr::Path(path) => path
                .path
                .segments
                .last()
                .is_some_and(|name| self.constants.contains(&name.ident.to_string())),
            Expr::MethodCall(call) => self.is_text(&call.receiver),
            Expr::Reference(reference) => self.is_text(&reference.expr),
            expression => is_sql_file(expression),
        }
    }
}

impl<'a> Visit<'a> for Changes<'_> {
    fn visit_macro(&mut self, call: &'a Macro) {
        let tokens = call.tokens.to_string();
        let is_built = ["format", "write", "writeln", "concat", "format_args"]
            .iter()
            .any(|name| call.path.is_ident(name));
        let mut words = tokens.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        if is_built && words.any(|word| word == "sql_file" || self.constants.contains(word)) {
            self.found.push(tokens);
        }
        visit::visit_macro(self, call);
    }

    fn visit_expr_binary(&mut self, sum: &'a ExprBinary) {
        let is_sum = matches!(sum.op, BinOp::Add(_) | BinOp::AddAssign(_));
        if is_sum && (self.is_text(&sum.left) || self.is_text(&sum.right)) {
            self.found.push("+".to_owned());
        }
        visit::visit_expr_binary(self, sum);
    }

    fn visit_expr_method_call(&mut self, call: &'a ExprMethodCall) {
        if call.method.to_string().starts_with("replace") && self.is_text(&call.receiver) {
            self.found.push(call.method.to_string());
        }
        visit::visit_expr_method_call(self, call);
    }
}
