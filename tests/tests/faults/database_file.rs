//! An `SQLite` file under other names, and one that goes away while it is served.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use tests::stores::TestDatabase;
use tests::{Service, Store, tool};

use crate::{FILES, await_status, refused_start};

/// The longest time that writes may be taken for a file that is gone.
const UNTIL_REFUSED: Duration = Duration::from_secs(150);

fn file_of(service: &Service) -> &Path {
    service.database().map(TestDatabase::file).expect("a database")
}

/// A second process over a file, which must not start.
#[track_caller]
fn is_refused(file: &Path, reason: &str) {
    refused_start(&format!("sqlite://{}?mode=rwc", file.display()), reason);
}

#[test]
fn no_other_name_of_the_file_gets_around_its_lock() {
    let service = Service::start(Store::Sqlite);
    let file = file_of(&service);
    is_refused(file, "in use");
    let link = file.with_file_name("link.db");
    symlink(file, &link).unwrap();
    is_refused(&link, "in use");
    // The lock file of an earlier version.
    std::fs::remove_file(file.with_file_name("proposals.db.lock")).ok();
    is_refused(file, "in use");
    // A reader releases no lock of the service.
    let copy = file.with_file_name("backup.db");
    let url = format!("sqlite://{}", file.display());
    tool::done(&["backup", "--database-url", &url, copy.to_str().unwrap()]);
    assert!(copy.exists());
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
fn no_write_is_acknowledged_for_a_file_that_was_removed_or_replaced() {
    let remove = |file: &Path| std::fs::remove_file(file).unwrap();
    let replace = |file: &Path| {
        let copy = file.with_file_name("copy.db");
        std::fs::copy(file, &copy).unwrap();
        std::fs::rename(&copy, file).unwrap();
    };
    std::thread::scope(|scope| {
        for lose in [&remove as &(dyn Fn(&Path) + Sync), &replace] {
            scope.spawn(move || {
                let service = Service::start(Store::Sqlite);
                service.create(FILES, "{}");
                service.get("/readyz").send().expect(200);
                lose(file_of(&service));
                await_status(&service, "POST", FILES, 503, UNTIL_REFUSED);
                service.post(FILES).json("{}").send_in_vain();
                service.get("/readyz").send_in_vain();
                service.get("/healthz").send().expect(200);
            });
        }
    });
}
