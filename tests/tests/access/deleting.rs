//! Effects of a request on other items than the one it names need the same rights as a request for
//! them.

use std::sync::Barrier;
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};
use tests::Request;

use crate::world::{PROPOSAL, World, on_each_store};

const PROPOSALS: &str = "/v1/proposals";

/// Chiefs and clerks may not delete library items, and clerks may not read them. Members may delete
/// the library items that they created, colleagues those that others created. The callers after
/// them may do a part of what continuing or restoring takes.
const POLICIES: &str = "policies:
  - {id: chiefs, group: [proposals, lib], allow: [read, history, write], to: [chief, head]}
  - {id: clerks, group: proposals, allow: [read, write], to: [clerk]}
  - {id: library_is_a_record, group: lib, deny: [delete], to: [chief, clerk]}
  - {id: members, group: [proposals, lib], allow: [read, history, create], to: [member]}
  - {id: proposals_go, group: proposals, allow: [delete], to: [member]}
  - {id: their_own, group: lib, allow: [delete], to: [member], when: meta.created_by == caller.id}
  - {id: colleagues, group: [proposals, lib], allow: [read, history, create, delete], to: [colleague]}
  - {id: ones_own_is_a_record, group: lib, deny: [delete], to: [colleague], when: meta.created_by == caller.id}
  - {id: depositors, group: [proposals, lib], allow: [create], to: [depositor]}
  - {id: readers, group: [proposals, lib], allow: [read, history], to: [reader]}
  - {id: librarians, group: lib, allow: [read, history, create], to: [librarian]}
";

const WRITERS: usize = 8;

const ROUNDS: u32 = 24;

/// In each round the deletion begins later by it, and the writers earlier.
const STEP: Duration = Duration::from_millis(1);

#[test]
fn a_proposal_is_deleted_or_restored_only_with_the_rights_to_its_library() {
    on_each_store(|store| {
        let alike = ["chief", "clerk", "head", "depositor", "reader", "librarian"];
        let mut callers = alike.map(|name| (name, name)).to_vec();
        callers.extend([("ana", "member"), ("ben", "member")]);
        callers.extend([("carla", "colleague"), ("dan", "colleague")]);
        let world = World::new(store, &callers, POLICIES, &["--idempotency-ttl", "1h"]);
        library_items_that_policies_keep_keep_their_proposal(&world);
        a_proposal_is_deleted_with_ones_own_library_items_alone(&world);
        or_only_with_those_of_others(&world);
        no_item_of_another_caller_is_deleted_with_a_proposal(&world);
        a_library_of_more_than_a_thousand_items_is_examined_whole(&world);
        continuing_needs_to_read_the_old_item_and_to_create(&world);
        restoring_needs_the_rights_of_the_write(&world);
    });
}

fn id_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap()
}

impl World {
    /// Makes an item; returns its path.
    fn make(&self, name: &str, collection: &str, body: &str) -> String {
        format!("{collection}/{}", self.create(name, collection, body).id())
    }

    fn delete(&self, name: &str, path: &str, status: u16) {
        self.send(name, self.service.delete(path)).expect(status);
    }

    fn evaluate(&self, name: &str, id: Option<&str>) -> Value {
        let mut resource = json!({ "type": "proposals" });
        if let Some(id) = id {
            resource["id"] = id.into();
        }
        let body = json!({ "action": { "name": "delete" }, "resource": resource }).to_string();
        let asked = self.service.post("/access/v1/evaluation").json(body);
        self.send(name, asked).expect(200).value()
    }

    fn extent(&self, name: &str) -> (Value, Value) {
        let access = self.get(name, "/v1/access").value();
        let delete = &access["groups"]["proposals"]["delete"];
        (delete["extent"].clone(), delete["policies"].clone())
    }

    /// Runs `access check` for the deletion of proposals, or of one of them.
    fn check(&self, name: &str, role: &str, id: Option<&str>) -> (Option<i32>, String) {
        let caller = format!("{{\"id\":\"key:{name}\",\"roles\":[\"{role}\"]}}");
        let caller = self.callers.write_file("caller.json", &caller);
        let policies = self.callers.path("policies.yaml");
        let policies = policies.to_str().unwrap();
        let mut words = vec!["access", "check", "--policies", policies, "--as", &caller];
        words.extend(["--operation", "delete", "--group", "proposals"]);
        if let Some(id) = id {
            words.extend(["--item", id, "--database-url", self.service.database().unwrap().url()]);
        }
        let output = tests::tool::tool(&words).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    }

