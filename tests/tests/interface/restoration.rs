//! The way back to what an item was: by PUT and POST, under conditions, after a removal.

use serde_json::json;
use tests::{Service, Store, on_each_store};

use crate::PROPOSAL;
use crate::history::{groups, version, versions};

#[test]
fn a_version_sent_back_restores_it() {
    on_each_store(|service| {
        for (path, first, second) in groups(service) {
            let item = service.create(&path, first);
            service.put(&item.path).json(second).send().expect(200);
            let old = version(service, &item, 1).expect(200).text().to_owned();
            let restored = service.put(&item.path).json(old).send().expect(200).with_members(first);
            assert_eq!(restored.value()["_meta"]["version"], 3);
        }
    });
}

#[test]
fn a_version_is_restored_also_after_the_removal() {
    on_each_store(|service| {
        for (path, first, second) in groups(service) {
            let item = service.create(&path, first);
            let created_at = version(service, &item, 1).value()["_meta"]["created_at"].clone();
            service.put(&item.path).json(second).send().expect(200);
            let restored = service
                .post(&format!("{}/versions/1", item.path))
                .send()
                .expect(200)
                .with_members(first);
            assert_eq!(restored.value()["_meta"]["version"], 3);
            service.delete(&item.path).send().expect(204);
            service.post(&format!("{}/versions/4", item.path)).send().expect(410);
            service.post(&format!("{}/versions/9", item.path)).send().expect(404);
            let total = service.get(&path).send().expect(200).value()["total_items"]
                .as_u64()
                .expect("it is there");
            let restored = service
                .post(&format!("{}/versions/2", item.path))
                .send()
                .expect(201)
                .with_members(second);
            assert_eq!(restored.path_of(restored.needed_header("location")), item.path);
            let found = service.get(&item.path).send().expect(200).with_members(second);
            assert_eq!((found.text(), found.etag()), (restored.text(), restored.etag()));
            assert_eq!(
                (&found.value()["_meta"]["version"], &found.value()["_meta"]["created_at"]),
                (&json!(5), &created_at)
            );
            let now = service.get(&path).send().expect(200).value()["total_items"]
                .as_u64()
                .expect("it is there");
            assert_eq!(now, total + 1);
            let kinds = ["5 created", "4 deleted", "3 replaced", "2 replaced", "1 created"];
            assert_eq!(versions(service, &item), kinds);
            let removed_at = service
                .get(&format!("{}/versions?page_size=1&page=2", item.path))
                .send()
                .expect(200);
            let removed_at = removed_at.embedded("versions")[0]["time"]
                .as_str()
                .expect("it is there")
                .to_owned();
            service.get(&format!("{}?as_of={removed_at}", item.path)).send().expect(404);
        }
    });
}

