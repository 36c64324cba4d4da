//! `/v1/cashprogram`: the collection that can be replaced as a whole, all or nothing, and POST on
//! an item.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tests::{Item, Service, Store, on_each_store};

use crate::UNKNOWN_ID;

const COLLECTION: &str = "/v1/cashprogram";

#[test]
fn an_array_replaces_the_collection() {
    on_each_store(|service| {
        let [kept, gone] = two_items(service);
        let body =
            format!(r#"[{{"id":"{}","year":2027,"jan_amount":100.10}},{{"year":2030}}]"#, kept.id);
        let answer = service.put(COLLECTION).json(body).send().expect(200);
        assert_eq!(
            years(&answer.embedded("cashprogram")),
            BTreeSet::from([2027, 2030]),
            "{answer}"
        );
        assert_eq!(answer.value()["total_items"], 2);

        service
            .get(&kept.path)
            .send()
            .expect(200)
            .with_members(r#"{"year":2027,"jan_amount":100.10}"#);
        service.get(&gone.path).send().expect(404);
        let now = service.get(COLLECTION).send().expect(200);
        assert_eq!(now.text(), answer.text(), "the answer to PUT is the first page");
        assert_eq!(now.etag(), answer.etag(), "and its tag is that of what was written");
        let ids = now.embedded_ids("cashprogram");
        assert!(ids.contains(&kept.id) && !ids.contains(&gone.id), "{now}");
    });
}

#[test]
fn a_kept_element_keeps_when_it_was_created() {
    on_each_store(|service| {
        let [kept, _] = two_items(service);
        let before = service.get(&kept.path).send().expect(200).value();
        service
            .put(COLLECTION)
            .json(format!(r#"[{{"id":"{}","year":2031}}]"#, kept.id))
            .send()
            .expect(200);
        let after = service.get(&kept.path).send().expect(200);
        assert_eq!(after.value()["_meta"]["created_at"], before["_meta"]["created_at"]);
        assert_ne!(after.etag(), kept.etag);
    });
}

#[test]
fn an_empty_array_empties_the_collection() {
    on_each_store(|service| {
        let [first, second] = two_items(service);
        let answer = service.put(COLLECTION).json("[]").send().expect(200);
        assert!(answer.embedded("cashprogram").is_empty(), "{answer}");
        for item in [first, second] {
            service.get(&item.path).send().expect(404);
        }
    });
}

#[test]
fn what_get_returned_can_be_edited_and_put_back() {
    on_each_store(|service| {
        let items = two_items(service);
        let edited = service.get(COLLECTION).send().expect(200).text().replace("2026", "2036");
        let answer = service
            .put(COLLECTION)
            .body("application/vnd.cashprogram.v1+json", edited)
            .send()
            .expect(200);
        assert_eq!(answer.embedded_ids("cashprogram"), items.map(|item| item.id), "{answer}");
        assert_eq!(
            years(&answer.embedded("cashprogram")),
            BTreeSet::from([2025, 2036]),
            "{answer}"
        );
    });
}

#[test]
fn more_elements_than_a_page_are_answered_with_the_first_page() {
    on_each_store(|service| {
        let elements: Vec<_> = (0..60).map(|number| json!({"year": 2000 + number})).collect();
        let answer =
            service.put(COLLECTION).json(Value::from(elements).to_string()).send().expect(200);
        assert_eq!(
            (answer.embedded("cashprogram").len(), answer.value()["total_items"].as_u64()),
            (25, Some(60)),
            "{answer}"
        );
        assert!(answer.link("next").is_some(), "{answer}");
    });
}

#[test]
fn what_is_refused_changes_nothing() {
    on_each_store(|service| {
        let [first, second] = two_items(service);
        let before = service.contents(COLLECTION);
        let one_of_two =
            service.get("/v1/cashprogram?page_size=1").send().expect(200).text().to_owned();
        let whole = service.get(COLLECTION).send().expect(200).text().to_owned();
        let (one, two) = (&first.id, &second.id);
        for (case, body, pointers) in [
            (
                "an unknown id",
                format!(r#"[{{"id":"{one}"}},{{"id":"{UNKNOWN_ID}"}}]"#),
                &["/1/id"][..],
            ),
            ("an id that does not parse", r#"[{"id":"mine"},{}]"#.to_owned(), &["/0/id"]),
            ("an id that is no text", r#"[{"id":7}]"#.to_owned(), &["/0/id"]),
            (
                "the same id twice",
                format!(r#"[{{"id":"{one}"}},{{"id":"{two}"}},{{"id":"{one}"}}]"#),
                &["/2/id"],
            ),
            (
                "elements that are no objects",
                r#"[{},1,"x",[],null]"#.to_owned(),
                &["/1", "/2", "/3", "/4"],
            ),
            (
                "errors of several elements",
                format!(r#"[1,{{"id":"{UNKNOWN_ID}"}},{{"a":["\u0000"]}}]"#),
                &["/0", "/1/id", "/2/a/0"],
            ),
            (
                "an unknown id in a HAL collection",
                whole.replace(two, UNKNOWN_ID),
                &["/_embedded/cashprogram/1/id"],
            ),
            (
                "no object in a HAL collection",
                r#"{"_embedded":{"cashprogram":[{},7]}}"#.to_owned(),
                &["/_embedded/cashprogram/1"],
            ),
        ] {
            println!("{case}");
            service.put(COLLECTION).json(body).send().refusing(pointers);
        }
        println!("a page of more");
        service.put(COLLECTION).json(one_of_two).send().expect(422);
        for unreadable in [
            "{}",
            r#"{"year":2026}"#,
            "7",
            "null",
            "\"[]\"",
            "[",
            "",
            r#"{"_embedded":[]}"#,
            r#"{"_embedded":{"files":[]}}"#,
        ] {
            service.put(COLLECTION).json(unreadable).send().expect(400);
        }
        assert_eq!(service.contents(COLLECTION), before);
    });
}

#[test]
fn nothing_that_says_there_is_more_is_taken_for_the_whole() {
    on_each_store(|service| {
        two_items(service);
        let before = service.contents("/v1/cashprogram");
        for part in [
            r#"{"_embedded":{"cashprogram":[]},"total_items":2}"#,
            r#"{"_embedded":{"cashprogram":[]},"total_items":"2"}"#,
            r#"{"_embedded":{"cashprogram":[]},"total_items":null}"#,
            r#"{"_embedded":{"cashprogram":[]},"total_items":0,"_links":{"next":{"href":"/v1/cashprogram?page=2"}}}"#,
        ] {
            service.put(COLLECTION).json(part).send().expect(422);
        }
        assert_eq!(service.contents("/v1/cashprogram"), before);
    });
}

#[test]
fn a_view_of_the_collection_is_not_put_back() {
    on_each_store(|service| {
        two_items(service);
        let before = service.contents(COLLECTION);
        for view in [
            "filter[year]=2025",
            "filter[year]=1999",
            "fields=year",
            "q=nothing",
            "total=none&page_size=1&page=2",
            "page_size=1&page=2",
        ] {
            let shown = service.list(COLLECTION, view).text().to_owned();
            service.put(COLLECTION).json(shown).send().expect(422);
        }
        assert_eq!(service.contents(COLLECTION), before);
        let whole = service.list(COLLECTION, "total=none&sort=-id").text().to_owned();
        service.put(COLLECTION).json(whole).send().expect(200);
    });
}

#[test]
fn the_envelope_takes_nothing_from_an_items_depth() {
    let nested =
        |levels: usize| format!(r#"{{"a":{}{}}}"#, "[".repeat(levels - 1), "]".repeat(levels - 1));
    let service = Service::start(Store::Sqlite);
    service.create("/v1/cashprogram", &nested(128));
    let got = service.contents("/v1/cashprogram");
    service.put("/v1/cashprogram").json(got).send().expect(200);
    service.put("/v1/cashprogram").json(format!("[{}]", nested(128))).send().expect(200);
    service.put("/v1/cashprogram").json(format!("[{}]", nested(129))).send().expect(400);
}

#[test]
fn the_condition_of_a_replacement_is_on_the_collection() {
    on_each_store(|service| {
        two_items(service);
        let etag = service.get(COLLECTION).send().expect(200).etag();
        service.put(COLLECTION).header("if-match", "\"stale\"").json("[]").send().expect(412);
        assert_eq!(service.get(COLLECTION).send().expect(200).etag(), etag);
        service.put(COLLECTION).header("if-match", &etag).json("[]").send().expect(200);
    });
}

#[test]
fn post_on_a_cash_program_continues_it() {
    on_each_store(|service| {
        crate::proposals::continues(
            service,
            COLLECTION,
            r#"{"year":2026}"#,
            r#"{"year":2027,"jan_amount":1.50}"#,
        );
    });
}

/// Each answer shows what its own write left, however many others write: its tag is a condition
/// that holds until the next write.
#[test]
fn the_answer_is_of_the_revision_that_the_write_made() {
    on_each_store(|service| {
        service.create("/v1/proposals", crate::PROPOSAL);
        let answers = std::thread::scope(|scope| {
            let write = |number: i64| {
                scope.spawn(move || {
                    let body = format!(r#"[{{"year":{number}}},{{"year":{}}}]"#, number + 1);
                    (number, service.put(COLLECTION).json(body).send().expect(200))
                })
            };
            let writers: Vec<_> = (0..8).map(|number| write(2000 + 10 * number)).collect();
            writers.into_iter().map(|writer| writer.join().expect("an answer")).collect::<Vec<_>>()
        });
        for (number, answer) in &answers {
            let shown = years(&answer.embedded("cashprogram"));
            assert_eq!(shown, BTreeSet::from([*number, number + 1]), "{answer}");
        }
        let tags: BTreeSet<_> = answers.iter().map(|(_, answer)| answer.etag()).collect();
        assert_eq!(tags.len(), answers.len(), "{tags:?}");
        let now = service.get(COLLECTION).send().expect(200);
        let last = answers.iter().find(|(_, answer)| answer.etag() == now.etag());
        assert_eq!(last.map(|(_, answer)| answer.text()), Some(now.text()));
        service.put(COLLECTION).header("if-match", now.etag()).json("[]").send().expect(200);
    });
}

fn two_items(service: &Service) -> [Item; 2] {
    [r#"{"year":2025}"#, r#"{"year":2026}"#].map(|body| service.create(COLLECTION, body))
}

fn years(items: &[Value]) -> BTreeSet<i64> {
    items.iter().map(|item| item["year"].as_i64().expect("a year")).collect()
}