    /// Asserts that the proposal is not deleted, with the policies that deny it, and that dry runs and
    /// evaluations agree.
    fn assert_kept(&self, name: &str, proposal: &str, child: &str, policies: &[&str]) {
        let before = self.changes();
        for query in ["", "?dry_run=true"] {
            let request = self.service.delete(&format!("{proposal}{query}"));
            let refused = self.send(name, request).expect(403);
            let refusal = refused.value();
            assert_eq!(refusal["code"], "not-permitted", "{refused}");
            let named = refusal["policies"].as_array().unwrap();
            let named: Vec<_> = named.iter().map(|policy| policy["id"].as_str().unwrap()).collect();
            assert_eq!(named, policies, "{refused}");
            assert!(!refused.text().contains(id_of(child)), "it names the item: {refused}");
        }
        let evaluation = self.evaluate(name, Some(id_of(proposal)));
        let found = (&evaluation["decision"], &evaluation["context"]["reason"]);
        assert_eq!(found, (&false.into(), &"not-permitted".into()));
        assert_eq!(self.changes(), before);
    }

    /// Counts all writes.
    fn changes(&self) -> String {
        let database = self.service.database().unwrap();
        let counted = database.query("SELECT CAST(count(*) AS TEXT) FROM changes");
        counted[0][0].clone().unwrap()
    }

    fn assert_there(&self, name: &str, paths: &[&str]) {
        for path in paths {
            self.get(name, path);
        }
    }
}

fn library_items_that_policies_keep_keep_their_proposal(world: &World) {
    let proposal = world.make("chief", PROPOSALS, PROPOSAL);
    let child = world.make("chief", &format!("{proposal}/lib"), "{}");
    // The clerk lacks the right to read, which decides before the denial.
    for (name, policies) in [("chief", &["library_is_a_record"][..]), ("clerk", &[])] {
        world.assert_kept(name, &proposal, &child, policies);
        assert_eq!(world.extent(name), ("none".into(), policies.into()), "{name}");
        assert_eq!(world.evaluate(name, None)["decision"], false);
        let (status, text) = world.check(name, name, None);
        let denied = text.split_once("lib: denied on all items").expect(&text).1;
        assert!(policies.iter().all(|id| denied.contains(id)), "{name}: {text}");
        assert_eq!((status, world.check(name, name, Some(id_of(&proposal))).0), (Some(1), Some(1)));
    }
    world.assert_there("chief", &[&proposal, &child]);
    // The response shows neither whether the library exists nor whether the proposal exists.
    let empty = world.make("clerk", PROPOSALS, PROPOSAL);
    let absent = format!("{PROPOSALS}/01890a5d-ac96-774b-bcce-b302099a8051");
    let [empty, absent, full] = [&empty, &absent, &proposal].map(|path| {
        let mut refusal = world.send("clerk", world.service.delete(path)).expect(403).value();
        refusal["instance"].take();
        refusal
    });
    assert_eq!((&empty, &full), (&absent, &absent));
}

fn a_proposal_is_deleted_with_ones_own_library_items_alone(world: &World) {
    let proposal = world.make("ana", PROPOSALS, PROPOSAL);
    let id = id_of(&proposal);
    let library = format!("{proposal}/lib");
    let own = world.make("ana", &library, "{}");
    let theirs = world.make("ben", &library, "{}");
    assert_eq!(world.extent("ana"), ("some".into(), json!(["their_own"])));
    assert_eq!(world.evaluate("ana", None)["context"]["reason"], "some");
    let all = "proposals: allowed on all items\n  proposals_go allows all items\n\
               lib: depends on the item; name one with --item\n  their_own allows some items\n";
    assert_eq!(world.check("ana", "member", None), (Some(0), all.to_owned()));
    for name in ["ana", "ben"] {
        world.assert_kept(name, &proposal, &theirs, &[]);
        let denied = "denied: an item of `lib` that is deleted with it may not be deleted\n";
        assert_eq!(world.check(name, "member", Some(id)), (Some(1), denied.to_owned()));
    }
    world.assert_there("ana", &[&proposal, &own, &theirs]);
    world.delete("ben", &theirs, 204);
    assert_eq!(world.evaluate("ana", Some(id))["decision"], true);
    let allowed = "allowed\n  proposals_go allows `member`: applies\n";
    assert_eq!(world.check("ana", "member", Some(id)), (Some(0), allowed.to_owned()));
    world.delete("ana", &format!("{proposal}?dry_run=true"), 204);
    world.assert_kept("ben", &proposal, &own, &[]);
    world.delete("ana", &proposal, 204);
    world.send("ana", world.service.get(&own)).expect(404);
}

