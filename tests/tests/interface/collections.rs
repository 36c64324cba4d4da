//! Collections: order, paging members, and the links from page to page.

use std::collections::BTreeSet;

use serde_json::Value;
use tests::{Service, Store, on_each_store};

use crate::PROPOSAL;
use crate::queries::parameter;

/// Each collection path with the name its items are embedded under.
pub const COLLECTIONS: &[(&str, &str)] = &[
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
            assert_eq!(
                listed,
                [service.get(&item.path).send().expect(200).value()],
                "{collection}"
            );
        }
    });
}

#[test]
fn an_empty_collection_is_200() {
    on_each_store(|service| {
        for (collection, name) in COLLECTIONS {
            for query in ["", "?page=1", "?page=9"] {
                let answer = service.get(&format!("{collection}{query}")).send().expect(200);
                assert_eq!(
                    (answer.embedded(name).len(), &answer.value()["total_items"]),
                    (0, &Value::from(0)),
                    "{answer}"
                );
            }
        }
    });
}

#[test]
fn pages_follow_each_other_newest_last() {
    on_each_store(|service| {
        let created: Vec<_> = (0..5)
            .map(|number| service.create("/v1/files", &format!(r#"{{"n":{number}}}"#)).id)
            .collect();
        for (page, ids, relations) in [
            (1, &created[0..2], &["self", "first", "next", "last"][..]),
            (2, &created[2..4], &["self", "first", "prev", "next", "last"]),
            (3, &created[4..5], &["self", "first", "prev", "last"]),
        ] {
            let answer =
                service.get(&format!("/v1/files?page={page}&page_size=2")).send().expect(200);
            assert_eq!(answer.embedded_ids("files"), ids, "{answer}");
            let paging = ["page", "page_count", "page_size", "total_items"]
                .map(|member| answer.value()[member].as_u64());
            assert_eq!(paging, [Some(page), Some(3), Some(2), Some(5)], "{answer}");
            let pages =
                [("self", page), ("first", 1), ("prev", page - 1), ("next", page + 1), ("last", 3)];
            for (relation, target) in pages {
                let expected = relations
                    .contains(&relation)
                    .then(|| query_of(&format!("page={target}&page_size=2")));
                let found = answer.link(relation).map(|link| link_query("/v1/files", &link));
                assert_eq!(found, expected, "{relation} of {answer}");
                let has_cursor =
                    answer.link(relation).is_some_and(|link| parameter(&link, "cursor").is_some());
                assert_eq!(
                    has_cursor,
                    expected.is_some() && ["prev", "next"].contains(&relation),
                    "{relation} of {answer}"
                );
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
        for (query, items, page_size) in
            [("", 25, 25), ("?page=2", 5, 25), ("?page_size=1", 1, 1), ("?page_size=250", 30, 250)]
        {
            let answer = service.get(&format!("/v1/files{query}")).send().expect(200);
            let found = (answer.embedded("files").len(), answer.value()["page_size"].as_u64());
            assert_eq!(found, (items, Some(page_size)), "{answer}");
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
            ("page=1&page=1", 400),
            ("page=%2B1", 400),
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
            let answer = service.get(&format!("/v1/files?{query}")).send().expect(status);
            if status == 400 {
                answer.refusing_query(&[if query.starts_with("page_size") {
                    "`page_size`"
                } else {
                    "`page`"
                }]);
            }
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
        assert_eq!(
            link_query(&library, &answer.link("prev").unwrap()),
            query_of("page=1&page_size=2")
        );
    });
}

#[test]
fn links_lie_under_the_base_url_whatever_host_was_asked() {
    let service = Service::start_with(
        Store::Sqlite,
        &[
            "--allow-anonymous",
            "--base-url",
            "https://api.example.org/rdi",
            "--allowed-host",
            "evil.example",
        ],
    );
    let created = service
        .post("/v1/proposals")
        .header("host", "evil.example")
        .json(PROPOSAL)
        .send()
        .expect(201);
    let path = format!("/v1/proposals/{}", created.id());
    for target in [path.as_str(), "/v1/proposals", "/"] {
        let answer = service
            .get(target)
            .header("host", "evil.example")
            .header("x-forwarded-host", "evil.example")
            .send()
            .expect(200);
        assert!(!answer.text().contains("evil.example"), "{answer}");
    }
    for link in [created.link("self").unwrap(), created.needed_header("location").to_owned()] {
        let resolved = url::Url::parse("https://api.example.org").unwrap().join(&link).unwrap();
        assert_eq!(resolved.as_str(), format!("https://api.example.org/rdi{path}"), "{created}");
    }
}

/// The decoded parameters of a link, which must lead to `collection`; all but the cursor, which no
/// client understands.
fn link_query(collection: &str, link: &str) -> BTreeSet<(String, String)> {
    let (path, query) = link.split_once('?').unwrap_or((link, ""));
    assert_eq!(path, collection, "the link {link}");
    query_of(query).into_iter().filter(|(name, _)| name != "cursor").collect()
}

fn query_of(query: &str) -> BTreeSet<(String, String)> {
    url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}
