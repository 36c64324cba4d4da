//! Writing to an `SQLite` file: group commit. Writes that have queued up share a transaction, and so a flush to the disk.
//!
//! Should one write of a batch fail in a way it should not, the batch is rolled back and its writes are done again, each
//! in a transaction of its own, so that no write suffers from its neighbours.

use std::sync::Arc;

use application::RepositoryError;
use async_trait::async_trait;
use sea_orm::{ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbErr};

use crate::current::Current;
use crate::errors::logged;
use crate::sqlite;
use crate::sqlite_indexing::Indexing;
use crate::sqlite_totals::Totals;
use crate::sqlite_writes::SqliteWrites;
use crate::write::{Answer, Write};
use crate::write_queue::Writer;

/// Why a transaction did not happen.
enum Fault {
    /// One of its writes failed.
    Write(DbErr),
    /// It could not be begun or committed.
    Transaction(DbErr),
}

impl Fault {
    fn logged(&self) -> RepositoryError {
        let (Self::Write(error) | Self::Transaction(error)) = self;
        logged(error, "write")
    }
}

/// Does writes on the one connection that writes.
pub(crate) struct SqliteWriter {
    connection: DatabaseConnection,
    writes: SqliteWrites,
    current: Arc<Current>,
    indexing: Indexing,
}

#[async_trait]
impl Writer for SqliteWriter {
    async fn commit(&self, writes: &[&Write]) -> Vec<Answer> {
        let answers = self.transactions(writes).await;
        for (write, answer) in writes.iter().zip(&answers) {
            self.current.committed(write, answer);
        }
        self.indexing.written(writes);
        answers
    }

    fn has_more_to_do(&self) -> bool {
        self.indexing.is_due()
    }

    async fn do_more(&self, is_idle: bool) {
        if (is_idle || self.indexing.is_urgent())
            && let Err(error) = self.indexing.step(&self.connection).await
        {
            tracing::warn!(%error, "words wait to be indexed; searches look through them meanwhile");
        }
    }
}

impl SqliteWriter {
    pub fn new(connection: DatabaseConnection, current: Arc<Current>) -> Self {
        Self { connection, writes: SqliteWrites::new(), current, indexing: Indexing::new() }
    }

    /// Does the writes in one transaction or, if one of them fails, in one each.
    async fn transactions(&self, writes: &[&Write]) -> Vec<Answer> {
        match self.transaction(writes).await {
            Ok(answers) => answers,
            Err(Fault::Write(error)) if writes.len() > 1 => {
                tracing::warn!(%error, writes = writes.len(), "a write failed; doing its batch again one by one");
                self.commit_each(writes).await
            }
            Err(fault) => vec![Err(fault.logged()); writes.len()],
        }
    }

    async fn commit_each(&self, writes: &[&Write]) -> Vec<Answer> {
        let mut answers = Vec::with_capacity(writes.len());
        for write in writes {
            match self.transaction(&[*write]).await {
                Ok(alone) => answers.extend(alone),
                Err(fault) => answers.push(Err(fault.logged())),
            }
        }
        answers
    }

    async fn transaction(&self, writes: &[&Write]) -> Result<Vec<Answer>, Fault> {
        let transaction = sqlite::begin(&self.connection).await.map_err(Fault::Transaction)?;
        match self.perform(&transaction, writes).await {
            Ok(answers) => transaction.commit().await.map(|()| answers).map_err(Fault::Transaction),
            Err(error) => {
                if let Err(error) = transaction.rollback().await {
                    tracing::warn!(%error, "SQLite had ended the transaction itself");
                }
                Err(Fault::Write(error))
            }
        }
    }

    async fn perform(&self, transaction: &DatabaseTransaction, writes: &[&Write]) -> Result<Vec<Answer>, DbErr> {
        let mut totals = Totals::default();
        let answers = self.writes.perform(transaction, writes, &mut totals).await?;
        for statement in totals.into_statements() {
            transaction.execute_raw(statement).await?;
        }
        Ok(answers)
    }
}
