//! Slow statements, each cancelled when its future is dropped.
//!
//! The server does not notice that the client no longer needs the result. Without a cancellation it
//! would run the statement to its end, and the connection would be busy until then.

use sea_orm::{ConnectionTrait, DbErr, QueryResult, Statement};
use tokio::runtime::Handle;

use crate::postgres::pool::Pool;
use crate::postgres::session::{Limits, Session};
use crate::sql::dialect::POSTGRES;

/// Connections whose statements are cancelled.
pub(crate) struct Cancellable {
    pub connections: Pool,
    /// Those that cancel.
    pub others: Pool,
}

/// A statement in progress, cancelled when this is dropped and still holds the session.
struct UnfinishedStatement {
    session: Option<Session>,
    process: i32,
    others: Pool,
    limits: Limits,
}

impl Drop for UnfinishedStatement {
    /// The session returns to the pool after the cancellation was sent, so that it cannot cancel
    /// another statement.
    fn drop(&mut self) {
        let (Some(session), Ok(runtime)) = (self.session.take(), Handle::try_current()) else {
            return;
        };
        let (process, others, limits) = (self.process, self.others.clone(), self.limits);
        runtime.spawn(async move {
            let cancel = POSTGRES.statement("SELECT pg_cancel_backend($1)", [process.into()]);
            let cancelled =
                async { Session::open(&others, limits).await?.execute_raw(cancel).await };
            if let Err(error) = cancelled.await {
                tracing::warn!(%error, "cannot cancel an abandoned statement");
            }
            drop(session);
        });
    }
}

impl Cancellable {
    /// Runs a statement, in the transaction that is begun for it, if one is; it is cancelled when
    /// this is dropped.
    pub async fn read(
        &self,
        statement: Statement,
        limits: Limits,
        begin: Option<&str>,
    ) -> Result<Vec<QueryResult>, DbErr> {
        let session = Session::open(&self.connections, limits).await?;
        if let Some(begin) = begin {
            session.begin_with(begin).await?;
        }
        let process = POSTGRES.statement("SELECT pg_backend_pid()", []);
        let process = session.query_one_raw(process).await?;
        let process = process.ok_or_else(|| DbErr::RecordNotFound("a process".to_owned()))?;
        let process = process.try_get_by_index(0)?;
        let mut unfinished = UnfinishedStatement {
            session: Some(session),
            process,
            others: self.others.clone(),
            limits,
        };
        let Some(session) = &unfinished.session else { return Ok(Vec::new()) };
        let rows = session.query_all_raw(statement).await;
        // It has ended, so there is nothing to cancel.
        drop(unfinished.session.take());
        rows
    }
}
