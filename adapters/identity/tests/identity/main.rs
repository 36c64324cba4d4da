//! Callers are recognized by tokens of issuers and by keys of the service, and by nothing else.

mod attacks;
mod callers;
mod examples;
#[path = "../../../language/tests/support/files.rs"]
mod files;
mod hostile_issuer;
mod jose;
mod limits;
mod machine_keys;
mod mutations;
mod reading;
mod secrecy;
mod support;
mod tls;

use std::path::Path;
use std::sync::Arc;

use identity_adapter::ReloadableIdentity as Loaded;
use language::error::FileErrors;

const FILE: &str = "identity.yaml";

fn read(path: &Path) -> Result<Loaded, FileErrors> {
    Loaded::open(path, Arc::new(support::TestClock::start()), support::AUDIENCE)
}