#[test]
fn what_is_restored_is_found_and_linked_again() {
    on_each_store(|service| {
        let program = service.create("/v1/proposedprograms", r#"{"title":"quinoa"}"#);
        let body = json!({ "proposal_type": "x", "project_title": "Amaranth yields", "program_id": program.id }).to_string();
        let proposal = service.create("/v1/proposals", &body);
        let next = service.post(&proposal.path).json(PROPOSAL).send().expect(201).id();
        let item = service.create(&format!("{}/lib", proposal.path), "{}");
        service.delete(&proposal.path).send().expect(204);
        service.delete(&program.path).send().expect(204);
        service.post(&format!("{}/versions/1", item.path)).send().expect(404);
        let restored = service.post(&format!("{}/versions/1", proposal.path)).send().expect(201);
        assert_eq!((restored.link("program"), restored.links("continued-by").len()), (None, 1));
        service.post(&format!("{}/versions/1", program.path)).send().expect(201);
        assert_eq!(
            service.get(&proposal.path).send().expect(200).link("program"),
            Some(program.path)
        );
        let continued = service.get(&format!("/v1/proposals/{next}")).send().expect(200);
        assert_eq!(continued.link("continues"), Some(proposal.path.clone()));
        assert_eq!(
            service.list("/v1/proposals", "q=amaranth").embedded_ids("proposals"),
            std::slice::from_ref(&proposal.id)
        );
        assert!(
            service.list(&format!("{}/lib", proposal.path), "").items().is_empty(),
            "its library is restored by itself"
        );
        service.post(&format!("/lib/{}/versions/1", item.id)).send().expect(201);
        assert_eq!(
            service.list(&format!("{}/lib", proposal.path), "").embedded_ids("lib"),
            [item.id]
        );
    });
}

#[test]
fn no_tag_comes_twice_when_an_owner_is_restored() {
    on_each_store(|service| {
        let proposal = service.create("/v1/proposals", PROPOSAL);
        let library = format!("{}/lib", proposal.path);
        for _ in 0..2 {
            service.create(&library, "{}");
        }
        let before = service.get(&library).send().expect(200).etag();
        service.delete(&proposal.path).send().expect(204);
        service.post(&format!("{}/versions/1", proposal.path)).send().expect(201);
        let items = [service.create(&library, "{}").id, service.create(&library, "{}").id];
        let answer = service.get(&library).header("if-none-match", before).send().expect(200);
        assert_eq!(
            (answer.embedded_ids("lib"), answer.value()["total_items"].clone()),
            (items.to_vec(), json!(2))
        );
        assert_eq!(service.get(&library).send().expect(200).embedded_ids("lib"), items);
    });
}

#[test]
fn a_replacement_of_the_collection_is_of_one_time() {
    on_each_store(|service| {
        service.put("/v1/cashprogram").json(r#"[{"n":"a"},{"n":"b"}]"#).send().expect(200);
        let third = service.put("/v1/cashprogram").json(r#"[{"n":"c"}]"#).send().expect(200);
        let id = third.items()[0]["id"].as_str().expect("an id").to_owned();
        let body = json!([{ "id": id, "n": "c2" }, { "n": "d" }]).to_string();
        let last = service.put("/v1/cashprogram").json(body).send().expect(200);
        for (answer, expected) in
            [(&third, vec![json!("c")]), (&last, vec![json!("c2"), json!("d")])]
        {
            let time =
                answer.items()[0]["_meta"]["updated_at"].as_str().expect("a time").to_owned();
            assert_eq!(
                service.list("/v1/cashprogram", &format!("as_of={time}")).each("n"),
                expected
            );
        }
    });
}

#[test]
fn where_a_condition_is_required_what_exists_is_restored_under_one() {
    let service = Service::start_with(Store::Sqlite, &["--require-if-match"]);
    let item = service.create("/v1/files", "{}");
    let restore = || service.post(&format!("{}/versions/1", item.path));
    restore().send().expect(428);
    let etag = restore().header("if-match", item.etag.as_str()).send().expect(200).etag();
    service.delete(&item.path).header("if-match", etag).send().expect(204);
    restore().send().expect(201);
}

#[test]
fn a_restoration_keeps_its_conditions() {
    on_each_store(|service| {
        let item = service.create("/v1/files", r#"{"n":1}"#);
        let changed = service.put(&item.path).json(r#"{"n":2}"#).send().expect(200).etag();
        let restore = || service.post(&format!("{}/versions/1", item.path));
        let refused = restore().header("if-match", item.etag.as_str()).send().expect(412);
        assert_eq!(refused.etag(), changed);
        restore().header("if-none-match", "*").send().expect(412);
        restore().header("if-match", changed).send().expect(200);
        service.delete(&item.path).send().expect(204);
        restore().header("if-match", "*").send().expect(412);
        restore().header("if-none-match", "*").send().expect(201);
        let _ = restore().body("text/plain", "x").send().expect(415);
    });
}

#[test]
fn many_who_restore_at_once_make_one_item() {
    on_each_store(|service| {
        let item = service.create("/v1/files", r#"{"n":1}"#);
        service.delete(&item.path).send().expect(204);
        let statuses: Vec<_> = std::thread::scope(|scope| {
            let restore = || service.post(&format!("{}/versions/1", item.path)).send().status;
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(restore)).collect();
            threads.into_iter().map(|thread| thread.join().expect("it is there")).collect()
        });
        assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1, "{statuses:?}");
        assert!(statuses.iter().all(|status| [200, 201].contains(status)), "{statuses:?}");
        assert_eq!(versions(service, &item).len(), 2 + 8);
    });
}
