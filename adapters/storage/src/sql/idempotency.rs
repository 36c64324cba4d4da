//! Requests that may be sent again: what was written for them, by caller, path and key.
//!
//! The row is written in the transaction of the write it belongs to. It names the version that was
//! written and the links it was shown with; what else was shown is in the change log.

use std::collections::HashMap;

use application::{Answered, Links, ShownItem};
use domain::ItemId;
use sea_orm::{DbErr, QueryResult, Statement};

use crate::sql::dialect::Dialect;
use crate::sql::sql_text::SqlText;
use crate::sql::{history, references, row_mapping};

/// Removes some that have expired: `$1` now, `$2` how many at most.
pub(crate) const FORGET: &str = "DELETE FROM idempotency_keys WHERE (caller, path, key) IN \
                                 (SELECT caller, path, key FROM idempotency_keys WHERE expires_at <= $1 LIMIT $2)";

/// The text of links to those that continue an item.
pub(crate) fn continued_by(links: &Links) -> String {
    links.continued_by.iter().map(ItemId::to_string).collect::<Vec<_>>().join(",")
}

/// A caller, a path and a key.
pub(crate) type KeyIdentity = [String; 3];

/// The keys that are asked for, and the versions that were written.
const JOINS: [[&str; 4]; 2] = [
    ["JOIN", "idempotency_keys", "k", "k.caller = a.caller AND k.path = a.path AND k.key = a.key"],
    ["JOIN", "changes", "c", "c.item_id = k.item_id AND c.version = k.version"],
];

/// Looks for what requests were answered before. There are few such statements, because as many
/// requests are looked for as the next power of two, the first of them several times.
pub(crate) fn answered_statement(dialect: &'static Dialect, keys: &[KeyIdentity]) -> Statement {
    let mut text = SqlText::new(dialect);
    let asked = keys.iter().cycle().take(keys.len().next_power_of_two()).map(|key| {
        let values = key.each_ref().map(|value| text.bind(value.as_str()));
        format!("({})", values.join(", "))
    });
    let asked = asked.collect::<Vec<_>>().join(", ");
    let query = format!(
        "WITH asked (caller, path, key) AS (VALUES {asked}) \
         SELECT k.caller AS asked_caller, k.path, k.key, k.expires_at, k.fingerprint, k.continues AS continues_link, k.continued_by, \
         k.remarks{links}, {columns} FROM asked a {keys} {joins}",
        links = references::each(|name| format!(", k.{name}")),
        columns = history::COLUMNS,
        keys = dialect.joins(&JOINS),
        joins = dialect.joins(&history::JOINS),
    );
    text.finish(&query)
}

/// The answers that [`answered_statement`] found, with the times in microseconds at which they
/// expire.
pub(crate) fn answered(
    rows: &[QueryResult],
) -> Result<HashMap<KeyIdentity, (i64, Answered)>, DbErr> {
    let answer = |row: &QueryResult| {
        let key = [
            row_mapping::get(row, "asked_caller")?,
            row_mapping::get(row, "path")?,
            row_mapping::get(row, "key")?,
        ];
        Ok((key, (row_mapping::get(row, "expires_at")?, stored_answer(row)?)))
    };
    rows.iter().map(answer).collect()
}

fn stored_answer(row: &QueryResult) -> Result<Answered, DbErr> {
    let past = history::version(row)?;
    // Nor is the body of an answer removed.
    let item = past.item.filter(|_| past.change.removed_at.is_none()).ok_or_else(|| {
        row_mapping::not_understood("idempotency_keys", "a removal was kept as an answer")
    })?;
    Ok(Answered {
        fingerprint: row_mapping::get::<String>(row, "fingerprint")?.into(),
        kind: past.change.kind,
        shown: ShownItem { item, links: row_mapping::relations(row)? },
        remarks: row_mapping::get::<String>(row, "remarks")?.into(),
    })
}
