//! `count_by`: how many of the selected items have each value of a member.

use serde_json::{Value, json};
use tests::{Answer, Service};

use crate::PROPOSAL;
use crate::queries::{FILES, ODD_NAMES, encoded, found, numbers, store_values};

tests::cases![
    counts_come_with_the_items,
    counts_are_of_the_selection_on_every_page,
    counts_of_a_search_are_of_what_it_finds,
    fields_of_proposals_and_the_library_of_one_are_counted,
    an_unchanged_page_is_304_and_a_changed_one_has_new_counts,
    members_of_any_name_are_counted,
    long_and_rare_values_are_the_rest,
    invalid_members_are_refused,
];

/// The counts of a page, as `value count|… + rest, absent`.
#[track_caller]
fn counts(answer: &Answer) -> String {
    let counts = answer.embedded("counts");
    let counts = counts.iter().map(|count| format!("{} {}", count["value"], count["count"]));
    let others = &answer.value()["_meta"]["counts"];
    let counts = counts.collect::<Vec<_>>().join("|");
    format!("{counts} + {}, {}", others["rest"], others["absent"])
}

fn counts_come_with_the_items(service: &Service) {
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
}

fn counts_are_of_the_selection_on_every_page(service: &Service) {
    store_values(service, &["1", "2", "1", "3", "2", "1"]);
    let all = "1 3|2 2|3 1 + 0, 0";
    for (query, found, expected) in [
        ("sort=-n&page_size=2", "5 4", all),
        ("filter[n][gte]=2&page_size=2&page=2", "4 5", "1 2|2 1|3 1 + 0, 0"),
        ("filter[x]=1&fields=n", "0 2 5", "1 3 + 0, 0"),
        ("filter[x]=9", "", " + 0, 0"),
        ("total=none&page_size=1", "0", all),
        ("filter[updated_at][gt]=2026-01-01&sort=updated_at&page_size=1", "0", all),
    ] {
        let answer = service.list(FILES, &format!("{query}&count_by=x"));
        assert_eq!((&*numbers(&answer), &*counts(&answer)), (found, expected), "{query}");
    }
    let first = service.list(FILES, "count_by=x&page_size=4");
    let next = service.read(&first.link("next").expect("a next page"));
    assert_eq!((&*numbers(&next), counts(&next)), ("4 5", counts(&first)));
    let other = next.link("prev").expect("a page before").replace("count_by=x", "count_by=n");
    assert_eq!(counts(&service.read(&other)).matches('|').count(), 5);
}

