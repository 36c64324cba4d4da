//! The ports over an engine: reads become statements here, writes become data.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use application::{
    Change, ChangeKind, CollectionContent, ItemRepository, ListedPage, NewItem, Readiness, Replacement, RepositoryError, Scope, ShownItem,
    Window,
};
use async_trait::async_trait;
use domain::{Collection, ItemId, Version};
use sea_orm::{DbErr, QueryResult, Statement};

use crate::engine::Engine;
use crate::errors::logged;
use crate::read_queue::{ReadQueue, SharedRead};
use crate::rows;
use crate::statements::Statements;
use crate::write::{Answer, Write};

/// The items of one database.
pub(crate) struct SqlItemRepository {
    reads: Arc<Reads>,
    items: ReadQueue<ItemReads>,
    pages: ReadQueue<PageReads>,
}

impl SqlItemRepository {
    /// Starts the lanes of the read queues, so it needs a runtime. A read waits for its place as long as `patience` says.
    pub fn new(engine: Arc<dyn Engine>, patience: Duration) -> Self {
        let (statements, lanes) = (Statements::new(engine.dialect()), engine.lanes());
        let reads = Arc::new(Reads { engine, statements });
        let items = ReadQueue::start(ItemReads(Arc::clone(&reads)), lanes, patience);
        let pages = ReadQueue::start(PageReads(Arc::clone(&reads)), lanes, patience);
        Self { reads, items, pages }
    }

    async fn write(&self, write: Write) -> Answer {
        self.reads.engine.write(write).await
    }
}

#[async_trait]
impl ItemRepository for SqlItemRepository {
    async fn find(&self, scope: Scope, id: ItemId) -> Result<Option<ShownItem>, RepositoryError> {
        self.items.read((scope, id)).await
    }

    async fn find_many(&self, scope: Scope, ids: &[ItemId]) -> Result<Vec<ShownItem>, RepositoryError> {
        if ids.is_empty() { Ok(Vec::new()) } else { self.reads.items(scope, ids).await }
    }

    async fn page(&self, scope: Scope, window: Window) -> Result<ListedPage, RepositoryError> {
        let (page, has_owner) = self.pages.read((scope, window)).await?;
        if scope.parent.is_some() && !has_owner { Err(RepositoryError::OwnerMissing) } else { Ok(page) }
    }

    async fn insert(&self, scope: Scope, item: NewItem, change: Change) -> Result<ShownItem, RepositoryError> {
        left(self.write(Write::Insert { scope, item, change }).await)
    }

    async fn update(&self, scope: Scope, replacement: Replacement, kind: ChangeKind, change: Change) -> Result<ShownItem, RepositoryError> {
        left(self.write(Write::Update { scope, replacement, kind, change }).await)
    }

    async fn delete(&self, scope: Scope, id: ItemId, expected: Version, change: Change) -> Result<(), RepositoryError> {
        self.write(Write::Delete { scope, id, expected, change }).await.map(|_| ())
    }

    async fn replace_all(&self, collection: Collection, content: CollectionContent, change: Change) -> Result<(), RepositoryError> {
        self.write(Write::ReplaceAll { collection, content, change }).await.map(|_| ())
    }
}

#[async_trait]
impl Readiness for SqlItemRepository {
    async fn check(&self) -> Result<(), RepositoryError> {
        if !self.items.is_alive() || !self.pages.is_alive() {
            return Err(RepositoryError::Unavailable);
        }
        self.reads.read("readiness", self.reads.statements.ready(), |_| Ok(())).await
    }
}

/// The item that an insert or an update leaves.
fn left(answer: Answer) -> Result<ShownItem, RepositoryError> {
    answer?.ok_or(RepositoryError::Corrupt)
}

/// The reads, as statements of an engine.
struct Reads {
    engine: Arc<dyn Engine>,
    statements: Statements,
}

impl Reads {
    async fn read<T>(
        &self,
        step: &'static str,
        statement: Statement,
        understand: impl FnOnce(&[QueryResult]) -> Result<T, DbErr> + Send,
    ) -> Result<T, RepositoryError> {
        let rows = self.engine.read(statement).await;
        rows.and_then(|rows| understand(&rows)).map_err(|error| logged(&error, step))
    }

    async fn items(&self, scope: Scope, ids: &[ItemId]) -> Result<Vec<ShownItem>, RepositoryError> {
        let statement = match ids {
            [id] => self.statements.find(scope, *id),
            ids => self.statements.find_many(scope, ids),
        };
        self.read("find", statement, rows::shown_items).await
    }
}

/// Items that are looked for at the same time: those of a scope are found by one statement.
struct ItemReads(Arc<Reads>);

#[async_trait]
impl SharedRead for ItemReads {
    type Key = (Scope, ItemId);
    type Found = Option<ShownItem>;

    async fn read(&self, keys: &[Self::Key]) -> Vec<Result<Self::Found, RepositoryError>> {
        let mut ids_of: HashMap<Scope, Vec<ItemId>> = HashMap::new();
        for (scope, id) in keys {
            ids_of.entry(*scope).or_default().push(*id);
        }
        let mut found = HashMap::new();
        let mut failed = HashMap::new();
        for (scope, ids) in ids_of {
            match self.0.items(scope, &ids).await {
                Ok(items) => found.extend(items.into_iter().map(|shown| ((scope, shown.item.id), shown))),
                Err(error) => drop(failed.insert(scope, error)),
            }
        }
        let answer = |key: &Self::Key| failed.get(&key.0).map_or_else(|| Ok(found.get(key).cloned()), |error| Err(*error));
        keys.iter().map(answer).collect()
    }
}

/// Pages that are asked for at the same time: each is read once.
struct PageReads(Arc<Reads>);

#[async_trait]
impl SharedRead for PageReads {
    type Key = (Scope, Window);
    type Found = (ListedPage, bool);

    async fn read(&self, keys: &[Self::Key]) -> Vec<Result<Self::Found, RepositoryError>> {
        let mut pages = HashMap::new();
        for key in keys {
            if !pages.contains_key(key) {
                let page = self.0.read("page", self.0.statements.page(key.0, key.1), rows::page).await;
                pages.insert(*key, page);
            }
        }
        keys.iter().map(|key| pages[key].clone()).collect()
    }
}
