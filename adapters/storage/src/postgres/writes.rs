//! Writes on `PostgreSQL`: transactions that are retried if the database rolled them back.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use application::RepositoryError;
use async_trait::async_trait;
use sea_orm::DbErr;
use tracing::Instrument as _;

use crate::error::{is_lost, is_worth_retrying, logged};
use crate::postgres::connections::Connections;
use crate::postgres::exclusive_transaction::ExclusiveTransaction;
use crate::postgres::history_lock::HistoryLock;
use crate::postgres::session::{Limits, Session};
use crate::spans;
use crate::sql::dialect::{Dialect, POSTGRES};
use crate::write::batch::{is_one_statement, together};
use crate::write::command::{Answer, Change, Write};
use crate::write::queue::Writer;
use crate::write::read_set::CurrentReads;
use crate::write::row::{RowKind, RowWrite};
use crate::write::statements::{is_restricted, only, write_alone, write_rows};

/// The most attempts of a write that the database rolls back because of other writes.
const ATTEMPTS: u32 = 5;

/// The longest pause before the second attempt; it doubles with each.
const PAUSE: Duration = Duration::from_millis(10);

/// A write is not attempted again after this time.
const RETRIED_FOR: Duration = Duration::from_secs(10);

/// Limits of the answers to a batch. It may wait for a lock; the server has shorter limits.
const BATCH: Limits = Limits { answer: Duration::from_secs(12), can_repeat: false };

/// Limits of the answers to a write of many items.
const ALONE: Limits = Limits { answer: Duration::from_secs(25), can_repeat: false };

/// Executes writes on connections of a pool.
#[derive(Clone)]
pub(crate) struct PostgresWriter {
    pub pool: Connections,
    pub history: Arc<HistoryLock>,
}

#[async_trait]
impl Writer for PostgresWriter {
    const DIALECT: &'static Dialect = &POSTGRES;

    /// Writes single rows together. If one of them fails unexpectedly, each is retried alone.
    async fn commit(&self, writes: &[&Write]) -> Vec<Answer> {
        let rows: Vec<_> = writes
            .iter()
            .filter_map(|Write { change, metadata }| match change {
                Change::Row(row) => Some(RowWrite { row, metadata }),
                _ => None,
            })
            .collect();
        let mut answers = Vec::with_capacity(rows.len());
        while let rest @ [_, ..] = &rows[answers.len()..] {
            let together = &rest[..together(rest)];
            match self.try_rows(together).await {
                Ok(done) => answers.extend(done),
                Err(WriteError::RolledBack(error)) if together.len() > 1 && !is_lost(&error) => {
                    tracing::warn!(%error, writes = together.len(), "a write failed; retrying its batch one by one");
                    self.pool.metrics().retries.one_by_one.inc_by(together.len() as u64);
                    for write in together {
                        let done = self.try_rows(&[*write]).await;
                        answers.push(done.map_or_else(|error| Err(error.logged()), only));
                    }
                }
                Err(error) => answers.extend(vec![Err(error.logged()); together.len()]),
            }
        }
        answers
    }
}

