//! A migrated store, and calls on it that read as sentences.

use std::sync::Arc;
use std::time::Duration;

use application::query::{
    Comparison, Condition, Filter, Operand, PageQuery, PageStart, Search, Selection, SortKey,
    Subject, Total,
};
use application::{
    ChangeLog, CollectionContent, ItemChange, ItemRepository, ListedPage, LoggedChange, NewItem,
    Reach, Replacement, RepositoryError, Revision, Scope, Sequence, ShownItem, WriteMetadata,
};
use domain::{Collection, ItemId, WriteOperation};
use jiff::Timestamp;
use storage_adapter::{Store, StoreOptions};
use tests::callers::warrant_of;
use tests::stores::TestDatabase;
use tokio::time::timeout;
use uuid::Uuid;

/// The microsecond at which all is written unless a case says otherwise.
pub const NOW: i64 = 1_790_000_000_123_456;

pub const fn all(collection: Collection) -> Scope {
    Scope { collection, parent: None }
}

pub const PROPOSALS: Scope = all(Collection::known("proposals"));
pub const FILES: Scope = all(Collection::known("files"));
pub const LIB: Scope = all(Collection::known("lib"));
pub const STATUS: Scope = all(Collection::known("status"));
pub const CASH: Scope = all(Collection::known("cashprogram"));

pub const fn reach(scope: Scope) -> Reach {
    Reach::of_the_service(scope)
}

pub fn lib_of(proposal: &ShownItem) -> Scope {
    Scope { collection: Collection::known("lib"), parent: Some(proposal.item.id) }
}

/// A unique identifier; later ones sort after earlier ones.
#[expect(
    clippy::disallowed_methods,
    reason = "a test has no other generator, and its ids must sort by time"
)]
pub fn next_id() -> ItemId {
    ItemId::from_uuid(Uuid::now_v7())
}

/// A change made at a microsecond, by an unknown caller.
pub fn at(microsecond: i64) -> WriteMetadata {
    WriteMetadata::under(warrant_of(None), Timestamp::from_microsecond(microsecond).unwrap())
}

pub fn new_item(members: &str) -> NewItem {
    NewItem { id: next_id(), members: members.into(), continues: None, references: Vec::new() }
}

pub fn replacement(shown: &ShownItem, members: &str) -> Replacement {
    Replacement {
        id: shown.item.id,
        expected: shown.item.version,
        members: members.into(),
        references: Vec::new(),
    }
}

/// The new content of a collection, with any revision before.
pub fn content(replacements: Vec<Replacement>, additions: Vec<NewItem>) -> CollectionContent {
    // What cash programmes refer to.
    let related = vec![Collection::known("proposals")];
    CollectionContent { replacements, additions, related, expected: None }
}

pub fn everything(scope: Scope) -> PageQuery {
    PageQuery {
        selection: Selection::default(),
        order: Vec::new(),
        position: PageStart::Offset(0),
        limit: 1000,
        fields: None,
        is_counted: true,
        count_by: None,
        related: scope.collection.referenced().collect(),
    }
}

pub fn member(name: &str) -> Subject {
    Subject::Member { name: name.into(), kind: None }
}

pub fn compare(subject: &Subject, comparison: Comparison, written: &str) -> Filter {
    let operand = Operand::read(subject, written).unwrap();
    Filter { subject: subject.clone(), condition: Condition::Compare(comparison, operand) }
}

pub fn equal(subject: &Subject, written: &str) -> Filter {
    compare(subject, Comparison::Equal, written)
}

pub fn contains(subject: &Subject, piece: &str) -> Filter {
    Filter { subject: subject.clone(), condition: Condition::Contains(piece.into()) }
}

pub fn exists(subject: &Subject, wanted: bool) -> Filter {
    Filter { subject: subject.clone(), condition: Condition::Exists(wanted) }
}

pub fn selecting(scope: Scope, filters: Vec<Filter>) -> PageQuery {
    PageQuery { selection: Selection { filters, search: None }, ..everything(scope) }
}

pub fn searching(scope: Scope, written: &str) -> PageQuery {
    let search = Some(Search::read(written).unwrap());
    PageQuery { selection: Selection { filters: Vec::new(), search }, ..everything(scope) }
}

pub fn best_first(query: PageQuery) -> PageQuery {
    PageQuery { order: vec![SortKey { subject: Subject::Score, descending: true }], ..query }
}

/// The parts of a page that most cases look at.
#[derive(Debug, PartialEq)]
pub struct Page {
    pub total_items: u64,
    pub revision: Revision,
    pub items: Vec<ShownItem>,
}

impl Page {
    fn of(page: &ListedPage) -> Self {
        let Total::Exact(total_items) = page.total else { panic!("not counted: {:?}", page.total) };
        let items = page.items.iter().map(|listed| listed.shown.clone()).collect();
        Self { total_items, revision: page.revision, items }
    }
}

