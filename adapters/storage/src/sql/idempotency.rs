//! Requests that may be sent again: what was written for them, by caller, path and key.
//!
//! The row is written in the transaction of the write it belongs to. It names the version that was
//! written and the links it was shown with; what else was shown is in the change log.

use application::{Answered, Links, ShownItem, WriteMetadata};
use domain::ItemId;
use sea_orm::{DbErr, QueryResult, Statement, Value};

use crate::sql::dialect::Dialect;
use crate::sql::{history, references, row_mapping};

/// In the order every engine fills them.
pub(crate) fn columns() -> String {
    format!(
        "caller, path, key, fingerprint, expires_at, item_id, version, continues, continued_by, remarks{}",
        references::columns()
    )
}

/// Removes some that have expired: `$1` now, `$2` how many at most.
pub(crate) const FORGET: &str = "DELETE FROM idempotency_keys WHERE (caller, path, key) IN \
                                 (SELECT caller, path, key FROM idempotency_keys WHERE expires_at <= $1 LIMIT $2)";

/// The text of links to those that continue an item.
pub(crate) fn continued_by(links: &Links) -> String {
    links.continued_by.iter().map(ItemId::to_string).collect::<Vec<_>>().join(",")
}

/// Looks for what the request of a write was answered before.
pub(crate) fn answered_statement(dialect: &Dialect, metadata: &WriteMetadata) -> Option<Statement> {
    let [caller, path, key] = metadata.key_identity()?;
    let text = format!(
        "SELECT k.fingerprint, k.continues AS continues_link, k.continued_by, k.remarks{links}, {columns} FROM idempotency_keys k \
         JOIN changes c ON c.item_id = k.item_id AND c.version = k.version {joins} \
         WHERE k.caller = $1 AND k.path = $2 AND k.key = $3 AND k.expires_at > $4",
        links = references::each(|name| format!(", k.{name}")),
        columns = history::COLUMNS,
        joins = history::JOINS,
    );
    let values: [Value; 4] =
        [caller.into(), path.into(), key.into(), metadata.time.as_microsecond().into()];
    Some(dialect.statement(&text, values))
}

/// The answer that [`answered_statement`] found.
pub(crate) fn answered(rows: &[QueryResult]) -> Result<Option<Answered>, DbErr> {
    let Some(row) = rows.first() else { return Ok(None) };
    let past = history::version(row)?;
    let item = past.item.ok_or_else(|| {
        row_mapping::not_understood("idempotency_keys", "a removal was kept as an answer")
    })?;
    Ok(Some(Answered {
        fingerprint: row_mapping::get::<String>(row, "fingerprint")?.into(),
        kind: past.change.kind,
        shown: ShownItem { item, links: row_mapping::relations(row)? },
        remarks: row_mapping::get::<String>(row, "remarks")?.into(),
    }))
}
