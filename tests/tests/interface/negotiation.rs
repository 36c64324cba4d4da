//! Representations that clients get, and bodies that they may send (RFC 9110, sections 8.3 and
//! 12.5.1).

use tests::{Request, Service};

use crate::PROPOSAL;

const VENDOR: &str = "application/vnd.proposals.v1+json";
const HAL: &str = "application/hal+json";
const JSON: &str = "application/json";

/// No media type: 406.
const NONE: &str = "";

/// `Accept` lines, and the media type that they lead to.
const ACCEPTS: &[(&str, &str, &str)] = &[
    ("anything", "*/*", HAL),
    ("any application type", "application/*", HAL),
    ("the vendor type", VENDOR, VENDOR),
    ("HAL", HAL, HAL),
    ("plain JSON", JSON, JSON),
    ("an unknown type", "text/html", NONE),
    ("any text type", "text/*", NONE),
    ("another group's type", "application/vnd.files.v1+json", NONE),
    ("another version's type", "application/vnd.proposals.v2+json", NONE),
    ("the type of problems", "application/problem+json", NONE),
    ("a known type after an unknown one", "text/html, application/json", JSON),
    ("a range as a last resort", "text/html, */*;q=0.1", HAL),
    ("a browser", "text/html,application/xml;q=0.9,image/avif,*/*;q=0.8", HAL),
    ("the highest q", "application/hal+json;q=0.4, application/json;q=0.5", JSON),
    ("three decimals", "application/hal+json;q=0.998, application/json;q=0.999", JSON),
    ("q=1 when none is given", "application/hal+json;q=0.9, application/json", JSON),
    ("spaces", "application/hal+json ; q=0.4 , application/json ; q=0.5", JSON),
    ("a tie, plain JSON first", "application/json, application/hal+json", JSON),
    ("a tie, HAL first", "application/hal+json, application/json", HAL),
    ("a tie below 1", "application/vnd.proposals.v1+json;q=0.9, application/json;q=0.9", VENDOR),
    ("a tie with a later range", "application/json;q=0.3, */*;q=0.3", JSON),
    ("a type first", "*/*;q=0.9, application/json;q=0.1, application/hal+json;q=0.2", VENDOR),
    ("the narrower range wins", "*/*;q=0.1, application/*;q=0.9", HAL),
    ("the narrower range excludes", "application/*;q=0, */*", NONE),
    ("a type within an excluded range", "application/*;q=0, application/json", JSON),
    ("a type alone", "*/*;q=0, application/json;q=0.1", JSON),
    ("HAL excluded", "*/*, application/hal+json;q=0", VENDOR),
    ("all but one", "*/*, application/hal+json;q=0, application/vnd.proposals.v1+json;q=0.0", JSON),
    ("q=0 is no match", "application/json;q=0", NONE),
    ("q=0.000 is no match", "application/json;q=0.000", NONE),
    ("everything excluded", "*/*;q=0", NONE),
    ("two lines", "text/html\napplication/json", JSON),
    ("two lines with q", "application/json;q=0.2\napplication/hal+json;q=0.9", HAL),
    ("capital letters", "APPLICATION/JSON", JSON),
    ("mixed case", "Application/Vnd.Proposals.V1+JSON", VENDOR),
    ("a capital Q", "application/json;Q=0, application/hal+json;Q=0.1", HAL),
    ("a charset", "application/json; charset=utf-8", JSON),
    ("a parameter", "application/json;indent=2;q=0.5, application/hal+json;q=0.4", JSON),
    ("a quotation", r#"application/json;profile="a,b;c";q=0.5, application/hal+json;q=0.4"#, JSON),
    ("a comma in it", r#"application/json;profile="a,b";q=0.3, application/hal+json;q=0.4"#, HAL),
    ("no subtype", "application, application/json", JSON),
    ("no subtype alone", "application", NONE),
    ("a range of types with a subtype", "*/json", NONE),
    ("no q-value in q", "application/json;q=high", NONE),
    ("a q-value above 1", "application/json;q=1.5", NONE),
    ("a q-value of four decimals", "application/json;q=0.1234", NONE),
    ("a negative q-value", "application/json;q=-1, application/hal+json", HAL),
    ("empty elements", ", ,application/json,", JSON),
    ("noise before an element", "@@;;==, application/json", JSON),
    ("noise alone", "@@;;==", NONE),
];

/// Values of `Content-Type` with `|` between them.
const ACCEPTED: &str = "application/vnd.proposals.v1+json|Application/Vnd.Proposals.V1+Json|\
    application/json|APPLICATION/JSON|application/json;charset=utf-8|\
    application/json; charset=UTF-8|application/json ; Charset=\"utf-8\"";
const REFUSED: &str = "application/json; charset=iso-8859-1|application/json; charset=utf-16|\
    application/hal+json|application/problem+json|application/merge-patch+json|\
    application/vnd.files.v1+json|application/vnd.proposals.v2+json|application/vnd.proposals+json|\
    application/*|*/*|application/x-www-form-urlencoded|text/json|text/plain|json|application/|\
    application/jsonx";

tests::cases![
    the_accept_lines_choose_the_representation,
    the_content_type_decides_whether_a_body_is_accepted,
    get_and_delete_are_judged_by_a_body_they_carry_not_by_a_stray_header,
    every_representation_is_the_same_body,
    the_status_resource_has_three_vendor_names,
];

fn the_accept_lines_choose_the_representation(service: &Service) {
    let item = service.create("/v1/proposals", PROPOSAL);
    let many = "text/html;q=0.5,".repeat(1000) + JSON;
    for (case, lines, expected) in ACCEPTS.iter().chain(&[("many elements", &*many, JSON)]) {
        println!("{case}: {lines}");
        for target in ["/v1/proposals", &item.path] {
            let request = lines.lines().fold(service.get(target), Request::accept);
            match *expected {
                NONE => request.expect(406).of_type(JSON),
                content_type => request.expect(200).of_type(content_type),
            };
        }
    }
    service.read("/v1/proposals").of_type(HAL);
    // Bytes that are not text are one malformed element.
    let bytes = |accept: &[u8]| service.get("/v1/proposals").accept(accept).send();
    bytes(b"\xff\xfe, application/json").expect(200).of_type(JSON);
    bytes(b"\xff").expect(406).of_type(JSON);
    bytes(b"").expect(406).of_type(JSON);
}

fn the_content_type_decides_whether_a_body_is_accepted(service: &Service) {
    let item = service.create("/v1/proposals", PROPOSAL);
    for (method, target, success) in
        [("POST", "/v1/proposals", 201), ("PUT", &item.path, 200), ("PATCH", &item.path, 200)]
    {
        for (content_types, status) in [(ACCEPTED, success), (REFUSED, 415)] {
            for content_type in content_types.split('|') {
                service.request(method, target).body(content_type, PROPOSAL).expect(status);
            }
        }
    }
    service.post("/v1/proposals").untyped_body(PROPOSAL).expect(415);
    service.post("/v1/proposals").untyped_body(PROPOSAL).chunked().expect(415);
}

fn get_and_delete_are_judged_by_a_body_they_carry_not_by_a_stray_header(service: &Service) {
    for stray in ["text/plain", "application/hal+json", "nonsense"] {
        let item = service.create("/v1/proposals", PROPOSAL);
        service.get(&item.path).body(stray, "{}").expect(415);
        service.delete(&item.path).body(stray, "{}").expect(415);
        service.delete(&item.path).untyped_body("{}").expect(415);
        service.get(&item.path).header("content-type", stray).expect(200);
        service.delete(&item.path).header("content-type", stray).expect(204);
    }
    let item = service.create("/v1/proposals", PROPOSAL);
    service.get(&item.path).json("{}").expect(200);
    service.delete(&item.path).json("{}").expect(204);
}

fn every_representation_is_the_same_body(service: &Service) {
    let item = service.create("/v1/proposals", PROPOSAL);
    for target in ["/v1/proposals", &item.path] {
        let hal = service.get(target).accept(HAL).expect(200);
        for other in [VENDOR, JSON] {
            let answer = service.get(target).accept(other).expect(200);
            assert_eq!(answer.text(), hal.text(), "{target} as {other}");
        }
    }
}

/// `/status` is one resource that the specification documents under three vendor names.
fn the_status_resource_has_three_vendor_names(service: &Service) {
    let names = ["proposedprograms", "gadscores", "proposals"];
    let vendor_type = |group: &str| format!("application/vnd.{group}.v1+json");
    let read = |path: &str, asked: &str| {
        service.get(path).accept(vendor_type(asked)).expect(200).of_type(&vendor_type(asked))
    };
    for sent in names {
        let body = r#"{"subject":"Received"}"#;
        let created = service.post("/status").body(&vendor_type(sent), body).expect(201);
        for asked in names {
            let answer = read(&format!("/status/{}", created.id()), asked);
            assert_eq!(answer.text(), created.text(), "the item is the same under {asked}");
            read("/status", asked);
        }
    }
    assert_eq!(service.read("/status").embedded("status").len(), names.len());
    for other in ["status", "statuses", "files", "lib", "cashprogram"] {
        service.get("/status").accept(vendor_type(other)).expect(406);
        service.post("/status").body(&vendor_type(other), "{}").expect(415);
    }
    let both = format!("{};q=0.5, {}", vendor_type("proposals"), vendor_type("gadscores"));
    service.get("/status").accept(both).expect(200).of_type(&vendor_type("gadscores"));
    service.read("/status").of_type(HAL);
}
