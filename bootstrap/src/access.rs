//! Files that control access: identity and policies.

use std::path::PathBuf;
use std::sync::Arc;

use application::{Clock, Identity, Policies, Ports};
use http_adapter::BaseUrl;
use identity_adapter::ReloadableIdentity;
use language::Watches;
use policies_adapter::ReloadablePolicies;

use crate::commands::{AccessOptions, Result};
use crate::failed;

pub struct AccessFiles {
    pub identity: Option<Arc<ReloadableIdentity>>,
    policies: Option<Arc<ReloadablePolicies>>,
}

impl AccessFiles {
    /// Reads the configured files. `base_url` is the default audience of tokens.
    pub fn open(
        options: &AccessOptions,
        clock: &Arc<dyn Clock>,
        base_url: &BaseUrl,
    ) -> Result<Self> {
        let open = |path: &PathBuf| {
            ReloadableIdentity::open(path, Arc::clone(clock), base_url.as_str()).map_err(failed)
        };
        let identity = options.identity.as_ref().map(open).transpose()?.map(Arc::new);
        let open =
            |path: &PathBuf| ReloadablePolicies::open(path, Arc::clone(clock)).map_err(failed);
        let policies = options.policies.as_ref().map(open).transpose()?.map(Arc::new);
        Ok(Self { identity, policies })
    }

    pub fn behind(&self, ports: Ports) -> Ports {
        let identity = self.identity.clone().map(|identity| identity as Arc<dyn Identity>);
        let policies = self.policies.clone().map(|policies| policies as Arc<dyn Policies>);
        ports.with_access(identity, policies)
    }

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
