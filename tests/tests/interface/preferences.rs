//! `Prefer: return=minimal` (RFC 7240): a write is answered without what was written.

use tests::{Answer, Request, Service};

use crate::PROPOSAL;

const MINIMAL: &str = "return=minimal";

pub fn minimal(request: Request) -> Answer {
    request.header("prefer", MINIMAL).send()
}

/// Asserts that a response has no body, and has the headers that describe the write.
pub fn without_body(answer: Answer, status: u16) -> Answer {
    let answer = answer.expect(status);
    assert!(answer.body.is_empty(), "{answer}");
    assert_eq!(answer.header("preference-applied"), Some(MINIMAL), "{answer}");
    assert!(answer.header("content-type").is_some(), "{answer}");
    let vary = answer.headers.get_all("vary").iter().map(|line| line.to_str().expect("text"));
    assert!(vary.collect::<Vec<_>>().join(",").contains("Prefer"), "{answer}");
    answer
}

/// Asserts that the item has the tag and the time of the response to a write.
fn describes(answer: &Answer, service: &Service, path: &str) {
    let item = service.read(path);
    assert_eq!(item.etag(), answer.etag(), "{answer}");
    assert_eq!(item.header("last-modified"), answer.header("last-modified"), "{answer}");
}

fn location(answer: &Answer) -> String {
    answer.path_of(answer.needed_header("location"))
}

tests::cases![
    every_write_is_answered_without_a_body,
    a_preference_is_acknowledged_where_it_is_met,
    errors_have_a_body_for_every_preference,
    it_goes_with_keys_and_dry_runs,
];

fn every_write_is_answered_without_a_body(service: &Service) {
    let send = |request: Request, status| without_body(minimal(request), status);
    let created = send(service.post("/v1/proposals").json(PROPOSAL), 201);
    let path = location(&created);
    describes(&created, service, &path);
    let continued = send(service.post(&path).json(PROPOSAL), 201);
    describes(&continued, service, &location(&continued));
    let tag = service.read(&path).etag();
    let put = send(service.put(&path).header("if-match", tag).json(PROPOSAL), 204);
    describes(&put, service, &path);
    let change = service.patch(&path).header("if-match", put.etag());
    describes(&send(change.json(r#"{"end_date":"2030-01-01"}"#), 204), service, &path);
    let restore = || service.post(&format!("{path}/versions/1"));
    describes(&send(restore(), 204), service, &path);
    minimal(service.delete(&path)).expect(204);
    let restored = send(restore(), 201);
    assert_eq!(location(&restored), path);
    describes(&restored, service, &path);
    let item = location(&send(service.post(&format!("{path}/lib")).json("{}"), 201));
    assert!(item.starts_with(&format!("{path}/lib/")), "{item}");
    let replaced = send(service.put("/v1/cashprogram").json(r#"[{"n":1},{"n":2}]"#), 204);
    let listed = service.list("/v1/cashprogram", "");
    assert_eq!((listed.etag(), listed.items().len()), (replaced.etag(), 2), "{listed}");
    assert_eq!(replaced.header("link"), None, "{replaced}");
}

fn a_preference_is_acknowledged_where_it_is_met(service: &Service) {
    for (lines, applied) in [
        (&["return=representation"][..], Some("return=representation")),
        (&["respond-async, wait=10", "Return = \"minimal\"; x=y"], Some(MINIMAL)),
        (&["return=minimal", "return=representation"], None),
        (&["return=MINIMAL"], None),
        (&["handling=strict, other"], None),
        (&["return=\"minimal"], None),
        (&[","], None),
        (&[], None),
    ] {
        let request = service.post("/v1/files").json("{}");
        let request = lines.iter().fold(request, |request, line| request.header("prefer", line));
        let answer = request.expect(201);
        assert_eq!(answer.header("preference-applied"), applied, "{lines:?}: {answer}");
        assert_eq!(answer.body.is_empty(), applied == Some(MINIMAL), "{lines:?}: {answer}");
    }
    let strange = service.post("/v1/files").header("prefer", b"\xff, return=minimal").json("{}");
    without_body(strange.send(), 201);
    let read = minimal(service.get("/v1/files")).expect(200);
    assert_eq!(read.header("preference-applied"), None, "a read shows what there is: {read}");
    assert!(!read.items().is_empty());
}

fn errors_have_a_body_for_every_preference(service: &Service) {
    let item = service.create("/v1/proposals", PROPOSAL);
    for (request, status) in [
        (service.post("/v1/proposals").json("{}"), 422),
        (service.put(&item.path).json("{"), 400),
        (service.put(&item.path).header("if-match", "\"9\"").json(PROPOSAL), 412),
        (service.put("/v1/cashprogram").json(r#"[{"id":"x"}]"#), 422),
    ] {
        let answer = minimal(request).expect(status);
        assert_eq!(answer.value()["status"], status, "{answer}");
        assert_eq!(answer.header("preference-applied"), None, "{answer}");
    }
}

fn it_goes_with_keys_and_dry_runs(service: &Service) {
    let post = || service.post("/v1/files").header("idempotency-key", "\"k\"").json("{}");
    let tried = service.post("/v1/files?dry_run=true").json("{}");
    let tried = without_body(minimal(tried), 201);
    assert!(tried.etag().contains("-dry-run"), "{tried}");
    assert_eq!(service.list("/v1/files", "").value()["total_items"], 0);
    let first = without_body(minimal(post()), 201);
    let again = without_body(minimal(post()), 201);
    for name in ["location", "etag", "last-modified"] {
        assert_eq!(first.needed_header(name), again.needed_header(name));
    }
    let (shown, path) = (post().expect(201), location(&first));
    assert!(location(&shown) == path && path.ends_with(&shown.id()), "{shown}");
    assert_eq!(service.list("/v1/files", "").value()["total_items"], 1, "it was done once");
    let tried = service.put(&format!("{path}?dry_run=true")).json(r#"{"a":1}"#);
    without_body(minimal(tried), 204);
    let tried = service.put("/v1/cashprogram?dry_run=true").json(r#"[{"n":1}]"#);
    without_body(minimal(tried), 204);
    assert_eq!(service.get(&path).send().etag(), first.etag(), "nothing was stored");
}
