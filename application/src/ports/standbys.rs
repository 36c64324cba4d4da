//! Standbys: servers that replicate the store and serve reads.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::{History, ItemRepository, Result};

/// A position in the log of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPosition {
    pub history: Arc<str>,
    pub offset: u64,
}

impl LogPosition {
    /// A position that no standby has, so that the read goes to the store.
    pub const fn beyond_all(history: Arc<str>) -> Self {
        Self { history, offset: u64::MAX }
    }
}

#[derive(Clone)]
pub struct StandbyStore {
    pub items: Arc<dyn ItemRepository>,
    pub history: Arc<dyn History>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenStandby {
    pub index: usize,
    pub history: Arc<str>,
    /// The maximum lag behind the store.
    pub lag: Duration,
    /// The state of its connections, if a position was requested.
    pub connections: Option<u64>,
}

/// The standbys of a store.
///
/// A standby has the store's state of a moment ago. It MUST NOT change anything: writes, and reads
/// that exclude a write in progress, fail as unavailable. State of one server, such as a revision,
/// MUST NOT be compared with that of another.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Standbys: Send + Sync {
    /// Returns all of them, always in the same order.
    fn stores(&self) -> Vec<StandbyStore>;

    /// Returns a position that includes every write acknowledged before this call.
    async fn position(&self) -> Result<LogPosition>;

    /// Returns a standby of the store's current history within the permitted lag. With a position
    /// it MUST have everything up to there; the call waits a moment for that. `None` means the
    /// store itself.
    async fn choose(&self, least: Option<LogPosition>) -> Option<ChosenStandby>;

    /// Returns whether the reads since the choice are valid, and counts them. They are invalid if a
    /// position was requested and the connections have changed: a restarted server may have lost
    /// state.
    fn confirm(&self, chosen: &ChosenStandby) -> bool;
}

#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Readiness: Send + Sync {
    /// Sends the store a trivial query, on its read and on its write path.
    async fn check(&self) -> Result<()>;
}
