//! Principal × operation of the interface × group, on both stores, from a literal table: the example
//! policies of an agency.

use serde_json::{Value, json};
use tests::Request;

use crate::world::{AGENCY, DEMO_PROPOSAL, GROUPS, World, on_each_store};

/// The principals: the name of the key, and its roles.
const PRINCIPALS: [(&str, &str); 8] = [
    ("author", "applicant"),
    ("stranger", "applicant"),
    ("reviewer", "reviewer"),
    ("colleague", "reviewer"),
    ("secretariat", "secretariat"),
    ("auditor", "auditor"),
    ("exporter", "exporter"),
    ("former", ""),
];

const EVERY: &str = "proposedprograms statuses proposals lib files cashprogram gadscores status";

/// The permissions of principals, by the letters of [`OPERATIONS`]: in these groups, on items that they
/// created, and on others. The first row with a principal and a group counts.
const PERMITTED: &[(&[&str], &str, &str, &str)] = &[
    (
        &["anonymous", "former", "author", "stranger", "reviewer", "colleague", "exporter"],
        "proposedprograms statuses",
        "r",
        "r",
    ),
    (&["author", "stranger"], "proposals lib files cashprogram", "rcupd", "rc"),
    (&["author", "stranger"], "status", "r", "r"),
    (&["reviewer", "colleague"], "proposals lib files cashprogram status", "r", "r"),
    (&["reviewer", "colleague"], "gadscores", "rcup", "rc"),
    (&["secretariat"], "gadscores", "rh", "rh"),
    (&["secretariat"], "status", "rhc", "rhc"),
    (&["secretariat"], EVERY, "rhcupd", "rhcupd"),
    (&["auditor"], EVERY, "rh", "rh"),
    (&["exporter"], "proposals status", "r", "r"),
];

/// The principal who makes an item of a group, unless all items are the service's.
fn creator_of(group: &str) -> Option<&'static str> {
    match group {
        "proposals" | "lib" | "files" | "cashprogram" => Some("author"),
        "gadscores" => Some("reviewer"),
        _ => None,
    }
}

/// An operation of the interface: the method, the path after that of the collection, whether it takes
/// a body, and the permissions that it needs: read, history, create, update, patch, delete.
const OPERATIONS: [(&str, &str, bool, &str); 16] = [
    ("GET", "", false, "r"),
    ("GET", "?q=a&page_size=5", false, "r"),
    ("GET", "?as_of={now}", false, "rh"),
    ("POST", "", true, "c"),
    ("GET", "/{id}", false, "r"),
    ("HEAD", "/{id}", false, "r"),
    ("GET", "/{id}?as_of={now}", false, "rh"),
    ("PUT", "/{id}", true, "ru"),
    ("PATCH", "/{id}", true, "rp"),
    ("DELETE", "/{id}", false, "rd"),
    ("GET", "/{id}/versions", false, "rh"),
    ("GET", "/{id}/versions/1", false, "rh"),
    ("GET", "/{id}/versions/1/diff?from=1", false, "rh"),
    ("POST", "/{id}/versions/1", false, "rhu"),
    ("EXPORT", "", false, "r"),
    ("IMPORT", "", true, "c"),
];

/// A group, with an item that its creator owns and one of the service's.
struct Group {
    name: &'static str,
    collection: String,
    own: String,
    others: String,
    /// A body that it takes.
    body: String,
}

impl Group {
    /// Makes an item of a caller from one of the service's.
    fn new(name: &'static str, world: &World) -> Self {
        let version = if matches!(name, "lib" | "status") { "" } else { "/v1" };
        let collection = format!("{version}/{name}");
        let item = world.get("auditor", &collection).embedded(name).remove(0);
        let others = item["id"].as_str().unwrap().to_owned();
        let mut body = item.clone();
        body.as_object_mut().unwrap().retain(|name, _| !name.starts_with('_') && name != "id");
        let body = body.to_string();
        let own = creator_of(name).map(|creator| {
            let parent = item["_links"]["proposal"]["href"].as_str().filter(|_| name == "lib");
            let proposal = parent.and_then(|href| href.rsplit('/').next());
            let path = proposal.map(|id| format!("/v1/proposals/{id}/lib"));
            world.create(creator, &path.unwrap_or_else(|| collection.clone()), &body).id()
        });
        Self { name, collection, own: own.unwrap_or_else(|| others.clone()), others, body }
    }

