//! Pages read lately, each with what tells whether it is still current.

use std::sync::Arc;

use application::query::PageQuery;
use application::{ListedPage, Scope};
use quick_cache::sync::Cache;
use quick_cache::{Equivalent, Weighter};

/// Bytes of pages that are kept.
const KEPT_BYTES: u64 = 16 * 1024 * 1024;

/// About how many bytes a page and each of its items take beside the members.
const BESIDE_MEMBERS: usize = 384;

/// Pages by what was asked for.
pub(crate) struct PageCache(Cache<(Scope, PageQuery), Stamped, ByBytes>);

/// A key that is only looked for.
#[derive(Hash)]
struct Asked<'a>(Scope, &'a PageQuery);

impl Equivalent<(Scope, PageQuery)> for Asked<'_> {
    fn equivalent(&self, key: &(Scope, PageQuery)) -> bool {
        self.0 == key.0 && *self.1 == key.1
    }
}

#[derive(Clone)]
struct Stamped {
    /// The state of all that the page shows, before it was read.
    stamp: i64,
    page: Arc<ListedPage>,
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<(Scope, PageQuery), Stamped> for ByBytes {
    fn weight(&self, _asked: &(Scope, PageQuery), stamped: &Stamped) -> u64 {
        let items = stamped
            .page
            .items
            .iter()
            .map(|listed| listed.shown.item.members.len() + BESIDE_MEMBERS);
        (items.sum::<usize>() + BESIDE_MEMBERS) as u64
    }
}

impl PageCache {
    pub fn new() -> Self {
        Self(Cache::with_weighter(500, KEPT_BYTES, ByBytes))
    }

    /// The page, if it was read when all that it shows was as it is now.
    pub fn find(&self, scope: Scope, query: &PageQuery, stamp: i64) -> Option<Arc<ListedPage>> {
        self.0
            .get(&Asked(scope, query))
            .filter(|stamped| stamped.stamp == stamp)
            .map(|stamped| stamped.page)
    }

    pub fn remember(&self, scope: Scope, query: &PageQuery, stamp: i64, page: &Arc<ListedPage>) {
        self.0.insert((scope, query.clone()), Stamped { stamp, page: Arc::clone(page) });
    }
}
