//! Standbys: servers that follow the store and can be read in its place.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::{History, ItemRepository, Result};

/// A position in the log of the store: everything that was written up to there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPosition {
    /// The history that the log is of.
    pub history: Arc<str>,
    /// How far it is from the log's beginning. Greater offsets have more.
    pub offset: u64,
}

impl LogPosition {
    /// A position that no standby is known to have: what asks for it is read from the store itself.
    pub const fn beyond_all(history: Arc<str>) -> Self {
        Self { history, offset: u64::MAX }
    }
}

/// The items of a standby, and their history.
#[derive(Clone)]
pub struct StandbyStore {
    /// The items.
    pub items: Arc<dyn ItemRepository>,
    /// Their earlier versions.
    pub history: Arc<dyn History>,
}

/// A standby that may be read now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenStandby {
    /// Its index in [`Standbys::stores`].
    pub index: usize,
    /// The history that it follows.
    pub history: Arc<str>,
    /// How long ago the store was, at most, as the standby is.
    pub lag: Duration,
    /// The state of the connections to it, where it was asked for a position.
    pub connections: Option<u64>,
}

/// The standbys of a store.
///
/// A standby has what the store had a moment ago. It MUST NOT change anything: writes, and reads that
/// need to know that no write is under way, fail there as unavailable. What is known of one server,
/// such as a revision, MUST NOT be compared with what is known of another.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Standbys: Send + Sync {
    /// All of them, always in the same order.
    fn stores(&self) -> Vec<StandbyStore>;

    /// Returns a position that has every write that was acknowledged before this was asked.
    async fn position(&self) -> Result<LogPosition>;

    /// Returns a standby that follows the history that the store has now, and lags no more than the
    /// operator permits. With a position it MUST have everything up to there, for which it is
    /// waited a moment. `None` where the store itself is to be read.
    async fn choose(&self, least: Option<LogPosition>) -> Option<ChosenStandby>;

    /// Returns whether what was read since the choice counts; if so it is counted as read there. It
    /// does not where a position was asked for and the connections are others by now: a server that
    /// was restarted may know less than before.
    fn confirm(&self, chosen: &ChosenStandby) -> bool;
}

/// Tells if the service is ready to do its work.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Readiness: Send + Sync {
    /// Asks the store something trivial, where it reads and where it writes.
    async fn check(&self) -> Result<()>;
}
