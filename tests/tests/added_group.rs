//! A group that was added by following `docs/adding-a-group.md` to the letter has everything that
//! the others have. `tests/run tour` follows the page, and then runs this test on the binary that
//! the page built.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use tests::stores::TestDatabase;
use tests::tool::done;
use tests::{Item, Service};

const GROUP: &str = "/v1/evaluators";
const PROGRAMS: &str = "/v1/proposedprograms";

#[test]
#[ignore = "needs the binary that the page builds: tests/run tour"]
fn an_added_group_has_everything_that_the_others_have() {
    for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
        let service = Service::start_on(&database);
        is_published(&service);
        let program = service.create(PROGRAMS, r#"{"title":"Food safety"}"#);
        let body = json!({"name": "Maria L. Santos", "program_id": program.id}).to_string();
        let evaluator = service.create(GROUP, &body);
        is_related(&service, &evaluator, &program);
        is_written(&service, &evaluator);
        is_remembered(&service, &evaluator);
        is_followed(&service, &evaluator);
        drop(service);
        is_moved(&database, &evaluator);
    }
}

/// It is in the entry point and in the document.
fn is_published(service: &Service) {
    let entry = service.get("/").send().expect(200);
    assert!(entry.link("evaluators").is_some(), "{}", entry.text());
    let document = service.get("/openapi.json").send().expect(200).value();
    assert!(document["paths"][GROUP]["post"].is_object());
    assert!(document["paths"]["/v1/evaluators/{evaluators_id}"]["post"].is_object());
}

/// Its reference is a link and can be embedded, also after the other item was changed.
fn is_related(service: &Service, evaluator: &Item, program: &Item) {
    let title = || {
        let item = service.get(&format!("{}?embed=program", evaluator.path)).send().expect(200);
        item.value()["_embedded"]["program"]["title"].clone()
    };
    assert_eq!(title(), "Food safety");
    let item = service.get(&evaluator.path).send().expect(200);
    let link = item.link("program").expect("a link");
    assert_eq!(item.path_of(&link), program.path);
    service.put(&program.path).json(r#"{"title":"Safe food"}"#).send().expect(200);
    assert_eq!(title(), "Safe food");
    let list = service.list(GROUP, &format!("filter[program_id]={}", program.id));
    assert_eq!(list.embedded_ids("evaluators"), [&*evaluator.id]);
    service.delete(&program.path).send().expect(204);
    assert_eq!(service.get(&evaluator.path).send().expect(200).link("program"), None);
}

/// Each operation writes, and what it wrote is read.
fn is_written(service: &Service, evaluator: &Item) {
    service.patch(&evaluator.path).json(r#"{"is_external":true}"#).send().expect(200);
    let read = service.get(&evaluator.path).send().expect(200).value();
    assert_eq!((&read["is_external"], &read["_meta"]["version"]), (&json!(true), &json!(2)));
    service.put(&evaluator.path).json(r#"{"name":"Maria Santos"}"#).send().expect(200);
    let next = service.post(&evaluator.path).json(r#"{"name":"M. Santos"}"#).send().expect(201);
    let next = next.id();
    assert_eq!(service.list(GROUP, "q=santos").value()["total_items"], 2);
    let old = service.get(&evaluator.path).send().expect(200);
    assert!(old.text().contains(&next), "an item names what continues it: {}", old.text());
    service.delete(&format!("{GROUP}/{next}")).send().expect(204);
    let old = service.get(&evaluator.path).send().expect(200);
    assert!(!old.text().contains(&next), "no link leads to a deleted item: {}", old.text());
    assert_eq!(service.list(GROUP, "sort=name").embedded_ids("evaluators"), [&*evaluator.id]);
}

/// Its history is kept, compared and restored.
fn is_remembered(service: &Service, evaluator: &Item) {
    let versions = format!("{}/versions", evaluator.path);
    let kinds: Vec<_> = service.get(&versions).send().expect(200).embedded("versions");
    let kinds: Vec<_> = kinds.iter().map(|version| version["kind"].clone()).collect();
    assert_eq!(kinds, ["replaced", "patched", "created"]);
    let difference = service.get(&format!("{versions}/3/diff?from=2")).send().expect(200).value();
    assert!(difference.as_array().is_some_and(|steps| steps.len() == 3), "{difference}");
    service.post(&format!("{versions}/1")).send().expect(200);
    let restored = service.get(&evaluator.path).send().expect(200).value();
    assert_eq!(restored["name"], "Maria L. Santos");
}

/// Its changes are in the log and in the stream, among those of other groups.
fn is_followed(service: &Service, evaluator: &Item) {
    let changes = service.get("/v1/changes").send().expect(200).embedded("changes");
    let of = |name: &str| changes.iter().filter(|change| change["group"] == name).count();
    assert_eq!((of("evaluators"), of("proposedprograms")), (6, 3), "{changes:?}");
    let own = service.get("/v1/changes?group=evaluators").send().expect(200);
    assert_eq!(own.embedded("changes").len(), 6);
    let mut stream = TcpStream::connect(service.address()).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
    write!(stream, "GET /v1/changes/stream?group=evaluators HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .expect("the request is sent");
    let mut lines = BufReader::new(stream).lines().map(|line| line.expect("the stream continues"));
    assert!(lines.any(|line| line.is_empty()), "the head of the response ends");
    service.put(&evaluator.path).json(r#"{"name":"Streamed"}"#).send().expect(200);
    let data = lines.find_map(|line| line.strip_prefix("data:").map(str::to_owned));
    let event: Value = serde_json::from_str(&data.expect("an event")).expect("JSON");
    let change = &event["data"];
    assert_eq!(
        (&change["group"], &change["item_id"]),
        (&json!("evaluators"), &json!(evaluator.id))
    );
}

/// It moves to another store with its history.
fn is_moved(database: &TestDatabase, evaluator: &Item) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("export").display().to_string();
    let other = TestDatabase::sqlite();
    done(&["export", &file, "--database-url", database.url()]);
    done(&["import", &file, "--database-url", other.url()]);
    let service = Service::start_on(&other);
    assert_eq!(service.get(&evaluator.path).send().expect(200).value()["name"], "Streamed");
    let versions = service.get(&format!("{}/versions", evaluator.path)).send().expect(200);
    assert_eq!(versions.value()["total_items"], 5);
}