    /// A write that is to be permitted is a dry run, so that the next finds the same.
    fn request(
        &self,
        world: &World,
        (method, rest, takes_body, _): (&str, &str, bool, &str),
        rest_of: impl Fn(&str) -> String,
        is_dry_run: bool,
    ) -> Request {
        let Self { name, collection, body, .. } = self;
        let target = format!("{collection}{}", rest_of(rest));
        let query = if is_dry_run { "?dry_run=true" } else { "" };
        match method {
            "EXPORT" => world.service.get(&format!("/exports/{name}.ndjson")),
            "IMPORT" => {
                let import = world.service.post(&format!("/imports/{name}{query}"));
                import.body("application/x-ndjson", format!("{body}\n"))
            }
            "GET" | "HEAD" => world.service.request(method, &target),
            _ => {
                let request = world.service.request(method, &format!("{target}{query}"));
                if takes_body { request.json(body.as_str()) } else { request }
            }
        }
    }
}

fn principals() -> impl Iterator<Item = &'static str> {
    PRINCIPALS.iter().map(|(name, _)| *name).chain(["anonymous"])
}

fn permitted(principal: &str, group: &str, is_own: bool) -> &'static str {
    let row = PERMITTED.iter().find(|(principals, groups, ..)| {
        principals.contains(&principal) && groups.split(' ').any(|name| name == group)
    });
    row.map_or("", |(_, _, own, others)| if is_own { own } else { others })
}

/// Decides as the table says: 200 for what is permitted.
fn expected(principal: &str, group: &str, is_own: bool, needed: &str) -> u16 {
    let permitted = permitted(principal, group, is_own);
    match needed.chars().all(|letter| permitted.contains(letter)) {
        true => 200,
        false if principal == "anonymous" => 401,
        false => 403,
    }
}

#[test]
fn each_principal_may_do_what_the_table_says_and_no_more() {
    on_each_store(|store| {
        let world = World::new(store, &PRINCIPALS, AGENCY, &["--demo"]);
        let groups = GROUPS.map(|name| Group::new(name, &world));
        every_operation_of_every_group(&world, &groups);
        embedded_items_and_the_feed_show_what_may_be_read(&world, &groups);
        access_and_evaluations_predict_the_response(&world, &groups);
        evaluations_of_absent_items_and_other_subjects(&world);
        a_refusal_names_the_policies_that_deny(&world);
        the_order_of_checks_is_that_of_the_contract(&world);
        a_whole_collection_is_written_by_those_who_may_write_all_of_it(&world);
    });
}

fn every_operation_of_every_group(world: &World, groups: &[Group]) {
    let last = world.create("secretariat", "/v1/files", "{}").value();
    let now = last["_meta"]["created_at"].as_str().unwrap();
    let changes = || world.get("auditor", "/v1/changes").text().to_owned();
    let before = changes();
    let mut cells = 0;
    for principal in principals() {
        for group in groups {
            let is_creator = creator_of(group.name) == Some(principal);
            for (id, is_own) in [(&group.own, is_creator), (&group.others, false)] {
                let rest_of = |rest: &str| rest.replace("{id}", id).replace("{now}", now);
                for operation in OPERATIONS {
                    let expected = expected(principal, group.name, is_own, operation.3);
                    let request = group.request(world, operation, rest_of, expected == 200);
                    let answer = world.send(principal, request);
                    let found = if answer.status < 300 { 200 } else { answer.status };
                    assert_eq!(found, expected, "{principal}, own: {is_own}: {answer}");
                    cells += 1;
                }
            }
        }
    }
    assert_eq!(cells, 9 * 8 * 2 * 16);
    assert_eq!(changes(), before, "a refused request or a dry run wrote");
}

