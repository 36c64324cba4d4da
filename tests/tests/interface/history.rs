//! The past of items: every version of every group, what there was at a time, and what differs.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tests::{Answer, Item, Service};

use crate::queries::{every_collection, walk};
use crate::{PROPOSAL, UNKNOWN_ID};

/// A collection of each group, and two bodies it takes; the library of a proposal is made when it
/// is needed.
pub fn groups(service: &Service) -> Vec<(String, &'static str, &'static str)> {
    let proposal = r#"{"proposal_type":"x","project_title":"y","end_date":"2026-01-01"}"#;
    let of = |path: String| match &*path {
        "/v1/proposals" => (path, PROPOSAL, proposal),
        _ => (path, r#"{"a":1.50,"b":{"c":[1,2]}}"#, r#"{"a":2}"#),
    };
    every_collection(service).into_iter().map(of).collect()
}

pub fn version(service: &Service, item: &Item, number: u32) -> Answer {
    service.get(&format!("{}/versions/{number}", item.path)).send()
}

pub fn versions(service: &Service, item: &Item) -> Vec<String> {
    let listed = service.read(&format!("{}/versions", item.path)).embedded("versions");
    let short = |entry: &Value| format!("{} {}", entry["version"], text(&entry["kind"]));
    listed.iter().map(short).collect()
}

tests::cases![
    every_version_of_every_group_is_kept_beyond_its_removal,
    the_history_of_an_item_is_that_of_its_group_and_owner,
    versions_are_linked_as_rfc_5829_says,
    versions_are_listed_in_pages,
    an_item_is_shown_as_it_was_at_a_time,
    a_collection_is_shown_as_it_was_at_a_time,
    a_past_collection_is_walked_in_pages,
    the_library_is_404_before_its_proposal_exists,
    an_earlier_state_does_not_change_while_others_write,
    versions_are_compared,
];

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

/// When the last version of an item was made.
fn last_time(service: &Service, item: &Item) -> String {
    let listed = service.read(&format!("{}/versions?page_size=1", item.path));
    text(&listed.embedded("versions")[0]["time"]).to_owned()
}

fn every_version_of_every_group_is_kept_beyond_its_removal(service: &Service) {
    for (path, first, second) in groups(service) {
        let item = service.create(&path, first);
        service.replace(&item.path, second);
        let third = service.change(&item.path, r#"{"end_date":"2027-01-01"}"#);
        assert_eq!(versions(service, &item), ["3 patched", "2 replaced", "1 created"]);
        service.remove(&item.path);
        assert_eq!(versions(service, &item), ["4 deleted", "3 patched", "2 replaced", "1 created"]);
        version(service, &item, 1).expect(200).with_members(first);
        version(service, &item, 2).expect(200).with_members(second);
        assert_eq!(version(service, &item, 3).expect(200).members(), third.members());
        assert_eq!(version(service, &item, 4).expect(410).value()["code"], "version-gone");
        assert_eq!(version(service, &item, 5).expect(404).value()["code"], "version-not-found");
        for wrong in ["0", "-1", "+1", "01", "x", "9223372036854775808", "%00"] {
            service.get(&format!("{}/versions/{wrong}", item.path)).expect(404);
        }
        for of_nothing in ["versions", "versions/1", "versions/1/diff?from=1"] {
            service.get(&format!("{path}/{UNKNOWN_ID}/{of_nothing}")).expect(404);
        }
    }
}

fn the_history_of_an_item_is_that_of_its_group_and_owner(service: &Service) {
    let [one, other] = [(); 2].map(|()| service.create("/v1/proposals", PROPOSAL));
    let item = service.create(&format!("{}/lib", one.path), "{}");
    service.remove(&one.path);
    service.read(&format!("{}/versions/1", item.path));
    service.read(&format!("/lib/{}/versions/1", item.id));
    service.get(&format!("{}/lib/{}/versions/1", other.path, item.id)).expect(404);
    service.get(&format!("/v1/files/{}/versions", item.id)).expect(404);
}

fn versions_are_linked_as_rfc_5829_says(service: &Service) {
    let item = service.create("/v1/files", r#"{"n":1}"#);
    let shown = service.replace(&item.path, r#"{"n":2}"#);
    let at = |version: u32| format!("{}/versions/{version}", item.path);
    let history = format!("{}/versions", item.path);
    let [first, second] = [1, 2].map(|number| version(service, &item, number).expect(200));
    for (answer, relation, target) in [
        (&shown, "version-history", Some(history.clone())),
        (&shown, "latest-version", Some(item.path.clone())),
        (&shown, "predecessor-version", Some(at(1))),
        (&second, "self", Some(at(2))),
        (&second, "predecessor-version", Some(at(1))),
        (&second, "diff", Some(format!("{}/diff?from=1", at(2)))),
        (&first, "latest-version", Some(item.path.clone())),
        (&first, "predecessor-version", None),
    ] {
        assert_eq!(answer.link(relation), target, "{relation} of {answer}");
    }
    let meta = first.value()["_meta"].clone();
    assert_eq!((&meta["kind"], &meta["caller"]), (&json!("created"), &Value::Null));
    // The tag of an earlier version is not that of the item.
    service.put(&item.path).header("if-match", first.etag()).json("{}").expect(412);
    service.remove(&item.path);
    assert_eq!(version(service, &item, 1).expect(200).link("latest-version"), Some(at(2)));
    assert_eq!(service.read(&history).link("up"), None, "the item is deleted");
    service.post(&at(1)).expect(201);
    let restored = version(service, &item, 4).expect(200);
    assert_eq!(restored.link("predecessor-version"), Some(at(2)), "not the deletion");
}

fn versions_are_listed_in_pages(service: &Service) {
    let item = service.create("/v1/files", r#"{"n":1}"#);
    for number in 2..=7 {
        service.replace(&item.path, json!({ "n": number }).to_string());
    }
    let get = |query: &str| service.get(&format!("{}/versions?{query}", item.path));
    let page = get("page_size=3").expect(200).value();
    assert_eq!((&page["total_items"], &page["page_count"]), (&json!(7), &json!(3)));
    let start = format!("{}/versions?page_size=3", item.path);
    let pages = walk(service, &start, "next", |_| {});
    let seen: Vec<_> = pages.concat().iter().map(|entry| entry["version"].clone()).collect();
    assert_eq!(seen, [7, 6, 5, 4, 3, 2, 1]);
    get("page_size=3&page=4").expect(409);
    get("sort=id").send().refusing_query(&["sort"]);
    let unchanged = get("").expect(200).etag();
    get("").header("if-none-match", unchanged).expect(304);
}

fn an_item_is_shown_as_it_was_at_a_time(service: &Service) {
    let before = last_time(service, &service.create("/v1/files", "{}"));
    let item = service.create("/v1/files", r#"{"n":1,"m":1}"#);
    let first = last_time(service, &item);
    service.replace(&item.path, r#"{"n":2}"#);
    let second = last_time(service, &item);
    service.remove(&item.path);
    let removed = last_time(service, &item);
    let at = |time: &str| service.get(&format!("{}?as_of={time}", item.path)).send();
    let shown = at(&first).expect(200).with_members(r#"{"n":1,"m":1}"#);
    assert_eq!(shown.link("self"), Some(format!("{}?as_of={first}", item.path)));
    assert_eq!(shown.link("memento"), Some(format!("{}/versions/1", item.path)));
    at(&second).expect(200).with_members(r#"{"n":2}"#);
    at(&before).expect(404);
    at(&removed).expect(404);
    at(&format!("{first}&fields=m")).expect(200).with_members(r#"{"m":1}"#);
    at("2999-01-01T00:00:00Z").refusing_query(&["future"]);
    let embedding = service.get(&format!("/lib/{UNKNOWN_ID}?as_of={first}&embed=proposal"));
    embedding.send().refusing_query(&["embed"]);
}

fn a_collection_is_shown_as_it_was_at_a_time(service: &Service) {
    for (path, first, second) in groups(service) {
        let before = service.list(&path, "page_size=250").each("id");
        let items = [(); 5].map(|()| service.create(&path, first));
        let full = last_time(service, &items[4]);
        service.replace(&items[1].path, second);
        service.remove(&items[2].path);
        let changed = last_time(service, &items[2]);
        service.create(&path, first);
        service.remove(&items[0].path);
        let at = |time: &str| service.list(&path, &format!("as_of={time}&page_size=250"));
        let own = items.map(|item| Value::from(item.id));
        assert_eq!(at(&full).each("id"), [&before[..], &own].concat(), "{path}");
        assert_eq!(at(&full).value()["total_items"], before.len() + 5);
        let then = at(&changed);
        assert_eq!(then.each("id"), [&before[..], &own[..2], &own[3..]].concat(), "{path}");
        let meta = then.each("_meta");
        let versions = meta[before.len()..].iter().map(|meta| meta["version"].clone());
        assert_eq!(versions.collect::<Vec<_>>(), [1, 2, 1, 1], "{path}");
    }
}

fn a_past_collection_is_walked_in_pages(service: &Service) {
    let items: Vec<_> =
        (0..7).map(|n| service.create("/v1/files", &json!({ "n": n }).to_string())).collect();
    let time = last_time(service, &items[6]);
    for item in &items[..4] {
        service.remove(&item.path);
    }
    let get = |query: &str| service.get(&format!("/v1/files?as_of={time}{query}"));
    let start = format!("/v1/files?as_of={time}&page_size=3&fields=n");
    let (mut seen, mut previous) = (Vec::new(), None);
    walk(service, &start, "next", |page| {
        let counts =
            (&page.value()["total_items"], &page.value()["page_count"]) == (&json!(7), &json!(3));
        assert!(counts, "{page}");
        seen.extend(page.each("n"));
        previous = page.link("prev");
    });
    assert_eq!(seen, [0, 1, 2, 3, 4, 5, 6]);
    let previous = previous.expect("a page before the last");
    for second in [service.read(&previous), get("&page_size=3&page=2").expect(200)] {
        assert_eq!(second.each("n"), [3, 4, 5]);
    }
    get("&page_size=3&page=4").expect(409);
    assert!(get("&total=none").expect(200).value().get("total_items").is_none());
    for now_only in ["sort=n", "q=x", "filter[n]=1"] {
        get(&format!("&{now_only}")).send().refusing_query(&["as_of"]);
    }
    let etag = get("").expect(200).etag();
    get("").header("if-none-match", etag).expect(304);
}

fn the_library_is_404_before_its_proposal_exists(service: &Service) {
    let before = last_time(service, &service.create("/v1/files", "{}"));
    let proposal = service.create("/v1/proposals", PROPOSAL);
    let library = format!("{}/lib", proposal.path);
    let item = service.create(&library, r#"{"n":1}"#);
    let then = last_time(service, &item);
    service.remove(&proposal.path);
    assert_eq!(service.list(&library, &format!("as_of={then}")).embedded_ids("lib"), [item.id]);
    service.get(&format!("{library}?as_of={before}")).expect(404);
    service.get(&library).expect(404);
}

/// The answer for a time stays the same, regardless of the writes that are in progress at it.
fn an_earlier_state_does_not_change_while_others_write(service: &Service) {
    let is_over = &AtomicBool::new(false);
    let [first, counted] = &[(); 2].map(|()| service.create("/v1/files", r#"{"n":0}"#));
    std::thread::scope(|scope| {
        for writer in 0..3 {
            scope.spawn(move || {
                for n in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    let body = json!({ "n": n, "by": writer }).to_string();
                    service.replace(&counted.path, body.as_str());
                    service.create("/v1/files", &body);
                }
            });
        }
        let mut answers = Vec::new();
        for _ in 0..15 {
            // The newest time that is past: the moment of the query.
            let now = service.replace(&first.path, "{}").value()["_meta"]["updated_at"].clone();
            let now = text(&now);
            let of_all = format!("/v1/files?as_of={now}&page_size=250");
            for query in [of_all, format!("{}?as_of={now}", counted.path)] {
                answers.push((service.read(&query).text().to_owned(), query));
            }
        }
        is_over.store(true, Ordering::Relaxed);
        for (answer, query) in answers {
            assert_eq!(service.read(&query).text(), answer, "{query}");
        }
    });
}

fn versions_are_compared(service: &Service) {
    let item = service.create("/v1/files", r#"{"stays":0,"a":1,"gone/away~":true}"#);
    service.replace(&item.path, r#"{"stays":0,"a":2,"new":[1]}"#);
    let compare = |path: &str| service.get(&format!("{}/versions/{path}", item.path)).send();
    let forth = json!([
        { "op": "remove", "path": "/gone~1away~0" },
        { "op": "replace", "path": "/a", "value": 2 },
        { "op": "add", "path": "/new", "value": [1] },
    ]);
    assert_eq!(compare("2/diff?from=1").expect(200).value(), forth);
    assert_eq!(compare("2/diff").expect(200).value(), forth, "from the version before");
    let back = compare("1/diff?from=2").expect(200).value();
    assert_eq!(back.as_array().map(Vec::len), Some(3), "{back}");
    assert_eq!(compare("2/diff?from=2").expect(200).value(), json!([]));
    let added = json!([
        { "op": "add", "path": "/stays", "value": 0 },
        { "op": "add", "path": "/a", "value": 1 },
        { "op": "add", "path": "/gone~1away~0", "value": true },
    ]);
    assert_eq!(compare("1/diff").expect(200).value(), added, "from an empty item");
    compare("2/diff?from=9").expect(404);
    compare("2/diff?from=x").refusing_query(&["from"]);
    compare("2/diff?to=1").refusing_query(&["to"]);
    service.remove(&item.path);
    compare("3/diff?from=1").expect(410);
    assert_eq!(compare("2/diff?from=1").expect(200).value(), forth);
}
