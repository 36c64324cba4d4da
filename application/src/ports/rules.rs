//! Business rules that are not written in Rust.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{Collection, Members, Rule};

/// Leave to do something of which only a little is done at a time; given back when it is dropped.
pub type Permit = Box<dyn Send>;

/// The business rules that are not written in Rust.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait RuleBook: Send + Sync {
    /// The rules about the items of a collection as they are now, in the order in which their
    /// violations are reported. MUST cost next to nothing where there are none, and MUST be all of
    /// one edition.
    fn rules(&self, collection: Collection) -> Arc<[Arc<dyn Rule<Members>>]>;

    /// Which edition they are of; it differs whenever they were changed.
    fn edition(&self) -> u64;

    /// Waits for leave to ask a rule that does not answer at once. Few have it at a time, so that
    /// work beside it goes on.
    async fn permit(&self) -> Permit;
}
