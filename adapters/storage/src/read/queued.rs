//! The reads with their queues.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use application::query::PageQuery;
use application::{
    Answered, ListedPage, RepositoryError, Scope, Sequence, ShownItem, Totals, WriteMetadata,
};
use domain::{Collection, ItemId};
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::gauge::ConstGauge;
use tracing::{Instrument as _, Span};

use crate::metrics::{count, write_series};
use crate::read::page_marks;
use crate::read::queue::ReadQueue;
use crate::read::reads::{PageKey, Reads};
use crate::read::shared::SharedReads;
use crate::search_index::indexer::Indexer;
use crate::spans;
use crate::sql::cost;
use crate::sql::idempotency::KeyIdentity;

type Pages = SharedReads<PageKey, (Arc<ListedPage>, bool)>;

/// Separate workers for items, totals, answered requests, pages, and slow pages, so that a read never
/// waits for one of another kind.
pub(crate) struct QueuedReads {
    items: ReadQueue<(Scope, ItemId), Option<ShownItem>>,
    totals: ReadQueue<(Scope, Vec<Collection>), (Totals, bool)>,
    answered: ReadQueue<KeyIdentity, Option<(i64, Answered)>>,
    pages: Pages,
    slow_pages: Pages,
    /// For selections, which wait for a connection instead.
    reads: Arc<Reads>,
    indexer: Arc<Indexer>,
}

impl QueuedReads {
    /// Starts the workers, so it needs a runtime. A read waits for its place in the queue as long
    /// as `queue_timeout` says.
    pub fn start(reads: &Arc<Reads>, indexer: Arc<Indexer>, queue_timeout: Duration) -> Self {
        let [of_items, of_totals, of_answered] = std::array::from_fn(|_| Arc::clone(reads));
        let pages = |workers| {
            let reads = Arc::clone(reads);
            SharedReads::start(workers, queue_timeout, move |key| Arc::clone(&reads).page(key))
        };
        let workers = reads.engine.workers();
        Self {
            items: ReadQueue::start(workers, queue_timeout, move |keys| {
                of_items.engine.metrics().shared_reads.observe(count(keys.len()));
                Arc::clone(&of_items).all_items(keys)
            }),
            totals: ReadQueue::start(1, queue_timeout, move |keys| {
                Arc::clone(&of_totals).all_totals(keys)
            }),
            answered: ReadQueue::start(1, queue_timeout, move |keys| {
                Arc::clone(&of_answered).all_answered(keys)
            }),
            pages: pages(workers),
            slow_pages: pages(reads.engine.slow_workers()),
            reads: Arc::clone(reads),
            indexer,
        }
    }

    fn span(&self, what: &'static str) -> Span {
        spans::read(self.reads.engine.dialect(), what)
    }

    /// Writes how many reads wait.
    pub fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let lengths = [
            ("items", self.items.length()),
            ("totals", self.totals.length()),
            ("keys", self.answered.length()),
            ("pages", self.pages.length()),
            ("slow_pages", self.slow_pages.length()),
        ];
        let lengths = lengths.map(|(kind, length)| ([("queue", kind)], ConstGauge::new(length)));
        let help = "Reads waiting for a worker, by kind.";
        write_series(encoder, "proposal_service_read_queue_length", help, lengths)
    }

    /// The item, if the scope holds it.
    pub async fn item(
        &self,
        scope: Scope,
        id: ItemId,
    ) -> Result<Option<ShownItem>, RepositoryError> {
        self.items.read((scope, id)).instrument(self.span("items")).await
    }

    /// The totals of a scope, whose parent exists.
    pub async fn totals(
        &self,
        scope: Scope,
        related: &[Collection],
    ) -> Result<Totals, RepositoryError> {
        let totals = self.totals.read((scope, related.to_vec()));
        let (totals, has_parent) = totals.instrument(self.span("totals")).await?;
        require_parent(scope, has_parent).map(|()| totals)
    }

    /// The answer to the request of a write, if it has a key and was done before.
    pub async fn answered(
        &self,
        metadata: &WriteMetadata,
    ) -> Result<Option<Answered>, RepositoryError> {
        let Some(key) = metadata.key_identity() else { return Ok(None) };
        let found =
            self.answered.read(key.map(str::to_owned)).instrument(self.span("keys")).await?;
        let is_kept = |(expires, _): &(i64, Answered)| *expires > metadata.time.as_microsecond();
        Ok(found.filter(is_kept).map(|(_, answered)| answered))
    }

    /// A page of a scope, whose parent exists. The full-text index is brought up to date before a
    /// search waits for its turn: who needs no index is not kept waiting for it.
    pub async fn page(
        &self,
        scope: Scope,
        query: &PageQuery,
    ) -> Result<Arc<ListedPage>, RepositoryError> {
        let is_search = query.selection.search.is_some();
        let mut key = PageKey { scope, query: query.clone(), indexed: None, is_slow: is_search };
        if is_search {
            key.indexed = Some(self.totals(scope, &query.related).await?.revision);
            self.indexer.wait_until_indexed().await?;
        } else if !cost::is_indexed(scope.collection, query) {
            key.is_slow = cost::is_large(self.totals(scope, &[]).await?.items);
        } else if page_marks::is_deep(query, u64::MAX) {
            let items = self.totals(scope, &[]).await?.items;
            key.is_slow = page_marks::is_deep(query, items)
                && !self.reads.page_marks.are_set_for(scope, query);
        }
        let queue = if key.is_slow { &self.slow_pages } else { &self.pages };
        let (page, has_parent) = queue.read(key).instrument(self.span("page")).await?;
        require_parent(scope, has_parent).map(|()| page)
    }

    /// The changes that the selected items are at; of a search, when the index knows all items.
    pub async fn select(
        &self,
        scope: Scope,
        query: &PageQuery,
    ) -> Result<Vec<Sequence>, RepositoryError> {
        if query.selection.search.is_some() {
            self.indexer.wait_until_indexed().await?;
        }
        self.reads.select(scope, query).await
    }

    /// Returns whether there are still workers for every kind of read.
    pub fn are_alive(&self) -> bool {
        let are_pages_read = self.pages.is_alive() && self.slow_pages.is_alive();
        self.items.is_alive()
            && self.totals.is_alive()
            && self.answered.is_alive()
            && are_pages_read
    }
}

/// That the scope's parent exists, where it has one.
fn require_parent(scope: Scope, has_parent: bool) -> Result<(), RepositoryError> {
    if scope.parent.is_some() && !has_parent {
        Err(RepositoryError::ParentNotFound)
    } else {
        Ok(())
    }
}
