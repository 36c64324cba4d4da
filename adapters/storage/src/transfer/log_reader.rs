//! Reading the whole change log, each change with the members that it left, while others go on
//! writing.
//!
//! The log is only ever appended to. So pages of the log, each read at a moment of its own, are one
//! consistent whole up to the change that was the last when reading began: numbers of the log grow
//! in the order of the commits, and none comes later that is smaller.

use application::maintenance::{ChangeRecord, HistoryReader, MaintenanceError};
use application::{LoggedChange, Sequence};
use domain::WriteOperation;
use futures_util::TryStreamExt;
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, QueryResult, StreamTrait};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::{TransferError, connect_to_look};
use crate::StoreOptions;
use crate::migration::schema_version::{Access, is_up_to_date};
use crate::sql::dialect::Dialect;
use crate::sql::{change_log, row_mapping};

/// Changes that a statement reads at most: a statement keeps `SQLite` from copying its write-ahead
/// log, and `PostgreSQL` from clearing away what is dead.
const PAGE: i64 = 1_000;

/// Bytes of members that are handed on together. Three times as much is in memory: read, waiting,
/// and in use.
const BATCH_BYTES: usize = 1 << 20;

/// `$1` the number to begin after, `$2` the last one, `$3` how many.
const CHANGES: &str = "SELECT c.sequence, c.collection, c.item_id, c.version, c.kind, c.time, c.caller, c.acting, c.client, c.request_id, c.parent, c.continues, \
                       CAST(c.members AS TEXT) AS members, \
                       c.version = 1 OR EXISTS (SELECT 1 FROM changes p WHERE p.item_id = c.item_id AND p.version = c.version - 1) AS follows \
                       FROM changes c WHERE c.sequence > $1 AND c.sequence <= $2 ORDER BY c.sequence LIMIT $3";

const STEP: &str = "read the change log";

/// Some changes in a row.
type Batch = Result<Vec<ChangeRecord>, TransferError>;

/// Reads the change log from its beginning to the change that was the last when it was opened.
pub(super) struct LogReader {
    batches: Receiver<Batch>,
    last: Sequence,
}

impl LogReader {
    /// Opens the log of a store, which another process may be serving. Nothing is written: not even
    /// a schema is prepared.
    pub async fn open(options: &StoreOptions) -> Result<Self, TransferError> {
        let connection = connect_to_look(options).await?;
        let dialect = Dialect::of(connection.get_database_backend());
        if !is_up_to_date(&connection, Access::Read).await? {
            return Err(TransferError::NoStore);
        }
        let found = connection.query_one_raw(dialect.statement(change_log::LAST, [])).await;
        let last = found.and_then(|row| row.map_or(Ok(0), |row| row_mapping::get(&row, "last")));
        let last = last.map_err(TransferError::at(STEP))?;
        // One batch waits while another is read and a third is in use.
        let (sender, batches) = channel(1);
        tokio::spawn(async move {
            let mut after = 0;
            while after < last {
                match read_page(&connection, after, last, &sender).await {
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
        Ok(Self { batches, last: Sequence(last) })
    }
}

impl HistoryReader for LogReader {
    fn last(&self) -> Sequence {
        self.last
    }

    fn next_batch(&mut self) -> Option<Result<Vec<ChangeRecord>, MaintenanceError>> {
        self.batches.blocking_recv().map(|batch| Ok(batch?))
    }
}

/// Hands on the next changes; the number of the last one, or `None` when nobody wants more.
async fn read_page(
    connection: &DatabaseConnection,
    after: i64,
    last: i64,
    sender: &Sender<Batch>,
) -> Result<Option<i64>, TransferError> {
    let dialect = Dialect::of(connection.get_database_backend());
    let statement = dialect.statement(CHANGES, [after.into(), last.into(), PAGE.into()]);
    let mut rows = connection.stream_raw(statement).await.map_err(TransferError::at(STEP))?;
    let (mut batch, mut bytes, mut read) = (Vec::new(), 0, last);
    while let Some(row) = rows.try_next().await.map_err(TransferError::at(STEP))? {
        let record = record(&row)?;
        read = record.sequence.0;
        bytes += record.members.as_deref().map_or(0, str::len);
        batch.push(record);
        if bytes >= BATCH_BYTES {
            // SQLite's statement is to be over however long the batch waits. PostgreSQL's waits
            // with the rest of the page, which would have to be sent again.
            if dialect.backend == DbBackend::Sqlite {
                break;
            }
            if sender.send(Ok(std::mem::take(&mut batch))).await.is_err() {
                return Ok(None);
            }
            bytes = 0;
        }
    }
    drop(rows);
    let is_wanted = batch.is_empty() || sender.send(Ok(batch)).await.is_ok();
    Ok(is_wanted.then_some(read))
}

fn record(row: &QueryResult) -> Result<ChangeRecord, TransferError> {
    let failed = TransferError::at("understand the change log");
    let LoggedChange { sequence, collection, item, version, kind, time, caller } =
        change_log::change(row).map_err(&failed)?;
    let members: Option<String> = row_mapping::get(row, "members").map_err(&failed)?;
    let incomplete = |version| TransferError::Incomplete { item: item.to_string(), version };
    if !row_mapping::get::<bool>(row, "follows").map_err(&failed)? {
        return Err(incomplete(version.number() - 1));
    }
    if kind != WriteOperation::Delete && members.is_none() {
        return Err(incomplete(version.number()));
    }
    Ok(ChangeRecord {
        sequence,
        collection,
        item,
        version,
        kind,
        time,
        caller,
        acting: row_mapping::get(row, "acting").map_err(&failed)?,
        client: row_mapping::get(row, "client").map_err(&failed)?,
        request_id: row_mapping::get(row, "request_id").map_err(&failed)?,
        parent: row_mapping::id(row, "parent").map_err(&failed)?,
        continues: row_mapping::id(row, "continues").map_err(&failed)?,
        members: members.map(Into::into),
    })
}
