//! `Idempotency-Key`: a request that is sent again is done once, and answered as it was the first
//! time.

use std::time::{Duration, Instant};

use serde_json::json;
use tests::stores::TestDatabase;
use tests::{Answer, Request, Service, Store, on_each_store};

use crate::PROPOSAL;

const FILES: &str = "/v1/files";

const KEY: &str = "\"8e03978e-40d5-43dd-bc93-6894a57f9324\"";

fn with_key(request: Request, key: &str) -> Request {
    request.header("idempotency-key", key)
}

fn post(service: &Service, path: &str, key: &str, body: &str) -> Answer {
    with_key(service.post(path), key).json(body).send()
}

fn total(service: &Service, path: &str) -> u64 {
    service.get(path).send().expect(200).value()["total_items"].as_u64().expect("a number")
}

/// The parts of an answer that stay the same: all but what names the request and the moment.
fn lasting(answer: &Answer) -> (u16, Vec<(String, String)>, String) {
    let headers = answer
        .headers
        .iter()
        .filter(|(name, _)| !["x-request-id", "date"].contains(&name.as_str()));
    let mut headers: Vec<_> = headers
        .map(|(name, value)| (name.to_string(), value.to_str().expect("a string").to_owned()))
        .collect();
    headers.sort();
    (answer.status, headers, answer.text().to_owned())
}

#[test]
fn the_first_answer_is_given_again_whatever_happened_since() {
    on_each_store(|service| {
        let program = service.create("/v1/proposedprograms", "{}");
        let body = json!({ "proposal_type": "x", "project_title": "y", "program_id": program.id })
            .to_string();
        let first = post(service, "/v1/proposals", KEY, &body).expect(201);
        let item = format!("/v1/proposals/{}", first.id());
        let again = |what: &str| {
            assert_eq!(
                lasting(&post(service, "/v1/proposals", KEY, &body)),
                lasting(&first),
                "{what}"
            );
        };
        again("at once");
        service.put(&item).json(PROPOSAL).send().expect(200);
        again("after a change");
        service.post(&item).json(PROPOSAL).send().expect(201);
        service.delete(&program.path).send().expect(204);
        again("after its links changed");
        let _ = service.get(&item).send().expect(200).with_members(PROPOSAL);
        service.delete(&item).send().expect(204);
        again("after its removal");
        service.get(&item).send().expect(404);
        assert_eq!(total(service, "/v1/proposals"), 1, "the continuation alone");
    });
}

