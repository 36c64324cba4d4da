//! The ports through which the use cases reach the outside.
//!
//! A method of a port is one atomic step. Its documentation states obligations with MUST and MUST
//! NOT; `tests/tests/repository` holds both stores to them.

mod access;
mod caller_directory;
mod change_log;
mod clock;
mod error;
mod history;
mod identity;
mod items;
mod policies;
mod rule_trials;
mod rules;
mod shown_item;
mod standbys;
mod version_bodies;

use std::sync::Arc;

pub use access::*;
pub use caller_directory::*;
pub use change_log::*;
pub use clock::*;
pub use error::{RepositoryError, Result};
pub use history::*;
pub use identity::*;
pub use items::*;
pub use policies::*;
pub use rule_trials::*;
pub use rules::*;
pub use shown_item::*;
pub use standbys::*;
pub use version_bodies::*;

/// The adapters that the use cases work with.
#[derive(Clone)]
pub struct Ports {
    /// The items.
    pub items: Arc<dyn ItemRepository>,
    /// Their earlier versions.
    pub history: Arc<dyn History>,
    /// The change log.
    pub changes: Arc<dyn ChangeLog>,
    /// The display names of callers.
    pub callers: Arc<dyn CallerDirectory>,
    /// The state of the store.
    pub readiness: Arc<dyn Readiness>,
    /// The source of identifiers, of items and of requests.
    pub ids: Arc<dyn IdGenerator>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The business rules that are not written in Rust.
    pub rules: Arc<dyn RuleBook>,
    /// Trials of such rules.
    pub trials: Arc<dyn RuleTrials>,
    /// Who callers are; without it, nobody is asked.
    pub identity: Option<Arc<dyn Identity>>,
    /// The policies, which decide what callers may do.
    pub policies: Arc<dyn Policies>,
    /// The standbys that may be read in place of the store, if there are any.
    pub standbys: Option<Arc<dyn Standbys>>,
}

impl Ports {
    /// The same adapters with the items of a standby.
    pub fn reading(&self, StandbyStore { items, history }: StandbyStore) -> Self {
        Self { items, history, ..self.clone() }
    }

    /// The ports with an identity and policies behind them, as far as there are any. The log is told
    /// what that means for callers.
    pub fn with_access(
        self,
        identity: Option<Arc<dyn Identity>>,
        policies: Option<Arc<dyn Policies>>,
    ) -> Self {
        match (&identity, &policies) {
            (Some(_), None) => tracing::info!(
                "there are no policies: every known caller may do everything, and nobody else anything"
            ),
            (None, Some(_)) => tracing::warn!(
                "callers are not asked who they are, so only policies for `anyone` count"
            ),
            (None, None) => tracing::warn!(
                "callers are not asked who they are: everybody who reaches the service may do everything"
            ),
            (Some(_), Some(_)) => {}
        }
        let without = if identity.is_some() { NoPolicies::SignedIn } else { NoPolicies::Open };
        Self { identity, policies: policies.unwrap_or_else(|| Arc::new(without)), ..self }
    }
}
