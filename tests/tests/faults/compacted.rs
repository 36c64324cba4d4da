//! `compact` is killed (SIGKILL) in the middle: removed versions stay removed, all others are whole, and
//! the next run removes the rest.

use std::process::Stdio;
use std::time::Duration;

use tests::Service;
use tests::stores::TestDatabase;
use tests::tool::{done, tool};

use crate::{at_once, until};

/// Versions of the one item.
const VERSIONS: u64 = 20_000;

/// How often it is killed. The next run waits until the lease of the killed one has ended.
const KILLS: usize = 2;

const PATIENCE: Duration = Duration::from_mins(1);

#[test]
fn a_killed_compaction_is_finished_by_the_next() {
    at_once([
        || kill_and_finish(&TestDatabase::sqlite()),
        || kill_and_finish(&TestDatabase::postgres()),
    ]);
}

fn kill_and_finish(database: &TestDatabase) {
    let service = Service::start_on(database);
    let item = service.create("/v1/files", r#"{"note":"first"}"#);
    drop(service);
    let columns = "collection, item_id, version, kind, time, members";
    let _ = database.query(&format!(
        "INSERT INTO changes ({columns}) WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < {VERSIONS}) \
         SELECT c.collection, c.item_id, n.i, 'replaced', c.time + n.i, c.members FROM changes c, n"
    ));
    let _ = database.query("UPDATE changes SET time = time - 8640000000000");
    let _ = database.query(&format!(
        "UPDATE items SET version = {VERSIONS}, sequence = (SELECT MAX(sequence) FROM changes)"
    ));
    let arguments = ["compact", "--history-keep", "2d", "--database-url", database.url()];
    let mut removed = 0;
    for _ in 0..KILLS {
        let mut compact = tool(&arguments);
        let mut compact = compact.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        until("a removal", PATIENCE, || {
            compact.try_wait().unwrap().is_some() || count_removed(database) > removed
        });
        compact.kill().unwrap();
        compact.wait().unwrap();
        assert!(removed < count_removed(database), "it removes versions");
        look(database, &item.path);
        // Counted late: on PostgreSQL a statement that was sent continues without the process.
        removed = count_removed(database);
    }
    assert!(removed < VERSIONS - 1, "it was killed in the middle: {removed}");
    let output = String::from_utf8(done(&arguments)).unwrap();
    let rest = VERSIONS - 1 - removed;
    assert!(output.starts_with(&format!("removed the bodies of {rest} versions")), "{output}");
    look(database, &item.path);
}

fn count(database: &TestDatabase, condition: &str) -> u64 {
    let rows =
        database.query(&format!("SELECT CAST(COUNT(*) AS TEXT) FROM changes WHERE {condition}"));
    rows[0][0].as_deref().unwrap().parse().unwrap()
}

fn count_removed(database: &TestDatabase) -> u64 {
    count(database, "removed_at IS NOT NULL")
}

/// Every version has either a body or the time of its removal, and the item is unchanged.
fn look(database: &TestDatabase, path: &str) {
    assert_eq!(count(database, "1 = 1"), VERSIONS);
    assert_eq!(count(database, "(members IS NULL) <> (removed_at IS NOT NULL)"), 0);
    let service = Service::start_on(database);
    let _ = service.get(path).send().expect(200).with_members(r#"{"note":"first"}"#);
    let listed = service.get(&format!("{path}/versions?page_size=1")).send().expect(200);
    assert_eq!(listed.value()["total_items"], VERSIONS);
}