fn embedded_items_and_the_feed_show_what_may_be_read(world: &World, groups: &[Group]) {
    let proposal = &groups.iter().find(|group| group.name == "proposals").unwrap().others;
    let path = format!("/v1/proposals/{proposal}?embed=lib");
    assert!(world.get("exporter", &path).embedded("lib").is_empty(), "no right to the library");
    assert!(!world.get("reviewer", &path).embedded("lib").is_empty());
    for (name, expected) in [
        ("exporter", "proposals status proposedprograms statuses"),
        ("former", "proposedprograms statuses"),
        ("auditor", EVERY),
    ] {
        let changes = world.get(name, "/v1/changes?page_size=250").embedded("changes");
        for group in GROUPS {
            let is_shown = changes.iter().any(|change| change["group"] == group);
            assert_eq!(is_shown, expected.split(' ').any(|it| it == group), "{name} {group}");
        }
    }
    // Below an item of another group, callers need the right to that item.
    let nested = format!("/v1/proposals/{proposal}/lib");
    for (name, status) in [("exporter", 403), ("former", 403), ("reviewer", 200)] {
        world.send(name, world.service.get(&nested)).expect(status);
    }
}

impl World {
    fn evaluation(&self, name: &str, body: &Value) -> Value {
        let asked = self.service.post("/access/v1/evaluation").json(body.to_string());
        self.send(name, asked).expect(200).value()
    }
}

fn access_and_evaluations_predict_the_response(world: &World, groups: &[Group]) {
    for principal in principals() {
        let access = world.get(principal, "/v1/access").value();
        let id = format!("key:{principal}");
        let id = if principal == "anonymous" { Value::Null } else { id.into() };
        assert_eq!(access["caller"].get("id").unwrap_or(&Value::Null), &id);
        for Group { name: group, collection, own, others, .. } in groups {
            let (mut asked, mut decisions) = (Vec::new(), Vec::new());
            for (name, letter) in [
                ("read", 'r'),
                ("history", 'h'),
                ("create", 'c'),
                ("replace", 'u'),
                ("patch", 'p'),
                ("delete", 'd'),
            ] {
                let on = |is_own| permitted(principal, group, is_own).contains(letter);
                let extent = match (on(true), on(false)) {
                    (true, true) => "all",
                    (false, false) => "none",
                    _ => "some",
                };
                let found = &access["groups"][*group][name]["extent"];
                assert_eq!(found, extent, "{principal} {group} {name}");
                if principal == "anonymous" {
                    continue;
                }
                let is_creator = creator_of(group) == Some(principal);
                for (item, is_own) in [(own, is_creator), (others, false)] {
                    let resource = json!({ "type": group, "id": item });
                    let body = json!({ "action": { "name": name }, "resource": resource });
                    let decision = world.evaluation(principal, &body);
                    assert_eq!(decision["decision"], on(is_own), "{principal} {group} {name}");
                    asked.push(body);
                    decisions.push(decision);
                }
            }
            if principal != "anonymous" {
                let body = json!({ "evaluations": asked }).to_string();
                let request = world.service.post("/access/v1/evaluations").json(body);
                let answer = world.send(principal, request).expect(200).value();
                assert_eq!(answer["evaluations"], json!(decisions), "{principal} {group}");
            }
            shown_operations_predict_the_response(
                world,
                principal,
                (group, collection),
                [own, others],
            );
        }
    }
}

