//! Tokens that were verified, and tokens that were refused, by a digest of all their bytes.

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
/// Parts of a cache that are locked apart; both capacities are multiples of it.
const SHARDS: usize = 16;
/// The time for which a refusal is kept: a client that repeats a dead token costs a digest.
const REFUSAL: SignedDuration = SignedDuration::from_secs(10);

/// The digest of a token. Nothing less may be a key: tokens that share a part would share a caller.
pub(crate) type TokenDigest = [u8; 32];

/// Returns the digest of all bytes of a token.
pub(crate) fn digest(token: &str) -> TokenDigest {
    Sha256::digest(token).into()
}

/// The tokens that were sent before, and what became of them.
pub(crate) struct TokenCache {
    verified: Cache<TokenDigest, Verified>,
    refused: Cache<TokenDigest, Refused>,
}

/// A token that was verified.
#[derive(Clone)]
pub(crate) struct Verified {
    pub principal: Arc<Principal>,
    pub ends: Timestamp,
    /// The edition of what was in force, which has the revocations.
    pub in_force: u64,
    /// The keys of the issuer, and their edition.
    pub keys: Arc<IssuerKeys>,
    pub keys_edition: u64,
}

#[derive(Clone)]
struct Refused {
    reason: Reason,
    since: Timestamp,
    in_force: u64,
    /// The keys that it was refused by, and their edition.
    keys: Option<(Arc<IssuerKeys>, u64)>,
}

impl Default for TokenCache {
    fn default() -> Self {
        Self { verified: cache_of(MOST_VERIFIED), refused: cache_of(MOST_REFUSED) }
    }
}

/// Makes an empty cache for so many entries, and not one more. By default, it would have as many shards
/// as the machine has cores for, and in each of them its share rounded up.
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
        // Only counts: who is here is nobody's business.
        formatter
            .debug_struct("TokenCache")
            .field("verified", &self.verified.len())
            .field("refused", &self.refused.len())
            .finish()
    }
}

impl TokenCache {
    /// Returns what is known of a token, if it still holds: until it ends, the identity file is
    /// another, or the keys of its issuer are.
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

    /// Keeps a token that was verified.
    pub fn keep(&self, digest: TokenDigest, verified: Verified) {
        self.verified.insert(digest, verified);
    }

    /// Keeps a refusal, which holds as long as the identity file is the same, and the keys that it
    /// depends on are.
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
