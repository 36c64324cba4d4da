//! Trials of rules look up only the items and members that the caller may read.

use serde_json::{Value, json};

use crate::world::{World, on_each_store};

const POLICIES: &str = "
policies:
  - {id: all, group: [files, proposals, lib, status], allow: [read, write], to: [staff]}
  - {id: open, group: [files, proposals], allow: [read], to: [reader], when: self.project_id != 'hidden'}
  - {id: open_files, group: lib, allow: [read], to: [reader]}
  - {id: hides, group: files, hide: [secret], to: [reader]}
";

/// The verdict of a trial as a reader, and its whole text.
fn tried(world: &World, lookup: &str, check: &str, item: &Value) -> (String, String) {
    let rule = json!({ "id": "a", "group": "files", "lookup": { "found": lookup }, "check": check, "message": "m" });
    let body = json!({ "rule": rule, "group": "files", "self": item, "lookup_stored": true, "make_case": true });
    let answer = world.send("reader", world.service.post("/rules/try").json(body.to_string()));
    let answer = answer.expect(200);
    (answer.value()["verdict"].as_str().unwrap().to_owned(), answer.text().to_owned())
}

#[test]
fn a_trial_finds_what_the_caller_may_read() {
    on_each_store(|store| {
        let world = World::new(store, &[("staff", "staff"), ("reader", "reader")], POLICIES, &[]);
        let create = |path: &str, body: Value| world.create("staff", path, &body.to_string()).id();
        let proposal = |project: &str| {
            let body = json!({"proposal_type": "a", "project_title": "b", "project_id": project});
            create("/v1/proposals", body)
        };
        let (open, hidden) = (proposal("open"), proposal("hidden"));
        for (project, secret) in [("open", "guessed"), ("hidden", "other")] {
            let body = json!({"project_id": project, "secret": secret, "kind": "plan"});
            create("/v1/files", body);
        }
        for parent in [&open, &hidden] {
            create(&format!("/v1/proposals/{parent}/lib"), json!({"title": "row"}));
        }
        create("/status", json!({"subject": open}));
        let none = ("pass", "found == null");
        let empty = ("pass", "size(found) == 0");
        let item = |name: &str, value: &str| json!({ name: value });
        for (lookup, (verdict, check), own) in [
            ("proposals[self.x]", ("pass", "found.project_id == 'open'"), item("x", &open)),
            ("proposals[self.x]", none, item("x", &hidden)),
            (
                "files[kind = self.x]",
                ("pass", "size(found) == 1 && !has(found[0].secret)"),
                item("x", "plan"),
            ),
            // A member that the caller does not see finds no item, regardless of what its value is.
            ("files[secret = self.x]", empty, item("x", "guessed")),
            ("files[secret = self.x]", empty, item("x", "other")),
            ("files[project_id = self.x]", empty, item("x", "hidden")),
            (
                "lib[parent = self.x]",
                ("pass", "size(found) == 1 && found[0].parent == self.x"),
                item("x", &open),
            ),
            ("lib[parent = self.x]", empty, item("x", &hidden)),
            (
                "lib[title = self.x]",
                ("pass", "size(found.filter(row, row.parent != null)) == 1"),
                item("x", "row"),
            ),
            ("status[subject = self.x]", ("undecided", "size(found) == 1"), item("x", &open)),
        ] {
            let (found, text) = tried(&world, lookup, check, &own);
            assert_eq!(found, verdict, "{lookup} {check} {own}: {text}");
            let quotes = |secret: &str| text.contains(secret) && !own.to_string().contains(secret);
            assert!(!quotes(&hidden) && !quotes("guessed") && !quotes("other"), "{text}");
        }
    });
}
