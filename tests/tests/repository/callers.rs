//! The names of callers.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};

use crate::store::{FILES, NOW, TestStore, options};

on_both_stores! {
    an_erased_name_is_never_kept_again
    a_name_is_erased_while_the_service_runs
    names_are_erased_during_writes_of_their_callers
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

/// Each caller writes and is seen again and again, as with every request. No write fails, and a name
/// that was erased by another process does not come back.
async fn names_are_erased_during_writes_of_their_callers(store: &TestStore) {
    const CALLERS: usize = 8;
    const WRITES: usize = 40;
    let erased: [AtomicBool; CALLERS] = Default::default();
    let id = |caller: usize| format!("agency:{caller}");
    let write = async |caller: usize| {
        let callers = store.store.callers();
        for _ in 0..WRITES {
            let was_erased = erased[caller].load(Ordering::SeqCst);
            callers.seen(&id(caller), "Ana", time()).await.unwrap();
            store.insert(FILES, "{}").await;
            if was_erased {
                let rows = store
                    .database
                    .query(&format!("SELECT name FROM callers WHERE id = '{}'", id(caller)));
                assert_eq!(rows, [[Some(String::new())]], "the name of {} is back", id(caller));
            }
        }
    };
    let erase = async {
        let options = options(&store.database);
        for caller in (0..CALLERS).step_by(2) {
            options.erase_caller(&id(caller), time()).await.unwrap();
            erased[caller].store(true, Ordering::SeqCst);
        }
    };
    tokio::join!(join_all((0..CALLERS).map(write)), erase);
    let rows = store.database.query("SELECT name FROM callers ORDER BY id");
    let names: Vec<_> = rows.iter().map(|row| row[0].as_deref().unwrap()).collect();
    assert_eq!(names, ["", "Ana"].repeat(CALLERS / 2));
    assert_eq!(store.list(FILES).await.total_items, (CALLERS * WRITES) as u64);
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
