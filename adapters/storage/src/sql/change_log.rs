//! Reading the change log, as both engines do.

use application::{LogPage, LoggedChange, Sequence};
use domain::{Collection, Version, WriteOperation};
use sea_orm::{DbErr, QueryResult, Statement, Value};

use crate::sql::dialect::Dialect;
use crate::sql::row_mapping;

/// Changes that are looked through at most for those of one collection: an index for it would cost
/// every write.
const LOOKED_THROUGH: i64 = 10_000;

/// `$1` the number to begin after, `$2` how many are looked through, `$3` the collection if it
/// matters, `$4` how many are wanted.
const CHANGES: &str = "WITH looked AS MATERIALIZED (SELECT sequence, collection, item_id, version, kind, time, caller FROM changes \
                       WHERE sequence > $1 ORDER BY sequence LIMIT $2) \
                       SELECT t.read_to, c.* FROM (SELECT MAX(sequence) AS read_to FROM looked) t \
                       LEFT JOIN (SELECT * FROM looked WHERE collection = $3 OR $3 IS NULL ORDER BY sequence LIMIT $4) c ON TRUE \
                       ORDER BY c.sequence";

/// The changes after a number.
pub(crate) fn statement(
    dialect: &Dialect,
    after: Sequence,
    collection: Option<Collection>,
    limit: u64,
) -> Statement {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let looked_through = if collection.is_some() { LOOKED_THROUGH.max(limit) } else { limit };
    let values: [Value; 4] = [
        after.0.into(),
        looked_through.into(),
        collection.map(|name| name.name().to_owned()).into(),
        limit.into(),
    ];
    dialect.statement(CHANGES, values)
}

/// Looks for the last change.
pub(crate) fn last_statement(dialect: &Dialect) -> Statement {
    dialect.statement("SELECT sequence, collection, item_id, version, kind, time, caller FROM changes ORDER BY sequence DESC LIMIT 1", [])
}

/// The page that the statement found.
pub(crate) fn page(rows: &[QueryResult], after: Sequence, limit: u64) -> Result<LogPage, DbErr> {
    let read_to = rows
        .first()
        .map(|row| row_mapping::get::<Option<i64>>(row, "read_to"))
        .transpose()?
        .flatten();
    let mut changes = Vec::with_capacity(rows.len());
    for row in rows {
        if row_mapping::get::<Option<i64>>(row, "sequence")?.is_some() {
            changes.push(change(row)?);
        }
    }
    // A full page may have left changes unread that were looked through.
    let is_full = u64::try_from(changes.len()).is_ok_and(|found| found >= limit);
    let last = changes.last().filter(|_| is_full).map(|change| change.sequence);
    Ok(LogPage { changes, read_to: last.or(read_to.map(Sequence)).unwrap_or(after) })
}

/// The change of a row.
pub(crate) fn change(row: &QueryResult) -> Result<LoggedChange, DbErr> {
    let (collection, kind): (String, String) =
        (row_mapping::get(row, "collection")?, row_mapping::get(row, "kind")?);
    Ok(LoggedChange {
        sequence: Sequence(row_mapping::get(row, "sequence")?),
        collection: Collection::named(&collection)
            .ok_or_else(|| row_mapping::not_understood("collection", collection))?,
        item: row_mapping::item_id(row, "item_id")?,
        version: Version::from_number(row_mapping::get(row, "version")?),
        kind: WriteOperation::of_change(&kind)
            .ok_or_else(|| row_mapping::not_understood("kind", kind))?,
        time: row_mapping::timestamp(row, "time")?,
        caller: row_mapping::get(row, "caller")?,
    })
}
