//! Who may use the service: what the operator configured, and what is refused without it.

use std::sync::Arc;

use application::{Clock, NoPolicies, Policies};
use cli_adapter::{AccessOptions, CommandError, MadeKey, NewKeyOptions, RequestRate, ServeOptions};
use http_adapter::{BaseUrl, Network, Rate};
use identity_adapter::ReloadableIdentity;

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

/// The callers that the identity file makes known, if there is one. Tokens are made for the service
/// at `base_url` unless the file says otherwise.
pub fn open_identity(
    options: &AccessOptions,
    clock: Arc<dyn Clock>,
    base_url: &BaseUrl,
) -> Result<Option<Arc<ReloadableIdentity>>, CommandError> {
    let Some(path) = &options.identity else { return Ok(None) };
    let identity = ReloadableIdentity::open(path, clock, base_url.as_str());
    Ok(Some(Arc::new(identity.map_err(failed)?)))
}

/// The policies, or what holds without them.
pub fn policies(options: &AccessOptions) -> Arc<dyn Policies> {
    if options.identity.is_none() {
        return Arc::new(NoPolicies::Open);
    }
    tracing::info!(
        "there are no policies: every known caller may do everything, and nobody else anything"
    );
    Arc::new(NoPolicies::SignedIn)
}

/// Makes a key for a machine.
pub fn new_key(options: &NewKeyOptions) -> Result<MadeKey, CommandError> {
    let made = identity_adapter::new_key(&options.name, &options.roles, options.expires);
    let made = made.map_err(|error| CommandError::Usage(error.to_string()))?;
    Ok(MadeKey { printed: made.printed, line: made.line })
}
