//! `Link` (RFC 8288): from page to page by headers alone.

use std::collections::BTreeMap;

use tests::{Answer, Service};

use crate::queries::{FILES, encoded, store_values};

tests::cases![
    the_header_has_the_links_of_the_page,
    other_pages_have_the_header_too,
    a_target_keeps_the_syntax_of_a_url,
    a_header_stays_short_and_ends_no_walk_too_soon,
];

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
        let page = service.read(&target);
        (pages, target) = match (pages + 1, targets(&page).remove("next")) {
            (pages, Some(next)) => (pages, next),
            (pages, None) => return pages,
        };
        assert!(pages < 100, "the walk from {start} has no end");
    }
}

fn the_header_has_the_links_of_the_page(service: &Service) {
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
    let head = service.request("HEAD", &format!("{FILES}?page_size=2")).expect(200);
    assert!(targets(&head).contains_key("next"), "{head}");
    let page = service.list(FILES, "page_size=2");
    let known = service.get(&format!("{FILES}?page_size=2"));
    let known = known.header("if-none-match", page.etag()).expect(304);
    assert_eq!(known.header("link"), None, "{known}");
}

fn other_pages_have_the_header_too(service: &Service) {
    let item = service.create("/v1/cashprogram", r#"{"n":0}"#);
    for n in 1..5 {
        service.replace(&item.path, format!(r#"{{"n":{n}}}"#));
    }
    let versions = format!("{}/versions", item.path);
    agree(&service.list(&versions, "page_size=2"));
    assert_eq!(pages(service, &format!("{versions}?page_size=2")), 3);
    let elements: Vec<_> = (0..30).map(|n| format!(r#"{{"n":{n}}}"#)).collect();
    let replaced = service.replace("/v1/cashprogram", format!("[{}]", elements.join(",")));
    agree(&replaced);
    assert!(targets(&replaced).contains_key("next"), "{replaced}");
    agree(&service.list("/v1/changes", "page_size=2"));
    let meta = service.list("/v1/cashprogram", "page=2").each("_meta").remove(0);
    let time = meta["updated_at"].as_str().expect("a time");
    agree(&service.list("/v1/cashprogram", &format!("as_of={time}&page_size=2")));
    let gone = service.get(&item.path).send();
    assert_eq!(gone.header("link"), None, "not a page: {gone}");
}

fn a_target_keeps_the_syntax_of_a_url(service: &Service) {
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
            let shown = service.read(&target);
            assert_eq!(shown.link("self").map(|own| own.len() >= raw.len()), Some(true));
            let is_url = |byte: u8| byte.is_ascii_graphic() && !b"<>\"\\^`{|}".contains(&byte);
            assert!(target.bytes().all(is_url), "{relation} {target}");
        }
    }
}

fn a_header_stays_short_and_ends_no_walk_too_soon(service: &Service) {
    store_values(service, &["1", "2", "3", "4"]);
    let filter = format!("filter[x][ne]={}&", "y".repeat(499));
    for filters in [1, 2, 4, 6, 11] {
        let page = service.list(FILES, &format!("{}page_size=1&page=2", filter.repeat(filters)));
        let header = page.header("link").unwrap_or_default();
        assert!(header.len() <= 3_072, "{} bytes", header.len());
        assert!(header.is_empty() || targets(&page).contains_key("next"), "{page}");
        assert!(page.link("next").is_some(), "{page}");
    }
}
