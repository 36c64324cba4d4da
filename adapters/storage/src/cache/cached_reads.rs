//! The reads of items and pages, from memory as far as it is known to be current.

use std::fmt;
use std::sync::Arc;

use application::query::PageQuery;
use application::{
    Answered, ListedPage, RepositoryError, Revision, Scope, Sequence, ShownItem, Totals,
    WriteMetadata,
};
use domain::{Collection, ItemId};
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::cache::item_cache::CachedAt;
use crate::cache::page_cache::PageCache;
use crate::cache::revision_cache::RevisionCache;
use crate::engine::Engine;
use crate::metrics::write_series;
use crate::read::queued::QueuedReads;

/// The reads and their caches. If this process is the only writer, the engine's cache holds the
/// current items. Otherwise the revision decides whether a cached item is current; all waiting
/// reads share one small statement that reads it.
pub(crate) struct CachedReads {
    engine: Arc<dyn Engine>,
    reads: QueuedReads,
    items: RevisionCache,
    pages: PageCache,
}

impl CachedReads {
    pub fn new(engine: Arc<dyn Engine>, reads: QueuedReads) -> Self {
        Self { engine, reads, items: RevisionCache::new(), pages: PageCache::new() }
    }

    /// Writes the sizes of the caches, and how many reads wait behind them.
    pub fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let items = match self.engine.write_through_cache() {
            Some(cache) => cache.bytes(),
            None => self.items.bytes(),
        };
        let sizes = [("items", items), ("pages", self.pages.bytes())];
        let sizes = sizes.map(|(cache, bytes)| ([("cache", cache)], ConstGauge::new(bytes)));
        let help = "Approximate size of a cache.";
        write_series(encoder, "proposal_service_cache_bytes", help, sizes)?;
        self.reads.encode(encoder)
    }

    /// The item, if the scope holds it.
    pub async fn item(
        &self,
        scope: Scope,
        id: ItemId,
    ) -> Result<Option<ShownItem>, RepositoryError> {
        let Some(cache) = self.engine.write_through_cache() else {
            return self.revalidated_item(scope, id).await;
        };
        match self.engine.metrics().items.count(cache.find(scope, id)) {
            Some(shown) => Ok(Some(shown)),
            None => self.reads.item(scope, id).await,
        }
    }

    /// An item of a store that others write to as well.
    async fn revalidated_item(
        &self,
        scope: Scope,
        id: ItemId,
    ) -> Result<Option<ShownItem>, RepositoryError> {
        let collection = scope.collection;
        let (losses, counted) = (self.engine.losses(), &self.engine.metrics().items);
        if self.items.may_be_current(scope, id, losses) {
            let referenced: Vec<_> = collection.referenced().collect();
            let Revision(revision) =
                self.reads.totals(Scope::of(collection), &referenced).await?.revision;
            let now = CachedAt { losses, revision };
            self.items.observe(collection, now);
            if let Some(shown) = self.items.find(scope, id, now) {
                return Ok(counted.count(Some(shown)));
            }
        }
        counted.misses.inc();
        let least = self.items.least(collection, losses);
        let found = self.reads.item(scope, id).await?;
        if let Some(shown) = &found {
            self.items.remember(collection, least, shown);
        }
        Ok(found)
    }

    /// The totals of a scope, whose parent exists.
    pub async fn totals(
        &self,
        scope: Scope,
        related: &[Collection],
    ) -> Result<Totals, RepositoryError> {
        self.reads.totals(scope, related).await
    }

    /// The changes that the selected items are at.
    pub async fn select(
        &self,
        scope: Scope,
        query: &PageQuery,
    ) -> Result<Vec<Sequence>, RepositoryError> {
        self.reads.select(scope, query).await
    }

    /// A page of a scope, whose parent exists.
    pub async fn page(
        &self,
        scope: Scope,
        query: &PageQuery,
    ) -> Result<Arc<ListedPage>, RepositoryError> {
        let losses = self.engine.losses();
        let epoch = self
            .engine
            .write_through_cache()
            .map(|cache| cache.epoch(scope.collection, &query.related).cast_signed());
        let revision = match epoch {
            Some(epoch) => epoch,
            None => self.reads.totals(scope, &query.related).await?.revision.0,
        };
        let known = self.pages.find(scope, query, CachedAt { losses, revision });
        if let Some(page) = self.engine.metrics().pages.count(known) {
            return Ok(page);
        }
        let page = self.reads.page(scope, query).await?;
        // The items are at least as new as the page's own revision, and as the epoch before they
        // were read.
        let revision = epoch.unwrap_or(page.revision.0);
        self.pages.remember(scope, query, CachedAt { losses, revision }, &page);
        Ok(page)
    }

    /// The answer to the request of a write, if it has a key and was done before.
    pub async fn answered(
        &self,
        metadata: &WriteMetadata,
    ) -> Result<Option<Answered>, RepositoryError> {
        let answered = self.reads.answered(metadata).await?;
        if answered.is_some() {
            self.engine.metrics().replays.inc();
        }
        Ok(answered)
    }

    /// Returns whether there are still workers for every kind of read.
    pub fn are_alive(&self) -> bool {
        self.reads.are_alive()
    }
}
