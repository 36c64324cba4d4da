//! Stores with a history, written by the repository itself, and what of a store can be compared.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use application::{
    ChangeAuthor, ItemRepository, NewItem, Reach, Replacement, Scope, ShownItem, WriteMetadata,
};
use domain::{Collection, ItemId, Members, WriteOperation};
use jiff::Timestamp;
use storage_adapter::{Store, StoreOptions};
use tests::callers::warrant_by;
use tests::stores::TestDatabase;
use tokio::task::JoinSet;
use uuid::Uuid;

/// 2026-01-01, in microseconds.
const BEGINNING: i64 = 1_767_225_600_000_000;

/// Members that a careless reader of JSON would alter.
const ODD: [&str; 7] = [
    r#"{"amount":100.10,"zero":-0.0,"exponent":1E+5,"small":1e-400}"#,
    r#"{"big":123456789012345678901234567890123456789,"precise":0.1000000000000000055511151231257827}"#,
    r#"{"text":"Peñaranda 😀 \u2028 é \u0001 \" \\ \/ \n"}"#,
    r#"{"":{"b":[[],{},[{"a":null}]],"a":true},"é\"":""}"#,
    "{}",
    r#"{"z":1,"a":2,"m":{"z":1,"a":2}}"#,
    r#"{"proposal_id":7.10,"subject":"Peñaranda"}"#,
];

/// How many histories are written at the same time.
const AT_A_TIME: usize = 64;

/// Writes histories into a store.
#[derive(Clone)]
struct Author {
    items: Arc<dyn ItemRepository>,
}

/// Runs something that needs a runtime.
pub fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().unwrap().block_on(work)
}

/// Fills a store with so many items: some changed several times, some deleted, some there again
/// afterwards.
pub fn fill(database: &TestDatabase, count: usize) {
    block_on(async {
        let store = open(database).await;
        let author = Author { items: store.items() };
        let programs = author
            .insert(Collection::known("proposedprograms"), None, None, ODD[2], 0)
            .await
            .item
            .id;
        let mut histories: VecDeque<_> = (1..count).collect();
        let mut under_way = JoinSet::new();
        let mut proposals = Vec::new();
        while !histories.is_empty() || !under_way.is_empty() {
            while under_way.len() < AT_A_TIME
                && let Some(number) = histories.pop_front()
            {
                let proposal =
                    (!proposals.is_empty()).then(|| proposals[number * 7 % proposals.len()]);
                under_way.spawn(author.clone().history(number, proposal, programs));
            }
            if let Some(stays) = under_way.join_next().await {
                proposals.extend(stays.unwrap());
            }
        }
        // With their library items.
        for proposal in proposals.iter().step_by(50) {
            author.delete_newest(Collection::known("proposals"), *proposal).await;
        }
        store.close().await;
    });
}

/// Fills a store with so many items of so many bytes.
pub fn fill_with_large(database: &TestDatabase, count: usize, bytes: usize) {
    block_on(async {
        let store = open(database).await;
        let author = Author { items: store.items() };
        let mut under_way = JoinSet::new();
        for number in 0..count {
            let (author, members) =
                (author.clone(), format!("{{\"n\":{number},\"text\":\"{}\"}}", "x".repeat(bytes)));
            under_way.spawn(async move {
                author
                    .insert(Collection::known("files"), None, None, &members, number)
                    .await
                    .item
                    .id
            });
            if under_way.len() >= AT_A_TIME {
                under_way.join_next().await.unwrap().unwrap();
            }
        }
        while under_way.join_next().await.is_some() {}
        store.close().await;
    });
}

async fn open(database: &TestDatabase) -> Store {
    let options = StoreOptions {
        url: database.url().to_owned(),
        connections: 4,
        acquire_timeout: Duration::from_mins(1),
    };
    let store = Store::connect(&options).await.unwrap();
    store.migrate().await.unwrap();
    store
}

impl Author {
    /// The life of an item; its id if it is a proposal that is there in the end.
    async fn history(
        self,
        number: usize,
        proposal: Option<ItemId>,
        program: ItemId,
    ) -> Option<ItemId> {
        let collections = [
            Collection::known("proposals"),
            Collection::known("lib"),
            Collection::known("cashprogram"),
            Collection::known("proposals"),
            Collection::known("lib"),
        ];
        let collection = if number.is_multiple_of(11) {
            Collection::known("files")
        } else {
            collections[number % collections.len()]
        };
        let is_proposal = collection == Collection::known("proposals");
        let is_nested = collection == Collection::known("lib") && !number.is_multiple_of(3);
        let parent = proposal.filter(|_| is_nested);
        let continues = proposal.filter(|_| is_proposal && number.is_multiple_of(4));
        let mut shown = self
            .insert(collection, parent, continues, &members(number, is_proposal, program), number)
            .await;
        for change in 0..number % 4 {
            let members = members(number + 31 * change, is_proposal, program);
            let replacement = replacement(collection, &shown, &members);
            let kind = if change.is_multiple_of(2) {
                WriteOperation::Replace
            } else {
                WriteOperation::Patch
            };
            shown = self
                .items
                .update(all(collection), replacement, kind, by(number + change))
                .await
                .unwrap();
        }
        // The proposals that others belong to stay until the end.
        if !is_proposal && number.is_multiple_of(7) {
            self.items
                .delete(all(collection), shown.item.id, shown.item.version, by(number))
                .await
                .unwrap();
            if number.is_multiple_of(2) {
                self.restore(collection, &shown, number).await;
            }
            return None;
        }
        is_proposal.then_some(shown.item.id)
    }

