//! `count_by`: how many of the selected items have each value of a member.

use serde_json::{Value, json};
use tests::{Answer, Service, Store, on_each_store};

use crate::PROPOSAL;
use crate::queries::{FILES, ODD_NAMES, encoded, found, numbers, store_values};

/// The counts of a page, as `value count|… + rest, absent`.
#[track_caller]
fn counts(answer: &Answer) -> String {
    let counts = answer.embedded("counts");
    let counts = counts.iter().map(|count| format!("{} {}", count["value"], count["count"]));
    let others = &answer.value()["_meta"]["counts"];
    let counts = counts.collect::<Vec<_>>().join("|");
    format!("{counts} + {}, {}", others["rest"], others["absent"])
}

#[test]
fn counts_stand_beside_the_items() {
    on_each_store(|service| {
        store_values(service, &["\"a\"", "7", "\"a\"", "-", "true", "null", "[\"a\"]", "7.50"]);
        let answer = service.list(FILES, "count_by=x&page_size=2");
        assert_eq!(numbers(&answer), "0 1");
        let expected = json!([
            { "value": "a", "count": 2 }, { "value": 7, "count": 1 }, { "value": 7.50, "count": 1 },
            { "value": ["a"], "count": 1 }, { "value": true, "count": 1 },
        ]);
        assert_eq!(Value::from(answer.embedded("counts")), expected, "{answer}");
        assert!(answer.text().contains(r#"{"value":7.50,"count":1}"#), "as it is stored: {answer}");
        assert_eq!(answer.value()["_meta"], json!({ "counts": { "rest": 0, "absent": 2 } }));
        assert_eq!(answer.value()["total_items"], 8);
        let plain = service.list(FILES, "");
        assert!(plain.value()["_embedded"].get("counts").is_none(), "{plain}");
        assert!(plain.value().get("_meta").is_none(), "{plain}");
        let empty = service.list("/v1/statuses", "count_by=x");
        assert_eq!(counts(&empty), " + 0, 0");
    });
}

#[test]
fn counts_are_of_the_selection_on_every_page() {
    on_each_store(|service| {
        store_values(service, &["1", "2", "1", "3", "2", "1"]);
        for (query, numbers, expected) in [
            ("sort=-n&page_size=2", "5 4", "1 3|2 2|3 1 + 0, 0"),
            ("filter[n][gte]=2&page_size=2&page=2", "4 5", "1 2|2 1|3 1 + 0, 0"),
            ("filter[x]=1&fields=n", "0 2 5", "1 3 + 0, 0"),
            ("filter[x]=9", "", " + 0, 0"),
            ("total=none&page_size=1", "0", "1 3|2 2|3 1 + 0, 0"),
            (
                "filter[updated_at][gt]=2026-01-01&sort=updated_at&page_size=1",
                "0",
                "1 3|2 2|3 1 + 0, 0",
            ),
        ] {
            let answer = service.list(FILES, &format!("{query}&count_by=x"));
            assert_eq!(crate::queries::numbers(&answer), numbers, "{query}");
            assert_eq!(counts(&answer), expected, "{query}");
        }
        let first = service.list(FILES, "count_by=x&page_size=4");
        let next = service.get(&first.link("next").unwrap()).send().expect(200);
        assert_eq!((numbers(&next).as_str(), counts(&next)), ("4 5", counts(&first)));
        let other = next.link("prev").unwrap().replace("count_by=x", "count_by=n");
        assert_eq!(counts(&service.get(&other).send().expect(200)).matches('|').count(), 5);
    });
}

#[test]
fn counts_of_a_search_are_of_what_it_finds() {
    on_each_store(|service| {
        for (n, text) in ["rice", "rice and wheat", "wheat", "ricefield"].iter().enumerate() {
            service.create(FILES, &format!(r#"{{"n":{n},"text":"{text}","x":{}}}"#, n % 2));
        }
        for (q, expected) in [("rice", "0 1|1 1"), ("wheat", "0 1|1 1"), ("ric*", "1 2|0 1")] {
            let answer = service.list(FILES, &format!("q={q}&count_by=x&page_size=1"));
            assert_eq!(counts(&answer), format!("{expected} + 0, 0"), "{q}");
        }
    });
}

#[test]
fn fields_of_proposals_and_the_library_of_one_are_counted() {
    on_each_store(|service| {
        let body = |kind: &str| {
            format!(r#"{{"proposal_type":{kind},"project_title":"x","research_type":"Basic"}}"#)
        };
        let [first, ..] =
            ["7", "\"7\"", "7"].map(|kind| service.create("/v1/proposals", &body(kind)));
        service.create("/v1/proposals", PROPOSAL);
        let by = |name: &str| counts(&service.list("/v1/proposals", &format!("count_by={name}")));
        assert_eq!(by("proposal_type"), "7 2|\"7\" 1|\"R&D Project\" 1 + 0, 0");
        assert_eq!(by("research_type"), "\"Basic\" 3 + 0, 1");
        let library = format!("{}/lib", first.path);
        service.create(&library, r#"{"x":1}"#);
        service.create("/lib", r#"{"x":2}"#);
        assert_eq!(counts(&service.list(&library, "count_by=x")), "1 1 + 0, 0");
        assert_eq!(counts(&service.list("/lib", "count_by=x&embed=proposal")), "1 1|2 1 + 0, 0");
    });
}

#[test]
fn an_unchanged_page_is_304_and_a_changed_one_has_new_counts() {
    on_each_store(|service| {
        let items = store_values(service, &["1", "2"]);
        let page = service.list(FILES, "count_by=x");
        let tag = page.etag();
        let known = || {
            let page = service.get(&format!("{FILES}?count_by=x"));
            page.header("if-none-match", tag.clone()).send()
        };
        known().expect(304);
        assert_eq!(counts(&service.list(FILES, "count_by=n")), "0 1|1 1 + 0, 0");
        service.patch(&items[0].path).json(r#"{"x":2}"#).send().expect(200);
        assert_eq!(counts(&known().expect(200)), "2 2 + 0, 0");
        service.delete(&items[1].path).send().expect(204);
        assert_eq!(counts(&service.list(FILES, "count_by=x")), "2 1 + 0, 0");
    });
}

#[test]
fn members_of_any_name_are_counted() {
    on_each_store(|service| {
        let members: Vec<_> =
            ODD_NAMES.iter().map(|name| format!("{}:7", Value::from(*name))).collect();
        service.create(FILES, &format!("{{{}}}", members.join(",")));
        for name in ODD_NAMES {
            let answer = service.list(FILES, &format!("count_by={}", encoded(name)));
            assert_eq!(counts(&answer), "7 1 + 0, 0", "{name:?}");
        }
        let answer = service.list(FILES, &format!("count_by={}", encoded("x') FROM items; --")));
        assert_eq!(counts(&answer), " + 0, 1");
    });
}

#[test]
fn long_and_rare_values_are_the_rest() {
    on_each_store(|service| {
        let huge = format!("\"{}\"", "x".repeat(1_000_000));
        let values: Vec<_> = (0..105).map(|n| n.to_string()).chain([huge]).collect();
        let elements: Vec<_> = values.iter().map(|value| format!(r#"{{"x":{value}}}"#)).collect();
        let body = format!("[{}]", elements.join(","));
        service.put("/v1/cashprogram").json(body).send().expect(200);
        let page = service.list("/v1/cashprogram", "count_by=x&fields=id&page_size=250");
        assert_eq!(page.embedded("counts").len(), 100);
        assert_eq!(page.value()["_meta"]["counts"], json!({ "rest": 6, "absent": 0 }));
        assert!(page.text().len() < 100_000, "{} bytes", page.text().len());
    });
}

#[test]
fn what_was_read_with_counts_can_be_put_back() {
    on_each_store(|service| {
        (0..3).for_each(|n| drop(service.create("/v1/cashprogram", &format!(r#"{{"n":{n}}}"#))));
        let page = service.list("/v1/cashprogram", "count_by=n");
        let back = service.put("/v1/cashprogram").header("if-match", page.etag());
        let back = back.json(page.text().to_owned()).send().expect(200);
        assert_eq!((numbers(&back).as_str(), back.value().get("_meta")), ("0 1 2", None));
    });
}

#[test]
fn what_is_no_member_is_refused() {
    let service = Service::start(Store::Sqlite);
    for (path, query, mentioned) in [
        (FILES, "count_by=", &["count_by"][..]),
        (FILES, "count_by=id", &["count_by", "`id`"]),
        (FILES, "count_by=created_at", &["count_by", "member"]),
        (FILES, "count_by=x&count_by=y", &["count_by"]),
        (FILES, "countby=x", &["`count_by`"]),
        (FILES, "count_by=x&as_of=2026-01-01T00:00:00Z", &["`count_by`", "as_of"]),
        (FILES, "count_by=%00", &["count_by"]),
        ("/v1/proposals", "count_by=research_typ", &["`research_type`"]),
        ("/v1/proposals", "count_by=research_type,program_id", &["count_by"]),
    ] {
        service.get(&format!("{path}?{query}")).send().refusing_query(mentioned);
    }
    let long = format!("count_by={}", "x".repeat(1_001));
    service.get(&format!("{FILES}?{long}")).send().refusing_query(&["count_by"]);
    let item = service.create(FILES, "{}");
    service.get(&format!("{}?count_by=x", item.path)).send().refusing_query(&["count_by"]);
    service.get(&format!("{FILES}?count_by=x&page=2")).send().expect(409);
    assert_eq!(found(&service, "count_by=n&filter[n]=1"), "");
}
