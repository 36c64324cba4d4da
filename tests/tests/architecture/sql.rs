//! Only the files in `sql.txt` have SQL as text, each with its reason.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

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