    async fn insert(
        &self,
        collection: Collection,
        parent: Option<ItemId>,
        continues: Option<ItemId>,
        members: &str,
        number: usize,
    ) -> ShownItem {
        let item = NewItem {
            id: new_id(),
            members: stored(members),
            continues,
            references: collection.references_in(read(members).encoded()),
        };
        self.items.insert(Scope { collection, parent }, item, by(number)).await.unwrap()
    }

    /// Makes a deleted item be there again; some are changed then.
    async fn restore(&self, collection: Collection, deleted: &ShownItem, number: usize) {
        let scope = Scope { collection, parent: deleted.item.parent };
        let item = NewItem {
            id: deleted.item.id,
            members: stored(ODD[0]),
            continues: None,
            references: Vec::new(),
        };
        let restored = self.items.restore(scope, item, by(number)).await.unwrap();
        if number.is_multiple_of(3) {
            self.items
                .update(
                    scope,
                    replacement(collection, &restored, ODD[1]),
                    WriteOperation::Patch,
                    by(number),
                )
                .await
                .unwrap();
        }
    }

    async fn delete_newest(&self, collection: Collection, id: ItemId) {
        let shown =
            self.items.find(&Reach::of_the_service(all(collection)), id).await.unwrap().unwrap();
        self.items.delete(all(collection), id, shown.item.version, by(1)).await.unwrap();
    }
}

fn members(number: usize, is_proposal: bool, program: ItemId) -> String {
    if is_proposal {
        return format!(
            "{{\"project_title\":\"Número {number} \\\"x\\\"\",\"proposal_type\":{number},\"research_type\":\"Applied {}\",\
             \"program_id\":\"{program}\",\"start_date\":\"2026-01-0{}\"}}",
            number % 5,
            number % 9 + 1
        );
    }
    match ODD.get(number % (ODD.len() + 1)) {
        Some(odd) => (*odd).to_owned(),
        None => format!("{{\"proposal_id\":\"{program}\"}}"),
    }
}

fn read(members: &str) -> Members {
    Members::read(members.as_bytes()).unwrap().unwrap()
}

fn stored(members: &str) -> Arc<str> {
    read(members).into_encoded()
}

fn replacement(collection: Collection, shown: &ShownItem, members: &str) -> Replacement {
    Replacement {
        id: shown.item.id,
        expected: shown.item.version,
        members: stored(members),
        references: collection.references_in(read(members).encoded()),
    }
}

#[expect(clippy::disallowed_methods, reason = "a test needs ids that no port makes")]
fn new_id() -> ItemId {
    ItemId::from_uuid(Uuid::now_v7())
}

fn all(collection: Collection) -> Scope {
    Scope { collection, parent: None }
}

/// Two of three writes have a caller, for whom somebody acts now and then.
fn by(number: usize) -> WriteMetadata {
    let caller = (!number.is_multiple_of(3)).then(|| format!("Ana \"{}\" Ñ\\", number % 10));
    let sometimes = |every, text: &str| {
        (caller.is_some() && number.is_multiple_of(every)).then(|| format!("{text} {number}"))
    };
    let (acting, client) = (sometimes(4, "Ben \"Ñ\""), sometimes(5, "desk,{}'"));
    let request_id = (!number.is_multiple_of(7)).then(|| format!("request-{number}"));
    let time = Timestamp::from_microsecond(BEGINNING + i64::try_from(number).unwrap()).unwrap();
    WriteMetadata::under(warrant_by(&ChangeAuthor { caller, acting, client, request_id }), time)
}

/// Rows of a store that must be the same in every copy of it.
pub type Rows = Vec<Vec<Option<String>>>;

/// The items, the changes and the totals, to the last digit.
pub fn content(database: &TestDatabase) -> [Rows; 3] {
    let id = |name: &str| {
        if database.is_sqlite() {
            format!("lower(hex({name}))")
        } else {
            format!("coalesce(replace({name}::text, '-', ''), '')")
        }
    };
    let text = |name: &str| format!("CAST({name} AS TEXT)");
    let columns = |ids: &[&str], texts: &[&str]| {
        ids.iter()
            .map(|name| id(name))
            .chain(texts.iter().map(|name| text(name)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let items = columns(
        &["id", "parent", "continues", "reference_0"],
        &[
            "collection",
            "version",
            "created_at",
            "updated_at",
            "sequence",
            "created_by",
            "program_id",
            "research_type",
            "researcher_id",
            "start_date",
            "subject",
        ],
    );
    let changes = columns(
        &["item_id", "parent", "continues"],
        &[
            "sequence",
            "collection",
            "version",
            "kind",
            "time",
            "members",
            "caller",
            "acting",
            "client",
            "request_id",
        ],
    );
    let totals = columns(&["parent"], &["collection", "SUM(items)", "SUM(writes)"]);
    let mut content = [
        database.query(&format!("SELECT {items} FROM items")),
        database.query(&format!("SELECT {changes} FROM changes")),
        database.query(&format!("SELECT {totals} FROM totals GROUP BY collection, parent")),
    ];
    for rows in &mut content {
        rows.sort();
    }
    content
}
