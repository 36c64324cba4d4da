//! Reads the whole change log, each change with the resulting members, during writes.
//!
//! The log is append-only. So pages of the log are consistent up to the change that was the last when
//! the read began, although each page is read in a separate snapshot: numbers of the log grow in the
//! order of the commits, and no smaller number is committed later.

use application::{LoggedChange, Sequence};
use domain::{ItemId, WriteOperation};
use futures_util::TryStreamExt;
use sea_orm::sea_query::{Alias, Expr, ExprTrait, Query};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DatabaseConnection, DbBackend, EntityTrait, FromQueryResult,
    QueryFilter, QueryOrder, QueryResult, QuerySelect, QueryTrait, Select, StreamTrait,
};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::change_record::ChangeRecord;
use super::{TransferError, connect_to_look};
use crate::StoreOptions;
use crate::entities::change;
use crate::migration::schema_version::{Access, is_up_to_date};
use crate::sql::dialect::Dialect;
use crate::sql::{change_log, row_mapping};

/// Changes that a statement reads at most: a statement keeps `SQLite` from copying its write-ahead
/// log, and `PostgreSQL` from clearing away what is dead.
const PAGE: u64 = 1_000;

/// Bytes of members that are handed on together. Three times as much is in memory: read, waiting,
/// and in use.
const BATCH_BYTES: usize = 1 << 20;

const STEP: &str = "read the change log";

/// The column that says whether the version before a change is in the log, or it is the first.
const FOLLOWS: &str = "follows";

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
    let mut rows = connection
        .stream_raw(changes(after, last).build(backend))
        .await
        .map_err(TransferError::at(STEP))?;
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

/// The changes after a number, up to the last one.
fn changes(after: i64, last: i64) -> Select<change::Entity> {
    let previous = Alias::new("previous");
    let is_previous = |column: change::Column| Expr::col((previous.clone(), column));
    let previous_exists = Expr::exists(
        Query::select()
            .expr(Expr::val(1))
            .from_as(change::Entity, previous.clone())
            .and_where(
                is_previous(change::Column::ItemId)
                    .equals((change::Entity, change::Column::ItemId)),
            )
            .and_where(
                // The index is searched for the version before.
                is_previous(change::Column::Version).eq(Expr::col((
                    change::Entity,
                    change::Column::Version,
                ))
                .sub(1)),
            )
            .take(),
    );
    change::Entity::find()
        .column_as(change::Column::Version.eq(1).or(previous_exists), FOLLOWS)
        .filter(change::Column::Sequence.gt(after))
        .filter(change::Column::Sequence.lte(last))
        .order_by_asc(change::Column::Sequence)
        .limit(PAGE)
}

fn record(row: &QueryResult) -> Result<ChangeRecord, TransferError> {
    let failed = TransferError::at("interpret the change log");
    let LoggedChange { sequence, collection, item, version, kind, time, author, removed_at } =
        change_log::change(row).map_err(&failed)?;
    let change = change::Model::from_query_result(row, "").map_err(&failed)?;
    let incomplete = |version| TransferError::Incomplete { item: item.to_string(), version };
    if !row_mapping::get::<bool>(row, FOLLOWS).map_err(&failed)? {
        return Err(incomplete(version.number() - 1));
    }
    if kind != WriteOperation::Delete && change.members.is_none() && removed_at.is_none() {
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
        parent: change.parent.map(ItemId::from_uuid),
        continues: change.continues.map(ItemId::from_uuid),
        members: change.members.map(Into::into),
        removed_at,
    })
}
