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

#[test]
fn a_rule_quotes_nothing_of_hidden_members() {
    const SECRETS: [&str; 2] = ["budget of Ana", "call for Ben"];
    const POLICIES: &str = "
policies:
  - {id: all, group: files, allow: [read, write], to: [staff]}
  - {id: blind, group: files, allow: [read, update], to: [blind]}
  - {id: hides, group: files, hide: [filename, size], to: [blind]}
";
    const RULES: &str = "
rules:
  - {id: undecided, group: files, check: decimal(self.size) > 0, message: no, severity: warning}
  - {id: undecided_key, group: files, lookup: {other: 'files[title = decimal(self.size) > 0 ? self.size : null]'}, check: 'true', message: no, severity: warning}
  - {id: quoting, group: files, check: 'false', message_expression: self.filename, severity: warning}
";
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("rules.yaml");
    std::fs::write(&rules, RULES).unwrap();
    let rules = ["--rules", rules.to_str().unwrap()];
    let world = World::new(Store::Sqlite, &["staff", "blind"].map(|it| (it, it)), POLICIES, &rules);
    let body = format!(r#"{{"filename":"{}","size":"{}"}}"#, SECRETS[0], SECRETS[1]);
    let created = world.create("staff", "/v1/files", &body);
    assert!(SECRETS.iter().all(|secret| created.text().contains(secret)), "{created}");
    let own = format!("/v1/files/{}", created.id());
    let patch = world.service.patch(&own).json(r#"{"note":"x"}"#);
    let patched = world.send("blind", patch);
    let pages = ["undecided", "undecided_key", "quoting"].map(|rule| {
        let page = world.service.get(&format!("/explore/rules/{rule}?audit=true"));
        world.send("blind", page.accept("text/html"))
    });
    let checked = world.get("blind", &format!("{own}?check=true"));
    for answer in pages.into_iter().chain([patched, checked]) {
        let answer = answer.expect(200);
        assert!(answer.text().contains("is not met."), "{answer}");
        assert!(!SECRETS.iter().any(|secret| answer.text().contains(secret)), "{answer}");
    }
}

/// A page shows a file, and buttons for it, to those who may see and change it.
#[test]
fn a_page_has_the_buttons_for_a_file_that_the_caller_may_use() {
    const POLICIES: &str = "
policies:
  - {id: all, group: [files, proposals], allow: [read, history, write], to: [staff]}
  - {id: readers, group: files, allow: [read, history], to: [reader]}
  - {id: writers, group: files, allow: [read, history, update], to: [blind]}
  - {id: blind, group: files, hide: [/_meta/content], to: [blind]}
  - {id: clerks, group: files, allow: [read, update], write: [note], to: [clerk]}
  - {id: senders, group: files, allow: [read, update], write: [/_meta/content], to: [sender]}
";
    let callers = ["staff", "reader", "blind", "clerk", "sender"].map(|name| (name, name));
    on_each_store(|store| {
        let world = World::new(store, &callers, POLICIES, &[]);
        let id = world.create("staff", "/v1/files", "{}").id();
        let put = world.service.put(&format!("/v1/files/{id}/content")).body("text/x-canary", "x");
        world.send("staff", put).expect(201);
        let page = |name: &str, query: &str| {
            let page = world.service.get(&format!("/explore/files/{id}{query}"));
            world.send(name, page.accept("text/html")).expect(200).text().to_owned()
        };
        for (name, is_seen, is_changed) in [
            ("staff", true, true),
            ("reader", true, false),
            ("blind", false, false),
            ("clerk", true, false),
            ("sender", true, true),
        ] {
            let page = page(name, "");
            assert_eq!(page.contains("text/x-canary"), is_seen, "{name}: {page}");
            for part in ["id=\"upload\"", "data-detach", "/content.js"] {
                assert_eq!(page.contains(part), is_changed, "{name} {part}: {page}");
            }
        }
        let stored = world.get("staff", &format!("/v1/files/{id}")).value();
        let past = format!("?as_of={}", stored["_meta"]["updated_at"].as_str().unwrap());
        let download = format!("/v1/files/{id}/versions/2/content");
        assert!(page("reader", &past).contains(&download));
        assert!(!page("staff", &past).contains("id=\"upload\""));
        assert!(!page("blind", &past).contains("text/x-canary"));
        let proposal =
            world.create("staff", "/v1/proposals", r#"{"proposal_type":"a","project_title":"b"}"#);
        let page = world.service.get(&format!("/explore/proposals/{}", proposal.id()));
        let page = world.send("staff", page.accept("text/html")).expect(200);
        assert!(!page.text().contains("id=\"upload\""), "proposals have no files: {page}");
    });
}
