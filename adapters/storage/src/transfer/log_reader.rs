//! Reads the whole change log, each change with the resulting members, during writes.
//!
//! The log is append-only. So pages of the log are consistent up to the change that was the last when
//! the read began, although each page is read in a separate snapshot: numbers of the log grow in the
//! order of the commits, and no smaller number is committed later.

use application::{LoggedChange, Sequence};
use domain::WriteOperation;
use futures_util::TryStreamExt;
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, QueryResult, StreamTrait};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::change_record::ChangeRecord;
use super::{TransferError, connect_to_look};
use crate::StoreOptions;
use crate::migration::schema_version::{Access, is_up_to_date};
use crate::sql::change_log;
use crate::sql::dialect::Dialect;
use crate::sql::row_mapping::{get, id};

/// Changes that a statement reads at most: a statement keeps `SQLite` from copying its write-ahead
/// log, and `PostgreSQL` from clearing away what is dead.
const PAGE: i64 = 1_000;

/// Bytes of members that are handed on together. Three times as much is in memory: read, waiting,
/// and in use.
const BATCH_BYTES: usize = 1 << 20;

const STEP: &str = "read the change log";

/// Some changes in a row.
type Batch = Result<Vec<ChangeRecord>, TransferError>;

/// Reads the change log from its beginning to the change that was the last when it was opened.
pub struct LogReader {
    batches: Receiver<Batch>,
    last: Sequence,
}

impl LogReader {
    /// Opens the log of a store, which another process may be serving. Nothing is written: not even
    /// a schema is prepared.
    ///
    /// # Errors
    /// Where there is no store, or it cannot be opened.
    pub async fn open(options: &StoreOptions) -> Result<Self, TransferError> {
        let connection = connect_to_look(options).await?;
        let dialect = Dialect::of(connection.get_database_backend());
        if !is_up_to_date(&connection, Access::Read).await? {
            return Err(TransferError::NoStore);
        }
        let found = connection.query_one_raw(change_log::last_statement(dialect)).await;
        let last = found.and_then(change_log::last_of);
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
                        // If the receiver is gone, the error is not needed.
                        let _ = sender.send(Err(error)).await;
                        return;
                    }
                }
            }
        });
        Ok(Self { batches, last: Sequence(last) })
    }

    /// The number of the last change that is read.
    #[must_use]
    pub const fn last(&self) -> Sequence {
        self.last
    }

    /// The next changes; `None` at the end. Blocks.
    pub fn next_batch(&mut self) -> Option<Result<Vec<ChangeRecord>, TransferError>> {
        self.batches.blocking_recv()
    }
}

/// Sends the next changes. Returns the number of the last one, or `None` if the receiver is gone.
async fn read_page(
    connection: &DatabaseConnection,
    after: i64,
    last: i64,
    sender: &Sender<Batch>,
) -> Result<Option<i64>, TransferError> {
    let backend = connection.get_database_backend();
    let values = [after.into(), last.into(), PAGE.into()];
    let page = Dialect::of(backend).statement(sql_file!("both/log_page"), values);
    let mut rows = connection.stream_raw(page).await.map_err(TransferError::at(STEP))?;
    let (mut batch, mut bytes, mut read) = (Vec::new(), 0, last);
    while let Some(row) = rows.try_next().await.map_err(TransferError::at(STEP))? {
        let record = record(&row)?;
        read = record.sequence.0;
        bytes += record.members.as_deref().map_or(0, str::len);
        batch.push(record);
        if bytes >= BATCH_BYTES {
            // SQLite's statement is to be over however long the batch waits. PostgreSQL's waits
            // with the rest of the page, which would have to be sent again.
            if backend == DbBackend::Sqlite {
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
    let failed = TransferError::at("interpret the change log");
    let LoggedChange { sequence, collection, item, version, kind, time, author, removed_at } =
        change_log::change(row).map_err(&failed)?;
    let members: Option<String> = get(row, "members").map_err(&failed)?;
    let incomplete = |version| TransferError::Incomplete { item: item.to_string(), version };
    if !get::<bool>(row, "follows").map_err(&failed)? {
        return Err(incomplete(version.number() - 1));
    }
    if kind != WriteOperation::Delete && members.is_none() && removed_at.is_none() {
        return Err(incomplete(version.number()));
    }
    Ok(ChangeRecord {
        sequence,
        collection,
        item,
        version,
        kind,
        time,
        author,
        parent: id(row, "parent").map_err(&failed)?,
        continues: id(row, "continues").map_err(&failed)?,
        members: members.map(Into::into),
        removed_at,
    })
}
