//! Paths and links in the documents lead to files that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::workspace;

/// Folders whose names begin a path of the repository.
const FOLDERS: [&str; 8] =
    [".cargo/", ".ci/", ".github/", "adapters/", "bootstrap/", "docs/", "domain/", "tests/"];

/// Folders that a build makes.
const BUILT: [&str; 4] = [".git", "node_modules", "target", "__pycache__"];

#[test]
fn paths_that_documents_name_exist() {
    let files = files();
    let documents = files.iter().filter(|file| has_extension(file, "md"));
    let missing: Vec<_> = documents.flat_map(|document| missing_from(document, &files)).collect();
    assert!(missing.is_empty(), "a document names a path that does not exist: {missing:#?}");
}

/// The paths and links of a document that lead nowhere.
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
    let links =
        links.filter(|link| !(link.is_empty() || link.contains(':') || link.starts_with('/')));
    let dead = links.filter(|link| !workspace::root().join(folder).join(link).exists());
    named.chain(dead.map(str::to_owned)).map(|path| format!("{document}: {path}")).collect()
}

/// The text of a document outside its fenced code blocks, and that within.
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

/// Returns whether words in code are a path of the repository: from its root, or the end of the path of a Rust file.
fn is_path(words: &str) -> bool {
    // Capitals are a placeholder.
    let is_source = has_extension(words, "rs") && !words.contains(|sign: char| sign.is_uppercase());
    FOLDERS.iter().any(|folder| words.starts_with(folder))
        || is_source
        || words.starts_with("application/src/")
}

fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == extension)
}

fn exists(path: &str, files: &BTreeSet<String>) -> bool {
    let whole = path.trim_end_matches('/');
    if path.contains('*') {
        let (beginning, end) = path.split_once('*').unwrap_or((path, ""));
        return files.iter().any(|file| file.starts_with(beginning) && file.ends_with(end));
    }
    workspace::root().join(whole).exists()
        || files
            .iter()
            .any(|file| file.strip_suffix(path).is_some_and(|start| start.ends_with('/')))
}

/// All files of the repository, from its root.
fn files() -> BTreeSet<String> {
    let (mut found, mut folders) = (BTreeSet::new(), vec![workspace::root()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry"))
        {
            let name = entry.file_name();
            if BUILT.iter().any(|built| name == *built) {
                continue;
            }
            if entry.file_type().expect("a type").is_dir() {
                folders.push(entry.path());
            } else {
                found.insert(workspace::relative(&entry.path()));
            }
        }
    }
    found
}
