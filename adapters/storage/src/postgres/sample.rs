//! The sizes of the tables, and the servers that follow this one.

use std::time::Duration;

use sea_orm::{ConnectionTrait, DbErr};

use crate::metrics::Sample;
use crate::postgres::session::Session;
use crate::sql::dialect::POSTGRES;
use crate::sql::row_mapping;

/// The parts of the store whose sizes are reported.
const PARTS: [&str; 5] = ["changes", "items", "search_index", "value_counts", "idempotency_keys"];

/// `PostgreSQL` shows the lags of other servers only to roles that may read all statistics.
const REPLICAS: &str = "SELECT count(*) AS replicas, coalesce(ceil(extract(epoch FROM max(replay_lag)) * 1000000), 0)::bigint AS lag \
                        FROM pg_stat_replication WHERE state = 'streaming'";

/// Asks the server.
pub(crate) async fn take(session: &Session) -> Result<Sample, DbErr> {
    let sizes = PARTS.map(|part| {
        format!("coalesce(pg_total_relation_size(to_regclass('{part}')), 0) AS {part}")
    });
    let sizes = format!("SELECT {}", sizes.join(", "));
    let (mut sample, row) =
        (Sample::default(), session.query_one_raw(POSTGRES.statement(&sizes, [])).await?);
    for part in row.iter().flat_map(|_| PARTS) {
        let bytes: i64 = row.as_ref().map_or(Ok(0), |row| row_mapping::get(row, part))?;
        sample.sizes.push((part, bytes.unsigned_abs()));
    }
    if let Some(row) = session.query_one_raw(POSTGRES.statement(REPLICAS, [])).await? {
        let (replicas, lag): (i64, i64) =
            (row_mapping::get(&row, "replicas")?, row_mapping::get(&row, "lag")?);
        sample.replicas =
            Some((replicas.unsigned_abs(), Duration::from_micros(lag.unsigned_abs())));
    }
    Ok(sample)
}
