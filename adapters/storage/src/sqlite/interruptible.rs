//! Slow statements, interrupted when their future is dropped. SQLite asks a progress handler every
//! few thousand instructions whether to continue. Otherwise a dropped statement would keep a
//! processor busy to its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sea_orm::sqlx::sqlite::SqlitePool;
use sea_orm::sqlx::{AssertSqlSafe, Error, query_with};
use sea_orm::{DatabaseConnection, DbErr, QueryResult, RuntimeErr, Statement, Values};
use sea_query_sqlx::SqlxValues;

use crate::error::DbResult;

/// Steps of the machine between two questions: well below a millisecond.
const STEPS: i32 = 10_000;

struct InterruptOnDrop(Arc<AtomicBool>);

impl Drop for InterruptOnDrop {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

pub(crate) async fn read(
    connections: &DatabaseConnection,
    statement: Statement,
) -> DbResult<Vec<QueryResult>> {
    let rows = rows(connections.get_sqlite_connection_pool(), statement).await;
    rows.map_err(|error| DbErr::Query(RuntimeErr::SqlxError(error.into())))
}

async fn rows(
    pool: &SqlitePool,
    Statement { sql, values, .. }: Statement,
) -> Result<Vec<QueryResult>, Error> {
    let mut connection = pool.acquire().await?;
    let interrupt = InterruptOnDrop(Arc::new(AtomicBool::new(true)));
    let is_wanted = Arc::clone(&interrupt.0);
    // The handle is had only when the statement before has ended.
    let mut handle = connection.lock_handle().await?;
    handle.set_progress_handler(STEPS, move || is_wanted.load(Ordering::Relaxed));
    drop(handle);
    let values = SqlxValues(values.unwrap_or(Values(Vec::new())));
    let rows = query_with(AssertSqlSafe(sql), values).fetch_all(&mut *connection).await?;
    Ok(rows.into_iter().map(QueryResult::from).collect())
}
