//! A standby: a server that follows the primary and accepts no writes.
//!
//! A separate connection watches whether the server is a standby, the id of its history, and its
//! replay position in the log. All reading connections must lead to the watched server, so a read
//! contains every change that the watcher saw replayed before the read began.

pub(crate) mod engine;
pub(crate) mod lag;
mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch as channel};

use crate::StoreOptions;
use crate::error::StoreError;
use crate::metrics::StoreMetrics;
use crate::postgres::SLOW_CONNECTIONS;
use crate::postgres::connections::{ConnectionOptions, Connections};
use crate::postgres::losses::Losses;
use crate::postgres::server::{Purpose, Server};
use crate::postgres::server_process::ServerProcess;
use crate::postgres::standby::engine::StandbyEngine;

/// The longest time that a standby is trusted without having been looked at.
const TRUSTED_FOR: Duration = Duration::from_secs(3);

/// The state of a standby when it was last looked at.
#[derive(Clone, Debug)]
pub(crate) struct StandbyState {
    /// The id of the history that its database holds.
    pub history: Arc<str>,
    /// The timeline that it follows, or an earlier one for a while after a failover.
    pub timeline: u32,
    /// The position up to which it has replayed the log.
    pub replayed: u64,
    /// The [connections](Standby::connections) before it was looked at. While they are the same none
    /// goes to a server that was restarted since, and may know less.
    pub connections: u64,
    at: Instant,
}

/// A standby, and what is known of it.
pub(crate) struct Standby {
    /// The name of the database for messages, without credentials.
    pub target: String,
    /// Reads that were answered from it.
    pub reads: AtomicU64,
    watcher: Connections,
    process: Arc<ServerProcess>,
    losses: Arc<Losses>,
    /// `None` while it cannot be read.
    state: channel::Sender<Option<StandbyState>>,
    /// Those who wait until it has replayed a position.
    waiting: AtomicUsize,
    is_awaited: Notify,
}

impl Standby {
    /// A standby at a URL, which is connected to when it is [watched](Self::watch), and the engine that
    /// reads it.
    pub fn new(
        url: &str,
        options: &StoreOptions,
        metrics: &Arc<StoreMetrics>,
    ) -> Result<(Arc<Self>, StandbyEngine), StoreError> {
        let (process, losses) = (Arc::<ServerProcess>::default(), Arc::new(Losses::new()));
        let server = Server::parse(url)?;
        let target = server.target();
        let connections = |server, purpose, connections, canceller| {
            Connections::new(ConnectionOptions {
                server: Arc::new(server),
                purpose,
                connections,
                canceller,
                losses: Arc::clone(&losses),
                acquire_timeout: options.acquire_timeout,
                metrics: Arc::clone(metrics),
            })
        };
        let bound = || Ok::<_, StoreError>(Server::parse(url)?.bound_to(Arc::clone(&process)));
        let slow = SLOW_CONNECTIONS.min(options.connections / 4).max(1);
        let quick = options.connections.saturating_sub(slow).max(1);
        let readers = connections(bound()?, Purpose::Read, quick, None);
        let slow_readers = connections(bound()?, Purpose::Search, slow, Some(readers.clone()));
        let engine = StandbyEngine { metrics: Arc::clone(metrics), readers, slow_readers };
        let standby = Self {
            target,
            reads: AtomicU64::new(0),
            watcher: connections(server, Purpose::Read, 1, None),
            process,
            losses,
            state: channel::Sender::new(None),
            waiting: AtomicUsize::new(0),
            is_awaited: Notify::new(),
        };
        Ok((Arc::new(standby), engine))
    }

    /// The state in which it can be read.
    pub fn state(&self) -> Option<StandbyState> {
        self.state.borrow().clone().filter(|state| state.at.elapsed() < TRUSTED_FOR)
    }

    /// A number that differs when a connection was lost or opened.
    pub fn connections(&self) -> u64 {
        self.losses.count()
    }

    /// Returns when it has replayed up to a position, or cannot be read any more.
    pub async fn replay(&self, position: u64) {
        let _waiting = Waiting::among(&self.waiting);
        self.is_awaited.notify_one();
        let mut state = self.state.subscribe();
        let has_replayed = |state: &StandbyState| {
            state.replayed >= position && state.connections == self.connections()
        };
        let is_over = |state: &Option<StandbyState>| state.as_ref().is_none_or(has_replayed);
        // The sender is not dropped while it is borrowed.
        let _ = state.wait_for(is_over).await;
    }

    /// Closes the connection on which it is watched.
    pub async fn close(&self) {
        self.watcher.close().await;
    }
}

/// One of those who wait, until this is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn among(all: &'a AtomicUsize) -> Self {
        all.fetch_add(1, Ordering::Relaxed);
        Self(all)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
