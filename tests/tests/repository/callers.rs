//! The names of callers.

use jiff::{SignedDuration, Timestamp};

use crate::store::{FILES, NOW, TestStore, options};

on_both_stores! {
    an_erased_name_is_never_kept_again
    a_name_is_erased_while_the_service_runs
    ; every_server:
    the_last_name_is_known
}

fn time() -> Timestamp {
    Timestamp::from_microsecond(NOW).unwrap()
}

fn ids(names: &[&str]) -> Vec<Box<str>> {
    names.iter().map(|name| (*name).into()).collect()
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