impl PostgresWriter {
    /// Executes single-row writes in one transaction.
    ///
    /// An update that waited for the lock of its item has not seen the key of the write that held
    /// the lock. So a refused update with a key is attempted once more in a separate transaction;
    /// the other writes stay committed.
    async fn try_rows(&self, writes: &[RowWrite<'_>]) -> Result<Vec<Answer>, WriteError> {
        let mut answers = self.again(|attempt| self.attempt_rows(writes, attempt)).await?;
        for (write, answer) in writes.iter().zip(&mut answers) {
            if answer.is_err() && write.row.key.is_some() && write.row.kind == RowKind::Update {
                let alone = [*write];
                let done = self.again(|attempt| self.attempt_rows(&alone, attempt)).await;
                *answer = done.map_or_else(|error| Err(error.logged()), only);
            }
        }
        Ok(answers)
    }

    /// Excludes other writes only if a write requires it.
    async fn attempt_rows(
        &self,
        writes: &[RowWrite<'_>],
        attempt: u32,
    ) -> Result<Vec<Answer>, WriteError> {
        let _writing = self.history.write().await.map_err(WriteError::RolledBack)?;
        if writes.iter().any(|write| is_exclusive(write, attempt)) {
            let read_sets = writes.iter().map(|write| write.metadata);
            let begun =
                ExclusiveTransaction::begin((&self.pool, &self.history), BATCH, read_sets).await;
            let ExclusiveTransaction { session, current_reads, held: _held, .. } =
                begun.map_err(WriteError::RolledBack)?;
            let done = write_rows(&session, writes, &current_reads).await;
            return commit_if(&session, done, |_| true).await;
        }
        if !is_one_statement(writes) {
            let session = self.pool.begin(BATCH).await.map_err(WriteError::RolledBack)?;
            let no_reads = CurrentReads::of(self.history.on(&session));
            let done = write_rows(&session, writes, &no_reads).await;
            return commit_if(&session, done, |_| true).await;
        }
        let session = self.pool.session(BATCH).await.map_err(WriteError::RolledBack)?;
        let no_reads = CurrentReads::of(self.history.on(&session));
        // The statement commits, too.
        let done = write_rows(&session, writes, &no_reads).instrument(spans::commit());
        WriteError::unless(done.await, &session)
    }

    /// Executes a write of many rows.
    pub async fn write_alone(&self, write: &Write) -> Answer {
        let done = self.again(|_| self.attempt_alone(write)).await;
        done.unwrap_or_else(|error| Err(error.logged()))
    }

    async fn attempt_alone(&self, write: &Write) -> Result<Answer, WriteError> {
        let Write { change, metadata } = write;
        let _writing = self.history.write().await.map_err(WriteError::RolledBack)?;
        if matches!(change, Change::Rows(_)) && metadata.read_set.is_empty() {
            let session = self.pool.begin(ALONE).await.map_err(WriteError::RolledBack)?;
            let no_reads = CurrentReads::of(self.history.on(&session));
            let done = write_alone(&session, write, &no_reads, metadata.time).await;
            return commit_if(&session, done, Result::is_ok).await;
        }
        let read_set = std::iter::once(metadata);
        let begun = ExclusiveTransaction::begin((&self.pool, &self.history), ALONE, read_set).await;
        let ExclusiveTransaction { session, time, current_reads, held: _held } =
            begun.map_err(WriteError::RolledBack)?;
        let done = write_alone(&session, write, &current_reads, time).await;
        commit_if(&session, done, Result::is_ok).await
    }

    /// Repeats a transaction that the database rolled back because of another one, and no other:
    /// changes that may have been committed must not be made twice.
    async fn again<T, F: Future<Output = Result<T, WriteError>>>(
        &self,
        attempt: impl Fn(u32) -> F,
    ) -> Result<T, WriteError> {
        let begun = Instant::now();
        for number in 1..ATTEMPTS {
            match attempt(number).await {
                Err(WriteError::RolledBack(error))
                    if is_worth_retrying(&error) && begun.elapsed() < RETRIED_FOR =>
                {
                    tracing::debug!(%error, number, "the database rolled back a write; retrying");
                    self.pool.metrics().retries.rolled_back.inc();
                    tokio::time::sleep(pause(number)).await;
                }
                done => return done,
            }
        }
        attempt(ATTEMPTS).await
    }
}

/// Returns whether no other write may be in progress: the results of its lookups, the history of a
/// restored item, or the items below a deleted one must not change. A deletion does not see an item
/// that was added below while it waited; then a foreign key is violated, and it is repeated.
fn is_exclusive(write: &RowWrite<'_>, attempt: u32) -> bool {
    let is_repeated_deletion = write.row.kind == RowKind::Delete && attempt > 1;
    !write.metadata.read_set.is_empty()
        || write.row.kind == RowKind::Restore
        || is_repeated_deletion
        || is_restricted(write)
}

/// Commits the transaction of a session if its outcome is to be kept. Otherwise it is rolled back
/// when the session is dropped.
async fn commit_if<T>(
    session: &Session,
    done: Result<T, DbErr>,
    is_kept: impl Fn(&T) -> bool,
) -> Result<T, WriteError> {
    let done = match done {
        Ok(done) if is_kept(&done) => session.commit().await.map(|()| done),
        done => done,
    };
    WriteError::unless(done, session)
}

/// Why writes were not done, or may have been.
enum WriteError {
    /// Nothing was committed.
    RolledBack(DbErr),
    /// The outcome is unknown: the commit was in progress.
    Unknown(DbErr),
}

impl WriteError {
    fn unless<T>(done: Result<T, DbErr>, session: &Session) -> Result<T, Self> {
        let error = if session.may_have_committed() { Self::Unknown } else { Self::RolledBack };
        done.map_err(error)
    }

    fn logged(&self) -> RepositoryError {
        match self {
            Self::RolledBack(error) => logged(error, "write"),
            Self::Unknown(error) => {
                logged(error, "commit");
                RepositoryError::Unavailable
            }
        }
    }
}

/// At random below a bound, so that conflicting writers do not meet again.
fn pause(attempt: u32) -> Duration {
    let share = RandomState::new().hash_one(attempt) % 1000;
    PAUSE * 2_u32.pow(attempt - 1) * u32::try_from(share).unwrap_or_default() / 1000
}
