//! Writes: transactions that are retried if the database rolled them back.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use application::{RepositoryError, WriteMetadata};
use async_trait::async_trait;
use jiff::Timestamp;
use sea_orm::{ConnectionTrait as _, DbErr, Statement, Value};
use tokio::task::JoinHandle;
use tracing::{Instrument as _, Span};

use crate::error::{DbResult, is_lost, is_worth_retrying, logged};
use crate::postgres::connections::Connections;
use crate::postgres::fence;
use crate::postgres::history_lock::HistoryLock;
use crate::postgres::server::Purpose;
use crate::postgres::session::{Effect, Limits, Session, typed};
use crate::read::past::on_timeline;
use crate::spans;
use crate::sql::dialect::{Dialect, POSTGRES};
use crate::write::batch::{is_one_statement, together};
use crate::write::command::{Answer, Change, Write};
use crate::write::queue::Writer;
use crate::write::read_set::{CurrentReads, looks};
use crate::write::row::{RowKind, RowWrite};
use crate::write::statements::{is_restricted, only, write_alone, write_rows};

const ATTEMPTS: u32 = 5;

/// The longest pause before the second attempt; it doubles with each.
const PAUSE: Duration = Duration::from_millis(10);

const RETRIED_FOR: Duration = Duration::from_secs(10);

const ALONE: Limits = Limits { answer: Duration::from_secs(25), can_repeat: false };

#[derive(Clone)]
pub(crate) struct PostgresWriter {
    pub pool: Arc<Connections>,
    pub history: Arc<HistoryLock>,
}

#[async_trait]
impl Writer for PostgresWriter {
    const DIALECT: &'static Dialect = &POSTGRES;

    fn start(worker: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        Purpose::Write.runtime().spawn(worker)
    }

    /// Writes single rows together. If one of them fails unexpectedly, each is retried alone.
    async fn commit(&self, writes: &[&Write]) -> Vec<Answer> {
        let rows: Vec<_> = writes.iter().filter_map(|write| write.row()).collect();
        let mut answers = Vec::with_capacity(rows.len());
        while let rest @ [_, ..] = &rows[answers.len()..] {
            let together = &rest[..together(rest)];
            match self.try_rows(together).await {
                Ok(done) => answers.extend(done),
                Err(WriteError::RolledBack(error)) if together.len() > 1 && !is_lost(&error) => {
                    tracing::warn!(%error, writes = together.len(), "a write failed; retrying its batch one by one");
                    self.pool.server.metrics.retries.one_by_one.inc_by(together.len() as u64);
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
    /// Executes rows in one transaction. An update that waited for its item's lock has not seen the
    /// key of the write before. So a refused update with a key is attempted once more, alone.
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

    async fn attempt_rows(
        &self,
        writes: &[RowWrite<'_>],
        attempt: u32,
    ) -> Result<Vec<Answer>, WriteError> {
        let _writing = self.history.write().await.map_err(WriteError::RolledBack)?;
        let begun = if writes.iter().any(|write| is_exclusive(write, attempt)) {
            let read_sets = writes.iter().map(|write| write.metadata);
            Transaction::exclude_others(self, Limits::LOCK, read_sets).await
        } else if is_one_statement(writes) {
            Transaction::of_one_statement(self, Limits::LOCK).await
        } else {
            Transaction::begin(self, Limits::LOCK).await
        };
        let transaction = begun.map_err(WriteError::RolledBack)?;
        // A statement outside a transaction commits, too.
        let span = if transaction.is_open { Span::none() } else { spans::commit() };
        let written = write_rows(&transaction.session, writes, &transaction.current_reads);
        let done = written.instrument(span).await;
        transaction.commit_if(done, |_| true).await
    }

    pub async fn write_alone(&self, write: &Write) -> Answer {
        let done = self.again(|_| self.attempt_alone(write)).await;
        done.unwrap_or_else(|error| Err(error.logged()))
    }

    async fn attempt_alone(&self, write: &Write) -> Result<Answer, WriteError> {
        let Write { change, metadata } = write;
        let _writing = self.history.write().await.map_err(WriteError::RolledBack)?;
        let begun = if matches!(change, Change::Rows(_)) && metadata.read_set.is_empty() {
            Transaction::begin(self, ALONE).await
        } else {
            Transaction::exclude_others(self, ALONE, std::iter::once(metadata)).await
        };
        let transaction = begun.map_err(WriteError::RolledBack)?;
        let Transaction { session, current_reads, time, .. } = &transaction;
        let done = write_alone(session, write, current_reads, time.unwrap_or(metadata.time)).await;
        transaction.commit_if(done, Result::is_ok).await
    }

    /// Repeats only rolled-back transactions: changes that may be committed must not be made twice.
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
                    self.pool.server.metrics.retries.rolled_back.inc();
                    tokio::time::sleep(pause(number)).await;
                }
                done => return done,
            }
        }
        attempt(ATTEMPTS).await
    }
}

/// Returns whether no other write may be in progress: lookups, the history of a restored item, or
/// the items below a deleted one must not change. A deletion that waited does not see an item added
/// below; then a foreign key is violated, and it is repeated.
fn is_exclusive(write: &RowWrite<'_>, attempt: u32) -> bool {
    let is_repeated_deletion = write.row.kind == RowKind::Delete && attempt > 1;
    !write.metadata.read_set.is_empty()
        || write.row.kind == RowKind::Restore
        || is_repeated_deletion
        || is_restricted(write)
}

/// A session for writes, in a transaction if it `is_open`.
struct Transaction<'a> {
    writer: &'a PostgresWriter,
    session: Session,
    /// The current results of the lookups in the read sets of its writes.
    current_reads: CurrentReads,
    time: Option<Timestamp>,
    excludes_since: Option<Instant>,
    is_open: bool,
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if let Some(since) = self.excludes_since {
            self.writer.pool.server.metrics.lock_held.observe(since.elapsed().as_secs_f64());
        }
    }
}

