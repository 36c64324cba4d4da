//! The sessions of the pages.

use application::ports::{SessionStore, StoredSession};
use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};

use crate::store::{NOW, TestStore};

on_both_stores! {
    a_session_is_found_until_it_ends_or_is_deleted
    a_caller_keeps_the_latest_sessions
    ; every_server:
    concurrent_sessions_are_limited
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_microsecond(NOW).unwrap() + SignedDuration::from_secs(seconds)
}

fn session(digest: &str, caller: &str, (began, ends): (i64, i64)) -> StoredSession {
    let (began, ends) = (at(began), at(ends));
    let encrypted_token = format!("token of {digest}").into();
    StoredSession { digest: digest.into(), caller: caller.into(), began, ends, encrypted_token }
}

async fn known(sessions: &dyn SessionStore, now: i64) -> String {
    let mut known = String::new();
    for digest in ["a", "b", "c", "d"] {
        if sessions.find(digest, at(now)).await.unwrap().is_some() {
            known.push_str(digest);
        }
    }
    known
}

async fn a_session_is_found_until_it_ends_or_is_deleted(store: &TestStore) {
    let sessions = store.store.sessions();
    let sessions = sessions.as_ref();
    for (digest, caller, times) in
        [("a", "ana", (0, 10)), ("b", "ana", (1, 20)), ("c", "ben", (2, 20)), ("d", "ben", (3, 30))]
    {
        let session = session(digest, caller, times);
        sessions.begin(session.clone(), 5).await.unwrap();
        assert_eq!(sessions.find(digest, at(9)).await.unwrap(), Some(session.clone()));
        sessions.begin(session, 5).await.unwrap_err();
    }
    assert_eq!(known(sessions, 9).await, "abcd");
    assert_eq!(known(sessions, 10).await, "bcd", "the end is not included");
    sessions.end_expired(at(20)).await.unwrap();
    assert_eq!(known(sessions, 0).await, "d");
    sessions.begin(session("a", "ana", (0, 10)), 5).await.unwrap();
    sessions.begin(session("b", "ben", (0, 10)), 5).await.unwrap();
    sessions.end("b").await.unwrap();
    sessions.end("b").await.unwrap();
    sessions.end_all("ben").await.unwrap();
    sessions.end_all("carla").await.unwrap();
    assert_eq!(known(sessions, 0).await, "a");
}

async fn a_caller_keeps_the_latest_sessions(store: &TestStore) {
    let sessions = store.store.sessions();
    let sessions = sessions.as_ref();
    for (digest, began) in [("a", 3), ("b", 1), ("c", 2)] {
        sessions.begin(session(digest, "ana", (began, 20)), 3).await.unwrap();
    }
    sessions.begin(session("d", "ben", (0, 20)), 1).await.unwrap();
    // The clock of its instance is behind the others.
    sessions.begin(session("e", "ana", (0, 20)), 3).await.unwrap();
    assert_eq!(known(sessions, 0).await, "acd");
    assert!(sessions.find("e", at(0)).await.unwrap().is_some());
}

async fn concurrent_sessions_are_limited(store: &TestStore) {
    const MOST: u8 = 4;
    let sessions = store.store.sessions();
    let begin = async |number: i64| {
        let session = session(&format!("s{number}"), "ana", (number, 200));
        sessions.begin(session, MOST.into()).await
    };
    for begun in join_all((0..64).map(begin)).await {
        begun.unwrap();
    }
    let rows = store.database.query("SELECT digest FROM sessions");
    assert!((1..=usize::from(MOST)).contains(&rows.len()), "{rows:?}");
}
