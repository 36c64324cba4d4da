//! Policies about items: the example policies for applicants and reviewers, as literal tables of
//! callers, operations and states of an item, and attempts of callers to give themselves rights.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

use serde_json::json;
use tests::{Answer, Service, Store};

use crate::world::{PROPOSAL, World, on_each_store};

const APPLICANTS: &str = include_str!("../../../docs/examples/policies/applicants.yaml");
const REVIEWERS: &str = include_str!("../../../docs/examples/policies/reviewers.yaml");

const CALLERS: [(&str, &str); 4] =
    [("ana", "applicant"), ("ben", "applicant"), ("rita", ""), ("staff", "staff")];

/// The operations on an item, and the letter of each in a row of a table.
const OPERATIONS: [(&str, &str, &str); 6] = [
    ("r", "GET", ""),
    ("h", "GET", "/versions"),
    ("u", "PUT", "?dry_run=true"),
    ("p", "PATCH", "?dry_run=true"),
    ("d", "DELETE", "?dry_run=true"),
    ("v", "POST", "/versions/1?dry_run=true"),
];

struct Scene<'a> {
    world: &'a World,
    /// The path of each item by its name.
    items: Vec<(&'static str, String)>,
}

impl Scene<'_> {
    fn make(&mut self, caller: &str, name: &'static str, collection: &str, body: &str) -> String {
        let id = self.world.create(caller, collection, body).id();
        self.items.push((name, format!("{collection}/{id}")));
        id
    }

    fn path(&self, name: &str) -> &str {
        &self.items.iter().find(|(known, _)| *known == name).expect(name).1
    }

    fn try_each(&self, caller: &str, name: &str) -> String {
        let path = self.path(name);
        let body = self.world.get("staff", path).value();
        let mut body = body.as_object().unwrap().clone();
        body.retain(|name, _| !name.starts_with('_'));
        let body = json!(body).to_string();
        let statuses = OPERATIONS.map(|(letter, method, rest)| {
            let request = self.world.service.request(method, &format!("{path}{rest}"));
            let request = match method {
                "PUT" => request.json(body.as_str()),
                "PATCH" => request.json("{}"),
                _ => request,
            };
            format!("{letter}{}", self.world.send(caller, request).status)
        });
        statuses.join(" ")
    }

    /// Asserts the status of each operation, and that a list shows the items that can be read.
    fn assert_table(&self, table: &[(&str, &str, &str)]) {
        for (caller, name, expected) in table {
            assert_eq!(self.try_each(caller, name), *expected, "{caller}, {name}");
            let path = self.path(name);
            let (collection, id) = path.rsplit_once('/').unwrap();
            let listed = self.world.send(caller, self.world.service.get(collection));
            let is_listed = listed.status == 200 && listed.text().contains(id);
            assert_eq!(is_listed, expected.starts_with("r200"), "{caller}, {name}: {listed}");
        }
    }
}

const ALL: &str = "r200 h200 u200 p200 d204 v200";
const HIDDEN: &str = "r404 h404 u404 p404 d404 v404";
const READABLE: &str = "r200 h200 u403 p403 d403 v403";
const SIGN_IN: &str = "r401 h401 u401 p401 d401 v401";

#[test]
fn applicants_see_theirs_and_change_drafts() {
    on_each_store(|store| {
        let world = World::new(store, &CALLERS, APPLICANTS, &[]);
        let mut scene = Scene { world: &world, items: Vec::new() };
        let draft = scene.make("ana", "draft", "/v1/proposals", PROPOSAL);
        let submitted = scene.make("ana", "submitted", "/v1/proposals", PROPOSAL);
        let about = |id: &str| json!({"proposal_id": id, "title": "CV"}).to_string();
        let _ = scene.make("ana", "file", "/v1/files", &about(&draft));
        let _ = scene.make("ana", "sent_file", "/v1/files", &about(&submitted));
        let _ = scene.make("ana", "line", &format!("/v1/proposals/{draft}/lib"), "{}");
        let step = json!({"subject": submitted, "to_code": "submitted"}).to_string();
        let _ = scene.make("staff", "step", "/status", &step);
        scene.assert_table(&[
            ("ana", "draft", ALL),
            ("ana", "submitted", READABLE),
            ("ana", "file", ALL),
            ("ana", "sent_file", READABLE),
            ("ana", "line", ALL),
            // No policy allows authors to write steps.
            ("ana", "step", "r200 h200 u403 p403 d403 v403"),
            ("ben", "draft", HIDDEN),
            ("ben", "submitted", HIDDEN),
            ("ben", "file", HIDDEN),
            ("ben", "line", HIDDEN),
            ("staff", "draft", ALL),
            ("staff", "submitted", ALL),
            ("rita", "draft", HIDDEN),
            ("anonymous", "draft", SIGN_IN),
            ("anonymous", "file", SIGN_IN),
        ]);
        items_stay_with_their_proposal(&scene, &submitted);
    });
}

