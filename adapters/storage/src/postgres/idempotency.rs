//! Requests that may be sent again, on `PostgreSQL`: looked up and remembered for any number of
//! writes at a time, in the transaction that does them.

use std::collections::HashSet;

use application::{ShownItem, WriteMetadata};
use sea_orm::{ConnectionTrait, DbErr, Value};

use crate::sql::arrays::{id_text, integers, texts};
use crate::sql::dialect::POSTGRES;
use crate::sql::idempotency::{self, continued_by};
use crate::sql::{references, row_mapping};
use crate::write::command::{Answer, Written};
use crate::write::row::RowWrite;

/// The columns of requests with a key, as parameters that are arrays.
pub(crate) const VALUES: [&str; 7] =
    ["key_caller", "path", "key", "fingerprint", "expires_at", "remarks", "now"];

/// The values of [`VALUES`]; all writes have a key.
pub(crate) fn values<'a>(writes: impl Iterator<Item = &'a WriteMetadata> + Clone) -> [Value; 7] {
    let known = writes.clone().filter_map(WriteMetadata::key_identity).collect::<Vec<_>>();
    let fingerprints = writes.clone().filter_map(|metadata| metadata.key.as_ref());
    let expiries = writes.clone().map(|metadata| metadata.key_expires.as_microsecond());
    let [caller, path, key] = known_values(&known);
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

/// The parts of a statement of inserts that depend on whether they have keys.
pub(crate) struct KeyParts {
    /// The columns of `given` beside those of every insert.
    pub values: &'static [&'static str],
    /// The requests of `given` that were answered before.
    pub answered: String,
    /// The condition on `given` that it is none of them.
    pub unanswered: &'static str,
    /// The expression for those of the `acceptable` inserts that are `possible`.
    pub possible: String,
    /// The joins of the result, and in it whether a request was answered before.
    pub joined: &'static str,
    pub is_answered: &'static str,
}

impl KeyParts {
    /// Those of inserts without keys.
    pub fn none() -> Self {
        Self {
            values: &[],
            answered: String::new(),
            unanswered: "",
            possible: "possible AS (SELECT * FROM acceptable)".to_owned(),
            joined: "",
            is_answered: "FALSE",
        }
    }

    /// Those of inserts that claim their keys first: the second to insert a key waits for the end of
    /// the first.
    pub fn claimed() -> Self {
        let columns = idempotency::columns();
        let updated = columns.split(", ").skip(3).map(|name| format!("{name} = excluded.{name}"));
        Self {
            values: &VALUES,
            answered: "answered AS (SELECT g.id FROM given g JOIN idempotency_keys k \
                       ON k.caller = g.key_caller AND k.path = g.path AND k.key = g.key WHERE k.expires_at > g.now),"
                .to_owned(),
            unanswered: "AND g.id NOT IN (SELECT a.id FROM answered a)",
            possible: format!(
                "claimed AS (INSERT INTO idempotency_keys AS k ({columns}) \
                 SELECT p.key_caller, p.path, p.key, p.fingerprint, p.expires_at, p.id, p.version, p.continues, '', p.remarks{links} \
                 FROM acceptable p ORDER BY 1, 2, 3 ON CONFLICT (caller, path, key) DO UPDATE SET {updated} \
                 WHERE k.expires_at <= (SELECT MAX(g.now) FROM given g) RETURNING item_id), \
                 possible AS (SELECT p.* FROM acceptable p JOIN claimed c ON c.item_id = p.id)",
                links = references::links("p"),
                updated = updated.collect::<Vec<_>>().join(", "),
            ),
            joined: "LEFT JOIN answered a ON a.id = g.id LEFT JOIN acceptable q ON q.id = g.id",
            is_answered: "(a.id IS NOT NULL OR (q.id IS NOT NULL AND i.id IS NULL))",
        }
    }
}

/// The places in the list of those that were answered before. A sum is in no index: the one by expiry
/// would lead through all keys.
const ANSWERED: &str = "SELECT g.place FROM unnest($1, $2, $3) WITH ORDINALITY AS g (caller, path, key, place) \
                        JOIN idempotency_keys k ON k.caller = g.caller AND k.path = g.path AND k.key = g.key WHERE k.expires_at + 0 > $4";

