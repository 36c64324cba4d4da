//! Storing a history in a `PostgreSQL` database, many changes in a statement.
//!
//! Values come as arrays, one per column, of texts with a mark before each, so that an empty text
//! is told from none.

use std::collections::{HashMap, HashSet};

use application::ChangeKind;
use application::maintenance::{ChangeRecord, CheckedChange};
use async_trait::async_trait;
use domain::ItemId;
use jiff::Timestamp;
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbErr, TransactionTrait, Value,
};

use super::CopyError;
use super::import::{STEP, Target, WRITTEN, count_totals};
use crate::postgres::batch::texts;
use crate::postgres::writes::commit_lock;
use crate::sql::dialect::POSTGRES;
use crate::sql::indexed_columns::{self, Keys};
use crate::sql::references;
use crate::sql::statements::{CHANGE_COLUMNS, item_columns};

/// Items are looked for by their identifiers only, however small the tables are when a plan is
/// made. Until the totals are counted.
const SETTINGS: [&str; 3] = ["enable_seqscan", "enable_hashjoin", "enable_mergejoin"];

/// Numbers and times go on after those that were stored.
const ADVANCE: &str = "SELECT setval(pg_get_serial_sequence('changes', 'sequence'), MAX(sequence)), \
                       setval('write_clock', greatest((SELECT last_value FROM write_clock), MAX(time))) FROM changes HAVING COUNT(*) > 0";

/// What the planner knows of the tables is from when they were empty: it would count for a long
/// time, and the service's first reads would be slow.
const ANALYZE: &str = "ANALYZE items, changes";

/// `$1` the items that are gone. What belongs to an item is deleted with it, but the log may tell
/// of the item first.
const DETACH: &str = "UPDATE items SET parent = NULL WHERE parent = ANY ($1::uuid[])";

/// `$1` the items that are gone.
const REMOVE: &str = "DELETE FROM items WHERE id = ANY ($1::uuid[])";

/// A transaction that holds the commit lock.
pub(super) struct PostgresImport {
    transaction: DatabaseTransaction,
    log: String,
    put: String,
}

impl PostgresImport {
    /// Begins with an empty database. Every other writer waits for the commit lock from now on.
    pub async fn begin(database: &DatabaseConnection) -> Result<Self, CopyError> {
        let transaction = database.begin().await.map_err(CopyError::sea(STEP))?;
        let import = Self { transaction, log: log(), put: put() };
        import
            .run(&format!("WITH {} SELECT time FROM clock", commit_lock("$1")), vec![0_i64.into()])
            .await?;
        if import.run(WRITTEN, Vec::new()).await? > 0 {
            return Err(CopyError::NotEmpty);
        }
        import.set("off").await?;
        Ok(import)
    }

    async fn set(&self, value: &str) -> Result<(), CopyError> {
        for name in SETTINGS {
            let set =
                self.transaction.execute_unprepared(&format!("SET LOCAL {name} = {value}")).await;
            set.map_err(CopyError::sea(STEP))?;
        }
        Ok(())
    }

    /// Runs a statement; how many rows it answers with.
    async fn run(&self, text: &str, values: Vec<Value>) -> Result<usize, CopyError> {
        let rows: Result<Vec<_>, DbErr> =
            self.transaction.query_all_raw(POSTGRES.statement(text, values)).await;
        rows.map(|rows| rows.len()).map_err(CopyError::sea(STEP))
    }
}

#[async_trait]
impl Target for PostgresImport {
    async fn store(&mut self, changes: Vec<CheckedChange>) -> Result<(), CopyError> {
        self.run(&self.log, logged(&changes)).await?;
        let NetEffect { items, gone } = NetEffect::by(&changes);
        if !items.is_empty() {
            self.run(&self.put, put_values(&items, &gone)).await?;
        }
        if !gone.is_empty() {
            let ids = texts(gone.iter().map(ToString::to_string));
            self.run(DETACH, vec![ids.clone()]).await?;
            self.run(REMOVE, vec![ids]).await?;
        }
        Ok(())
    }

    async fn commit(self: Box<Self>) -> Result<(), CopyError> {
        self.set("DEFAULT").await?;
        self.transaction.execute_unprepared(ANALYZE).await.map_err(CopyError::sea(STEP))?;
        self.run(&count_totals(&POSTGRES), Vec::new()).await?;
        self.run(ADVANCE, Vec::new()).await?;
        self.transaction.commit().await.map_err(CopyError::sea(STEP))
    }
}

/// A change, and what the item was before if another change among the same says so.
type Logged<'a> = (&'a ChangeRecord, Option<&'a str>);

/// An item that is left, when it was created, its members and its keys.
type ItemRow<'a> = (&'a ChangeRecord, Timestamp, &'a str, Keys);

/// What some changes leave: the items that were written last as they are then, and those that are
/// gone.
struct NetEffect<'a> {
    items: Vec<&'a CheckedChange>,
    gone: HashSet<ItemId>,
}

impl<'a> NetEffect<'a> {
    fn by(changes: &'a [CheckedChange]) -> Self {
        let last: HashMap<ItemId, &CheckedChange> =
            changes.iter().map(|change| (change.record.item, change)).collect();
        let (gone, items): (Vec<_>, Vec<_>) =
            last.into_values().partition(|change| change.record.kind == ChangeKind::Deleted);
        Self { items, gone: gone.into_iter().map(|change| change.record.item).collect() }
    }
}

