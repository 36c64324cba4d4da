//! The reads of what is there now, as statements of an engine.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use application::query::{MemberNames, PageQuery, PageStart};
use application::{
    Answered, Creator, ListedPage, RepositoryError, Revision, Scope, Sequence, ShownItem, Totals,
    UndeletableItems, ValueCounts,
};
use domain::{Collection, Found, ItemId, Lookup, LookupKey};
use futures_util::future::{join_all, try_join};
use sea_orm::{DbErr, QueryResult, Statement};
use tracing::Instrument as _;

use crate::engine::Engine;
use crate::error::logged;
use crate::metrics::OperationKind;
use crate::read::high_water_mark::HighWaterMark;
use crate::read::page_marks::PageMarks;
use crate::read::queue::Results;
use crate::search_index::value_counts;
use crate::spans;
use crate::sql::idempotency::KeyIdentity;
use crate::sql::page::{self, PageMark, PageStatement};
use crate::sql::statements::Statements;
use crate::sql::{idempotency, lookup, row_mapping, selection};

/// The statements, and the engine that runs them.
pub(crate) struct Reads {
    pub engine: Arc<dyn Engine>,
    pub statements: Statements,
    pub page_marks: PageMarks,
}

/// A page to be read.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct PageKey {
    pub scope: Scope,
    pub query: PageQuery,
    /// The revision up to which the full-text index is known to know the items, for a search.
    pub indexed: Option<Revision>,
    /// True when it may take long.
    pub is_slow: bool,
}

impl Reads {
    pub fn new(engine: Arc<dyn Engine>, high_water_mark: Arc<HighWaterMark>) -> Self {
        let statements = Statements::new(engine.dialect());
        let page_marks = PageMarks::new(Arc::clone(&engine), high_water_mark);
        Self { engine, statements, page_marks }
    }

    pub async fn read<T>(
        &self,
        step: &'static str,
        statement: Statement,
        understand: impl FnOnce(&[QueryResult]) -> Result<T, DbErr> + Send,
    ) -> Result<T, RepositoryError> {
        let began = Instant::now();
        let span = spans::read(self.engine.dialect(), step);
        let rows = self.engine.read(statement).instrument(span).await;
        self.engine.metrics().operation(OperationKind::Read).observe(began.elapsed().as_secs_f64());
        understood(rows, step, understand)
    }

    /// Like [`Self::read`], for a statement that may take long.
    pub async fn read_slowly<T>(
        &self,
        step: &'static str,
        statement: Statement,
        understand: impl FnOnce(&[QueryResult]) -> Result<T, DbErr> + Send,
    ) -> Result<T, RepositoryError> {
        let began = Instant::now();
        let span = spans::read(self.engine.dialect(), step);
        let rows = self.engine.read_slowly(statement).instrument(span).await;
        let took = began.elapsed().as_secs_f64();
        self.engine.metrics().operation(OperationKind::SlowRead).observe(took);
        understood(rows, step, understand)
    }

    /// The items of the scope, from memory as far as they are known.
    pub async fn items(
        &self,
        scope: Scope,
        ids: &[ItemId],
    ) -> Result<Vec<ShownItem>, RepositoryError> {
        let Some(cache) = self.engine.write_through_cache() else {
            return self.stored_items(scope, ids).await;
        };
        let mut found: Vec<_> = ids.iter().filter_map(|id| cache.find(scope, *id)).collect();
        if found.len() == ids.len() {
            return Ok(found);
        }
        let known: HashSet<_> = found.iter().map(|shown| shown.item.id).collect();
        let unknown: Vec<_> = ids.iter().filter(|id| !known.contains(*id)).copied().collect();
        let tokens: HashMap<_, _> = unknown.iter().map(|id| (*id, cache.token(*id))).collect();
        let read = self.stored_items(scope, &unknown).await?;
        for shown in &read {
            if let Some(token) = tokens.get(&shown.item.id) {
                cache.remember(*token, scope.collection, shown);
            }
        }
        found.extend(read);
        Ok(found)
    }

    async fn stored_items(
        &self,
        scope: Scope,
        ids: &[ItemId],
    ) -> Result<Vec<ShownItem>, RepositoryError> {
        let statement = match ids {
            [id] => self.statements.find(scope, *id),
            ids => self.statements.find_many(scope, ids),
        };
        self.read("find", statement, row_mapping::shown_items).await
    }

