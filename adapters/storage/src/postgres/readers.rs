//! The connections to one server that read.

use std::sync::Arc;
use std::time::Duration;

use sea_orm::{QueryResult, Statement};

use crate::engine::{ReadMode, Workers};
use crate::error::{DbResult, is_lost, needs_new_plan};
use crate::postgres::connections::Connections;
use crate::postgres::fence;
use crate::postgres::server::{Purpose, Server};
use crate::postgres::session::{Effect, Limits};

/// Few, so that reads share statements; several, so that a large page does not delay others.
pub(crate) const WORKERS: Workers = Workers { quick: 4, slow: SLOW as usize };

/// Connections for statements that may take long, if there are enough for all.
const SLOW: u32 = 2;

pub(crate) const READ: Limits = Limits { answer: Duration::from_secs(30), can_repeat: true };

/// The most statements of all connections that may be prepared before a change of the schema.
const MOST_STALE: u32 = 64;

pub(crate) struct Readers {
    pub quick: Arc<Connections>,
    /// For statements that may take long. They are cancelled when their caller goes away.
    pub slow: Arc<Connections>,
}

impl Readers {
    /// Opens at least one of each kind, and otherwise `connections` without `others`.
    pub fn new(server: &Arc<Server>, connections: u32, others: u32) -> Self {
        let slow = SLOW.min(connections / 4).max(1);
        let quick = connections.saturating_sub(slow + others).max(1);
        let quick = Connections::new(server, Purpose::Read, quick, None);
        let slow = Connections::new(server, Purpose::Search, slow, Some(&quick));
        Self { quick, slow }
    }

    pub async fn read(&self, statement: &Statement, mode: ReadMode) -> DbResult<Vec<QueryResult>> {
        twice_if_lost(async || {
            let readers = if mode.is_slow { &self.slow } else { &self.quick };
            let session = readers.session(READ).await?;
            if mode.is_settled {
                session.run(Effect::Begin, fence::BEGIN_SETTLED).await?;
            }
            session.query_last(statement.clone()).await
        })
        .await
    }

    pub async fn close(&self) {
        self.slow.close().await;
        self.quick.close().await;
    }
}

/// Retries a read once after a lost connection, and while a statement must be prepared again.
pub(crate) async fn twice_if_lost<T, F: Future<Output = DbResult<T>>>(
    read: impl Fn() -> F,
) -> DbResult<T> {
    let mut was_lost = false;
    for _ in 0..MOST_STALE {
        match read().await {
            Err(error) if is_lost(&error) && !was_lost => {
                tracing::info!(%error, "a connection was lost; retrying the read on another");
                was_lost = true;
            }
            Err(error) if needs_new_plan(&error) => {
                tracing::info!(%error, "the schema changed; retrying the read");
            }
            done => return done,
        }
    }
    read().await
}
