//! Principal × operation of the interface × group, on both stores, from a literal table: the example
//! policies of an agency.

use serde_json::{Map, Value};
use tests::{Request, Service, Store};

use crate::world::{Callers, GROUPS, agency_policies, database, on_each_store, path_of};

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

/// The permissions of principals, by the letters of [`LETTERS`]: in these groups, on items that they created,
/// and on others. A principal may do nothing in groups that are not named.
const PERMITTED: &[(&[&str], &str, &str, &str)] = &[
    (
        &["nobody", "former", "author", "stranger", "reviewer", "colleague", "exporter"],
        "proposedprograms statuses",
        "r",
        "r",
    ),
    (&["author", "stranger"], "proposals lib files cashprogram", "rcupd", "rc"),
    (&["author", "stranger"], "status", "r", "r"),
    (&["reviewer", "colleague"], "proposals lib files cashprogram status", "r", "r"),
    (&["reviewer", "colleague"], "gadscores", "rcup", "rc"),
    (
        &["secretariat"],
        "proposedprograms statuses proposals lib files cashprogram",
        "rhcupd",
        "rhcupd",
    ),
    (&["secretariat"], "gadscores", "rh", "rh"),
    (&["secretariat"], "status", "rhc", "rhc"),
    (
        &["auditor"],
        "proposedprograms statuses proposals lib files cashprogram gadscores status",
        "rh",
        "rh",
    ),
    (&["exporter"], "proposals status", "r", "r"),
];

/// Who made the item of a group that is `own` to somebody; everything else is the service's.
const CREATORS: [(&str, &str); 5] = [
    ("proposals", "author"),
    ("lib", "author"),
    ("files", "author"),
    ("cashprogram", "author"),
    ("gadscores", "reviewer"),
];

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

struct World {
    callers: Callers,
    service: Service,
    /// Of each group: its path, the id of an item that its creator owns, the id of one of the
    /// service's, and a body that it takes.
    groups: Vec<(&'static str, String, String, String, String)>,
    /// A time at which they were all there.
    now: String,
}

impl World {
    /// Makes the items with a service that lets every known caller do everything, and then serves
    /// them with the policies.
    fn new(store: Store, callers: Callers, database: &tests::stores::TestDatabase) -> Self {
        println!("{store:?}");
        let maker = callers.serve_on(database, &["--demo"]);
        let mut groups = Vec::new();
        for group in GROUPS {
            let collection = path_of(group);
            let page =
                callers.sign("secretariat", maker.get(&collection)).send().expect(200).value();
            let embedded = page["_embedded"].as_object().unwrap();
            let item = &embedded[group].as_array().unwrap()[0];
            let members: Map<String, Value> = item.as_object().unwrap().clone();
            let is_own = |name: &String| !name.starts_with('_') && name != "id";
            let body: Map<_, _> = members.into_iter().filter(|(name, _)| is_own(name)).collect();
            let body = Value::Object(body).to_string();
            let others = item["id"].as_str().unwrap().to_owned();
            let creator = CREATORS.iter().find(|(of, _)| *of == group);
            let own = match creator {
                Some((_, name)) => {
                    let path = match item["_links"]["proposal"]["href"].as_str() {
                        Some(_) if group == "lib" => {
                            format!("/v1/proposals/{}/lib", parent_of(item))
                        }
                        _ => collection.clone(),
                    };
                    let made = callers.sign(name, maker.post(&path).json(body.clone()));
                    made.send().expect(201).id()
                }
                None => others.clone(),
            };
            groups.push((group, collection, own, others, body));
        }
        let last =
            callers.sign("secretariat", maker.post("/v1/files").json("{}")).send().expect(201);
        let now = last.value()["_meta"]["created_at"].as_str().unwrap().to_owned();
        drop(maker);
        let service = callers.serve_on(database, &["--policies", &agency_policies()]);
        Self { callers, service, groups, now }
    }

    /// A write that is to be permitted is a dry run, so that the next finds the same.
    fn request(
        &self,
        operation: (&str, &str, bool, &str),
        group: usize,
        id: &str,
        is_dry_run: bool,
    ) -> Request {
        let (name, collection, _, _, body) = &self.groups[group];
        let (method, rest, takes_body, _) = operation;
        let target =
            format!("{collection}{}", rest.replace("{id}", id).replace("{now}", &self.now));
        let query = if is_dry_run { "?dry_run=true" } else { "" };
        match method {
            "EXPORT" => self.service.get(&format!("/exports/{name}.ndjson")),
            "IMPORT" => {
                let path = format!("/imports/{name}{query}");
                self.service.post(&path).body("application/x-ndjson", format!("{body}\n"))
            }
            "GET" | "HEAD" => self.service.request(method, &target),
            _ => {
                let request = self.service.request(method, &format!("{target}{query}"));
                if takes_body { request.json(body.clone()) } else { request }
            }
        }
    }
}

/// The id of the proposal that a library item belongs to.
fn parent_of(item: &Value) -> String {
    let href = item["_links"]["proposal"]["href"].as_str().unwrap();
    href.rsplit('/').next().unwrap().to_owned()
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
        false if principal == "nobody" => 401,
        false => 403,
    }
}