/// Ana and Ben try to move items between proposals.
fn items_stay_with_their_proposal(scene: &Scene<'_>, submitted: &str) {
    let world = scene.world;
    let theirs = world.create("ben", "/v1/proposals", PROPOSAL).id();
    let file = scene.path("file");
    let before = world.get("staff", file).text().to_owned();
    for target in [theirs.as_str(), submitted] {
        let body = json!({"proposal_id": target}).to_string();
        let send = |request: tests::Request| world.send("ana", request);
        send(world.service.patch(file).json(body.as_str())).expect(403);
        send(world.service.put(file).json(body.as_str())).expect(403);
        send(world.service.post("/v1/files").json(body.as_str())).expect(403);
        let rows = world.service.post("/imports/files");
        let rows = send(rows.body("application/x-ndjson", format!("{body}\n")));
        assert!(rows.text().contains("not_permitted"), "{rows}");
        let library = format!("/v1/proposals/{target}/lib");
        let refused = send(world.service.post(&library).json("{}"));
        assert_eq!(refused.status, if target == theirs { 404 } else { 403 }, "{refused}");
    }
    // Staff moved the file for a while; its author cannot restore that version.
    let body = json!({"proposal_id": theirs}).to_string();
    world.send("staff", world.service.patch(file).json(body)).expect(200);
    world.send("staff", world.service.put(file).json(before)).expect(200);
    let versions = world.get("ana", &format!("{file}/versions")).text().to_owned();
    assert!(!versions.contains("\"version\":2"), "{versions}");
    world.send("ana", world.service.get(&format!("{file}/versions/2"))).expect(404);
    world.send("ana", world.service.post(&format!("{file}/versions/2"))).expect(404);
}

#[test]
fn reviewers_see_and_score_what_they_are_assigned_to_in_review() {
    on_each_store(|store| {
        let world = World::new(store, &CALLERS, REVIEWERS, &[]);
        let mut scene = Scene { world: &world, items: Vec::new() };
        for (name, sheet, steps) in [
            ("draft", "draft_sheet", &[][..]),
            ("in_review", "sheet", &["submitted", "in_review"]),
            ("approved", "old_sheet", &["in_review", "approved"]),
        ] {
            let id = scene.make("staff", name, "/v1/proposals", PROPOSAL);
            let body = json!({"proposal_id": id, "evaluator_id": "key:rita"}).to_string();
            let _ = scene.make("staff", sheet, "/v1/gadscores", &body);
            for step in steps {
                let step = json!({"subject": id, "to_code": step}).to_string();
                world.create("staff", "/status", &step);
            }
        }
        let other = scene.make("staff", "other", "/v1/proposals", PROPOSAL);
        let body = json!({"proposal_id": other, "evaluator_id": "key:ben"}).to_string();
        let _ = scene.make("staff", "other_sheet", "/v1/gadscores", &body);
        // No policy allows reviewers to write proposals, so that the refusal precedes the search.
        scene.assert_table(&[
            ("rita", "draft", "r404 h403 u403 p403 d403 v403"),
            ("rita", "in_review", "r200 h403 u403 p403 d403 v403"),
            ("rita", "approved", "r404 h403 u403 p403 d403 v403"),
            ("rita", "other", "r404 h403 u403 p403 d403 v403"),
            ("rita", "sheet", "r200 h403 u200 p200 d403 v403"),
            ("rita", "old_sheet", "r200 h403 u403 p403 d403 v403"),
            ("rita", "other_sheet", "r404 h403 u404 p404 d403 v403"),
            ("ben", "in_review", "r404 h403 u403 p403 d403 v403"),
            ("staff", "sheet", ALL),
        ]);
        reviewers_do_not_assign_themselves(&scene, &other);
    });
}

