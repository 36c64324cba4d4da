//! Label files: how they are read and replaced, and the example that people copy.

mod examples;
#[path = "../../../language/tests/support/files.rs"]
mod files;
mod reading;
mod reloading;
#[path = "../../../language/tests/support/schema.rs"]
mod schema;

use std::path::Path;

use labels_adapter::ReloadableLabels as Loaded;
use language::error::FileErrors;

const FILE: &str = "labels.yaml";

fn read(path: &Path) -> Result<Loaded, FileErrors> {
    Loaded::open(path)
}