#[test]
fn every_operation_of_every_group_is_for_those_it_is_for() {
    on_each_store(|store| {
        let database = database(store);
        let world = World::new(store, Callers::new(&PRINCIPALS), &database);
        let before = world.callers.sign("auditor", world.service.get("/v1/changes")).send();
        let mut cells = 0;
        for principal in PRINCIPALS.map(|(name, _)| name).into_iter().chain(["nobody"]) {
            for (index, (group, _, own, others, _)) in world.groups.iter().enumerate() {
                let creator = CREATORS.iter().find(|(of, _)| of == group).map(|(_, name)| *name);
                for (id, is_own) in [(own, creator == Some(principal)), (others, false)] {
                    for operation in OPERATIONS {
                        let expected = expected(principal, group, is_own, operation.3);
                        let request = world.request(operation, index, id, expected == 200);
                        let answer = world.callers.sign(principal, request).send();
                        let found = if answer.status < 300 { 200 } else { answer.status };
                        assert_eq!(found, expected, "{principal}, own: {is_own}: {answer}");
                        cells += 1;
                    }
                }
            }
        }
        assert_eq!(cells, 9 * 8 * 2 * 16);
        let after = world.callers.sign("auditor", world.service.get("/v1/changes")).send();
        assert_eq!(after.text(), before.text(), "nothing was written");
    });
}

#[test]
fn a_whole_collection_is_written_by_those_who_may_write_all_of_it() {
    let callers = Callers::new(&PRINCIPALS);
    let arguments = ["--demo", "--policies", &agency_policies()];
    let service = callers.serve(Store::Sqlite, &arguments);
    for (name, status, code) in [
        ("nobody", 401, "credentials-required"),
        ("reviewer", 403, "not-permitted"),
        ("author", 403, "needs-whole-collection"),
    ] {
        let request = service.put("/v1/cashprogram").json("[]");
        let answer = callers.sign(name, request).send().expect(status);
        assert!(answer.text().contains(&format!("\"code\":\"{code}\"")), "{answer}");
    }
    callers.sign("secretariat", service.put("/v1/cashprogram").json("[]")).send().expect(200);
}

#[test]
fn embedded_items_and_the_feed_show_what_may_be_read() {
    on_each_store(|store| {
        let database = database(store);
        let world = World::new(store, Callers::new(&PRINCIPALS), &database);
        let World { callers, service, groups, .. } = &world;
        let (.., others, _) = groups.iter().find(|(name, ..)| *name == "proposals").unwrap();
        let path = format!("/v1/proposals/{others}?embed=lib");
        let exported = callers.sign("exporter", service.get(&path)).send().expect(200).value();
        assert_eq!(
            exported["_embedded"]["lib"],
            Value::Array(Vec::new()),
            "no right to the library"
        );
        let read = callers.sign("reviewer", service.get(&path)).send().expect(200).value();
        assert!(!read["_embedded"]["lib"].as_array().unwrap().is_empty(), "{read}");
        for (name, expected) in [
            ("exporter", "proposals status proposedprograms statuses"),
            ("former", "proposedprograms statuses"),
            (
                "auditor",
                "proposals lib files cashprogram gadscores status proposedprograms statuses",
            ),
        ] {
            let feed =
                callers.sign(name, service.get("/v1/changes?page_size=250")).send().expect(200);
            let feed = feed.value();
            let changes = feed["_embedded"]["changes"].as_array().unwrap();
            let told = |group: &str| changes.iter().any(|change| change["group"] == group);
            for group in GROUPS {
                assert_eq!(
                    told(group),
                    expected.split(' ').any(|it| it == group),
                    "{name} {group}"
                );
            }
        }
        // Below an item of another group, callers have to see that one.
        let nested = format!("/v1/proposals/{others}/lib");
        callers.sign("exporter", service.get(&nested)).send().expect(403);
        callers.sign("former", service.get(&nested)).send().expect(403);
        callers.sign("reviewer", service.get(&nested)).send().expect(200);
    });
}

