//! The life cycle of a proposal, as the rule file among the documentation's examples has it.

use std::thread;

use serde_json::json;
use tests::{Answer, Item, Service, Store};

use crate::PROPOSAL;

const RULES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples/rules/life-cycle.yaml");

/// From `draft` to the end of the longest way.
const WAY: [&str; 7] =
    ["draft", "submitted", "in_review", "revision_requested", "submitted", "in_review", "approved"];

fn on_each_store(test: impl Fn(&Service)) {
    for store in [Store::Sqlite, Store::Postgres] {
        println!("on {store:?}:");
        test(&Service::start_with(store, &["--rules", RULES]));
    }
}

/// Records a step.
fn step(service: &Service, proposal: &Item, from: &str, to: &str) -> Answer {
    let body = json!({"subject": proposal.id, "from_code": from, "to_code": to});
    service.post("/status").json(body.to_string()).send()
}

fn codes(answer: &Answer) -> Vec<String> {
    let answer = answer.value();
    let errors = answer["errors"].as_array().cloned().unwrap_or_default();
    errors.iter().filter_map(|error| error["code"].as_str().map(ToOwned::to_owned)).collect()
}

fn walk(service: &Service, proposal: &Item, way: &[&str]) {
    for step_of in way.windows(2) {
        step(service, proposal, step_of[0], step_of[1]).expect(201);
    }
}

#[test]
fn only_allowed_steps_are_recorded_and_from_the_current_state() {
    on_each_store(|service| {
        let proposal = service.create("/v1/proposals", PROPOSAL);
        assert_eq!(
            codes(&step(service, &proposal, "draft", "approved").expect(422)),
            ["step_is_allowed"]
        );
        assert_eq!(
            codes(&step(service, &proposal, "submitted", "in_review").expect(422)),
            ["step_starts_from_current_state"]
        );
        walk(service, &proposal, &WAY[..3]);
        assert_eq!(
            codes(&step(service, &proposal, "submitted", "in_review").expect(422)),
            ["step_starts_from_current_state"]
        );
        let incomplete = service
            .post("/status")
            .json(json!({"subject": proposal.id, "to_code": "approved"}).to_string())
            .send();
        assert_eq!(codes(&incomplete.expect(422)), ["step_is_complete"]);
        service
            .post("/status")
            .json(json!({"subject": proposal.id, "message": "Please call us."}).to_string())
            .send()
            .expect(201);
        let recorded = step(service, &proposal, "in_review", "rejected").expect(201).value();
        let recorded = format!("/status/{}", recorded["id"].as_str().unwrap());
        assert_eq!(
            codes(&service.patch(&recorded).json(r#"{"to_code":"approved"}"#).send().expect(422)),
            ["steps_stay"]
        );
        assert_eq!(codes(&service.delete(&recorded).send().expect(422)), ["steps_stay"]);
    });
}

#[test]
fn what_is_approved_is_frozen() {
    on_each_store(|service| {
        let proposal = service.create("/v1/proposals", PROPOSAL);
        walk(service, &proposal, &WAY[..6]);
        service.put(&proposal.path).json(PROPOSAL).send().expect(200);
        walk(service, &proposal, &WAY[5..]);
        let frozen = ["approved_is_frozen"];
        assert_eq!(codes(&service.put(&proposal.path).json(PROPOSAL).send().expect(422)), frozen);
        assert_eq!(
            codes(
                &service
                    .patch(&proposal.path)
                    .json(r#"{"project_title":"Another"}"#)
                    .send()
                    .expect(422)
            ),
            frozen
        );
        assert_eq!(codes(&service.delete(&proposal.path).send().expect(422)), frozen);
        assert_eq!(
            codes(&service.post(&format!("{}/versions/1", proposal.path)).send().expect(422)),
            frozen
        );
        let library = format!("{}/lib", proposal.path);
        assert_eq!(
            codes(&service.post(&library).json("{}").send().expect(422)),
            ["approved_library_is_frozen"]
        );
        let shown =
            service.get(&format!("{}?check=true", proposal.path)).send().expect(200).value();
        assert_eq!(shown["_meta"]["errors"][0]["code"], "approved_is_frozen");
        let other = service.create("/v1/proposals", PROPOSAL);
        service.delete(&other.path).send().expect(204);
        assert_eq!(
            codes(&step(service, &other, "draft", "submitted").expect(422)),
            ["step_has_its_subject"]
        );
    });
}

#[test]
fn of_two_verdicts_at_once_one_is_recorded() {
    on_each_store(|service| {
        for _ in 0..8 {
            let proposal = service.create("/v1/proposals", PROPOSAL);
            walk(service, &proposal, &WAY[..3]);
            let statuses = thread::scope(|scope| {
                let verdicts = ["approved", "rejected", "approved", "rejected"];
                let proposal = &proposal;
                let recorders = verdicts
                    .map(|to| scope.spawn(move || step(service, proposal, "in_review", to).status));
                recorders.map(|recorder| recorder.join().expect("a status"))
            });
            let recorded = statuses.iter().filter(|status| **status == 201).count();
            assert_eq!(
                (recorded, statuses.iter().filter(|status| **status == 422).count()),
                (1, 3),
                "{statuses:?}"
            );
        }
    });
}
