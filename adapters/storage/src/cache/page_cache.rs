//! Pages read lately, each with what tells whether it is still current.

use std::sync::Arc;

use application::query::PageQuery;
use application::{ListedPage, Scope};
use quick_cache::sync::Cache;
use quick_cache::{Equivalent, Weighter};

use crate::cache::item_cache::CachedAt;

/// Bytes of pages that are cached.
const CAPACITY_BYTES: u64 = 16 * 1024 * 1024;

/// About how many bytes a page and each of its items take beside the members.
const BESIDE_MEMBERS: usize = 384;

/// About how many bytes a count takes beside its value.
const BESIDE_VALUES: usize = 48;

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
            cached.page.items.iter().map(|listed| listed.shown.item.members.len() + BESIDE_MEMBERS);
        let counts = cached.page.counts.iter().flat_map(|counts| &counts.values);
        let counts = counts.map(|count| count.value.len() + BESIDE_VALUES);
        (items.sum::<usize>() + counts.sum::<usize>() + BESIDE_MEMBERS) as u64
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
