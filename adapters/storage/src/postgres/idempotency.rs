//! Requests that may be sent again, on `PostgreSQL`: looked up and remembered for any number of
//! writes at a time, in the transaction that does them.

use std::collections::HashSet;

use application::ShownItem;
use sea_orm::{ConnectionTrait, DbErr, Value};

use crate::postgres::batch::{id_text, integers, texts};
use crate::sql::dialect::POSTGRES;
use crate::sql::idempotency::{self, continued_by};
use crate::sql::{references, row_mapping};
use crate::write::batch::RowWrite;
use crate::write::command::{Answer, Written};

/// The places in the list of those that were answered before.
const ANSWERED: &str = "SELECT g.place FROM unnest($1, $2, $3) WITH ORDINALITY AS g (caller, path, key, place) \
                        JOIN idempotency_keys k ON k.caller = g.caller AND k.path = g.path AND k.key = g.key WHERE k.expires_at > $4";

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
