//! A hash that clients keep, in entity tags and cursors: the same in every build.

use sha2::{Digest, Sha256};

/// The first 64 bits of a hash.
pub fn first_64_bits(hash: Sha256) -> u64 {
    let digest = hash.finalize();
    digest.iter().take(8).fold(0, |number, byte| (number << 8) | u64::from(*byte))
}
