//! Who may use the service: what the operator configured, and what is refused without it.

use std::path::PathBuf;
use std::sync::Arc;

use application::{Clock, Identity, NoPolicies, Policies, Ports};
use cli_adapter::{AccessOptions, CommandError, MadeKey, NewKeyOptions, RequestRate, ServeOptions};
use http_adapter::{BaseUrl, Network, Rate};
use identity_adapter::ReloadableIdentity;
use policies_adapter::ReloadablePolicies;
use tokio::task::JoinSet;

use crate::{base_url, failed};

/// Refuses to serve others than this machine while nobody is asked who they are, unless the operator
/// wants just that.
pub fn require_safe(options: &ServeOptions) -> Result<(), CommandError> {
    let access = &options.access;
    if access.identity.is_some() || access.policies.is_some() {
        return Ok(());
    }
    let is_public = match &options.base_url {
        Some(url) => !base_url(url)?.is_local(),
        None => false,
    };
    if !is_public && options.listen.ip().is_loopback() {
        tracing::warn!(
            "callers are not asked who they are: everybody on this machine may do everything"
        );
        return Ok(());
    }
    if access.allow_anonymous {
        tracing::warn!(
            "callers are not asked who they are: everybody who reaches the service may do everything"
        );
        return Ok(());
    }
    Err(CommandError::Usage(
        "others than this machine could reach the service, and nobody would be asked who they are: give --identity (or PROPOSAL_SERVICE_IDENTITY), or --allow-anonymous".to_owned(),
    ))
}

/// A rate, as the server takes it.
pub const fn rate(rate: RequestRate) -> Rate {
    Rate { interval: rate.interval, burst: rate.burst }
}

/// The proxies that are trusted.
pub fn networks(options: &AccessOptions) -> Vec<Network> {
    let networks = options.trusted_proxies.iter();
    networks.map(|&(address, prefix)| Network { address, prefix }).collect()
}

/// Who callers are and what they may do, as the files of an operator say.
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
        match (&identity, &policies) {
            (Some(_), None) => tracing::info!(
                "there are no policies: every known caller may do everything, and nobody else anything"
            ),
            (None, Some(_)) => tracing::warn!(
                "callers are not asked who they are, so only policies for `anyone` count"
            ),
            _ => {}
        }
        Ok(Self { identity, policies })
    }

    /// The ports with these behind them.
    pub fn behind(&self, ports: Ports) -> Ports {
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

    /// Keeps them up to date while the tasks run.
    pub fn keep(self, tasks: &mut JoinSet<()>) {
        if let Some(identity) = self.identity {
            tasks.spawn(Arc::clone(&identity).keep_keys());
            tasks.spawn(rules_adapter::watch(identity, rules_adapter::hang_ups()));
        }
        if let Some(policies) = self.policies {
            tasks.spawn(rules_adapter::watch(policies, rules_adapter::hang_ups()));
        }
    }
}

/// Makes a key for a machine.
pub fn new_key(options: &NewKeyOptions) -> Result<MadeKey, CommandError> {
    let made = identity_adapter::new_key(&options.name, &options.roles, options.expires);
    let made = made.map_err(|error| CommandError::Usage(error.to_string()))?;
    Ok(MadeKey { printed: made.printed, line: made.line })
}
