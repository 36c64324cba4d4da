//! Rule files in their own folder.

use std::fs;
use std::path::{Path, PathBuf};

use rules_adapter::RuleSet;
use tempfile::TempDir;

pub fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

#[track_caller]
pub fn load(path: &Path) -> RuleSet {
    RuleSet::load(path, &[]).unwrap_or_else(|errors| panic!("{errors}"))
}

#[track_caller]
pub fn load_text(text: &str) -> RuleSet {
    load(folder(&[("rules.yaml", text)]).path())
}

/// A line without the path of the folder.
pub fn plain(line: &str, folder: &TempDir) -> String {
    line.replace(&format!("{}/", folder.path().display()), "")
}

pub fn docs(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(path)
}
