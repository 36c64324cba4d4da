//! The author of a change: the members that versions, changes and events have of it.

use serde_json::{Value, json};
use tests::Service;
use tests::event_stream::EventStream;
use tests::stores::TestDatabase;
use tests::tool::{done, refused};

tests::cases![a_caller_has_a_name_until_it_is_erased, every_view_of_a_change_has_its_request];

/// The members of an author.
fn author(value: &Value) -> [Value; 4] {
    let member = |name| value.get(name).unwrap_or_else(|| panic!("`{name}` of {value}")).clone();
    ["caller", "acting", "client", "request_id"].map(member)
}

fn every_view_of_a_change_has_its_request(service: &Service) {
    let mut stream = EventStream::open(service.address(), "", "");
    let item = service.create("/v1/files", "{}");
    let named = service.patch(&item.path).header("x-request-id", "edit-1").json(r#"{"a":1}"#);
    named.expect(200);
    let generated = service.remove(&item.path).needed_header("x-request-id").to_owned();
    let versions = service.read(&format!("{}/versions", item.path)).embedded("versions");
    let anonymous = |request: &str| [Value::Null, Value::Null, Value::Null, json!(request)];
    assert_eq!(author(&versions[0]), anonymous(&generated));
    assert_eq!(author(&versions[1]), anonymous("edit-1"));
    let past = service.read(&format!("{}/versions/2", item.path));
    assert_eq!(author(&past.value()["_meta"]), anonymous("edit-1"));
    let changes = service.read("/v1/changes").embedded("changes");
    for (version, change) in versions.iter().zip(changes.iter().rev()) {
        assert_eq!(author(change), author(version));
    }
    for version in versions.iter().rev() {
        assert_eq!(author(&stream.event().data["data"]), author(version));
    }
    assert!(service.get(&item.path).expect(404).value().get("_meta").is_none());
}

fn a_caller_has_a_name_until_it_is_erased(service: &Service) {
    let database = service.database().expect("its own");
    let items = [1, 2].map(|number| {
        let item = service.create("/v1/files", "{}");
        let _ = database.query(&format!(
            "UPDATE changes SET caller = 'agency:{number}', acting = 'desk:1', client = 'portal' WHERE sequence = {number}"
        ));
        let _ = database
            .query(&format!("INSERT INTO callers VALUES ('agency:{number}', 'Ana <Ñ>', 1, 1)"));
        item
    });
    let erased = done(&["callers", "erase", "agency:2", "--database-url", database.url()]);
    let message = "the name is erased; no name of agency:2 will be stored from now on\n";
    assert_eq!(String::from_utf8_lossy(&erased), message);
    let changes = service.read("/v1/changes").embedded("changes");
    let shown = |value: &Value| [value["caller"].clone(), value["caller_name"].clone()];
    assert_eq!(shown(&changes[0]), [json!("agency:1"), json!("Ana <Ñ>")]);
    assert_eq!(shown(&changes[1]), [json!("agency:2"), Value::Null]);
    let page = |path: &str| service.get(path).accept("text/html").expect(200).text().to_owned();
    let authors = ["by desk:1 for Ana &#60;Ñ&#62; (agency:1)", "by desk:1 for agency:2"];
    for ((item, change), by) in items.iter().zip(&changes).zip(authors) {
        let versions = service.read(&format!("{}/versions", item.path)).embedded("versions");
        assert_eq!(shown(&versions[0]), shown(change));
        let history = page(&format!("/explore/files/{}/history", item.id));
        assert!(history.contains(by), "{history}");
    }
    assert!(page("/explore/changes").contains("desk:1 for agency:2"));
}

#[test]
fn a_name_is_erased_while_no_service_runs() {
    for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
        let erase = ["callers", "erase", "agency:1", "--database-url", database.url()];
        let error = refused(&erase, 1);
        assert!(error.contains("no store") || error.contains("does not exist"), "{error}");
        done(&["migrate", "--database-url", database.url()]);
        for _ in 0..2 {
            let message = "no name was stored; no name of agency:1 will be stored from now on\n";
            assert_eq!(String::from_utf8_lossy(&done(&erase)), message);
        }
    }
}
