//! Recently read pages, each with the state that decides whether it is still current.

use std::sync::Arc;

use application::query::PageQuery;
use application::{ListedPage, Scope};
use quick_cache::sync::Cache;
use quick_cache::{Equivalent, Weighter};

use crate::cache::item_cache::CachedAt;

/// Bytes of pages that are cached.
const CAPACITY_BYTES: u64 = 16 * 1024 * 1024;

/// The approximate size in bytes of a page, and of each of its items without the members.
const ITEM_OVERHEAD: usize = 384;

/// The approximate size of a count in bytes, without its value.
const COUNT_OVERHEAD: usize = 48;

/// Pages by what was asked for.
pub(crate) struct PageCache(Cache<(Scope, PageQuery), CachedPage, ByBytes>);

/// A key that is only looked for.
#[derive(Hash)]
struct BorrowedKey<'a>(Scope, &'a PageQuery);

impl Equivalent<(Scope, PageQuery)> for BorrowedKey<'_> {
    fn equivalent(&self, key: &(Scope, PageQuery)) -> bool {
        self.0 == key.0 && *self.1 == key.1
    }
}

#[derive(Clone)]
struct CachedPage {
    /// The state of all that the page shows, before it was read.
    cached_at: CachedAt,
    page: Arc<ListedPage>,
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<(Scope, PageQuery), CachedPage> for ByBytes {
    fn weight(&self, _asked: &(Scope, PageQuery), cached: &CachedPage) -> u64 {
        let items =
            cached.page.items.iter().map(|listed| listed.shown.item.members.len() + ITEM_OVERHEAD);
        let counts = cached.page.counts.iter().flat_map(|counts| &counts.values);
        let counts = counts.map(|count| count.value.len() + COUNT_OVERHEAD);
        (items.sum::<usize>() + counts.sum::<usize>() + ITEM_OVERHEAD) as u64
    }
}

impl PageCache {
    /// So few pages are estimated that they are one shard: a page larger than its shard would not be
    /// cached, and be read for everybody who waits for it.
    pub fn new() -> Self {
        Self(Cache::with_weighter(32, CAPACITY_BYTES, ByBytes))
    }

    /// Its size in bytes, about.
    pub fn bytes(&self) -> u64 {
        self.0.weight()
    }

    /// The page, if it was read when all that it shows was as it is now.
    pub fn find(
        &self,
        scope: Scope,
        query: &PageQuery,
        cached_at: CachedAt,
    ) -> Option<Arc<ListedPage>> {
        self.0
            .get(&BorrowedKey(scope, query))
            .filter(|cached| cached.cached_at == cached_at)
            .map(|cached| cached.page)
    }

    pub fn remember(
        &self,
        scope: Scope,
        query: &PageQuery,
        cached_at: CachedAt,
        page: &Arc<ListedPage>,
    ) {
        self.0.insert((scope, query.clone()), CachedPage { cached_at, page: Arc::clone(page) });
    }
}
