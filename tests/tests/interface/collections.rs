//! Collections: order, paging members, and links that keep the rest of the query.

use std::collections::BTreeSet;

use serde_json::Value;
use tests::{Service, Store, on_each_store};

use crate::PROPOSAL;

/// Each collection path with the name its items are embedded under.
const COLLECTIONS: &[(&str, &str)] = &[
    ("/v1/proposedprograms", "proposedprograms"),
    ("/v1/gadscores", "gadscores"),
    ("/v1/statuses", "statuses"),
    ("/v1/files", "files"),
    ("/lib", "lib"),
    ("/v1/proposals", "proposals"),
    ("/v1/cashprogram", "cashprogram"),
    ("/status", "status"),
];

#[test]
fn items_are_embedded_in_full_under_the_groups_name() {
    on_each_store(|service| {
        for (collection, name) in COLLECTIONS {
            let item = service.create(collection, PROPOSAL);
            let listed = service.get(collection).send().expect(200).embedded(name);
            assert_eq!(listed, [service.get(&item.path).send().expect(200).value()], "{collection}");
        }
    });
}

#[test]
fn an_empty_collection_is_200() {
    on_each_store(|service| {
        for (collection, name) in COLLECTIONS {
            for query in ["", "?page=1", "?page=9"] {
                let answer = service.get(&format!("{collection}{query}")).send().expect(200);
                assert_eq!((answer.embedded(name).len(), &answer.value()["total_items"]), (0, &Value::from(0)), "{answer}");
            }
        }
    });
}

#[test]
fn pages_follow_each_other_newest_last() {
    on_each_store(|service| {
        let created: Vec<_> = (0..5).map(|number| service.create("/v1/files", &format!(r#"{{"n":{number}}}"#)).id).collect();
        for (page, ids, relations) in [
            (1, &created[0..2], &["self", "first", "next", "last"][..]),
            (2, &created[2..4], &["self", "first", "prev", "next", "last"]),
            (3, &created[4..5], &["self", "first", "prev", "last"]),
        ] {
            let answer = service.get(&format!("/v1/files?page={page}&page_size=2")).send().expect(200);
            assert_eq!(answer.embedded_ids("files"), ids, "{answer}");
            let paging = ["page", "page_count", "page_size", "total_items"].map(|member| answer.value()[member].as_u64());
            assert_eq!(paging, [Some(page), Some(3), Some(2), Some(5)], "{answer}");
            let pages = [("self", page), ("first", 1), ("prev", page - 1), ("next", page + 1), ("last", 3)];
            for (relation, target) in pages {
                let expected = relations.contains(&relation).then(|| query_of(&format!("page={target}&page_size=2")));
                let found = answer.link(relation).map(|link| link_query("/v1/files", &link));
                assert_eq!(found, expected, "{relation} of {answer}");
            }
        }
    });
}

#[test]
fn a_page_has_25_items_unless_asked_otherwise() {
    on_each_store(|service| {
        for number in 0..30 {
            service.create("/v1/files", &format!(r#"{{"n":{number}}}"#));
        }
        for (query, items, page_size) in [("", 25, 25), ("?page=2", 5, 25), ("?page_size=1", 1, 1), ("?page_size=250", 30, 250)] {
            let answer = service.get(&format!("/v1/files{query}")).send().expect(200);
            let found = (answer.embedded("files").len(), answer.value()["page_size"].as_u64());
            assert_eq!(found, (items, Some(page_size)), "{answer}");
        }
    });
}

#[test]
fn links_keep_the_other_query_parameters() {
    on_each_store(|service| {
        for _ in 0..3 {
            service.create("/v1/files", "{}");
        }
        let other = "note=a%20b%26c%3D%E2%82%B1&tag=1&tag=2";
        let answer = service.get(&format!("/v1/files?{other}&page=2&page_size=1")).send().expect(200);
        for (relation, page) in [("self", 2), ("first", 1), ("prev", 1), ("next", 3), ("last", 3)] {
            let link = answer.link(relation).unwrap();
            assert_eq!(link_query("/v1/files", &link), query_of(&format!("{other}&page={page}&page_size=1")), "{relation}");
            service.get(&link).send().expect(200);
        }
    });
}

#[test]
fn a_page_that_is_none_is_refused() {
    on_each_store(|service| {
        service.create("/v1/files", "{}");
        for (query, status) in [
            ("page=0", 400),
            ("page=-1", 400),
            ("page=one", 400),
            ("page=1.5", 400),
            ("page=", 400),
            ("page=18446744073709551616", 400),
            ("page=99999999999999999999999999999999", 400),
            ("page_size=0", 400),
            ("page_size=-5", 400),
            ("page_size=251", 400),
            ("page_size=all", 400),
            ("page_size=99999999999999999999999999999999", 400),
            ("page=2", 409),
            ("page=1000000", 409),
            ("page=9223372036854775807", 409),
            ("page=9223372036854775807&page_size=250", 409),
        ] {
            service.get(&format!("/v1/files?{query}")).send().expect(status);
        }
    });
}

#[test]
fn the_nested_library_is_paged_on_its_own() {
    on_each_store(|service| {
        let library = format!("{}/lib", service.create("/v1/proposals", PROPOSAL).path);
        service.create("/lib", "{}");
        let created: Vec<_> = (0..3).map(|_| service.create(&library, "{}").id).collect();
        let answer = service.get(&format!("{library}?page=2&page_size=2")).send().expect(200);
        assert_eq!(answer.embedded_ids("lib"), created[2..], "{answer}");
        assert_eq!(answer.value()["total_items"], 3);
        assert_eq!(link_query(&library, &answer.link("prev").unwrap()), query_of("page=1&page_size=2"));
    });
}

#[test]
fn links_lie_under_the_base_url_whatever_host_was_asked() {
    let service = Service::start_with(Store::Sqlite, &["--base-url", "https://api.example.org/rdi"]);
    let created = service.post("/v1/proposals").header("host", "evil.example").json(PROPOSAL).send().expect(201);
    let path = format!("/v1/proposals/{}", created.id());
    for target in [path.as_str(), "/v1/proposals", "/"] {
        let answer = service.get(target).header("host", "evil.example").header("x-forwarded-host", "evil.example").send().expect(200);
        assert!(!answer.text().contains("evil.example"), "{answer}");
    }
    for link in [created.link("self").unwrap(), created.needed_header("location").to_owned()] {
        let resolved = url::Url::parse("https://api.example.org").unwrap().join(&link).unwrap();
        assert_eq!(resolved.as_str(), format!("https://api.example.org/rdi{path}"), "{created}");
    }
}

/// The decoded parameters of a link, which must lead to `collection`.
fn link_query(collection: &str, link: &str) -> BTreeSet<(String, String)> {
    let (path, query) = link.split_once('?').unwrap_or((link, ""));
    assert_eq!(path, collection, "the link {link}");
    query_of(query)
}

fn query_of(query: &str) -> BTreeSet<(String, String)> {
    url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}
