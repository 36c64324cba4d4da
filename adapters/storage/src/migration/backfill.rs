//! The backfill of existing rows of `items`: in the order of their identifiers, in small batches
//! with pauses, while services read and write. After an interruption it continues where it stopped.

use std::time::{Duration, Instant};

use application::RepositoryError;
use sea_orm::{ConnectionTrait, DbErr, Statement};
use tokio::time::sleep;
use uuid::Uuid;

use super::progress;
use super::stages::Backfill;
use crate::engine::WriteEngine;
use crate::error::logged;
use crate::sql::dialect::Dialect;
use crate::sql::row_mapping;

/// Rows that are changed at a time.
pub(super) const ROWS: i64 = 500;

/// The shortest pause after a batch; the pause is as long as the batch took, so that half of the
/// time is left to others.
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);

/// The pause when another instance does the same, or the database does not answer.
const LONG_PAUSE: Duration = Duration::from_secs(1);

/// Batches that may fail one after the other.
const FAILURES: u32 = 60;

/// A backfill of a migration, and the step that its progress is kept by.
pub(super) struct Filling<'a> {
    pub migration: &'static str,
    pub step: &'a str,
    pub backfill: Backfill,
}

impl Filling<'_> {
    /// Fills in what is missing, to the end.
    pub async fn run(&self, engine: &dyn WriteEngine) -> Result<(), RepositoryError> {
        let start =
            progress::begin(engine.dialect(), self.migration, self.step, &Uuid::nil().to_string());
        let mut failures = 0;
        let mut begun = false;
        loop {
            let since = Instant::now();
            let batch = async {
                if !begun {
                    engine.execute("backfill", start.clone()).await?;
                }
                self.batch(engine).await
            };
            match batch.await {
                Ok(Batch::End) => return Ok(()),
                Ok(Batch::Done) => {
                    (failures, begun) = (0, true);
                    sleep(since.elapsed().max(SHORTEST_PAUSE)).await;
                }
                Ok(Batch::DoneByAnother) => sleep(LONG_PAUSE).await,
                Err(error) => {
                    failures += 1;
                    if failures == FAILURES {
                        return Err(error);
                    }
                    sleep(LONG_PAUSE).await;
                }
            }
        }
    }

    /// The rows are changed before the progress is kept: those of a batch that was interrupted in
    /// between are looked at again.
    async fn batch(&self, engine: &dyn WriteEngine) -> Result<Batch, RepositoryError> {
        let dialect = engine.dialect();
        let found = progress::position(engine.schema(), self.migration, self.step).await;
        let Some(position) = found.map_err(|error| logged(&error, "backfill"))? else {
            return Ok(Batch::End);
        };
        let from = Uuid::try_parse(&position).map_err(|_| RepositoryError::Corrupt)?;
        let end = end_of_batch(engine, from).await;
        let end = end.map_err(|error| logged(&error, "backfill"))?;
        engine.execute("backfill", self.change(dialect, from, end)).await?;
        let next = end.unwrap_or(from).to_string();
        let advance = progress::advance(
            dialect,
            [self.migration, self.step, &position],
            &next,
            end.is_none(),
        );
        let is_advanced = engine.execute("backfill", advance).await? > 0;
        Ok(match (is_advanced, end) {
            (false, _) => Batch::DoneByAnother,
            (true, Some(_)) => Batch::Done,
            (true, None) => Batch::End,
        })
    }

    /// The assignment and the rows are those of the migration.
    fn change(&self, dialect: &Dialect, from: Uuid, end: Option<Uuid>) -> Statement {
        let Backfill { set, stale } = self.backfill;
        let stale = stale(dialect);
        let text = format!("UPDATE items SET {set} WHERE id > $1 AND id <= $2 AND {stale}");
        dialect.statement(&text, [from.into(), end.unwrap_or(Uuid::max()).into()])
    }
}

enum Batch {
    Done,
    DoneByAnother,
    End,
}

/// The last identifier of the next rows; `None` when fewer are left.
async fn end_of_batch(engine: &dyn WriteEngine, from: Uuid) -> Result<Option<Uuid>, DbErr> {
    let values = [from.into(), (ROWS - 1).into()];
    let end = engine.dialect().statement(sql_file!("both/backfill_end"), values);
    let row = engine.schema().query_one_raw(end).await?;
    row.map(|row| row_mapping::get(&row, "id")).transpose()
}
