//! Readiness of the store.

use async_trait::async_trait;

use super::RepositoryError;

/// Tells if the service is ready to do its work.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Readiness: Send + Sync {
    /// Asks the store something trivial, where it reads and where it writes.
    async fn check(&self) -> Result<(), RepositoryError>;
}
