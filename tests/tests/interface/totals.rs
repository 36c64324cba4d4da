//! How many items there are: exactly, up to 10,000 matches, or not at all.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tests::{Answer, Service, on_each_store};

const COLLECTION: &str = "/v1/cashprogram";

/// One more than matches are counted.
const MANY: usize = 10_001;

fn store_many(service: &Service) {
    let mut body = "[".to_owned();
    for n in 0..MANY {
        let comma = if n > 0 { "," } else { "" };
        write!(body, r#"{comma}{{"n":{n},"x":"a","text":"rice"}}"#).expect("a string takes all");
    }
    let answer = service.put(COLLECTION).json(body + "]").send().expect(200);
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

#[test]
fn matches_are_counted_up_to_ten_thousand() {
    on_each_store(|service| {
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
    });
}

#[test]
fn a_walk_goes_on_beyond_what_is_counted() {
    on_each_store(|service| {
        store_many(service);
        for query in
            ["filter[x]=a&sort=n", "filter[x]=a&sort=-n&total=none", "sort=n", "filter[x]=a"]
        {
            let answer = service.list(COLLECTION, &format!("{query}&page_size=250&page=40"));
            assert_eq!(answer.items().len(), 250, "{query}");
            let next = answer.link("next").unwrap_or_else(|| panic!("a page after {query}"));
            let last = service.get(&next).send().expect(200);
            assert_eq!(
                (last.items().len(), last.value()["page"].as_u64(), last.link("next")),
                (1, Some(41), None),
                "{query}"
            );
            assert_eq!(
                last.items(),
                service.list(COLLECTION, &format!("{query}&page_size=250&page=41")).items(),
                "{query}"
            );
            let before = service.get(&last.link("prev").unwrap()).send().expect(200);
            assert_eq!(before.items(), answer.items(), "{query}");
            service.get(&format!("{COLLECTION}?{query}&page_size=250&page=42")).send().expect(409);
        }
    });
}

#[test]
fn the_whole_of_a_large_selection_is_walked() {
    on_each_store(|service| {
        store_many(service);
        let mut expected = (0..MANY as u64).rev();
        let pages = crate::queries::walk(
            service,
            &format!("{COLLECTION}?filter[x]=a&sort=-n&page_size=250&fields=n"),
            "next",
            |_| {},
        );
        assert_eq!(pages.len(), 41);
        assert!(
            pages.iter().flatten().all(|item| item["n"].as_u64() == expected.next())
                && expected.next().is_none()
        );
    });
}

#[test]
fn what_is_not_counted_is_left_out() {
    on_each_store(|service| {
        for n in 0..5 {
            service.create(COLLECTION, &format!(r#"{{"n":{n}}}"#));
        }
        for query in [
            "total=none&page_size=2",
            "total=none&page_size=2&filter[n][gte]=0",
            "total=none&page_size=2&sort=-n",
        ] {
            let first = service.list(COLLECTION, query);
            assert_eq!(totals(&first), not_counted(), "{first}");
            assert!(first.link("first").is_some() && first.link("next").is_some(), "{first}");
            let last = service.list(COLLECTION, &format!("{query}&page=3"));
            assert_eq!((last.items().len(), last.link("next")), (1, None), "{last}");
            service.get(&format!("{COLLECTION}?{query}&page=4")).send().expect(409);
        }
        for (query, expected) in [
            ("total=exact&page_size=2", exactly(5, 3)),
            ("filter[n][lt]=3&page_size=2", exactly(3, 2)),
        ] {
            assert_eq!(totals(&service.list(COLLECTION, query)), expected, "{query}");
        }
        assert_eq!(totals(&service.list("/v1/files", "total=none")), not_counted());
        for total in [
            "total=",
            "total=None",
            "total=approximate",
            "total=none,exact",
            "total=none&total=none",
        ] {
            service.get(&format!("{COLLECTION}?{total}")).send().refusing_query(&["`total`"]);
        }
    });
}

#[test]
fn totals_follow_every_write() {
    on_each_store(|service| {
        let total = |query: &str| service.list(COLLECTION, query).value()["total_items"].as_u64();
        let items: Vec<_> =
            (0..4).map(|n| service.create(COLLECTION, &format!(r#"{{"n":{n}}}"#))).collect();
        assert_eq!((total(""), total("filter[n][gt]=0")), (Some(4), Some(3)));
        service.put(&items[3].path).json(r#"{"n":-1}"#).send().expect(200);
        assert_eq!((total(""), total("filter[n][gt]=0")), (Some(4), Some(2)));
        service.delete(&items[1].path).send().expect(204);
        assert_eq!((total(""), total("filter[n][gt]=0")), (Some(3), Some(1)));
        service.put(COLLECTION).json(r#"[{"n":7},{"n":0}]"#).send().expect(200);
        assert_eq!((total(""), total("filter[n][gt]=0")), (Some(2), Some(1)));
    });
}
