//! Who made changes, who created items, and the names of callers.

use application::{ChangeAuthor, ItemChange, ItemChangeKind, WriteMetadata};
use domain::{Collection, WriteOperation};
use jiff::{SignedDuration, Timestamp};

use tests::callers::warrant_by;

use crate::store::{
    FILES, NOW, PROPOSALS, TestStore, at, content, lib_of, new_item, options, replacement,
    whole_log,
};

on_both_stores! {
    every_kind_of_write_is_logged_with_its_author
    an_erased_name_is_never_kept_again
    a_name_is_erased_while_the_service_runs
    ; every_server:
    the_last_name_is_known
}

/// An author of whom everything is known. The words have letters that need escaping somewhere.
fn author(number: usize) -> ChangeAuthor {
    ChangeAuthor {
        caller: Some(format!("agency:Ñ\"{number}")),
        acting: Some(format!("agency:'{{{number}}}'")),
        client: Some(format!("portal\\{number},")),
        request_id: Some(format!("request {number}")),
    }
}

fn by(author: &ChangeAuthor) -> WriteMetadata {
    WriteMetadata { warrant: warrant_by(author), ..at(NOW) }
}

fn time() -> Timestamp {
    Timestamp::from_microsecond(NOW).unwrap()
}

fn ids(names: &[&str]) -> Vec<Box<str>> {
    names.iter().map(|name| (*name).into()).collect()
}

async fn every_kind_of_write_is_logged_with_its_author(store: &TestStore) {
    let items = &store.items;
    let (proposals, cash) = (PROPOSALS, Collection::known("cashprogram"));
    let [one, two, three] = [author(1), author(2), author(3)];
    let proposal = items.insert(proposals, new_item("{}"), by(&one)).await.unwrap();
    items.insert(lib_of(&proposal), new_item("{}"), by(&two)).await.unwrap();
    let patched = replacement(&proposal, r#"{"a":1}"#);
    let patched =
        items.update(proposals, patched, WriteOperation::Patch, by(&three)).await.unwrap();
    let (id, version) = (patched.item.id, patched.item.version);
    items.delete(proposals, id, version, by(&two)).await.unwrap();
    let restored = application::NewItem { id, ..new_item("{}") };
    let restored = items.restore(proposals, restored, by(&three)).await.unwrap();
    let kind = ItemChangeKind::Update(replacement(&restored, "{}"));
    let update = ItemChange { parent: None, kind, key: None, remarks: Box::default() };
    let many = vec![ItemChange::insert(new_item("{}")), update];
    items.write_all(proposals.collection, many, by(&one)).await.unwrap();
    let whole = content(vec![], vec![new_item("{}")]);
    items.replace_all(cash, whole, by(&two)).await.unwrap();
    items.replace_all(cash, content(vec![], vec![]), by(&three)).await.unwrap();
    let unknown = ChangeAuthor { request_id: Some("r".to_owned()), ..ChangeAuthor::default() };
    items.insert(FILES, new_item("{}"), by(&unknown)).await.unwrap();
    let log = whole_log(&*store.store.change_log()).await;
    let logged: Vec<_> = log.into_iter().map(|change| change.author).collect();
    let expected = [&one, &two, &three, &two, &two, &three, &one, &one, &two, &three, &unknown];
    assert_eq!(logged, expected.map(ChangeAuthor::clone));
}

async fn the_last_name_is_known(store: &TestStore) {
    let callers = store.store.callers();
    let all = ids(&["agency:1", "agency:2", "agency:3"]);
    assert!(callers.names(&all).await.unwrap().is_empty() && callers.names(&[]).await.is_ok());
    callers.seen("agency:1", "Ana", time()).await.unwrap();
    callers.seen("agency:2", " Ben\u{0}\n", time()).await.unwrap();
    callers.seen("agency:3", "\u{0} ", time()).await.unwrap();
    let later = time() + SignedDuration::from_secs(1);
    callers.seen("agency:1", "Ana Ñ.", later).await.unwrap();
    for _ in 0..2 {
        let names = callers.names(&all).await.unwrap();
        let mut names: Vec<_> = names.iter().map(|(id, name)| (&**id, &**name)).collect();
        names.sort_unstable();
        assert_eq!(names, [("agency:1", "Ana Ñ."), ("agency:2", "Ben")]);
    }
    let rows = store.database.query(
        "SELECT CAST(first_seen AS TEXT), CAST(last_seen AS TEXT) FROM callers ORDER BY id LIMIT 1",
    );
    let times = [time(), later].map(|time| Some(time.as_microsecond().to_string()));
    assert_eq!(rows, [times.to_vec()]);
}

async fn an_erased_name_is_never_kept_again(store: &TestStore) {
    let callers = store.store.callers();
    let both = ids(&["agency:1", "agency:2"]);
    for id in &both {
        callers.seen(id, "Ana", time()).await.unwrap();
    }
    assert_eq!(callers.names(&both).await.unwrap().len(), 2);
    assert_eq!(callers.erase("agency:1", time()).await, Ok(true));
    assert_eq!(callers.erase("agency:1", time()).await, Ok(false), "it was erased before");
    assert_eq!(callers.erase("agency:3", time()).await, Ok(false), "it is unknown");
    for id in ["agency:1", "agency:3"] {
        callers.seen(id, "Ana", time()).await.unwrap();
    }
    let found = callers.names(&ids(&["agency:1", "agency:2", "agency:3"])).await.unwrap();
    assert_eq!(found.keys().map(|id| &**id).collect::<Vec<_>>(), ["agency:2"]);
}

async fn a_name_is_erased_while_the_service_runs(store: &TestStore) {
    store.store.callers().seen("agency:1", "Ana", time()).await.unwrap();
    let options = options(&store.database);
    let writing = async {
        for _ in 0..50 {
            store.insert(FILES, "{}").await;
        }
    };
    let erasing = async {
        let erased = options.erase_caller("agency:1", time()).await;
        assert!(erased.unwrap());
        assert!(!options.erase_caller("agency:1", time()).await.unwrap());
    };
    tokio::join!(writing, erasing);
    store.store.callers().seen("agency:1", "Ana", time()).await.unwrap();
    let rows = store.database.query("SELECT id, name FROM callers");
    assert_eq!(rows, [[Some("agency:1".to_owned()), Some(String::new())]]);
    assert_eq!(store.list(FILES).await.total_items, 50);
}
