//! `/healthz` (liveness) and `/readyz` (readiness).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use application::Readiness;
use async_trait::async_trait;
use poem::{Request, Response};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::endpoints::content;
use crate::middleware::method_router::Handler;
use crate::problem::{Problem, Result};

const PATIENCE: Duration = Duration::from_secs(5);

pub async fn liveness((): (), request: Request) -> Result<Response> {
    Ok(content::untagged(&request, json!({ "status": "ok" }).to_string()))
}

/// 503 if the store does not answer or the service is shutting down.
pub struct Ready {
    pub store: Arc<dyn Readiness>,
    pub is_leaving: watch::Receiver<bool>,
    /// True if the operator disabled authentication.
    pub is_open_to_all: bool,
    /// The kinds of files whose last reload failed.
    pub reload_failed: watch::Receiver<BTreeSet<&'static str>>,
}

#[async_trait]
impl Handler for Ready {
    async fn handle(&self, request: &mut Request) -> Result<Response> {
        if *self.is_leaving.borrow() {
            return Err(Problem::unavailable("The service is shutting down."));
        }
        match timeout(PATIENCE, self.store.check()).await {
            Ok(Ok(())) => Ok(content::untagged(request, self.state().to_string())),
            _ => Err(Problem::unavailable("The store cannot be reached.")),
        }
    }
}

impl Ready {
    fn state(&self) -> Value {
        let mut state = json!({ "status": "ready" });
        if self.is_open_to_all {
            state["identity"] = "none".into();
        }
        let failed = self.reload_failed.borrow();
        if !failed.is_empty() {
            state["reload_failed"] = failed.iter().copied().collect();
        }
        state
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use application::RepositoryError;
    use async_trait::async_trait;
    use tokio::time::Instant;

    use super::*;

    struct HangingStore;

    #[async_trait]
    impl Readiness for HangingStore {
        async fn check(&self) -> Result<(), RepositoryError> {
            pending().await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_hangs_is_not_ready_within_a_bounded_time() {
        let (_, is_leaving) = watch::channel(false);
        let (_, reload_failed) = watch::channel(BTreeSet::new());
        let store = Arc::new(HangingStore);
        let ready = Ready { store, is_leaving, is_open_to_all: false, reload_failed };
        let asked = Instant::now();
        assert!(ready.handle(&mut Request::default()).await.is_err());
        assert_eq!(asked.elapsed(), PATIENCE);
    }
}
