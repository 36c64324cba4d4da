//! How many items there are: exactly, up to 10,000 matches, or not at all.

use serde_json::{Value, json};
use tests::{Answer, Service};

const COLLECTION: &str = "/v1/cashprogram";

/// One more than matches are counted.
const MANY: usize = 10_001;

fn store_many(service: &Service) {
    let items: Vec<_> =
        (0..MANY).map(|n| format!(r#"{{"n":{n},"x":"a","text":"rice"}}"#)).collect();
    let answer = service.replace(COLLECTION, format!("[{}]", items.join(",")));
    assert_eq!(answer.value()["total_items"], MANY, "{answer}");
}

/// The totals of a page: `total_items`, `page_count`, `_meta`, and whether there is a `last`
/// page.
fn totals(answer: &Answer) -> (Value, Value, Value, bool) {
    let value = answer.value();
    let member = |name: &str| value.get(name).cloned().unwrap_or(json!("left out"));
    (member("total_items"), member("page_count"), member("_meta"), answer.link("last").is_some())
}

fn exactly(items: usize, pages: usize) -> (Value, Value, Value, bool) {
    (json!(items), json!(pages), json!("left out"), items > 0)
}

fn at_least() -> (Value, Value, Value, bool) {
    (json!(10_000), json!("left out"), json!({"total": "at_least"}), false)
}

fn not_counted() -> (Value, Value, Value, bool) {
    (json!("left out"), json!("left out"), json!("left out"), false)
}

// The last case leaves many items.
tests::cases![
    uncounted_totals_are_left_out,
    totals_follow_every_write,
    matches_are_counted_up_to_ten_thousand,
];

fn matches_are_counted_up_to_ten_thousand(service: &Service) {
    store_many(service);
    for (query, expected) in [
        ("page_size=250", exactly(MANY, 41)),
        ("page_size=250&sort=-n", exactly(MANY, 41)),
        ("page_size=250&page=41", exactly(MANY, 41)),
        ("filter[n][lt]=9999", exactly(9_999, 400)),
        ("filter[n][lt]=10000", exactly(10_000, 400)),
        ("filter[n][lt]=10000&page_size=250&page=40", exactly(10_000, 40)),
        ("filter[x]=a", at_least()),
        ("filter[x]=a&page=400", at_least()),
        ("filter[x]=a&sort=-n&fields=n", at_least()),
        ("filter[x]=a&total=exact", at_least()),
        ("q=rice&sort=id", at_least()),
        ("q=rice&filter[n][gte]=1", exactly(10_000, 400)),
        ("filter[x]=b", exactly(0, 0)),
        ("filter[x]=a&total=none", not_counted()),
        ("total=none", not_counted()),
    ] {
        let answer = service.list(COLLECTION, query);
        assert_eq!(totals(&answer), expected, "{query}");
    }
    a_walk_continues_beyond_the_counted_matches(service);
    let mut expected = (0..MANY as u64).rev();
    let start = format!("{COLLECTION}?filter[x]=a&sort=-n&page_size=250&fields=n");
    let pages = crate::queries::walk(service, &start, "next", |_| {});
    assert_eq!(pages.len(), 41);
    assert!(pages.iter().flatten().all(|item| item["n"].as_u64() == expected.next()));
    assert_eq!(expected.next(), None);
}

fn a_walk_continues_beyond_the_counted_matches(service: &Service) {
    for query in ["filter[x]=a&sort=n", "filter[x]=a&sort=-n&total=none", "sort=n", "filter[x]=a"] {
        let page = |page| format!("{COLLECTION}?{query}&page_size=250&page={page}");
        let answer = service.read(&page(40));
        assert_eq!(answer.items().len(), 250, "{query}");
        let next = answer.link("next").unwrap_or_else(|| panic!("a page after {query}"));
        let last = service.read(&next);
        let found = (last.items().len(), last.value()["page"].as_u64(), last.link("next"));
        assert_eq!(found, (1, Some(41), None), "{query}");
        assert_eq!(last.items(), service.read(&page(41)).items(), "{query}");
        let before = service.read(&last.link("prev").expect("a page before"));
        assert_eq!(before.items(), answer.items(), "{query}");
        service.get(&page(42)).expect(409);
    }
}

fn uncounted_totals_are_left_out(service: &Service) {
    service.replace(COLLECTION, r#"[{"n":0},{"n":1},{"n":2},{"n":3},{"n":4}]"#);
    for filter in ["", "&filter[n][gte]=0", "&sort=-n"] {
        let query = &format!("total=none&page_size=2{filter}");
        let first = service.list(COLLECTION, query);
        assert_eq!(totals(&first), not_counted(), "{first}");
        assert!(first.link("first").is_some() && first.link("next").is_some(), "{first}");
        let last = service.list(COLLECTION, &format!("{query}&page=3"));
        assert_eq!((last.items().len(), last.link("next")), (1, None), "{last}");
        service.get(&format!("{COLLECTION}?{query}&page=4")).expect(409);
    }
    for (query, expected) in
        [("total=exact&page_size=2", exactly(5, 3)), ("filter[n][lt]=3&page_size=2", exactly(3, 2))]
    {
        assert_eq!(totals(&service.list(COLLECTION, query)), expected, "{query}");
    }
    assert_eq!(totals(&service.list("/v1/files", "total=none")), not_counted());
    for total in
        ["total=", "total=None", "total=approximate", "total=none,exact", "total=none&total=none"]
    {
        service.get(&format!("{COLLECTION}?{total}")).send().refusing_query(&["`total`"]);
    }
}

fn totals_follow_every_write(service: &Service) {
    let total = |query| service.list(COLLECTION, query).value()["total_items"].clone();
    let are = |all: u64, positive: u64| {
        assert_eq!((total(""), total("filter[n][gt]=0")), (json!(all), json!(positive)));
    };
    let items: Vec<_> =
        (0..4).map(|n| service.create(COLLECTION, &format!(r#"{{"n":{n}}}"#))).collect();
    are(4, 3);
    service.replace(&items[3].path, r#"{"n":-1}"#);
    are(4, 2);
    service.remove(&items[1].path);
    are(3, 1);
    service.replace(COLLECTION, r#"[{"n":7},{"n":0}]"#);
    are(2, 1);
}