/// A store with its schema, in its own database.
pub struct TestStore {
    pub store: Store,
    pub items: Arc<dyn ItemRepository>,
    // Dropped last: the database cannot go while it is used.
    pub database: TestDatabase,
}

/// Ten times the time of the longest case.
const LONGEST: Duration = Duration::from_mins(5);

/// Runs a case. One that hangs fails, and says what the database does.
pub async fn run(database: TestDatabase, case: impl AsyncFn(&TestStore)) {
    const ACTIVITY: &str = "SELECT concat_ws(' ', pid, state, wait_event_type, wait_event, CAST(clock_timestamp() - xact_start AS TEXT), query) \
                            FROM pg_stat_activity WHERE datname = current_database()";
    let opened = timeout(LONGEST, TestStore::open(database)).await;
    let store = opened.expect("a store opens in time");
    if timeout(LONGEST, case(&store)).await.is_err() {
        let is_sqlite = store.database.is_sqlite();
        let activity = (!is_sqlite).then(|| store.database.query(ACTIVITY));
        panic!("not done within {LONGEST:?}: {activity:?}");
    }
}

impl TestStore {
    pub async fn open(database: TestDatabase) -> Self {
        let store = connect(&database).await;
        store.migrate().await.unwrap();
        Self { items: store.items(), store, database }
    }

    /// A second instance, which is possible on `PostgreSQL` only.
    pub async fn second_instance(&self) -> Option<Store> {
        if self.database.is_sqlite() { None } else { Some(connect(&self.database).await) }
    }

    pub async fn insert(&self, scope: Scope, members: &str) -> ShownItem {
        self.try_insert(scope, new_item(members)).await.unwrap()
    }

    pub async fn insert_all(&self, scope: Scope, items: impl IntoIterator<Item = NewItem>) {
        let changes = items.into_iter().map(ItemChange::insert).collect();
        self.items.write_all(scope.collection, changes, at(NOW)).await.unwrap();
    }

    pub async fn try_insert(
        &self,
        scope: Scope,
        item: NewItem,
    ) -> Result<ShownItem, RepositoryError> {
        self.items.insert(scope, item, at(NOW)).await
    }

    pub async fn update(
        &self,
        scope: Scope,
        shown: &ShownItem,
        members: &str,
    ) -> Result<ShownItem, RepositoryError> {
        self.items
            .update(scope, replacement(shown, members), WriteOperation::Replace, at(NOW))
            .await
    }

    pub async fn delete(&self, scope: Scope, shown: &ShownItem) -> Result<(), RepositoryError> {
        self.items.delete(scope, shown.item.id, shown.item.version, at(NOW)).await
    }

    pub async fn find(&self, scope: Scope, shown: &ShownItem) -> Option<ShownItem> {
        self.items.find(&reach(scope), shown.item.id).await.unwrap()
    }

    pub async fn page(&self, scope: Scope, offset: u64, limit: u64) -> Page {
        let position = PageStart::Offset(offset);
        let query = PageQuery { position, limit, ..everything(scope) };
        Page::of(&*self.select(scope, &query).await)
    }

    pub async fn select(&self, scope: Scope, query: &PageQuery) -> Arc<ListedPage> {
        self.items.page(&reach(scope), query).await.unwrap()
    }

    /// The whole scope, which must be small.
    pub async fn list(&self, scope: Scope) -> Page {
        self.page(scope, 0, 1000).await
    }

    /// The change log in its order: version, kind, caller, and the members it left.
    pub fn changes(&self) -> Vec<Vec<Option<String>>> {
        self.database.query("SELECT CAST(version AS TEXT), kind, caller, CAST(members AS TEXT) FROM changes ORDER BY sequence")
    }
}

pub fn ids<'a>(items: impl IntoIterator<Item = &'a ShownItem>) -> Vec<ItemId> {
    items.into_iter().map(|shown| shown.item.id).collect()
}

pub fn options(database: &TestDatabase) -> StoreOptions {
    StoreOptions {
        url: database.url().to_owned(),
        connections: 8,
        acquire_timeout: Duration::from_secs(10),
    }
}

pub async fn connect(database: &TestDatabase) -> Store {
    Store::connect(&options(database)).await.unwrap_or_else(|error| panic!("{error}"))
}

pub async fn whole_log(changes: &dyn ChangeLog) -> Vec<LoggedChange> {
    let mut log = Vec::new();
    let mut after = Sequence(0);
    loop {
        let page = changes.changes(after, None, 10_000).await.unwrap();
        if page.read_to == after {
            return log;
        }
        log.extend(page.changes);
        after = page.read_to;
    }
}
