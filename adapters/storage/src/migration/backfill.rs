//! Backfill of existing rows of `items` while services run, in small batches with pauses.

use std::time::{Duration, Instant};

use application::ports::{RepositoryError, Result};
use sea_orm::ConnectionTrait;
use tokio::time::sleep;
use uuid::Uuid;

use super::Backfill;
use super::progress::PendingStep;
use crate::engine::WriteEngine;
use crate::error::{DbResult, logged};
use crate::sql::row_mapping;

pub(super) const ROWS: i64 = 500;

/// The shortest pause. A pause is as long as its batch, so that half of the time is left to others.
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);

/// The pause when another instance does the same, or the database does not answer.
const LONG_PAUSE: Duration = Duration::from_secs(1);

/// The most consecutive failures.
const FAILURES: u32 = 60;

pub(super) async fn run(
    engine: &dyn WriteEngine,
    step: &PendingStep,
    backfill: Backfill,
) -> Result<()> {
    let mut failures = 0;
    loop {
        let pause = match batch(engine, step, backfill).await {
            Ok(None) => return Ok(()),
            Ok(Some(pause)) => {
                failures = 0;
                pause
            }
            Err(error) if failures == FAILURES => return Err(error),
            Err(_) => {
                failures += 1;
                LONG_PAUSE
            }
        };
        sleep(pause).await;
    }
}

/// Returns the pause before the next batch; `None` after the last one.
async fn batch(
    engine: &dyn WriteEngine,
    step: &PendingStep,
    Backfill { set, stale }: Backfill,
) -> Result<Option<Duration>> {
    let (began, dialect) = (Instant::now(), engine.dialect());
    let row = step.record(dialect, &Uuid::nil().to_string(), false);
    engine.execute("backfill", row).await?;
    let position = step.position(engine.schema()).await;
    let Some(position) = position.map_err(|error| logged(&error, "backfill"))? else {
        return Ok(None);
    };
    let from = Uuid::try_parse(&position).map_err(|_| RepositoryError::Corrupt)?;
    let end = end_of_batch(engine, from).await;
    let end = end.map_err(|error| logged(&error, "backfill"))?;
    let stale = stale(dialect);
    let text = format!("UPDATE items SET {set} WHERE id > $1 AND id <= $2 AND {stale}");
    let values = [from.into(), end.unwrap_or(Uuid::max()).into()];
    engine.execute("backfill", dialect.statement(&text, values)).await?;
    let next = end.unwrap_or(from).to_string();
    let advance = step.advance(dialect, &position, &next, end.is_none());
    let is_advanced = engine.execute("backfill", advance).await? > 0;
    Ok(match (is_advanced, end) {
        (false, _) => Some(LONG_PAUSE),
        (true, Some(_)) => Some(began.elapsed().max(SHORTEST_PAUSE)),
        (true, None) => None,
    })
}

/// The last identifier of the next rows; `None` if fewer are left.
async fn end_of_batch(engine: &dyn WriteEngine, from: Uuid) -> DbResult<Option<Uuid>> {
    let values = [from.into(), (ROWS - 1).into()];
    let end = engine.dialect().statement(sql_file!("both/migration/backfill_end"), values);
    let row = engine.schema().query_one_raw(end).await?;
    row.map(|row| row_mapping::get(&row, "id")).transpose()
}