    pub async fn item_with_fields(
        &self,
        scope: Scope,
        id: ItemId,
        fields: &MemberNames,
    ) -> Result<Option<ShownItem>, RepositoryError> {
        let statement = self.statements.find_fields(scope, id, fields);
        let understand = |rows: &[QueryResult]| {
            rows.first().map(|row| row_mapping::item_with_fields(row, fields)).transpose()
        };
        self.read("find_fields", statement, understand).await
    }

    pub async fn creator(
        &self,
        scope: Scope,
        id: ItemId,
    ) -> Result<Option<Creator>, RepositoryError> {
        let statement = self.statements.creator(scope, id);
        self.read("creator", statement, row_mapping::creator).await
    }

    /// Many items may belong to the parent, so it may take long.
    pub async fn has_undeletable(
        &self,
        parent: ItemId,
        undeletable: &[UndeletableItems],
    ) -> Result<bool, RepositoryError> {
        let statement = lookup::undeletable_statement(self.engine.dialect(), parent, undeletable);
        self.read_slowly("undeletable", statement, |rows| Ok(!rows.is_empty())).await
    }

    /// A collection may have many values, so it may take long.
    pub async fn value_counts(
        &self,
        collection: Collection,
        member: &str,
        limit: u64,
    ) -> Result<ValueCounts, RepositoryError> {
        let dialect = self.engine.dialect();
        let statement = value_counts::statement(dialect, collection, member, limit);
        self.read_slowly("value_counts", statement, value_counts::counts).await
    }

    pub async fn belonging_to(
        &self,
        collection: Collection,
        parents: &[ItemId],
        limit: u64,
    ) -> Result<Vec<ShownItem>, RepositoryError> {
        let statement = self.statements.belonging_to(collection, parents, limit);
        self.read("belonging_to", statement, row_mapping::shown_items).await
    }

    /// Finds what requests were answered before, by one statement.
    pub async fn all_answered(
        self: Arc<Self>,
        keys: Vec<KeyIdentity>,
    ) -> Results<Option<(i64, Answered)>> {
        let statement = idempotency::answered_statement(self.engine.dialect(), &keys);
        let found = self.read("answered", statement, idempotency::answered).await;
        keys.iter()
            .map(|key| found.as_ref().map(|found| found.get(key).cloned()).map_err(|error| *error))
            .collect()
    }

    /// Returns when the store has answered something trivial, and would take a write.
    pub async fn check(&self) -> Result<(), RepositoryError> {
        let reads = self.read("readiness", self.statements.ready(), |_| Ok(()));
        try_join(reads, self.engine.check_writes()).await.map(|_| ())
    }

    /// An item that is looked for by its id is taken from memory if it is known, and kept there.
    pub async fn look_up(&self, lookup: &Lookup) -> Result<Found, RepositoryError> {
        let cached = match lookup.key {
            LookupKey::Id(id) => self.engine.write_through_cache().map(|cache| (cache, id)),
            _ => None,
        };
        let scope = Scope { collection: lookup.collection, parent: None };
        if let Some(shown) = cached.and_then(|(cache, id)| cache.find(scope, id)) {
            return Ok(lookup::known(lookup, shown));
        }
        let Some(statement) = lookup::statement(self.engine.dialect(), lookup) else {
            return Ok(Found::Items(Vec::new()));
        };
        let token = cached.map(|(cache, id)| (cache, cache.token(id)));
        let found = match self.read("look_up", statement, lookup::understand).await? {
            Ok(found) => found,
            Err(too_much) => return Ok(too_much),
        };
        if let (Some((cache, token)), Some(shown)) = (token, found.first()) {
            cache.remember(token, lookup.collection, shown);
        }
        Ok(Found::Items(found.into_iter().map(|shown| shown.item).collect()))
    }

    /// The totals of a scope, and whether its parent exists.
    pub async fn totals(
        &self,
        scope: Scope,
        related: &[Collection],
    ) -> Result<(Totals, bool), RepositoryError> {
        let statement = page::totals_statement(self.engine.dialect(), scope, related);
        self.read("totals", statement, row_mapping::totals).await
    }

