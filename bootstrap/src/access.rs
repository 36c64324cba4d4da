//! The files that say who may use the service.

use std::path::PathBuf;
use std::sync::Arc;

use application::metrics::Instrumented;
use application::{Clock, Identity, NoPolicies, Policies, Ports};
use cli_adapter::{AccessOptions, CommandError, ServeOptions};
use http_adapter::{AuditLog, BaseUrl};
use identity_adapter::ReloadableIdentity;
use policies_adapter::ReloadablePolicies;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::failed;

/// The callers that are known and the policies, as the files of an operator say.
pub struct AccessFiles {
    identity: Option<Arc<ReloadableIdentity>>,
    policies: Option<Arc<ReloadablePolicies>>,
}

impl AccessFiles {
    /// Reads the files that there are. Tokens are made for the service at `base_url` unless the
    /// identity file says otherwise.
    pub fn open(
        options: &AccessOptions,
        clock: &Arc<dyn Clock>,
        base_url: &BaseUrl,
    ) -> Result<Self, CommandError> {
        let open = |path: &PathBuf| {
            ReloadableIdentity::open(path, Arc::clone(clock), base_url.as_str()).map_err(failed)
        };
        let identity = options.identity.as_ref().map(open).transpose()?.map(Arc::new);
        let open =
            |path: &PathBuf| ReloadablePolicies::open(path, Arc::clone(clock)).map_err(failed);
        let policies = options.policies.as_ref().map(open).transpose()?.map(Arc::new);
        Ok(Self { identity, policies })
    }

    /// The ports with these behind them. The log is told what that means for callers.
    pub fn behind(&self, ports: Ports) -> Ports {
        match (&self.identity, &self.policies) {
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
        let without = match self.identity {
            Some(_) => NoPolicies::SignedIn,
            None => NoPolicies::Open,
        };
        let policies = self.policies.clone().map(|policies| policies as Arc<dyn Policies>);
        Ports {
            identity: self.identity.clone().map(|identity| identity as Arc<dyn Identity>),
            policies: policies.unwrap_or_else(|| Arc::new(without)),
            ..ports
        }
    }

    /// Those that have metrics.
    pub fn instrumented(&self) -> impl Iterator<Item = Arc<dyn Instrumented>> + use<> {
        let identity = self.identity.clone().map(|identity| identity as Arc<dyn Instrumented>);
        let policies = self.policies.clone().map(|policies| policies as Arc<dyn Instrumented>);
        identity.into_iter().chain(policies)
    }

    /// Keeps them up to date while the tasks run, and tells when they were read again at SIGHUP.
    pub fn keep(self, tasks: &mut JoinSet<()>, reloaded: &mpsc::Sender<()>) {
        if let Some(identity) = self.identity {
            tasks.spawn(Arc::clone(&identity).keep_keys());
            let hang_ups = rules_adapter::hang_ups();
            tasks.spawn(rules_adapter::watch(identity, hang_ups, reloaded.clone()));
        }
        if let Some(policies) = self.policies {
            let hang_ups = rules_adapter::hang_ups();
            tasks.spawn(rules_adapter::watch(policies, hang_ups, reloaded.clone()));
        }
    }
}

/// The audit log that an operator wants.
pub fn audit_log(
    ServeOptions { access, request_timeout, .. }: &ServeOptions,
    clock: &Arc<dyn Clock>,
) -> Result<Option<AuditLog>, CommandError> {
    let open = |path: &PathBuf| AuditLog::open(path, &access.audit, *request_timeout, clock);
    access.audit_log.as_ref().map(open).transpose().map_err(failed)
}
