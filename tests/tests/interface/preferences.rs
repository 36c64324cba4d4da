//! `Prefer: return=minimal` (RFC 7240): a write is answered without what was written.

use tests::{Answer, Request, Service, Store, on_each_store};

use crate::PROPOSAL;
use crate::rules::with_rules;

const MINIMAL: &str = "return=minimal";

fn minimal(request: Request) -> Answer {
    request.header("prefer", MINIMAL).send()
}

/// Asserts that a response has no body, and the headers that say all the same what was done.
fn without_body(answer: Answer, status: u16) -> Answer {
    let answer = answer.expect(status);
    assert!(answer.body.is_empty(), "{answer}");
    assert_eq!(answer.header("preference-applied"), Some(MINIMAL), "{answer}");
    assert!(answer.header("content-type").is_some(), "{answer}");
    let vary = answer.headers.get_all("vary").iter().map(|line| line.to_str().expect("text"));
    assert!(vary.collect::<Vec<_>>().join(",").contains("Prefer"), "{answer}");
    answer
}

/// Asserts that the item has the tag and the time that a write told.
fn leads_to(service: &Service, path: &str, told: &Answer) {
    let item = service.get(path).send().expect(200);
    assert_eq!(item.etag(), told.etag(), "{told}");
    assert_eq!(item.header("last-modified"), told.header("last-modified"), "{told}");
}

#[test]
fn every_write_is_answered_without_a_body() {
    on_each_store(|service| {
        let created = without_body(minimal(service.post("/v1/proposals").json(PROPOSAL)), 201);
        let path = created.path_of(created.needed_header("location"));
        leads_to(service, &path, &created);
        let continued = without_body(minimal(service.post(&path).json(PROPOSAL)), 201);
        let other = continued.path_of(continued.needed_header("location"));
        leads_to(service, &other, &continued);
        let tag = service.get(&path).send().etag();
        let put = service.put(&path).header("if-match", tag).json(PROPOSAL);
        let put = without_body(minimal(put), 204);
        leads_to(service, &path, &put);
        let change = service.patch(&path).header("if-match", put.etag());
        let changed = minimal(change.json(r#"{"end_date":"2030-01-01"}"#));
        leads_to(service, &path, &without_body(changed, 204));
        let restored = minimal(service.post(&format!("{path}/versions/1")));
        leads_to(service, &path, &without_body(restored, 204));
        minimal(service.delete(&path)).expect(204);
        let restored = without_body(minimal(service.post(&format!("{path}/versions/1"))), 201);
        assert_eq!(restored.path_of(restored.needed_header("location")), path);
        leads_to(service, &path, &restored);
        let item = without_body(minimal(service.post(&format!("{path}/lib")).json("{}")), 201);
        let item = item.path_of(item.needed_header("location"));
        assert!(item.starts_with(&format!("{path}/lib/")), "{item}");
        let body = r#"[{"n":1},{"n":2}]"#;
        let replaced = without_body(minimal(service.put("/v1/cashprogram").json(body)), 204);
        let listed = service.list("/v1/cashprogram", "");
        assert_eq!((listed.etag(), listed.items().len()), (replaced.etag(), 2), "{listed}");
        assert_eq!(replaced.header("link"), None, "{replaced}");
    });
}

#[test]
fn a_preference_is_acknowledged_where_it_is_met() {
    let service = Service::start(Store::Sqlite);
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
        let answer = request.send().expect(201);
        assert_eq!(answer.header("preference-applied"), applied, "{lines:?}: {answer}");
        assert_eq!(answer.body.is_empty(), applied == Some(MINIMAL), "{lines:?}: {answer}");
    }
    let strange = service.post("/v1/files").header("prefer", b"\xff, return=minimal").json("{}");
    without_body(strange.send(), 201);
    let read = minimal(service.get("/v1/files")).expect(200);
    assert_eq!(read.header("preference-applied"), None, "a read shows what there is: {read}");
    assert!(!read.items().is_empty());
}

#[test]
fn errors_are_told_whatever_is_preferred() {
    on_each_store(|service| {
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
    });
}

#[test]
fn it_goes_with_keys_and_dry_runs() {
    on_each_store(|service| {
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
        let shown = post().send().expect(201);
        assert_eq!(shown.needed_header("location"), first.needed_header("location"));
        assert!(first.needed_header("location").ends_with(&shown.id()), "{shown}");
        assert_eq!(service.list("/v1/files", "").value()["total_items"], 1, "it was done once");
        let path = first.path_of(first.needed_header("location"));
        let tried = service.put(&format!("{path}?dry_run=true")).json(r#"{"a":1}"#);
        without_body(minimal(tried), 204);
        let tried = service.put("/v1/cashprogram?dry_run=true").json(r#"[{"n":1}]"#);
        without_body(minimal(tried), 204);
        assert_eq!(service.get(&path).send().etag(), first.etag(), "nothing was stored");
    });
}

const SHORT: &str = r"
rules:
  - id: few_words
    group: cashprogram
    check: words(self.title) <= 2
    message: Use two words.
    field: /title
    severity: warning
";

#[test]
fn warnings_are_never_lost() {
    with_rules(SHORT, |service| {
        let (long, short) = (r#"{"title":"one two three"}"#, r#"{"title":"one two"}"#);
        let post = || service.post("/v1/cashprogram").header("idempotency-key", "\"w\"");
        for _ in 0..2 {
            let warned = minimal(post().json(long)).expect(201);
            assert_eq!(warned.header("preference-applied"), None, "{warned}");
            assert_eq!(warned.value()["_meta"]["warnings"][0]["code"], "few_words", "{warned}");
        }
        let warned = minimal(service.put("/v1/cashprogram").json(format!("[{short},{long}]")));
        let warned = warned.expect(200);
        assert_eq!(warned.header("preference-applied"), None, "{warned}");
        assert_eq!(warned.value()["_meta"]["warnings"][0]["code"], "few_words", "{warned}");
        without_body(minimal(service.put("/v1/cashprogram").json(format!("[{short}]"))), 204);
    });
}
