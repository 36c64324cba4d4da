//! Links to items that a caller may not read, in everything that shows the items that refer to them.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::world::{DEMO_PROPOSAL as PROPOSAL, World, on_each_store, text_of};

/// The clerk reads and writes files, but not the proposals and programmes that they refer to, nor
/// library items. The reader reads library items, but not the proposals that they belong to.
const POLICIES: &str = "policies:
  - {id: clerks, group: files, allow: [read, history, write], to: [clerk]}
  - {id: librarians, group: lib, allow: [read, history], to: [librarian]}
  - {id: librarians_see_proposals, group: proposals, allow: [read], to: [librarian]}
  - {id: readers, group: lib, allow: [read, history, write], to: [reader]}
  - {id: chiefs, group: [files, lib, proposals], allow: [read, history, write], to: [chief]}
";

#[test]
fn a_link_to_an_item_without_the_right_to_read_it_is_not_shown() {
    on_each_store(|store| {
        let callers = ["clerk", "librarian", "reader", "chief"].map(|name| (name, name));
        let world = World::new(store, &callers, POLICIES, &["--demo"]);
        links_of_files_to_proposals(&world);
        the_history_of_a_library_needs_that_its_proposal_may_be_read_and_no_more(&world);
        proposals_of_library_items(&world);
    });
}

fn is_past(path: &str) -> bool {
    path.contains("as_of") || path.contains("/versions/")
}

fn links(item: &Value) -> BTreeSet<String> {
    item["_links"].as_object().unwrap().keys().cloned().collect()
}

fn links_of_files_to_proposals(world: &World) {
    let service = &world.service;
    let body = format!("{{\"proposal_id\":\"{PROPOSAL}\"}}");
    let [by_clerk, by_chief] =
        ["clerk", "chief"].map(|name| world.create(name, "/v1/files", &body));
    let id = by_chief.id();
    let item = format!("/v1/files/{id}");
    let now = by_chief.value()["_meta"]["created_at"].as_str().unwrap().to_owned();
    let patch = |name: &str| {
        world.send(name, service.patch(&item).json(r#"{"name":"a"}"#)).expect(200).value()
    };
    let mut shown =
        vec![(false, by_clerk.value(), by_chief.value()), (false, patch("clerk"), patch("chief"))];
    let restore = |name: &str, query: &str| {
        world.send(name, service.post(&format!("{item}/versions/1{query}")))
    };
    for query in ["?dry_run=true", ""] {
        let restored = |name: &str| restore(name, query).expect(200).value();
        shown.push((false, restored("clerk"), restored("chief")));
    }
    let [clerk, chief] = ["clerk", "chief"].map(|name| {
        world.send("chief", service.delete(&item)).expect(204);
        restore(name, "").expect(201).value()
    });
    shown.push((false, clerk, chief));
    for path in [
        item.clone(),
        format!("{item}?as_of={now}"),
        format!("{item}/versions/1"),
        format!("{item}?fields=name"),
    ] {
        let [clerk, chief] = ["clerk", "chief"].map(|name| world.get(name, &path).value());
        shown.push((is_past(&path), clerk, chief));
    }
    for path in ["/v1/files?sort=-created_at", &format!("/v1/files?as_of={now}")] {
        let [clerk, chief] = ["clerk", "chief"].map(|name| {
            let mut files = world.get(name, path).embedded("files").into_iter();
            files.find(|file| file["id"] == *id).unwrap()
        });
        shown.push((is_past(path), clerk, chief));
    }
    for (is_past, clerk, chief) in &shown {
        let (seen, all) = (links(clerk), links(chief));
        let missing: Vec<_> = all.difference(&seen).map(String::as_str).collect();
        // Earlier versions have no links to other items.
        assert_eq!(missing, if *is_past { &[][..] } else { &["proposal"] }, "{clerk} {chief}");
        assert!(seen.is_subset(&all) && !seen.contains("proposal"), "{clerk} {chief}");
    }
}

fn the_history_of_a_library_needs_that_its_proposal_may_be_read_and_no_more(world: &World) {
    let library = format!("/v1/proposals/{PROPOSAL}/lib");
    let item = world.get("librarian", &library).embedded_ids("lib").remove(0);
    for path in [format!("{library}/{item}"), format!("{library}/{item}/versions")] {
        world.get("librarian", &path);
        world.send("clerk", world.service.get(&path)).expect(403);
    }
    let history = world.service.get(&format!("/v1/proposals/{PROPOSAL}/versions"));
    world.send("librarian", history).expect(403);
}

fn proposals_of_library_items(world: &World) {
    let service = &world.service;
    let library = format!("/v1/proposals/{PROPOSAL}/lib");
    let made = world.create("chief", &library, r#"{"title":"a"}"#);
    let (id, now) = (made.id(), made.value()["_meta"]["created_at"].clone());
    let (item, page) = (format!("/lib/{id}"), format!("/explore/lib/{id}"));
    let get = |name: &str, path: &str, accept: &str| {
        world.send(name, service.get(path).accept(accept)).expect(200)
    };
    for (path, accept) in [
        (item.clone(), "*/*"),
        (format!("{item}?check=true"), "*/*"),
        (format!("{item}?embed=proposal"), "*/*"),
        ("/lib?page_size=250".to_owned(), "*/*"),
        (page.clone(), "text/html"),
        (format!("{page}?as_of={}", now.as_str().unwrap()), "text/html"),
        ("/explore/lib".to_owned(), "text/html"),
        ("/exports/lib.csv?filter[title]=a".to_owned(), "*/*"),
        ("/exports/lib.ndjson?filter[title]=a".to_owned(), "*/*"),
    ] {
        let (reader, chief) = (get("reader", &path, accept), get("chief", &path, accept));
        assert!(reader.text().contains(&*id), "{reader}");
        assert!(!reader.text().contains(PROPOSAL), "{path}: {reader}");
        let is_named = path != "/explore/lib";
        assert_eq!(chief.text().contains(PROPOSAL), is_named, "{path}: {chief}");
    }
    // The column is absent, too.
    for (name, columns) in [("reader", "title"), ("chief", "proposal,title")] {
        let csv = get(name, "/exports/lib.csv?fields=title", "*/*");
        assert!(csv.text().starts_with(&format!("id,_version,{columns}\r\n")), "{csv}");
    }
    let workbook = |name: &str| text_of(&get(name, "/exports/lib.xlsx", "*/*").body);
    let (seen, all) = (workbook("reader"), workbook("chief"));
    assert!(seen.contains(&*id) && !seen.contains(PROPOSAL) && !seen.contains("proposal<"));
    assert!(all.contains(PROPOSAL) && all.contains("proposal<"), "{all}");
    let patch = service.patch(&item).json(r#"{"title":"b"}"#);
    let restore = service.post(&format!("{item}/versions/1"));
    for write in [patch, restore] {
        let written = world.send("reader", write).expect(200);
        assert!(!written.text().contains(PROPOSAL), "{written}");
        let shown = get("reader", &item, "*/*");
        assert_eq!(written.header("etag"), shown.header("etag"), "{written}");
    }
    let owned = get("chief", &item, "*/*");
    assert!(owned.text().contains(PROPOSAL), "it keeps its proposal: {owned}");
}
