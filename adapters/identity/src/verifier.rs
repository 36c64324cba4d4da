//! Authenticates credentials: the cheapest check first.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread::available_parallelism;
use std::time::Duration;

use application::Unrecognized;
use domain::Principal;
use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::DecodingKey;
use tokio::sync::Semaphore;

use crate::cache::{self, TokenCache, TokenDigest, Verified};
use crate::in_force::InForce;
use crate::issuer::Issuer;
use crate::issuer_keys::IssuerKeys;
use crate::jwk::FoundKey;
use crate::machine_key::{PREFIX, SentKey};
use crate::mapping::MappingError;
use crate::metrics::{Check, IdentityMetrics};
use crate::token::{Claims, InvalidSignature, Reason, Token, verify};

#[cfg(test)]
mod tests;

/// Maximum wait for a permit to verify a signature.
const LONGEST_WAIT: Duration = Duration::from_millis(250);
const PAUSE_OF_WARNINGS: SignedDuration = SignedDuration::from_mins(1);

#[derive(Debug)]
pub(crate) struct Verifier {
    cache: TokenCache,
    permits: Semaphore,
    /// Time of the last warning about a mapping, in seconds since 1970.
    warned: AtomicI64,
    pub metrics: IdentityMetrics,
}

impl Default for Verifier {
    fn default() -> Self {
        // Verification runs on the workers. Half of them stay free for other requests.
        let workers = available_parallelism().map_or(1, Into::into);
        let (permits, warned) = (Semaphore::new((workers / 2).max(1)), AtomicI64::new(i64::MIN));
        let metrics = IdentityMetrics::default();
        Self { cache: TokenCache::default(), permits, warned, metrics }
    }
}

enum Refusal {
    /// Permanent until the identity file or the edition of these keys changes.
    Lasting(Reason, Option<(Arc<IssuerKeys>, u64)>),
    Passing(Reason),
    /// Undecided: the issuer has no keys yet, or too many verifications run.
    Unavailable,
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Self {
        Self::Lasting(reason, None)
    }
}

impl Verifier {
    pub async fn recognize(
        &self,
        current: &InForce,
        token: &str,
        now: Timestamp,
    ) -> Result<Arc<Principal>, Unrecognized> {
        if token.starts_with(PREFIX) {
            let known = by_key(current, token, now);
            match &known {
                Ok(_) => _ = self.metrics.keys.inc(),
                Err(_) => self.metrics.refused(Check::Key),
            }
            return known.map_err(Unrecognized::Invalid);
        }
        let digest = cache::digest(token);
        if let Some(known) = self.cache.find(&digest, current.edition, now) {
            match &known {
                Ok(_) => _ = self.metrics.cached.inc(),
                Err(_) => self.metrics.refused(Check::Repeated),
            }
            return known;
        }
        match self.verify(current, token, digest, now).await {
            Ok(principal) => {
                self.metrics.verified.inc();
                Ok(principal)
            }
            Err(Refusal::Unavailable) => {
                self.metrics.unavailable.inc();
                Err(Unrecognized::Unavailable)
            }
            Err(Refusal::Passing(reason)) => Err(Unrecognized::Invalid(reason)),
            Err(Refusal::Lasting(reason, by)) => {
                self.cache.refuse(digest, (reason.clone(), now), current.edition, by);
                Err(Unrecognized::Invalid(reason))
            }
        }
    }

    async fn verify(
        &self,
        current: &InForce,
        token: &str,
        digest: TokenDigest,
        now: Timestamp,
    ) -> Result<Arc<Principal>, Refusal> {
        let failed = |check| move |_: &_| self.metrics.refused(check);
        let token = Token::read(token).inspect_err(failed(Check::Form))?;
        let url = Claims::issuer(&token.claims).inspect_err(failed(Check::Form))?;
        let (issuer, keys) = current
            .issuer(&url)
            .ok_or(Reason::from("the token's issuer is not one of those known here"))
            .inspect_err(failed(Check::Issuer))?;
        issuer.check_header(&token.header).inspect_err(failed(Check::Header))?;
        let claims = Claims::read(&token.claims).inspect_err(failed(Check::Claims))?;
        let ends = claims.check(&issuer.conditions, now).map_err(|reason| {
            self.metrics.refused(Check::Claims);
            if claims.begins_later(now) { Refusal::Passing(reason) } else { reason.into() }
        })?;
        let keys_edition = self.check_signature(&token, issuer, keys, now).await;
        let keys_edition = keys_edition.inspect_err(|refusal| {
            if !matches!(refusal, Refusal::Unavailable) {
                self.metrics.refused(Check::Signature);
            }
        })?;
        let mapped = issuer.mapping.map(&token.claims).await;
        let mapped = mapped.map_err(|error| {
            self.metrics.refused(Check::Mapping);
            self.unmapped(issuer, error, now)
        })?;
        if claims.acting.is_some() && !mapped.is_subject_of(&token.claims) {
            // The id would collide with that of another caller.
            self.metrics.refused(Check::Mapping);
            let reason = "the `sub` of the token's `act` is not the id of a caller of its issuer";
            return Err(Reason::from(reason).into());
        }
        let by = (claims.acting.as_deref(), claims.client.as_deref());
        let granted = issuer.granted(&claims.scopes());
        let principal = mapped.principal(&issuer.name, by, granted);
        let is_revoked = |id: &str| current.file.is_revoked(issuer, id, claims.issued);
        if is_revoked(&principal.id) || principal.acting.as_deref().is_some_and(is_revoked) {
            self.metrics.refused(Check::Revocation);
            return Err(Reason::from("the token was revoked").into());
        }
        let principal = Arc::new(Principal { expires: Some(ends), ..principal });
        let (keys, in_force) = (keys.clone(), current.edition);
        let verified =
            Verified { principal: principal.clone(), ends, in_force, keys, keys_edition };
        self.cache.keep(digest, verified);
        Ok(principal)
    }

