//! The published document: the examples that Swagger UI offers under "Try it out" work unchanged.

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

fn document(service: &Service) -> Value {
    service.read("/openapi.json").value()
}

#[test]
fn every_operation_is_described_and_its_example_works_untouched() {
    let service = Service::start_with(Store::Sqlite, &["--demo"]);
    let document = document(&service);
    assert_eq!(document["security"], serde_json::json!([]));
    // Editors find the JSON Schema of rule files at every service.
    let schema = service.read("/schemas/rules.json").of_type("application/json");
    assert_eq!(schema.text(), include_str!("../../../docs/schemas/rules.json"));
    service.get("/schemas/rules.json").header("if-none-match", schema.etag()).expect(304);
    let mut operations = operations(&document);
    // The service's own paths, nine standard sets with their histories, the extra operations,
    // contents, and the dossier.
    assert_eq!(operations.len(), 19 + 9 * (6 + 4) + 3 + 3 * 4 + 1);
    // What removes the items of other examples comes last.
    operations.sort_by_key(|operation| match (&*operation.method, &*operation.path) {
        ("PUT", "/v1/cashprogram") | ("DELETE", "/v1/proposals/{proposals_id}") => 2,
        ("DELETE", _) => 1,
        _ => 0,
    });
    for operation in operations {
        let Operation { method, path, description } = &operation;
        for wanted in ["summary", "operationId", "tags", "responses"] {
            assert!(!description[wanted].is_null(), "{wanted} of {method} {path}");
        }
        let parameters = description["parameters"].as_array().into_iter().flatten();
        let documented = parameters.filter(|parameter| parameter["in"] == "path").count();
        assert_eq!(documented, path.matches('{').count(), "path parameters of {method} {path}");
        // A stream does not end; `change_stream.rs` reads it. Policies exist where operators have
        // some; `access matrix` reads one.
        if path.ends_with("/stream") || path.ends_with("/{policy_id}") {
            continue;
        }
        let target = operation.target();
        let request = service.request(method, &target);
        let is_content = path.ends_with("/content");
        let request = match operation.body(&document) {
            // Bytes of any type.
            _ if is_content && method == "PUT" => request.body("text/plain", "content"),
            Some((media_type, example)) => request.body(&media_type, example.to_string()),
            None => request,
        };
        request.expect(operation.success());
        if method == "DELETE" && !is_content {
            service.post(&format!("{target}/versions/1")).expect(201);
        }
    }
}

#[test]
fn every_operation_documents_what_the_wire_answers() {
    let service = Service::start_with(Store::Sqlite, &["--address-rate", "1/h,burst=1"]);
    let document = document(&service);
    service.read("/v1/files");
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
