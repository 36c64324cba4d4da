//! A panic in the task of a connection to `PostgreSQL`: the caller gets an error, and the next
//! statements have another connection.

use application::RepositoryError;
use tests::stores::TestDatabase;
use tokio::runtime::Builder;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber, subscriber};

use crate::store::{FILES, TestStore};

/// Each statement that indexes has the server send a warning, which the driver logs.
const WARN: [&str; 2] = [
    "CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'a warning'; RETURN NULL; END $$",
    "CREATE TRIGGER warning AFTER INSERT ON search_index FOR EACH STATEMENT EXECUTE FUNCTION warn()",
];

/// The processes of the server for the connections of the store.
const PROCESSES: &str = "SELECT CAST(pid AS TEXT) FROM pg_stat_activity \
                         WHERE datname = current_database() AND pid <> pg_backend_pid()";

/// Panics where the driver logs a message of the server.
struct PanicOnNotice;

impl Subscriber for PanicOnNotice {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "sqlx::postgres::notice"
    }

    fn event(&self, _: &Event<'_>) {
        panic!("in the task of a connection");
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The index is written by connections that read, whose tasks run on the thread of the test. It
/// alone has the subscriber.
#[test]
fn a_connection_whose_task_panics_is_replaced() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = TestStore::open(TestDatabase::postgres()).await;
        let kept = store.insert(FILES, r#"{"a":1}"#).await;
        let before = store.database.query(PROCESSES);
        for statement in WARN {
            let _ = store.database.query(statement);
        }
        // A step is attempted twice, so more connections are lost than there are.
        for _ in 0..4 {
            store.insert(FILES, "{}").await;
            let _panics = subscriber::set_default(PanicOnNotice);
            let refused = store.store.wait_until_indexed().await;
            assert_eq!(refused.err(), Some(RepositoryError::Unavailable));
        }
        let changed = store.update(FILES, &kept, r#"{"a":2}"#).await.unwrap();
        assert_eq!(store.find(FILES, &kept).await, Some(changed));
        store.store.readiness().check().await.unwrap();
        store.store.wait_until_indexed().await.unwrap();
        let after = store.database.query(PROCESSES);
        assert!(before.iter().any(|process| !after.contains(process)), "{before:?} {after:?}");
        store.store.close().await;
    });
}
