//! Storing a history in an `SQLite` file.

use std::path::Path;

use application::ChangeKind;
use application::maintenance::CheckedChange;
use async_trait::async_trait;
use rusqlite::{Connection, params};
use tokio::task::spawn_blocking;

use super::CopyError;
use super::import::{STEP, Target, WRITTEN, count_totals, uuid};
use crate::sql::dialect::SQLITE;
use crate::sql::indexed_columns::{self, Keys};
use crate::sql::references;
use crate::sql::statements::{CHANGE_COLUMNS, item_columns};
use crate::sqlite::writes::row_values;
use crate::sqlite::writing_connection;

/// What belongs to an item is deleted with it, but the log may tell of the item first.
const DETACH: &str = "UPDATE items SET parent = NULL WHERE parent = ?1";

const REMOVE: &str = "DELETE FROM items WHERE id = ?1";

/// A transaction on a connection of its own. The connection's end takes back what was not
/// committed.
pub(super) struct SqliteImport {
    connection: Option<Connection>,
}

impl SqliteImport {
    /// Begins with an empty file that this process owns.
    pub fn begin(file: &Path) -> Result<Self, CopyError> {
        let error = CopyError::sqlite(STEP);
        let connection = writing_connection(file).map_err(&error)?;
        // What is sorted to be counted may be as long as the log.
        connection.execute_batch("PRAGMA temp_store = FILE; BEGIN IMMEDIATE").map_err(&error)?;
        if connection
            .prepare(WRITTEN)
            .and_then(|mut statement| statement.exists([]))
            .map_err(&error)?
        {
            return Err(CopyError::NotEmpty);
        }
        Ok(Self { connection: Some(connection) })
    }

    /// Does something on a thread that may block.
    async fn run(
        &mut self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<()> + Send + 'static,
    ) -> Result<(), CopyError> {
        let Some(connection) = self.connection.take() else {
            return Err(CopyError::database(STEP, &"an earlier step failed"));
        };
        let done = spawn_blocking(move || work(&connection).map(|()| connection)).await;
        let done = done.map_err(|error| CopyError::database(STEP, &error))?;
        self.connection = Some(done.map_err(CopyError::sqlite(STEP))?);
        Ok(())
    }
}

#[async_trait]
impl Target for SqliteImport {
    async fn store(&mut self, changes: Vec<CheckedChange>) -> Result<(), CopyError> {
        self.run(move |connection| {
            let texts = Texts::new();
            changes.iter().try_for_each(|change| texts.store(connection, change))
        })
        .await
    }

    async fn commit(mut self: Box<Self>) -> Result<(), CopyError> {
        // As much is sorted in memory at a time as there may be pages.
        let commit = format!("PRAGMA cache_size = -2048; {}; COMMIT", count_totals(&SQLITE));
        self.run(move |connection| connection.execute_batch(&commit)).await
    }
}

/// The texts of the statements.
struct Texts {
    log: String,
    put: String,
}

impl Texts {
    fn new() -> Self {
        let parameter = |_: &str| ", ?".to_owned();
        let updated = |name: &str| format!(", {name} = excluded.{name}");
        Self {
            log: format!(
                "INSERT INTO changes (sequence, {CHANGE_COLUMNS}) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, (SELECT members FROM items WHERE id = ?3))"
            ),
            put: format!(
                "INSERT INTO items ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?{values}) \
                 ON CONFLICT (id) DO UPDATE SET version = excluded.version, created_at = excluded.created_at, \
                 updated_at = excluded.updated_at, members = excluded.members{updated}",
                columns = item_columns(),
                values = references::each(parameter) + &indexed_columns::each(parameter),
                updated = references::each(updated) + &indexed_columns::each(updated),
            ),
        }
    }

    /// Logs a change with what the item was before, then makes the item what it is after.
    fn store(&self, connection: &Connection, change: &CheckedChange) -> rusqlite::Result<()> {
        let CheckedChange { record, created_at } = change;
        let (id, version, time) =
            (record.item.uuid(), record.version.number(), record.time.as_microsecond());
        let (collection, parent, predecessor) =
            (record.collection.name(), uuid(record.parent), uuid(record.continues));
        let logged = params![
            record.sequence.0,
            collection,
            id,
            version,
            record.kind.name(),
            time,
            record.caller,
            parent,
            predecessor
        ];
        connection.prepare_cached(&self.log)?.execute(logged)?;
        let Some(members) =
            record.members.as_deref().filter(|_| record.kind != ChangeKind::Deleted)
        else {
            connection.prepare_cached(DETACH)?.execute([id])?;
            connection.prepare_cached(REMOVE)?.execute([id])?;
            return Ok(());
        };
        let (keys, references, created_at) = (
            Keys::of(record.collection, members),
            references::values(&references::of(record.collection, members)),
            created_at.as_microsecond(),
        );
        let item = params![id, collection, parent, version, created_at, time, predecessor, members];
        let values = row_values(item, &references, keys.columns(), &[]);
        connection.prepare_cached(&self.put)?.execute(values.as_slice())?;
        Ok(())
    }
}
