//! The workspace as Cargo describes it, and the paths of its files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The crates that use the service from outside. They may depend on every crate, and no crate of the
/// service may depend on them.
pub const OUTSIDE: [&str; 2] = ["tests", "benchmark"];

/// Folders that a build creates.
const BUILT: [&str; 4] = [".git", "node_modules", "target", "__pycache__"];

/// The answer of `cargo metadata` about the crates of the workspace.
pub fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path"])
        .arg(root().join("Cargo.toml"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

pub fn packages() -> Vec<Value> {
    metadata()["packages"].as_array().expect("packages").clone()
}

pub fn name(package: &Value) -> String {
    package["name"].as_str().expect("a name").to_owned()
}

/// The source folders of a package from the root: those of its library and its binaries.
pub fn source_folders(package: &Value) -> Vec<String> {
    let targets = package["targets"].as_array().expect("targets").iter();
    // A build script is not in the folder of the sources.
    let others = ["test", "custom-build"];
    let product = targets.filter(|target| others.iter().all(|other| target["kind"][0] != *other));
    let sources = product.map(|target| Path::new(target["src_path"].as_str().expect("a path")));
    let folders = sources.map(|file| relative(file.parent().expect("a folder")));
    let mut folders: Vec<_> = folders.collect();
    folders.dedup();
    folders
}

pub fn root() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_folder.parent().expect("the crate is in the workspace").to_owned()
}

/// A path relative to the root of the workspace, as messages name it.
pub fn relative(file: &Path) -> String {
    file.strip_prefix(root()).unwrap_or(file).display().to_string()
}

/// The paths of all files from the root, without those that a build creates.
pub fn files() -> BTreeSet<String> {
    let (mut found, mut folders) = (BTreeSet::new(), vec![root()]);
    while let Some(folder) = folders.pop() {
        let entries =
            fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry"));
        for entry in entries.filter(|entry| BUILT.iter().all(|built| entry.file_name() != *built)) {
            if entry.file_type().expect("a type").is_dir() {
                folders.push(entry.path());
            } else {
                found.insert(relative(&entry.path()));
            }
        }
    }
    found
}

pub fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == extension)
}
