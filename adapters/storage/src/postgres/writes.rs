//! How `PostgreSQL` does writes: one statement decides, writes, logs and counts, in one round trip.
//!
//! The statements of single rows are in `postgres/row_writes.rs`, those of deletions are here. Their
//! first CTEs lock what is there and decide the conditions (`write/condition.rs`), so the others log, write
//! and count what is possible and nothing else.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use application::{CollectionWrite, RepositoryError, Revision, WriteMetadata};
use jiff::Timestamp;
use sea_orm::{ConnectionTrait, DbErr, QueryResult, Value};
use tracing::Instrument as _;
use uuid::Uuid;

use crate::error::{is_lost, is_worth_retrying, logged};
use crate::postgres::bookkeeping::{counted_writes, logged_changes};
use crate::postgres::exclusive_transaction::ExclusiveTransaction;
use crate::postgres::fence;
use crate::postgres::pool::Pool;
use crate::postgres::row_writes::PostgresRowWrites;
use crate::postgres::session::{Limits, Session};
use crate::spans;
use crate::sql::dialect::POSTGRES;
use crate::sql::lookup::has_undeletable;
use crate::sql::row_mapping;
use crate::sql::sql_text::SqlText;
use crate::sql::statements::{REVISION, listed, parent};
use crate::write::author;
use crate::write::batch::together;
use crate::write::command::{
    Answer, Change, ContentChange, Deletion, RowOfMany, Write, Written, removed_by,
};
use crate::write::condition;
use crate::write::read_set::CurrentReads;
use crate::write::row::{RowChangeKind, RowWrite};

/// The most times a write is begun that the database rolls back for the sake of others.
const ATTEMPTS: u32 = 5;

/// The longest pause before the second attempt; it doubles with each.
const PAUSE: Duration = Duration::from_millis(10);

/// A write is not begun again after this time.
const RETRIED_FOR: Duration = Duration::from_secs(10);

/// Limits of the answers to a batch. It may wait for a lock; the server has shorter limits.
const BATCH: Limits = Limits { answer: Duration::from_secs(12), can_repeat: false };

/// Limits of the answers to a write of many items.
const ALONE: Limits = Limits { answer: Duration::from_secs(25), can_repeat: false };

/// Rows that one statement of a write of many writes: its table expressions are joined without an
/// index, so twice the rows take four times as long.
const ROWS_AT_A_TIME: usize = 250;

/// The parameter for the validation of the read set.
const READS_HOLD: &str = "$9::boolean";

const VERSIONS: &str = "SELECT id, version FROM items WHERE collection = $1";

/// The texts of the writes, made once. Both deletions take who deletes as `$1` to `$4`
/// (`write/author.rs`); then that of one item takes `$5` id, `$6` collection, `$7` parent, `$8` expected
/// version and `$9` whether the read set holds, that of many `$5` collection and `$6` ids, a JSON
/// array.
#[derive(Debug)]
pub(crate) struct PostgresWrites {
    rows: PostgresRowWrites,
    delete: String,
    delete_all: String,
}

impl PostgresWrites {
    pub fn new() -> Self {
        let delete = delete(READS_HOLD);
        Self { rows: PostgresRowWrites::new(), delete, delete_all: delete_all() }
    }