#[test]
fn every_post_can_be_sent_again() {
    on_each_store(|service| {
        let proposal = service.create("/v1/proposals", PROPOSAL);
        service
            .put(&proposal.path)
            .json(r#"{"proposal_type":"x","project_title":"second"}"#)
            .send()
            .expect(200);
        let gone = service.create(FILES, r#"{"n":1}"#);
        service.delete(&gone.path).send().expect(204);
        for (path, body) in [
            ("/v1/statuses", "{}"),
            (&format!("{}/lib", proposal.path), "{}"),
            (&proposal.path, PROPOSAL),
            (&format!("{}/versions/1", proposal.path), ""),
            (&format!("{}/versions/1", gone.path), ""),
        ] {
            let send = || {
                let request = with_key(service.post(path), KEY);
                if body.is_empty() { request.send() } else { request.json(body).send() }
            };
            let before = service
                .get("/v1/changes?page_size=250")
                .send()
                .expect(200)
                .embedded("changes")
                .len();
            let first = send();
            assert!([200, 201].contains(&first.status), "{first}");
            assert_eq!(lasting(&send()), lasting(&first));
            let after = service
                .get("/v1/changes?page_size=250")
                .send()
                .expect(200)
                .embedded("changes")
                .len();
            assert_eq!(after, before + 1, "{path}");
        }
    });
}

#[test]
fn a_key_is_used_for_one_request() {
    on_each_store(|service| {
        post(service, FILES, KEY, r#"{"n":1}"#).expect(201);
        let refused = post(service, FILES, KEY, r#"{"n":2}"#).expect(422);
        assert_eq!(refused.value()["code"], "idempotency-key-reused");
        assert_eq!(total(service, FILES), 1);
        post(service, FILES, "8e03978e-40d5-43dd-bc93-6894a57f9324", r#"{"n":1}"#).expect(201);
        assert_eq!(total(service, FILES), 1, "with or without quotes it is the same key");
        post(service, FILES, "\"another\"", r#"{"n":1}"#).expect(201);
        post(service, "/v1/gadscores", KEY, r#"{"n":2}"#).expect(201);
        assert_eq!(
            (total(service, FILES), total(service, "/v1/gadscores")),
            (2, 1),
            "another path is another request"
        );
        for malformed in ["", "\"\"", "\"open", "a,b", "\"a\";q=1"] {
            assert_eq!(
                post(service, FILES, malformed, "{}").expect(400).value()["code"],
                "malformed-idempotency-key"
            );
        }
        with_key(with_key(service.post(FILES), "a"), "a").json("{}").send().expect(400);
    });
}

#[test]
fn a_refused_request_may_be_fixed_under_the_same_key() {
    on_each_store(|service| {
        post(service, "/v1/proposals", KEY, "{}").expect(422);
        post(service, "/v1/proposals", KEY, "{").expect(400);
        let created = post(service, "/v1/proposals", KEY, PROPOSAL).expect(201);
        assert_eq!(lasting(&post(service, "/v1/proposals", KEY, PROPOSAL)), lasting(&created));
        let library = format!("/v1/proposals/{}/lib", created.id());
        service.delete(&format!("/v1/proposals/{}", created.id())).send().expect(204);
        post(service, &library, KEY, "{}").expect(404);
        service.post(&format!("/v1/proposals/{}/versions/1", created.id())).send().expect(201);
        post(service, &library, KEY, "{}").expect(201);
    });
}

#[test]
fn a_dry_run_uses_up_no_key() {
    on_each_store(|service| {
        with_key(service.post(&format!("{FILES}?dry_run=true")), KEY)
            .json(r#"{"n":1}"#)
            .send()
            .expect(201);
        assert_eq!(total(service, FILES), 0);
        post(service, FILES, KEY, r#"{"n":2}"#).expect(201);
        with_key(service.post(&format!("{FILES}?dry_run=true")), KEY)
            .json(r#"{"n":3}"#)
            .send()
            .expect(201);
        assert_eq!(total(service, FILES), 1);
    });
}

/// Sends the same request many times at once; each answer is the one that was given, or tells that
/// it is at work.
fn at_once(services: &[&Service]) {
    for round in 0..10 {
        let (key, body) = (
            format!("\"round {round}\""),
            json!({ "n": round, "text": "x".repeat(500) }).to_string(),
        );
        let answers: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..24)
                .map(|sender| {
                    let (service, key, body) = (services[sender % services.len()], &key, &body);
                    scope.spawn(move || post(service, FILES, key, body))
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("an answer")).collect()
        });
        let ids: std::collections::BTreeSet<_> =
            answers.iter().filter(|answer| answer.status == 201).map(Answer::id).collect();
        assert_eq!(ids.len(), 1, "{ids:?}");
        for answer in answers.iter().filter(|answer| answer.status != 201) {
            assert_eq!(
                (answer.status, &answer.value()["code"]),
                (409, &json!("idempotency-key-in-use")),
                "{answer}"
            );
        }
        assert_eq!(total(services[0], FILES), round + 1);
    }
}

#[test]
fn a_request_sent_many_times_at_once_is_done_once() {
    on_each_store(|service| at_once(&[service]));
}

#[test]
fn a_request_sent_to_several_instances_at_once_is_done_once() {
    let service = Service::start(Store::Postgres);
    let other = service.start_another();
    at_once(&[&service, &other]);
    let first = post(&service, FILES, KEY, "{}").expect(201);
    assert_eq!(post(&other, FILES, KEY, "{}").expect(201).id(), first.id());
    post(&other, FILES, KEY, "[]").expect(400);
    post(&other, FILES, KEY, r#"{"n":1}"#).expect(422);
}

#[test]
fn while_the_first_is_at_work_the_second_is_told_so() {
    for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
        let service = Service::start_on(&database);
        service.create(FILES, "{}");
        database.while_no_write_goes_through(|| {
            std::thread::scope(|scope| {
                let first = scope.spawn(|| {
                    with_key(service.post(FILES), KEY).json("{}").send_unchecked().status
                });
                std::thread::sleep(Duration::from_millis(300));
                assert!(!first.is_finished(), "it waits");
                let second = post(&service, FILES, KEY, "{}").expect(409);
                assert_eq!(second.value()["code"], "idempotency-key-in-use");
                assert_eq!(second.needed_header("retry-after"), "1");
            });
        });
        assert_eq!(post(&service, FILES, KEY, "{}").expect(201).status, 201);
        assert_eq!(total(&service, FILES), 2, "whatever became of the first, it is done once");
    }
}

#[test]
fn keys_expire_and_are_forgotten() {
    for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
        let service = Service::start_on_with(&database, &["--idempotency-ttl", "1s"]);
        let first = post(&service, FILES, KEY, "{}").expect(201).id();
        let deadline = Instant::now() + Duration::from_secs(20);
        while database.query("SELECT key FROM idempotency_keys") != Vec::<Vec<_>>::new() {
            assert!(Instant::now() < deadline, "the key is not forgotten");
            std::thread::sleep(Duration::from_millis(100));
        }
        assert_ne!(post(&service, FILES, KEY, r#"{"another":1}"#).expect(201).id(), first);
    }
}
