//! `/v1/proposals/:proposals_id/lib` and `/lib`: one set of library items under two paths.

use tests::{Item, Service};

use crate::PROPOSAL;

const TITLE: &str = r#"{"title":"HGDG checklist"}"#;

tests::cases![
    the_library_holds_the_items_of_all_proposals_under_both_paths,
    an_item_of_another_proposal_is_unknown,
    a_write_under_either_path_is_seen_under_both,
    deleting_a_proposal_deletes_its_library_and_no_other,
];

fn the_library_holds_the_items_of_all_proposals_under_both_paths(service: &Service) {
    let [(mine, item), (theirs, their_item)] = two_libraries(service);
    let free = service.create("/lib", TITLE);
    assert_eq!(service.read(&free.path).link("proposal"), None);
    for (collection, ids) in [
        ("/lib", &[&item.id, &their_item.id, &free.id][..]),
        (&mine, &[&item.id]),
        (&theirs, &[&their_item.id]),
    ] {
        let list = service.read(collection);
        assert_eq!(list.embedded_ids("lib").iter().collect::<Vec<_>>(), ids);
        assert_eq!(list.link("self").as_deref(), Some(collection));
        let listed = list.embedded("lib")[0]["_links"]["self"]["href"].clone();
        let listed = list.path_of(listed.as_str().expect("a link"));
        assert_eq!(listed, format!("{collection}/{}", ids[0]), "{list}");
    }
    for (path, collection) in [(item.path, &*mine), (format!("/lib/{}", item.id), "/lib")] {
        let answer = service.read(&path).with_members(TITLE);
        assert_eq!(answer.link("self").as_ref(), Some(&path), "{answer}");
        assert_eq!(answer.link("collection").as_deref(), Some(collection), "{answer}");
        assert_eq!(answer.link("proposal").as_deref(), mine.strip_suffix("/lib"), "{answer}");
    }
}

fn an_item_of_another_proposal_is_unknown(service: &Service) {
    let [(mine, _), (theirs, their_item)] = two_libraries(service);
    let free = service.create("/lib", TITLE);
    let before = service.contents("/lib");
    for id in [&their_item.id, &free.id] {
        let target = format!("{mine}/{id}");
        service.get(&target).expect(404);
        service.put(&target).json(TITLE).expect(404);
        service.patch(&target).json("{}").expect(404);
        service.delete(&target).expect(404);
    }
    assert_eq!(service.contents("/lib"), before);
    assert_eq!(service.read(&theirs).embedded_ids("lib"), [their_item.id]);
}

fn a_write_under_either_path_is_seen_under_both(service: &Service) {
    let [(library, item), _] = two_libraries(service);
    let top_level = format!("/lib/{}", item.id);
    for (written, read, body) in
        [(&item.path, &top_level, r#"{"n":1.0}"#), (&top_level, &item.path, r#"{"n":2.0}"#)]
    {
        service.replace(written, body);
        service.read(read).with_members(body);
    }
    // A PUT under /lib leaves the parent.
    assert_eq!(service.read(&library).embedded_ids("lib"), [item.id]);
    service.remove(&top_level);
    service.get(&item.path).expect(404);
}

fn deleting_a_proposal_deletes_its_library_and_no_other(service: &Service) {
    let free = service.create("/lib", TITLE);
    let [(mine, my_item), (_, their_item)] = two_libraries(service);
    let proposal = mine.trim_end_matches("/lib");
    service.remove(proposal);
    for gone in [proposal, &mine, &my_item.path, &format!("/lib/{}", my_item.id)] {
        service.get(gone).expect(404);
    }
    assert_eq!(service.read("/lib").embedded_ids("lib"), [free.id, their_item.id]);
}

/// Two proposals' libraries, each with its one item.
fn two_libraries(service: &Service) -> [(String, Item); 2] {
    [(); 2].map(|()| {
        let library = format!("{}/lib", service.create("/v1/proposals", PROPOSAL).path);
        let item = service.create(&library, TITLE);
        (library, item)
    })
}
