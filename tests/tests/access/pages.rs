//! Refusals as people and programs see them, of items that they may not read.

use tests::{Service, Store};

use crate::world::{AGENCY, DEMO_PROPOSAL, World, on_each_store};

const POLICIES: &str = "policies:
- {id: staff_reads, group: files, allow: [read], to: [staff]}
- {id: suspended_sees_nothing, group: files, deny: [read], to: [suspended]}
- {id: chiefs, group: [files, statuses], allow: [read, write], to: [chief]}
";

const CALLERS: [(&str, &str); 4] =
    [("ana", "staff,suspended"), ("ben", ""), ("carla", "staff"), ("chief", "chief")];

#[test]
fn pages_show_what_the_caller_may_see_and_how_to_see_more() {
    on_each_store(|store| {
        let world = World::new(store, &CALLERS, POLICIES, &[]);
        a_refused_page_says_what_can_be_done(&world);
        the_latest_changes_that_a_caller_may_see_are_shown(&world);
    });
}

fn a_refused_page_says_what_can_be_done(world: &World) {
    let in_force = "href=\"/policies\"";
    let denying = "href=\"/policies/suspended_sees_nothing\"";
    for (name, status, shown, hidden) in [
        ("anonymous", 401, &["Sign in or use a token"][..], in_force),
        ("ben", 403, &["No policy allows it.", in_force], denying),
        ("ana", 403, &[denying, in_force], "No policy allows it."),
    ] {
        let request = world.service.get("/explore/files").accept("text/html");
        let page = world.callers.sign(name, request).send_unchecked().expect(status);
        assert!(shown.iter().all(|part| page.text().contains(part)), "{name}: {page}");
        assert!(!page.text().contains(hidden), "{name}: {page}");
    }
    world.service.get("/policies/suspended_sees_nothing").send().expect(200);
    // Without identity there is no way to sign in.
    let policies = world.callers.path("policies.yaml");
    let arguments = ["--policies", policies.to_str().unwrap()];
    let anonymous = Service::start_with(Store::Sqlite, &arguments);
    let refused = anonymous.get("/explore/files").accept("text/html").send_unchecked().expect(401);
    assert!(refused.text().contains("no sign-in is configured"), "{refused}");
    assert!(!refused.text().contains("use a token"), "{refused}");
}

fn the_latest_changes_that_a_caller_may_see_are_shown(world: &World) {
    let create = |path: &str| world.create("chief", path, "{}").id();
    let [older, newer] = [(); 2].map(|()| create("/v1/files"));
    let hidden: Vec<_> = (0..120).map(|_| create("/v1/statuses")).collect();
    for path in ["/explore", "/explore/changes", "/explore/changes?group=files"] {
        let request = world.service.get(path).accept("text/html");
        let page = world.send("carla", request).expect(200);
        let at = |id: &str| page.text().find(id);
        assert!(at(&newer).is_some() && at(&newer) < at(&older), "{path}: {page}");
        assert!(hidden.iter().all(|id| at(id).is_none()), "{path}: {page}");
    }
}

#[test]
fn a_rule_quotes_nothing_of_items_that_it_looked_up() {
    const SECRET: &str = "84000.00 PHP";
    let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples/rules/budget.yaml");
    let callers = [("portal", "exporter"), ("clerk", "secretariat")];
    let world = World::new(Store::Sqlite, &callers, AGENCY, &["--demo", "--rules", rules]);
    let proposal = format!("/v1/proposals/{DEMO_PROPOSAL}");
    let library = format!("{proposal}/lib");
    assert!(world.get("clerk", &library).text().contains(SECRET));
    world.send("portal", world.service.get(&library)).expect(403);
    let checked = world.get("portal", &format!("{proposal}?check=true"));
    assert!(checked.text().contains("counterpart"), "the rule is asked: {checked}");
    for path in [
        format!("{proposal}?check=true"),
        format!("/explore/proposals/{DEMO_PROPOSAL}"),
        "/explore/rules/counterpart?audit=true".to_owned(),
    ] {
        let request = world.service.get(&path).accept("text/html, */*;q=0.1");
        let answer = world.send("portal", request).expect(200);
        assert!(!answer.text().contains(SECRET), "{answer}");
    }
}
