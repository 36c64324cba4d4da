//! The backfill of existing rows of `items`: in the order of their identifiers, in small batches
//! with pauses, while services read and write. After an interruption it continues where it stopped.

use std::time::{Duration, Instant};

use application::RepositoryError;
use sea_orm::{ConnectionTrait, DbBackend, DbErr, Statement};
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
        let end = end_of_batch(engine, &position).await;
        let end = end.map_err(|error| logged(&error, "backfill"))?;
        engine.execute("backfill", self.change(dialect, &position, end.as_deref())).await?;
        let next = end.as_deref().unwrap_or(&position);
        let advance =
            progress::advance(dialect, [self.migration, self.step, &position], next, end.is_none());
        let is_advanced = engine.execute("backfill", advance).await? > 0;
        Ok(match (is_advanced, end) {
            (false, _) => Batch::DoneByAnother,
            (true, Some(_)) => Batch::Done,
            (true, None) => Batch::End,
        })
    }

    fn change(&self, dialect: &Dialect, position: &str, end: Option<&str>) -> Statement {
        let Backfill { set, stale } = self.backfill;
        let (from, stale) = (id(dialect, "$1"), stale(dialect));
        let change = format!("UPDATE items SET {set} WHERE id > {from} AND {stale}");
        match end {
            Some(end) => {
                let text = format!("{change} AND id <= {}", id(dialect, "$2"));
                dialect.statement(&text, [position.into(), end.into()])
            }
            None => dialect.statement(&change, [position.into()]),
        }
    }
}

enum Batch {
    Done,
    DoneByAnother,
    End,
}

/// The last identifier of the next rows; `None` when fewer are left.
async fn end_of_batch(engine: &dyn WriteEngine, position: &str) -> Result<Option<String>, DbErr> {
    let dialect = engine.dialect();
    let text = format!(
        "SELECT {text} AS end_of_batch FROM items n WHERE n.id > {from} ORDER BY n.id LIMIT 1 OFFSET {skipped}",
        text = dialect.id_text,
        from = id(dialect, "$1"),
        skipped = ROWS - 1,
    );
    let row = engine.schema().query_one_raw(dialect.statement(&text, [position.into()])).await?;
    row.map(|row| row_mapping::get(&row, "end_of_batch")).transpose()
}

/// A parameter that is the text of an identifier.
fn id(dialect: &Dialect, parameter: &str) -> String {
    match dialect.backend {
        DbBackend::Sqlite => format!("unhex({parameter}, '-')"),
        _ => format!("{parameter}::uuid"),
    }
}
