//! `backup`: a copy of an `SQLite` file during writes.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tests::Service;
use tests::stores::TestDatabase;
use tests::tool::{done, refused, tool};

const CLIENTS: usize = 8;
const BACKUPS: usize = 5;

#[test]
fn a_backup_during_writes_of_eight_clients_holds_every_item_acknowledged_before_it_began() {
    let database = TestDatabase::sqlite();
    let service = &Service::start_on(&database);
    let stored = &Mutex::new(BTreeMap::new());
    let is_over = &AtomicBool::new(false);
    let backups = std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            scope.spawn(move || {
                for number in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    let body =
                        json!({"client": client, "number": number, "more": "x".repeat(5_000)});
                    let item = service.create("/v1/files", &body.to_string());
                    stored.lock().unwrap().insert(item.id, body);
                }
            });
        }
        let backups = [(); BACKUPS].map(|()| {
            std::thread::sleep(Duration::from_millis(100));
            tests::wait_until(|| !stored.lock().unwrap().is_empty());
            let (acknowledged, copy) = (stored.lock().unwrap().clone(), TestDatabase::sqlite());
            done(&["backup", copy.file().to_str().unwrap(), "--database-url", database.url()]);
            (acknowledged, copy)
        });
        is_over.store(true, Ordering::Relaxed);
        backups
    });
    for (acknowledged, copy) in &backups {
        assert!(!acknowledged.is_empty(), "there was some load");
        let files = std::fs::read_dir(copy.file().parent().unwrap()).unwrap().count();
        assert_eq!(files, 2, "the copy is one file, and a folder for contents");
        is_consistent(copy);
        let export = String::from_utf8(done(&["export", "--database-url", copy.url()])).unwrap();
        let lines = export.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let members: BTreeMap<_, _> =
            lines.map(|line| (line["item_id"].to_string(), line["members"].clone())).collect();
        for (id, body) in acknowledged {
            assert_eq!(members.get(&format!("\"{id}\"")), Some(body), "{id}");
        }
    }
    // A copy can be served, searched and written.
    let (acknowledged, copy) = &backups[BACKUPS - 1];
    let service = Service::start_on(copy);
    let total = |query| service.list("/v1/files", query).value()["total_items"].as_u64().unwrap();
    assert!(total("") >= acknowledged.len() as u64);
    assert_eq!(total("q=xylophone"), 0);
    service.create("/v1/files", "{}");
}

fn is_consistent(copy: &TestDatabase) {
    let integrity = copy.query("SELECT integrity_check FROM pragma_integrity_check");
    assert_eq!(integrity, [[Some("ok".to_owned())]]);
    for query in [
        "SELECT i.id FROM items i WHERE i.version <> (SELECT COUNT(*) FROM changes c WHERE c.item_id = i.id)",
        "SELECT t.collection FROM totals t WHERE t.items <> (SELECT COUNT(*) FROM items) \
         OR t.writes <> (SELECT COUNT(*) FROM changes)",
    ] {
        let count = copy.query(&format!("SELECT CAST(COUNT(*) AS TEXT) FROM ({query})"));
        assert_eq!(count, [[Some("0".to_owned())]], "{query}");
    }
}

#[test]
fn a_backup_that_is_refused_changes_no_file() {
    let [database, missing, other, copy] = [(); 4].map(|()| TestDatabase::sqlite());
    done(&["migrate", "--database-url", database.url()]);
    std::fs::write(other.file(), "precious").unwrap();
    for (file, url, code, words) in [
        (other.file().to_str().unwrap(), database.url(), 1, "already exists"),
        (copy.file().to_str().unwrap(), missing.url(), 1, "does not exist"),
        ("/nonexistent/copy", missing.url(), 1, "/nonexistent/copy"),
        // PostgreSQL has its own tools for backups.
        (copy.file().to_str().unwrap(), "postgres://me:secret@db/a", 2, "pg_dump"),
    ] {
        let said = refused(&["backup", file, "--database-url", url], code);
        assert!(said.contains(words) && !said.contains("secret"), "{said}");
        assert!(code == 2 || said.lines().count() == 1, "{said}");
    }
    assert_eq!(std::fs::read(other.file()).unwrap(), b"precious");
    for empty in [&missing, &copy] {
        assert_eq!(std::fs::read_dir(empty.file().parent().unwrap()).unwrap().count(), 0);
    }
}

#[test]
fn the_file_of_a_killed_backup_is_removed_by_the_next() {
    let [database, copy] = [TestDatabase::sqlite(), TestDatabase::sqlite()];
    done(&["migrate", "--database-url", database.url()]);
    let ballast = "CREATE TABLE ballast AS SELECT zeroblob(400000000) AS bytes";
    rusqlite::Connection::open(database.file()).unwrap().execute_batch(ballast).unwrap();
    let files = || std::fs::read_dir(copy.file().parent().unwrap()).unwrap().count();
    let other = copy.file().with_extension("other");
    let [backup, concurrent] = [copy.file(), &other]
        .map(|file| ["backup", file.to_str().unwrap(), "--database-url", database.url()]);
    let mut killed = tool(&backup).spawn().unwrap();
    while files() == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!((copy.file().exists(), files()), (false, 1), "a partial file was left");
    let mut first = tool(&concurrent).spawn().unwrap();
    done(&backup);
    assert!(first.wait().unwrap().success(), "a file that is being written is not removed");
    assert_eq!((copy.file().exists(), other.exists(), files()), (true, true, 2));
}
