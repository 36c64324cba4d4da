//! Who did it: the caller, the request and the name of a caller, kept with every change.

use serde_json::Value;

use crate::world::{Callers, on_each_store};

#[test]
fn every_change_names_the_caller_and_the_request() {
    on_each_store(|store| {
        let callers = Callers::new(&[("ana", ""), ("ben", "")]);
        let service = callers.serve(store, &[]);
        let signed = |name: &str, id: &str, request: tests::Request| {
            callers.sign(name, request.header("x-request-id", id)).send()
        };
        let made = signed("ana", "made", service.post("/v1/files").json("{}")).expect(201);
        let path = format!("/v1/files/{}", made.id());
        signed("ben", "replaced", service.put(&path).json(r#"{"a":1}"#)).expect(200);
        signed("ana", "patched", service.patch(&path).json(r#"{"a":2}"#)).expect(200);
        signed("ben", "deleted", service.delete(&path)).expect(204);
        signed("ana", "restored", service.post(&format!("{path}/versions/3"))).expect(201);
        let expected: Vec<(Value, Value)> = [
            ("ana", "made"),
            ("ben", "replaced"),
            ("ana", "patched"),
            ("ben", "deleted"),
            ("ana", "restored"),
        ]
        .map(|(name, id)| (format!("key:{name}").into(), id.into()))
        .into();
        let who = |changes: &Value| -> Vec<(Value, Value)> {
            let changes = changes.as_array().unwrap().iter();
            changes.map(|it| (it["caller"].clone(), it["request_id"].clone())).collect()
        };
        let feed = callers.sign("ana", service.get("/v1/changes")).send().expect(200).value();
        assert_eq!(who(&feed["_embedded"]["changes"]), expected);
        let versions = callers.sign("ana", service.get(&format!("{path}/versions"))).send();
        let mut versions = who(&versions.expect(200).value()["_embedded"]["versions"]);
        versions.reverse();
        assert_eq!(versions, expected);
        let version =
            callers.sign("ana", service.get(&format!("{path}/versions/2"))).send().value();
        assert_eq!(version["_meta"]["caller"], "key:ben");
    });
}

#[test]
fn rules_see_the_roles_of_the_caller() {
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("rules.yaml");
    let rule = "rules:\n- id: editors_alone\n  group: files\n  check: \"'editor' in caller.roles\"\n  message: editors alone\n";
    std::fs::write(&rules, rule).unwrap();
    let callers = Callers::new(&[("ana", "editor,reviewer"), ("ben", "reviewer")]);
    let service = callers.serve(tests::Store::Sqlite, &["--rules", rules.to_str().unwrap()]);
    for (name, status) in [("ana", 201), ("ben", 422)] {
        callers.sign(name, service.post("/v1/files").json("{}")).send().expect(status);
    }
}

#[test]
fn two_callers_may_choose_the_same_idempotency_key() {
    let callers = Callers::new(&[("ana", ""), ("ben", "")]);
    let service = callers.serve(tests::Store::Sqlite, &[]);
    let create = |name: &str| {
        let request = service.post("/v1/files").json("{}").header("idempotency-key", "\"one\"");
        callers.sign(name, request).send().expect(201).id()
    };
    let (ana, ben) = (create("ana"), create("ben"));
    assert_eq!((create("ana") == ana, ana == ben), (true, false));
}