impl<'a> Transaction<'a> {
    async fn of_one_statement(writer: &'a PostgresWriter, limits: Limits) -> DbResult<Self> {
        let mut session = writer.pool.session(limits).await?;
        // Without a connection, the first statement fails.
        let timeline = (&mut session.timeline).await.unwrap_or_default();
        let current_reads = CurrentReads::of(on_timeline(&writer.history.id(), timeline));
        let (time, excludes_since, is_open) = (None, None, false);
        Ok(Self { writer, session, current_reads, time, excludes_since, is_open })
    }

    async fn begin(writer: &'a PostgresWriter, limits: Limits) -> DbResult<Self> {
        let mut transaction = Self::of_one_statement(writer, limits).await?;
        transaction.session.run(Effect::Begin, "BEGIN").await?;
        transaction.is_open = true;
        Ok(transaction)
    }

    /// Waits for the writes in progress and blocks later ones.
    async fn exclude_others(
        writer: &'a PostgresWriter,
        limits: Limits,
        read_sets: impl Iterator<Item = &'a WriteMetadata>,
    ) -> DbResult<Self> {
        let looks = looks(read_sets);
        let (mut message, mut values) = (fence::EXCLUDE_OTHERS.to_owned(), Vec::new());
        for look in &looks {
            message = message + "; " + &with_settings(look.statement(&POSTGRES), &mut values);
        }
        let mut transaction = Self::begin(writer, limits).await?;
        let session = &transaction.session;
        if !values.is_empty() {
            session.query_all_raw(set(values)).await?;
        }
        let asked = Instant::now();
        let mut answers = session.run(Effect::None, message).await?;
        transaction.excludes_since = Some(Instant::now());
        writer.pool.server.metrics.lock_wait.observe(asked.elapsed().as_secs_f64());
        let found = answers.split_off(answers.len().saturating_sub(looks.len()));
        for (look, found) in looks.iter().zip(found) {
            match look.apart(found.len()) {
                Some(apart) => transaction.current_reads.find(session, apart).await?,
                None => transaction.current_reads.note(look, typed(&found)?),
            }
        }
        transaction.time = Some(fence::time(&answers)?);
        Ok(transaction)
    }

