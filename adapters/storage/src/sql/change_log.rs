//! Reading the change log, as both engines do.

use application::{ChangeAuthor, LogPage, LoggedChange, Sequence};
use domain::{Collection, ItemId, Version, WriteOperation};
use jiff::Timestamp;
use sea_orm::prelude::Uuid;
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{
    ColumnTrait, DbErr, DerivePartialModel, EntityTrait, FromQueryResult, PartialModelTrait,
    QueryFilter, QueryOrder, QueryResult, QuerySelect, QueryTrait, Select, Statement,
};

use crate::entities::change;
use crate::sql::dialect::Dialect;
use crate::sql::row_mapping;
use crate::sql::sql_text::literal;

/// `$1` is the number to begin after, `$2` the limit, `$3` the high-water mark. Beyond the mark, the
/// result ends before the first `hole`: the first change after a missing number.
const CHANGES: &str = "WITH looked AS MATERIALIZED (SELECT *, sequence > $3 AND \
                       sequence - CASE WHEN previous > $3 THEN previous ELSE CAST($3 AS BIGINT) END > 1 AS is_after_hole \
                       FROM (SELECT *, COALESCE(LAG(sequence) OVER (ORDER BY sequence), $1) AS previous \
                       FROM (SELECT sequence, collection, item_id, version, kind, time, caller, acting, client, request_id, removed_at FROM changes \
                       WHERE sequence > $1 ORDER BY sequence LIMIT $2) f) l), \
                       t AS (SELECT MIN(CASE WHEN is_after_hole THEN sequence END) AS hole FROM looked), \
                       whole AS (SELECT l.* FROM looked l, t WHERE t.hole IS NULL OR l.sequence < t.hole) \
                       SELECT t.hole, (SELECT MAX(sequence) FROM whole) AS read_to, c.* FROM t \
                       LEFT JOIN whole c ON TRUE \
                       ORDER BY c.sequence";

/// The columns of a change that followers receive.
#[derive(DerivePartialModel)]
#[sea_orm(entity = "change::Entity")]
pub(crate) struct LoggedRow {
    sequence: i64,
    collection: String,
    item_id: Uuid,
    version: i64,
    kind: String,
    time: i64,
    caller: Option<String>,
    acting: Option<String>,
    client: Option<String>,
    request_id: Option<String>,
    removed_at: Option<i64>,
}

/// How the change `c` adds to the number of items: an item comes with one that is `created`, after its
/// removal too, and goes with one that is `deleted`.
pub(crate) fn added() -> String {
    let [created, deleted] = kinds_of_number();
    format!("CASE c.kind WHEN {created} THEN 1 WHEN {deleted} THEN -1 ELSE 0 END")
}

/// The condition that the change `c` adds to the number of items.
pub(crate) fn is_of_number() -> String {
    format!("c.kind IN ({})", kinds_of_number().join(", "))
}

fn kinds_of_number() -> [String; 2] {
    [WriteOperation::Create, WriteOperation::Delete]
        .map(|operation| literal(operation.change_name()))
}

/// The number of the last change as `last`, if there is one.
fn last() -> Select<change::Entity> {
    change::Entity::find().select_only().column_as(change::Column::Sequence.max(), "last")
}

/// Looks for the number of the last change.
pub(crate) fn last_statement(dialect: &Dialect) -> Statement {
    last().build(dialect.backend)
}

/// The number that [`last_statement`] found; 0 before the first change.
pub(crate) fn last_of(row: Option<QueryResult>) -> Result<i64, DbErr> {
    let last = row.map(|row| row_mapping::get::<Option<i64>>(&row, "last")).transpose()?;
    Ok(last.flatten().unwrap_or_default())
}

/// The changes after a number.
pub(crate) fn statement(dialect: &Dialect, after: Sequence, limit: u64, mark: i64) -> Statement {
    dialect.statement(CHANGES, [after.0.into(), clamped(limit).into(), mark.into()])
}

/// The changes of a collection. It is a literal, so that the planner knows how common it is:
/// otherwise `PostgreSQL` looked through all changes for those of a rare one.
fn of(collection: Collection) -> Select<change::Entity> {
    let name = Expr::cust(literal(collection.name()));
    change::Entity::find().select_only().filter(Expr::col(change::Column::Collection).eq(name))
}

/// The last changes of a collection, the newest first.
pub(crate) fn latest_statement(dialect: &Dialect, collection: Collection, limit: u64) -> Statement {
    let latest = of(collection).order_by_desc(change::Column::Sequence).limit(limit);
    LoggedRow::select_cols(latest).build(dialect.backend)
}

/// The changes of a collection after a number, up to another that no change is committed below any
/// more.
pub(crate) fn of_collection(
    dialect: &Dialect,
    collection: Collection,
    after: Sequence,
    up_to: Sequence,
    limit: u64,
) -> Statement {
    let changes = of(collection)
        .filter(change::Column::Sequence.gt(after.0))
        .filter(change::Column::Sequence.lte(up_to.0))
        .order_by_asc(change::Column::Sequence)
        .limit(limit);
    LoggedRow::select_cols(changes).build(dialect.backend)
}

/// The page that [`of_collection`] found.
pub(crate) fn page_of_collection(
    rows: &[QueryResult],
    up_to: Sequence,
    limit: u64,
) -> Result<LogPage, DbErr> {
    let changes = changes(rows)?;
    let read_to = last_of_full(&changes, limit).unwrap_or(up_to);
    Ok(LogPage { changes, read_to })
}

