//! Tokens of a state that the store is not in any more: of another store, or of the original of a
//! copy.

use tests::stores::TestDatabase;
use tests::tool::{done, refused};
use tests::{Service, on_each_store};

const CASH: &str = "/v1/cashprogram";

/// The cursor of the last change.
fn last_cursor(service: &Service) -> String {
    let changes = service.list("/v1/changes", "page_size=250").embedded("changes");
    changes.last().expect("a change")["cursor"].as_str().expect("a cursor").to_owned()
}

/// Asserts that the tokens of one store mean nothing to another that is in a state of the same
/// numbers.
fn tokens_mean_nothing_to(service: &Service, of: &Service, path: &str) {
    let item = of.get(path).send().expect(200).etag();
    let collection = of.get(CASH).send().expect(200).etag();
    let cursor = last_cursor(of);
    let own = service.get(path).send().expect(200).etag();
    assert_ne!(item, own);
    for request in [service.put(path), service.patch(path)] {
        let refused = request.header("if-match", &item).json("{}").send().expect(412);
        assert_eq!(refused.etag(), own);
    }
    let _ = service.delete(path).header("if-match", &item).send().expect(412);
    let _ = service.put(CASH).header("if-match", &collection).json("[]").send().expect(412);
    for (target, tag) in [(path, &item), (CASH, &collection)] {
        let _ = service.get(target).header("if-none-match", tag).send().expect(200);
    }
    let feed = format!("/v1/changes?after={cursor}");
    let problem = service.get(&feed).send().expect(410).value();
    assert_eq!(problem["code"], "another-history");
    let stream = service.get("/v1/changes/stream").header("last-event-id", &cursor);
    let _ = stream.send_unchecked().expect(410);
}

#[test]
fn tokens_of_another_store_mean_nothing() {
    on_each_store(|service| {
        let other = TestDatabase::sqlite();
        let other = Service::start_on(&other);
        for service in [service, &other] {
            service.create(CASH, "{}");
        }
        let collections = [service, &other].map(|service| service.get(CASH).send().etag());
        assert_ne!(collections[0], collections[1]);
        let refused = service.put(CASH).header("if-match", &collections[1]).json("[]").send();
        assert_eq!(refused.expect(412).etag(), collections[0]);
        let feed = format!("/v1/changes?after={}", last_cursor(&other));
        let _ = service.get(&feed).send().expect(410);
    });
}

#[test]
fn tokens_of_what_was_lost_mean_nothing_to_a_restored_backup() {
    let database = TestDatabase::sqlite();
    let service = Service::start_on(&database);
    let item = service.create(CASH, r#"{"n":1}"#);
    let copy = TestDatabase::sqlite();
    done(&["backup", copy.file().to_str().expect("a path"), "--database-url", database.url()]);
    let restored = Service::start_on(&copy);
    for (service, body) in [(&service, r#"{"n":"lost"}"#), (&restored, r#"{"n":"new"}"#)] {
        let _ = service.put(&item.path).json(body).send().expect(200);
    }
    tokens_mean_nothing_to(&restored, &service, &item.path);
}

#[test]
fn tokens_of_what_was_lost_mean_nothing_to_a_copied_file_whose_history_is_renewed() {
    let database = TestDatabase::sqlite();
    let service = Service::start_on(&database);
    let item = service.create(CASH, r#"{"n":1}"#);
    let copy = TestDatabase::sqlite();
    // As Litestream restores it, or a snapshot of the disk: byte by byte, with the write-ahead log.
    service.suspend();
    for ending in ["", "-wal"] {
        let [from, to] = [&database, &copy].map(|it| format!("{}{ending}", it.file().display()));
        std::fs::copy(from, to).expect("a copy");
    }
    service.resume();
    let renew = ["history", "renew", "--database-url", copy.url()];
    let restored = Service::start_on(&copy);
    let _ = restored.get(&item.path).header("if-none-match", &item.etag).send().expect(304);
    let line = refused(&renew, 1);
    assert!(line.contains("in use by another process of this service"), "{line}");
    drop(restored);
    done(&renew);
    let restored = Service::start_on(&copy);
    let _ = restored.get(&item.path).header("if-none-match", &item.etag).send().expect(200);
    for (service, body) in [(&service, r#"{"n":"lost"}"#), (&restored, r#"{"n":"new"}"#)] {
        let _ = service.put(&item.path).json(body).send().expect(200);
    }
    tokens_mean_nothing_to(&restored, &service, &item.path);
}

#[test]
fn what_is_no_copy_of_a_store_gets_no_new_history() {
    let nothing = TestDatabase::sqlite();
    for (url, reason, code) in [
        (nothing.url(), "there is no database file", 1),
        ("postgres://me:secret@nowhere/a", "has a new history by itself", 2),
        ("mysql://me:secret@nowhere/a", "sqlite:// or postgres://", 2),
    ] {
        let line = refused(&["history", "renew", "--database-url", url], code);
        assert!(line.contains(reason) && !line.contains("secret"), "{line}");
    }
    std::fs::write(nothing.file(), "").expect("an empty file");
    let line = refused(&["history", "renew", "--database-url", nothing.url()], 1);
    assert!(line.contains("no version of the service has prepared it"), "{line}");
}

#[test]
fn tokens_outlive_a_restart() {
    let database = TestDatabase::postgres();
    let service = Service::start_on(&database);
    let item = service.create(CASH, "{}");
    let cursor = last_cursor(&service);
    drop(service);
    let service = Service::start_on(&database);
    let _ = service.get(&item.path).header("if-none-match", &item.etag).send().expect(304);
    let _ = service.put(&item.path).header("if-match", &item.etag).json("{}").send().expect(200);
    let _ = service.get(&format!("/v1/changes?after={cursor}")).send().expect(200);
}
