//! The one task that writes to an `SQLite` file: group commit.
//!
//! Writes queue up while a transaction is being flushed to disk, and all that have queued up share the next one. Each is
//! answered after the commit. A client that hangs up takes nothing back: its write is in the queue, not in its request.
//!
//! Should one write of a batch fail in a way it should not, the batch is rolled back and its writes are done again, each
//! in a transaction of its own, so that no write suffers from its neighbours.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use application::RepositoryError;
use sea_orm::{ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbErr};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::errors::logged;
use crate::sqlite;
use crate::sqlite_totals::Totals;
use crate::sqlite_writes::SqliteWrites;
use crate::write::{Answer, Write};

/// How many writes may wait.
const QUEUE: usize = 1024;

/// How many writes share a transaction at most.
const BATCH: usize = 256;

/// A write, and who waits for it.
struct Job {
    write: Write,
    reply: oneshot::Sender<Answer>,
}

/// The queue to the writing task, and the task.
pub(crate) struct SqliteWriter {
    queue: Mutex<Option<mpsc::Sender<Job>>>,
    task: Mutex<Option<JoinHandle<()>>>,
    patience: Duration,
}

impl SqliteWriter {
    pub fn start(connection: DatabaseConnection, patience: Duration) -> Self {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let task = tokio::spawn(serve(Transactions { connection, writes: SqliteWrites::new() }, jobs));
        Self { queue: Mutex::new(Some(queue)), task: Mutex::new(Some(task)), patience }
    }

    /// Queues a write and waits for its answer.
    pub async fn write(&self, write: Write) -> Answer {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let queue = queue.ok_or_else(|| unavailable("the store is closed"))?;
        let (reply, answer) = oneshot::channel();
        match timeout(self.patience, queue.send(Job { write, reply })).await {
            Ok(Ok(())) => answer.await.unwrap_or_else(|_| Err(unavailable("the writer went away with the write"))),
            Ok(Err(_)) => Err(unavailable("the writer went away")),
            Err(_) => Err(unavailable("the queue of writes is full")),
        }
    }

    /// Takes no more writes and waits for those in the queue.
    pub async fn close(&self) {
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner).take());
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Err(error)) = async { Some(task?.await) }.await {
            tracing::error!(%error, "the writer ended badly");
        }
    }
}

fn unavailable(reason: &'static str) -> RepositoryError {
    tracing::warn!(reason, "a write was not done");
    RepositoryError::Unavailable
}

/// Ends when the queue is closed and empty.
async fn serve(transactions: Transactions, mut queue: mpsc::Receiver<Job>) {
    let mut jobs = Vec::with_capacity(BATCH);
    while queue.recv_many(&mut jobs, BATCH).await > 0 {
        let writes: Vec<_> = jobs.iter().map(|job: &Job| &job.write).collect();
        let answers = transactions.commit(&writes).await;
        for (job, answer) in jobs.drain(..).zip(answers) {
            // Nobody listens any more when the client hung up; the write is done all the same.
            let _ = job.reply.send(answer);
        }
    }
}

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

struct Transactions {
    connection: DatabaseConnection,
    writes: SqliteWrites,
}

impl Transactions {
    /// Does the writes in one transaction or, if one of them fails, in one each.
    async fn commit(&self, writes: &[&Write]) -> Vec<Answer> {
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
