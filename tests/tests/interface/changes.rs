//! `/v1/changes`: every write of every group, in the order of the commits, none missed and none
//! twice.

use std::collections::BTreeSet;

use serde_json::Value;
use tests::{Answer, Service, Store, on_each_store};

use crate::PROPOSAL;

const CHANGES: &str = "/v1/changes";

/// The next page after one.
fn next(service: &Service, page: &Answer) -> Answer {
    let next = page.value()["_links"]["next"]["href"]
        .as_str()
        .expect("a next link on every page")
        .to_owned();
    service.get(&next[next.find("/v1").expect("a path")..]).send().expect(200)
}

fn changes(page: &Answer) -> Vec<Value> {
    page.value()["_embedded"]["changes"].as_array().expect("a list").clone()
}

/// All changes after a page, and the page on which there was nothing more.
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

fn short(change: &Value) -> String {
    format!(
        "{} {} {}",
        change["group"].as_str().expect("a group"),
        change["kind"].as_str().expect("a kind"),
        change["version"]
    )
}

#[test]
fn every_write_of_every_group_is_told_in_its_order() {
    on_each_store(|service| {
        let empty = service.get(CHANGES).send().expect(200);
        assert!(changes(&empty).is_empty());
        let proposal = service.create("/v1/proposals", PROPOSAL);
        let library = format!("{}/lib", proposal.path);
        let item = service.create(&library, "{}");
        service.put(&item.path).json(r#"{"a":1}"#).send().expect(200);
        service.patch(&item.path).json(r#"{"b":1}"#).send().expect(200);
        service.patch(&item.path).json(r#"{"b":1}"#).send().expect(200);
        service.put("/v1/cashprogram").json("[{}]").send().expect(200);
        service.put(&proposal.path).json("{}").send().expect(422);
        service.delete(&proposal.path).send().expect(204);
        let (told, last) = follow(service, empty);
        let mut short: Vec<_> = told.iter().map(short).collect();
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
        assert!(told.iter().all(|change| change["caller"].is_null()), "{told:?}");
        assert!(
            told.windows(2).all(|pair| pair[0]["time"].as_str() <= pair[1]["time"].as_str()),
            "{told:?}"
        );
        assert_eq!(told[0]["item_id"], proposal.id);
        let cash = told[4]["_links"]["item"]["href"].as_str().expect("a link");
        service.get(&cash[cash.find("/v1").expect("a path")..]).send().expect(200);
        let created = service.create("/status", "{}");
        let (told, _) = follow(service, last);
        assert_eq!((told.len(), &told[0]["item_id"]), (1, &Value::from(created.id)));
    });
}

#[test]
fn a_reader_goes_on_after_any_change() {
    on_each_store(|service| {
        for number in 0..7 {
            service.create("/v1/files", &format!("{{\"n\":{number}}}"));
        }
        let all = changes(&service.get(CHANGES).send().expect(200));
        for (index, change) in all.iter().enumerate() {
            let after = change["cursor"].as_str().expect("a cursor");
            let page =
                service.get(&format!("{CHANGES}?after={after}&page_size=2")).send().expect(200);
            assert_eq!(
                changes(&page),
                all[index + 1..].iter().take(2).cloned().collect::<Vec<_>>()
            );
            assert_eq!(page.value()["page_size"], 2);
        }
    });
}

#[test]
fn changes_of_one_group_are_told_alone() {
    on_each_store(|service| {
        let start =
            service.get(&format!("{CHANGES}?group=statuses&page_size=2")).send().expect(200);
        for _ in 0..5 {
            service.create("/v1/files", "{}");
            service.create("/v1/statuses", "{}");
        }
        let (told, last) = follow(service, start);
        assert_eq!(told.iter().map(short).collect::<Vec<_>>(), ["statuses created 1"; 5]);
        service.create("/v1/files", "{}");
        let unchanged = next(service, &last);
        assert!(changes(&unchanged).is_empty());
        service.create("/v1/statuses", "{}");
        assert_eq!(follow(service, unchanged).0.len(), 1);
    });
}

#[test]
fn what_makes_no_sense_is_refused_with_the_way_out() {
    on_each_store(|service| {
        service.create("/v1/files", "{}");
        let cursor = changes(&service.get(CHANGES).send().expect(200))[0]["cursor"]
            .as_str()
            .expect("a cursor")
            .to_owned();
        for (query, hint) in [
            ("group=proposal", "did you mean `proposals`?"),
            ("group=", "there are"),
            ("after=", "begin without it"),
            ("after=x", "begin without it"),
            (&format!("after={}", &cursor[1..]), "begin without it"),
            (&format!("after={cursor}A"), "begin without it"),
            ("page_size=0", "from 1 to 250"),
            ("page_size=251", "from 1 to 250"),
            ("page=1", "did you mean `page_size`?"),
            ("groups=files", "did you mean `group`?"),
            ("group=files&group=files", "stands twice"),
        ] {
            let refused = service.get(&format!("{CHANGES}?{query}")).send().expect(400);
            assert!(refused.text().contains(hint), "{query}: {refused}");
        }
        service.post(CHANGES).json("{}").send().expect(405);
        service.get(CHANGES).accept("text/html").send().expect(406);
        let tag = service
            .get(CHANGES)
            .accept("application/json")
            .send()
            .expect(200)
            .of_type("application/json")
            .etag();
        service.get(CHANGES).header("if-none-match", &tag).send().expect(304);
        service.create("/v1/files", "{}");
        service.get(CHANGES).header("if-none-match", &tag).send().expect(200);
    });
}

#[test]
fn beside_many_writers_nothing_is_missed_or_told_twice() {
    on_each_store(|service| all_is_told_once(&[service]));
    let service = Service::start(Store::Postgres);
    let another = service.start_another();
    all_is_told_once(&[&service, &another]);
}

/// Some readers follow the log while writers create items and replace a collection through all
/// instances.
fn all_is_told_once(instances: &[&Service]) {
    let reader = instances[0];
    let created: BTreeSet<String> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..8)
            .map(|writer: usize| {
                let service = instances[writer % instances.len()];
                scope.spawn(move || {
                    (0..40)
                        .map(|_| {
                            service
                                .create(if writer < 4 { "/v1/files" } else { "/status" }, "{}")
                                .id
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        let mut told = BTreeSet::new();
        let mut page = reader.get(CHANGES).send().expect(200);
        let mut note = |page: &Answer| {
            for change in changes(page) {
                let id = change["item_id"].as_str().expect("an id").to_owned();
                assert!(told.insert(id), "told twice: {change}");
            }
        };
        note(&page);
        while writers.iter().any(|writer| !writer.is_finished()) || !changes(&page).is_empty() {
            page = next(reader, &page);
            note(&page);
        }
        // What was committed between the last page and the end of the last writer.
        loop {
            page = next(reader, &page);
            note(&page);
            if changes(&page).is_empty() {
                break;
            }
        }
        let created =
            writers.into_iter().flat_map(|writer| writer.join().expect("no panic")).collect();
        assert_eq!(told, created, "every item once");
        created
    });
    assert_eq!(created.len(), 320);
}

/// A write is in the page of its group at once, whatever was read of it before.
#[test]
fn a_page_of_a_group_goes_to_the_end_of_the_log() {
    on_each_store(|service| {
        for number in 1..=6 {
            service.create("/v1/files", "{}");
            service.create("/v1/statuses", "{}");
            let page = service.get(&format!("{CHANGES}?group=files")).send().expect(200);
            assert_eq!(changes(&page).len(), number);
        }
    });
}
