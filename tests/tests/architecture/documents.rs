//! Paths and links in the documents lead to files that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::workspace::{self, has_extension};

/// Folders whose names begin a path of the repository.
const FOLDERS: [&str; 9] = [
    ".cargo/",
    ".ci/",
    ".github/",
    "adapters/",
    "application/src/",
    "bootstrap/",
    "docs/",
    "domain/",
    "tests/",
];

#[test]
fn paths_that_documents_name_exist() {
    let files = workspace::files();
    let documents = files.iter().filter(|file| has_extension(file, "md"));
    let missing: Vec<_> = documents.flat_map(|document| missing_from(document, &files)).collect();
    assert!(missing.is_empty(), "a document names a path that does not exist: {missing:#?}");
}

/// The paths and links of a document to missing files.
fn missing_from(document: &str, files: &BTreeSet<String>) -> Vec<String> {
    let text = fs::read_to_string(workspace::root().join(document)).expect("UTF-8");
    let (prose, blocks) = parts(&text);
    let folder = Path::new(document).parent().expect("a folder");
    let code = prose.split('`').skip(1).step_by(2).filter_map(|code| code.split(' ').next());
    // A tutorial names modules that its blocks create.
    let is_created = |path: &str| {
        let module = path.strip_suffix(".rs").and_then(|path| path.rsplit('/').next());
        module.is_some_and(|module| blocks.contains(module))
    };
    let paths = code.filter(|path| is_path(path) && !is_created(path));
    let named = paths.filter(|path| !exists(path, files)).map(str::to_owned);
    let links = prose.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    let is_local = |link: &&str| !(link.is_empty() || link.contains(':') || link.starts_with('/'));
    let dead =
        links.filter(is_local).filter(|link| !workspace::root().join(folder).join(link).exists());
    named.chain(dead.map(str::to_owned)).map(|path| format!("{document}: {path}")).collect()
}

/// The text of a document outside and inside its fenced code blocks.
fn parts(text: &str) -> (String, String) {
    let (mut prose, mut blocks, mut is_block) = (String::new(), String::new(), false);
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            is_block = !is_block;
        } else if is_block {
            blocks += line;
        } else {
            prose += line;
        }
    }
    (prose, blocks)
}

/// Returns whether words in code are a path from the root, or the end of the path of a Rust file.
fn is_path(words: &str) -> bool {
    // A placeholder has capitals.
    let is_source = has_extension(words, "rs") && !words.contains(char::is_uppercase);
    is_source || FOLDERS.iter().any(|folder| words.starts_with(folder))
}

fn exists(path: &str, files: &BTreeSet<String>) -> bool {
    if let Some((beginning, end)) = path.split_once('*') {
        return files.iter().any(|file| file.starts_with(beginning) && file.ends_with(end));
    }
    let is_end = |file: &String| file.strip_suffix(path).is_some_and(|start| start.ends_with('/'));
    workspace::root().join(path).exists() || files.iter().any(is_end)
}
