//! Background tasks: deleting expired data and sampling sizes.

use std::sync::Arc;
use std::time::Duration;

use application::{Clock, RepositoryError};
use jiff::Timestamp;
use sea_orm::QueryResult;
use tokio::time::sleep;

use crate::engine::{ReadMode, query};
use crate::metrics::IndexLag;
use crate::sql::row_mapping;
use crate::store::Store;

/// How often expired keys are looked for.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// How often the state of the full-text index is looked at, and how often sizes are.
const INDEX_PERIOD: Duration = Duration::from_secs(5);
const SIZES_PERIODS: u32 = 12;

impl Store {
    /// Forgets requests whose keys have expired, again and again, and fills in what migrations added.
    /// Keys live as long as `lifetime`.
    pub async fn keep_up(self, clock: Arc<dyn Clock>, lifetime: Duration) {
        tokio::join!(self.forget_expired(clock, lifetime), self.fill_in_at_last());
    }

    async fn forget_expired(&self, clock: Arc<dyn Clock>, lifetime: Duration) {
        let pause = (lifetime / 4).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        loop {
            sleep(pause).await;
            match self.forget_requests(clock.now()).await {
                Ok(0) => {}
                Ok(forgotten) => {
                    tracing::debug!(forgotten, "expired idempotency keys removed");
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot remove expired idempotency keys; retrying");
                }
            }
        }
    }

    async fn fill_in_at_last(&self) {
        while let Err(error) = self.fill_in().await {
            tracing::warn!(%error, "retrying");
            sleep(LONGEST_PAUSE).await;
        }
    }

    /// Periodically samples the metrics of the store that are not counters.
    pub async fn keep_sampling(self, clock: Arc<dyn Clock>) {
        let mut until_sizes = 0;
        loop {
            // What failed was logged where it arose.
            if let Ok(lag) = self.index_lag(clock.now()).await {
                self.database.reader.metrics().set_index_lag(lag);
            }
            if until_sizes == 0 {
                until_sizes = SIZES_PERIODS;
                if let Ok(writer) = self.database.writer()
                    && let Ok(sample) = writer.sample().await
                {
                    self.database.reader.metrics().set_sample(sample);
                }
            }
            until_sizes -= 1;
            sleep(INDEX_PERIOD).await;
        }
    }

    async fn index_lag(&self, here: Timestamp) -> Result<IndexLag, RepositoryError> {
        let reader = &*self.database.reader;
        let lag = reader.dialect().statement(sql_file!("both/index_progress"), []);
        let read_rows = |rows: Vec<QueryResult>| {
            let Some(row) = rows.first() else { return Ok((0, None)) };
            let get = |column| row_mapping::get::<i64>(row, column);
            Ok((get("written")? - get("indexed")?, row_mapping::get(row, "oldest")?))
        };
        let (changes, oldest): (i64, Option<i64>) =
            query(reader, "index_lag", ReadMode::QUICK, lag, read_rows).await?;
        let age = match oldest {
            Some(oldest) => {
                self.database.writer()?.now(here).await?.as_microsecond().saturating_sub(oldest)
            }
            None => 0,
        };
        let age = Duration::from_micros(u64::try_from(age).unwrap_or(0));
        Ok(IndexLag { changes: u64::try_from(changes).unwrap_or(0), age })
    }
}
