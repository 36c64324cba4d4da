//! Background tasks: deleting expired data and sampling sizes.

use std::sync::Arc;
use std::time::Duration;

use application::ports::{Clock, Result, SessionStore as _};
use jiff::{SignedDuration, Timestamp};
use tokio::time::sleep;

use crate::engine::ReadMode;
use crate::sql::row_mapping;
use crate::store::Store;

/// Pauses between searches for expired keys and sessions.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// The pause between samples of the index, and the number of them between samples of sizes.
const INDEX_PERIOD: Duration = Duration::from_secs(5);
const SIZES_PERIODS: u32 = 12;

impl Store {
    /// Fills in columns of migrations, and periodically deletes idempotency keys after `lifetime`,
    /// and sessions that have ended.
    pub async fn keep_up(self, clock: Arc<dyn Clock>, lifetime: Duration) {
        tokio::join!(self.forget_expired(clock, lifetime), self.fill_in_at_last());
    }

    async fn forget_expired(&self, clock: Arc<dyn Clock>, lifetime: Duration) {
        let pause = (lifetime / 4).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        loop {
            sleep(pause).await;
            if let Err(error) = self.forget_requests(clock.now()).await {
                tracing::warn!(%error, "cannot remove expired idempotency keys; retrying");
            }
            if let Err(error) = self.database.end_expired(clock.now()).await {
                tracing::warn!(%error, "cannot remove sessions that have ended; retrying");
            }
        }
    }

    async fn fill_in_at_last(&self) {
        while let Err(error) = self.fill_in().await {
            tracing::warn!(%error, "retrying");
            sleep(LONGEST_PAUSE).await;
        }
    }

    /// Samples the store's gauges periodically. Errors are already logged.
    pub async fn keep_sampling(self, clock: Arc<dyn Clock>) {
        for period in (0..SIZES_PERIODS).cycle() {
            let _ = self.sample_index_lag(clock.now()).await;
            if period == 0
                && let Ok(writer) = self.database.writer()
                && let Ok(sample) = writer.sample().await
            {
                *writer.metrics().sampled.lock() = sample;
            }
            sleep(INDEX_PERIOD).await;
        }
    }

    async fn sample_index_lag(&self, here: Timestamp) -> Result<()> {
        let reader = &*self.database.reader;
        let lag = reader.dialect().statement(sql_file!("both/index/progress"), []);
        let read_rows = |rows: &[_]| {
            let Some(row) = rows.first() else { return Ok((0, None)) };
            let get = |column| row_mapping::get::<i64>(row, column);
            let oldest = row_mapping::optional_timestamp(row, "oldest")?;
            Ok((get("written")? - get("indexed")?, oldest))
        };
        let (changes, oldest) = reader.query("index_lag", ReadMode::QUICK, lag, read_rows).await?;
        let age = match oldest {
            Some(oldest) => self.database.writer()?.now(here).await?.duration_since(oldest),
            None => SignedDuration::ZERO,
        };
        reader.metrics().index_lag_changes.set(changes);
        reader.metrics().index_lag_seconds.set(age.as_secs_f64().max(0.0));
        Ok(())
    }
}
