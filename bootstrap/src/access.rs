//! The files that say who may use the service.

use std::path::PathBuf;
use std::sync::Arc;

use application::{Clock, Identity, Policies, Ports};
use http_adapter::BaseUrl;
use identity_adapter::ReloadableIdentity;
use language::Watches;
use policies_adapter::ReloadablePolicies;

use crate::commands::{AccessOptions, CommandError};
use crate::failed;

/// The callers that are known and the policies, as the files of an operator say.
pub struct AccessFiles {
    pub identity: Option<Arc<ReloadableIdentity>>,
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

    /// The ports with these behind them.
    pub fn behind(&self, ports: Ports) -> Ports {
        let identity = self.identity.clone().map(|identity| identity as Arc<dyn Identity>);
        let policies = self.policies.clone().map(|policies| policies as Arc<dyn Policies>);
        ports.with_access(identity, policies)
    }

    /// Keeps them up to date.
    pub fn keep(self, watches: &mut Watches) {
        if let Some(identity) = self.identity {
            watches.tasks.spawn(Arc::clone(&identity).keep_keys());
            watches.watch(Arc::clone(&identity.files));
        }
        if let Some(policies) = self.policies {
            watches.watch(policies.files.clone());
        }
    }
}
