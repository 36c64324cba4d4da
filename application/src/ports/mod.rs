//! The ports of the use cases.
//!
//! A method of a port is one atomic step. Its documentation states obligations with MUST and MUST
//! NOT; `tests/tests/repository` verifies them on both stores.

mod access;
mod caller_directory;
mod change_log;
mod clock;
mod contents;
mod error;
mod history;
mod identity;
mod items;
mod labels;
mod policies;
mod rule_trials;
mod rules;
mod sessions;
mod shown_item;
mod standbys;
mod version_bodies;

use std::sync::Arc;

pub use access::*;
pub use caller_directory::*;
pub use change_log::*;
pub use clock::*;
pub use contents::*;
pub use error::{RepositoryError, Result};
pub use history::*;
pub use identity::*;
pub use items::*;
pub use labels::*;
pub use policies::*;
pub use rule_trials::*;
pub use rules::*;
pub use sessions::*;
pub use shown_item::*;
pub use standbys::*;
pub use version_bodies::*;

#[derive(Clone)]
pub struct Ports {
    pub items: Arc<dyn ItemRepository>,
    pub history: Arc<dyn History>,
    pub changes: Arc<dyn ChangeLog>,
    pub callers: Arc<dyn CallerDirectory>,
    pub sessions: Arc<dyn SessionStore>,
    pub readiness: Arc<dyn Readiness>,
    pub ids: Arc<dyn IdGenerator>,
    pub clock: Arc<dyn Clock>,
    pub rules: Arc<dyn RuleBook>,
    pub trials: Arc<dyn RuleTrials>,
    /// The identity of callers; `None` without authentication.
    pub identity: Option<Arc<dyn Identity>>,
    pub policies: Arc<dyn Policies>,
    pub standbys: Option<Arc<dyn Standbys>>,
    /// The bytes of contents; `None` without a place for them.
    pub contents: Option<Arc<dyn ContentStore>>,
    pub content_register: Arc<dyn ContentRegister>,
}

impl Ports {
    pub fn reading(&self, StandbyStore { items, history }: StandbyStore) -> Self {
        Self { items, history, ..self.clone() }
    }

    /// Adds an identity and policies. Logs the consequences for callers.
    pub fn with_access(
        self,
        identity: Option<Arc<dyn Identity>>,
        policies: Option<Arc<dyn Policies>>,
    ) -> Self {
        match (&identity, &policies) {
            (Some(_), None) => tracing::info!(
                "No policies are configured: every known caller can do everything, and other callers can do nothing (see --policies)."
            ),
            (None, Some(_)) => tracing::warn!(
                "No sign-in is configured: only policies for `anyone` apply (see --identity)."
            ),
            (None, None) => tracing::warn!(
                "No sign-in is configured: anyone who can reach this service can change everything (see --identity)."
            ),
            (Some(_), Some(_)) => {}
        }
        let without = if identity.is_some() { NoPolicies::SignedIn } else { NoPolicies::Open };
        Self { identity, policies: policies.unwrap_or_else(|| Arc::new(without)), ..self }
    }
}
