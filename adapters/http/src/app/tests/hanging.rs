//! Ports that do not answer.

use std::future::pending;
use std::sync::Arc;

use application::ports::MockStandbys;
use application::{
    ChosenStandby, History, ItemContent, ListedPage, LogPosition, LoggedChange, PastPageQuery,
    PastVersion, Reach, ReachedVersion, RepositoryError, Sequence, StandbyStore, Standbys,
};
use async_trait::async_trait;
use domain::{ItemId, Version};
use jiff::Timestamp;

type Result<T> = std::result::Result<T, RepositoryError>;

pub struct HangingHistory;

#[async_trait]
impl History for HangingHistory {
    async fn versions(
        &self,
        _: &Reach,
        _: ItemId,
        _: Version,
        _: u64,
    ) -> Result<Vec<LoggedChange>> {
        pending().await
    }

    async fn version(&self, _: &Reach, _: ItemId, _: Version) -> Result<Option<PastVersion>> {
        pending().await
    }

    async fn version_at(&self, _: &Reach, _: ItemId, _: Timestamp) -> Result<Option<PastVersion>> {
        pending().await
    }

    async fn page_at(&self, _: &Reach, _: Timestamp, _: &PastPageQuery) -> Result<ListedPage> {
        pending().await
    }

    async fn contents(&self, _: &Reach, _: &[Sequence]) -> Result<Vec<ItemContent>> {
        pending().await
    }

    async fn versions_in_reach(
        &self,
        _: &Reach,
        _: &[(ItemId, Version)],
    ) -> Result<Vec<ReachedVersion>> {
        pending().await
    }

    async fn latest_time(&self) -> Result<Option<Timestamp>> {
        pending().await
    }
}

/// Standbys that do not answer some of what they are asked, and never what was at a time.
pub struct HangingStandbys {
    pub inner: MockStandbys,
    pub is_choice_slow: bool,
    pub is_position_slow: bool,
}

#[async_trait]
impl Standbys for HangingStandbys {
    fn stores(&self) -> Vec<StandbyStore> {
        let hanging = |store| StandbyStore { history: Arc::new(HangingHistory), ..store };
        self.inner.stores().into_iter().map(hanging).collect()
    }

    async fn position(&self) -> Result<LogPosition> {
        if self.is_position_slow {
            return pending().await;
        }
        self.inner.position().await
    }

    async fn choose(&self, least: Option<LogPosition>) -> Option<ChosenStandby> {
        if self.is_choice_slow {
            return pending().await;
        }
        self.inner.choose(least).await
    }

    fn confirm(&self, chosen: &ChosenStandby) -> bool {
        self.inner.confirm(chosen)
    }
}
