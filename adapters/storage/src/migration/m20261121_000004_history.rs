//! What is asked of the past: which items of a collection were removed, and how a request that is
//! sent again was answered.
//!
//! The totals of what an item owned stay when it is removed, since it may be restored; so nobody
//! looks for them by it.

use crate::sql::dialect::Dialect;

/// An answer is the version that was written, and the links it was shown with; the rest is in the
/// change log.
pub(super) fn statements(Dialect { uuid, .. }: &Dialect) -> Vec<String> {
    vec![format!(
        "CREATE TABLE idempotency_keys (
                caller TEXT NOT NULL,
                path TEXT NOT NULL,
                key TEXT NOT NULL,
                fingerprint TEXT NOT NULL,
                expires_at BIGINT NOT NULL,
                item_id {uuid} NOT NULL,
                version BIGINT NOT NULL,
                continues {uuid} NULL,
                program {uuid} NULL,
                continued_by TEXT NOT NULL,
                PRIMARY KEY (caller, path, key)
            );
            CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at);
            CREATE INDEX changes_by_removal ON changes (collection, item_id) WHERE kind = 'deleted';
            DROP INDEX collection_totals_by_parent"
    )]
}
