//! The display names of callers. They are separate from the permanent change log, because names
//! change and can be erased.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;

use super::Result;

pub type CallerNames = HashMap<Box<str>, Arc<str>>;

#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait CallerDirectory: Send + Sync {
    /// Records the name that a caller had at a time. MUST keep no name of an erased caller. Drops
    /// control characters and everything beyond 200 characters. Does not keep a name that is empty
    /// then.
    async fn seen(&self, id: &str, name: &str, time: Timestamp) -> Result<()>;

    /// Returns the known names. MUST NOT return a name after this process erased it, nor a minute
    /// after another process did.
    async fn names(&self, ids: &[Box<str>]) -> Result<CallerNames>;

    /// Erases the name of a caller, even of an unseen one, and keeps no name from then on. Returns
    /// whether there was a name.
    async fn erase(&self, id: &str, time: Timestamp) -> Result<bool>;
}
