//! The caller and the request of each change, and what else depends on the caller.

use serde_json::Value;
use tests::Request;

use crate::world::{Callers, on_each_store};

const RULES: &str = "rules:
- id: editors_alone
  group: statuses
  check: \"'editor' in caller.roles\"
  message: editors alone
";

#[test]
fn every_change_names_the_caller_and_the_request() {
    on_each_store(|store| {
        let callers = Callers::new(&[("ana", "editor,reviewer"), ("ben", "reviewer")]);
        let rules = callers.write_file("rules.yaml", RULES);
        let service = callers.serve(store, &["--rules", &rules]);
        let signed = |name: &str, id: &str, request: Request| {
            callers.sign(name, request.header("x-request-id", id)).send()
        };
        let made = signed("ana", "made", service.post("/v1/files").json("{}")).expect(201);
        let path = format!("/v1/files/{}", made.id());
        signed("ben", "replaced", service.put(&path).json(r#"{"a":1}"#)).expect(200);
        signed("ana", "patched", service.patch(&path).json(r#"{"a":2}"#)).expect(200);
        signed("ben", "deleted", service.delete(&path)).expect(204);
        signed("ana", "restored", service.post(&format!("{path}/versions/3"))).expect(201);
        let expected = [
            ("key:ana", "made"),
            ("key:ben", "replaced"),
            ("key:ana", "patched"),
            ("key:ben", "deleted"),
            ("key:ana", "restored"),
        ]
        .map(|(name, id)| (Value::from(name), Value::from(id)));
        let get = |path: &str| callers.sign("ana", service.get(path)).send().expect(200);
        let who = |changes: Vec<Value>| -> Vec<(Value, Value)> {
            changes.iter().map(|it| (it["caller"].clone(), it["request_id"].clone())).collect()
        };
        assert_eq!(who(get("/v1/changes").embedded("changes")), expected);
        let mut versions = who(get(&format!("{path}/versions")).embedded("versions"));
        versions.reverse();
        assert_eq!(versions, expected);
        assert_eq!(get(&format!("{path}/versions/2")).value()["_meta"]["caller"], "key:ben");

        // Rules see the roles of the caller.
        for (name, status) in [("ana", 201), ("ben", 422)] {
            callers.sign(name, service.post("/v1/statuses").json("{}")).send().expect(status);
        }
        // Two callers may choose the same idempotency key.
        let create = |name: &str| {
            let request = service.post("/v1/files").json("{}").header("idempotency-key", "\"one\"");
            callers.sign(name, request).send().expect(201).id()
        };
        let (ana, ben) = (create("ana"), create("ben"));
        assert_eq!((create("ana") == ana, ana == ben), (true, false));
    });
}
