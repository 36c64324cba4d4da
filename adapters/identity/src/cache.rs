//! Cache of verified and of refused tokens, by a digest of all their bytes.

use std::fmt;
use std::sync::Arc;

use application::Unrecognized;
use domain::Principal;
use jiff::{SignedDuration, Timestamp};
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, UnitWeighter};
use sha2::{Digest, Sha256};

use crate::issuer_keys::IssuerKeys;
use crate::token::Reason;

const MOST_VERIFIED: usize = 10_000;
const MOST_REFUSED: usize = 4_096;
/// Number of shards, each with its own lock. Both capacities are multiples of it.
const SHARDS: usize = 16;
/// Lifetime of a refusal: a client that repeats a dead token costs one digest.
const REFUSAL: SignedDuration = SignedDuration::from_secs(10);

/// SHA-256 of the whole token. A shorter key would give tokens that share a part the same caller.
pub(crate) type TokenDigest = [u8; 32];

pub(crate) fn digest(token: &str) -> TokenDigest {
    Sha256::digest(token).into()
}

pub(crate) struct TokenCache {
    verified: Cache<TokenDigest, Verified>,
    refused: Cache<TokenDigest, Refused>,
}

#[derive(Clone)]
pub(crate) struct Verified {
    pub principal: Arc<Principal>,
    pub ends: Timestamp,
    pub in_force: u64,
    pub keys: Arc<IssuerKeys>,
    pub keys_edition: u64,
}

#[derive(Clone)]
struct Refused {
    reason: Reason,
    since: Timestamp,
    in_force: u64,
    keys: Option<(Arc<IssuerKeys>, u64)>,
}

impl Default for TokenCache {
    fn default() -> Self {
        Self { verified: cache_of(MOST_VERIFIED), refused: cache_of(MOST_REFUSED) }
    }
}

/// Makes an empty cache of at most `most` entries. The default is one shard per core, each with
/// its share rounded up.
fn cache_of<T: Clone>(most: usize) -> Cache<TokenDigest, T> {
    let mut options = OptionsBuilder::new();
    let options =
        options.shards(SHARDS).estimated_items_capacity(most).weight_capacity(most as u64);
    let options = options.build().expect("a capacity");
    Cache::with_options(
        options,
        UnitWeighter,
        DefaultHashBuilder::default(),
        DefaultLifecycle::default(),
    )
}

impl fmt::Debug for TokenCache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("TokenCache")
            .field("verified", &self.verified.len())
            .field("refused", &self.refused.len())
            .finish()
    }
}

impl TokenCache {
    /// Returns the cached result of a token. It expires when the token ends, the identity file
    /// changes or the keys of the issuer change.
    pub fn find(
        &self,
        digest: &TokenDigest,
        in_force: u64,
        now: Timestamp,
    ) -> Option<Result<Arc<Principal>, Unrecognized>> {
        if let Some(known) = self.verified.get(digest) {
            let holds = now < known.ends
                && known.in_force == in_force
                && known.keys.edition(now) == Some(known.keys_edition);
            if holds {
                return Some(Ok(known.principal));
            }
            self.verified.remove(digest);
            return None;
        }
        let known = self.refused.get(digest)?;
        let age = now.duration_since(known.since);
        let is_by = |(keys, edition): &(Arc<IssuerKeys>, u64)| keys.edition(now) == Some(*edition);
        let holds = known.in_force == in_force
            && age < REFUSAL
            && !age.is_negative()
            && known.keys.as_ref().is_none_or(is_by);
        holds.then_some(Err(Unrecognized::Invalid(known.reason)))
    }

    pub fn keep(&self, digest: TokenDigest, verified: Verified) {
        self.verified.insert(digest, verified);
    }

    /// Caches a refusal until the identity file or the keys it depends on change.
    pub fn refuse(
        &self,
        digest: TokenDigest,
        (reason, since): (Reason, Timestamp),
        in_force: u64,
        keys: Option<(Arc<IssuerKeys>, u64)>,
    ) {
        self.refused.insert(digest, Refused { reason, since, in_force, keys });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of shards must divide the number of entries, otherwise each is rounded up.
    #[test]
    fn the_capacities_are_exact() {
        let cache = TokenCache::default();
        assert_eq!((cache.verified.capacity(), cache.refused.capacity()), (10_000, 4_096));
        for number in 0..20_000 {
            let digest = digest(&number.to_string());
            cache.refuse(digest, ("a reason".into(), Timestamp::UNIX_EPOCH), 1, None);
            assert!(cache.refused.len() <= MOST_REFUSED, "after {number}");
        }
        assert!(cache.refused.len() > MOST_REFUSED * 9 / 10, "{cache:?}");
    }
}
