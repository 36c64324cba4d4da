//! Identifiers.

use domain::ItemId;

/// Makes identifiers.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait IdGenerator: Send + Sync {
    /// A new identifier. MUST be a UUID version 7 and MUST sort after every identifier this process
    /// made before.
    fn next_id(&self) -> ItemId;
}