/// Returns whether each of the writes was answered before.
pub(crate) async fn answered(
    connection: &impl ConnectionTrait,
    writes: &[RowWrite<'_>],
) -> Result<Vec<bool>, DbErr> {
    let known: Vec<_> = writes.iter().filter_map(|write| write.metadata.key_identity()).collect();
    if known.is_empty() {
        return Ok(vec![false; writes.len()]);
    }
    let now =
        writes.iter().map(|write| write.metadata.time.as_microsecond()).max().unwrap_or_default();
    let values = known_values(&known).into_iter().chain([now.into()]);
    let mut answered: HashSet<[&str; 3]> = HashSet::new();
    for row in connection.query_all_raw(POSTGRES.statement(ANSWERED, values)).await? {
        let place = usize::try_from(row_mapping::get::<i64>(&row, "place")?).unwrap_or_default();
        answered.extend(known.get(place.wrapping_sub(1)));
    }
    Ok(writes
        .iter()
        .map(|write| write.metadata.key_identity().is_some_and(|known| answered.contains(&known)))
        .collect())
}

/// Remembers those that have a key and were done.
pub(crate) async fn remember<'a>(
    connection: &impl ConnectionTrait,
    writes: &[RowWrite<'a>],
    answers: &'a [Answer],
) -> Result<(), DbErr> {
    let with_key = |(write, answer): (&RowWrite<'a>, &'a Answer)| match answer {
        Ok(Written::Item(shown)) => Some((write.metadata.key.as_ref()?, write.metadata, shown)),
        _ => None,
    };
    let done: Vec<_> = writes.iter().zip(answers).filter_map(with_key).collect();
    if done.is_empty() {
        return Ok(());
    }
    let known: Vec<_> =
        done.iter().filter_map(|(_, metadata, _)| metadata.key_identity()).collect();
    let column =
        |text: &dyn Fn(&ShownItem) -> String| texts(done.iter().map(|(.., shown)| text(shown)));
    let values = known_values(&known).into_iter().chain([
        texts(done.iter().map(|(key, ..)| key.fingerprint.clone())),
        integers(done.iter().map(|(_, metadata, _)| metadata.key_expires.as_microsecond())),
        column(&|shown| shown.item.id.to_string()),
        integers(done.iter().map(|(.., shown)| shown.item.version.number())),
        column(&|shown| id_text(shown.links.continues)),
        column(&|shown| continued_by(&shown.links)),
        texts(done.iter().map(|(_, metadata, _)| metadata.remarks.to_string())),
    ]);
    let links = (0..references::COLUMNS.len())
        .map(|index| column(&|shown| id_text(shown.links.reference(index))));
    let values: Vec<_> = values.chain(links).collect();
    let columns = idempotency::columns();
    let text = format!(
        "INSERT INTO idempotency_keys AS k ({columns}) \
         SELECT caller, path, key, fingerprint, expires_at, item_id::uuid, version, NULLIF(continues, '')::uuid, \
         continued_by, remarks{links} FROM unnest({arrays}) AS g ({columns}) \
         ON CONFLICT (caller, path, key) DO UPDATE SET fingerprint = excluded.fingerprint, expires_at = excluded.expires_at, \
         item_id = excluded.item_id, version = excluded.version, continues = excluded.continues, \
         continued_by = excluded.continued_by, remarks = excluded.remarks{updated}",
        links = references::each(|name| format!(", NULLIF({name}, '')::uuid")),
        arrays =
            (1..=values.len()).map(|number| format!("${number}")).collect::<Vec<_>>().join(", "),
        updated = references::each(|name| format!(", {name} = excluded.{name}")),
    );
    connection.execute_raw(POSTGRES.statement(&text, values)).await.map(|_| ())
}

fn known_values(known: &[[&str; 3]]) -> [Value; 3] {
    let column = |part: usize| texts(known.iter().map(|known| known[part].to_owned()));
    [column(0), column(1), column(2)]
}
