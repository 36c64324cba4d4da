//! `Link` (RFC 8288): from page to page by headers alone.

use std::collections::BTreeMap;

use tests::{Answer, Service, on_each_store};

use crate::queries::{FILES, encoded, store_values};

/// The targets of the header, by relation.
fn targets(answer: &Answer) -> BTreeMap<String, String> {
    let links = answer.header("link").unwrap_or_default().split(", <");
    let links = links.filter(|link| !link.is_empty()).map(|link| {
        let (url, relation) = link.split_once(">; rel=\"").expect("a target and a relation");
        let relation = relation.strip_suffix('"').expect("a quoted relation");
        (relation.to_owned(), answer.path_of(url.trim_start_matches('<')))
    });
    links.collect()
}

/// Asserts that the header has the links of the body.
fn agree(answer: &Answer) {
    let relations = ["next", "prev", "first", "last"];
    let linked = relations.iter().filter_map(|name| Some(((*name).to_owned(), answer.link(name)?)));
    assert_eq!(targets(answer), linked.collect(), "{answer}");
}

/// How many pages there are when only headers are followed.
fn pages(service: &Service, start: &str) -> usize {
    let (mut target, mut pages) = (start.to_owned(), 0);
    loop {
        let page = service.get(&target).send().expect(200);
        (pages, target) = match (pages + 1, targets(&page).remove("next")) {
            (pages, Some(next)) => (pages, next),
            (pages, None) => return pages,
        };
        assert!(pages < 100, "the walk from {start} has no end");
    }
}

#[test]
fn the_header_has_the_links_of_the_page() {
    on_each_store(|service| {
        store_values(service, &["1", "2", "3", "4", "5"]);
        for query in [
            "page_size=2",
            "page_size=2&page=2",
            "page_size=2&page=3",
            "page_size=2&sort=-x",
            "page_size=2&filter[x][gte]=2&sort=x",
            "page_size=2&total=none",
            "filter[x]=7",
            "",
        ] {
            agree(&service.list(FILES, query));
        }
        assert_eq!(service.list("/v1/statuses", "").header("link"), None, "an empty collection");
        assert_eq!(pages(service, &format!("{FILES}?page_size=2&sort=-x")), 3);
        let head = service.request("HEAD", &format!("{FILES}?page_size=2")).send().expect(200);
        assert!(targets(&head).contains_key("next"), "{head}");
        let page = service.list(FILES, "page_size=2");
        let known = service.get(&format!("{FILES}?page_size=2"));
        let known = known.header("if-none-match", page.etag()).send().expect(304);
        assert_eq!(known.header("link"), None, "{known}");
    });
}

#[test]
fn versions_the_past_changes_and_a_replaced_collection_have_it_too() {
    on_each_store(|service| {
        let item = service.create("/v1/cashprogram", r#"{"n":0}"#);
        for n in 1..5 {
            service.put(&item.path).json(format!(r#"{{"n":{n}}}"#)).send().expect(200);
        }
        let versions = service.get(&format!("{}/versions?page_size=2", item.path)).send();
        agree(&versions.expect(200));
        assert_eq!(pages(service, &format!("{}/versions?page_size=2", item.path)), 3);
        let elements: Vec<_> = (0..30).map(|n| format!(r#"{{"n":{n}}}"#)).collect();
        let body = format!("[{}]", elements.join(","));
        let replaced = service.put("/v1/cashprogram").json(body).send().expect(200);
        agree(&replaced);
        assert!(targets(&replaced).contains_key("next"), "{replaced}");
        let changes = service.get("/v1/changes?page_size=2").send().expect(200);
        agree(&changes);
        let time = service.get(&service.list("/v1/cashprogram", "").link("next").unwrap()).send();
        let time = time.items()[0]["_meta"]["updated_at"].as_str().unwrap().to_owned();
        agree(&service.list("/v1/cashprogram", &format!("as_of={time}&page_size=2")));
        let item = service.get(&item.path).send();
        assert_eq!(item.header("link"), None, "what is no page: {item}");
    });
}

#[test]
fn what_a_client_sent_breaks_out_of_no_target() {
    on_each_store(|service| {
        for n in 0..3 {
            service.create(FILES, &format!(r#"{{"n":{n},"a>b\"c":"<;,>"}}"#));
        }
        for value in ["<;,>", "\r\nX-Injected: 1", ">; rel=\"next\", <http://evil.example/"] {
            let (name, value) = (encoded("a>b\"c"), encoded(value));
            let page = service.list(FILES, &format!("page_size=1&filter[{name}][ne]={value}"));
            assert_eq!(page.header("x-injected"), None, "{page}");
            agree(&page);
        }
        for raw in ["filter[x|y{z}^`][exists]=false&page_size=1", "q=a'b&total=none"] {
            for (relation, target) in targets(&service.list(FILES, raw)) {
                let shown = service.get(&target).send().expect(200);
                assert_eq!(shown.link("self").map(|own| own.len() >= raw.len()), Some(true));
                let is_url = |byte: u8| byte.is_ascii_graphic() && !b"<>\"\\^`{|}".contains(&byte);
                assert!(target.bytes().all(is_url), "{relation} {target}");
            }
        }
    });
}

#[test]
fn a_header_stays_short_and_never_ends_a_walk_too_soon() {
    on_each_store(|service| {
        store_values(service, &["1", "2", "3", "4"]);
        for length in [10, 600, 1_500, 2_500, 5_000] {
            let filters: Vec<_> =
                (0..=length / 500).map(|_| format!("filter[x][ne]={}", "y".repeat(499))).collect();
            let query = format!("{}&page_size=1&page=2", filters.join("&"));
            let page = service.list(FILES, &query);
            let header = page.header("link").unwrap_or_default();
            assert!(header.len() <= 3_072, "{} bytes", header.len());
            assert!(header.is_empty() || targets(&page).contains_key("next"), "{page}");
            assert!(page.link("next").is_some(), "{page}");
        }
    });
}
