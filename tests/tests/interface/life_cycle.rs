//! The life cycle of a proposal, as the rule file among the documentation's examples has it.

use std::thread;

use serde_json::{Value, json};
use tests::{Item, Request, Service, Store};

use crate::PROPOSAL;

const RULES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples/rules/life-cycle.yaml");

/// From `draft` to the end of the longest way.
const WAY: [&str; 7] =
    ["draft", "submitted", "in_review", "revision_requested", "submitted", "in_review", "approved"];

#[test]
fn every_case_holds() {
    for store in [Store::Sqlite, Store::Postgres] {
        println!("on {store:?}:");
        let service = Service::start_with(store, &["--rules", RULES]);
        only_allowed_steps_are_recorded_and_from_the_current_state(&service);
        approved_proposals_are_frozen(&service);
        of_two_verdicts_at_once_one_is_recorded(&service);
    }
}

/// A step of a proposal.
fn step(service: &Service, proposal: &Item, from: &str, to: &str) -> Request {
    let body = json!({"subject": proposal.id, "from_code": from, "to_code": to});
    service.post("/status").json(body.to_string())
}

/// Asserts that a rule, and no other, refuses a request.
#[track_caller]
fn refused(request: Request, rule: &str) {
    let codes: Vec<_> = request.expect(422).errors().into_iter().map(|error| error.code).collect();
    assert_eq!(codes, [rule]);
}

fn walk(service: &Service, proposal: &Item, way: &[&str]) {
    for pair in way.windows(2) {
        step(service, proposal, pair[0], pair[1]).expect(201);
    }
}

fn only_allowed_steps_are_recorded_and_from_the_current_state(service: &Service) {
    let proposal = service.create("/v1/proposals", PROPOSAL);
    let step = |from: &str, to: &str| step(service, &proposal, from, to);
    let message = |body: Value| service.post("/status").json(body.to_string());
    refused(step("draft", "approved"), "step_is_allowed");
    refused(step("submitted", "in_review"), "step_starts_from_current_state");
    walk(service, &proposal, &WAY[..3]);
    refused(step("submitted", "in_review"), "step_starts_from_current_state");
    let incomplete = json!({"subject": proposal.id, "to_code": "approved"});
    refused(message(incomplete), "step_is_complete");
    message(json!({"subject": proposal.id, "message": "Please call us."})).expect(201);
    let recorded = format!("/status/{}", step("in_review", "rejected").expect(201).id());
    refused(service.patch(&recorded).json(r#"{"to_code":"approved"}"#), "steps_stay");
    refused(service.delete(&recorded), "steps_stay");
}

fn approved_proposals_are_frozen(service: &Service) {
    let proposal = service.create("/v1/proposals", PROPOSAL);
    let path = &proposal.path;
    walk(service, &proposal, &WAY[..6]);
    service.replace(path, PROPOSAL);
    walk(service, &proposal, &WAY[5..]);
    for request in [
        service.put(path).json(PROPOSAL),
        service.patch(path).json(r#"{"project_title":"Another"}"#),
        service.delete(path),
        service.post(&format!("{path}/versions/1")),
    ] {
        refused(request, "approved_is_frozen");
    }
    refused(service.post(&format!("{path}/lib")).json("{}"), "approved_library_is_frozen");
    let shown = service.read(&format!("{path}?check=true")).value();
    assert_eq!(shown["_meta"]["errors"][0]["code"], "approved_is_frozen");
    let other = service.create("/v1/proposals", PROPOSAL);
    service.remove(&other.path);
    refused(step(service, &other, "draft", "submitted"), "step_has_its_subject");
}

fn of_two_verdicts_at_once_one_is_recorded(service: &Service) {
    for _ in 0..8 {
        let proposal = &service.create("/v1/proposals", PROPOSAL);
        walk(service, proposal, &WAY[..3]);
        let mut statuses = thread::scope(|scope| {
            let verdicts = ["approved", "rejected", "approved", "rejected"];
            let recorders = verdicts.map(|to| {
                scope.spawn(move || step(service, proposal, "in_review", to).send().status)
            });
            recorders.map(|recorder| recorder.join().expect("a status"))
        });
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 422, 422, 422]);
    }
}
