//! Polling for news: the entity tag of a collection under any query, and the items that were written
//! since.

use std::collections::BTreeSet;

use serde_json::Value;
use tests::{Service, on_each_store};

use crate::PROPOSAL;
use crate::queries::{FILES, encoded, numbers, store_values};

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

#[test]
fn the_tag_of_every_view_changes_with_every_member() {
    on_each_store(|service| {
        let first = service.create(FILES, r#"{"n":0,"text":"rice"}"#);
        let second = service.create(FILES, r#"{"n":1,"text":"rice"}"#);
        let steps: [(&str, &dyn Fn()); 5] = [
            ("POST", &|| drop(service.create(FILES, r#"{"n":2}"#))),
            ("PUT", &|| {
                drop(
                    service
                        .put(&first.path)
                        .json(r#"{"n":0,"text":"rice and corn"}"#)
                        .send()
                        .expect(200),
                );
            }),
            ("PATCH", &|| drop(service.patch(&second.path).json(r#"{"n":3}"#).send().expect(200))),
            ("DELETE", &|| drop(service.delete(&second.path).send().expect(204))),
            ("POST of a match", &|| drop(service.create(FILES, r#"{"n":1000,"text":"rice"}"#))),
        ];
        for (step, write) in steps {
            tags_change(service, FILES, VIEWS, step, write);
        }
        tags_stay(service, FILES, VIEWS, &|| {
            drop(service.create("/v1/statuses", r#"{"n":0,"text":"rice"}"#));
        });
        tags_stay(service, FILES, VIEWS, &|| {
            drop(service.post(FILES).json("[").send().expect(400));
        });
        tags_stay(service, FILES, VIEWS, &|| {
            drop(service.patch(&first.path).json("{}").send().expect(200));
        });
    });
}

#[test]
fn the_tag_changes_when_the_collection_is_replaced() {
    on_each_store(|service| {
        let views = ["", "filter[n][gte]=0", "q=rice"];
        for body in [r#"[{"n":0,"text":"rice"},{"n":1}]"#, r#"[{"n":0,"text":"rice"}]"#, "[]"] {
            tags_change(service, "/v1/cashprogram", &views, body, &|| {
                drop(service.put("/v1/cashprogram").json(body).send().expect(200));
            });
        }
    });
}

#[test]
fn the_tag_of_a_library_changes_with_its_own_items() {
    on_each_store(|service| {
        let [mine, theirs] =
            [(); 2].map(|()| format!("{}/lib", service.create("/v1/proposals", PROPOSAL).path));
        let views = ["", "filter[n][gte]=0&sort=-n", "q=rice"];
        let item = service.create(&mine, r#"{"n":0,"text":"rice"}"#);
        let write = || {
            drop(
                service
                    .put(&item.path)
                    .json(r#"{"n":0,"text":"rice and corn"}"#)
                    .send()
                    .expect(200),
            );
        };
        tags_change(service, &mine, &views, "under the nested path", &write);
        tags_change(service, "/lib", &views, "seen from above", &write);
        let above = format!("/lib/{}", item.id);
        tags_change(service, &mine, &views, "under /lib", &|| {
            drop(service.patch(&above).json(r#"{"n":1}"#).send().expect(200));
        });
        tags_stay(service, &mine, &views, &|| drop(service.create(&theirs, r#"{"n":0}"#)));
    });
}

#[test]
fn an_empty_selection_is_polled_too() {
    on_each_store(|service| {
        let views = ["filter[n]=7", "filter[n]=7&page=3", "q=rice", "q=rice&page=2&total=none"];
        tags_stay(service, FILES, &views, &|| {});
        tags_change(service, FILES, &views, "one that does not match", &|| {
            drop(service.create(FILES, r#"{"n":6}"#));
        });
    });
}

#[test]
fn a_page_that_is_gone_is_not_unmodified() {
    on_each_store(|service| {
        let items = store_values(service, &["1", "1", "1"]);
        let target = format!("{FILES}?filter[x]=1&page_size=2&page=2");
        let tag = service.get(&target).send().expect(200).etag();
        service.get(&target).header("if-none-match", &tag).send().expect(304);
        service.delete(&items[0].path).send().expect(204);
        service.get(&target).header("if-none-match", &tag).send().expect(409);
        let current = service.get(FILES).send().expect(200).etag();
        service.get(&target).header("if-none-match", &current).send().expect(409);
        service.get(&format!("{FILES}?filter[x=1")).header("if-none-match", "*").send().expect(400);
    });
}

#[test]
fn what_is_new_is_found_by_when_it_was_written() {
    on_each_store(|service| {
        let items = store_values(service, &["1", "2", "3"]);
        let mut latest = newest(&service.list(FILES, "sort=-updated_at&page_size=1").items());
        let mut poll = |expected: &str| {
            let answer = service.list(
                FILES,
                &format!("filter[updated_at][gt]={}&sort=updated_at", encoded(&latest)),
            );
            assert_eq!(numbers(&answer), expected, "since {latest}: {answer}");
            if !expected.is_empty() {
                latest = newest(&answer.items());
            }
        };
        poll("");
        service.put(&items[1].path).json(r#"{"n":1,"x":20}"#).send().expect(200);
        service.create(FILES, r#"{"n":3}"#);
        service.patch(&items[0].path).json(r#"{"x":10}"#).send().expect(200);
        poll("1 3 0");
        poll("");
        service.patch(&items[1].path).json("{}").send().expect(200);
        service.delete(&items[2].path).send().expect(204);
        poll("");
        service.patch(&items[1].path).json(r#"{"x":21}"#).send().expect(200);
        poll("1");
    });
}

/// Writes are committed in the order of their times, so whoever asks for what is newer than the
/// newest it has seen gets everything, and nothing twice.
#[test]
fn a_poller_beside_many_writers_misses_and_repeats_nothing() {
    on_each_store(|service| {
        let first = service.post(FILES).json("{}").send().expect(201);
        let mut latest = newest(&[first.value()]);
        let mut seen = BTreeSet::new();
        let mut poll = || {
            let mut path = format!(
                "{FILES}?filter[updated_at][gt]={}&sort=updated_at&page_size=250",
                encoded(&latest)
            );
            loop {
                let page = service.get(&path).send().expect(200);
                let items = page.items();
                for id in items.iter().filter_map(|item| item["id"].as_str()) {
                    assert!(seen.insert(id.to_owned()), "{id} came twice");
                }
                if !items.is_empty() {
                    latest = newest(&items);
                }
                match page.value()["_links"]["next"]["href"].as_str() {
                    Some(next) => path = next[next.find("/v1").unwrap()..].to_owned(),
                    None => break,
                }
            }
        };
        let created: BTreeSet<_> = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        (0..40).map(|_| service.create(FILES, "{}").id).collect::<Vec<_>>()
                    })
                })
                .collect();
            while writers.iter().any(|writer| !writer.is_finished()) {
                poll();
            }
            writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
        });
        poll();
        poll();
        let missed = created.difference(&seen).count();
        assert_eq!(missed, 0, "of {} items that were created while somebody polled", created.len());
    });
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
fn tags_change(service: &Service, collection: &str, views: &[&str], step: &str, write: &dyn Fn()) {
    let targets = targets(collection, views);
    let tags = known_tags(service, &targets);
    write();
    for (target, tag) in targets.iter().zip(tags) {
        for method in ["GET", "HEAD"] {
            let answer =
                service.request(method, target).header("if-none-match", &tag).send().expect(200);
            assert_ne!(answer.etag(), tag, "{step}: {answer}");
        }
    }
}

/// Asserts that what is done leaves the tag of each view as it is.
#[track_caller]
fn tags_stay(service: &Service, collection: &str, views: &[&str], act: &dyn Fn()) {
    let targets = targets(collection, views);
    let tags = known_tags(service, &targets);
    act();
    assert_eq!(known_tags(service, &targets), tags);
}

/// The tag of each target, under which it answers 304.
#[track_caller]
fn known_tags(service: &Service, targets: &[String]) -> Vec<String> {
    let tag = |target: &String| {
        let tag = service.get(target).send().expect(200).etag();
        for method in ["GET", "HEAD"] {
            let answer = service
                .request(method, target)
                .header("if-none-match", format!("\"other\", {tag}"))
                .send()
                .expect(304);
            assert_eq!(answer.etag(), tag, "{answer}");
        }
        tag
    };
    targets.iter().map(tag).collect()
}
