//! The past of items: every version of every group, what there was at a time, and what differs.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tests::{Answer, Item, Service, on_each_store};

use crate::{PROPOSAL, UNKNOWN_ID};

/// A collection of each group, and two bodies it takes; the library of a proposal is made when it
/// is needed.
pub fn groups(service: &Service) -> Vec<(String, &'static str, &'static str)> {
    let proposal = service.create("/v1/proposals", PROPOSAL);
    let open = [
        "/v1/proposedprograms",
        "/v1/gadscores",
        "/v1/statuses",
        "/v1/files",
        "/lib",
        "/v1/cashprogram",
        "/status",
    ];
    let open = open.into_iter().map(str::to_owned).chain([format!("{}/lib", proposal.path)]);
    let mut groups: Vec<_> =
        open.map(|path| (path, r#"{"a":1.50,"b":{"c":[1,2]}}"#, r#"{"a":2}"#)).collect();
    groups.push((
        "/v1/proposals".to_owned(),
        PROPOSAL,
        r#"{"proposal_type":"x","project_title":"y","end_date":"2026-01-01"}"#,
    ));
    groups
}

pub fn version(service: &Service, item: &Item, number: u32) -> Answer {
    service.get(&format!("{}/versions/{number}", item.path)).send()
}

pub fn versions(service: &Service, item: &Item) -> Vec<String> {
    let listed = service.get(&format!("{}/versions", item.path)).send().expect(200);
    listed
        .embedded("versions")
        .iter()
        .map(|entry| {
            format!("{} {}", entry["version"], entry["kind"].as_str().expect("it is there"))
        })
        .collect()
}

fn updated_at(answer: &Answer) -> String {
    answer.value()["_meta"]["updated_at"].as_str().expect("a time").to_owned()
}

/// When the last version of an item was made.
fn last_time(service: &Service, item: &Item) -> String {
    let listed = service.get(&format!("{}/versions?page_size=1", item.path)).send().expect(200);
    listed.embedded("versions")[0]["time"].as_str().expect("a time").to_owned()
}

#[test]
fn every_version_of_every_group_is_kept_beyond_its_removal() {
    on_each_store(|service| {
        for (path, first, second) in groups(service) {
            let item = service.create(&path, first);
            service.put(&item.path).json(second).send().expect(200);
            let third =
                service.patch(&item.path).json(r#"{"end_date":"2027-01-01"}"#).send().expect(200);
            assert_eq!(versions(service, &item), ["3 patched", "2 replaced", "1 created"]);
            service.delete(&item.path).send().expect(204);
            assert_eq!(
                versions(service, &item),
                ["4 deleted", "3 patched", "2 replaced", "1 created"]
            );
            let _ = version(service, &item, 1).expect(200).with_members(first);
            let _ = version(service, &item, 2).expect(200).with_members(second);
            assert_eq!(version(service, &item, 3).expect(200).members(), third.members());
            assert_eq!(version(service, &item, 4).expect(410).value()["code"], "version-gone");
            assert_eq!(version(service, &item, 5).expect(404).value()["code"], "version-not-found");
            for wrong in ["0", "-1", "01", "x", "99999999999999999999", "%00"] {
                service.get(&format!("{}/versions/{wrong}", item.path)).send().expect(404);
            }
            for of_nothing in ["versions", "versions/1", "versions/1/diff?from=1"] {
                service.get(&format!("{path}/{UNKNOWN_ID}/{of_nothing}")).send().expect(404);
            }
        }
    });
}

#[test]
fn the_history_of_an_item_is_that_of_its_group_and_owner() {
    on_each_store(|service| {
        let (one, other) =
            (service.create("/v1/proposals", PROPOSAL), service.create("/v1/proposals", PROPOSAL));
        let item = service.create(&format!("{}/lib", one.path), "{}");
        service.delete(&one.path).send().expect(204);
        service.get(&format!("{}/versions/1", item.path)).send().expect(200);
        service.get(&format!("/lib/{}/versions/1", item.id)).send().expect(200);
        service.get(&format!("{}/lib/{}/versions/1", other.path, item.id)).send().expect(404);
        service.get(&format!("/v1/files/{}/versions", item.id)).send().expect(404);
    });
}

#[test]
fn versions_are_linked_as_rfc_5829_says() {
    on_each_store(|service| {
        let item = service.create("/v1/files", r#"{"n":1}"#);
        let shown = service.put(&item.path).json(r#"{"n":2}"#).send().expect(200);
        let at = |version: u32| format!("{}/versions/{version}", item.path);
        let history = format!("{}/versions", item.path);
        assert_eq!(shown.link("version-history").as_ref(), Some(&history));
        assert_eq!(shown.link("latest-version"), Some(item.path.clone()));
        assert_eq!(shown.link("predecessor-version"), Some(at(1)));
        let second = version(service, &item, 2).expect(200);
        assert_eq!(second.link("self"), Some(at(2)));
        assert_eq!(second.link("predecessor-version"), Some(at(1)));
        assert_eq!(second.link("diff"), Some(format!("{}/diff?from=1", at(2))));
        let first = version(service, &item, 1).expect(200);
        assert_eq!(
            (first.link("latest-version"), first.link("predecessor-version")),
            (Some(item.path.clone()), None)
        );
        assert_eq!(
            (&first.value()["_meta"]["kind"], &first.value()["_meta"]["caller"]),
            (&json!("created"), &Value::Null)
        );
        service.delete(&item.path).send().expect(204);
        assert_eq!(version(service, &item, 1).expect(200).link("latest-version"), Some(at(2)));
        let listed = service.get(&history).send().expect(200);
        assert_eq!(listed.link("up"), None, "there is nothing up there");
        service.post(&at(1)).send().expect(201);
        assert_eq!(
            version(service, &item, 4).expect(200).link("predecessor-version"),
            Some(at(2)),
            "not the removal"
        );
    });
}

#[test]
fn versions_are_listed_in_pages() {
    on_each_store(|service| {
        let item = service.create("/v1/files", r#"{"n":1}"#);
        for number in 2..=7 {
            service.put(&item.path).json(json!({ "n": number }).to_string()).send().expect(200);
        }
        let mut page =
            service.get(&format!("{}/versions?page_size=3", item.path)).send().expect(200);
        assert_eq!(
            (&page.value()["total_items"], &page.value()["page_count"]),
            (&json!(7), &json!(3))
        );
        let mut seen = Vec::new();
        loop {
            seen.extend(
                page.embedded("versions")
                    .iter()
                    .map(|entry| entry["version"].as_i64().expect("it is there")),
            );
            let Some(next) = page.link("next") else { break };
            page = service.get(&next).send().expect(200);
        }
        assert_eq!(seen, [7, 6, 5, 4, 3, 2, 1]);
        service.get(&format!("{}/versions?page_size=3&page=4", item.path)).send().expect(409);
        let _ = service
            .get(&format!("{}/versions?sort=id", item.path))
            .send()
            .refusing_query(&["sort"]);
        let unchanged = service.get(&format!("{}/versions", item.path)).send().expect(200).etag();
        service
            .get(&format!("{}/versions", item.path))
            .header("if-none-match", unchanged)
            .send()
            .expect(304);
    });
}

#[test]
fn an_item_is_shown_as_it_was_at_a_time() {
    on_each_store(|service| {
        let before = last_time(service, &service.create("/v1/files", "{}"));
        let item = service.create("/v1/files", r#"{"n":1,"m":1}"#);
        let first = last_time(service, &item);
        service.put(&item.path).json(r#"{"n":2}"#).send().expect(200);
        let second = last_time(service, &item);
        service.delete(&item.path).send().expect(204);
        let removed = last_time(service, &item);
        let at = |time: &str| service.get(&format!("{}?as_of={time}", item.path)).send();
        let shown = at(&first).expect(200).with_members(r#"{"n":1,"m":1}"#);
        assert_eq!(shown.link("self"), Some(format!("{}?as_of={first}", item.path)));
        assert_eq!(shown.link("memento"), Some(format!("{}/versions/1", item.path)));
        let _ = at(&second).expect(200).with_members(r#"{"n":2}"#);
        at(&before).expect(404);
        at(&removed).expect(404);
        let _ = service
            .get(&format!("{}?as_of={first}&fields=m", item.path))
            .send()
            .expect(200)
            .with_members(r#"{"m":1}"#);
        let _ = at("2999-01-01T00:00:00Z").refusing_query(&["future"]);
        let _ = service
            .get(&format!("/lib/{UNKNOWN_ID}?as_of={first}&embed=proposal"))
            .send()
            .refusing_query(&["embed"]);
    });
}

#[test]
fn a_collection_is_shown_as_it_was_at_a_time() {
    on_each_store(|service| {
        for (path, first, second) in groups(service) {
            let empty = service.contents(&path);
            let items: Vec<_> = (0..5).map(|_| service.create(&path, first)).collect();
            let full = last_time(service, &items[4]);
            service.put(&items[1].path).json(second).send().expect(200);
            service.delete(&items[2].path).send().expect(204);
            let changed = last_time(service, &items[2]);
            let later = service.create(&path, first);
            service.delete(&items[0].path).send().expect(204);
            let own: Vec<_> = items.iter().map(|item| item.id.clone()).collect();
            let at = |time: &str| {
                service.get(&format!("{path}?as_of={time}&page_size=250")).send().expect(200)
            };
            let ids = |answer: &Answer| {
                answer
                    .items()
                    .iter()
                    .map(|item| item["id"].as_str().expect("it is there").to_owned())
                    .collect::<Vec<_>>()
            };
            let was: Vec<String> =
                serde_json::from_str::<Value>(&empty).expect("it is there")["_embedded"]
                    .as_object()
                    .expect("it is there")
                    .values()
                    .flat_map(|items| {
                        items
                            .as_array()
                            .expect("it is there")
                            .iter()
                            .map(|item| item["id"].as_str().expect("it is there").to_owned())
                    })
                    .collect();
            assert_eq!(ids(&at(&full)), [was.clone(), own.clone()].concat(), "{path}");
            assert_eq!(at(&full).value()["total_items"], was.len() + 5);
            let [a, b, _, d, e] = &own[..] else { unreachable!() };
            let then = at(&changed);
            assert_eq!(
                ids(&then),
                [was, vec![a.clone(), b.clone(), d.clone(), e.clone()]].concat(),
                "{path}"
            );
            assert!(!ids(&then).contains(&later.id));
            let versions: Vec<_> = then
                .items()
                .iter()
                .rev()
                .take(4)
                .map(|item| item["_meta"]["version"].clone())
                .collect();
            assert_eq!(versions, [json!(1), json!(1), json!(2), json!(1)], "{path}");
        }
    });
}

#[test]
fn a_past_collection_is_walked_in_pages() {
    on_each_store(|service| {
        let items: Vec<_> =
            (0..7).map(|n| service.create("/v1/files", &json!({ "n": n }).to_string())).collect();
        let time = last_time(service, &items[6]);
        for item in &items[..4] {
            service.delete(&item.path).send().expect(204);
        }
        let mut page =
            service.get(&format!("/v1/files?as_of={time}&page_size=3&fields=n")).send().expect(200);
        assert_eq!(
            (&page.value()["total_items"], &page.value()["page_count"]),
            (&json!(7), &json!(3))
        );
        let mut seen = page.each("n");
        while let Some(next) = page.link("next") {
            page = service.get(&next).send().expect(200);
            seen.extend(page.each("n"));
        }
        assert_eq!(seen, (0..7).map(Value::from).collect::<Vec<_>>());
        let previous = page.link("prev").expect("a page before the last");
        assert_eq!(
            service.get(&previous).send().expect(200).each("n"),
            [json!(3), json!(4), json!(5)]
        );
        assert_eq!(
            service
                .get(&format!("/v1/files?as_of={time}&page_size=3&page=2"))
                .send()
                .expect(200)
                .each("n"),
            [3, 4, 5].map(Value::from)
        );
        service.get(&format!("/v1/files?as_of={time}&page_size=3&page=4")).send().expect(409);
        let uncounted =
            service.get(&format!("/v1/files?as_of={time}&total=none")).send().expect(200).value();
        assert!(uncounted.get("total_items").is_none());
        for now_only in ["sort=n", "q=x", "filter[n]=1"] {
            let _ = service
                .get(&format!("/v1/files?as_of={time}&{now_only}"))
                .send()
                .refusing_query(&["as_of"]);
        }
        let etag = service.get(&format!("/v1/files?as_of={time}")).send().expect(200).etag();
        service
            .get(&format!("/v1/files?as_of={time}"))
            .header("if-none-match", etag)
            .send()
            .expect(304);
    });
}

#[test]
fn the_library_of_a_proposal_that_was_not_there_then_is_404() {
    on_each_store(|service| {
        let before = last_time(service, &service.create("/v1/files", "{}"));
        let proposal = service.create("/v1/proposals", PROPOSAL);
        let library = format!("{}/lib", proposal.path);
        let item = service.create(&library, r#"{"n":1}"#);
        let then = last_time(service, &item);
        service.delete(&proposal.path).send().expect(204);
        assert_eq!(service.list(&library, &format!("as_of={then}")).embedded_ids("lib"), [item.id]);
        service.get(&format!("{library}?as_of={before}")).send().expect(404);
        service.get(&library).send().expect(404);
    });
}

/// Whatever is at work at the time: what was answered for it once is answered always.
#[test]
fn what_was_at_a_time_does_not_change_while_others_write() {
    on_each_store(|service| {
        let is_over = &AtomicBool::new(false);
        let (first, counted) =
            (service.create("/v1/files", r#"{"n":0}"#), service.create("/v1/files", r#"{"n":0}"#));
        std::thread::scope(|scope| {
            for writer in 0..3 {
                let counted = &counted;
                scope.spawn(move || {
                    for n in 0.. {
                        if is_over.load(Ordering::Relaxed) {
                            return;
                        }
                        let body = json!({ "n": n, "by": writer }).to_string();
                        service.put(&counted.path).json(body.as_str()).send().expect(200);
                        service.create("/v1/files", &body);
                    }
                });
            }
            let mut answers = Vec::new();
            for _ in 0..15 {
                // The newest time that is past: the moment at which it is asked.
                let now = updated_at(&service.put(&first.path).json("{}").send().expect(200));
                let queries = [
                    format!("/v1/files?as_of={now}&page_size=250"),
                    format!("{}?as_of={now}", counted.path),
                ];
                let told = queries
                    .map(|query| (service.get(&query).send().expect(200).text().to_owned(), query));
                answers.extend(told);
            }
            is_over.store(true, Ordering::Relaxed);
            for (told, query) in answers {
                assert_eq!(service.get(&query).send().expect(200).text(), told, "{query}");
            }
        });
    });
}

#[test]
fn versions_are_compared() {
    on_each_store(|service| {
        let body = |own: Value| {
            let mut body = json!({ "stays": 0 });
            body.as_object_mut()
                .expect("it is there")
                .extend(own.as_object().expect("it is there").clone());
            body.to_string()
        };
        let item = service.create("/v1/files", &body(json!({ "a": 1, "gone/away~": true })));
        service.put(&item.path).json(body(json!({ "a": 2, "new": [1] }))).send().expect(200);
        let compare = |path: &str| service.get(&format!("{}/versions/{path}", item.path)).send();
        let forth = json!([
            { "op": "remove", "path": "/gone~1away~0" },
            { "op": "replace", "path": "/a", "value": 2 },
            { "op": "add", "path": "/new", "value": [1] },
        ]);
        assert_eq!(compare("2/diff?from=1").expect(200).value(), forth);
        assert_eq!(
            compare("2/diff").expect(200).value(),
            forth,
            "the one before is what it is compared with"
        );
        assert_eq!(
            compare("1/diff?from=2").expect(200).value().as_array().expect("it is there").len(),
            3
        );
        assert_eq!(compare("2/diff?from=2").expect(200).value(), json!([]));
        let first = compare("1/diff").expect(200).value();
        let operations = first.as_array().expect("a list").iter();
        let added: Vec<_> =
            operations.map(|added| (added["op"].as_str(), added["path"].as_str())).collect();
        assert_eq!(
            added,
            ["/stays", "/a", "/gone~1away~0"].map(|path| (Some("add"), Some(path))),
            "before the first there was nothing"
        );
        compare("2/diff?from=9").expect(404);
        let _ = compare("2/diff?from=x").refusing_query(&["from"]);
        service.delete(&item.path).send().expect(204);
        compare("3/diff?from=1").expect(410);
        assert_eq!(compare("2/diff?from=1").expect(200).value(), forth);
    });
}

#[test]
fn a_condition_made_from_the_past_does_not_hold_now() {
    on_each_store(|service| {
        let item = service.create("/v1/files", r#"{"n":1}"#);
        let past = version(service, &item, 1).expect(200).etag();
        service.put(&item.path).header("if-match", past).json("{}").send().expect(412);
    });
}
