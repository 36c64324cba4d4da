//! `dry_run=true`: everything is checked, the answer is the one the write would have given, and
//! nothing is stored.

use serde_json::{Value, json};
use tests::{Answer, Service, on_each_store};

use crate::PROPOSAL;

/// The answer to a dry run and to the write itself, which is sent at once after it.
fn both(service: &Service, method: &str, path: &str, body: &str) -> (Answer, Answer) {
    let before = everything(service);
    let tried = service.request(method, &format!("{path}?dry_run=true")).json(body).send();
    assert_eq!(everything(service), before, "nothing is stored by {tried}");
    let done = service.request(method, path).json(body).send();
    (tried, done)
}

/// All that the service could show; equal when nothing was written.
fn everything(service: &Service) -> String {
    service.get("/v1/changes?page_size=250").send().expect(200).text().to_owned()
}

/// A representation without what differs from one write to the next: the id, the times, and whether
/// it is a dry run.
fn comparable(answer: &Answer) -> Value {
    let mut value = answer.value();
    let id = value["id"].as_str().expect("an id").to_owned();
    let meta = value["_meta"].as_object_mut().expect("an object");
    meta.retain(|name, _| name == "version");
    serde_json::from_str(&value.to_string().replace(&id, "ID")).expect("still JSON")
}

#[test]
fn the_answer_is_that_of_the_write() {
    on_each_store(|service| {
        let program = service.create("/v1/proposedprograms", "{}");
        let proposal = service.create("/v1/proposals", PROPOSAL);
        let with_program =
            json!({ "proposal_type": "x", "project_title": "y", "program_id": program.id })
                .to_string();
        let item = service.create(&format!("{}/lib", proposal.path), r#"{"a":1}"#);
        for (method, path, body, status) in [
            ("POST", "/v1/proposals", with_program.as_str(), 201),
            ("POST", proposal.path.as_str(), with_program.as_str(), 201),
            ("PUT", &proposal.path, &with_program, 200),
            ("PATCH", &proposal.path, r#"{"end_date":"2027-01-01"}"#, 200),
            ("POST", "/status", r#"{"n":1.50}"#, 201),
            ("POST", &format!("{}/lib", proposal.path), "{}", 201),
            ("PUT", &item.path, r#"{"b":2}"#, 200),
            ("PUT", &format!("/lib/{}", item.id), r#"{"b":3}"#, 200),
        ] {
            let (tried, done) = both(service, method, path, body);
            assert_eq!((tried.status, done.status), (status, status), "{tried}");
            assert_eq!(comparable(&tried), comparable(&done));
            assert_eq!(tried.value()["_meta"]["dry_run"], true, "{tried}");
            assert!(done.value()["_meta"].get("dry_run").is_none(), "{done}");
        }
    });
}

#[test]
fn what_would_be_removed_and_restored_stays_as_it_is() {
    on_each_store(|service| {
        let first = service.create("/v1/proposals", PROPOSAL);
        let item = service.post(&first.path).json(PROPOSAL).send().expect(201).id();
        let item = format!("/v1/proposals/{item}");
        let before = everything(service);
        service.delete(&format!("{item}?dry_run=true")).send().expect(204);
        assert_eq!(everything(service), before);
        service.get(&item).send().expect(200);
        service.delete(&item).send().expect(204);
        let restore = format!("{item}/versions/1");
        let tried = service.post(&format!("{restore}?dry_run=true")).send().expect(201);
        service.get(&item).send().expect(404);
        let done = service.post(&restore).send().expect(201);
        assert_eq!(comparable(&tried), comparable(&done));
        let tried = service.post(&format!("{restore}?dry_run=true")).send().expect(200);
        assert_eq!(comparable(&tried), comparable(&service.post(&restore).send().expect(200)));
    });
}

#[test]
fn a_replacement_of_the_collection_is_tried_too() {
    on_each_store(|service| {
        let kept = service.create("/v1/cashprogram", r#"{"n":0}"#);
        service.create("/v1/cashprogram", r#"{"gone":1}"#);
        let mut elements = vec![json!({ "id": kept.id, "n": 1 })];
        elements.extend((2..32).map(|n| json!({ "n": n })));
        let (tried, done) =
            both(service, "PUT", "/v1/cashprogram", &Value::from(elements).to_string());
        let (tried, done) = (tried.expect(200), done.expect(200));
        assert_eq!(tried.each("n"), done.each("n"));
        assert_eq!(tried.value()["_meta"], json!({ "dry_run": true }));
        for member in ["total_items", "page_count", "page", "page_size"] {
            assert_eq!(tried.value()[member], done.value()[member], "{member}");
        }
        let versions = |answer: &Answer| {
            answer.items().iter().map(|item| item["_meta"]["version"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(versions(&tried), versions(&done));
    });
}

#[test]
fn everything_is_checked() {
    on_each_store(|service| {
        let item = service.create("/v1/proposals", PROPOSAL);
        for (method, path, body, status) in [
            ("POST", "/v1/proposals", "{}", 422),
            ("POST", "/v1/proposals", "{", 400),
            ("PUT", &item.path, r#"{"start_date":"x"}"#, 422),
            ("PATCH", &item.path, r#"{"project_title":null}"#, 422),
            ("PUT", "/v1/proposals/none", PROPOSAL, 404),
            ("POST", "/v1/proposals/none/lib", "{}", 404),
            ("PUT", "/v1/cashprogram", r#"[{"id":"x"}]"#, 422),
        ] {
            let (tried, done) = both(service, method, path, body);
            assert_eq!((tried.status, done.status), (status, status), "{tried}");
        }
        let tried = service
            .put(&format!("{}?dry_run=true", item.path))
            .header("if-match", "\"9\"")
            .json(PROPOSAL)
            .send();
        assert_eq!(tried.expect(412).etag(), item.etag);
    });
}

#[test]
fn its_tag_is_none_that_a_condition_holds_for() {
    on_each_store(|service| {
        let item = service.create("/v1/files", "{}");
        let tag = service
            .put(&format!("{}?dry_run=true", item.path))
            .json(r#"{"a":1}"#)
            .send()
            .expect(200)
            .etag();
        service.put(&item.path).json(r#"{"b":1}"#).send().expect(200);
        service.put(&item.path).header("if-match", tag).json(r#"{"a":1}"#).send().expect(412);
    });
}

#[test]
fn other_words_are_refused() {
    on_each_store(|service| {
        let item = service.create("/v1/files", "{}");
        let _ = service
            .put(&format!("{}?dry_run=yes", item.path))
            .json("{}")
            .send()
            .refusing_query(&["dry_run", "true"]);
        let _ = service
            .put(&format!("{}?dryrun=true", item.path))
            .json("{}")
            .send()
            .refusing_query(&["dry_run"]);
        let _ =
            service.get(&format!("{}?dry_run=true", item.path)).send().refusing_query(&["dry_run"]);
        let done = service
            .put(&format!("{}?dry_run=false", item.path))
            .json(r#"{"a":1}"#)
            .send()
            .expect(200);
        assert!(done.value()["_meta"].get("dry_run").is_none());
        assert_eq!(service.get(&item.path).send().expect(200).value()["a"], 1);
    });
}
