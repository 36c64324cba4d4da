//! The past: the index of removed items, and the responses to requests that are sent again.
//!
//! The totals of an item's children stay when it is removed, since it may be restored; so the index
//! by parent is not needed.

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
