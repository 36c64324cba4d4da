//! An `SQLite` file under other names, and one that goes away while it is served.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use tests::stores::TestDatabase;
use tests::{Service, Store, binary};

const FILES: &str = "/v1/files";

/// The longest time that writes may be taken for a file that is gone.
const UNTIL_REFUSED: Duration = Duration::from_secs(150);

/// A second process over a file, which must not start.
fn start_on(file: &Path) -> Output {
    let url = format!("sqlite://{}?mode=rwc", file.display());
    let mut serve = Command::new("timeout");
    serve.arg("60").arg(binary::path());
    serve.args(["serve", "--listen", "127.0.0.1:0", "--database-url", &url]);
    serve.output().expect("the binary runs")
}

fn file_of(service: &Service) -> &Path {
    service.database().map(TestDatabase::file).expect("a database of its own")
}

#[track_caller]
fn is_refused(file: &Path, reason: &str) {
    let output = start_on(file);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && told.contains(reason), "{output:?}");
}

#[test]
fn no_other_name_of_the_file_gets_around_its_lock() {
    let service = Service::start(Store::Sqlite);
    let file = file_of(&service);
    is_refused(file, "in use");
    let link = file.with_file_name("link.db");
    symlink(file, &link).unwrap();
    is_refused(&link, "in use");
    // What an earlier version locked.
    std::fs::remove_file(file.with_file_name("proposals.db.lock")).ok();
    is_refused(file, "in use");
    let second = file.with_file_name("second.db");
    std::fs::hard_link(file, &second).unwrap();
    is_refused(&second, "in use");
    service.create(FILES, "{}");
}

#[test]
fn a_file_with_two_names_is_refused() {
    let database = TestDatabase::sqlite();
    drop(Service::start_on(&database));
    let second = database.file().with_file_name("second.db");
    std::fs::hard_link(database.file(), &second).unwrap();
    for file in [database.file(), &second] {
        is_refused(file, "hard links");
    }
    std::fs::remove_file(&second).unwrap();
    Service::start_on(&database).create(FILES, "{}");
}

#[test]
fn nothing_is_acknowledged_for_a_file_that_was_removed_or_replaced() {
    let remove = |file: &Path| std::fs::remove_file(file).unwrap();
    let replace = |file: &Path| {
        let copy = file.with_file_name("copy.db");
        std::fs::copy(file, &copy).unwrap();
        std::fs::rename(&copy, file).unwrap();
    };
    for lose in [&remove as &dyn Fn(&Path), &replace] {
        let service = Service::start(Store::Sqlite);
        service.create(FILES, "{}");
        service.get("/readyz").send().expect(200);
        lose(file_of(&service));
        let deadline = Instant::now() + UNTIL_REFUSED;
        while service.post(FILES).json("{}").send_unchecked().status != 503 {
            assert!(Instant::now() < deadline, "writes are still acknowledged");
        }
        service.post(FILES).json("{}").send_in_vain();
        service.get("/readyz").send_in_vain();
        service.get("/healthz").send().expect(200);
    }
}

#[test]
fn others_look_at_a_file_that_is_served() {
    let service = Service::start(Store::Sqlite);
    service.create(FILES, "{}");
    let file = file_of(&service);
    let url = format!("sqlite://{}", file.display());
    let copy = file.with_file_name("backup.db");
    let copied = Command::new(binary::path())
        .args(["backup", "--database-url", &url])
        .arg(&copy)
        .output()
        .expect("the binary runs");
    assert!(copied.status.success() && copy.exists(), "{copied:?}");
    // Whoever looked let go of no lock of the service.
    service.create(FILES, "{}");
    is_refused(file, "in use");
}
