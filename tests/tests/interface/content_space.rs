//! The limit of the contents of a proposal (`--content-per-proposal`).

use serde_json::json;
use tests::{Answer, Item, Service, Store};

use crate::PROPOSAL;

#[test]
fn on_sqlite_a_proposal_has_no_more_contents_than_it_may() {
    contents_are_limited(Store::Sqlite);
}

#[test]
fn on_postgresql_a_proposal_has_no_more_contents_than_it_may() {
    contents_are_limited(Store::Postgres);
}

fn contents_are_limited(store: Store) {
    let service = &Service::start_with(store, &["--content-per-proposal", "100"]);
    let proposal = service.create("/v1/proposals", PROPOSAL);
    let in_library = service.create(&format!("{}/lib", proposal.path), "{}");
    let refers = json!({ "proposal_id": proposal.id }).to_string();
    let file = service.create("/v1/files", &refers);
    assert_eq!(upload(service, &in_library, 60).status, 201);
    assert!(upload(service, &file, 41).expect(413).text().contains("at most 100 bytes in all"));
    assert_eq!(upload(service, &file, 40).status, 201);
    assert_eq!(upload(service, &in_library, 61).status, 413);
    assert_eq!(upload(service, &in_library, 59).status, 200);

    // Items of other proposals and of none do not count, until they refer to this one.
    let apart = service.create("/v1/files", "{}");
    assert_eq!(upload(service, &apart, 1_000).status, 201);
    let other = service.create("/v1/files", "{}");
    assert_eq!(upload(service, &other, 2).status, 201);
    let _ = service.patch(&other.path).json(&*refers).expect(413);
    let _ = service.delete(&format!("{}/content", file.path)).expect(204);
    let _ = service.patch(&other.path).json(&*refers).expect(200);
    let _ = service.patch(&other.path).json(r#"{"note": 1}"#).expect(200);
    let restored = service.post(&format!("{}/versions/2", file.path)).expect(413);
    assert!(restored.text().contains("body-too-large"), "{restored}");

    concurrent_uploads_do_not_exceed_it(service);
}

fn concurrent_uploads_do_not_exceed_it(service: &Service) {
    let proposal = service.create("/v1/proposals", PROPOSAL);
    let library = format!("{}/lib", proposal.path);
    let items: Vec<_> = (0..16).map(|_| service.create(&library, "{}")).collect();
    let stored = std::thread::scope(|scope| {
        let uploads: Vec<_> =
            items.iter().map(|item| scope.spawn(|| upload(service, item, 10).status)).collect();
        uploads.into_iter().map(|it| it.join().expect("an upload")).collect::<Vec<_>>()
    });
    let count = |status| stored.iter().filter(|it| **it == status).count();
    assert_eq!((count(201), count(413)), (10, 6), "{stored:?}");
}

fn upload(service: &Service, item: &Item, size: usize) -> Answer {
    let path = format!("{}/content", item.path);
    service.put(&path).body("text/plain", vec![b'x'; size]).send_unchecked()
}
