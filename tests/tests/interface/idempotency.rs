//! `Idempotency-Key`: a request that is sent again is done once, and answered as it was the first
//! time.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::json;
use tests::{Answer, Request, Service, Store};

use crate::PROPOSAL;

const FILES: &str = "/v1/files";

const KEY: &str = "\"8e03978e-40d5-43dd-bc93-6894a57f9324\"";

tests::cases![
    a_request_sent_many_times_at_once_is_done_once,
    a_second_request_is_refused_while_the_first_is_in_progress,
    the_first_answer_is_given_again_after_any_change,
    every_post_can_be_sent_again,
    a_key_is_used_for_one_request,
    a_refused_request_may_be_fixed_under_the_same_key,
    a_dry_run_uses_up_no_key,
];

fn with_key(request: Request, key: &str) -> Request {
    request.header("idempotency-key", key)
}

fn post(service: &Service, path: &str, key: &str, body: &str) -> Answer {
    with_key(service.post(path), key).json(body).send()
}

fn total(service: &Service, path: &str) -> u64 {
    service.read(path).value()["total_items"].as_u64().expect("a number")
}

/// The parts of an answer that stay the same: all but what names the request and the moment.
fn lasting(answer: &Answer) -> (u16, Vec<(&str, &[u8])>, &str) {
    let headers = answer.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let mut headers: Vec<_> =
        headers.filter(|(name, _)| !["x-request-id", "date"].contains(name)).collect();
    headers.sort_unstable();
    (answer.status, headers, answer.text())
}

fn the_first_answer_is_given_again_after_any_change(service: &Service) {
    let program = service.create("/v1/proposedprograms", "{}");
    let body =
        json!({ "proposal_type": "x", "project_title": "y", "program_id": program.id }).to_string();
    let send = || post(service, "/v1/proposals", "\"first\"", &body);
    let first = send().expect(201);
    let item = format!("/v1/proposals/{}", first.id());
    let again = |step: &str| assert_eq!(lasting(&send()), lasting(&first), "{step}");
    again("at once");
    service.replace(&item, PROPOSAL);
    again("after a change");
    service.post(&item).json(PROPOSAL).expect(201);
    service.remove(&program.path);
    again("after its links changed");
    service.read(&item).with_members(PROPOSAL);
    service.remove(&item);
    again("after its removal");
    service.get(&item).expect(404);
    assert_eq!(total(service, "/v1/proposals"), 1, "the continuation alone");
}

