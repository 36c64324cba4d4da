//! The way back to what an item was: by PUT and POST, under conditions, after a removal.

use serde_json::json;
use tests::{Item, Request, Service, Store};

use crate::PROPOSAL;
use crate::history::{groups, version, versions};

tests::cases![
    a_version_is_restored_also_after_the_removal,
    a_restored_item_is_found_and_linked_again,
    no_tag_comes_twice_when_an_owner_is_restored,
    a_replacement_of_the_collection_is_of_one_time,
    a_restoration_keeps_its_conditions,
    concurrent_restorations_make_one_item,
];

fn restore(service: &Service, item: &Item, version: u32) -> Request {
    service.post(&format!("{}/versions/{version}", item.path))
}

fn a_version_is_restored_also_after_the_removal(service: &Service) {
    for (path, first, second) in groups(service) {
        let item = service.create(&path, first);
        let created_at = version(service, &item, 1).value()["_meta"]["created_at"].clone();
        service.replace(&item.path, second);
        let restored = restore(service, &item, 1).expect(200).with_members(first);
        assert_eq!(restored.value()["_meta"]["version"], 3);
        a_version_sent_back_restores_it(service, &item, second);
        service.remove(&item.path);
        restore(service, &item, 5).expect(410);
        restore(service, &item, 9).expect(404);
        let total = || service.read(&path).value()["total_items"].as_u64().expect("a number");
        let before = total();
        let restored = restore(service, &item, 2).expect(201).with_members(second);
        assert_eq!(restored.path_of(restored.needed_header("location")), item.path);
        let found = service.read(&item.path).with_members(second);
        assert_eq!((found.text(), found.etag()), (restored.text(), restored.etag()));
        let meta = &found.value()["_meta"];
        assert_eq!((&meta["version"], &meta["created_at"]), (&json!(6), &created_at));
        assert_eq!(total(), before + 1);
        let kinds = "6 created, 5 deleted, 4 replaced, 3 replaced, 2 replaced, 1 created";
        assert_eq!(versions(service, &item).join(", "), kinds);
        let removal = service.read(&format!("{}/versions?page_size=1&page=2", item.path));
        let removed_at = removal.embedded("versions")[0]["time"].clone();
        let removed_at = removed_at.as_str().expect("a time");
        service.get(&format!("{}?as_of={removed_at}", item.path)).expect(404);
    }
}

fn a_version_sent_back_restores_it(service: &Service, item: &Item, second: &str) {
    let old = version(service, item, 2).expect(200).text().to_owned();
    let restored = service.replace(&item.path, old).with_members(second);
    assert_eq!(restored.value()["_meta"]["version"], 4);
}

fn a_restored_item_is_found_and_linked_again(service: &Service) {
    let program = service.create("/v1/proposedprograms", r#"{"title":"quinoa"}"#);
    let id = &program.id;
    let body = json!({ "proposal_type": "x", "project_title": "Amaranth", "program_id": id });
    let proposal = service.create("/v1/proposals", &body.to_string());
    let next = service.post(&proposal.path).json(PROPOSAL).expect(201).id();
    let library = format!("{}/lib", proposal.path);
    let item = service.create(&library, "{}");
    service.remove(&proposal.path);
    service.remove(&program.path);
    restore(service, &item, 1).expect(404);
    let restored = restore(service, &proposal, 1).expect(201);
    assert_eq!((restored.link("program"), restored.links("continued-by").len()), (None, 1));
    restore(service, &program, 1).expect(201);
    assert_eq!(service.read(&proposal.path).link("program"), Some(program.path));
    let continued = service.read(&format!("/v1/proposals/{next}"));
    assert_eq!(continued.link("continues"), Some(proposal.path));
    let found = service.list("/v1/proposals", "q=amaranth");
    assert_eq!(found.embedded_ids("proposals"), [proposal.id]);
    assert!(service.read(&library).items().is_empty(), "its library is restored by itself");
    service.post(&format!("/lib/{}/versions/1", item.id)).expect(201);
    assert_eq!(service.read(&library).embedded_ids("lib"), [item.id]);
}

fn no_tag_comes_twice_when_an_owner_is_restored(service: &Service) {
    let proposal = service.create("/v1/proposals", PROPOSAL);
    let library = format!("{}/lib", proposal.path);
    let two_items = || [(); 2].map(|()| service.create(&library, "{}").id);
    two_items();
    let before = service.read(&library).etag();
    service.remove(&proposal.path);
    restore(service, &proposal, 1).expect(201);
    let items = two_items();
    let answer = service.get(&library).header("if-none-match", before).expect(200);
    assert_eq!(answer.embedded_ids("lib"), items);
    assert_eq!(answer.value()["total_items"], 2);
}

fn a_replacement_of_the_collection_is_of_one_time(service: &Service) {
    service.replace("/v1/cashprogram", r#"[{"n":"a"},{"n":"b"}]"#);
    let third = service.replace("/v1/cashprogram", r#"[{"n":"c"}]"#);
    let id = third.items()[0]["id"].as_str().expect("an id").to_owned();
    let body = json!([{ "id": id, "n": "c2" }, { "n": "d" }]).to_string();
    let last = service.replace("/v1/cashprogram", body);
    for (answer, expected) in [(&third, vec![json!("c")]), (&last, vec![json!("c2"), json!("d")])] {
        let time = answer.items()[0]["_meta"]["updated_at"].as_str().expect("a time").to_owned();
        assert_eq!(service.list("/v1/cashprogram", &format!("as_of={time}")).each("n"), expected);
    }
}

#[test]
fn a_required_condition_is_required_of_restorations() {
    let service = Service::start_with(Store::Sqlite, &["--require-if-match"]);
    let item = service.create("/v1/files", "{}");
    let restore = || restore(&service, &item, 1);
    restore().expect(428);
    let etag = restore().header("if-match", item.etag.as_str()).expect(200).etag();
    service.delete(&item.path).header("if-match", etag).expect(204);
    restore().expect(201);
}

fn a_restoration_keeps_its_conditions(service: &Service) {
    let item = service.create("/v1/files", r#"{"n":1}"#);
    let changed = service.replace(&item.path, r#"{"n":2}"#).etag();
    let restore = || restore(service, &item, 1);
    let refused = restore().header("if-match", item.etag.as_str()).expect(412);
    assert_eq!(refused.etag(), changed);
    restore().header("if-none-match", "*").expect(412);
    restore().header("if-match", changed).expect(200);
    service.remove(&item.path);
    restore().header("if-match", "*").expect(412);
    restore().header("if-none-match", "*").expect(201);
    restore().body("text/plain", "x").expect(415);
}

fn concurrent_restorations_make_one_item(service: &Service) {
    let item = service.create("/v1/files", r#"{"n":1}"#);
    service.remove(&item.path);
    let mut statuses: Vec<_> = std::thread::scope(|scope| {
        let threads = [(); 8].map(|()| scope.spawn(|| restore(service, &item, 1).send().status));
        threads.into_iter().map(|thread| thread.join().expect("a status")).collect()
    });
    statuses.sort_unstable();
    assert_eq!(statuses, [&[200; 7][..], &[201]].concat());
    assert_eq!(versions(service, &item).len(), 2 + 8);
}
