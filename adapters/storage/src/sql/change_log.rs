//! Reads of the change log.

use application::{ChangeAuthor, LogPage, LoggedChange, Sequence};
use domain::{Collection, Version, WriteOperation};
use jiff::Timestamp;
use sea_orm::{ConnectionTrait, DbBackend, QueryResult, Statement};

use crate::error::DbResult;
use crate::sql::dialect::Dialect;
use crate::sql::row_mapping::{self, get};
use crate::sql::sql_text::literal;

/// The items that the change `c` adds.
pub(crate) const ADDED: &str =
    "CASE c.kind WHEN 'created' THEN 1 WHEN 'deleted' THEN -1 ELSE 0 END";

pub(crate) fn last_statement(dialect: &Dialect) -> Statement {
    dialect.statement(sql_file!("both/read/changes_last"), [])
}

pub(crate) fn last_of(row: Option<&QueryResult>) -> DbResult<i64> {
    let last = row.map(|row| get::<Option<i64>>(row, "last")).transpose()?;
    Ok(last.flatten().unwrap_or_default())
}

/// The number of the last change; 0 before the first.
pub(crate) async fn last(connection: &impl ConnectionTrait) -> DbResult<Sequence> {
    let dialect = Dialect::of(connection.get_database_backend());
    let row = connection.query_one_raw(last_statement(dialect)).await?;
    last_of(row.as_ref()).map(Sequence)
}

/// The columns of the changes `c`, with a condition and an order.
pub(crate) fn select(rest: &str) -> String {
    select_with("", rest)
}

/// As [`select`], with more columns, each after a comma.
pub(crate) fn select_with(columns: &str, rest: &str) -> String {
    format!(
        "SELECT sequence, collection, item_id, version, kind, time, caller, acting, client, request_id, removed_at{columns} \
         FROM changes c WHERE {rest}"
    )
}

/// A literal: with a parameter, PostgreSQL looks through all changes for a rare collection.
fn of(collection: Collection) -> String {
    select(&format!("collection = {}", literal(collection.name())))
}

pub(crate) fn statement(dialect: &Dialect, after: Sequence, limit: u64) -> Statement {
    let text = select("sequence > $1 ORDER BY sequence LIMIT $2");
    dialect.statement(&text, [after.0.into(), clamped(limit).into()])
}

/// The changes up to the first hole after the mark; `None` if they begin with one.
pub(crate) fn page(rows: &[QueryResult], after: Sequence, mark: i64) -> DbResult<Option<LogPage>> {
    let mut changes = changes(rows)?;
    let mut complete_to = mark;
    let is_next = |change: &&LoggedChange| {
        let Sequence(number) = change.sequence;
        let is_next = number <= complete_to + 1;
        complete_to = complete_to.max(number);
        is_next
    };
    let complete = changes.iter().take_while(is_next).count();
    if complete == 0 && !changes.is_empty() {
        return Ok(None);
    }
    changes.truncate(complete);
    let read_to = changes.last().map_or(after, |change| change.sequence);
    Ok(Some(LogPage { changes, read_to }))
}

/// The last changes of a collection before a number, or its deletions, the newest first. To
/// `PostgreSQL` both columns of the index are part of the order. Otherwise it may walk the whole log
/// back to the last change of a collection that is seldom written.
pub(crate) fn latest_statement(
    dialect: &Dialect,
    (collection, only_deletions): (Collection, bool),
    before: Sequence,
    limit: u64,
) -> Statement {
    let kind = if only_deletions { " AND kind = 'deleted'" } else { "" };
    let text = if dialect.backend == DbBackend::Sqlite {
        of(collection) + kind + " AND sequence < $1 ORDER BY sequence DESC LIMIT $2"
    } else {
        let name = literal(collection.name());
        select(&format!(
            "collection >= {name} AND (collection, sequence) < ({name}, $1){kind} \
             ORDER BY collection DESC, sequence DESC LIMIT $2"
        ))
    };
    dialect.statement(&text, [before.0.into(), clamped(limit).into()])
}

/// The changes of a collection after a number, up to one before which the log is complete.
pub(crate) fn of_collection(
    dialect: &Dialect,
    collection: Collection,
    after: Sequence,
    up_to: Sequence,
    limit: u64,
) -> Statement {
    let text = of(collection) + " AND sequence > $1 AND sequence <= $2 ORDER BY sequence LIMIT $3";
    dialect.statement(&text, [after.0.into(), up_to.0.into(), clamped(limit).into()])
}

pub(crate) fn clamped(limit: u64) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

pub(crate) fn latest_time(dialect: &Dialect) -> Statement {
    dialect.statement(sql_file!("both/read/changes_latest_time"), [])
}

pub(crate) fn time(rows: &[QueryResult]) -> DbResult<Option<Timestamp>> {
    rows.first().map_or(Ok(None), |row| row_mapping::optional_timestamp(row, "time"))
}

pub(crate) fn changes(rows: &[QueryResult]) -> DbResult<Vec<LoggedChange>> {
    rows.iter().map(change).collect()
}

pub(crate) fn change(row: &QueryResult) -> DbResult<LoggedChange> {
    let kind: String = get(row, "kind")?;
    Ok(LoggedChange {
        sequence: Sequence(get(row, "sequence")?),
        collection: row_mapping::collection(row)?,
        item: row_mapping::item_id(row, "item_id")?,
        version: Version::from_number(get(row, "version")?),
        kind: WriteOperation::of_change(&kind)
            .ok_or_else(|| row_mapping::not_understood("kind", kind))?,
        time: row_mapping::timestamp(row, "time")?,
        author: ChangeAuthor {
            caller: get(row, "caller")?,
            acting: get(row, "acting")?,
            client: get(row, "client")?,
            request_id: get(row, "request_id")?,
        },
        removed_at: row_mapping::optional_timestamp(row, "removed_at")?,
    })
}

#[cfg(test)]
mod tests {
    use application::Sequence;
    use domain::Collection;
    use rusqlite::Connection;

    use super::{latest_statement, of_collection};
    use crate::migration::schema;
    use crate::sql::dialect::SQLITE;

    #[test]
    fn the_changes_of_a_collection_are_found_by_the_index_in_their_order() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(schema(&SQLITE)).unwrap();
        let files = Collection::known("files");
        let between = of_collection(&SQLITE, files, Sequence(5), Sequence(9), 25).sql;
        let [latest, deletions] =
            [false, true].map(|only| latest_statement(&SQLITE, (files, only), Sequence(9), 25).sql);
        for (statement, expected) in [
            (between, "changes_by_collection (collection=? AND rowid>? AND rowid<?)"),
            (latest, "changes_by_collection (collection=? AND rowid<?)"),
            (deletions, "changes_of_deletions (collection=? AND kind=? AND rowid<?)"),
        ] {
            let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
            let count = plan.parameter_count();
            let parameters = rusqlite::params_from_iter((0..count).map(|_| 1_i64));
            let steps = plan.query_map(parameters, |row| row.get::<_, String>("detail")).unwrap();
            let steps: Vec<_> = steps.map(Result::unwrap).collect();
            let [step] = steps.as_slice() else { panic!("{steps:?}") };
            assert!(step.contains(expected), "{step}");
        }
    }
}