fn every_post_can_be_sent_again(service: &Service) {
    let proposal = service.create("/v1/proposals", PROPOSAL).path;
    service.replace(&proposal, r#"{"proposal_type":"x","project_title":"second"}"#);
    let gone = service.create(FILES, r#"{"n":1}"#);
    service.remove(&gone.path);
    let written = || service.read("/v1/changes?page_size=250").embedded("changes").len();
    for (path, body) in [
        ("/v1/statuses", "{}"),
        (&format!("{proposal}/lib"), "{}"),
        (&proposal, PROPOSAL),
        (&format!("{proposal}/versions/1"), ""),
        (&format!("{}/versions/1", gone.path), ""),
    ] {
        let send = || {
            let request = with_key(service.post(path), KEY);
            if body.is_empty() { request.send() } else { request.json(body).send() }
        };
        let before = written();
        let first = send();
        assert!([200, 201].contains(&first.status), "{first}");
        assert_eq!(lasting(&send()), lasting(&first));
        assert_eq!(written(), before + 1, "{path}");
    }
}

fn a_key_is_used_for_one_request(service: &Service) {
    post(service, FILES, KEY, r#"{"n":1}"#).expect(201);
    let refused = post(service, FILES, KEY, r#"{"n":2}"#).expect(422);
    assert_eq!(refused.value()["code"], "idempotency-key-reused");
    assert_eq!(total(service, FILES), 1);
    post(service, FILES, KEY.trim_matches('"'), r#"{"n":1}"#).expect(201);
    assert_eq!(total(service, FILES), 1, "with or without quotes it is the same key");
    post(service, FILES, "\"another\"", r#"{"n":1}"#).expect(201);
    post(service, "/v1/gadscores", KEY, r#"{"n":2}"#).expect(201);
    let totals = [FILES, "/v1/gadscores"].map(|path| total(service, path));
    assert_eq!(totals, [2, 1], "another path is another request");
    for malformed in ["", "\"\"", "\"open", "a,b", "\"a\";q=1"] {
        let refused = post(service, FILES, malformed, "{}").expect(400);
        assert_eq!(refused.value()["code"], "malformed-idempotency-key");
    }
    with_key(with_key(service.post(FILES), "a"), "a").json("{}").expect(400);
}

fn a_refused_request_may_be_fixed_under_the_same_key(service: &Service) {
    let send = |path: &str, body: &str| post(service, path, "\"fixed\"", body);
    send("/v1/proposals", "{}").expect(422);
    send("/v1/proposals", "{").expect(400);
    let created = send("/v1/proposals", PROPOSAL).expect(201);
    assert_eq!(lasting(&send("/v1/proposals", PROPOSAL)), lasting(&created));
    let proposal = format!("/v1/proposals/{}", created.id());
    let library = format!("{proposal}/lib");
    service.remove(&proposal);
    send(&library, "{}").expect(404);
    service.post(&format!("{proposal}/versions/1")).expect(201);
    send(&library, "{}").expect(201);
}

fn a_dry_run_uses_up_no_key(service: &Service) {
    let dry_run = format!("{FILES}?dry_run=true");
    for (path, body, files) in
        [(&*dry_run, r#"{"n":1}"#, 0), (FILES, r#"{"n":2}"#, 1), (&dry_run, r#"{"n":3}"#, 1)]
    {
        post(service, path, "\"dry run\"", body).expect(201);
        assert_eq!(total(service, FILES), files, "{path} {body}");
    }
}

/// Sends the same request many times at once; each answer is the first one, or refuses because that
/// is in progress.
fn at_once(services: &[&Service]) {
    for round in 0..10 {
        let key = &format!("\"round {round}\"");
        let body = &json!({ "n": round, "text": "x".repeat(500) }).to_string();
        let answers: Vec<_> = std::thread::scope(|scope| {
            let senders = services.iter().cycle().take(24);
            let threads: Vec<_> = senders
                .map(|service| scope.spawn(move || post(service, FILES, key, body)))
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("an answer")).collect()
        });
        let (done, refused): (Vec<_>, Vec<_>) =
            answers.into_iter().partition(|answer| answer.status == 201);
        let ids: BTreeSet<_> = done.iter().map(Answer::id).collect();
        assert_eq!(ids.len(), 1, "{ids:?}");
        for answer in refused {
            assert_eq!(answer.expect(409).value()["code"], "idempotency-key-in-use");
        }
        assert_eq!(total(services[0], FILES), round + 1);
    }
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

fn a_request_sent_many_times_at_once_is_done_once(service: &Service) {
    at_once(&[service]);
}

fn a_second_request_is_refused_while_the_first_is_in_progress(service: &Service) {
    let database = service.database().expect("its own");
    let send = || with_key(service.post(FILES), "\"in progress\"").json("{}");
    service.create(FILES, "{}");
    std::thread::scope(|scope| {
        let first = database.while_no_write_goes_through(|| {
            let first = scope.spawn(|| send().expect(201).id());
            std::thread::sleep(Duration::from_millis(300));
            assert!(!first.is_finished(), "it waits");
            let second = send().expect(409);
            assert_eq!(second.value()["code"], "idempotency-key-in-use");
            assert_eq!(second.needed_header("retry-after"), "1");
            first
        });
        assert_eq!(first.join().expect("an answer"), send().expect(201).id());
    });
    assert_eq!(total(service, FILES), 2, "the first is done once");
}

#[test]
fn keys_expire_and_are_deleted() {
    for store in [Store::Sqlite, Store::Postgres] {
        let service = Service::start_with(store, &["--idempotency-ttl", "1s"]);
        let first = post(&service, FILES, KEY, "{}").expect(201).id();
        let deadline = Instant::now() + Duration::from_secs(20);
        let database = service.database().expect("its own");
        while !database.query("SELECT key FROM idempotency_keys").is_empty() {
            assert!(Instant::now() < deadline, "the key is not deleted");
            std::thread::sleep(Duration::from_millis(100));
        }
        assert_ne!(post(&service, FILES, KEY, r#"{"another":1}"#).expect(201).id(), first);
    }
}
