//! The tests that `docs/guarantees.md` names exist.

use std::fs;

use crate::sources::every_file;
use crate::workspace;

#[test]
fn the_tests_of_the_guarantees_exist() {
    let sources = every_file();
    let text = fs::read_to_string(workspace::root().join("docs/guarantees.md")).expect("UTF-8");
    let missing: Vec<_> = names(&text)
        .filter(|name| !sources.iter().any(|(path, source)| is_in(name, path, source)))
        .collect();
    assert_eq!(missing, [""; 0]);
}

/// The last parts of the paths in code, each a test or a module of tests.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split('`').skip(1).step_by(2).filter(|code| code.contains("::"));
    let last = code.filter_map(|path| path.rsplit("::").next());
    last.flat_map(|last| last.trim_matches(['{', '}']).split(", "))
}

/// Returns whether a name is that of a function, file or folder. A name that ends in `*` is a prefix.
fn is_in(name: &str, path: &str, source: &str) -> bool {
    let beginning = name.trim_end_matches(['*', '…']);
    let end = if beginning == name { "(" } else { "" };
    source.contains(&format!("fn {beginning}{end}"))
        || path.ends_with(&format!("/{name}.rs"))
        || path.contains(&format!("/{name}/"))
}
