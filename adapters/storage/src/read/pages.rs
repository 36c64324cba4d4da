//! The reads of pages, and of selections.

use std::sync::Arc;

use application::ports::{ListedPage, Reach, Result, Scope, Sequence, Totals};
use application::query::{PageQuery, PageStart};
use domain::Collection;
use sea_orm::DbErr;

use crate::cache::{CachedAt, PageKey};
use crate::engine::ReadMode;
use crate::error::logged;
use crate::read::page_marks;
use crate::read::reads::{PageRead, Reads, with_parent};
use crate::sql::page::{self, PageMark, PageStatement};
use crate::sql::predicate::candidates;
use crate::sql::sql_text::SqlText;
use crate::sql::{cost, selection};

impl Reads {
    pub async fn page(
        self: &Arc<Self>,
        reach: &Reach,
        query: &PageQuery,
    ) -> Result<Arc<ListedPage>> {
        if reach.is_whole() {
            return self.current_page(reach, query).await;
        }
        let related = with_reads(&query.related, reach);
        self.current_page(reach, &PageQuery { related, ..query.clone() }).await
    }

    async fn current_page(
        self: &Arc<Self>,
        reach: &Reach,
        query: &PageQuery,
    ) -> Result<Arc<ListedPage>> {
        let scope = reach.scope();
        let losses = self.engine.losses();
        let (now, totals) = if let Some(now) = self.written_through(scope, query) {
            (now, None)
        } else {
            let totals = self.totals(scope, &query.related).await?;
            (CachedAt { losses, revision: totals.revision.0 }, Some(totals))
        };
        let known = self.cached_page(reach, query, now);
        match self.engine.metrics().pages.count(known) {
            Some(page) => Ok(page),
            None => self.fresh_page(reach, query, now, totals).await,
        }
    }

    /// The present state of the collections of a page, if it is known without a query.
    fn written_through(&self, scope: Scope, query: &PageQuery) -> Option<CachedAt> {
        let cache = self.engine.write_through_cache()?;
        let revision = cache.epoch(scope.collection, &query.related).cast_signed();
        Some(CachedAt { losses: self.engine.losses(), revision })
    }

    fn cached_page(
        &self,
        reach: &Reach,
        query: &PageQuery,
        now: CachedAt,
    ) -> Option<Arc<ListedPage>> {
        let known = self.cached_pages.find(&PageKey(reach, query));
        known.filter(|(cached_at, _)| *cached_at == now).map(|(_, page)| page)
    }

    /// Waits for the index before the flight of a search, so that other flights do not wait for it.
    async fn fresh_page(
        self: &Arc<Self>,
        reach: &Reach,
        query: &PageQuery,
        now: CachedAt,
        known: Option<Totals>,
    ) -> Result<Arc<ListedPage>> {
        let scope = reach.scope();
        let totals = async || match known {
            Some(known) => Ok(known),
            None => self.totals(scope, &query.related).await,
        };
        let is_search = query.selection.search.is_some();
        let (mut indexed, mut is_slow) = (None, is_search);
        if is_search {
            indexed = Some((now, totals().await?.revision));
            self.indexer.wait_until_indexed().await?;
        } else if !self.is_indexed(reach, query) {
            is_slow = cost::is_large(totals().await?.items);
        } else if page_marks::is_deep(query, u64::MAX) {
            let items = totals().await?.items;
            is_slow =
                page_marks::is_deep(query, items) && !self.page_marks.are_set_for(scope, query);
        }
        let mode = ReadMode { is_slow, is_settled: page::concerns_updates(query) };
        let page = PageRead { reach: reach.clone(), query: query.clone(), indexed, mode };
        let flights = if is_slow { &self.slow_pages } else { &self.pages };
        let found = self.shared("page", flights, page, async |reads, pages| {
            let mut found = Vec::with_capacity(1);
            for page in pages {
                found.push(reads.stored_page(page).await);
            }
            found
        });
        with_parent(scope, found.await?)
    }

    /// Returns whether few items are judged for a page.
    fn is_indexed(&self, reach: &Reach, query: &PageQuery) -> bool {
        match reach.condition() {
            None => cost::is_indexed(reach, query),
            Some(_) => candidates::are_few(&mut SqlText::new(self.engine.dialect()), reach),
        }
    }

    /// A page, and whether the scope's parent exists. The flight before may have cached it. A
    /// search may find items newer than the index's known revision, never older ones.
    async fn stored_page(
        &self,
        PageRead { reach, query: asked, indexed, mode }: PageRead,
    ) -> Result<(Arc<ListedPage>, bool)> {
        let (losses, scope) = (self.engine.losses(), reach.scope());
        let now = indexed.map_or_else(|| self.written_through(scope, &asked), |(now, _)| Some(now));
        if let Some(page) = now.and_then(|now| self.cached_page(&reach, &asked, now)) {
            return Ok((page, true));
        }
        let known = match asked.position {
            PageStart::Offset(1..) if page::is_everything(&reach, &asked) => {
                Some(self.stored_totals(scope, &[]).await?.0)
            }
            _ => None,
        };
        let mark = match &known {
            Some(known) => self.page_marks.find(scope, &asked, known.items).await?,
            None => None,
        };
        let read = async |mark: Option<&PageMark>| {
            let page = PageStatement::new(self.engine.dialect(), &reach, &asked, known, mark);
            let statement = page.statement.clone();
            self.engine.query("page", mode, statement, |rows| page.read(&asked, rows)).await
        };
        let mut listed = read(mark.as_ref()).await?;
        if listed.is_none() {
            tracing::warn!(collection = scope.collection.name(), "the page marks do not match");
            self.page_marks.forget(scope.collection);
            listed = read(None).await?;
        }
        let missing = || logged(&DbErr::RecordNotFound("a page".to_owned()), "page");
        let (mut listed, has_parent) = listed.ok_or_else(missing)?;
        listed.revision = indexed.map_or(listed.revision, |(_, revision)| revision);
        let listed = Arc::new(listed);
        if has_parent || scope.parent.is_none() {
            // At least as new as the page's revision, and as the writes known before the read.
            let read_at = CachedAt { losses, revision: listed.revision.0 };
            let cached_at = now.unwrap_or(read_at);
            self.cached_pages.insert((reach, asked), cached_at, Arc::clone(&listed));
        }
        Ok((listed, has_parent))
    }

    /// The changes that the selected items are at. A search waits until the index has all items.
    pub async fn select(&self, reach: &Reach, asked: &PageQuery) -> Result<Vec<Sequence>> {
        if asked.selection.search.is_some() {
            self.indexer.wait_until_indexed().await?;
        }
        let statement = selection::statement(self.engine.dialect(), reach, asked);
        let mode = ReadMode { is_slow: true, is_settled: page::concerns_updates(asked) };
        self.engine.query("select", mode, statement, selection::sequences).await
    }
}

/// The related collections, with those on which a reach depends.
pub(crate) fn with_reads(related: &[Collection], reach: &Reach) -> Vec<Collection> {
    let mut collections = related.to_vec();
    collections.extend(reach.reads());
    collections.sort_unstable_by_key(|collection| collection.index());
    collections.dedup();
    collections
}
