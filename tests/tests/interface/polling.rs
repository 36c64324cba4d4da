//! Polling: the entity tag of a collection under any query, and the items that were written since.

use std::collections::BTreeSet;

use serde_json::Value;
use tests::{Request, Service};

use crate::PROPOSAL;
use crate::queries::{FILES, encoded, numbers, store_values, walk};

/// Views of one collection; the tag of each follows every write.
const VIEWS: &[&str] = &[
    "",
    "page_size=1",
    "sort=-n",
    "fields=n",
    "filter[n][gte]=0",
    "filter[n]=1000",
    "filter[updated_at][gt]=2020-01-01&sort=updated_at",
    "q=rice",
    "q=rice&filter[n]=0&fields=n&total=none",
    "total=none",
];

tests::cases![
    the_tag_of_every_view_changes_with_every_write,
    the_tag_changes_when_the_collection_is_replaced,
    the_tag_of_a_library_changes_with_its_own_items,
    an_empty_selection_is_polled_too,
    a_page_that_is_gone_is_not_unmodified,
    new_items_are_found_by_their_times,
    a_poller_during_many_writes_misses_and_repeats_no_item,
];

fn the_tag_of_every_view_changes_with_every_write(service: &Service) {
    let (own, corn) = (r#"{"n":0,"text":"rice"}"#, r#"{"n":0,"text":"rice and corn"}"#);
    let first = service.create(FILES, own).path;
    let second = service.create(FILES, r#"{"n":1,"text":"rice"}"#).path;
    let create = |body| service.post(FILES).json(body);
    for (write, status) in [
        (create(r#"{"n":2}"#), 201),
        (service.put(&first).json(corn), 200),
        (service.patch(&second).json(r#"{"n":3}"#), 200),
        (service.delete(&second), 204),
        (create(r#"{"n":1000,"text":"rice"}"#), 201),
    ] {
        tags_change(service, FILES, VIEWS, write, status);
    }
    for (request, status) in [
        (service.post("/v1/statuses").json(own), 201),
        (create("["), 400),
        (service.patch(&first).json("{}"), 200),
    ] {
        tags_stay(service, FILES, VIEWS, request, status);
    }
}

fn the_tag_changes_when_the_collection_is_replaced(service: &Service) {
    let (path, views) = ("/v1/cashprogram", ["", "filter[n][gte]=0", "q=rice"]);
    for body in [r#"[{"n":0,"text":"rice"},{"n":1}]"#, r#"[{"n":0,"text":"rice"}]"#, "[]"] {
        tags_change(service, path, &views, service.put(path).json(body), 200);
    }
}

fn the_tag_of_a_library_changes_with_its_own_items(service: &Service) {
    let [mine, theirs] =
        [(); 2].map(|()| format!("{}/lib", service.create("/v1/proposals", PROPOSAL).path));
    let views = ["", "filter[n][gte]=0&sort=-n", "q=rice"];
    let item = service.create(&mine, r#"{"n":0,"text":"rice"}"#);
    let above = format!("/lib/{}", item.id);
    for (library, path, body) in [
        (&*mine, &item.path, r#"{"text":"rice and corn"}"#),
        ("/lib", &item.path, r#"{"text":"rice and maize"}"#),
        (&mine, &above, r#"{"n":1}"#),
    ] {
        tags_change(service, library, &views, service.patch(path).json(body), 200);
    }
    tags_stay(service, &mine, &views, service.post(&theirs).json(r#"{"n":0}"#), 201);
}

fn an_empty_selection_is_polled_too(service: &Service) {
    let views = ["filter[n]=7", "filter[n]=7&page=3", "q=rice", "q=rice&page=2&total=none"];
    tags_stay(service, FILES, &views, service.get(FILES), 200);
    tags_change(service, FILES, &views, service.post(FILES).json(r#"{"n":6}"#), 201);
}

fn a_page_that_is_gone_is_not_unmodified(service: &Service) {
    let items = store_values(service, &["1", "1", "1"]);
    let target = format!("{FILES}?filter[x]=1&page_size=2&page=2");
    let tag = service.read(&target).etag();
    let ask = |target: &str, tag: &str| service.get(target).header("if-none-match", tag).send();
    ask(&target, &tag).expect(304);
    service.remove(&items[0].path);
    ask(&target, &tag).expect(409);
    ask(&target, &service.read(FILES).etag()).expect(409);
    ask(&format!("{FILES}?filter[x=1"), "*").expect(400);
}

fn new_items_are_found_by_their_times(service: &Service) {
    let items = store_values(service, &["1", "2", "3"]);
    let mut latest = newest(&service.list(FILES, "sort=-updated_at&page_size=1").items());
    let mut poll = |expected: &str| {
        let answer = service
            .list(FILES, &format!("filter[updated_at][gt]={}&sort=updated_at", encoded(&latest)));
        assert_eq!(numbers(&answer), expected, "since {latest}: {answer}");
        if !expected.is_empty() {
            latest = newest(&answer.items());
        }
    };
    poll("");
    service.replace(&items[1].path, r#"{"n":1,"x":20}"#);
    service.create(FILES, r#"{"n":3}"#);
    service.change(&items[0].path, r#"{"x":10}"#);
    poll("1 3 0");
    poll("");
    service.change(&items[1].path, "{}");
    service.remove(&items[2].path);
    poll("");
    service.change(&items[1].path, r#"{"x":21}"#);
    poll("1");
}

/// Writes are committed in the order of their times, so a poller that asks for items newer than its
/// newest gets every item once.
fn a_poller_during_many_writes_misses_and_repeats_no_item(service: &Service) {
    let first = service.post(FILES).json("{}").expect(201);
    let mut latest = newest(&[first.value()]);
    let mut seen = BTreeSet::new();
    let mut poll = || {
        let since = encoded(&latest);
        let query = format!("filter[updated_at][gt]={since}&sort=updated_at&page_size=250");
        let items = walk(service, &format!("{FILES}?{query}"), "next", |_| {}).concat();
        for id in items.iter().filter_map(|item| item["id"].as_str()) {
            assert!(seen.insert(id.to_owned()), "{id} came twice");
        }
        if !items.is_empty() {
            latest = newest(&items);
        }
    };
    let created: BTreeSet<_> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| (0..40).map(|_| service.create(FILES, "{}").id).collect::<Vec<_>>())
            })
            .collect();
        while writers.iter().any(|writer| !writer.is_finished()) {
            poll();
        }
        writers.into_iter().flat_map(|writer| writer.join().expect("ids")).collect()
    });
    poll();
    poll();
    let missed = created.difference(&seen).count();
    assert_eq!(missed, 0, "of {} items that were created while somebody polled", created.len());
}

fn newest(items: &[Value]) -> String {
    let times = items.iter().map(|item| item["_meta"]["updated_at"].as_str().expect("a time"));
    times.max().expect("an item").to_owned()
}

fn targets(collection: &str, views: &[&str]) -> Vec<String> {
    views.iter().map(|view| format!("{collection}?{view}")).collect()
}

/// Asserts that a write changes the tag of each view: 304 is answered before it, and 200 after.
#[track_caller]
fn tags_change(service: &Service, path: &str, views: &[&str], write: Request, status: u16) {
    let targets = targets(path, views);
    let tags = known_tags(service, &targets);
    let step = write.sentence();
    write.expect(status);
    for (target, tag) in targets.iter().zip(tags) {
        for method in ["GET", "HEAD"] {
            let answer = service.request(method, target).header("if-none-match", &tag).expect(200);
            assert_ne!(answer.etag(), tag, "{step}: {answer}");
        }
    }
}

/// Asserts that a request leaves the tag of each view as it is.
#[track_caller]
fn tags_stay(service: &Service, path: &str, views: &[&str], request: Request, status: u16) {
    let targets = targets(path, views);
    let tags = known_tags(service, &targets);
    request.expect(status);
    assert_eq!(known_tags(service, &targets), tags);
}

/// The tag of each target, under which it answers 304.
#[track_caller]
fn known_tags(service: &Service, targets: &[String]) -> Vec<String> {
    let tag = |target: &String| {
        let tag = service.read(target).etag();
        for method in ["GET", "HEAD"] {
            let answer = service
                .request(method, target)
                .header("if-none-match", format!("\"other\", {tag}"))
                .expect(304);
            assert_eq!(answer.etag(), tag, "{answer}");
        }
        tag
    };
    targets.iter().map(tag).collect()
}
