//! Common parts of the tests of query parameters: numbered items, and ways to find them.

use serde_json::Value;
use tests::{Answer, Item, Service};

/// Where the items are, unless a test is about another collection.
pub const FILES: &str = "/v1/files";

/// Names that a member of an open group may have.
pub const ODD_NAMES: &[&str] = &[
    "a b", "a.b", "a..b", "$", "$.x", "$[0]", "a[b]", "[", "]", "][", "a]b[", "₱ñ", "🐟", "'",
    "\"", "a\"b", "a\\b", "\\", "%", "%5B", "&", "=", "+", "-x", "a,b", "?", "#", "/", "*", "_x",
    "filter", "filter[", "page", "eq", "exists", "0", "-1", "NULL", "\n", "\u{1}", "';DROP--", "{",
    "{}", "e\u{301}", "é", "ORDER BY", "null", "true", "$1", "?1", ":a", "n'n",
];

/// Each collection path; of the nested library, that of a proposal made for it.
pub fn every_collection(service: &Service) -> Vec<String> {
    let proposal = service.create("/v1/proposals", crate::PROPOSAL);
    let top_level = crate::collections::COLLECTIONS.iter().map(|(path, _)| (*path).to_owned());
    top_level.chain([format!("{}/lib", proposal.path)]).collect()
}

/// Stores an item with the number `n` for each value of the member `x`; `-` is none.
pub fn store_values(service: &Service, values: &[&str]) -> Vec<Item> {
    let bodies = values.iter().enumerate().map(|(n, value)| match *value {
        "-" => format!(r#"{{"n":{n}}}"#),
        value => format!(r#"{{"x":{value},"n":{n}}}"#),
    });
    bodies.map(|body| service.create(FILES, &body)).collect()
}

/// The numbers `n` of the files that a query finds, in order: `0 3 4`.
#[track_caller]
pub fn found(service: &Service, query: &str) -> String {
    numbers(&service.list(FILES, query))
}

/// The numbers `n` of a page's items, in order.
#[track_caller]
pub fn numbers(answer: &Answer) -> String {
    answer.each("n").iter().map(Value::to_string).collect::<Vec<_>>().join(" ")
}

/// A string as part of a query.
pub fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// The parameter of a link, decoded.
pub fn parameter(link: &str, name: &str) -> Option<String> {
    let query = link.split_once('?')?.1;
    url::form_urlencoded::parse(query.as_bytes())
        .find(|(own, _)| own == name)
        .map(|(_, value)| value.into_owned())
}

/// The items of a page and of all pages that a relation leads to from there, with a chance to do
/// something between two.
#[track_caller]
pub fn walk(
    service: &Service,
    start: &str,
    relation: &str,
    mut between: impl FnMut(&Answer),
) -> Vec<Vec<Value>> {
    let mut target = Some(start.to_owned());
    let mut pages = Vec::new();
    while let Some(page) = target {
        assert!(pages.len() < 2_000, "the walk from {start} has no end");
        let answer = service.read(&page);
        between(&answer);
        pages.push(answer.items());
        target = answer.link(relation);
    }
    pages
}