    async fn commit_if<T>(
        self,
        done: DbResult<T>,
        is_kept: impl Fn(&T) -> bool,
    ) -> Result<T, WriteError> {
        let done = match done {
            Ok(done) if self.is_open && is_kept(&done) => {
                self.session.commit().await.map(|()| done)
            }
            done => done,
        };
        let may_have_committed = self.session.may_have_committed();
        let error = if may_have_committed { WriteError::Unknown } else { WriteError::RolledBack };
        done.map_err(error)
    }
}

enum WriteError {
    /// Nothing was committed.
    RolledBack(DbErr),
    /// The commit was in progress.
    Unknown(DbErr),
}

impl WriteError {
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

/// Random, so that conflicting writers do not meet again.
fn pause(attempt: u32) -> Duration {
    let share = RandomState::new().hash_one(attempt) % 1000;
    PAUSE * 2_u32.pow(attempt - 1) * u32::try_from(share).unwrap_or_default() / 1000
}

fn set(values: Vec<Value>) -> Statement {
    let setting = |(index, value): (usize, &Value)| {
        let (number, kind) = (index + 1, kind(value));
        format!("set_config('proposal_service.lookup_{number}', ${number}::{kind}::text, true)")
    };
    let settings: Vec<_> = values.iter().enumerate().map(setting).collect();
    POSTGRES.statement(&format!("SELECT {}", settings.join(", ")), values)
}

/// The text of a statement with settings as parameters, whose values are added to `values`. A
/// subquery is executed once, not for each row. Its cast keeps `ANY` from taking it for rows.
fn with_settings(statement: Statement, values: &mut Vec<Value>) -> String {
    let (mut text, first) = (statement.sql, values.len());
    values.extend(statement.values.into_iter().flat_map(|values| values.0));
    // From the last, because `$1` is also the beginning of `$10`.
    for (index, value) in values.iter().enumerate().skip(first).rev() {
        let (number, kind) = (index + 1, kind(value));
        let setting =
            format!("(SELECT current_setting('proposal_service.lookup_{number}')::{kind})::{kind}");
        text = text.replace(&format!("${}", number - first), &setting);
    }
    text
}

const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Array(..) => "text[]",
        Value::BigInt(_) => "bigint",
        _ => "text",
    }
}

#[cfg(test)]
mod tests {
    use sea_orm::Value;

    use super::{set, with_settings};
    use crate::sql::dialect::POSTGRES;
    use crate::sql::sql_text::texts;

    #[test]
    fn nothing_of_a_value_is_in_the_text() {
        let value = "a'); DROP TABLE items; --";
        let given: [Value; 3] = [texts([value.to_owned()].into_iter()), value.into(), 7_i64.into()];
        let mut values = vec![Value::from("0")];
        let text = with_settings(POSTGRES.statement("$1 $2 $3", given.clone()), &mut values);
        let setting = "(SELECT current_setting('proposal_service.lookup_";
        assert_eq!(
            text,
            format!(
                "{setting}2')::text[])::text[] {setting}3')::text)::text {setting}4')::bigint)::bigint"
            )
        );
        assert_eq!(values[1..], given);
        assert!(!set(values).sql.contains("DROP"));
    }

    #[test]
    fn parameters_are_replaced_by_their_numbers() {
        let given = (1..=11).map(Value::from);
        let text = with_settings(POSTGRES.statement("$1 + $11 = $2", given), &mut Vec::new());
        let numbers = text.split("lookup_").skip(1).map(|rest| rest.split('\'').next().unwrap());
        assert_eq!(numbers.collect::<Vec<_>>(), ["1", "11", "2"]);
    }
}
