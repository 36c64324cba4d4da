//! Stores with a history, written by the repository, and their comparable content.

use std::sync::Arc;
use std::time::Duration;

use application::{
    ChangeAuthor, ItemRepository, NewItem, Replacement, Scope, ShownItem, WriteMetadata,
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

/// Members that an inexact JSON reader changes.
const ODD: [&str; 7] = [
    r#"{"amount":100.10,"zero":-0.0,"exponent":1E+5,"small":1e-400}"#,
    r#"{"big":123456789012345678901234567890123456789,"precise":0.1000000000000000055511151231257827}"#,
    r#"{"text":"Peñaranda 😀 \u2028 é \u0001 \" \\ \/ \n"}"#,
    r#"{"":{"b":[[],{},[{"a":null}]],"a":true},"é\"":""}"#,
    "{}",
    r#"{"z":1,"a":2,"m":{"z":1,"a":2}}"#,
    r#"{"proposal_id":7.10,"subject":"Peñaranda"}"#,
];

/// The number of concurrent histories.
const AT_A_TIME: usize = 64;

/// Writes histories into a store.
#[derive(Clone)]
struct Author {
    items: Arc<dyn ItemRepository>,
}

/// Fills a store with items: some are changed several times, some are deleted, some restored.
pub fn fill(database: &TestDatabase, count: usize) {
    writing(database, async |author| {
        let program = Collection::known("proposedprograms");
        let program = author.insert(Scope::of(program), None, ODD[2], 0).await.item.id;
        let mut running = JoinSet::new();
        let mut proposals: Vec<ShownItem> = Vec::new();
        for number in 1..count {
            let proposal =
                (!proposals.is_empty()).then(|| proposals[number * 7 % proposals.len()].item.id);
            running.spawn(author.clone().history(number, proposal, program));
            if running.len() >= AT_A_TIME {
                proposals.extend(running.join_next().await.unwrap().unwrap());
            }
        }
        proposals.extend(running.join_all().await.into_iter().flatten());
        // Their library items are deleted too.
        for proposal in proposals.iter().step_by(50) {
            author.delete(Collection::known("proposals"), proposal, 1).await;
        }
    });
}

/// Fills a store with items of a size.
pub fn fill_with_large(database: &TestDatabase, count: usize, bytes: usize) {
    writing(database, async |author| {
        let mut running = JoinSet::new();
        for number in 0..count {
            let author = author.clone();
            let members = format!("{{\"n\":{number},\"text\":\"{}\"}}", "x".repeat(bytes));
            running.spawn(async move {
                let files = Scope::of(Collection::known("files"));
                author.insert(files, None, &members, number).await;
            });
            if running.len() >= AT_A_TIME {
                running.join_next().await.unwrap().unwrap();
            }
        }
        running.join_all().await;
    });
}

fn writing(database: &TestDatabase, work: impl AsyncFnOnce(&Author)) {
    let (url, acquire_timeout) = (database.url().to_owned(), Duration::from_mins(1));
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let options = StoreOptions { url, connections: 4, acquire_timeout };
        let store = Store::connect(&options).await.unwrap();
        store.migrate().await.unwrap();
        work(&Author { items: store.items() }).await;
        store.close().await;
    });
}

impl Author {
    /// Writes the history of an item, and returns it if it is a proposal that exists at the end.
    async fn history(
        self,
        number: usize,
        proposal: Option<ItemId>,
        program: ItemId,
    ) -> Option<ShownItem> {
        let name = match number % 5 {
            _ if number.is_multiple_of(11) => "files",
            0 | 3 => "proposals",
            1 | 4 => "lib",
            _ => "cashprogram",
        };
        let (collection, is_proposal) = (Collection::known(name), name == "proposals");
        let parent = proposal.filter(|_| name == "lib" && !number.is_multiple_of(3));
        let continues = proposal.filter(|_| is_proposal && number.is_multiple_of(4));
        let (scope, first) = (Scope { collection, parent }, members(number, is_proposal, program));
        let mut shown = self.insert(scope, continues, &first, number).await;
        for change in 0..number % 4 {
            let members = members(number + 31 * change, is_proposal, program);
            let kind = [WriteOperation::Replace, WriteOperation::Patch][change % 2];
            shown =
                self.update(Scope::of(collection), &shown, &members, kind, number + change).await;
        }
        // Other items belong to proposals, which stay until the end.
        if !is_proposal && number.is_multiple_of(7) {
            self.delete(collection, &shown, number).await;
            if number.is_multiple_of(2) {
                self.restore(collection, &shown, number).await;
            }
            return None;
        }
        is_proposal.then_some(shown)
    }

    async fn insert(
        &self,
        scope: Scope,
        continues: Option<ItemId>,
        members: &str,
        number: usize,
    ) -> ShownItem {
        let (members, references) = body(scope.collection, members);
        let item = NewItem { id: new_id(), members, continues, references };
        self.items.insert(scope, item, by(number)).await.unwrap()
    }

    async fn update(
        &self,
        scope: Scope,
        shown: &ShownItem,
        members: &str,
        kind: WriteOperation,
        number: usize,
    ) -> ShownItem {
        let (members, references) = body(scope.collection, members);
        let (id, expected) = (shown.item.id, shown.item.version);
        let replacement = Replacement { id, expected, members, references };
        self.items.update(scope, replacement, kind, by(number)).await.unwrap()
    }

    /// Restores a deleted item, and changes some.
    async fn restore(&self, collection: Collection, deleted: &ShownItem, number: usize) {
        let scope = Scope { collection, parent: deleted.item.parent };
        let (members, references) = body(collection, ODD[0]);
        let item = NewItem { id: deleted.item.id, members, continues: None, references };
        let restored = self.items.restore(scope, item, by(number)).await.unwrap();
        if number.is_multiple_of(3) {
            self.update(scope, &restored, ODD[1], WriteOperation::Patch, number).await;
        }
    }

    async fn delete(&self, collection: Collection, shown: &ShownItem, number: usize) {
        let item = &shown.item;
        self.items.delete(Scope::of(collection), item.id, item.version, by(number)).await.unwrap();
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

/// Members as they are stored, and the items that they name.
fn body(collection: Collection, members: &str) -> (Arc<str>, Vec<Option<ItemId>>) {
    let members = Members::read(members.as_bytes()).unwrap().unwrap();
    let references = collection.references_in(members.encoded());
    (members.into_encoded(), references)
}

#[expect(clippy::disallowed_methods, reason = "no port makes ids for tests")]
fn new_id() -> ItemId {
    ItemId::from_uuid(Uuid::now_v7())
}

/// Two of three writes have a caller, some with an acting person and a client.
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

/// Rows that are the same in every copy of a store.
pub type Rows = Vec<Vec<Option<String>>>;

/// The items, the changes and the totals.
pub fn content(database: &TestDatabase) -> [Rows; 3] {
    let id = |name: &str| {
        if database.is_sqlite() {
            format!("lower(hex({name}))")
        } else {
            format!("coalesce(replace({name}::text, '-', ''), '')")
        }
    };
    let columns = |ids: &str, texts: &str| {
        let texts = texts.split(' ').map(|name| format!("CAST({name} AS TEXT)"));
        ids.split(' ').map(id).chain(texts).collect::<Vec<_>>().join(", ")
    };
    let items = columns(
        "id parent continues reference_0",
        "collection version created_at updated_at sequence created_by \
         key_1 key_2 key_3 key_4 key_5",
    );
    let changes = columns(
        "item_id parent continues",
        "sequence collection version kind time members caller acting client request_id",
    );
    let totals = columns("parent", "collection SUM(items) SUM(writes)");
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
