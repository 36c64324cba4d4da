//! Files that change while the service runs: failed reloads are shown in `/readyz` and in the explorer;
//! explicit empty lists are in force, and refuse everything.

use serde_json::{Value, json};
use tests::Service;

use crate::world::{Callers, on_each_store, soon};

const RULES: &str = "rules: [{id: sound, group: files, check: 'true', message: no}]\n";
const POLICIES: &str = "policies: [{id: read, group: files, allow: [read], to: [signed_in]}]\n";

#[test]
fn files_that_change_are_in_force_or_reported() {
    on_each_store(|store| {
        let callers = Callers::new(&[("ana", "")]);
        let rules = callers.write_file("rules.yaml", RULES);
        let policies = callers.write_file("policies.yaml", POLICIES);
        let service = callers.serve(store, &["--rules", &rules, "--policies", &policies]);
        assert!(!service.log().contains("WARN"), "{}", service.log());
        failed_reloads_are_shown(&callers, &service);
        empty_lists_refuse_every_request_and_the_log_warns(&callers, &service);
    });
}

fn failed_reloads_are_shown(callers: &Callers, service: &Service) {
    let ready = || service.get("/readyz").send().expect(200).value();
    let wait_for = |failed: Value| {
        soon(&failed.to_string(), || ready()["reload_failed"] == failed);
    };
    let shown = |name: &str, path: &str| {
        let request = service.get(path).accept("text/html");
        let page = callers.sign(name, request).send_unchecked().expect(200);
        ["rules", "policies", "identity"]
            .map(|kind| page.text().contains(&format!("The {kind} files have errors")))
    };
    assert_eq!(ready(), json!({ "status": "ready" }));
    assert_eq!(shown("ana", "/explore/rules"), [false; 3]);
    callers.write_file("rules.yaml", "rules: [{id: bad}]\n");
    // The service notices each change without a signal.
    wait_for(json!(["rules"]));
    assert_eq!(shown("ana", "/explore/rules"), [true, false, false]);
    assert_eq!(shown("ana", "/"), [true, false, false]);
    assert_eq!(shown("anonymous", "/"), [false; 3], "a caller without rights sees no state");
    callers.write_file("policies.yaml", "policies: 1\n");
    callers.write(|_| true, "revoked: 7\n");
    wait_for(json!(["identity", "policies", "rules"]));
    assert_eq!(shown("ana", "/explore/rules"), [true; 3]);
    // The previous content is valid again.
    callers.write_file("rules.yaml", RULES);
    callers.write_file("policies.yaml", POLICIES);
    callers.write(|_| true, "");
    wait_for(Value::Null);
    assert_eq!(shown("ana", "/"), [false; 3]);
}

fn empty_lists_refuse_every_request_and_the_log_warns(callers: &Callers, service: &Service) {
    let warnings = || service.log().lines().filter(|line| line.contains("WARN")).count();
    let status = || callers.sign("ana", service.get("/v1/files")).send().status;
    assert_eq!(status(), 200);
    let before = warnings();
    for (file, text, message, expected) in [
        // A truncated file changes nothing.
        ("policies.yaml", "cases: []\n", "write `policies: []`", (200, 0)),
        ("policies.yaml", "policies: []\n", "every request for items is refused", (403, 1)),
        ("policies.yaml", POLICIES, "policies=1", (200, 1)),
        ("identity.yaml", "keys: []\n", "every key of the service is refused", (401, 2)),
        ("identity.yaml", "issuers: []\n", "every token is refused", (401, 3)),
    ] {
        let start = service.log().len();
        callers.write_file(file, text);
        service.hang_up();
        soon(message, || service.log()[start..].contains(message));
        let in_force = format!("`{}` is in force: {message}", text.trim());
        let is_list = text.starts_with("policies: []") || text.starts_with("keys");
        assert_eq!(service.log()[start..].contains(&in_force), is_list, "{}", service.log());
        assert_eq!((status(), warnings() - before), expected, "{text}");
    }
    assert!(service.log().contains("no issuers and no keys are in force"), "{}", service.log());
}
