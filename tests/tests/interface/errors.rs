//! Problems (RFC 9457): their members, their media type, and every error of a body at once.

use std::collections::BTreeSet;

use serde_json::json;
use tests::{Answer, Request, Service, Store};

use crate::{PROPOSAL, UNKNOWN_ID};

/// One request for each status that a client can provoke.
fn provoked(service: &Service) -> Vec<(u16, Request)> {
    let item = service.create("/v1/proposals", PROPOSAL);
    let unknown = format!("/v1/proposals/{UNKNOWN_ID}");
    vec![
        (400, service.post("/v1/proposals").json("{")),
        (400, service.get("/v1/proposals?page=0")),
        (404, service.get("/v1/nothing")),
        (404, service.get(&unknown)),
        (404, service.get(&format!("{unknown}/lib"))),
        (405, service.delete("/v1/proposals")),
        (406, service.get("/v1/proposals").accept("text/html")),
        (409, service.get("/v1/proposals?page=7")),
        (412, service.delete(&item.path).header("if-match", "\"stale\"")),
        (413, service.post("/v1/files").json(vec![b' '; 9 << 20])),
        (415, service.post("/v1/proposals").body("text/plain", "{}")),
        (422, service.post("/v1/proposals").json("{}")),
    ]
}

#[test]
fn a_problem_names_its_kind_and_a_page_that_explains_it() {
    let service = Service::start(Store::Sqlite);
    for (status, request) in provoked(&service) {
        let answer = request.send().expect(status);
        let problem = answer.value();
        let code = problem["code"].as_str().unwrap();
        assert!(
            code.bytes().all(|byte| byte.is_ascii_lowercase() || b"-_".contains(&byte)),
            "a stable word on {answer}"
        );
        let page = problem["type"].as_str().unwrap();
        assert!(
            page.ends_with(&format!("/problems/{code}")),
            "the type names the code on {answer}"
        );
        let explanation = service.get(&answer.path_of(page)).accept("text/html").send().expect(200);
        assert!(
            explanation.needed_header("content-type").starts_with("text/html"),
            "{explanation}"
        );
        let shown = explanation.text().replace("&#39;", "'").replace("&amp;", "&");
        assert!(shown.contains(problem["title"].as_str().unwrap()), "{explanation}");
    }
}

#[test]
fn an_unknown_path_or_field_is_answered_with_the_nearest_name() {
    let service = Service::start(Store::Sqlite);
    for (status, path, meant) in [
        (404, "/v1/proposal".to_owned(), "`/v1/proposals`".to_owned()),
        (404, "/proposals".to_owned(), "`/v1/proposals`".to_owned()),
        (404, "/v1/lib".to_owned(), "`/lib`".to_owned()),
        (404, "/v1/proposals/".to_owned(), "`/v1/proposals`".to_owned()),
        (404, format!("/v1/proposal/{UNKNOWN_ID}"), format!("`/v1/proposals/{UNKNOWN_ID}`")),
        (404, "/exports/proposals.cvs".to_owned(), "`/exports/proposals.csv`".to_owned()),
        (404, "/explore/proposal".to_owned(), "`/explore/proposals`".to_owned()),
        (400, "/v1/proposals?sort=-start_dat".to_owned(), "`start_date`".to_owned()),
        (400, "/v1/proposals?sort=title".to_owned(), "`project_title`".to_owned()),
        (400, "/v1/changes?group=proposal".to_owned(), "`proposals`".to_owned()),
    ] {
        let answer = service.get(&path).send_unchecked().expect(status);
        let detail = answer.value()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(&format!("did you mean {meant}?")), "{path}: {detail}");
    }
    let nothing = service.get("/v1/zzz").send_unchecked().expect(404);
    assert!(nothing.text().contains("`/` links all it has"), "{nothing}");
}