    /// A page, and whether the parent of its scope exists. What a search finds may be newer than
    /// the revision up to which the index is known to know the items, and no older.
    pub async fn page(
        self: Arc<Self>,
        PageKey { scope, query, indexed, is_slow }: PageKey,
    ) -> Result<(Arc<ListedPage>, bool), RepositoryError> {
        let known = match query.position {
            PageStart::Offset(1..) if query.selection.is_everything() => {
                Some(self.totals(scope, &[]).await?.0)
            }
            _ => None,
        };
        let mark = match &known {
            Some(known) => self.page_marks.find(scope, &query, known.items).await?,
            None => None,
        };
        let read = async |mark: Option<&PageMark>| {
            let page = PageStatement::new(&self.statements, scope, &query, known, mark);
            let rows = self.selected(&query, is_slow, page.statement.clone()).await?;
            let was_led = page.was_led(&rows)?;
            was_led.then(|| page.understand(&query, rows)).transpose()
        };
        let mut listed = read(mark.as_ref()).await;
        if matches!(listed, Ok(None)) {
            tracing::warn!(collection = scope.collection.name(), "the page marks do not match");
            self.page_marks.forget(scope.collection);
            listed = read(None).await;
        }
        let page = listed
            .and_then(|listed| listed.ok_or_else(|| DbErr::RecordNotFound("a page".to_owned())));
        let (mut listed, has_parent) = page.map_err(|error| logged(&error, "page"))?;
        listed.revision = indexed.unwrap_or(listed.revision);
        Ok((Arc::new(listed), has_parent))
    }

    /// The changes that the selected items are at.
    pub async fn select(
        &self,
        scope: Scope,
        query: &PageQuery,
    ) -> Result<Vec<Sequence>, RepositoryError> {
        let statement = selection::statement(self.engine.dialect(), scope, query);
        understood(self.selected(query, true, statement).await, "select", selection::sequences)
    }

    /// Runs the statement of a query.
    async fn selected(
        &self,
        query: &PageQuery,
        is_slow: bool,
        statement: Statement,
    ) -> Result<Vec<QueryResult>, DbErr> {
        let began = Instant::now();
        let rows = if page::concerns_updates(query) {
            self.engine.read_settled(is_slow, statement).await
        } else if is_slow {
            self.engine.read_slowly(statement).await
        } else {
            self.engine.read(statement).await
        };
        let kind = if is_slow { OperationKind::SlowRead } else { OperationKind::Read };
        self.engine.metrics().operation(kind).observe(began.elapsed().as_secs_f64());
        rows
    }

    /// Finds items that are looked for at the same time: those of a scope by one statement.
    pub async fn all_items(
        self: Arc<Self>,
        keys: Vec<(Scope, ItemId)>,
    ) -> Results<Option<ShownItem>> {
        let mut ids_of: HashMap<Scope, Vec<ItemId>> = HashMap::new();
        for (scope, id) in &keys {
            ids_of.entry(*scope).or_default().push(*id);
        }
        let mut found = HashMap::new();
        let mut failed = HashMap::new();
        for (scope, ids) in ids_of {
            match self.items(scope, &ids).await {
                Ok(items) => {
                    found.extend(items.into_iter().map(|shown| ((scope, shown.item.id), shown)));
                }
                Err(error) => drop(failed.insert(scope, error)),
            }
        }
        let answer = |key: &(Scope, ItemId)| {
            failed.get(&key.0).map_or_else(|| Ok(found.get(key).cloned()), |error| Err(*error))
        };
        keys.iter().map(answer).collect()
    }

    /// Reads totals of scopes, and whether their parents exist. All that wait are read at once and
    /// the next wait for them, so that many who want to know the same share one small statement.
    pub async fn all_totals(
        self: Arc<Self>,
        keys: Vec<(Scope, Vec<Collection>)>,
    ) -> Results<(Totals, bool)> {
        let distinct: HashSet<_> = keys.iter().collect();
        let reads = distinct.into_iter().map(async |key| (key, self.totals(key.0, &key.1).await));
        let found: HashMap<_, _> = join_all(reads).await.into_iter().collect();
        keys.iter().map(|key| found[key]).collect()
    }
}

fn understood<T>(
    rows: Result<Vec<QueryResult>, DbErr>,
    step: &'static str,
    understand: impl FnOnce(&[QueryResult]) -> Result<T, DbErr>,
) -> Result<T, RepositoryError> {
    rows.and_then(|rows| understand(&rows)).map_err(|error| logged(&error, step))
}
