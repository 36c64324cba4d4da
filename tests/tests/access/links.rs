//! Links to items that a caller may not read, in everything that shows the items that refer to them.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Cursor, Read as _};

use serde_json::Value;
use tests::{Service, Store};
use zip::ZipArchive;

use crate::world::{Callers, on_each_store};

/// The clerk reads and writes files, and neither what they are about nor its library.
const POLICIES: &str = "policies:
  - {id: clerks, group: files, allow: [read, history, write], to: [clerk]}
  - {id: librarians, group: lib, allow: [read, history], to: [librarian]}
  - {id: librarians_see_proposals, group: proposals, allow: [read], to: [librarian]}
  - {id: chiefs, group: [files, lib, proposals], allow: [read, history, write], to: [chief]}
";

const PROPOSAL: &str = "01890a5d-ac96-774b-bcce-b302099a8050";

struct World {
    callers: Callers,
    service: Service,
}

impl World {
    fn new(store: Store) -> Self {
        Self::under(POLICIES, store)
    }

    /// Every caller has the role of their name.
    fn under(policies: &str, store: Store) -> Self {
        let callers =
            Callers::new(&["clerk", "librarian", "reader", "chief"].map(|name| (name, name)));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policies.yaml");
        fs::write(&path, policies).unwrap();
        let service = callers.serve(store, &["--demo", "--policies", path.to_str().unwrap()]);
        Self { callers, service }
    }

    fn get(&self, name: &str, path: &str) -> Value {
        self.callers.sign(name, self.service.get(path)).send().expect(200).value()
    }
}

fn is_past(path: &str) -> bool {
    path.contains("as_of") || path.contains("/versions/")
}

fn links(item: &Value) -> BTreeSet<String> {
    item["_links"].as_object().unwrap().keys().cloned().collect()
}