/// An item and a page show the operations that evaluations permit.
fn shown_operations_predict_the_response(
    world: &World,
    principal: &str,
    (group, collection): (&str, &str),
    items: [&String; 2],
) {
    let is_creator = creator_of(group) == Some(principal);
    let list = format!("{collection}?access=true&page_size=250");
    let page = world.callers.sign(principal, world.service.get(&list)).send_unchecked();
    for (item, is_own) in [(items[0], is_creator), (items[1], false)] {
        let permitted = permitted(principal, group, is_own);
        let one = format!("{collection}/{item}?access=true");
        let one = world.callers.sign(principal, world.service.get(&one)).send_unchecked();
        assert_eq!(one.status == 200, permitted.contains('r'), "{principal} {group}");
        if one.status != 200 {
            continue;
        }
        let letters =
            [('r', "read"), ('h', "history"), ('u', "replace"), ('p', "patch"), ('d', "delete")];
        let expected = letters.iter().filter(|(letter, _)| permitted.contains(*letter));
        let expected: Vec<_> = expected.map(|(_, name)| *name).collect();
        assert_eq!(one.value()["_meta"]["allowed"], json!(expected), "{principal} {group}");
        let listed = page.embedded(group);
        let listed = listed.iter().find(|listed| listed["id"] == **item).unwrap();
        assert_eq!(listed["_meta"]["allowed"], json!(expected), "{principal} {group}");
    }
}

