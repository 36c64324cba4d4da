//! `dry_run=true`: everything is checked, the answer is the one the write would have given, and
//! nothing is stored.

use jiff::Timestamp;
use serde_json::{Value, json};
use tests::{Answer, Service};

use crate::PROPOSAL;

tests::cases![
    the_answer_is_that_of_the_write,
    a_removal_and_a_restoration_are_tried_too,
    a_replacement_of_the_collection_is_tried_too,
    everything_is_checked,
    the_tag_of_a_dry_run_meets_no_condition,
    other_values_are_refused,
];

/// The answer to a dry run and to the write itself, which is sent at once after it.
fn both(service: &Service, method: &str, path: &str, body: &str) -> (Answer, Answer) {
    let before = everything(service);
    let tried = service.request(method, &format!("{path}?dry_run=true")).json(body).send();
    assert_eq!(everything(service), before, "nothing is stored by {tried}");
    let done = service.request(method, path).json(body).send();
    (tried, done)
}

/// The changes of all groups: equal before and after a request that writes no item.
fn everything(service: &Service) -> String {
    let changes = service.read("/v1/changes?page_size=250");
    assert!(changes.embedded("changes").len() < 250, "one page shows everything");
    changes.text().to_owned()
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

fn the_answer_is_that_of_the_write(service: &Service) {
    let program = service.create("/v1/proposedprograms", "{}");
    let proposal = service.create("/v1/proposals", PROPOSAL);
    let with_program =
        json!({ "proposal_type": "x", "project_title": "y", "program_id": program.id }).to_string();
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
        let is_update = time(&tried, "created_at") < time(&tried, "updated_at");
        assert_eq!(is_update, status == 200, "{tried}");
        assert!(time(&tried, "updated_at") < time(&done, "updated_at"), "{tried} {done}");
    }
}

fn time(answer: &Answer, name: &str) -> Timestamp {
    answer.value()["_meta"][name].as_str().and_then(|time| time.parse().ok()).expect("a time")
}

fn a_removal_and_a_restoration_are_tried_too(service: &Service) {
    let first = service.create("/v1/proposals", PROPOSAL);
    let item = service.post(&first.path).json(PROPOSAL).expect(201).id();
    let item = format!("/v1/proposals/{item}");
    let before = everything(service);
    service.remove(&format!("{item}?dry_run=true"));
    assert_eq!(everything(service), before);
    service.read(&item);
    service.remove(&item);
    let restore = |query: &str| service.post(&format!("{item}/versions/1{query}"));
    for (status, state) in [(201, 404), (200, 200)] {
        let tried = restore("?dry_run=true").expect(status);
        service.get(&item).expect(state);
        assert_eq!(comparable(&tried), comparable(&restore("").expect(status)));
    }
}

fn a_replacement_of_the_collection_is_tried_too(service: &Service) {
    let cash = "/v1/cashprogram";
    let kept = service.create(cash, r#"{"n":0}"#);
    service.create(cash, r#"{"gone":1}"#);
    let mut elements = vec![json!({ "id": kept.id, "n": 1 })];
    elements.extend((2..32).map(|n| json!({ "n": n })));
    let (tried, done) = both(service, "PUT", cash, &Value::from(elements).to_string());
    let (tried, done) = (tried.expect(200), done.expect(200));
    assert_eq!(tried.each("n"), done.each("n"));
    assert_eq!(tried.value()["_meta"], json!({ "dry_run": true }));
    for member in ["total_items", "page_count", "page", "page_size"] {
        assert_eq!(tried.value()[member], done.value()[member], "{member}");
    }
    for (tried, done) in tried.each("_meta").iter().zip(done.each("_meta")) {
        assert_eq!(tried["version"], done["version"]);
    }
}

fn everything_is_checked(service: &Service) {
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
    let tried = service.put(&format!("{}?dry_run=true", item.path)).header("if-match", "\"9\"");
    assert_eq!(tried.json(PROPOSAL).expect(412).etag(), item.etag);
}

fn the_tag_of_a_dry_run_meets_no_condition(service: &Service) {
    let item = service.create("/v1/files", "{}");
    let tag = service.replace(&format!("{}?dry_run=true", item.path), r#"{"a":1}"#).etag();
    service.replace(&item.path, r#"{"b":1}"#);
    service.put(&item.path).header("if-match", tag).json(r#"{"a":1}"#).expect(412);
}

fn other_values_are_refused(service: &Service) {
    let path = service.create("/v1/files", "{}").path;
    let put = |query: &str| service.put(&format!("{path}?{query}")).json(r#"{"a":1}"#);
    put("dry_run=yes").send().refusing_query(&["dry_run", "true"]);
    put("dryrun=true").send().refusing_query(&["dry_run"]);
    service.get(&format!("{path}?dry_run=true")).send().refusing_query(&["dry_run"]);
    assert!(put("dry_run=false").expect(200).value()["_meta"].get("dry_run").is_none());
    assert_eq!(service.read(&path).value()["a"], 1);
}
