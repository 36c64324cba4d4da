//! Who did it: the members that versions, changes and events have of the author of a change.

use serde_json::{Value, json};
use tests::event_stream::EventStream;
use tests::stores::TestDatabase;
use tests::tool::done;
use tests::{Service, on_each_store};

/// The members of an author.
const MEMBERS: [&str; 4] = ["caller", "acting", "client", "request_id"];

fn author(value: &Value) -> [&Value; 4] {
    MEMBERS.map(|name| value.get(name).unwrap_or_else(|| panic!("`{name}` of {value}")))
}

#[test]
fn the_request_of_a_change_is_told_wherever_the_change_is() {
    on_each_store(|service| {
        let mut stream = EventStream::open(service.address(), "", "");
        let item = service.create("/v1/files", "{}");
        let named = service.patch(&item.path).header("x-request-id", "edit-1").json(r#"{"a":1}"#);
        named.send().expect(200);
        let made_up = service.delete(&item.path).send().expect(204);
        let made_up = made_up.needed_header("x-request-id").to_owned();
        let versions = service.get(&format!("{}/versions", item.path)).send().expect(200);
        let versions = versions.embedded("versions");
        let nobody = |request: &Value| [Value::Null, Value::Null, Value::Null, request.clone()];
        assert_eq!(author(&versions[0]), nobody(&json!(made_up)).each_ref());
        assert_eq!(author(&versions[1]), nobody(&json!("edit-1")).each_ref());
        let past = service.get(&format!("{}/versions/2", item.path)).send().expect(200);
        assert_eq!(author(&past.value()["_meta"]), nobody(&json!("edit-1")).each_ref());
        let changes = service.get("/v1/changes").send().expect(200).embedded("changes");
        for (change, version) in changes.iter().zip(versions.iter().rev()) {
            assert_eq!(author(change), author(version));
            assert_eq!(author(&stream.event().data["data"]), author(version));
        }
        assert!(service.get(&item.path).send().expect(404).value().get("_meta").is_none());
    });
}

#[test]
fn a_caller_has_a_name_until_it_is_erased() {
    for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
        let service = Service::start_on(&database);
        let items = [(); 2].map(|()| service.create("/v1/files", "{}"));
        for (item, number) in items.iter().zip(1..) {
            let _ = database.query(&format!(
                "UPDATE changes SET caller = 'agency:{number}', acting = 'desk:1', client = 'portal' WHERE sequence = {number}"
            ));
            let _ = database
                .query(&format!("INSERT INTO callers VALUES ('agency:{number}', 'Ana <Ñ>', 1, 1)"));
            assert!(!item.id.is_empty());
        }
        let said = done(&["callers", "erase", "agency:2", "--database-url", database.url()]);
        let said = String::from_utf8_lossy(&said).into_owned();
        assert_eq!(said, "the name is erased; none will be kept of agency:2 from now on\n");
        let changes = service.get("/v1/changes").send().expect(200).embedded("changes");
        let shown = |value: &Value| [value["caller"].clone(), value["caller_name"].clone()];
        assert_eq!(shown(&changes[0]), [json!("agency:1"), json!("Ana <Ñ>")]);
        assert_eq!(shown(&changes[1]), [json!("agency:2"), Value::Null]);
        let listed = |index: usize| {
            let target = format!("{}/versions", items[index].path);
            service.get(&target).send().expect(200).embedded("versions")
        };
        assert_eq!(shown(&listed(0)[0]), shown(&changes[0]));
        assert_eq!(shown(&listed(1)[0]), shown(&changes[1]));
        let pages = items.each_ref().map(|item| format!("/explore/files/{}/history", item.id));
        let page =
            |path: &str| service.get(path).accept("text/html").send().expect(200).text().to_owned();
        let by = "by desk:1 for Ana &#60;Ñ&#62; (agency:1)";
        assert!(page(&pages[0]).contains(by), "{}", page(&pages[0]));
        assert!(page(&pages[1]).contains("by desk:1 for agency:2"), "{}", page(&pages[1]));
        assert!(page("/explore/changes").contains("desk:1 for agency:2"));
    }
}

#[test]
fn a_name_is_erased_of_a_store_that_nobody_serves() {
    for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
        let erase = ["callers", "erase", "agency:1", "--database-url", database.url()];
        let said = tests::tool::refused(&erase, 1);
        assert!(said.contains("no store") || said.contains("no database file"), "{said}");
        done(&["migrate", "--database-url", database.url()]);
        for _ in 0..2 {
            let said = done(&erase);
            let said = String::from_utf8_lossy(&said).into_owned();
            assert_eq!(said, "no name was kept; none will be kept of agency:1 from now on\n");
        }
    }
}
