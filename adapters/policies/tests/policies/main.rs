//! Policies of files: how they are read, decide, and are replaced.

mod cases;
mod deciding;
mod examples;
#[path = "../../../language/tests/support/files.rs"]
mod files;
mod reading;
mod reloading;
#[path = "../../../language/tests/support/schema.rs"]
mod schema;
mod warnings;

use std::path::Path;

use language::error::FileErrors;
use policies_adapter::PolicySet as Loaded;

const FILE: &str = "p.yaml";

fn read(path: &Path) -> Result<Loaded, FileErrors> {
    Loaded::load(path)
}