fn evaluations_of_absent_items_and_other_subjects(world: &World) {
    let read = json!({ "name": "read" });
    let absent = json!({ "action": read, "resource": { "type": "proposals", "id": "nonsense" } });
    let other = json!({
        "subject": { "type": "user", "id": "key:author" },
        "action": read, "resource": { "type": "proposals" },
    });
    // An absent item and an item without the right to read it have the same response.
    for (body, reason) in [(&absent, "item-not-found"), (&other, "another-subject")] {
        let answer = world.evaluation("reviewer", body);
        let found = (&answer["decision"], &answer["context"]["reason"]);
        assert_eq!(found, (&false.into(), &reason.into()));
    }
    let asked = |body: &str| world.service.post("/access/v1/evaluation").json(body);
    asked(&absent.to_string()).send().expect(401);
    let wrong = asked(r#"{"action":{"name":"reed"},"resource":{"type":"proposal"}}"#);
    assert_eq!(world.send("reviewer", wrong).expect(422).errors().len(), 2);
    let several = |body: &Value| {
        let request = world.service.post("/access/v1/evaluations").json(body.to_string());
        world.send("reviewer", request)
    };
    let elements = json!([
        { "resource": { "type": "status" } },
        { "action": { "name": "delete" } },
        { "subject": { "id": "key:author" } },
        {},
    ]);
    let mut body =
        json!({ "action": read, "resource": { "type": "proposals" }, "evaluations": elements });
    for (semantic, expected) in [
        ("execute_all", &[true, false, false, true][..]),
        ("deny_on_first_deny", &[true, false]),
        ("permit_on_first_permit", &[true]),
    ] {
        body["options"] = json!({ "evaluations_semantic": semantic });
        let answer = several(&body).expect(200).value();
        let decisions = answer["evaluations"].as_array().unwrap().iter();
        let decisions: Vec<_> = decisions.map(|it| it["decision"].as_bool().unwrap()).collect();
        assert_eq!(decisions, expected, "{semantic}");
    }
    body["options"]["evaluations_semantic"] = "maybe".into();
    several(&body).expect(422);
    let body = json!({ "action": read, "evaluations": [{ "resource": { "type": "file" } }, {}] });
    let errors = several(&body).expect(422).value();
    assert_eq!(errors["errors"][0]["pointer"], "/evaluations/0/resource/type");
    assert_eq!(errors["errors"][1]["pointer"], "/evaluations/1/resource/type");
    let many = vec![json!({ "resource": { "type": "files" } }); 251];
    several(&json!({ "action": read, "evaluations": many })).expect(422);
    // Without a list it is a single evaluation.
    let single = several(&json!({ "action": read, "resource": { "type": "proposals" } }));
    assert_eq!(single.expect(200).value()["decision"], true);
}

fn a_refusal_names_the_policies_that_deny(world: &World) {
    let service = &world.service;
    let refusal = |name: &str, request| world.send(name, request).expect(403).value();
    let answer = refusal("secretariat", service.post("/v1/gadscores").json("{}"));
    assert_eq!(answer["policies"][0]["id"], "scores_are_the_reviewers");
    let body = json!({ "action": { "name": "create" }, "resource": { "type": "gadscores" } });
    let evaluation = world.evaluation("secretariat", &body);
    let found = (&evaluation["decision"], &evaluation["context"]["reason"]);
    assert_eq!(found, (&false.into(), &"not-permitted".into()), "as the request is answered");
    // A policy that permits something on other items does not deny.
    let path = format!("/v1/proposals/{DEMO_PROPOSAL}");
    let other = refusal("author", service.patch(&path).json("{}"));
    assert_eq!(other["policies"], json!([]));
    let href = answer["policies"][0]["href"].as_str().unwrap();
    let (_, path) = href.split_once("/policies/").unwrap();
    let get = |path: &str| service.get(path).send().expect(200).value();
    let policy = get(&format!("/policies/{path}"));
    assert_eq!((&policy["effect"], &policy["groups"][0]), (&"deny".into(), &"gadscores".into()));
    assert_eq!(get("/policies")["total_items"], 13);
    service.get("/policies/nothing").send().expect(404);
    let document = get("/openapi.json");
    let create = &document["paths"]["/v1/gadscores"]["post"];
    let policies = create["x-policies"].as_array().unwrap();
    assert!(policies.contains(&"scores_are_the_reviewers".into()), "{create}");
    assert_eq!(create["security"], json!([{ "token": [] }]));
    let read = &document["paths"]["/v1/proposedprograms"]["get"];
    assert_eq!(read["security"], json!([{ "token": [] }, {}]), "anyone may read these");
    assert!(read["responses"]["401"].is_object() && read["responses"]["403"].is_object());
}

/// 404 and 405 come before 401; 401 and 403 before 406, 415, 400, 413 and 404 of an item.
fn the_order_of_checks_is_that_of_the_contract(world: &World) {
    let (service, path) = (&world.service, "/v1/proposals");
    let absent = "01890a5d-ac96-774b-bcce-b302099a8fff";
    service.get("/v1/nothing").send().expect(404);
    service.request("BREW", path).send().expect(405);
    service.request("OPTIONS", path).send().expect(204);
    service.get(path).accept("image/png").send().expect(401);
    for (name, status) in [("anonymous", 401), ("exporter", 403)] {
        let expect = |request| drop(world.send(name, request).expect(status));
        expect(service.post(path).accept("image/png"));
        expect(service.post(path).body("text/plain", "a"));
        expect(service.post(path).json("{"));
        expect(service.post(path).json(vec![b' '; 9 << 20]));
        for id in [DEMO_PROPOSAL, absent, "nonsense"] {
            let path = format!("{path}/{id}");
            expect(service.put(&path).header("if-match", "\"none\"").json("{}"));
            expect(service.delete(&path));
        }
    }
    // A caller without a right to the group gets the same response for every id.
    let [present, absent] = [DEMO_PROPOSAL, absent].map(|id| {
        let request = service.get(&format!("{path}/{id}"));
        world.send("former", request).expect(403).text().replace(id, "")
    });
    assert_eq!(present, absent);
}

fn a_whole_collection_is_written_by_those_who_may_write_all_of_it(world: &World) {
    let replace = || world.service.put("/v1/cashprogram").json("[]");
    for (name, status, code) in [
        ("anonymous", 401, "credentials-required"),
        ("reviewer", 403, "not-permitted"),
        ("author", 403, "needs-whole-collection"),
    ] {
        assert_eq!(world.send(name, replace()).expect(status).value()["code"], code);
    }
    world.send("secretariat", replace()).expect(200);
}
