//! The interface of a database engine to the rest of the crate.

use std::fmt;
use std::sync::Arc;

use application::{RepositoryError, Sequence};
use async_trait::async_trait;
use jiff::Timestamp;
use prometheus_client::encoding::DescriptorEncoder;
use sea_orm::{DatabaseConnection, DatabaseTransaction, DbErr, QueryResult, Statement};

use crate::cache::write_through_cache::WriteThroughCache;
use crate::error::StoreError;
use crate::metrics::{Sample, StoreMetrics};
use crate::search_index::progress::Step;
use crate::sql::dialect::Dialect;
use crate::write::command::{Answer, Write};

/// An open database of one of the two engines.
#[async_trait]
pub(crate) trait Engine: Send + Sync {
    /// Its spellings.
    fn dialect(&self) -> &'static Dialect;

    /// The metrics of the engine and of all who use it.
    fn metrics(&self) -> &Arc<StoreMetrics>;

    /// Writes the metrics that are the engine's own.
    fn encode(&self, _encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        Ok(())
    }

    /// Measures the values of the store that are sampled periodically.
    async fn sample(&self) -> Result<Sample, RepositoryError> {
        Ok(Sample::default())
    }

    /// The maximum number of concurrent statements for one kind of read. The reads that wait
    /// meanwhile share the next statements.
    fn workers(&self) -> usize;

    /// Runs a statement that changes nothing.
    async fn read(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr>;

    /// The maximum number of concurrent slow statements.
    fn slow_workers(&self) -> usize;

    /// Runs a statement that changes nothing and may take long, on a connection that others do not
    /// wait for. It is interrupted when this is dropped.
    async fn read_slowly(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr>;

    /// Does a write, whole or not at all; it is on disk when this returns `Ok`.
    async fn write(&self, write: Write) -> Answer;

    /// Returns whether a write would go through, without making one.
    async fn check_writes(&self) -> Result<(), RepositoryError>;

    /// The items known to be current without a query, where this process alone writes to the store.
    fn write_through_cache(&self) -> Option<&Arc<WriteThroughCache>> {
        None
    }

    /// A number that differs when a connection to the store was lost or opened: what is in memory from
    /// before may be of a history that the store does not have any more.
    fn losses(&self) -> u64 {
        0
    }

    /// The time of the clock that timestamps writes: the clock of the database if it has one,
    /// otherwise that of this machine, whose time is `here`.
    async fn now(&self, here: Timestamp) -> Result<Timestamp, RepositoryError> {
        Ok(here)
    }

    /// Returns an error when the schema is one on which writes would go wrong silently.
    async fn check_schema(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Reads the id of the history that the database holds, and notices from now on if it is replaced.
    /// The schema must be up to date.
    async fn begin_history(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// The id of the history that the database holds, which is the same on every timeline.
    fn history(&self) -> Arc<str> {
        Arc::default()
    }

    /// Returns false while the database may be restored.
    fn has_history(&self) -> bool {
        true
    }

    /// The number of the server's timeline, which changes on a failover; 0 for an engine without
    /// timelines.
    fn timeline(&self) -> u32 {
        0
    }

    /// Returns the timeline and a position in its write-ahead log, up to which it has every write that
    /// was acknowledged before this was asked. Not every engine has such a log.
    async fn log_position(&self) -> Result<(u32, u64), RepositoryError> {
        Err(RepositoryError::Unavailable)
    }

    /// A connection on which the schema can be looked at.
    fn schema(&self) -> &DatabaseConnection;

    /// The number of changes that may wait to be indexed while there is something to write: those
    /// of a few seconds.
    fn most_waiting(&self) -> i64;

    /// Adds at most `limit` more changes to the full-text index, none of them after `up_to`.
    async fn index(&self, limit: i64, up_to: Sequence) -> Result<Step, RepositoryError>;

    /// Returns whether this is the server that takes the writes, or follows it.
    fn is_standby(&self) -> bool {
        false
    }

    /// Returns whether changes are committed in the order of their numbers, so that no number below
    /// a visible one is still to come.
    fn commits_in_order(&self) -> bool;

    /// Waits for the writes in progress. Returns the number of the last change at the time of the
    /// call: after the fence, no further change up to this number is committed.
    async fn fence(&self) -> Result<Sequence, RepositoryError>;

    /// Runs a read-only statement as of a time at which no write is in progress. All later writes
    /// have later times than the rows it finds.
    async fn read_settled(
        &self,
        is_slow: bool,
        statement: Statement,
    ) -> Result<Vec<QueryResult>, DbErr> {
        if is_slow { self.read_slowly(statement).await } else { self.read(statement).await }
    }

    /// Makes sure that what is committed from now on has a time after this one.
    async fn close_timestamp(&self, time: Timestamp) -> Result<(), RepositoryError>;

    /// Runs a statement that writes to tables other than those of the items and their history.
    /// Returns the number of rows written. The parameters are strings and integers.
    async fn execute(
        &self,
        step: &'static str,
        statement: Statement,
    ) -> Result<u64, RepositoryError>;

    /// Keeps others from changing the schema until the transaction ends, in which nothing else is to be
    /// done; `None` where this process alone has the database.
    async fn lock_schema(&self) -> Result<Option<DatabaseTransaction>, DbErr> {
        Ok(None)
    }

    /// A transaction that changes the schema, and waits only briefly for locks.
    async fn begin_migration(&self) -> Result<DatabaseTransaction, DbErr>;

    /// Waits for the writes in progress and closes all connections.
    async fn close(&self);
}
