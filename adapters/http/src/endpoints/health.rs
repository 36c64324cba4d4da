//! `/healthz` (the process lives) and `/readyz` (it can do its work).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use application::Readiness;
use poem::{Endpoint, Request, Response, Result};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::endpoints::content;
use crate::problem::Problem;

/// How long the store may take to answer something trivial.
const PATIENCE: Duration = Duration::from_secs(5);

/// Answers 200 as long as the process runs.
pub fn liveness(request: &Request) -> Response {
    content::untagged(request, json!({ "status": "ok" }).to_string())
}

/// Answers 200 while the store answers and the service is to get requests, else 503.
pub struct Ready {
    pub store: Arc<dyn Readiness>,
    /// True when the service is about to stop.
    pub is_leaving: watch::Receiver<bool>,
    /// True if nobody is asked who they are, as the operator wants it.
    pub is_open_to_all: bool,
    /// The kinds of files that were refused when they were last read.
    pub reload_failed: watch::Receiver<BTreeSet<&'static str>>,
}

impl Endpoint for Ready {
    type Output = Response;

    async fn call(&self, request: Request) -> Result<Response> {
        if *self.is_leaving.borrow() {
            return Err(Problem::unavailable("The service is about to stop.").into());
        }
        match timeout(PATIENCE, self.store.check()).await {
            Ok(Ok(())) => Ok(content::untagged(&request, self.state().to_string())),
            _ => Err(Problem::unavailable("The store cannot be reached.").into()),
        }
    }
}

impl Ready {
    /// The state of a service that is ready, for monitors.
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

    /// A store that answers at once, or never.
    struct Store {
        hangs: bool,
    }

    #[async_trait]
    impl Readiness for Store {
        async fn check(&self) -> Result<(), RepositoryError> {
            if self.hangs { pending().await } else { Ok(()) }
        }
    }

    async fn is_ready(hangs: bool, is_leaving: bool) -> bool {
        let (_, is_leaving) = watch::channel(is_leaving);
        let store = Arc::new(Store { hangs });
        let (_, reload_failed) = watch::channel(BTreeSet::new());
        let ready = Ready { store, is_leaving, is_open_to_all: false, reload_failed };
        ready.call(Request::default()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_hangs_is_not_ready_within_a_bounded_time() {
        let asked = Instant::now();
        assert!(!is_ready(true, false).await);
        assert_eq!(asked.elapsed(), PATIENCE);
    }

    #[tokio::test]
    async fn a_service_that_is_about_to_stop_is_not_ready() {
        assert!(is_ready(false, false).await);
        assert!(!is_ready(false, true).await);
    }
}
