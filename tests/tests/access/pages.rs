//! Refusals as people and programs are told them, of items that they may not read.

use std::fs;
use std::path::Path;

use tests::{Service, Store};

use crate::world::{Callers, agency_policies, on_each_store};

const POLICIES: &str = "policies:
- {id: staff_reads, group: files, allow: [read], to: [staff]}
- {id: suspended_sees_nothing, group: files, deny: [read], to: [suspended]}
";

#[test]
fn a_page_that_is_not_for_the_caller_says_what_can_be_done() {
    let callers = Callers::new(&[("ana", "staff,suspended"), ("ben", "")]);
    let folder = tempfile::tempdir().unwrap();
    let policies = folder.path().join("policies.yaml");
    fs::write(&policies, POLICIES).unwrap();
    let policies = ["--policies", policies.to_str().unwrap()];
    let service = callers.serve(Store::Sqlite, &policies);
    let page = |name: &str| {
        let request = service.get("/explore/files").accept("text/html");
        callers.sign(name, request).send_unchecked()
    };
    let in_force = "href=\"/policies\"";
    let nobody = page("nobody").expect(401);
    assert!(nobody.text().contains("sign in or use a token") && !nobody.text().contains(in_force));
    let ben = page("ben").expect(403);
    assert!(ben.text().contains("No policy allows it.") && ben.text().contains(in_force));
    let ana = page("ana").expect(403);
    let denying = "href=\"/policies/suspended_sees_nothing\"";
    assert!(ana.text().contains(denying) && ana.text().contains(in_force), "{ana}");
    service.get("/policies/suspended_sees_nothing").send().expect(200);
    // Where nobody is asked who they are, nobody can sign in either.
    let anonymous = Service::start_with(Store::Sqlite, &policies);
    let refused = anonymous.get("/explore/files").accept("text/html").send_unchecked().expect(401);
    assert!(refused.text().contains("nobody is asked who they are"), "{refused}");
    assert!(!refused.text().contains("use a token"), "{refused}");
}

#[test]
fn a_rule_quotes_nothing_of_items_that_it_looked_up() {
    const SECRET: &str = "84000.00 PHP";
    const PROPOSAL: &str = "01890a5d-ac96-774b-bcce-b302099a8050";
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples/rules/budget.yaml");
    let callers = Callers::new(&[("portal", "exporter"), ("clerk", "secretariat")]);
    let more = ["--demo", "--policies", &agency_policies(), "--rules", rules.to_str().unwrap()];
    let service = callers.serve(Store::Sqlite, &more);
    let get = |name: &str, path: &str| callers.sign(name, service.get(path)).send();
    let library = format!("/v1/proposals/{PROPOSAL}/lib");
    assert!(get("clerk", &library).expect(200).text().contains(SECRET));
    get("portal", &library).expect(403);
    let checked = get("portal", &format!("/v1/proposals/{PROPOSAL}?check=true")).expect(200);
    assert!(checked.text().contains("counterpart"), "the rule is asked: {checked}");
    for path in [
        format!("/v1/proposals/{PROPOSAL}?check=true"),
        format!("/explore/proposals/{PROPOSAL}"),
        "/explore/rules/counterpart?audit=true".to_owned(),
    ] {
        let request = service.get(&path).accept("text/html, */*;q=0.1");
        let answer = callers.sign("portal", request).send().expect(200);
        assert!(!answer.text().contains(SECRET), "{answer}");
    }
}

#[test]
fn the_latest_changes_that_a_caller_may_see_are_shown_whatever_else_was_written() {
    on_each_store(|store| {
        let callers = Callers::new(&[("ana", "staff"), ("chief", "chief")]);
        let folder = tempfile::tempdir().unwrap();
        let policies = folder.path().join("policies.yaml");
        let chiefs = "- {id: chiefs, group: [files, statuses], allow: [read, write], to: [chief]}";
        fs::write(&policies, format!("{POLICIES}{chiefs}\n")).unwrap();
        let service = callers.serve(store, &["--policies", policies.to_str().unwrap()]);
        let create = |path: &str| {
            callers.sign("chief", service.post(path).json("{}")).send().expect(201).id()
        };
        let [older, newer] = [(); 2].map(|()| create("/v1/files"));
        let hidden: Vec<_> = (0..120).map(|_| create("/v1/statuses")).collect();
        for path in ["/explore", "/explore/changes", "/explore/changes?group=files"] {
            let request = service.get(path).accept("text/html");
            let page = callers.sign("ana", request).send().expect(200);
            let at = |id: &str| page.text().find(id);
            assert!(at(&newer).is_some() && at(&newer) < at(&older), "{path}: {page}");
            assert!(hidden.iter().all(|id| at(id).is_none()), "{path}: {page}");
        }
    });
}