fn counts_of_a_search_are_of_what_it_finds(service: &Service) {
    for (n, text) in ["rice", "rice and wheat", "wheat", "ricefield"].iter().enumerate() {
        service.create(FILES, &format!(r#"{{"n":{n},"text":"{text}","x":{}}}"#, n % 2));
    }
    for (q, expected) in [("rice", "0 1|1 1"), ("wheat", "0 1|1 1"), ("ric*", "1 2|0 1")] {
        let answer = service.list(FILES, &format!("q={q}&count_by=x&page_size=1"));
        assert_eq!(counts(&answer), format!("{expected} + 0, 0"), "{q}");
    }
}

fn fields_of_proposals_and_the_library_of_one_are_counted(service: &Service) {
    let body = |kind: &str| {
        format!(r#"{{"proposal_type":{kind},"project_title":"x","research_type":"Basic"}}"#)
    };
    let [first, ..] = ["7", "\"7\"", "7"].map(|kind| service.create("/v1/proposals", &body(kind)));
    service.create("/v1/proposals", PROPOSAL);
    let by = |name: &str| counts(&service.list("/v1/proposals", &format!("count_by={name}")));
    assert_eq!(by("proposal_type"), "7 2|\"7\" 1|\"R&D Project\" 1 + 0, 0");
    assert_eq!(by("research_type"), "\"Basic\" 3 + 0, 1");
    let library = format!("{}/lib", first.path);
    service.create(&library, r#"{"x":1}"#);
    service.create("/lib", r#"{"x":2}"#);
    assert_eq!(counts(&service.list(&library, "count_by=x")), "1 1 + 0, 0");
    assert_eq!(counts(&service.list("/lib", "count_by=x&embed=proposal")), "1 1|2 1 + 0, 0");
}

fn an_unchanged_page_is_304_and_a_changed_one_has_new_counts(service: &Service) {
    let items = store_values(service, &["1", "2"]);
    let by = |name: &str| service.list(FILES, &format!("count_by={name}"));
    let tag = by("x").etag();
    let known = || service.get(&format!("{FILES}?count_by=x")).header("if-none-match", &tag);
    known().expect(304);
    assert_eq!(counts(&by("n")), "0 1|1 1 + 0, 0");
    service.change(&items[0].path, r#"{"x":2}"#);
    assert_eq!(counts(&known().expect(200)), "2 2 + 0, 0");
    service.remove(&items[1].path);
    assert_eq!(counts(&by("x")), "2 1 + 0, 0");
}

fn members_of_any_name_are_counted(service: &Service) {
    let members: Vec<_> =
        ODD_NAMES.iter().map(|name| format!("{}:7", Value::from(*name))).collect();
    service.create(FILES, &format!("{{{}}}", members.join(",")));
    for name in ODD_NAMES {
        let answer = service.list(FILES, &format!("count_by={}", encoded(name)));
        assert_eq!(counts(&answer), "7 1 + 0, 0", "{name:?}");
    }
    let answer = service.list(FILES, &format!("count_by={}", encoded("x') FROM items; --")));
    assert_eq!(counts(&answer), " + 0, 1");
}

fn long_and_rare_values_are_the_rest(service: &Service) {
    let cash = "/v1/cashprogram";
    let huge = format!("\"{}\"", "x".repeat(1_000_000));
    let values = (0..105).map(|n| n.to_string()).chain([huge]);
    let elements: Vec<_> = values.map(|value| format!(r#"{{"x":{value}}}"#)).collect();
    service.replace(cash, format!("[{}]", elements.join(",")));
    let page = service.list(cash, "count_by=x&fields=id&page_size=250");
    assert_eq!(page.embedded("counts").len(), 100);
    assert_eq!(page.value()["_meta"]["counts"], json!({ "rest": 6, "absent": 0 }));
    assert!(page.text().len() < 100_000, "{} bytes", page.text().len());
    // A page that was read with counts can be put back.
    service.replace(cash, r#"[{"n":0},{"n":1},{"n":2}]"#);
    let page = service.list(cash, "count_by=n");
    let back = service.put(cash).header("if-match", page.etag()).json(page.text()).expect(200);
    assert_eq!((&*numbers(&back), back.value().get("_meta")), ("0 1 2", None));
}

fn invalid_members_are_refused(service: &Service) {
    let item = service.create(FILES, "{}").path;
    let long = format!("count_by={}", "x".repeat(1_001));
    for (path, query, mentioned) in [
        (FILES, "count_by=", &["count_by"][..]),
        (FILES, "count_by=id", &["count_by", "`id`"]),
        (FILES, "count_by=created_at", &["count_by", "member"]),
        (FILES, "count_by=x&count_by=y", &["count_by"]),
        (FILES, "countby=x", &["`count_by`"]),
        (FILES, "count_by=x&as_of=2026-01-01T00:00:00Z", &["`count_by`", "as_of"]),
        (FILES, "count_by=%00", &["count_by"]),
        (FILES, &long, &["count_by"]),
        (&item, "count_by=x", &["count_by"]),
        ("/v1/proposals", "count_by=research_typ", &["`research_type`"]),
        ("/v1/proposals", "count_by=research_type,program_id", &["count_by"]),
    ] {
        service.get(&format!("{path}?{query}")).send().refusing_query(mentioned);
    }
    service.get(&format!("{FILES}?count_by=x&page=2")).expect(409);
    assert_eq!(found(service, "count_by=n&filter[n]=1"), "");
}
