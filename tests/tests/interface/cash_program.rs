//! `/v1/cashprogram`: the collection that can be replaced as a whole, all or nothing, and POST on
//! an item.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tests::{Answer, Item, Service};

use crate::UNKNOWN_ID;

const COLLECTION: &str = "/v1/cashprogram";

tests::cases![
    an_array_replaces_the_collection,
    what_get_returned_can_be_edited_and_put_back,
    more_elements_than_a_page_are_answered_with_the_first_page,
    what_is_refused_changes_nothing,
    the_envelope_takes_nothing_from_an_items_depth,
    the_condition_of_a_replacement_is_on_the_collection,
    post_on_a_cash_program_continues_it,
    the_answer_is_of_the_revision_that_the_write_made,
];

fn an_array_replaces_the_collection(service: &Service) {
    let [kept, gone] = two_items(service);
    let before = service.read(&kept.path).value();
    let body =
        format!(r#"[{{"id":"{}","year":2027,"jan_amount":100.10}},{{"year":2030}}]"#, kept.id);
    let answer = service.replace(COLLECTION, body);
    assert_eq!(years(&answer), BTreeSet::from([2027, 2030]), "{answer}");
    assert_eq!(answer.value()["total_items"], 2);
    let after = service.read(&kept.path).with_members(r#"{"year":2027,"jan_amount":100.10}"#);
    assert_eq!(after.value()["_meta"]["created_at"], before["_meta"]["created_at"]);
    assert_ne!(after.etag(), kept.etag);
    service.get(&gone.path).expect(404);
    let now = service.read(COLLECTION);
    assert_eq!(now.text(), answer.text(), "the answer to PUT is the first page");
    assert_eq!(now.etag(), answer.etag(), "and its tag is that of what was written");
    let ids = now.embedded_ids("cashprogram");
    assert!(ids.contains(&kept.id) && !ids.contains(&gone.id), "{now}");
    assert!(service.replace(COLLECTION, "[]").items().is_empty());
    for id in ids {
        service.get(&format!("{COLLECTION}/{id}")).expect(404);
    }
}

fn what_get_returned_can_be_edited_and_put_back(service: &Service) {
    let items = two_items(service);
    let edited = service.read(COLLECTION).text().replace("2026", "2036");
    let request = service.put(COLLECTION).body("application/vnd.cashprogram.v1+json", edited);
    let answer = request.expect(200);
    assert_eq!(answer.embedded_ids("cashprogram"), items.map(|item| item.id), "{answer}");
    assert_eq!(years(&answer), BTreeSet::from([2025, 2036]), "{answer}");
    let whole = service.list(COLLECTION, "total=none&sort=-id").text().to_owned();
    service.replace(COLLECTION, whole);
}

fn more_elements_than_a_page_are_answered_with_the_first_page(service: &Service) {
    let elements: Vec<_> = (0..60).map(|number| json!({"year": 2000 + number})).collect();
    let answer = service.replace(COLLECTION, Value::from(elements).to_string());
    let (shown, total) = (answer.items().len(), answer.value()["total_items"].as_u64());
    assert_eq!((shown, total), (25, Some(60)), "{answer}");
    assert!(answer.link("next").is_some(), "{answer}");
}

fn what_is_refused_changes_nothing(service: &Service) {
    let [first, second] = two_items(service);
    let before = service.contents(COLLECTION);
    let whole = service.read(COLLECTION).text().to_owned();
    let (one, two) = (&first.id, &second.id);
    for (body, pointers) in [
        (&*format!(r#"[{{"id":"{one}"}},{{"id":"{UNKNOWN_ID}"}}]"#), &["/1/id"][..]),
        (r#"[{"id":"mine"},{}]"#, &["/0/id"]),
        (r#"[{"id":7}]"#, &["/0/id"]),
        (&format!(r#"[{{"id":"{one}"}},{{"id":"{two}"}},{{"id":"{one}"}}]"#), &["/2/id"]),
        (r#"[{},1,"x",[],null]"#, &["/1", "/2", "/3", "/4"]),
        (&format!(r#"[1,{{"id":"{UNKNOWN_ID}"}},{{"a":["\u0000"]}}]"#), &["/0", "/1/id", "/2/a/0"]),
        (&whole.replace(two, UNKNOWN_ID), &["/_embedded/cashprogram/1/id"]),
        (r#"{"_embedded":{"cashprogram":[{},7]}}"#, &["/_embedded/cashprogram/1"]),
    ] {
        service.put(COLLECTION).json(body).send().refusing(pointers);
    }
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
        service.put(COLLECTION).json(unreadable).expect(400);
    }
    for view in [
        "page_size=1",
        "filter[year]=2025",
        "filter[year]=1999",
        "fields=year",
        "q=nothing",
        "total=none&page_size=1&page=2",
        "page_size=1&page=2",
    ] {
        let part = service.list(COLLECTION, view).text().to_owned();
        service.put(COLLECTION).json(part).expect(422);
    }
    for more in [
        r#""total_items":2"#,
        r#""total_items":"2""#,
        r#""total_items":null"#,
        r#""total_items":0,"_links":{"next":{"href":"/v1/cashprogram?page=2"}}"#,
    ] {
        let part = format!(r#"{{"_embedded":{{"cashprogram":[]}},{more}}}"#);
        service.put(COLLECTION).json(part).expect(422);
    }
    assert_eq!(service.contents(COLLECTION), before);
}

fn the_envelope_takes_nothing_from_an_items_depth(service: &Service) {
    let nested =
        |levels: usize| format!(r#"{{"a":{}{}}}"#, "[".repeat(levels - 1), "]".repeat(levels - 1));
    service.create(COLLECTION, &nested(128));
    service.replace(COLLECTION, service.contents(COLLECTION));
    service.replace(COLLECTION, format!("[{}]", nested(128)));
    service.put(COLLECTION).json(format!("[{}]", nested(129))).expect(400);
}

fn the_condition_of_a_replacement_is_on_the_collection(service: &Service) {
    two_items(service);
    let etag = service.read(COLLECTION).etag();
    service.put(COLLECTION).header("if-match", "\"stale\"").json("[]").expect(412);
    assert_eq!(service.read(COLLECTION).etag(), etag);
    service.put(COLLECTION).header("if-match", &etag).json("[]").expect(200);
}

fn post_on_a_cash_program_continues_it(service: &Service) {
    let second = r#"{"year":2027,"jan_amount":1.50}"#;
    crate::proposals::continues(service, COLLECTION, r#"{"year":2026}"#, second);
}

/// The tag of an answer is a condition that holds until the next write, with any number of writers.
fn the_answer_is_of_the_revision_that_the_write_made(service: &Service) {
    service.create("/v1/proposals", crate::PROPOSAL);
    let answers = std::thread::scope(|scope| {
        let write = |number: i64| {
            scope.spawn(move || {
                let body = format!(r#"[{{"year":{number}}},{{"year":{}}}]"#, number + 1);
                (number, service.replace(COLLECTION, body))
            })
        };
        let writers: Vec<_> = (0..8).map(|number| write(2000 + 10 * number)).collect();
        writers.into_iter().map(|writer| writer.join().expect("an answer")).collect::<Vec<_>>()
    });
    for (number, answer) in &answers {
        assert_eq!(years(answer), BTreeSet::from([*number, number + 1]), "{answer}");
    }
    let tags: BTreeSet<_> = answers.iter().map(|(_, answer)| answer.etag()).collect();
    assert_eq!(tags.len(), answers.len(), "{tags:?}");
    let now = service.read(COLLECTION);
    let last = answers.iter().find(|(_, answer)| answer.etag() == now.etag());
    assert_eq!(last.map(|(_, answer)| answer.text()), Some(now.text()));
    service.put(COLLECTION).header("if-match", now.etag()).json("[]").expect(200);
}

fn two_items(service: &Service) -> [Item; 2] {
    [r#"{"year":2025}"#, r#"{"year":2026}"#].map(|body| service.create(COLLECTION, body))
}

fn years(page: &Answer) -> BTreeSet<i64> {
    page.each("year").iter().map(|year| year.as_i64().expect("a year")).collect()
}
