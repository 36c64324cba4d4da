//! Rules of files: how they are read, judge, and are replaced.

mod cases;
mod documentation;
mod examples;
#[path = "../../../language/tests/support/files.rs"]
mod files;
mod judging;
mod reading;
mod reloading;
#[path = "../../../language/tests/support/schema.rs"]
mod schema;
mod warnings;

use std::path::Path;

use language::error::FileErrors;
use rules_adapter::RuleSet as Loaded;

const FILE: &str = "rules.yaml";

fn read(path: &Path) -> Result<Loaded, FileErrors> {
    Loaded::load(path, &["dates_in_order"])
}