    /// Verifies the signature with the issuer's key and returns the edition of the keys. An unknown
    /// key is looked up again after a fetch.
    async fn check_signature(
        &self,
        token: &Token<'_>,
        issuer: &Issuer,
        keys: &Arc<IssuerKeys>,
        now: Timestamp,
    ) -> Result<u64, Refusal> {
        let mut is_renewed = false;
        loop {
            let watcher = keys.watch();
            let by_keys = |reason, edition| Refusal::Lasting(reason, Some((keys.clone(), edition)));
            let missing = match keys.current(now) {
                None => Refusal::Unavailable,
                Some((set, edition)) => match set.find(&token.header) {
                    FoundKey::Key(key) => {
                        let verified = self.check_by(token, issuer, key).await;
                        return match verified.ok_or(Refusal::Unavailable)? {
                            Ok(()) => Ok(edition),
                            Err(reason) => Err(by_keys(reason, edition)),
                        };
                    }
                    FoundKey::Unfit => {
                        let reason = "the token does not name the key that it is signed with";
                        return Err(by_keys(reason.into(), edition));
                    }
                    FoundKey::Unknown => {
                        let reason = "the token is signed with a key that its issuer does not have";
                        by_keys(reason.into(), edition)
                    }
                },
            };
            if is_renewed || !keys.renewed(watcher).await {
                return Err(missing);
            }
            is_renewed = true;
        }
    }

    /// Verifies the signature with a key; `None` if too many verifications run (admission control).
    async fn check_by(
        &self,
        token: &Token<'_>,
        issuer: &Issuer,
        key: &DecodingKey,
    ) -> Option<Result<(), Reason>> {
        let permit = tokio::time::timeout(LONGEST_WAIT, self.permits.acquire()).await;
        let _permit = permit.ok()?.ok()?;
        let meant = (&*issuer.source.issuer, &*issuer.conditions.audiences);
        let verified = verify(token.text, key, token.header.algorithm, meant);
        Some(verified.map_err(|error| match error {
            InvalidSignature::Signature => "the token's signature is wrong".into(),
            InvalidSignature::Content => {
                "the token's claims are not those of an access token".into()
            }
        }))
    }

    fn unmapped(&self, issuer: &Issuer, error: MappingError, now: Timestamp) -> Refusal {
        let key = match error {
            MappingError::Refused(reason) => return reason.into(),
            MappingError::Failed(key) => key,
        };
        let (last, seconds) = (&self.warned, now.as_second());
        let is_due = |last: i64| seconds.saturating_sub(last) >= PAUSE_OF_WARNINGS.as_secs();
        if last
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
                is_due(last).then_some(seconds)
            })
            .is_ok()
        {
            // The reason may contain a claim, so it is not logged.
            let issuer = &*issuer.name;
            tracing::warn!(issuer, %key, "an expression of the identity file failed for a token");
        }
        Reason::from(format!("the service cannot compute `{key}` from the token's claims")).into()
    }
}

fn by_key(current: &InForce, sent: &str, now: Timestamp) -> Result<Arc<Principal>, Reason> {
    let sent = SentKey::read(sent)
        .ok_or("the key is mistyped: its checksum is wrong; copy the whole key again")?;
    let key = current.file.keys.get(sent.name).filter(|key| key.is(&sent));
    let key = key.ok_or("the key is unknown")?;
    if key.revoked.is_some_and(|revoked| revoked <= now) {
        return Err("the key was revoked".into());
    }
    if key.ends.is_some_and(|ends| ends <= now) {
        return Err("the key has expired; create a new one".into());
    }
    Ok(key.principal.clone())
}
