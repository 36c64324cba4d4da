//! Reading the whole change log, each change with the members that it left, while others go on
//! writing.
//!
//! The log keeps with each change what it superseded, so the members that a change left are those
//! that the next change of the item superseded or, when there is none, those the item has. Both are
//! looked up in one statement, and so as of one moment: at any moment exactly one of the two holds.
//! Whatever is written later changes where the members stand, and not what they are, because the
//! log is only ever appended to. So pages of the log, each read at a moment of its own, are one
//! consistent whole up to the change that was the last when reading began: numbers of the log grow
//! in the order of the commits, and none comes later that is smaller.

use application::Sequence;
use application::maintenance::ChangeRecord;
use futures_util::TryStreamExt;
use rusqlite::Connection;
use sea_orm::{ConnectionTrait, DatabaseConnection, QueryResult, StreamTrait};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::spawn_blocking;

use super::record::Row;
use super::{CopyError, looking_at};
use crate::postgres::single_connection;
use crate::sql::dialect::{POSTGRES, SQLITE};
use crate::sql::row_mapping;
use crate::sqlite::named_file;
use crate::{StoreError, StoreOptions};

/// Changes that a statement reads at most: a statement keeps `SQLite` from copying its write-ahead
/// log, and `PostgreSQL` from clearing away what is dead.
const PAGE: i64 = 1_000;

/// Bytes of members that are handed on together. Three times as much is in memory: read, waiting,
/// and in use.
const BATCH_BYTES: usize = 1 << 20;

const LAST: &str = "SELECT COALESCE(MAX(sequence), 0) AS last FROM changes";

/// `$1` the number to begin after, `$2` the last one, `$3` how many.
const CHANGES: &str = "SELECT c.sequence, c.collection, c.item_id, c.version, c.kind, c.time, c.caller, c.parent, c.predecessor, \
                       CAST(COALESCE(n.superseded, i.members) AS TEXT) AS members \
                       FROM (SELECT sequence, collection, item_id, version, kind, time, caller, parent, predecessor FROM changes \
                       WHERE sequence > $1 AND sequence <= $2 ORDER BY sequence LIMIT $3) c \
                       LEFT JOIN changes n ON n.item_id = c.item_id AND n.version = c.version + 1 \
                       LEFT JOIN items i ON i.id = c.item_id AND i.version = c.version ORDER BY c.sequence";

const STEP: &str = "read the change log";

/// Some changes in a row.
type Batch = Result<Vec<ChangeRecord>, CopyError>;

/// Reads the change log from its beginning to the change that was the last when it was opened.
pub(super) struct LogReader {
    batches: Receiver<Batch>,
    last: Sequence,
}

impl LogReader {
    /// Opens the log of a store, which another process may be serving. Nothing is written: not even
    /// a schema is prepared.
    ///
    /// # Errors
    /// Where the store is not there or cannot be opened.
    pub async fn open(options: &StoreOptions) -> Result<Self, CopyError> {
        // One batch waits while another is read and a third is in use.
        let (sender, batches) = channel(1);
        let last = match options.url.split_once(':') {
            Some(("sqlite", _)) => read_sqlite(&options.url, sender)?,
            Some(("postgres" | "postgresql", _)) => read_postgres(options, sender).await?,
            _ => return Err(StoreError::UnknownScheme.into()),
        };
        Ok(Self { batches, last: Sequence(last) })
    }

    /// The number of the last change that is read.
    #[must_use]
    pub const fn last(&self) -> Sequence {
        self.last
    }

    /// The next changes, on a thread that may wait for them; none at the end.
    ///
    /// # Errors
    /// When the database fails, or its log is not whole.
    pub fn next_blocking(&mut self) -> Option<Batch> {
        self.batches.blocking_recv()
    }
}

fn read_sqlite(url: &str, sender: Sender<Batch>) -> Result<i64, CopyError> {
    let connection = looking_at(&named_file(url)?)?;
    if !connection
        .prepare(SQLITE.has_log)
        .and_then(|mut statement| statement.exists([]))
        .map_err(CopyError::sqlite(STEP))?
    {
        return Err(CopyError::NoStore);
    }
    let last = connection.query_row(LAST, [], |row| row.get(0)).map_err(CopyError::sqlite(STEP))?;
    spawn_blocking(move || {
        let mut after = 0;
        while let Some(batch) = sqlite_batch(&connection, after, last).transpose() {
            after = batch
                .as_ref()
                .ok()
                .and_then(|batch| batch.last())
                .map_or(last, |change| change.sequence.0);
            if sender.blocking_send(batch).is_err() {
                // Nobody wants more.
                return;
            }
        }
    });
    Ok(last)
}

