//! Makes files in a temporary folder and reads their errors. Shared by the tests of the adapters that read files: the
//! root of each test crate defines `FILE`, the name of a file, and `read`, which loads a path.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::{FILE, Loaded, read};

pub fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

#[track_caller]
pub fn load(path: &Path) -> Loaded {
    read(path).unwrap_or_else(|errors| panic!("{errors}"))
}

#[track_caller]
pub fn load_text(text: &str) -> Loaded {
    load(folder(&[(FILE, text)]).path())
}

/// A line without the path of the folder.
pub fn plain(line: &str, folder: &TempDir) -> String {
    line.replace(&format!("{}/", folder.path().display()), "")
}

pub fn docs(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(path)
}

/// The errors of a folder: `FILE:LINE:COLUMN: REASON` each.
pub fn errors_of(folder: &TempDir) -> Vec<String> {
    let errors = read(folder.path()).err().map(|errors| errors.to_string()).unwrap_or_default();
    errors.lines().map(|line| plain(line, folder)).collect()
}

/// The errors of a file: `LINE:COLUMN: REASON` each.
pub fn errors(text: &str) -> Vec<String> {
    let line = |line: &String| line.trim_start_matches(FILE).trim_start_matches([':', ' ']).into();
    errors_of(&folder(&[(FILE, text)])).iter().map(line).collect()
}

/// Asserts that a file has one error, `LINE:COLUMN: PART OF THE REASON`.
#[track_caller]
pub fn assert_error(text: &str, expected: &str) {
    let errors = errors(text);
    let (place, reason) = expected.split_once(' ').expect("a place and a reason");
    let is_that_one =
        matches!(&errors[..], [error] if error.starts_with(place) && error.contains(reason));
    assert!(is_that_one, "{text}\n{expected}\n{errors:#?}");
}

/// Asserts the errors of changes: each has a part of the text, its replacement, and the error.
#[track_caller]
pub fn assert_errors(sound: &str, changes: &[(&str, &str, &str)]) {
    for (part, other, expected) in changes {
        assert!(sound.contains(part), "{part}");
        assert_error(&sound.replacen(part, other, 1), expected);
    }
}

/// Asserts that a schema is that of the documents. With `UPDATE_SCHEMA=1` the file is written.
#[track_caller]
pub fn assert_published(name: &str, schema: &str) {
    let path = docs("schemas").join(name);
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        fs::write(&path, schema).expect("a file");
    }
    let published = fs::read_to_string(path).expect("a file");
    assert!(published == schema, "docs/schemas/{name} is not the schema of the reader");
}

/// The rows of a table, as the texts before and after `=>`. Lines that begin with four spaces continue a row.
pub fn rows(table: &str) -> Vec<(String, String)> {
    let table = table.trim_matches('\n').replace("\n    ", " ");
    let row = |row: &str| row.split_once(" => ").map(|(left, right)| (left.into(), right.into()));
    table.lines().map(|line| row(line).expect(line)).collect()
}
