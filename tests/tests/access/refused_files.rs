//! Failed reloads are shown in `/readyz` and in the explorer.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::world::{Callers, on_each_store};

const RULES: &str = "rules: [{id: sound, group: files, check: 'true', message: no}]\n";
const POLICIES: &str = "policies: [{id: read, group: files, allow: [read], to: [signed_in]}]\n";

#[test]
fn files_that_were_refused_are_told_on_pages_and_to_monitors() {
    on_each_store(|store| {
        let callers = Callers::new(&[("ana", "")]);
        let at = |name: &str| callers.path().with_file_name(name);
        let (rules, policies) = (at("rules.yaml"), at("policies.yaml"));
        fs::write(&rules, RULES).unwrap();
        fs::write(&policies, POLICIES).unwrap();
        let [of_rules, of_policies] = [&rules, &policies].map(|path| path.to_str().unwrap());
        let service = callers.serve(store, &["--rules", of_rules, "--policies", of_policies]);
        let ready = || service.get("/readyz").send().expect(200).value();
        let wait_for = |failed: serde_json::Value| {
            let began = Instant::now();
            while ready()["reload_failed"] != failed {
                assert!(began.elapsed() < Duration::from_secs(50), "{} not {failed}", ready());
                std::thread::sleep(Duration::from_millis(50));
            }
        };
        let told = |name: &str, path: &str| {
            let request = service.get(path).accept("text/html");
            let page = callers.sign(name, request).send_unchecked().expect(200);
            ["rules", "policies", "identity"]
                .map(|kind| page.text().contains(&format!("The files of {kind} have errors")))
        };
        assert_eq!(ready(), json!({ "status": "ready" }));
        assert_eq!(told("ana", "/explore/rules"), [false; 3]);
        fs::write(&rules, "rules: [{id: bad}]\n").unwrap();
        wait_for(json!(["rules"]));
        assert_eq!(told("ana", "/explore/rules"), [true, false, false]);
        assert_eq!(told("ana", "/"), [true, false, false]);
        assert_eq!(told("nobody", "/"), [false; 3], "who sees no group sees no state either");
        fs::write(&policies, "policies: 1\n").unwrap();
        callers.write(|_, line| Some(line.to_owned()), "revoked: 7\n");
        wait_for(json!(["identity", "policies", "rules"]));
        assert_eq!(told("ana", "/explore/rules"), [true; 3]);
        // The previous content is valid again.
        fs::write(&rules, RULES).unwrap();
        fs::write(&policies, POLICIES).unwrap();
        callers.write(|_, line| Some(line.to_owned()), "");
        wait_for(serde_json::Value::Null);
        assert_eq!(told("ana", "/"), [false; 3]);
    });
}