/// A string behind a mark, or none.
fn marked(text: Option<&str>) -> String {
    text.map_or_else(String::new, |text| format!("={text}"))
}

fn marked_id(id: Option<ItemId>) -> String {
    marked(id.map(|id| id.to_string()).as_deref())
}

/// One array per column, by what a column holds of a change.
fn columns<T>(rows: &[T], columns: &[&dyn Fn(&T) -> String]) -> Vec<Value> {
    columns.iter().map(|column| texts(rows.iter().map(column))).collect()
}

/// The columns of [`CHANGE_COLUMNS`] after the number. What an item was before a change is told by
/// another one among them, if the item was written twice; the statement looks up the others.
fn logged(changes: &[CheckedChange]) -> Vec<Value> {
    let mut before = HashMap::with_capacity(changes.len());
    let with_superseded: Vec<_> = changes
        .iter()
        .map(|change| {
            (
                &change.record,
                before
                    .insert(change.record.item, &change.record)
                    .and_then(|r| r.members.as_deref()),
            )
        })
        .collect();
    columns(
        &with_superseded,
        &[
            &|(record, _): &Logged<'_>| record.sequence.0.to_string(),
            &|(record, _)| record.collection.name().to_owned(),
            &|(record, _)| record.item.to_string(),
            &|(record, _)| record.version.number().to_string(),
            &|(record, _)| record.kind.name().to_owned(),
            &|(record, _)| record.time.as_microsecond().to_string(),
            &|(record, _)| marked(record.caller.as_deref()),
            &|(record, _)| marked_id(record.parent),
            &|(record, _)| marked_id(record.continues),
            &|(_, superseded)| marked(*superseded),
        ],
    )
}

fn log() -> String {
    format!(
        "INSERT INTO changes (sequence, {CHANGE_COLUMNS}) \
         SELECT g.sequence::bigint, g.collection, g.id::uuid, g.version::bigint, g.kind, g.time::bigint, {caller}, {parent}::uuid, \
         {predecessor}::uuid, COALESCE({superseded}::json, i.members) \
         FROM unnest({arrays}) WITH ORDINALITY AS g (sequence, collection, id, version, kind, time, caller, parent, predecessor, superseded, number) \
         LEFT JOIN items i ON i.id = g.id::uuid AND i.version = g.version::bigint - 1 ORDER BY g.number",
        caller = unmarked("caller"),
        parent = unmarked("parent"),
        predecessor = unmarked("predecessor"),
        superseded = unmarked("superseded"),
        arrays = arrays(10),
    )
}

/// The columns of [`item_columns`]. What belongs to an item that is gone is about to
/// go.
fn put_values(items: &[&CheckedChange], gone: &HashSet<ItemId>) -> Vec<Value> {
    let rows: Vec<_> = items
        .iter()
        .map(|change| {
            let members = change.record.members.as_deref().unwrap_or_default();
            (
                &change.record,
                change.created_at,
                members,
                Keys::of(change.record.collection, members),
            )
        })
        .collect();
    let mut values = columns(
        &rows,
        &[
            &|(record, ..): &ItemRow<'_>| record.item.to_string(),
            &|(record, ..)| record.collection.name().to_owned(),
            &|(record, ..)| marked_id(record.parent.filter(|parent| !gone.contains(parent))),
            &|(record, ..)| record.version.number().to_string(),
            &|(_, created_at, ..)| created_at.as_microsecond().to_string(),
            &|(record, ..)| record.time.as_microsecond().to_string(),
            &|(record, ..)| marked_id(record.continues),
            &|(_, _, members, _)| (*members).to_owned(),
        ],
    );
    let references: Vec<_> = rows
        .iter()
        .map(|(record, _, members, _)| references::of(record.collection, members))
        .collect();
    values.extend((0..references::COLUMNS.len()).map(|index| {
        texts(references.iter().map(|ids| marked_id(ids.get(index).copied().flatten())))
    }));
    values
        .extend((0..indexed_columns::COLUMNS.len()).map(|key| {
            texts(rows.iter().map(|(.., keys)| marked(keys.columns()[key].as_deref())))
        }));
    values
}

fn put() -> String {
    let updated = |name: &str| format!(", {name} = excluded.{name}");
    format!(
        "INSERT INTO items ({columns}) \
         SELECT g.id::uuid, g.collection, {parent}::uuid, g.version::bigint, g.created_at::bigint, g.updated_at::bigint, \
         {predecessor}::uuid, g.members::json{references}{keys} \
         FROM unnest({arrays}) AS g ({columns}) \
         ON CONFLICT (id) DO UPDATE SET parent = excluded.parent, version = excluded.version, created_at = excluded.created_at, \
         updated_at = excluded.updated_at, predecessor = excluded.predecessor, \
         members = excluded.members{updated}",
        columns = item_columns(),
        parent = unmarked("parent"),
        predecessor = unmarked("predecessor"),
        references = references::each(|name| format!(", {}::uuid", unmarked(name))),
        keys = indexed_columns::each(|name| format!(", {}", unmarked(name))),
        arrays = arrays(8 + references::COLUMNS.len() + indexed_columns::COLUMNS.len()),
        updated = references::each(updated) + &indexed_columns::each(updated),
    )
}

fn unmarked(column: &str) -> String {
    format!("(CASE WHEN g.{column} <> '' THEN substr(g.{column}, 2) END)")
}

fn arrays(count: usize) -> String {
    (1..=count).map(|number| format!("${number}")).collect::<Vec<_>>().join(", ")
}
