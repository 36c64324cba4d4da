//! The published document: what Swagger UI offers under "Try it out" works as it stands.

#![expect(clippy::unwrap_used, reason = "a document that lacks what is asked of it fails the test")]

use serde_json::Value;
use tests::{Service, Store, send_bytes};

/// An operation of the document.
struct Operation {
    method: String,
    path: String,
    description: Value,
}

impl Operation {
    /// The path with the examples of its parameters.
    fn target(&self) -> String {
        let parameters = self.description["parameters"].as_array().into_iter().flatten();
        parameters.filter(|parameter| parameter["in"] == "path").fold(
            self.path.clone(),
            |path, parameter| {
                let name = parameter["name"].as_str().unwrap();
                let example = match &parameter["schema"]["example"] {
                    Value::String(text) => text.clone(),
                    Value::Number(number) => number.to_string(),
                    _ => panic!("no example of {name} in {path}"),
                };
                path.replace(&format!("{{{name}}}"), &example)
            },
        )
    }

    /// The media type that is offered first, and its example.
    fn body<'a>(&self, document: &'a Value) -> Option<(String, &'a Value)> {
        let offered = self.description["requestBody"]["content"].as_object()?;
        let (media_type, offered) = offered.iter().find(|(_, of)| of["examples"].is_object())?;
        let reference = offered["examples"].as_object()?.values().next()?["$ref"].as_str()?;
        Some((media_type.clone(), &document.pointer(reference.trim_start_matches('#'))?["value"]))
    }

    fn success(&self) -> u16 {
        let statuses = self.description["responses"].as_object().unwrap().keys();
        statuses
            .filter_map(|status| status.parse().ok())
            .find(|status| (200..300).contains(status))
            .unwrap()
    }
}

fn operations(document: &Value) -> Vec<Operation> {
    let paths = document["paths"].as_object().unwrap().iter();
    let of_path = |(path, methods): (&String, &Value)| {
        let methods = methods.as_object().unwrap().clone();
        let path = path.clone();
        methods.into_iter().map(move |(method, description)| Operation {
            method: method.to_uppercase(),
            path: path.clone(),
            description,
        })
    };
    paths.flat_map(of_path).collect()
}

fn demonstration() -> Service {
    Service::start_with(Store::Sqlite, &["--demo"])
}

fn document(service: &Service) -> Value {
    serde_json::from_str(service.get("/openapi.json").send().expect(200).text()).unwrap()
}

/// Editors find the JSON Schema of rule files at every service; it is the one in the repository.
#[test]
fn the_schema_of_rule_files_is_served() {
    let service = Service::start(Store::Sqlite);
    let answer = service.get("/schemas/rules.json").send().expect(200);
    assert_eq!(answer.needed_header("content-type"), "application/json");
    assert_eq!(answer.text(), include_str!("../../../docs/schemas/rules.json"));
    let known = service.get("/schemas/rules.json").header("if-none-match", answer.etag());
    known.send().expect(304);
}

#[test]
fn every_example_works_untouched_on_the_demonstration_set() {
    let readable = demonstration();
    let document = document(&readable);
    let operations = operations(&document);
    let expected = 18 + 9 * (6 + 4) + 3;
    assert_eq!(
        operations.len(),
        expected,
        "the service's own paths, nine standard sets with their histories, and the extra operations"
    );
    // A stream has no end to wait for; `change_stream.rs` reads it. There are policies where operators
    // have some; `access matrix` reads one.
    let is_left_out = |path: &str| path.ends_with("/stream") || path.ends_with("/{policy_id}");
    for operation in operations.iter().filter(|operation| !is_left_out(&operation.path)) {
        // What one write changes must not decide about the next.
        let fresh = (operation.method != "GET").then(demonstration);
        let request =
            fresh.as_ref().unwrap_or(&readable).request(&operation.method, &operation.target());
        let request = match operation.body(&document) {
            Some((media_type, example)) => request.body(&media_type, example.to_string()),
            None => request,
        };
        request.send().expect(operation.success());
    }
}

#[test]
fn an_operation_says_what_it_is() {
    let document = document(&demonstration());
    for operation in operations(&document) {
        let Operation { method, path, description } = operation;
        for wanted in ["summary", "operationId", "tags", "responses"] {
            assert!(!description[wanted].is_null(), "{wanted} of {method} {path}");
        }
        let documented = description["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|parameter| parameter["in"] == "path")
            .count();
        assert_eq!(documented, path.matches('{').count(), "path parameters of {method} {path}");
    }
    assert_eq!(document["security"], serde_json::json!([]));
}

#[test]
fn every_operation_documents_what_the_wire_answers() {
    let service = Service::start_with(Store::Sqlite, &["--address-rate", "1/h,burst=1"]);
    let document = document(&service);
    service.get("/v1/files").send().expect(200);
    let get = "GET /v1/files HTTP/1.1\r\nConnection: close\r\n";
    let post = "POST /v1/files HTTP/1.1\r\nConnection: close\r\nHost: localhost\r\n";
    let long = "a".repeat(70_000);
    for (status, request) in [
        (400, format!("{get}\r\n")),
        (403, format!("{post}Origin: null\r\nContent-Length: 0\r\n\r\n")),
        (414, format!("GET /{long} HTTP/1.1\r\n\r\n")),
        (421, format!("{get}Host: evil.example\r\n\r\n")),
        (429, format!("{get}Host: localhost\r\n\r\n")),
        (431, format!("{get}Host: localhost\r\nA: {long}\r\n\r\n")),
        (501, format!("{post}Transfer-Encoding: gzip\r\n\r\n")),
        (505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned()),
    ] {
        let answer = send_bytes(service.address(), request.as_bytes());
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{status}: {answer}");
        for Operation { method, path, description } in operations(&document) {
            let documented = &description["responses"][status.to_string()];
            assert!(documented.is_object(), "{status} of {method} {path}");
        }
    }
}

#[test]
fn the_document_names_the_host() {
    let base_url = "https://example.org/api";
    let service =
        Service::start_with(Store::Sqlite, &["--allow-anonymous", "--base-url", base_url]);
    assert_eq!(document(&service)["servers"][0]["url"], base_url);
}
