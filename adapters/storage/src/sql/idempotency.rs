//! Requests that may be repeated, by caller, path and key. Their row is written with the item. It
//! names the version and the shown links; the rest is in the change log.

use std::collections::HashMap;

use application::{Answered, Links, ShownItem};
use domain::ItemId;
use sea_orm::{QueryResult, Statement};

use crate::error::DbResult;
use crate::sql::dialect::Dialect;
use crate::sql::row_mapping::{Columns, FromRow};
use crate::sql::sql_text::json;
use crate::sql::{past, row_mapping};

pub(crate) fn continued_by(links: &Links) -> String {
    links.continued_by.iter().map(ItemId::to_string).collect::<Vec<_>>().join(",")
}

pub(crate) type KeyIdentity = [String; 3];

pub(crate) fn answered_statement(dialect: &Dialect, keys: &[KeyIdentity]) -> Statement {
    dialect.statement(sql_file!(dialect, "write/answered"), [json(keys)])
}

/// A key, and the time in microseconds at which it expires.
impl FromRow for (KeyIdentity, i64) {
    fn from_row(row: &impl Columns) -> DbResult<Self> {
        let key = [row.get("asked_caller")?, row.get("path")?, row.get("key")?];
        Ok((key, row.get("expires_at")?))
    }
}

/// The answers, with the times at which they expire.
pub(crate) fn answered(rows: &[QueryResult]) -> DbResult<HashMap<KeyIdentity, (i64, Answered)>> {
    let answer = |row: &QueryResult| {
        let (key, expires_at) = FromRow::from_row(row)?;
        Ok((key, (expires_at, stored_answer(row)?)))
    };
    rows.iter().map(answer).collect()
}

fn stored_answer(row: &QueryResult) -> DbResult<Answered> {
    let stored = past::version(row)?;
    // The body of an answer is never removed.
    let item = stored.item.filter(|_| stored.change.removed_at.is_none()).ok_or_else(|| {
        row_mapping::not_understood("idempotency_keys", "a removal was kept as an answer")
    })?;
    Ok(Answered {
        fingerprint: row_mapping::get::<String>(row, "fingerprint")?.into(),
        kind: stored.change.kind,
        shown: ShownItem { item, links: row_mapping::relations(row)? },
        remarks: row_mapping::get::<String>(row, "remarks")?.into(),
    })
}
