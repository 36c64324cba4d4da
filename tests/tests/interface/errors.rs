//! Problems (RFC 9457): their members, their media type, and every error of a body at once.

use std::collections::BTreeSet;

use serde_json::json;
use tests::{Request, Service};

use crate::{PROPOSAL, UNKNOWN_ID};

const PROPOSALS: &str = "/v1/proposals";

tests::cases![
    a_problem_names_its_code_and_a_page_that_explains_it,
    an_unknown_path_or_field_is_answered_with_the_nearest_name,
    a_problem_comes_in_the_type_that_was_asked_for,
    every_error_of_a_body_is_listed_at_once,
    errors_say_how_to_fix_the_request,
    a_hostile_body_does_not_make_a_larger_answer,
];

/// One request for each status that a client can provoke.
fn provoked(service: &Service) -> Vec<(u16, Request)> {
    let item = service.create(PROPOSALS, PROPOSAL);
    let unknown = format!("{PROPOSALS}/{UNKNOWN_ID}");
    vec![
        (400, service.post(PROPOSALS).json("{")),
        (400, service.get("/v1/proposals?page=0")),
        (404, service.get(&unknown)),
        (404, service.get(&format!("{unknown}/lib"))),
        (405, service.delete(PROPOSALS)),
        (409, service.get("/v1/proposals?page=7")),
        (412, service.delete(&item.path).header("if-match", "\"stale\"")),
        (413, service.post("/v1/proposals").json(vec![b' '; 9 << 20])),
        (415, service.post(PROPOSALS).body("text/plain", "{}")),
        (422, service.post(PROPOSALS).json("{}")),
    ]
}

fn a_problem_names_its_code_and_a_page_that_explains_it(service: &Service) {
    let others =
        [(404, service.get("/v1/nothing")), (406, service.get(PROPOSALS).accept("text/html"))];
    for (status, request) in provoked(service).into_iter().chain(others) {
        let answer = request.expect(status);
        let problem = answer.value();
        let text = |member: &str| problem[member].as_str().expect("a string");
        let (code, page) = (text("code"), text("type"));
        let is_of_code = |byte: u8| byte.is_ascii_lowercase() || b"-_".contains(&byte);
        assert!(code.bytes().all(is_of_code), "a stable word on {answer}");
        assert!(page.ends_with(&format!("/problems/{code}")), "the code in the type of {answer}");
        let explanation = service.get(&answer.path_of(page)).accept("text/html").expect(200);
        let content_type = explanation.needed_header("content-type");
        assert!(content_type.starts_with("text/html"), "{explanation}");
        let shown = explanation.text().replace("&#39;", "'").replace("&amp;", "&");
        assert!(shown.contains(text("title")), "{explanation}");
    }
}

fn an_unknown_path_or_field_is_answered_with_the_nearest_name(service: &Service) {
    for (status, path, meant) in [
        (404, "/v1/proposal", PROPOSALS),
        (404, "/proposals", PROPOSALS),
        (404, "/v1/lib", "/lib"),
        (404, "/v1/proposals/", PROPOSALS),
        (404, &format!("/v1/proposal/{UNKNOWN_ID}"), &format!("{PROPOSALS}/{UNKNOWN_ID}")),
        (404, "/exports/proposals.cvs", "/exports/proposals.csv"),
        (404, "/explore/proposal", "/explore/proposals"),
        (400, "/v1/proposals?sort=-start_dat", "start_date"),
        (400, "/v1/proposals?sort=title", "project_title"),
        (400, "/v1/changes?group=proposal", "proposals"),
    ] {
        let problem = service.get(path).send_unchecked().expect(status).value();
        let detail = problem["detail"].as_str().expect("a string");
        assert!(detail.contains(&format!("Did you mean `{meant}`?")), "{path}: {detail}");
    }
    let nothing = service.get("/v1/zzz").send_unchecked().expect(404);
    assert!(nothing.text().contains("See the links at `/`"), "{nothing}");
}

fn a_problem_comes_in_the_type_that_was_asked_for(service: &Service) {
    for accept in ["application/json", "application/hal+json", "application/vnd.proposals.v1+json"]
    {
        for (status, request) in provoked(service) {
            request.accept(accept).expect(status).of_type(accept);
        }
    }
}

fn every_error_of_a_body_is_listed_at_once(service: &Service) {
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
    let answer = service.post(PROPOSALS).json(body.to_string()).send().refusing(&[
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
    // Laminas clients find the errors in `validation_messages: {field: {code: detail}}`.
    let messages = &answer.value()["validation_messages"];
    assert_eq!(messages.as_object().map(serde_json::Map::len), Some(10), "one per field: {answer}");
    for error in answer.errors() {
        assert!(messages[&error.field][&error.code].is_string(), "{error:?} in {answer}");
        let top_level = error.pointer.split('/').nth(1).unwrap_or_default();
        assert_eq!(error.field, top_level.replace("~1", "/").replace("~0", "~"));
    }
    // Errors of values and of rules are listed together.
    let body =
        r#"{"proposal_type":"R&D Project","start_date":"2026-02-02","end_date":"2026-02-01"}"#;
    let answer = service.post(PROPOSALS).json(body).expect(422);
    let fields: BTreeSet<_> = answer.errors().into_iter().map(|error| error.field).collect();
    assert!(fields.contains("project_title"), "{answer}");
    assert!(fields.contains("start_date") || fields.contains("end_date"), "{answer}");
}

fn errors_say_how_to_fix_the_request(service: &Service) {
    let title = r#"{"proposal_type":"R&D Project","project_title":"T""#;
    for (body, wanted) in [
        (r#"{"proposal_type":"R&D Project"}"#, "project_title"),
        (&format!(r#"{title},"start_date":"31.12.2026"}}"#), "YYYY-MM-DD"),
        (&format!(r#"{title},"projct_id":"x"}}"#), "project_id"),
        (&format!(r#"{title},"research_type":7}}"#), "string"),
    ] {
        let answer = service.post(PROPOSALS).json(body).expect(422);
        let says = answer.errors().iter().any(|error| error.detail.contains(wanted));
        assert!(says, "{wanted} in a detail of {answer}");
    }
}

fn a_hostile_body_does_not_make_a_larger_answer(service: &Service) {
    let members: Vec<_> = (0..100_000).map(|number| format!("\"x{number}\":0")).collect();
    let body = format!("{{{}}}", members.join(","));
    let (sent, answer) = (body.len(), service.post(PROPOSALS).json(body).expect(422));
    assert!(answer.body.len() < sent, "{} bytes in answer to {sent}", answer.body.len());
}
