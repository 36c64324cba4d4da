//! `/v1/proposals/:proposals_id/lib` and `/lib`: one set of library items under two paths.

use tests::{Item, Service, on_each_store};

use crate::PROPOSAL;

const TITLE: &str = r#"{"title":"HGDG checklist"}"#;

#[test]
fn the_whole_library_holds_what_proposals_hold() {
    on_each_store(|service| {
        let free = service.create("/lib", TITLE);
        let [(mine, my_item), (theirs, their_item)] = two_libraries(service);
        let ids = |path: &str| service.get(path).send().expect(200).embedded_ids("lib");
        assert_eq!(ids("/lib"), [&free.id, &my_item.id, &their_item.id].map(Clone::clone));
        assert_eq!(ids(&mine), [my_item.id]);
        assert_eq!(ids(&theirs), [their_item.id]);
    });
}

#[test]
fn self_is_the_path_an_item_was_asked_under() {
    on_each_store(|service| {
        let [(library, item), _] = two_libraries(service);
        let top_level = format!("/lib/{}", item.id);
        for (path, collection) in [(&item.path, library.as_str()), (&top_level, "/lib")] {
            let answer = service.get(path).send().expect(200).with_members(TITLE);
            assert_eq!(answer.link("self").as_ref(), Some(path), "{answer}");
            assert_eq!(answer.link("collection").as_deref(), Some(collection), "{answer}");
            assert_eq!(
                answer.link("proposal").as_deref(),
                library.strip_suffix("/lib"),
                "{answer}"
            );
            assert_eq!(
                service.get(collection).send().expect(200).link("self").as_deref(),
                Some(collection)
            );
        }
        for collection in [&library, "/lib"] {
            let list = service.get(collection).send().expect(200);
            let listed = list.embedded("lib")[0]["_links"]["self"]["href"]
                .as_str()
                .map(|href| list.path_of(href));
            assert_eq!(listed, Some(format!("{collection}/{}", item.id)), "{list}");
        }
        let free = service.create("/lib", TITLE);
        assert_eq!(service.get(&free.path).send().expect(200).link("proposal"), None);
    });
}

#[test]
fn an_item_of_another_proposal_is_unknown() {
    on_each_store(|service| {
        let [(mine, _), (theirs, their_item)] = two_libraries(service);
        let free = service.create("/lib", TITLE);
        let before = service.contents("/lib");
        for id in [&their_item.id, &free.id] {
            let target = format!("{mine}/{id}");
            service.get(&target).send().expect(404);
            service.put(&target).json(TITLE).send().expect(404);
            service.patch(&target).json("{}").send().expect(404);
            service.delete(&target).send().expect(404);
        }
        assert_eq!(service.contents("/lib"), before);
        assert_eq!(service.get(&theirs).send().expect(200).embedded_ids("lib"), [their_item.id]);
    });
}

#[test]
fn a_write_under_either_path_is_seen_under_both() {
    on_each_store(|service| {
        let [(library, item), _] = two_libraries(service);
        let top_level = format!("/lib/{}", item.id);
        for (written, read, body) in
            [(&item.path, &top_level, r#"{"n":1.0}"#), (&top_level, &item.path, r#"{"n":2.0}"#)]
        {
            service.put(written).json(body).send().expect(200);
            service.get(read).send().expect(200).with_members(body);
        }
        assert_eq!(
            service.get(&library).send().expect(200).embedded_ids("lib"),
            [item.id],
            "a PUT under /lib leaves the parent"
        );
        service.delete(&top_level).send().expect(204);
        service.get(&item.path).send().expect(404);
    });
}

#[test]
fn deleting_a_proposal_deletes_its_library_and_no_other() {
    on_each_store(|service| {
        let free = service.create("/lib", TITLE);
        let [(mine, my_item), (_, their_item)] = two_libraries(service);
        let proposal = mine.trim_end_matches("/lib");
        service.delete(proposal).send().expect(204);
        for gone in [proposal, &mine, &my_item.path, &format!("/lib/{}", my_item.id)] {
            service.get(gone).send().expect(404);
        }
        assert_eq!(
            service.get("/lib").send().expect(200).embedded_ids("lib"),
            [free.id, their_item.id]
        );
    });
}

/// Two proposals' libraries, each with its one item.
fn two_libraries(service: &Service) -> [(String, Item); 2] {
    [(); 2].map(|()| {
        let library = format!("{}/lib", service.create("/v1/proposals", PROPOSAL).path);
        let item = service.create(&library, TITLE);
        (library, item)
    })
}
