//! Tokens of a state that the store does not have: of another store, or of the original of a copy.

use tests::stores::TestDatabase;
use tests::tool::{done, refused};
use tests::{Service, Store};

const CASH: &str = "/v1/cashprogram";

/// The cursor of the last change.
fn last_cursor(service: &Service) -> String {
    let changes = service.list("/v1/changes", "page_size=250").embedded("changes");
    changes.last().expect("a change")["cursor"].as_str().expect("a cursor").to_owned()
}

/// Asserts that the tokens of one store mean nothing to another that is in a state of the same
/// numbers.
fn tokens_mean_nothing_to(service: &Service, of: &Service, path: &str) {
    of.replace(path, r#"{"n":"lost"}"#);
    let own = service.replace(path, r#"{"n":"new"}"#).etag();
    let [item, collection] = [path, CASH].map(|target| of.read(target).etag());
    assert_ne!(item, own);
    for request in [service.put(path), service.patch(path)] {
        let refused = request.header("if-match", &item).json("{}").expect(412);
        assert_eq!(refused.etag(), own);
    }
    service.delete(path).header("if-match", &item).expect(412);
    service.put(CASH).header("if-match", &collection).json("[]").expect(412);
    for (target, tag) in [(path, &item), (CASH, &collection)] {
        service.get(target).header("if-none-match", tag).expect(200);
    }
    no_cursor_is_of(service, of);
}

/// Asserts that the last cursor of a store is refused by another.
fn no_cursor_is_of(service: &Service, of: &Service) {
    let cursor = last_cursor(of);
    let problem = service.get(&format!("/v1/changes?after={cursor}")).expect(410).value();
    assert_eq!(problem["code"], "another-history");
    let stream = service.get("/v1/changes/stream").header("last-event-id", &cursor);
    stream.send_unchecked().expect(410);
}

#[test]
fn tokens_of_another_store_mean_nothing() {
    let stores = [Store::Sqlite, Store::Postgres].map(Service::start);
    let pairs = [[&stores[0], &stores[1]], [&stores[1], &stores[0]]];
    for service in &stores {
        service.create(CASH, "{}");
    }
    for [service, other] in pairs {
        let [own, foreign] = [service, other].map(|service| service.read(CASH).etag());
        assert_ne!(own, foreign);
        let refused = service.put(CASH).header("if-match", &foreign).json("[]").expect(412);
        assert_eq!(refused.etag(), own);
        no_cursor_is_of(service, other);
    }
}

#[test]
fn tokens_of_lost_versions_mean_nothing_to_a_restored_backup() {
    let database = TestDatabase::sqlite();
    let service = Service::start_on(&database);
    let item = service.create(CASH, r#"{"n":1}"#);
    let copy = TestDatabase::sqlite();
    done(&["backup", copy.file().to_str().expect("a path"), "--database-url", database.url()]);
    tokens_mean_nothing_to(&Service::start_on(&copy), &service, &item.path);
}

#[test]
fn tokens_of_lost_versions_mean_nothing_to_a_copied_file_whose_history_is_renewed() {
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
    restored.get(&item.path).header("if-none-match", &item.etag).expect(304);
    let line = refused(&renew, 1);
    assert!(line.contains("in use by another process of this service"), "{line}");
    drop(restored);
    done(&renew);
    let restored = Service::start_on(&copy);
    restored.get(&item.path).header("if-none-match", &item.etag).expect(200);
    tokens_mean_nothing_to(&restored, &service, &item.path);
}

#[test]
fn only_a_copied_file_gets_a_new_history() {
    let nothing = TestDatabase::sqlite();
    for (url, reason, code) in [
        (nothing.url(), "does not exist", 1),
        ("postgres://me:secret@db.invalid/a", "gets a new history automatically", 2),
        ("mysql://me:secret@db.invalid/a", "sqlite:// or postgres://", 2),
    ] {
        let line = refused(&["history", "renew", "--database-url", url], code);
        assert!(line.contains(reason) && !line.contains("secret"), "{line}");
    }
    std::fs::write(nothing.file(), "").expect("an empty file");
    let line = refused(&["history", "renew", "--database-url", nothing.url()], 1);
    assert!(line.contains("the database contains no store"), "{line}");
}

#[test]
fn tokens_outlive_a_restart() {
    let database = TestDatabase::postgres();
    let service = Service::start_on(&database);
    let item = service.create(CASH, "{}");
    let cursor = last_cursor(&service);
    drop(service);
    let service = Service::start_on(&database);
    service.get(&item.path).header("if-none-match", &item.etag).expect(304);
    service.put(&item.path).header("if-match", &item.etag).json("{}").expect(200);
    service.read(&format!("/v1/changes?after={cursor}"));
}
