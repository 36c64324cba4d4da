//! `compact` is killed (SIGKILL) in the middle: what it removed stays removed, everything else is
//! there, and the next one does the rest.

use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tests::Service;
use tests::stores::TestDatabase;
use tests::tool::{done, tool};

/// Versions of the one item.
const VERSIONS: u64 = 20_000;

/// How often it is killed. The next one waits until the lease of the killed one has ended.
const KILLS: usize = 2;

const PATIENCE: Duration = Duration::from_mins(1);

#[test]
fn on_sqlite_a_killed_compaction_is_finished_by_the_next() {
    kill_and_finish(&TestDatabase::sqlite());
}

#[test]
fn on_postgresql_a_killed_compaction_is_finished_by_the_next() {
    kill_and_finish(&TestDatabase::postgres());
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
    let mut removed = 0;
    for _ in 0..KILLS {
        let mut compact = compact(database);
        let deadline = Instant::now() + PATIENCE;
        while is_running(&mut compact) && count_removed(database) == removed {
            assert!(Instant::now() < deadline, "nothing is removed");
        }
        compact.kill().unwrap();
        compact.wait().unwrap();
        assert!(removed < count_removed(database), "it was at work");
        look(database, &item.path);
        // Counted late: on PostgreSQL a statement that was sent goes on without the process.
        removed = count_removed(database);
    }
    assert!(removed < VERSIONS - 1, "it was killed in the middle: {removed}");
    let said = done(&["compact", "--history-keep", "2d", "--database-url", database.url()]);
    let said = String::from_utf8(said).unwrap();
    let rest = VERSIONS - 1 - removed;
    assert!(said.starts_with(&format!("removed the bodies of {rest} versions")), "{said}");
    look(database, &item.path);
}

fn compact(database: &TestDatabase) -> Child {
    let arguments = ["compact", "--history-keep", "2d", "--database-url", database.url()];
    tool(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn is_running(process: &mut Child) -> bool {
    sleep(Duration::from_millis(2));
    process.try_wait().unwrap().is_none()
}

fn count(database: &TestDatabase, condition: &str) -> u64 {
    let rows =
        database.query(&format!("SELECT CAST(COUNT(*) AS TEXT) FROM changes WHERE {condition}"));
    rows[0][0].as_deref().unwrap().parse().unwrap()
}

fn count_removed(database: &TestDatabase) -> u64 {
    count(database, "removed_at IS NOT NULL")
}

/// Every version is there with a body or the time at which it was removed, and the item as it was.
fn look(database: &TestDatabase, path: &str) {
    assert_eq!(count(database, "1 = 1"), VERSIONS);
    assert_eq!(count(database, "(members IS NULL) <> (removed_at IS NOT NULL)"), 0);
    let service = Service::start_on(database);
    let _ = service.get(path).send().expect(200).with_members(r#"{"note":"first"}"#);
    let listed = service.get(&format!("{path}/versions?page_size=1")).send().expect(200);
    assert_eq!(listed.value()["total_items"], VERSIONS);
}
