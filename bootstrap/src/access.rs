//! Who may use the service: what the operator configured, and what is refused without it.

use std::sync::Arc;

use application::{NoPolicies, Policies};
use cli_adapter::{AccessOptions, CommandError, RequestRate, ServeOptions};
use http_adapter::{Network, Rate};

use crate::base_url;

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

/// The policies, or what holds without them.
pub fn policies(options: &ServeOptions) -> Arc<dyn Policies> {
    let is_known = options.access.identity.is_some();
    Arc::new(if is_known { NoPolicies::SignedIn } else { NoPolicies::Open })
}