fn reviewers_do_not_assign_themselves(scene: &Scene<'_>, other: &str) {
    let world = scene.world;
    let sheet = scene.path("sheet");
    let body = json!({"proposal_id": other, "evaluator_id": "key:rita"}).to_string();
    let send = |request: tests::Request| world.send("rita", request);
    send(world.service.post("/v1/gadscores").json(body.as_str())).expect(403);
    send(world.service.put(sheet).json(body.as_str())).expect(403);
    send(world.service.patch(sheet).json(body.as_str())).expect(403);
    send(world.service.patch(sheet).json(r#"{"evaluator_id":"key:ben"}"#)).expect(403);
    send(world.service.patch(scene.path("other_sheet")).json(body.as_str())).expect(404);
    send(world.service.post(&format!("{sheet}/versions/1"))).expect(403);
    let rows = world.service.post("/imports/gadscores?upsert=true");
    let id = sheet.rsplit('/').next().unwrap();
    let row = json!({"id": id, "proposal_id": other, "evaluator_id": "key:rita"});
    send(rows.body("application/x-ndjson", format!("{row}\n"))).expect(403);
    assert_eq!(send(world.service.get(&format!("/v1/proposals/{other}"))).status, 404);
    send(world.service.patch(sheet).json(r#"{"total_score":"12.00"}"#)).expect(200);
}

const RULES: &str = "rules:
  - id: one_for_each_researcher
    group: proposals
    lookup: {same: 'proposals[researcher_id = self.researcher_id]'}
    check: size(same) == 0
    message_expression: '\"There is also \" + same[0].project_title'
";

#[test]
fn a_rule_quotes_no_item_that_the_caller_does_not_see() {
    on_each_store(|store| {
        let world = World::with_rules(store, &CALLERS, APPLICANTS, RULES);
        let body = json!({"proposal_type": "Program", "project_title": "Rice", "researcher_id": 7});
        let body = body.to_string();
        world.create("ana", "/v1/proposals", &body);
        for (caller, detail) in [
            ("ben", "The rule `one_for_each_researcher` is not met."),
            ("ana", "The rule `one_for_each_researcher` is not met."),
            ("staff", "There is also Rice"),
        ] {
            let request = world.service.post("/v1/proposals").json(body.as_str());
            let refused = world.send(caller, request).expect(422).value();
            assert_eq!(refused["errors"][0]["detail"], detail, "{caller}");
        }
    });
}

/// 64 clients write to a sheet of a reviewer, through two instances where the store allows it. After
/// the assignment ended, none of them succeeds.
#[test]
fn a_right_that_is_withdrawn_stops_the_writes_in_progress() {
    on_each_store(|store| {
        let world = World::new(store, &CALLERS, REVIEWERS, &[]);
        let proposal = world.create("staff", "/v1/proposals", PROPOSAL).id();
        let step = json!({"subject": proposal, "to_code": "in_review"}).to_string();
        world.create("staff", "/status", &step);
        let another = (store == Store::Postgres).then(|| {
            let policies = world.callers.path("policies.yaml");
            let [identity, file] = world.callers.arguments();
            let arguments = [&*identity, &file, "--policies", policies.to_str().unwrap()];
            world.service.start_another_with(&arguments)
        });
        let instances: Vec<&Service> = [&world.service].into_iter().chain(&another).collect();
        for _ in 0..3 {
            let body = json!({"proposal_id": proposal, "evaluator_id": "key:rita"}).to_string();
            let sheet =
                format!("/v1/gadscores/{}", world.create("staff", "/v1/gadscores", &body).id());
            let (is_withdrawn, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
            let (before, after) = (AtomicUsize::new(0), AtomicUsize::new(0));
            scope(|scope| {
                for client in 0..64 {
                    let service = instances[client % instances.len()];
                    let (world, sheet, is_withdrawn, is_over) =
                        (&world, &sheet, &is_withdrawn, &is_over);
                    let (before, after) = (&before, &after);
                    scope.spawn(move || {
                        while !is_over.load(Ordering::SeqCst) {
                            let is_late = is_withdrawn.load(Ordering::SeqCst);
                            let body = format!("{{\"note\":\"{}\"}}", fastrand::u64(..));
                            let request = service.patch(sheet).json(body);
                            let answer: Answer = world.callers.sign("rita", request).send();
                            let counted = if is_late { after } else { before };
                            if answer.status == 200 {
                                counted.fetch_add(1, Ordering::SeqCst);
                            }
                        }
                    });
                }
                sleep(Duration::from_millis(300));
                let ended = r#"{"evaluator_id":"key:ben"}"#;
                let end = || world.send("staff", world.service.patch(&sheet).json(ended));
                while end().status != 200 {}
                is_withdrawn.store(true, Ordering::SeqCst);
                sleep(Duration::from_millis(300));
                is_over.store(true, Ordering::SeqCst);
            });
            assert!(before.into_inner() > 0, "the right was of use");
            assert_eq!(after.into_inner(), 0, "a write succeeded after the withdrawal");
            let stored = world.get("staff", &sheet).value();
            assert_eq!(stored["evaluator_id"], "key:ben");
        }
    });
}