#[test]
fn a_link_to_what_may_not_be_read_is_shown_nowhere() {
    on_each_store(|store| {
        let world = World::new(store);
        let (callers, service) = (&world.callers, &world.service);
        let body = format!("{{\"proposal_id\":\"{PROPOSAL}\"}}");
        let make = |name: &str| {
            callers.sign(name, service.post("/v1/files").json(body.clone())).send().expect(201)
        };
        let (by_clerk, by_chief) = (make("clerk"), make("chief"));
        let id = by_chief.id();
        let now = by_chief.value()["_meta"]["created_at"].as_str().unwrap().to_owned();
        let patch = |name: &str| {
            let request = service.patch(&format!("/v1/files/{id}"));
            callers.sign(name, request.json(r#"{"name":"a"}"#)).send().expect(200).value()
        };
        let mut shown = vec![
            (false, by_clerk.value(), by_chief.value()),
            (false, patch("clerk"), patch("chief")),
        ];
        let restore = |name: &str, query: &str| {
            let request = service.post(&format!("/v1/files/{id}/versions/1{query}"));
            callers.sign(name, request).send()
        };
        for query in ["?dry_run=true", ""] {
            let restored = |name: &str| restore(name, query).expect(200).value();
            shown.push((false, restored("clerk"), restored("chief")));
        }
        let restored = ["clerk", "chief"].map(|name| {
            callers.sign("chief", service.delete(&format!("/v1/files/{id}"))).send().expect(204);
            restore(name, "").expect(201).value()
        });
        shown.push((false, restored[0].clone(), restored[1].clone()));
        for path in [
            format!("/v1/files/{id}"),
            format!("/v1/files/{id}?as_of={now}"),
            format!("/v1/files/{id}/versions/1"),
            format!("/v1/files/{id}?fields=name"),
        ] {
            shown.push((is_past(&path), world.get("clerk", &path), world.get("chief", &path)));
        }
        for path in ["/v1/files?sort=-created_at", &format!("/v1/files?as_of={now}")] {
            let one = |name: &str| {
                let page = world.get(name, path);
                let files = page["_embedded"]["files"].as_array().unwrap();
                files.iter().find(|file| file["id"] == *id).unwrap().clone()
            };
            shown.push((is_past(path), one("clerk"), one("chief")));
        }
        for (is_past, clerk, chief) in &shown {
            let (seen, all) = (links(clerk), links(chief));
            let missing: Vec<_> = all.difference(&seen).map(String::as_str).collect();
            // What items referred to once is no link.
            assert_eq!(missing, if *is_past { &[][..] } else { &["proposal"] }, "{clerk} {chief}");
            assert!(seen.is_subset(&all) && !seen.contains("proposal"), "{clerk} {chief}");
        }
    });
}

#[test]
fn the_history_of_a_library_needs_that_its_proposal_may_be_read_and_no_more() {
    let world = World::new(Store::Sqlite);
    let library = format!("/v1/proposals/{PROPOSAL}/lib");
    let page = world.get("librarian", &library);
    let item = page["_embedded"]["lib"][0]["id"].as_str().unwrap();
    for path in [format!("{library}/{item}"), format!("{library}/{item}/versions")] {
        world.get("librarian", &path);
        world.callers.sign("clerk", world.service.get(&path)).send().expect(403);
    }
    let history = format!("/v1/proposals/{PROPOSAL}/versions");
    world.callers.sign("librarian", world.service.get(&history)).send().expect(403);
}

/// The reader reads library items, and not the proposals that they belong to.
const READERS: &str = "policies:
  - {id: readers, group: lib, allow: [read, history, write], to: [reader]}
  - {id: chiefs, group: [lib, proposals], allow: [read, history, write], to: [chief]}
";

#[test]
fn a_proposal_that_may_not_be_read_is_named_nowhere_in_its_library() {
    on_each_store(|store| {
        let world = World::under(READERS, store);
        let (callers, service) = (&world.callers, &world.service);
        let library = format!("/v1/proposals/{PROPOSAL}/lib");
        let creation = callers.sign("chief", service.post(&library).json(r#"{"title":"a"}"#));
        let made = creation.send().expect(201);
        let (id, now) = (made.id(), made.value()["_meta"]["created_at"].clone());
        let (item, page) = (format!("/lib/{id}"), format!("/explore/lib/{id}"));
        let get = |name: &str, path: &str, accept: &str| {
            callers.sign(name, service.get(path).accept(accept)).send().expect(200)
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
        let csv = |name: &str| get(name, "/exports/lib.csv?fields=title", "*/*").text().to_owned();
        assert!(csv("reader").starts_with("id,_version,title\r\n"), "{}", csv("reader"));
        assert!(csv("chief").starts_with("id,_version,proposal,title\r\n"), "{}", csv("chief"));
        let workbook = |name: &str| text_of(&get(name, "/exports/lib.xlsx", "*/*").body);
        let (seen, all) = (workbook("reader"), workbook("chief"));
        assert!(seen.contains(&*id) && !seen.contains(PROPOSAL) && !seen.contains("proposal<"));
        assert!(all.contains(PROPOSAL) && all.contains("proposal<"), "{all}");
        let patch = service.patch(&item).json(r#"{"title":"b"}"#);
        let restore = service.post(&format!("{item}/versions/1"));
        for write in [patch, restore] {
            let written = callers.sign("reader", write).send().expect(200);
            assert!(!written.text().contains(PROPOSAL), "{written}");
            let shown = get("reader", &item, "*/*");
            assert_eq!(written.header("etag"), shown.header("etag"), "{written}");
        }
        let owned = get("chief", &item, "*/*");
        assert!(owned.text().contains(PROPOSAL), "it stays where it is: {owned}");
    });
}

/// All text in a workbook.
fn text_of(workbook: &[u8]) -> String {
    let mut parts = ZipArchive::new(Cursor::new(workbook)).unwrap();
    let mut text = String::new();
    for index in 0..parts.len() {
        parts.by_index(index).unwrap().read_to_string(&mut text).unwrap();
    }
    text
}