/// The next changes of a file. The statement is over when they are handed on, however long that
/// takes.
fn sqlite_batch(
    connection: &Connection,
    after: i64,
    last: i64,
) -> Result<Option<Vec<ChangeRecord>>, CopyError> {
    let error = CopyError::sqlite(STEP);
    let mut statement = connection.prepare_cached(CHANGES).map_err(&error)?;
    let mut rows = statement.query([after, last, PAGE]).map_err(&error)?;
    let mut batch = Growing::default();
    while let Some(row) = rows.next().map_err(&error)? {
        if batch.push(sqlite_row(row).map_err(&error)?.into_record()?) {
            break;
        }
    }
    Ok(batch.take())
}

fn sqlite_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    Ok(Row {
        sequence: row.get("sequence")?,
        collection: row.get("collection")?,
        item: row.get("item_id")?,
        version: row.get("version")?,
        kind: row.get("kind")?,
        time: row.get("time")?,
        caller: row.get("caller")?,
        parent: row.get("parent")?,
        predecessor: row.get("predecessor")?,
        members: row.get("members")?,
    })
}

async fn read_postgres(options: &StoreOptions, sender: Sender<Batch>) -> Result<i64, CopyError> {
    let connection = single_connection(options).await?;
    let found = connection
        .query_all_raw(POSTGRES.statement(POSTGRES.has_log, []))
        .await
        .map_err(CopyError::sea(STEP))?;
    if found.is_empty() {
        return Err(CopyError::NoStore);
    }
    let found = connection
        .query_all_raw(POSTGRES.statement(LAST, []))
        .await
        .map_err(CopyError::sea(STEP))?;
    let last = found
        .first()
        .map(|row| row_mapping::get(row, "last"))
        .transpose()
        .map_err(CopyError::sea(STEP))?
        .unwrap_or(0);
    tokio::spawn(async move {
        let mut after = 0;
        while after < last {
            match postgres_page(&connection, after, last, &sender).await {
                Ok(Some(read)) => after = read,
                Ok(None) => return,
                Err(error) => {
                    // Whoever wants no more need not know.
                    let _ = sender.send(Err(error)).await;
                    return;
                }
            }
        }
    });
    Ok(last)
}

/// Hands on the next changes as they come; the number of the last one, or `None` when nobody wants
/// more. The server waits with the rest of the page while a batch is in use.
async fn postgres_page(
    connection: &DatabaseConnection,
    after: i64,
    last: i64,
    sender: &Sender<Batch>,
) -> Result<Option<i64>, CopyError> {
    let statement = POSTGRES.statement(CHANGES, [after.into(), last.into(), PAGE.into()]);
    let mut rows = connection.stream_raw(statement).await.map_err(CopyError::sea(STEP))?;
    let (mut batch, mut read) = (Growing::default(), last);
    while let Some(row) = rows.try_next().await.map_err(CopyError::sea(STEP))? {
        let record = postgres_row(&row).map_err(CopyError::sea(STEP))?.into_record()?;
        read = record.sequence.0;
        if batch.push(record) && !hand_on(&mut batch, sender).await {
            return Ok(None);
        }
    }
    Ok(hand_on(&mut batch, sender).await.then_some(read))
}

/// Whether somebody still wants what comes.
async fn hand_on(batch: &mut Growing, sender: &Sender<Batch>) -> bool {
    match batch.take() {
        Some(changes) => sender.send(Ok(changes)).await.is_ok(),
        None => true,
    }
}

fn postgres_row(row: &QueryResult) -> Result<Row, sea_orm::DbErr> {
    Ok(Row {
        sequence: row_mapping::get(row, "sequence")?,
        collection: row_mapping::get(row, "collection")?,
        item: row_mapping::get(row, "item_id")?,
        version: row_mapping::get(row, "version")?,
        kind: row_mapping::get(row, "kind")?,
        time: row_mapping::get(row, "time")?,
        caller: row_mapping::get(row, "caller")?,
        parent: row_mapping::get(row, "parent")?,
        predecessor: row_mapping::get(row, "predecessor")?,
        members: row_mapping::get(row, "members")?,
    })
}

/// Changes that are being put together.
#[derive(Default)]
struct Growing {
    changes: Vec<ChangeRecord>,
    bytes: usize,
}

impl Growing {
    /// Takes a change. Whether it was the last that should be.
    fn push(&mut self, change: ChangeRecord) -> bool {
        self.bytes += change.members.as_deref().map_or(0, str::len);
        self.changes.push(change);
        self.bytes >= BATCH_BYTES
    }

    /// What was put together, if anything.
    fn take(&mut self) -> Option<Vec<ChangeRecord>> {
        let taken = std::mem::take(self).changes;
        (!taken.is_empty()).then_some(taken)
    }
}