    /// Does writes of single rows together; does them again when the database rolled them back for
    /// the sake of others, and one by one when one of them spoils it for all.
    pub async fn perform_rows(&self, pool: &Pool, writes: &[RowWrite<'_>]) -> Vec<Answer> {
        let mut answers = Vec::with_capacity(writes.len());
        while let rest @ [_, ..] = &writes[answers.len()..] {
            let together = &rest[..together(rest)];
            match self.try_rows(pool, together).await {
                Ok(done) => answers.extend(done),
                Err(WriteError::RolledBack(error)) if together.len() > 1 && !is_lost(&error) => {
                    tracing::warn!(%error, writes = together.len(), "a write failed; retrying its batch one by one");
                    pool.metrics().retries.one_by_one.inc_by(together.len() as u64);
                    for write in together {
                        let alone = [*write];
                        let done = self.try_rows(pool, &alone).await;
                        answers.push(done.map_or_else(|error| Err(error.logged()), only));
                    }
                }
                Err(error) => answers.extend(vec![Err(error.logged()); together.len()]),
            }
        }
        answers
    }

    /// Executes single-row writes in one transaction.
    ///
    /// An update that waited for the lock of its item has not seen the key of the write that held
    /// the lock. So a refused update with a key is decided once more in a separate transaction; the
    /// other writes stay committed.
    async fn try_rows(
        &self,
        pool: &Pool,
        writes: &[RowWrite<'_>],
    ) -> Result<Vec<Answer>, WriteError> {
        let mut answers = again(pool, |_| self.attempt_rows(pool, writes)).await?;
        for (write, answer) in writes.iter().zip(&mut answers) {
            if answer.is_err() && write.metadata.key.is_some() && !write.row.adds() {
                let alone = [*write];
                let done = again(pool, |_| self.attempt_rows(pool, &alone)).await;
                *answer = done.map_or_else(|error| Err(error.logged()), only);
            }
        }
        Ok(answers)
    }

    /// Executes the writes in one transaction. It excludes other writes only if the writes have
    /// lookups whose results must not change meanwhile.
    async fn attempt_rows(
        &self,
        pool: &Pool,
        writes: &[RowWrite<'_>],
    ) -> Result<Vec<Answer>, WriteError> {
        let is_exclusive = |write: &RowWrite<'_>| {
            !write.metadata.read_set.is_empty()
                || matches!(write.row.kind, RowChangeKind::Restore { .. })
        };
        if writes.iter().any(is_exclusive) {
            let metadata = writes.iter().map(|write| write.metadata);
            let begun = ExclusiveTransaction::begin(pool, BATCH, metadata).await;
            let ExclusiveTransaction { session, current_reads, held: _held, .. } =
                begun.map_err(WriteError::RolledBack)?;
            let done = self.perform_in_transaction(&session, writes, &current_reads).await;
            return WriteError::unless(done, &session);
        }
        let no_reads = CurrentReads::default();
        if !self.rows.are_alike(writes) {
            let session = Session::begin(pool, BATCH).await.map_err(WriteError::RolledBack)?;
            let done = self.perform_in_transaction(&session, writes, &no_reads).await;
            return WriteError::unless(done, &session);
        }
        let session = Session::open(pool, BATCH).await.map_err(WriteError::RolledBack)?;
        // The statement commits, too.
        let done = self.rows.perform(&session, writes, &no_reads).instrument(spans::commit());
        WriteError::unless(done.await, &session)
    }

    async fn perform_in_transaction(
        &self,
        transaction: &Session,
        writes: &[RowWrite<'_>],
        current_reads: &CurrentReads,
    ) -> Result<Vec<Answer>, DbErr> {
        let done = self.rows.perform(transaction, writes, current_reads).await?;
        transaction.commit().await?;
        Ok(done)
    }

    /// Does a write of another kind.
    pub async fn perform(&self, pool: &Pool, write: &Write) -> Answer {
        let done = again(pool, |attempt| self.attempt(pool, write, attempt)).await;
        done.unwrap_or_else(|error| Err(error.logged()))
    }

    async fn attempt(
        &self,
        pool: &Pool,
        write: &Write,
        attempt: u32,
    ) -> Result<Answer, WriteError> {
        let Write { change, metadata } = write;
        match change {
            // One statement does not see what another inserted while it waited for the lock, and
            // the foreign key refuses to remove the item alone.
            Change::Delete(deletion) if metadata.read_set.is_empty() && attempt == 1 => {
                let session = Session::open(pool, ALONE).await.map_err(WriteError::RolledBack)?;
                let no_reads = CurrentReads::default();
                let done = self.delete(&session, *deletion, metadata, &no_reads);
                WriteError::unless(done.instrument(spans::commit()).await, &session)
            }
            Change::Rows(rows) if metadata.read_set.is_empty() => {
                let session = Session::begin(pool, ALONE).await.map_err(WriteError::RolledBack)?;
                let done = self.many(&session, rows, write).await;
                WriteError::unless(done, &session)
            }
            _ => {
                let read_set = std::iter::once(metadata);
                let begun = ExclusiveTransaction::begin(pool, ALONE, read_set).await;
                let transaction = begun.map_err(WriteError::RolledBack)?;
                let done = self.perform_alone(&transaction, write).await;
                WriteError::unless(done, &transaction.session)
            }
        }
    }

    /// Executes a write while no other is in progress.
    async fn perform_alone(
        &self,
        transaction: &ExclusiveTransaction,
        write: &Write,
    ) -> Result<Answer, DbErr> {
        let ExclusiveTransaction { session, time, current_reads, .. } = transaction;
        let Write { change, metadata } = write;
        match change {
            Change::Delete(deletion) => {
                let answer = self.delete(session, *deletion, metadata, current_reads).await?;
                session.commit().await?;
                Ok(answer)
            }
            _ if !current_reads.holds(metadata) => Ok(Err(RepositoryError::VersionConflict)),
            Change::Row(row) => {
                let rows = [RowWrite { row, metadata }];
                self.perform_in_transaction(session, &rows, current_reads).await.map(only)
            }
            Change::Rows(rows) => self.many(session, rows, write).await,
            Change::ReplaceAll(content) => self.replace_all(session, content, write, *time).await,
        }
    }

    /// Runs one statement, as a separate transaction unless the connection is in one.
    async fn delete(
        &self,
        connection: &impl ConnectionTrait,
        Deletion { scope, id, expected }: Deletion,
        metadata: &WriteMetadata,
        current_reads: &CurrentReads,
    ) -> Result<Answer, DbErr> {
        let values: [Value; 5] = [
            id.uuid().into(),
            scope.collection.name().into(),
            parent(scope).into(),
            expected.number().into(),
            current_reads.holds(metadata).into(),
        ];
        let values = author(metadata).chain(values);
        let undeletable = metadata.warrant.undeletable();
        let rows = if undeletable.is_empty() {
            run(connection, &self.delete, values).await?
        } else {
            let mut text = SqlText::new(&POSTGRES);
            values.for_each(|value| drop(text.bind(value)));
            // A child inserted concurrently violates the foreign key, and the deletion is retried.
            let kept = has_undeletable(&mut text, id, undeletable);
            let statement = text.finish(&delete(&format!("{READS_HOLD} AND NOT {kept}")));
            connection.query_all_raw(statement).await?
        };
        let refusal = rows.first().map(|row| row_mapping::get(row, "refusal")).transpose()?;
        let refusal = refusal.flatten().map(|refusal| condition::UPDATE_OR_DELETE.error(refusal));
        Ok(refusal.map_or(Ok(Written::Nothing), Err))
    }

    /// A transaction that is not committed is rolled back.
    async fn many(
        &self,
        transaction: &Session,
        rows: &[RowOfMany],
        write: &Write,
    ) -> Result<Answer, DbErr> {
        for rows in rows.chunks(ROWS_AT_A_TIME) {
            let metadata = write.metadata_of(rows);
            let writes = rows.iter().zip(&metadata);
            let writes: Vec<_> =
                writes.map(|(many, metadata)| RowWrite { row: &many.row, metadata }).collect();
            for answer in self.rows.perform(transaction, &writes, &CurrentReads::default()).await? {
                if let Err(refusal) = answer {
                    return Ok(Err(refusal));
                }
            }
        }
        transaction.commit().await?;
        Ok(Ok(Written::Nothing))
    }

    /// Performs row writes in chunks of [`ROWS_AT_A_TIME`].
    async fn perform_steps(
        &self,
        transaction: &Session,
        writes: &[RowWrite<'_>],
    ) -> Result<Vec<Answer>, DbErr> {
        let mut answers = Vec::with_capacity(writes.len());
        for step in writes.chunks(ROWS_AT_A_TIME) {
            answers.extend(self.rows.perform(transaction, step, &CurrentReads::default()).await?);
        }
        Ok(answers)
    }

    async fn replace_all(
        &self,
        transaction: &Session,
        content: &ContentChange,
        write: &Write,
        time: Timestamp,
    ) -> Result<Answer, DbErr> {
        let metadata = &write.row_metadata();
        let collection = content.collection;
        let rows = run(transaction, VERSIONS, [collection.name().into()]).await?;
        let versions = rows
            .iter()
            .map(|row| Ok((row_mapping::get(row, "id")?, row_mapping::get(row, "version")?)));
        let versions = versions.collect::<Result<_, DbErr>>()?;
        let revision = revision_of(transaction, content).await?;
        let removed = match removed_by(&versions, revision, content) {
            Ok(removed) => removed,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let writes: Vec<_> = content.rows.iter().map(|row| RowWrite { row, metadata }).collect();
        for answer in self.perform_steps(transaction, &writes).await? {
            answer.map_err(|refusal| {
                DbErr::Custom(format!("a step of a replacement was refused: {refusal}"))
            })?;
        }
        if !removed.is_empty() {
            let ids = listed(removed.iter().map(|(id, _)| *id));
            let values = author(metadata).chain([collection.name().into(), ids]);
            run(transaction, &self.delete_all, values).await?;
        }
        let revision = Revision(revision_of(transaction, content).await?);
        transaction.commit().await?;
        Ok(Ok(Written::Collection(CollectionWrite { time, revision })))
    }
}

/// The parameters that every deletion begins with.
fn author(metadata: &WriteMetadata) -> impl Iterator<Item = Value> {
    author::values(&metadata.warrant).into_iter().map(|value| value.map(str::to_owned).into())
}

/// The revision of a whole collection, with the writes to the related ones.
async fn revision_of(
    connection: &impl ConnectionTrait,
    content: &ContentChange,
) -> Result<i64, DbErr> {
    let mut revision = 0;
    for counted in content.counted() {
        let values = [counted.name().into(), Uuid::nil().into()];
        let rows = run(connection, REVISION, values).await?;
        if let Some(row) = rows.first() {
            revision += row_mapping::get::<i64>(row, "revision")?;
        }
    }
    Ok(revision)
}

/// Does something, and does it again when the database rolled it back for the sake of another: only
/// then, because what may have been committed must not be done twice.
async fn again<T, F: Future<Output = Result<T, WriteError>>>(
    pool: &Pool,
    attempt: impl Fn(u32) -> F,
) -> Result<T, WriteError> {
    let begun = Instant::now();
    for number in 1..ATTEMPTS {
        match attempt(number).await {
            Err(WriteError::RolledBack(error))
                if is_worth_retrying(&error) && begun.elapsed() < RETRIED_FOR =>
            {
                tracing::debug!(%error, number, "the database rolled back a write; retrying");
                pool.metrics().retries.rolled_back.inc();
                tokio::time::sleep(pause(number)).await;
            }
            done => return done,
        }
    }
    attempt(ATTEMPTS).await
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

/// The answer to a single write.
fn only(mut answers: Vec<Answer>) -> Answer {
    answers.pop().unwrap_or(Err(RepositoryError::Corrupt))
}

/// All rows are fetched even where one is wanted: the driver would end the statement early
/// otherwise.
async fn run(
    connection: &impl ConnectionTrait,
    text: &str,
    values: impl IntoIterator<Item = Value>,
) -> Result<Vec<QueryResult>, DbErr> {
    connection.query_all_raw(POSTGRES.statement(text, values)).await
}

fn delete(reads_hold: &str) -> String {
    format!(
        "WITH {fence}, found AS (SELECT i.id, i.collection, i.parent, i.version FROM items i WHERE i.id = $5 FOR UPDATE OF i), \
         judged AS (SELECT g.id, {refusal} AS refusal \
         FROM (SELECT $5 AS id, $6 AS collection, $7::uuid AS parent, $8::bigint AS expected, {reads_hold} AS reads_hold) g \
         LEFT JOIN found i ON i.id = g.id), \
         target AS (SELECT id FROM judged WHERE refusal IS NULL), {removed} SELECT refusal FROM judged",
        fence = fence::shared(),
        refusal = condition::UPDATE_OR_DELETE.refusal(false),
        removed = removed(),
    )
}

fn delete_all() -> String {
    format!(
        "WITH {fence}, target AS (SELECT i.id FROM items i WHERE i.collection = $5 \
         AND i.id IN (SELECT value::uuid FROM json_array_elements_text($6::json))), {removed} SELECT 1",
        fence = fence::shared(),
        removed = removed(),
    )
}

/// Removes each `target` and what belongs to it, all at one time.
fn removed() -> String {
    format!(
        "written AS (DELETE FROM items i WHERE i.id IN \
         (SELECT id FROM target UNION ALL SELECT c.id FROM items c JOIN target ON c.parent = target.id) \
         RETURNING i.id, i.collection, i.parent, i.version + 1 AS version, i.updated_at, i.continues), \
         removal AS (SELECT greatest((SELECT time FROM clock), MAX(updated_at) + 1) AS time FROM written), {}, {}",
        logged_changes(
            "w.collection, w.id, w.version, 'deleted', (SELECT time FROM removal), $1, $2, $3, $4, w.parent, w.continues, NULL::json",
            "written w"
        ),
        counted_writes(-1),
    )
}

/// At random below a bound, so that writers that met do not meet again.
fn pause(attempt: u32) -> Duration {
    let share = RandomState::new().hash_one(attempt) % 1000;
    PAUSE * 2_u32.pow(attempt - 1) * u32::try_from(share).unwrap_or_default() / 1000
}