fn or_only_with_those_of_others(world: &World) {
    let proposal = world.make("carla", PROPOSALS, PROPOSAL);
    let own = world.make("carla", &format!("{proposal}/lib"), "{}");
    world.assert_kept("carla", &proposal, &own, &["ones_own_is_a_record"]);
    world.delete("dan", &proposal, 204);
}

/// Eight writers add items while the proposal is deleted.
fn no_item_of_another_caller_is_deleted_with_a_proposal(world: &World) {
    let mut outcomes = [0, 0];
    for round in 0..ROUNDS {
        let proposal = world.make("ana", PROPOSALS, PROPOSAL);
        let library = format!("{proposal}/lib");
        let own = world.make("ana", &library, "{}");
        let begin = Barrier::new(WRITERS + 1);
        let (deleted, added) = std::thread::scope(|scope| {
            let add = || {
                begin.wait();
                sleep(STEP * (ROUNDS - round));
                world.send("ben", world.service.post(&library).json("{}"))
            };
            let added: Vec<_> = (0..WRITERS).map(|_| scope.spawn(add)).collect();
            begin.wait();
            sleep(STEP * round);
            let deleted = world.send("ana", world.service.delete(&proposal));
            let added = added.into_iter().map(|added| added.join().unwrap());
            (deleted, added.collect::<Vec<_>>())
        });
        let made: Vec<_> = added.iter().filter(|added| added.status == 201).collect();
        match deleted.status {
            204 => assert!(made.is_empty(), "an item of another caller is lost"),
            403 => {
                assert!(!made.is_empty(), "refused without a reason");
                world.assert_there("ana", &[&proposal, &own]);
                for made in &made {
                    world.get("ana", &format!("{library}/{}", made.id()));
                }
            }
            _ => panic!("{deleted}"),
        }
        assert!(added.iter().all(|added| matches!(added.status, 201 | 404)));
        outcomes[usize::from(deleted.status == 403)] += 1;
    }
    println!("deleted {}, refused {}", outcomes[0], outcomes[1]);
}

fn a_library_of_more_than_a_thousand_items_is_examined_whole(world: &World) {
    let total = || world.get("ana", "/lib").value()["total_items"].clone();
    let before = total();
    let proposal = world.make("ana", PROPOSALS, PROPOSAL);
    let rows = format!("{{\"proposal\":\"{}\"}}\n", id_of(&proposal)).repeat(1_200);
    let import = world.service.post("/imports/lib").body("application/x-ndjson", rows);
    world.send("ana", import).expect(200);
    let theirs = world.make("ben", &format!("{proposal}/lib"), "{}");
    world.assert_kept("ana", &proposal, &theirs, &[]);
    world.delete("ben", &theirs, 204);
    world.delete("ana", &proposal, 204);
    assert_eq!(total(), before);
}

fn continuing_needs_to_read_the_old_item_and_to_create(world: &World) {
    let proposal = world.make("head", PROPOSALS, PROPOSAL);
    let before = world.changes();
    let proceed = |query: &str| -> Request {
        world.service.post(&format!("{proposal}{query}")).json(PROPOSAL)
    };
    for query in ["", "?dry_run=true"] {
        for name in ["depositor", "reader"] {
            world.send(name, proceed(query)).expect(403);
        }
    }
    assert_eq!(world.changes(), before);
    world.send("head", proceed("")).expect(201);
}

fn restoring_needs_the_rights_of_the_write(world: &World) {
    let proposal = world.make("head", PROPOSALS, PROPOSAL);
    let child = world.make("head", &format!("{proposal}/lib"), r#"{"a":1}"#);
    let child = format!("/lib/{}", id_of(&child));
    let restored = || world.service.post(&format!("{child}/versions/1"));
    // To replace an existing item.
    for name in ["reader", "librarian"] {
        world.send(name, restored()).expect(403);
    }
    world.send("head", restored()).expect(200);
    world.delete("head", &child, 204);
    // To restore a removed item, below a proposal that the librarian may not read.
    for name in ["reader", "librarian"] {
        world.send(name, restored()).expect(403);
        world.send(name, restored().header("if-match", "\"1\"")).expect(403);
    }
    world.send("head", restored()).expect(201);
    world.delete("head", &proposal, 204);
    // The answer is the same when the proposal has been deleted.
    world.send("librarian", restored()).expect(403);
    world.send("head", restored()).expect(404);
}
