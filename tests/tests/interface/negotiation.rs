//! Representations that clients get, and bodies that they may send (RFC 9110, sections 8.3 and
//! 12.5.1).

use tests::{Service, Store};

use crate::PROPOSAL;

const VENDOR: &str = "application/vnd.proposals.v1+json";
const HAL: &str = "application/hal+json";
const JSON: &str = "application/json";

/// The media type that `Accept` lines lead to; `None` is 406.
const ACCEPTS: &[(&str, &[&str], Option<&str>)] = &[
    ("no line at all", &[], Some(HAL)),
    ("anything", &["*/*"], Some(HAL)),
    ("any application type", &["application/*"], Some(HAL)),
    ("the vendor type", &[VENDOR], Some(VENDOR)),
    ("HAL", &[HAL], Some(HAL)),
    ("plain JSON", &[JSON], Some(JSON)),
    ("nothing we have", &["text/html"], None),
    ("any text type", &["text/*"], None),
    ("another group's type", &["application/vnd.files.v1+json"], None),
    ("another version's type", &["application/vnd.proposals.v2+json"], None),
    ("the type of problems elsewhere", &["application/problem+json"], None),
    ("something we have after something we have not", &["text/html, application/json"], Some(JSON)),
    ("a range as a last resort", &["text/html, */*;q=0.1"], Some(HAL)),
    (
        "a browser",
        &["text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"],
        Some(HAL),
    ),
    ("the highest q", &["application/hal+json;q=0.4, application/json;q=0.5"], Some(JSON)),
    (
        "the highest q, of three decimals",
        &["application/hal+json;q=0.998, application/json;q=0.999"],
        Some(JSON),
    ),
    ("q=1 when none is given", &["application/hal+json;q=0.9, application/json"], Some(JSON)),
    (
        "white space around q",
        &["application/hal+json ; q=0.4 , application/json ; q=0.5"],
        Some(JSON),
    ),
    ("a tie, plain JSON first", &["application/json, application/hal+json"], Some(JSON)),
    ("a tie, HAL first", &["application/hal+json, application/json"], Some(HAL)),
    (
        "a tie below 1",
        &["application/vnd.proposals.v1+json;q=0.9, application/json;q=0.9"],
        Some(VENDOR),
    ),
    ("a tie of a type and a later range", &["application/json;q=0.3, */*;q=0.3"], Some(JSON)),
    (
        "a type beats the range around it",
        &["*/*;q=0.9, application/json;q=0.1, application/hal+json;q=0.2"],
        Some(VENDOR),
    ),
    ("the narrower range wins", &["*/*;q=0.1, application/*;q=0.9"], Some(HAL)),
    ("the narrower range excludes", &["application/*;q=0, */*"], None),
    ("a type within an excluded range", &["application/*;q=0, application/json"], Some(JSON)),
    ("a type and nothing else", &["*/*;q=0, application/json;q=0.1"], Some(JSON)),
    ("HAL excluded", &["*/*, application/hal+json;q=0"], Some(VENDOR)),
    (
        "all but plain JSON excluded",
        &["*/*, application/hal+json;q=0, application/vnd.proposals.v1+json;q=0.0"],
        Some(JSON),
    ),
    ("q=0 is no match", &["application/json;q=0"], None),
    ("q=0.000 is no match", &["application/json;q=0.000"], None),
    ("everything excluded", &["*/*;q=0"], None),
    ("two lines", &["text/html", "application/json"], Some(JSON)),
    ("two lines with q", &["application/json;q=0.2", "application/hal+json;q=0.9"], Some(HAL)),
    ("capital letters", &["APPLICATION/JSON"], Some(JSON)),
    ("mixed case", &["Application/Vnd.Proposals.V1+JSON"], Some(VENDOR)),
    ("a capital Q", &["application/json;Q=0, application/hal+json;Q=0.1"], Some(HAL)),
    ("a charset", &["application/json; charset=utf-8"], Some(JSON)),
    (
        "another parameter",
        &["application/json;indent=2;q=0.5, application/hal+json;q=0.4"],
        Some(JSON),
    ),
    (
        "a quoted comma",
        &[r#"application/json;profile="a,b;c";q=0.5, application/hal+json;q=0.4"#],
        Some(JSON),
    ),
    ("no subtype", &["application, application/json"], Some(JSON)),
    ("no subtype and nothing else", &["application"], None),
    ("a range of types with a subtype", &["*/json"], None),
    ("no q-value in q", &["application/json;q=high"], None),
    ("a q-value above 1", &["application/json;q=1.5"], None),
    ("a negative q-value", &["application/json;q=-1, application/hal+json"], Some(HAL)),
    ("empty elements", &[", ,application/json,"], Some(JSON)),
    ("noise before an element", &["@@;;==, application/json"], Some(JSON)),
    ("nothing but noise", &["@@;;=="], None),
];

/// Returns whether a body of a `Content-Type` is taken.
const CONTENT_TYPES: &[(&str, bool)] = &[
    (VENDOR, true),
    (JSON, true),
    ("APPLICATION/JSON", true),
    ("Application/Vnd.Proposals.V1+Json", true),
    ("application/json;charset=utf-8", true),
    ("application/json; charset=UTF-8", true),
    ("application/json ; Charset=\"utf-8\"", true),
    ("application/json; charset=iso-8859-1", false),
    ("application/json; charset=utf-16", false),
    (HAL, false),
    ("application/problem+json", false),
    ("application/merge-patch+json", false),
    ("application/vnd.files.v1+json", false),
    ("application/vnd.proposals.v2+json", false),
    ("application/vnd.proposals+json", false),
    ("application/*", false),
    ("*/*", false),
    ("application/x-www-form-urlencoded", false),
    ("text/json", false),
    ("text/plain", false),
    ("json", false),
    ("application/", false),
    ("application/jsonx", false),
];

#[test]
fn the_accept_lines_choose_the_representation() {
    let service = Service::start(Store::Sqlite);
    let item = service.create("/v1/proposals", PROPOSAL);
    for (case, lines, expected) in ACCEPTS {
        println!("{case}: {lines:?}");
        for target in ["/v1/proposals", &item.path] {
            let request = lines.iter().fold(service.get(target), tests::Request::accept);
            match expected {
                Some(content_type) => request.send().expect(200).of_type(content_type),
                None => request.send().expect(406).of_type(JSON),
            };
        }
    }
}

#[test]
fn bytes_that_are_no_text_are_one_malformed_element() {
    let service = Service::start(Store::Sqlite);
    service
        .get("/v1/proposals")
        .accept(b"\xff\xfe, application/json")
        .send()
        .expect(200)
        .of_type(JSON);
    service.get("/v1/proposals").accept(b"\xff").send().expect(406).of_type(JSON);
}

#[test]
fn an_accept_header_of_many_elements_is_answered() {
    let service = Service::start(Store::Sqlite);
    let many = "text/html;q=0.5,".repeat(1000) + JSON;
    service.get("/v1/proposals").accept(many).send().expect(200).of_type(JSON);
}

#[test]
fn the_content_type_says_whether_a_body_is_taken() {
    let service = Service::start(Store::Sqlite);
    let item = service.create("/v1/proposals", PROPOSAL);
    for (content_type, is_taken) in CONTENT_TYPES {
        for (method, target, success) in
            [("POST", "/v1/proposals", 201), ("PUT", &item.path, 200), ("PATCH", &item.path, 200)]
        {
            let answer = service.request(method, target).body(content_type, PROPOSAL).send();
            answer.expect(if *is_taken { success } else { 415 });
        }
    }
    service.post("/v1/proposals").untyped_body(PROPOSAL).send().expect(415);
    service.post("/v1/proposals").untyped_body(PROPOSAL).chunked().send().expect(415);
}

#[test]
fn get_and_delete_are_judged_by_a_body_they_carry_not_by_a_stray_header() {
    let service = Service::start(Store::Sqlite);
    for stray in ["text/plain", "application/hal+json", "nonsense"] {
        let item = service.create("/v1/proposals", PROPOSAL);
        service.get(&item.path).body(stray, "{}").send().expect(415);
        service.delete(&item.path).body(stray, "{}").send().expect(415);
        service.delete(&item.path).untyped_body("{}").send().expect(415);
        service.get(&item.path).header("content-type", stray).send().expect(200);
        service.delete(&item.path).header("content-type", stray).send().expect(204);
    }
    let item = service.create("/v1/proposals", PROPOSAL);
    service.get(&item.path).json("{}").send().expect(200);
    service.delete(&item.path).json("{}").send().expect(204);
}

#[test]
fn every_representation_is_the_same_body() {
    let service = Service::start(Store::Sqlite);
    let item = service.create("/v1/proposals", PROPOSAL);
    for target in ["/v1/proposals", &item.path] {
        let hal = service.get(target).accept(HAL).send().expect(200);
        for other in [VENDOR, JSON] {
            assert_eq!(
                service.get(target).accept(other).send().expect(200).text(),
                hal.text(),
                "{target} as {other}"
            );
        }
    }
}
