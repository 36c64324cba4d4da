//! The display names of callers, which are kept apart from the change log: the log is for ever, and
//! names change and can be erased.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;

use super::Result;

/// Display names by the ids of callers.
pub type CallerNames = HashMap<Box<str>, Arc<str>>;

/// Keeps the display names of callers by their ids.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait CallerDirectory: Send + Sync {
    /// Takes note of the name that a caller had at a time. MUST keep no name of a caller who was
    /// erased. Control characters, and what is beyond 200 characters, are left out; a name without
    /// anything else is not kept.
    async fn seen(&self, id: &str, name: &str, time: Timestamp) -> Result<()>;

    /// Returns the names that are known of these callers. A name MUST NOT be returned after this
    /// process has erased it, nor a minute after another process has.
    async fn names(&self, ids: &[Box<str>]) -> Result<CallerNames>;

    /// Erases the name of a caller, and keeps none from now on, also of one who was never seen.
    /// Returns whether a name was known until now.
    async fn erase(&self, id: &str, time: Timestamp) -> Result<bool>;
}
