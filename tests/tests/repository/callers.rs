//! Who made changes, who created items, and the names of callers.

use application::{
    ChangeAuthor, Creator, IdempotencyKey, ItemChange, ItemChangeKind, RepositoryError,
    WriteMetadata,
};
use domain::{Collection, WriteOperation};
use jiff::{SignedDuration, Timestamp};

use tests::callers::{warrant_by, warrant_of};

use crate::store::{
    NOW, TestStore, all, at, content, lib_of, new_item, next_id, options, reach, replacement,
    whole_log,
};

const FILES: Collection = Collection::known("files");

on_both_stores! {
    every_kind_of_write_is_logged_with_its_author
    versions_tell_their_authors
    the_creator_is_the_caller_of_the_first_version
    two_callers_may_use_the_same_key
    the_last_name_is_known
    an_erased_name_is_never_kept_again
    a_name_is_erased_beside_the_service
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
    let (proposals, cash) = (all(Collection::known("proposals")), Collection::known("cashprogram"));
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
    let nobody = ChangeAuthor { request_id: Some("r".to_owned()), ..ChangeAuthor::default() };
    items.insert(all(FILES), new_item("{}"), by(&nobody)).await.unwrap();
    let log = whole_log(&*store.store.change_log()).await;
    let logged: Vec<_> = log.into_iter().map(|change| change.author).collect();
    let expected = [&one, &two, &three, &two, &two, &three, &one, &one, &two, &three, &nobody];
    assert_eq!(logged, expected.map(ChangeAuthor::clone));
}

async fn versions_tell_their_authors(store: &TestStore) {
    let (scope, history) = (all(FILES), store.store.history());
    let [one, two] = [author(1), author(2)];
    let shown = store.items.insert(scope, new_item("{}"), by(&one)).await.unwrap();
    let id = shown.item.id;
    let metadata = by(&two);
    let update = replacement(&shown, r#"{"a":1}"#);
    let shown = store.items.update(scope, update, WriteOperation::Replace, metadata).await.unwrap();
    let version = shown.item.version;
    let versions = history.versions(&reach(scope), id, version, 9).await.unwrap();
    let authors: Vec<_> = versions.into_iter().map(|change| change.author).collect();
    assert_eq!(authors, [two.clone(), one]);
    let past = history.version(&reach(scope), id, version).await.unwrap().unwrap();
    assert_eq!(past.change.author, two);
    let past = history.version_at(&reach(scope), id, shown.item.updated_at).await.unwrap().unwrap();
    assert_eq!(past.change.author, two);
}

async fn the_creator_is_the_caller_of_the_first_version(store: &TestStore) {
    let items = &store.items;
    let files = reach(all(FILES));
    let creator = |caller: Option<&str>| Ok(Some(Creator { caller: caller.map(Into::into) }));
    let named = |name: &str| WriteMetadata { warrant: warrant_of(Some(name)), ..at(NOW) };
    assert_eq!(items.creator(&files, next_id()).await, Ok(None));
    let anonymous = store.insert(all(FILES), "{}").await;
    assert_eq!(items.creator(&files, anonymous.item.id).await, creator(None));
    let shown = items.insert(all(FILES), new_item("{}"), named("ana")).await.unwrap();
    let id = shown.item.id;
    let update = replacement(&shown, r#"{"a":1}"#);
    let shown =
        items.update(all(FILES), update, WriteOperation::Patch, named("ben")).await.unwrap();
    assert_eq!(items.creator(&files, id).await, creator(Some("ana")));
    let proposals = reach(all(Collection::known("proposals")));
    assert_eq!(items.creator(&proposals, id).await, Ok(None), "not in the scope");
    items.delete(all(FILES), id, shown.item.version, named("carla")).await.unwrap();
    assert_eq!(items.creator(&files, id).await, Ok(None), "it was removed");
    let restored = application::NewItem { id, ..new_item("{}") };
    items.restore(all(FILES), restored, named("dan")).await.unwrap();
    assert_eq!(items.creator(&files, id).await, creator(Some("ana")));
    let proposal = store.insert(all(Collection::known("proposals")), "{}").await;
    let own = items.insert(lib_of(&proposal), new_item("{}"), named("eva")).await.unwrap();
    let of_parent = reach(lib_of(&proposal));
    assert_eq!(items.creator(&of_parent, own.item.id).await, creator(Some("eva")));
    let of_another = reach(lib_of(&anonymous));
    assert_eq!(items.creator(&of_another, own.item.id).await, Ok(None));
}

async fn two_callers_may_use_the_same_key(store: &TestStore) {
    let key = IdempotencyKey {
        path: "/v1/files".to_owned(),
        key: "k".to_owned(),
        fingerprint: "f".to_owned(),
    };
    let keyed = |caller: Option<&str>| WriteMetadata {
        warrant: warrant_of(caller),
        key: Some(key.clone()),
        key_expires: at(NOW).time + SignedDuration::from_hours(1),
        ..at(NOW)
    };
    let callers = [None, Some("agency:1"), Some("agency:2")];
    for caller in callers {
        assert_eq!(store.items.answered(&keyed(caller)).await, Ok(None), "{caller:?}");
        let shown = store.items.insert(all(FILES), new_item("{}"), keyed(caller)).await.unwrap();
        let answered = store.items.answered(&keyed(caller)).await.unwrap().unwrap();
        assert_eq!(answered.shown.item.id, shown.item.id, "{caller:?}");
    }
    for caller in callers {
        let again = store.items.insert(all(FILES), new_item("{}"), keyed(caller)).await;
        assert_eq!(again, Err(RepositoryError::AnsweredBefore), "{caller:?}");
    }
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
    assert_eq!(callers.erase("agency:3", time()).await, Ok(false), "nobody has seen it");
    for id in ["agency:1", "agency:3"] {
        callers.seen(id, "Ana", time()).await.unwrap();
    }
    let found = callers.names(&ids(&["agency:1", "agency:2", "agency:3"])).await.unwrap();
    assert_eq!(found.keys().map(|id| &**id).collect::<Vec<_>>(), ["agency:2"]);
}

/// Another process erases it, while this one writes.
async fn a_name_is_erased_beside_the_service(store: &TestStore) {
    store.store.callers().seen("agency:1", "Ana", time()).await.unwrap();
    let options = options(&store.database);
    let writing = async {
        for _ in 0..50 {
            store.insert(all(FILES), "{}").await;
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
    assert_eq!(store.list(all(FILES)).await.total_items, 50);
}
