//! Requests that may be sent again, on `PostgreSQL`: the statement that does their writes claims
//! their keys.

use application::WriteMetadata;
use sea_orm::Value;

use crate::entities::{self, idempotency_key};
use crate::sql::arrays::{integers, texts};
use crate::sql::dialect::POSTGRES;
use crate::sql::references;

/// The columns of requests with a key, as parameters that are arrays.
pub(crate) const VALUES: [&str; 7] =
    ["key_caller", "path", "key", "fingerprint", "expires_at", "remarks", "now"];

/// The values of [`VALUES`]; all writes have a key.
pub(crate) fn values<'a>(writes: impl Iterator<Item = &'a WriteMetadata> + Clone) -> [Value; 7] {
    let known = writes.clone().filter_map(WriteMetadata::key_identity).collect::<Vec<_>>();
    let fingerprints = writes.clone().filter_map(|metadata| metadata.key.as_ref());
    let expiries = writes.clone().map(|metadata| metadata.key_expires.as_microsecond());
    let [caller, path, key] =
        [0, 1, 2].map(|part| texts(known.iter().map(|known| known[part].to_owned())));
    [
        caller,
        path,
        key,
        texts(fingerprints.map(|key| key.fingerprint.clone())),
        integers(expiries),
        texts(writes.clone().map(|metadata| metadata.remarks.to_string())),
        integers(writes.map(|metadata| metadata.time.as_microsecond())),
    ]
}

/// The parts of a statement that depend on whether the writes have keys.
pub(crate) struct KeyParts {
    /// The columns of `given` in addition to those of every write.
    pub values: &'static [&'static str],
    /// The row `k` of the earlier request, joined to `given`.
    pub earlier: &'static str,
    /// The expression for those of the `acceptable` writes that are `possible`.
    pub possible: String,
}

impl KeyParts {
    /// Those of writes without keys.
    pub fn none() -> Self {
        let possible = "possible AS (SELECT * FROM acceptable)".to_owned();
        Self { values: &[], earlier: "", possible }
    }

    /// Those of writes that claim their keys first: the second to insert a key waits for the end of
    /// the first.
    pub fn claimed() -> Self {
        let columns = entities::columns::<idempotency_key::Entity>();
        let updated = columns.split(", ").skip(3).map(|name| format!("{name} = excluded.{name}"));
        let possible = format!(
            "claimed AS (INSERT INTO idempotency_keys AS k ({columns}) \
             SELECT p.key_caller, p.path, p.key, p.fingerprint, p.expires_at, p.id, p.version, \
             (SELECT n.id FROM items n WHERE n.id = p.continues), \
             COALESCE((SELECT string_agg({id_text}, ',' ORDER BY n.id) FROM items n WHERE n.continues = p.id), ''), p.remarks{links} \
             FROM acceptable p ORDER BY 1, 2, 3 ON CONFLICT (caller, path, key) DO UPDATE SET {updated} \
             WHERE k.expires_at <= (SELECT MAX(g.now) FROM given g) RETURNING item_id), \
             possible AS (SELECT p.* FROM acceptable p JOIN claimed c ON c.item_id = p.id)",
            id_text = POSTGRES.id_text,
            links = references::links("p"),
            updated = updated.collect::<Vec<_>>().join(", "),
        );
        let earlier = "LEFT JOIN idempotency_keys k ON k.caller = g.key_caller AND k.path = g.path AND k.key = g.key";
        Self { values: &VALUES, earlier, possible }
    }
}
