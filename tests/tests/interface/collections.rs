//! Collections: order, paging members, and the links from page to page.

use std::collections::BTreeSet;

use tests::{Service, Store};

use crate::PROPOSAL;
use crate::queries::{FILES, parameter};

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

tests::cases![
    items_are_embedded_in_full_under_the_groups_name,
    pages_follow_each_other_newest_last,
    a_page_has_25_items_unless_asked_otherwise,
    an_invalid_page_is_refused,
    the_nested_library_is_paged_on_its_own,
];

fn pages_follow_each_other_newest_last(service: &Service) {
    let created = [0, 1, 2, 3, 4].map(|n| service.create(FILES, &format!(r#"{{"n":{n}}}"#)).id);
    for (page, ids, relations) in [
        (1, &created[0..2], &["self", "first", "next", "last"][..]),
        (2, &created[2..4], &["self", "first", "prev", "next", "last"]),
        (3, &created[4..5], &["self", "first", "prev", "last"]),
    ] {
        let answer = service.list(FILES, &format!("page={page}&page_size=2"));
        assert_eq!(answer.embedded_ids("files"), ids, "{answer}");
        let paging = ["page", "page_count", "page_size", "total_items"]
            .map(|member| answer.value()[member].as_u64());
        assert_eq!(paging, [Some(page), Some(3), Some(2), Some(5)], "{answer}");
        for (relation, target) in
            [("self", page), ("first", 1), ("prev", page - 1), ("next", page + 1), ("last", 3)]
        {
            let link = answer.link(relation);
            let expected = relations.contains(&relation);
            let expected = expected.then(|| query_of(&format!("page={target}&page_size=2")));
            let found = link.as_ref().map(|link| link_query(FILES, link));
            assert_eq!(found, expected, "{relation} of {answer}");
            let has_cursor = link.is_some_and(|link| parameter(&link, "cursor").is_some());
            let must_have = expected.is_some() && ["prev", "next"].contains(&relation);
            assert_eq!(has_cursor, must_have, "{relation} of {answer}");
        }
    }
}

fn a_page_has_25_items_unless_asked_otherwise(service: &Service) {
    (0..30).for_each(|n| drop(service.create(FILES, &format!(r#"{{"n":{n}}}"#))));
    for (query, items, page_size) in
        [("", 25, 25), ("page=2", 5, 25), ("page_size=1", 1, 1), ("page_size=250", 30, 250)]
    {
        let answer = service.list(FILES, query);
        let found = (answer.embedded("files").len(), answer.value()["page_size"].as_u64());
        assert_eq!(found, (items, Some(page_size)), "{answer}");
    }
}

fn an_invalid_page_is_refused(service: &Service) {
    service.create(FILES, "{}");
    let get = |query: &str| service.get(&format!("{FILES}?{query}"));
    for (parameter, values) in [
        ("page", &["0", "-1", "one", "1.5", "", "1&page=1", "%2B1", "18446744073709551616"][..]),
        ("page_size", &["0", "-5", "251", "all"]),
    ] {
        for value in values.iter().chain(&["99999999999999999999999999999999"]) {
            let refused = get(&format!("{parameter}={value}")).send();
            refused.refusing_query(&[&format!("`{parameter}`")]);
        }
    }
    for page in ["2", "1000000", "9223372036854775807", "9223372036854775807&page_size=250"] {
        get(&format!("page={page}")).expect(409);
    }
}

fn the_nested_library_is_paged_on_its_own(service: &Service) {
    let library = format!("{}/lib", service.create("/v1/proposals", PROPOSAL).path);
    service.create("/lib", "{}");
    let created = [(); 3].map(|()| service.create(&library, "{}").id);
    let answer = service.list(&library, "page=2&page_size=2");
    assert_eq!(answer.embedded_ids("lib"), created[2..], "{answer}");
    assert_eq!(answer.value()["total_items"], 3);
    let previous = answer.link("prev").map(|link| link_query(&library, &link));
    assert_eq!(previous, Some(query_of("page=1&page_size=2")));
}

#[test]
fn links_are_under_the_base_url_for_every_host() {
    let base_url = "https://api.example.org/rdi";
    let arguments = ["--allow-anonymous", "--base-url", base_url, "--allowed-host", "evil.example"];
    let service = Service::start_with(Store::Sqlite, &arguments);
    let request = service.post("/v1/proposals").header("host", "evil.example").json(PROPOSAL);
    let created = request.expect(201);
    let path = format!("/v1/proposals/{}", created.id());
    for target in [path.as_str(), "/v1/proposals", "/"] {
        let request = service.get(target).header("host", "evil.example");
        let answer = request.header("x-forwarded-host", "evil.example").expect(200);
        assert!(!answer.text().contains("evil.example"), "{answer}");
    }
    for link in [created.link("self").unwrap(), created.needed_header("location").to_owned()] {
        let resolved = url::Url::parse(base_url).unwrap().join(&link).unwrap();
        assert_eq!(resolved.as_str(), format!("{base_url}{path}"), "{created}");
    }
    assert_eq!(service.read("/openapi.json").value()["servers"][0]["url"], base_url);
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

fn items_are_embedded_in_full_under_the_groups_name(service: &Service) {
    for (collection, name) in COLLECTIONS {
        for query in ["", "?page=1", "?page=9"] {
            let empty = service.read(&format!("{collection}{query}"));
            assert!(empty.embedded(name).is_empty(), "{empty}");
            assert_eq!(empty.value()["total_items"], 0, "{empty}");
        }
    }
    for (collection, name) in COLLECTIONS {
        let item = service.create(collection, PROPOSAL);
        let listed = service.read(collection).embedded(name);
        assert_eq!(listed, [service.read(&item.path).value()], "{collection}");
    }
}
