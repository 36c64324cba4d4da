//! The code that verifies signatures and selects keys, judged by the vectors of others.

mod examples;
mod wycheproof;

use super::{InvalidSignature, TokenHeader, parts, verify};
use crate::jwk::{FoundKey, KeySet};

/// Returns whether a signature is accepted with one of these keys. What is signed need not be claims:
/// where it is not, the library refuses it after the signature was found to be right.
fn is_accepted(jws: &str, keys: &serde_json::Value) -> bool {
    let Ok((header, _)) = parts(jws) else { return false };
    let Ok(header) = TokenHeader::read(header) else { return false };
    let Ok(keys) = KeySet::read(keys.to_string().as_bytes()) else { return false };
    let FoundKey::Key(key) = keys.find(&header) else { return false };
    let verified = verify(jws, key, header.algorithm, ("", &["".into()]));
    matches!(verified, Ok(()) | Err(InvalidSignature::Content))
}
