//! `/v1/changes`: every write of every group, in the order of the commits, none missed and none
//! twice.

use std::collections::BTreeSet;
use std::thread::{self, ScopedJoinHandle};

use serde_json::Value;
use tests::{Answer, Service, Store};

use crate::PROPOSAL;

const CHANGES: &str = "/v1/changes";

tests::cases![
    every_write_of_every_group_is_listed_in_its_order,
    a_reader_continues_after_any_change,
    changes_of_one_group_are_listed_alone,
    a_page_of_a_group_ends_at_the_end_of_the_log,
    invalid_queries_are_refused_with_a_hint,
    readers_miss_and_repeat_nothing_while_many_write,
];

/// The page after one.
fn next(service: &Service, page: &Answer) -> Answer {
    service.read(&page.link("next").expect("a next link on every page"))
}

fn changes(page: &Answer) -> Vec<Value> {
    page.embedded("changes")
}

/// All changes after a page, and the empty page after them.
fn follow(service: &Service, mut page: Answer) -> (Vec<Value>, Answer) {
    let mut all = Vec::new();
    loop {
        page = next(service, &page);
        match changes(&page).as_slice() {
            [] => return (all, page),
            more => all.extend_from_slice(more),
        }
    }
}

/// The empty page at the end of the log, of all groups or of one.
fn end(service: &Service, query: &str) -> Answer {
    follow(service, service.list(CHANGES, query)).1
}

fn short(change: &Value) -> String {
    let text = |member: &str| change[member].as_str().expect("a string");
    format!("{} {} {}", text("group"), text("kind"), change["version"])
}

