//! Comparing the answers of the ports with those of the model.

use std::collections::BTreeSet;
use std::sync::Arc;

use application::query::{PageQuery, PageStart, SortPosition, Total};
use application::{
    ListedPage, RepositoryError, Scope, Sequence, ShownItem, ValueCounts, WriteMetadata,
};
use domain::predicate::{Operand, Subject, Test};
use domain::{Collection, Found, ItemId, Predicate, Version, WriteOperation};

use super::body::ODD_NAME;
use super::history::{History, now};
use super::random_page::{Bookmark, Place, RandomPage, random_condition, subject};
use super::random_write;
use tests::callers::warrant_of;
use tests::random_query::one;

use crate::member_counts::naive;
use crate::store::{all, reach, whole_log};

/// Items of a page at most; less than a collection mostly has.
const MOST_ON_A_PAGE: u64 = 9;

impl History<'_> {
    pub async fn compare_something(&mut self) {
        match self.random.u8(..22) {
            0 | 1 => self.compare_item().await,
            2 => self.compare_many().await,
            3 => self.compare_fields().await,
            4 => self.compare_children().await,
            5 => self.compare_lookup().await,
            6 => {
                let scope = self.scope();
                let related: Vec<_> = scope.collection.referenced().collect();
                self.compare_totals(scope, &related).await;
            }
            7..11 => self.compare_page().await,
            11 | 12 => self.compare_bookmark().await,
            13 => self.compare_walk().await,
            14 => self.compare_versions().await,
            15 => self.compare_version().await,
            16 => self.compare_past_page().await,
            17 => self.compare_changes().await,
            18 => self.compare_scores().await,
            19 => self.compare_selection().await,
            20 => self.compare_counts().await,
            _ => self.compare_key().await,
        }
    }

    pub async fn compare_everything(&mut self) {
        for collection in Collection::all() {
            let scope = Scope::of(collection);
            let related: Vec<_> = collection.referenced().collect();
            self.compare_totals(scope, &related).await;
            let page = RandomPage::everything(scope);
            self.compare_page_at(&page, PageStart::Offset(0), 1000, None).await;
            let ids: Vec<_> = self.model.records().map(|(id, _)| id).collect();
            let mut found = self.items().find_many(&reach(scope), &ids).await.unwrap();
            found.sort_by_key(|shown| shown.item.id);
            let all = self.model.ids(scope).into_iter();
            let expected: Vec<_> = all.filter_map(|id| self.model.shown(scope, id)).collect();
            assert_eq!(found, expected);
        }
        assert_eq!(whole_log(&*self.changes()).await, self.model.log);
        self.compare_end_of_log().await;
    }

    /// Compares every item there is or was by itself, and its versions.
    pub async fn compare_each_item(&mut self) {
        for index in 0..self.model.records().count() {
            let (id, record) = self.model.records().nth(index).expect("it is there");
            let scope = Scope::of(record.collection);
            let found = self.items().find(&reach(scope), id).await;
            assert_eq!(found, Ok(self.model.shown(scope, id)));
            self.compare_versions_of(scope, id, Version::from_number(i64::MAX), 1000).await;
        }
    }

    async fn compare_item(&mut self) {
        let (scope, id) = self.some_item();
        let found = self.items().find(&reach(scope), id).await.unwrap();
        assert_eq!(found, self.model.shown(scope, id), "{id} in {scope:?}");
    }

    async fn compare_many(&mut self) {
        let scope = self.scope();
        let count = self.random.usize(..8);
        let ids = (0..count).map(|_| self.choices().some_id(scope.collection));
        let ids: Vec<_> = ids.collect::<BTreeSet<_>>().into_iter().collect();
        let mut found = self.items().find_many(&reach(scope), &ids).await.unwrap();
        found.sort_by_key(|shown| shown.item.id);
        let expected = ids.iter().filter_map(|id| self.model.shown(scope, *id)).collect::<Vec<_>>();
        assert_eq!(found, expected, "{ids:?} in {scope:?}");
        let only = Arc::new(random_condition(&mut self.random));
        let reach = reach(scope).only(Arc::clone(&only));
        let mut found = self.items().find_many(&reach, &ids).await.unwrap();
        found.sort_by_key(|shown| shown.item.id);
        let reached = expected.into_iter().filter(|shown| self.model.judge(&only, &shown.item));
        assert_eq!(found, reached.collect::<Vec<_>>(), "{ids:?} in {reach:?}");
    }

    async fn compare_fields(&mut self) {
        let (scope, id) = self.some_item();
        let names = ["x", "notes", ODD_NAME, "nothing", "y"].map(Arc::from);
        let names = names[self.random.usize(..=5)..].to_vec().into();
        let found = self.items().find_fields(&reach(scope), &[id], &names).await.unwrap().pop();
        let expected = self.model.shown(scope, id).map(|mut shown| {
            shown.item.members = self.model.body(id).expect("it exists").fields(&names);
            shown
        });
        assert_eq!(found, expected, "{names:?} of {id} in {scope:?}");
    }

    async fn compare_children(&mut self) {
        let proposals = Collection::known("proposals");
        let mut parents: Vec<_> = (0..3).map(|_| self.choices().some_id(proposals)).collect();
        parents.dedup();
        let lib = Collection::known("lib");
        let limit = self.random.usize(..6);
        let found =
            self.items().belonging_to(&reach(all(lib)), &parents, limit as u64).await.unwrap();
        let ids = self.model.ids(Scope::of(lib)).into_iter();
        let own = ids
            .filter_map(|id| self.model.shown(Scope::of(lib), id))
            .filter(|shown| shown.item.parent.is_some_and(|parent| parents.contains(&parent)));
        assert_eq!(found, own.take(limit).collect::<Vec<_>>(), "{parents:?}");
        let kinds = self.choices().deletable();
        let found = self.items().has_undeletable(parents[0], &kinds).await;
        assert_eq!(found, Ok(self.model.has_undeletable(parents[0], &kinds)), "{kinds:?}");
    }

    async fn compare_lookup(&mut self) {
        let collection = random_write::collection(&mut self.random);
        let mut choices = self.choices();
        let without = choices.some_id(collection);
        let lookup = choices.lookup(without);
        let found = self.items().look_up(&lookup).await.unwrap();
        assert_eq!(found, Found::Items(self.model.look_up(&lookup)), "{lookup:?}");
    }

    pub async fn compare_totals(&mut self, scope: Scope, related: &[Collection]) {
        let totals = self.items().totals(&reach(scope), related).await;
        if !self.model.has_parent(scope) {
            assert_eq!(totals, Err(RepositoryError::ParentNotFound), "{scope:?}");
            return;
        }
        let totals = totals.unwrap();
        assert_eq!(totals.items, self.model.ids(scope).len() as u64, "{scope:?}");
        self.observe(scope, related, totals.revision);
    }

    async fn compare_page(&mut self) {
        let old = self.random.choice(&self.pages).cloned().filter(|_| self.random.bool());
        let scope = self.scope();
        let page = old.unwrap_or_else(|| RandomPage::random(&mut self.random, &self.model, scope));
        let limit = self.random.u64(1..=MOST_ON_A_PAGE);
        let offset = match self.random.u8(..8) {
            0..4 => 0,
            4 => u64::MAX,
            _ => self.random.u64(..20),
        };
        self.compare_page_at(&page, PageStart::Offset(offset), limit, None).await;
        self.keep(page);
    }

    /// Continues from an earlier position, whose item may have changed or gone since.
    async fn compare_bookmark(&mut self) {
        let Some(Bookmark { page, position, place }) = self.random.choice(&self.bookmarks).cloned()
        else {
            return;
        };
        let limit = self.random.u64(1..=MOST_ON_A_PAGE);
        let is_backward = self.random.bool();
        let start =
            if is_backward { PageStart::Before(position) } else { PageStart::After(position) };
        self.compare_page_at(&page, start, limit, Some(&place)).await;
    }

    /// Compares a page that begins or ends at an offset or a place.
    async fn compare_page_at(
        &mut self,
        page: &RandomPage,
        start: PageStart,
        limit: u64,
        place: Option<&Place>,
    ) {
        let names = ["x", "y", "research_type", "long", ODD_NAME];
        let counted_by = self.random.bool().then(|| one(&mut self.random, &names));
        let count_by = counted_by.map(|name| subject(page.scope.collection, name));
        let query = PageQuery { count_by, ..page.query(start, limit) };
        let found = self.items().page(&page.reach(), &query).await;
        if !self.model.has_parent(page.scope) {
            assert_eq!(found, Err(RepositoryError::ParentNotFound), "{page:?}");
            return;
        }
        let found = found.unwrap();
        let selected = page.naive(&self.model);
        let window = window(page, &selected, &query.position, limit, place);
        let (expected, has_more) = window;
        let items = expected.iter().map(|(_, id)| {
            let mut shown = self.model.shown(page.scope, *id).expect("it exists");
            shown.item.members = page.members(&self.model, *id);
            shown
        });
        let listed: Vec<_> = found.items.iter().map(|listed| listed.shown.clone()).collect();
        assert_eq!(listed, items.collect::<Vec<ShownItem>>(), "{query:?}");
        assert_eq!(found.has_more, has_more, "{query:?}");
        let counted = Total::Exact(selected.len() as u64);
        let total = if page.is_counted { counted } else { Total::NotCounted };
        assert_eq!(found.total, total, "{query:?}");
        let counts = counted_by.map(|name| {
            let bodies = selected.iter().map(|(_, id)| self.model.body(*id).expect("it exists"));
            naive(bodies.map(|body| body.raw(name)))
        });
        assert_eq!(found.counts, counts, "{query:?}");
        if page.reach().condition().is_none() {
            self.observe(page.scope, &query.related, found.revision);
        }
        self.keep_places(page, expected, &found);
    }

    fn keep_places(&mut self, page: &RandomPage, expected: &[Place], found: &ListedPage) {
        let ends = [(&found.first, expected.first()), (&found.last, expected.last())];
        for (position, place) in ends {
            assert_eq!(position.as_ref().map(|position| position.id), place.map(|(_, id)| *id));
            if let (Some(position), Some(place), 0) = (position, place, self.random.u8(..4)) {
                let (page, position, place) = (page.clone(), position.clone(), place.clone());
                self.keep_place(Bookmark { page, position, place });
            }
        }
    }

    async fn compare_walk(&mut self) {
        let scope = self.scope();
        if !self.model.has_parent(scope) {
            return;
        }
        let page = RandomPage::random(&mut self.random, &self.model, scope);
        let limit = self.random.u64(1..=MOST_ON_A_PAGE);
        let expected: Vec<_> = page.naive(&self.model).into_iter().map(|(_, id)| id).collect();
        let (forward, last) = self.walk(&page, limit, None).await;
        assert_eq!(forward, expected, "{page:?}");
        if let Some(last) = last {
            let (backward, _) = self.walk(&page, limit, Some(last)).await;
            assert_eq!(backward, expected[..expected.len() - 1], "{page:?} backward");
        }
    }

    /// The ids of a walk from the beginning, or backward from a place; and its last place.
    async fn walk(
        &mut self,
        page: &RandomPage,
        limit: u64,
        from: Option<SortPosition>,
    ) -> (Vec<ItemId>, Option<SortPosition>) {
        let is_backward = from.is_some();
        let mut start = from.map_or(PageStart::Offset(0), PageStart::Before);
        let (mut ids, mut end) = (Vec::new(), None);
        loop {
            let query = page.query(start, limit);
            let found = self.items().page(&page.reach(), &query).await.unwrap();
            let listed = found.items.iter().map(|listed| listed.shown.item.id);
            let at = if is_backward { 0 } else { ids.len() };
            ids.splice(at..at, listed);
            end = found.last.clone().or(end);
            let next = if is_backward { &found.first } else { &found.last };
            match next.clone().filter(|_| found.has_more) {
                Some(place) if is_backward => start = PageStart::Before(place),
                Some(place) => start = PageStart::After(place),
                None => return (ids, end),
            }
        }
    }

    /// Of a search by score, what is found and that better matches come first.
    async fn compare_scores(&mut self) {
        let scope = self.scope();
        let page = RandomPage::random(&mut self.random, &self.model, scope);
        if page.search.is_none() || !self.model.has_parent(scope) {
            return;
        }
        let page = page.by_score();
        let query = page.query(PageStart::Offset(0), 1000);
        let found = self.items().page(&page.reach(), &query).await.unwrap();
        let mut ids: Vec<_> = found.items.iter().map(|listed| listed.shown.item.id).collect();
        let scores = found.items.iter().map(|listed| listed.score.expect("a score"));
        let best_first: Vec<_> = scores.zip(&ids).map(|(score, id)| (-score, *id)).collect();
        assert!(best_first.is_sorted(), "{best_first:?}");
        let (walked, _) = self.walk(&page, 3, None).await;
        assert_eq!(walked, ids, "{query:?}");
        ids.sort_unstable();
        let mut expected: Vec<_> = page.naive(&self.model).into_iter().map(|(_, id)| id).collect();
        expected.sort_unstable();
        assert_eq!(ids, expected, "{query:?}");
    }

    /// Compares a new selection, and the contents of earlier selections.
    async fn compare_selection(&mut self) {
        let scope = self.scope();
        let page = RandomPage::random(&mut self.random, &self.model, scope);
        if self.model.has_parent(scope) {
            let selected: Vec<_> = page.naive(&self.model).into_iter().map(|(_, id)| id).collect();
            let query = page.query(PageStart::Offset(1), 2);
            let found = self.items().select(&page.reach(), &query).await.unwrap();
            let contents = self.model.contents(&selected);
            let expected: Vec<_> = contents.iter().map(|content| content.change).collect();
            assert_eq!(found, expected, "{query:?}");
            self.selections.truncate(4);
            self.selections.insert(0, (scope, contents));
        }
        for (scope, contents) in self.selections.clone() {
            let changes: Vec<_> = contents.iter().map(|content| content.change).collect();
            let found = self.history().contents(&reach(scope), &changes).await.unwrap();
            assert_eq!(found, contents, "{scope:?}");
            let other = Scope::of(random_write::collection(&mut self.random));
            if other.collection != scope.collection {
                assert_eq!(self.history().contents(&reach(other), &changes).await, Ok(Vec::new()));
            }
        }
    }

    /// The values of the members that a collection counts, and the sums of its amounts.
    async fn compare_counts(&mut self) {
        let scope = Scope::of(random_write::collection(&mut self.random));
        self.instance().store.wait_until_indexed().await.unwrap();
        let limit = self.random.usize(1..20);
        let sums = scope.collection.spec().summed.as_ref().map(|summed| summed.name);
        let members = scope.collection.spec().counted.iter();
        let members = members.map(|counted| (counted.name, counted.characters));
        for (name, most) in members.chain(sums.map(|name| (name, None))) {
            let mut counts = match sums {
                Some(sums) if sums == name => self.model.sums(scope),
                _ => self.model.value_counts(scope, name, most.unwrap_or(200)),
            };
            counts.truncate(limit);
            let (up_to, time) = (self.model.last_sequence(), self.model.log.last());
            let expected = ValueCounts { counts, up_to, time: time.map(|change| change.time) };
            let found = self.items().value_counts(&reach(scope), name, limit as u64).await;
            assert_eq!(found, Ok(expected), "{name} of {scope:?}");
            let all = Predicate::Test(Operand::current(Subject::Id), Test::Exists);
            let all = reach(scope).only(Arc::new(all));
            let counted = self.items().value_counts(&all, name, limit as u64).await;
            assert_eq!(counted, found, "{name} of {scope:?} under a condition");
        }
        let others = self.items().value_counts(&reach(scope), "x", 9).await.unwrap();
        assert_eq!(others.counts, [], "`x` is not a counted member");
    }

    async fn compare_key(&mut self) {
        let collection = random_write::collection(&mut self.random);
        let key = self.choices().key(collection);
        for caller in [None, Some("ana")] {
            let (key, warrant) = (Some(key.clone()), warrant_of(caller));
            let metadata = WriteMetadata { key, ..WriteMetadata::under(warrant, now()) };
            let answered = self.items().answered(&metadata).await.unwrap();
            assert_eq!(answered.as_ref(), self.model.answered(&metadata), "{metadata:?}");
        }
    }

    async fn compare_versions(&mut self) {
        let (scope, id) = self.some_item();
        let newest = Version::from_number(self.random.i64(1..8));
        let limit = self.random.usize(1..4);
        self.compare_versions_of(scope, id, newest, limit).await;
    }

    async fn compare_versions_of(
        &mut self,
        scope: Scope,
        id: ItemId,
        newest: Version,
        limit: usize,
    ) {
        let found = self.history().versions(&reach(scope), id, newest, limit as u64).await.unwrap();
        let record = self.model.record(scope, id);
        let all = record.into_iter().flat_map(|record| record.versions.iter().rev());
        let changes = all.map(|(change, _)| change.clone());
        let expected = changes.filter(|change| change.version <= newest).take(limit);
        assert_eq!(found, expected.collect::<Vec<_>>(), "{id} in {scope:?}");
    }

    async fn compare_version(&mut self) {
        let (scope, id) = self.some_item();
        let version = Version::from_number(self.random.i64(1..6));
        let found = self.history().version(&reach(scope), id, version).await.unwrap();
        assert_eq!(found, self.model.version(scope, id, version), "{id} in {scope:?}");
        let time = self.past_time();
        let found = self.history().version_at(&reach(scope), id, time).await.unwrap();
        assert_eq!(found, self.model.version_at(scope, id, time), "{id} in {scope:?} at {time}");
    }

    async fn compare_changes(&mut self) {
        let changes = self.changes();
        let known = self.random.choice(&self.model.log).map(|change| change.sequence);
        let mut after = known.unwrap_or_default();
        let collection = random_write::collection(&mut self.random);
        let collection = self.random.bool().then_some(collection);
        let limit = self.random.u64(1..30);
        let expected = self.model.log.iter().filter(|change| {
            change.sequence > after
                && collection.is_none_or(|collection| change.collection == collection)
        });
        let (expected, mut found) = (expected.cloned().collect::<Vec<_>>(), Vec::new());
        loop {
            let page = changes.changes(after, collection, limit).await.unwrap();
            assert!(page.changes.len() as u64 <= limit);
            found.extend(page.changes);
            if page.read_to == after {
                break;
            }
            after = page.read_to;
        }
        assert_eq!(found, expected, "changes of {collection:?}");
        let collection = random_write::collection(&mut self.random);
        for before in [Sequence(i64::MAX), after] {
            let all = self.model.log.iter().rev();
            let all = all.filter(|it| it.collection == collection && it.sequence < before);
            for only_deletions in [false, true] {
                let all = all.clone();
                let all = all.filter(|it| !only_deletions || it.kind == WriteOperation::Delete);
                let latest: Vec<_> = all.take(usize::try_from(limit).unwrap()).cloned().collect();
                let found = changes.latest(collection, only_deletions, before, limit).await;
                assert_eq!(found, Ok(latest));
            }
        }
        self.compare_end_of_log().await;
    }

    async fn compare_end_of_log(&mut self) {
        assert_eq!(self.changes().last().await.unwrap(), self.model.last_sequence());
        let latest = self.history().latest_time().await.unwrap();
        assert_eq!(latest, self.model.log.iter().map(|change| change.time).max());
    }
}

/// The places on a page, and whether there are others beyond it.
fn window<'a>(
    page: &RandomPage,
    selected: &'a [Place],
    start: &PageStart,
    limit: u64,
    place: Option<&Place>,
) -> (&'a [Place], bool) {
    let limit = usize::try_from(limit).unwrap();
    let beyond = |is_beyond: &dyn Fn(std::cmp::Ordering) -> bool| {
        let place = place.expect("the place of a bookmark");
        selected.partition_point(|own| is_beyond(page.compare(own, place)))
    };
    match start {
        PageStart::Offset(offset) => {
            let from = usize::try_from(*offset).unwrap().min(selected.len());
            let to = (from + limit).min(selected.len());
            (&selected[from..to], to < selected.len())
        }
        PageStart::After(_) => {
            let from = beyond(&std::cmp::Ordering::is_le);
            let to = (from + limit).min(selected.len());
            (&selected[from..to], to < selected.len())
        }
        PageStart::Before(_) => {
            let to = beyond(&std::cmp::Ordering::is_lt);
            let from = to.saturating_sub(limit);
            (&selected[from..to], from > 0)
        }
    }
}
