//! A database that is restored while the service runs.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;
use std::time::{Duration, Instant};

use tests::stores::TestDatabase;
use tests::{Item, Service, tool};

use crate::{FILES, at_once, await_status, until};

/// The longest time that reads from memory take to notice a replaced file.
const UNTIL_NOTICED: Duration = Duration::from_secs(3);

const PATIENCE: Duration = Duration::from_mins(2);

/// Tokens of an item whose current version is not in the backup.
struct Lost {
    item: Item,
    tag: String,
    collection: String,
    cursor: String,
    row: String,
}

impl Lost {
    /// Writes a version after the backup was made.
    fn write(service: &Service, item: Item) -> Self {
        let tag = service.put(&item.path).json(r#"{"n":"lost"}"#).send().expect(200).etag();
        let collection = service.get(FILES).send().expect(200).etag();
        let changes = service.list("/v1/changes", "page_size=250").embedded("changes");
        let cursor = changes.last().unwrap()["cursor"].as_str().unwrap().to_owned();
        let row =
            service.get("/exports/files.ndjson?filter[n]=lost").accept("*/*").send().expect(200);
        Self { item, tag, collection, cursor, row: row.text().to_owned() }
    }

    /// Asserts that the tokens from before match nothing, even when the version is written again.
    fn means_nothing_to(&self, service: &Service) {
        let Self { item, tag, collection, cursor, row } = self;
        for known in [&item.etag, tag] {
            let shown = service.get(&item.path).header("if-none-match", known).send().expect(200);
            assert_eq!(shown.value()["n"], "kept");
        }
        let _ = service.get(FILES).header("if-none-match", collection).send().expect(200);
        let again = service.put(&item.path).json(r#"{"n":"again"}"#).send().expect(200).etag();
        assert_ne!(again, *tag);
        let _ = service.put(&item.path).header("if-match", tag).json("{}").send().expect(412);
        let _ = service.get(&item.path).header("if-none-match", tag).send().expect(200);
        let _ = service.get(&format!("/v1/changes?after={cursor}")).send().expect(410);
        let _ = service.get(&item.path).header("if-none-match", &again).send().expect(304);
        let import =
            service.post("/imports/files?upsert=true").body("application/x-ndjson", &**row);
        let refused = import.send().expect(422);
        assert!(refused.text().contains("stale_version"), "{refused}");
    }
}

/// A backup that is copied over the file in place.
#[test]
fn a_file_that_is_copied_over_is_not_written_to_and_has_a_new_history_after_a_restart() {
    at_once([|| copy_over(false), || copy_over(true)]);
}

fn copy_over(is_killed: bool) {
    let database = TestDatabase::sqlite();
    let mut service = Service::start_on(&database);
    let file = database.file();
    let item = service.create(FILES, r#"{"n":"kept"}"#);
    let backup = file.with_file_name("backup.db");
    tool::done(&["backup", "--database-url", database.url(), backup.to_str().unwrap()]);
    let lost = Lost::write(&service, item);
    for number in 0..100 {
        service.create(FILES, &format!(r#"{{"number":{number}}}"#));
    }
    if is_killed {
        drop(service);
        std::fs::copy(&backup, file).unwrap();
    } else {
        std::fs::copy(&backup, file).unwrap();
        let uncached = format!("{FILES}?filter[n]=kept");
        let _ = service.get(&uncached).send_unchecked().expect(503);
        service.post(FILES).json("{}").send_in_vain();
        await_status(&service, "GET", &lost.item.path, 503, UNTIL_NOTICED);
        service.get("/readyz").send_in_vain();
        service.terminate();
    }
    let is_same = std::fs::read(file).unwrap() == std::fs::read(&backup).unwrap();
    assert!(is_same, "nothing is written to the restored file");
    let mut service = Service::start_on(&database);
    assert_eq!(service.list(FILES, "").items().len(), 1);
    lost.means_nothing_to(&service);
    service.terminate();
    // The marks end with the service, and the log of the lost history is kept.
    assert!(!file.with_file_name("proposals.db-mark").exists());
    assert!(file.with_file_name("proposals.db-wal-before-copy").exists());
    let _ = Service::start_on(&database).get(&lost.item.path).send().expect(200);
}

/// A dump that is restored while two instances run: step by step, and in one transaction.
#[test]
fn a_dump_that_is_restored_under_running_instances_begins_a_new_history() {
    at_once([|| restore_dump(&[]), || restore_dump(&["--single-transaction"])]);
}

fn restore_dump(options: &[&str]) {
    let database = TestDatabase::postgres();
    let services = [Service::start_on(&database), Service::start_on(&database)];
    let item = services[0].create(FILES, r#"{"n":"kept"}"#);
    let path = item.path.clone();
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("dump");
    let dump = dump.to_str().unwrap();
    run("pg_dump", &["--format=custom", "--file", dump, database.url()]);
    let lost = Lost::write(&services[0], item);
    let old = history_of(&lost.tag).to_owned();
    for service in &services {
        service.get(&path).send().expect(200);
    }
    let is_done = AtomicBool::new(false);
    scope(|scope| {
        for service in &services {
            scope.spawn(|| {
                let mut read = 0;
                while !is_done.load(Ordering::Relaxed) {
                    let answer = service.get(&path).send_unchecked();
                    if answer.status == 200 && answer.value()["n"] == "kept" {
                        assert_ne!(history_of(&answer.etag()), old, "{answer}");
                        read += 1;
                    }
                    assert!([200, 404, 503].contains(&answer.status), "{answer}");
                }
                assert!(read > 0, "the restored state was not read");
            });
        }
        let _done = SetOnDrop(&is_done);
        let target = ["--clean", "--if-exists", "--dbname", database.url()];
        restore(&[&target, options, &[dump]].concat());
        let restored = Instant::now();
        for service in &services {
            await_status(service, "GET", &path, 200, PATIENCE);
        }
        until("the restored state", PATIENCE, || {
            services.iter().all(|it| it.get(&path).send_unchecked().status == 200)
        });
        println!("available {:?} after the restore", restored.elapsed());
        std::thread::sleep(Duration::from_millis(500));
    });
    let tags = services.each_ref().map(|it| it.get(&path).send().expect(200).etag());
    assert_eq!(tags[0], tags[1], "all instances have the same new history");
    lost.means_nothing_to(&services[0]);
}

/// Ends the readers also if an assertion fails, because their scope waits for them.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn history_of(tag: &str) -> &str {
    tag.trim_end_matches('"').rsplit('.').next().unwrap()
}

/// Restores a dump as docs/backup.md says: again after a deadlock with a read.
fn restore(arguments: &[&str]) {
    for _ in 0..5 {
        let output = Command::new("pg_restore").args(arguments).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            return;
        }
        println!("{errors}");
        assert!(errors.contains("deadlock detected"), "{errors}");
    }
    panic!("deadlocks prevent the restore");
}

fn run(program: &str, arguments: &[&str]) {
    let status = Command::new(program).args(arguments).status();
    assert!(status.unwrap().success(), "{program} {arguments:?}");
}