fn every_write_of_every_group_is_listed_in_its_order(service: &Service) {
    let empty = service.read(CHANGES);
    assert!(changes(&empty).is_empty());
    let proposal = service.create("/v1/proposals", PROPOSAL);
    let item = service.create(&format!("{}/lib", proposal.path), "{}");
    service.replace(&item.path, r#"{"a":1}"#);
    service.change(&item.path, r#"{"b":1}"#);
    service.change(&item.path, r#"{"b":1}"#);
    service.replace("/v1/cashprogram", "[{}]");
    service.put(&proposal.path).json("{}").expect(422);
    service.remove(&proposal.path);
    let (listed, last) = follow(service, empty);
    let mut short: Vec<_> = listed.iter().map(short).collect();
    short[5..].sort();
    assert_eq!(
        short,
        [
            "proposals created 1",
            "lib created 1",
            "lib replaced 2",
            "lib patched 3",
            "cashprogram created 1",
            "lib deleted 4",
            "proposals deleted 2"
        ]
    );
    assert!(listed.iter().all(|change| change["caller"].is_null()), "{listed:?}");
    assert!(listed.is_sorted_by_key(|change| change["time"].as_str()), "{listed:?}");
    assert_eq!(listed[0]["item_id"], proposal.id);
    let cash = listed[4]["_links"]["item"]["href"].as_str().expect("a link");
    service.read(&last.path_of(cash));
    let created = service.create("/status", "{}");
    let (listed, _) = follow(service, last);
    assert_eq!((listed.len(), &listed[0]["item_id"]), (1, &Value::from(created.id)));
}

fn a_reader_continues_after_any_change(service: &Service) {
    let start = end(service, "");
    for number in 0..7 {
        service.create("/v1/files", &format!("{{\"n\":{number}}}"));
    }
    let all = follow(service, start).0;
    assert_eq!(all.len(), 7);
    for (index, change) in all.iter().enumerate() {
        let after = change["cursor"].as_str().expect("a cursor");
        let page = service.list(CHANGES, &format!("after={after}&page_size=2"));
        assert_eq!(changes(&page), all[index + 1..].iter().take(2).cloned().collect::<Vec<_>>());
        assert_eq!(page.value()["page_size"], 2);
    }
}

fn changes_of_one_group_are_listed_alone(service: &Service) {
    let start = end(service, "group=statuses&page_size=2");
    for _ in 0..5 {
        service.create("/v1/files", "{}");
        service.create("/v1/statuses", "{}");
    }
    let (listed, last) = follow(service, start);
    assert_eq!(listed.iter().map(short).collect::<Vec<_>>(), ["statuses created 1"; 5]);
    service.create("/v1/files", "{}");
    let unchanged = next(service, &last);
    assert!(changes(&unchanged).is_empty());
    service.create("/v1/statuses", "{}");
    assert_eq!(follow(service, unchanged).0.len(), 1);
}

/// A write is in the page of its group at once, even after earlier reads of the page.
fn a_page_of_a_group_ends_at_the_end_of_the_log(service: &Service) {
    let before = changes(&service.list(CHANGES, "group=gadscores")).len();
    for number in 1..=6 {
        service.create("/v1/gadscores", "{}");
        service.create("/v1/statuses", "{}");
        let page = service.list(CHANGES, "group=gadscores");
        assert_eq!(changes(&page).len(), before + number);
    }
}

fn invalid_queries_are_refused_with_a_hint(service: &Service) {
    service.create("/v1/files", "{}");
    let first = changes(&service.read(CHANGES)).remove(0);
    let cursor = first["cursor"].as_str().expect("a cursor");
    for (query, hint) in [
        ("group=proposal", "Did you mean `proposals`?"),
        ("group=", "Use `"),
        ("after=", "omit `after`"),
        ("after=x", "omit `after`"),
        (&format!("after={}", &cursor[1..]), "omit `after`"),
        (&format!("after={cursor}A"), "omit `after`"),
        ("page_size=0", "from 1 to 250"),
        ("page_size=251", "from 1 to 250"),
        ("page=1", "Did you mean `page_size`?"),
        ("groups=files", "Did you mean `group`?"),
        ("group=files&group=files", "more than once"),
    ] {
        let refused = service.get(&format!("{CHANGES}?{query}")).expect(400);
        assert!(refused.text().contains(hint), "{query}: {refused}");
    }
    service.post(CHANGES).json("{}").expect(405);
    service.get(CHANGES).accept("text/html").expect(406);
    let end = format!("{CHANGES}?after={cursor}&page_size=250");
    let tag = service.get(&end).accept("application/json").expect(200).of_type("application/json");
    let known = || service.get(&end).header("if-none-match", tag.etag());
    known().expect(304);
    service.create("/v1/files", "{}");
    known().expect(200);
}

fn readers_miss_and_repeat_nothing_while_many_write(service: &Service) {
    all_is_listed_once(&[service]);
}

#[test]
fn readers_of_two_instances_miss_and_repeat_nothing_while_many_write() {
    let service = Service::start(Store::Postgres);
    all_is_listed_once(&[&service, &service.start_another()]);
}

/// A reader follows the log while writers create items through all instances.
fn all_is_listed_once(instances: &[&Service]) {
    let reader = instances[0];
    let mut page = end(reader, "");
    thread::scope(|scope| {
        let write = |writer: usize| {
            let service = instances[writer % instances.len()];
            let collection = if writer < 4 { "/v1/files" } else { "/status" };
            scope.spawn(move || [(); 40].map(|()| service.create(collection, "{}").id))
        };
        let writers: Vec<_> = (0..8).map(write).collect();
        let mut listed = BTreeSet::new();
        loop {
            let are_finished = writers.iter().all(ScopedJoinHandle::is_finished);
            page = next(reader, &page);
            for change in changes(&page) {
                let id = change["item_id"].as_str().expect("an id").to_owned();
                assert!(listed.insert(id), "listed twice: {change}");
            }
            if are_finished && changes(&page).is_empty() {
                break;
            }
        }
        let created = writers.into_iter().flat_map(|writer| writer.join().expect("no panic"));
        assert_eq!(listed, created.collect(), "every item once");
        assert_eq!(listed.len(), 320);
    });
}
