//! `backup`: a copy of an `SQLite` file while others write to it.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use tests::stores::TestDatabase;
use tests::tool::{done, refused, tool};
use tests::{Request, Service};

const CLIENTS: usize = 8;
const BACKUPS: usize = 5;

#[test]
fn a_backup_beside_eight_writers_holds_what_was_acknowledged_before_it_began() {
    let database = TestDatabase::sqlite();
    let service = Service::start_on(&database);
    let address = service.address();
    let told = &Mutex::new(BTreeMap::new());
    let is_over = &AtomicBool::new(false);
    let backups = std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            scope.spawn(move || {
                for number in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    let body =
                        json!({"client": client, "number": number, "more": "x".repeat(5_000)})
                            .to_string();
                    let answer = Request::new(address, "POST", "/v1/files")
                        .json(body.as_str())
                        .send()
                        .expect(201);
                    told.lock().unwrap().insert(answer.id(), body);
                }
            });
        }
        let backups: Vec<_> = (0..BACKUPS)
            .map(|_| {
                std::thread::sleep(Duration::from_millis(100));
                let (acknowledged, copy) = (told.lock().unwrap().clone(), TestDatabase::sqlite());
                done(&["backup", copy.file().to_str().unwrap(), "--database-url", database.url()]);
                (acknowledged, copy)
            })
            .collect();
        is_over.store(true, Ordering::Relaxed);
        backups
    });
    drop(service);
    for (acknowledged, copy) in backups {
        assert!(!acknowledged.is_empty(), "there was some load");
        let files = std::fs::read_dir(copy.file().parent().unwrap()).unwrap().count();
        assert_eq!(files, 1, "the copy is one file");
        assert_eq!(
            copy.query("SELECT integrity_check FROM pragma_integrity_check"),
            [[Some("ok".to_owned())]]
        );
        is_whole(&copy);
        let service = Service::start_on(&copy);
        for (id, body) in &acknowledged {
            let _ = service.get(&format!("/v1/files/{id}")).send().expect(200).with_members(body);
        }
        assert!(
            service.list("/v1/files", "q=xylophone").value()["total_items"] == 0,
            "searches work"
        );
        let _ = service.create("/v1/files", "{}");
    }
}

fn is_whole(copy: &TestDatabase) {
    for query in [
        "SELECT i.id FROM items i WHERE i.version <> (SELECT COUNT(*) FROM changes c WHERE c.item_id = i.id)",
        "SELECT t.collection FROM totals t WHERE t.items <> (SELECT COUNT(*) FROM items) \
         OR t.writes <> (SELECT COUNT(*) FROM changes)",
    ] {
        assert_eq!(
            copy.query(&format!("SELECT CAST(COUNT(*) AS TEXT) FROM ({query})")),
            [[Some("0".to_owned())]],
            "{query}"
        );
    }
}

#[test]
fn what_is_there_is_never_overwritten() {
    let [database, other] = [TestDatabase::sqlite(), TestDatabase::sqlite()];
    done(&["migrate", "--database-url", database.url()]);
    std::fs::write(other.file(), "precious").unwrap();
    let line =
        refused(&["backup", other.file().to_str().unwrap(), "--database-url", database.url()], 1);
    assert!(line.contains("is there already") && line.lines().count() == 1, "{line}");
    assert_eq!(std::fs::read(other.file()).unwrap(), b"precious");
}

#[test]
fn a_backup_of_nothing_leaves_nothing() {
    let [database, copy] = [TestDatabase::sqlite(), TestDatabase::sqlite()];
    let line =
        refused(&["backup", copy.file().to_str().unwrap(), "--database-url", database.url()], 1);
    assert!(line.contains("there is no database file"), "{line}");
    for folder in [database.file().parent().unwrap(), copy.file().parent().unwrap()] {
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
    }
    let line = refused(&["backup", "/nonexistent/copy", "--database-url", database.url()], 1);
    assert!(line.contains("/nonexistent/copy"), "{line}");
}

#[test]
fn what_a_killed_backup_leaves_is_removed_by_the_next() {
    let [database, copy] = [TestDatabase::sqlite(), TestDatabase::sqlite()];
    done(&["migrate", "--database-url", database.url()]);
    let ballast = "CREATE TABLE ballast AS SELECT zeroblob(400000000) AS bytes";
    rusqlite::Connection::open(database.file()).unwrap().execute_batch(ballast).unwrap();
    let files = || std::fs::read_dir(copy.file().parent().unwrap()).unwrap().count();
    let backup = ["backup", copy.file().to_str().unwrap(), "--database-url", database.url()];
    let start = || tool(&backup).spawn().unwrap();
    let until = |is_reached: &dyn Fn() -> bool| {
        while !is_reached() {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let mut killed = start();
    until(&|| files() == 1);
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!((copy.file().exists(), files()), (false, 1), "a partial file was left");
    let beside = copy.file().with_extension("beside");
    let mut first =
        tool(&["backup", beside.to_str().unwrap(), backup[2], backup[3]]).spawn().unwrap();
    done(&backup);
    assert!(first.wait().unwrap().success(), "a file that is being written is left alone");
    assert_eq!((copy.file().exists(), beside.exists(), files()), (true, true, 2));
}

#[test]
fn postgresql_is_backed_up_by_its_own_tools() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = tool(&["backup", "copy", "--database-url", "postgres://me:secret@nowhere/a"]);
    let line = tests::tool::error_of(&command.current_dir(folder.path()).output().unwrap(), 2);
    assert!(line.contains("pg_dump") && !line.contains("secret"), "{line}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