#[test]
fn a_problem_comes_in_the_type_that_was_asked_for() {
    let service = Service::start(Store::Sqlite);
    for accept in ["application/json", "application/hal+json", "application/vnd.proposals.v1+json"]
    {
        let item = service.create("/v1/proposals", PROPOSAL);
        for (status, request) in [
            (400, service.post("/v1/proposals").json("[]")),
            (404, service.get(&format!("/v1/proposals/{UNKNOWN_ID}"))),
            (405, service.delete("/v1/proposals")),
            (409, service.get("/v1/proposals?page=7")),
            (412, service.delete(&item.path).header("if-match", "\"stale\"")),
            (415, service.post("/v1/proposals").body("text/plain", "{}")),
            (422, service.post("/v1/proposals").json("{}")),
        ] {
            request.accept(accept).send().expect(status).of_type(accept);
        }
    }
}

#[test]
fn every_fault_of_a_body_is_told_at_once() {
    let service = Service::start(Store::Sqlite);
    let body = json!({
        "id": UNKNOWN_ID,
        "start_date": "2026-02-30",
        "end_date": 20_261_231,
        "project_title": " ",
        "research_type": 7,
        "researcher_id": true,
        "implementation_sites": ["Albay", 1, {}],
        "projct_id": "PRJ-1",
        "a/b~c": 1,
    });
    let answer = service.post("/v1/proposals").json(body.to_string()).send().refusing(&[
        "/id",
        "/start_date",
        "/end_date",
        "/proposal_type",
        "/project_title",
        "/research_type",
        "/researcher_id",
        "/implementation_sites/1",
        "/implementation_sites/2",
        "/projct_id",
        "/a~1b~0c",
    ]);
    validation_messages_agree_with_errors(&answer);
    assert_eq!(
        answer.value()["validation_messages"].as_object().unwrap().len(),
        10,
        "one entry per field on {answer}"
    );
}

#[test]
fn faults_of_values_and_of_rules_are_told_together() {
    let service = Service::start(Store::Sqlite);
    let body =
        r#"{"proposal_type":"R&D Project","start_date":"2026-02-02","end_date":"2026-02-01"}"#;
    let answer = service.post("/v1/proposals").json(body).send().expect(422);
    let fields: BTreeSet<_> = answer.errors().into_iter().map(|error| error.field).collect();
    assert!(fields.contains("project_title"), "{answer}");
    assert!(fields.contains("start_date") || fields.contains("end_date"), "{answer}");
}

#[test]
fn errors_tell_how_to_fix_the_request_and_nothing_of_the_inside() {
    let service = Service::start(Store::Sqlite);
    for (body, wanted) in [
        (r#"{"proposal_type":"R&D Project"}"#, "project_title"),
        (
            r#"{"proposal_type":"R&D Project","project_title":"T","start_date":"31.12.2026"}"#,
            "YYYY-MM-DD",
        ),
        (r#"{"proposal_type":"R&D Project","project_title":"T","projct_id":"x"}"#, "project_id"),
        (r#"{"proposal_type":"R&D Project","project_title":"T","research_type":7}"#, "string"),
    ] {
        let answer = service.post("/v1/proposals").json(body).send().expect(422);
        let details: Vec<_> = answer.errors().into_iter().map(|error| error.detail).collect();
        assert!(
            details.iter().any(|detail| detail.contains(wanted)),
            "a detail that says {wanted} on {answer}"
        );
    }
}

#[test]
fn a_hostile_body_does_not_make_a_larger_answer() {
    let service = Service::start(Store::Sqlite);
    let members: Vec<_> = (0..100_000).map(|number| format!("\"x{number}\":0")).collect();
    let body = format!("{{{}}}", members.join(","));
    let answer = service.post("/v1/proposals").json(body.clone()).send().expect(422);
    assert!(
        answer.body.len() < body.len(),
        "{} bytes in answer to {}",
        answer.body.len(),
        body.len()
    );
}

/// For Laminas clients the same errors stand in `validation_messages: {field: {code: detail}}`.
fn validation_messages_agree_with_errors(answer: &Answer) {
    let messages = &answer.value()["validation_messages"];
    for error in answer.errors() {
        assert!(
            messages[&error.field][&error.code].is_string(),
            "{error:?} in validation_messages of {answer}"
        );
        let top_level = error
            .pointer
            .split('/')
            .nth(1)
            .unwrap_or_default()
            .replace("~1", "/")
            .replace("~0", "~");
        assert_eq!(error.field, top_level, "field of {}", error.pointer);
    }
}