#[test]
fn what_is_permitted_is_told_before_it_is_tried() {
    let callers = Callers::new(&PRINCIPALS);
    let database = database(Store::Sqlite);
    let world = World::new(Store::Sqlite, callers, &database);
    let World { callers, service, groups, .. } = &world;
    for principal in PRINCIPALS.map(|(name, _)| name).into_iter().chain(["nobody"]) {
        let access = callers.sign(principal, service.get("/v1/access")).send().expect(200).value();
        let id = format!("key:{principal}");
        let id = if principal == "nobody" { Value::Null } else { id.into() };
        assert_eq!(access["caller"].get("id").unwrap_or(&Value::Null), &id);
        for (group, _, own, others, _) in groups {
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
                assert_eq!(
                    access["groups"][*group][name]["extent"], extent,
                    "{principal} {group} {name}"
                );
                if principal == "nobody" {
                    continue;
                }
                for (item, is_creators) in [(own, true), (others, false)] {
                    let creator = CREATORS.iter().find(|(of, _)| of == group);
                    let is_own = is_creators && creator.is_some_and(|(_, name)| *name == principal);
                    let body = format!(
                        "{{\"action\":{{\"name\":\"{name}\"}},\"resource\":{{\"type\":\"{group}\",\"id\":\"{item}\"}}}}"
                    );
                    let asked = service.post("/access/v1/evaluation").json(body);
                    let answer = callers.sign(principal, asked).send().expect(200).value();
                    assert_eq!(
                        answer["decision"],
                        on(is_own),
                        "{principal} {group} {name} {answer}"
                    );
                }
            }
        }
    }
    // Of what is not there, the answer is the one for what may not be seen.
    let body = r#"{"action":{"name":"read"},"resource":{"type":"proposals","id":"nonsense"}}"#;
    let asked = || service.post("/access/v1/evaluation").json(body);
    let answer = callers.sign("reviewer", asked()).send().expect(200).value();
    assert_eq!(
        (&answer["decision"], &answer["context"]["reason"]),
        (&false.into(), &"item-not-found".into())
    );
    asked().send().expect(401);
    let other = r#"{"subject":{"type":"user","id":"key:author"},"action":{"name":"read"},"resource":{"type":"proposals"}}"#;
    let asked = service.post("/access/v1/evaluation").json(other);
    let answer = callers.sign("reviewer", asked).send().expect(200).value();
    let found = (&answer["decision"], &answer["context"]["reason"]);
    assert_eq!(found, (&false.into(), &"another-subject".into()));
    let wrong = r#"{"action":{"name":"reed"},"resource":{"type":"proposal"}}"#;
    let asked = service.post("/access/v1/evaluation").json(wrong);
    let answer = callers.sign("reviewer", asked).send().expect(422);
    assert_eq!(answer.value()["errors"].as_array().unwrap().len(), 2, "{answer}");
}

#[test]
fn a_refusal_names_the_policies_that_deny() {
    let callers = Callers::new(&PRINCIPALS);
    let service = callers.serve(Store::Sqlite, &["--demo", "--policies", &agency_policies()]);
    let request = service.post("/v1/gadscores").json("{}");
    let answer = callers.sign("secretariat", request).send().expect(403).value();
    assert_eq!(answer["policies"][0]["id"], "scores_are_the_reviewers");
    let body = r#"{"action":{"name":"create"},"resource":{"type":"gadscores"}}"#;
    let asked = service.post("/access/v1/evaluation").json(body);
    let told = callers.sign("secretariat", asked).send().expect(200).value();
    let found = (&told["decision"], &told["context"]["reason"]);
    assert_eq!(found, (&false.into(), &"not-permitted".into()), "as the request is answered");
    // A policy that allows something on other items is none that denies.
    let path = "/v1/proposals/01890a5d-ac96-774b-bcce-b302099a8050";
    let request = service.patch(path).json("{}");
    let refusal = callers.sign("author", request).send().expect(403).value();
    assert_eq!(refusal["policies"], Value::Array(Vec::new()));
    let href = answer["policies"][0]["href"].as_str().unwrap();
    let (_, path) = href.split_once("/policies/").unwrap();
    let policy = service.get(&format!("/policies/{path}")).send().expect(200).value();
    assert_eq!((&policy["effect"], &policy["groups"][0]), (&"deny".into(), &"gadscores".into()));
    let listed = service.get("/policies").send().expect(200).value();
    assert_eq!(listed["total_items"], 13);
    service.get("/policies/nothing").send().expect(404);
    let document = service.get("/openapi.json").send().expect(200).value();
    let create = &document["paths"]["/v1/gadscores"]["post"];
    let policies = create["x-policies"].as_array().unwrap();
    assert!(policies.contains(&"scores_are_the_reviewers".into()), "{create}");
    assert_eq!(create["security"], serde_json::json!([{ "token": [] }]));
    let read = &document["paths"]["/v1/proposedprograms"]["get"];
    assert_eq!(read["security"], serde_json::json!([{ "token": [] }, {}]), "anyone may read these");
    assert!(read["responses"]["401"].is_object() && read["responses"]["403"].is_object());
}
