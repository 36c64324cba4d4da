//! Reads the whole change log during writes. It is append-only, so its pages are consistent,
//! although each is read in a separate snapshot.

use application::{LoggedChange, Sequence};
use domain::WriteOperation;
use futures_util::TryStreamExt;
use sea_orm::{DatabaseConnection, DbBackend, QueryResult, StreamTrait};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::change_record::ChangeRecord;
use super::connect_to_look;
use crate::migration::schema_version::{Access, is_up_to_date};
use crate::sql::change_log;
use crate::sql::dialect::Dialect;
use crate::sql::row_mapping::{get, id};
use crate::{StoreError, StoreOptions};

/// Most changes of a statement, which blocks checkpoints of SQLite and the vacuum of PostgreSQL.
const PAGE: i64 = 1_000;

/// Bytes of members of a batch. Three batches are in memory: read, waiting, and in use.
const BATCH_BYTES: usize = 1 << 20;

type Batch = Result<Vec<ChangeRecord>, StoreError>;

/// Reads the change log from its beginning to the change that was the last when it was opened.
pub struct LogReader {
    batches: Receiver<Batch>,
    pub last: Sequence,
}

impl LogReader {
    /// Opens the log of a store, which another process may be serving. Writes nothing.
    pub async fn open(options: &StoreOptions) -> Result<Self, StoreError> {
        let connection = connect_to_look(options).await?;
        if !is_up_to_date(&connection, Access::Read).await? {
            return Err(StoreError::NoStore);
        }
        let last = change_log::last(&connection).await?;
        let (sender, batches) = channel(1);
        tokio::spawn(async move {
            if let Err(error) = read(&connection, last, &sender).await {
                // If the receiver is gone, the error is not needed.
                let _ = sender.send(Err(error)).await;
            }
        });
        Ok(Self { batches, last })
    }

    /// The next changes; `None` at the end. Blocks.
    pub fn next_batch(&mut self) -> Option<Result<Vec<ChangeRecord>, StoreError>> {
        self.batches.blocking_recv()
    }
}

async fn read(
    connection: &DatabaseConnection,
    Sequence(last): Sequence,
    sender: &Sender<Batch>,
) -> Result<(), StoreError> {
    let backend = connection.get_database_backend();
    let mut after = 0;
    while after < last {
        let values = [after.into(), last.into(), PAGE.into()];
        let page = Dialect::of(backend).statement(sql_file!("both/transfer/log_page"), values);
        let mut rows = connection.stream_raw(page).await?;
        let (mut batch, mut bytes) = (Vec::new(), 0);
        after = last;
        while let Some(row) = rows.try_next().await? {
            let record = record(&row)?;
            after = record.sequence.0;
            bytes += record.members.as_deref().map_or(0, str::len);
            batch.push(record);
            if bytes >= BATCH_BYTES {
                // SQLite's statement ends before the batch waits. PostgreSQL's waits with the rest
                // of the page, which would have to be sent again.
                if backend == DbBackend::Sqlite {
                    break;
                }
                if sender.send(Ok(std::mem::take(&mut batch))).await.is_err() {
                    return Ok(());
                }
                bytes = 0;
            }
        }
        drop(rows);
        if !batch.is_empty() && sender.send(Ok(batch)).await.is_err() {
            return Ok(());
        }
    }
    Ok(())
}

fn record(row: &QueryResult) -> Result<ChangeRecord, StoreError> {
    let LoggedChange { sequence, collection, item, version, kind, time, author, removed_at } =
        change_log::change(row)?;
    let members: Option<String> = get(row, "members")?;
    let incomplete = |version| StoreError::Incomplete { item: item.to_string(), version };
    if !get::<bool>(row, "follows")? {
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
        parent: id(row, "parent")?,
        continues: id(row, "continues")?,
        members: members.map(Into::into),
        removed_at,
    })
}