/// The last change of a full page, which may have left changes unread.
fn last_of_full(changes: &[LoggedChange], limit: u64) -> Option<Sequence> {
    let is_full = u64::try_from(changes.len()).is_ok_and(|found| found >= limit);
    changes.last().filter(|_| is_full).map(|change| change.sequence)
}

fn clamped(limit: u64) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// Looks at the end of the log: the last change above a mark, and how many there are.
pub(crate) fn end_statement(dialect: &Dialect, mark: i64) -> Statement {
    let above = change::Column::Sequence.gt(mark);
    last().column_as(change::Column::Sequence.count(), "above").filter(above).build(dialect.backend)
}

/// The last change above a mark, or the mark; `None` where a number above the mark is missing.
pub(crate) fn end(rows: &[QueryResult], mark: i64) -> Result<Option<i64>, DbErr> {
    let row = rows.first().ok_or_else(|| DbErr::RecordNotFound("the end of the log".to_owned()))?;
    let last = row_mapping::get::<Option<i64>>(row, "last")?.unwrap_or(mark);
    Ok((row_mapping::get::<i64>(row, "above")? == last - mark).then_some(last))
}

/// The latest `time` of a change. It is that of the last one only on `SQLite`, and not of one that
/// was imported; the index has the times by collection.
pub(crate) fn latest_time() -> String {
    let names = Collection::all().map(|collection| format!("({})", literal(collection.name())));
    format!(
        "WITH collections (name) AS (VALUES {names}) SELECT MAX(latest) AS time FROM \
         (SELECT (SELECT MAX(c.time) FROM changes c WHERE c.collection = k.name) AS latest FROM collections k) AS times",
        names = names.collect::<Vec<_>>().join(", ")
    )
}

/// The time that [`latest_time`] found.
pub(crate) fn time(rows: &[QueryResult]) -> Result<Option<Timestamp>, DbErr> {
    let has_time =
        |row: &&QueryResult| row_mapping::get::<Option<i64>>(row, "time").ok().flatten().is_some();
    rows.first().filter(has_time).map(|row| row_mapping::timestamp(row, "time")).transpose()
}

/// The page that the statement found; `None` where it begins with a hole.
pub(crate) fn page(
    rows: &[QueryResult],
    after: Sequence,
    limit: u64,
) -> Result<Option<LogPage>, DbErr> {
    let first =
        rows.first().ok_or_else(|| DbErr::RecordNotFound("a page of the log".to_owned()))?;
    let get = |column| row_mapping::get::<Option<i64>>(first, column);
    let (hole, read_to) = (get("hole")?, get("read_to")?);
    if hole.is_some() && read_to.is_none() {
        return Ok(None);
    }
    let mut changes = Vec::with_capacity(rows.len());
    for row in rows {
        if row_mapping::get::<Option<i64>>(row, "sequence")?.is_some() {
            changes.push(change(row)?);
        }
    }
    let last = last_of_full(&changes, limit).or(read_to.map(Sequence));
    Ok(Some(LogPage { changes, read_to: last.unwrap_or(after) }))
}

/// The changes of rows.
pub(crate) fn changes(rows: &[QueryResult]) -> Result<Vec<LoggedChange>, DbErr> {
    rows.iter().map(change).collect()
}

/// The change of a row.
pub(crate) fn change(row: &QueryResult) -> Result<LoggedChange, DbErr> {
    LoggedRow::from_query_result(row, "")?.try_into()
}

impl TryFrom<LoggedRow> for LoggedChange {
    type Error = DbErr;

    fn try_from(row: LoggedRow) -> Result<Self, DbErr> {
        Ok(Self {
            sequence: Sequence(row.sequence),
            collection: Collection::named(&row.collection)
                .ok_or_else(|| row_mapping::not_understood("collection", row.collection))?,
            item: ItemId::from_uuid(row.item_id),
            version: Version::from_number(row.version),
            kind: WriteOperation::of_change(&row.kind)
                .ok_or_else(|| row_mapping::not_understood("kind", row.kind))?,
            time: Timestamp::from_microsecond(row.time)
                .map_err(|error| row_mapping::not_understood("time", error))?,
            author: ChangeAuthor {
                caller: row.caller,
                acting: row.acting,
                client: row.client,
                request_id: row.request_id,
            },
            removed_at: row
                .removed_at
                .map(Timestamp::from_microsecond)
                .transpose()
                .map_err(|error| row_mapping::not_understood("removed_at", error))?,
        })
    }
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
        let latest = latest_statement(&SQLITE, files, 25).sql;
        for (statement, expected) in
            [(between, "(collection=? AND rowid>? AND rowid<?)"), (latest, "(collection=?)")]
        {
            let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
            let count = plan.parameter_count();
            let parameters = rusqlite::params_from_iter((0..count).map(|_| 1_i64));
            let steps = plan.query_map(parameters, |row| row.get::<_, String>("detail")).unwrap();
            let steps: Vec<_> = steps.map(Result::unwrap).collect();
            let [step] = steps.as_slice() else { panic!("{steps:?}") };
            assert!(step.contains(&format!("changes_by_collection {expected}")), "{step}");
        }
    }
}
