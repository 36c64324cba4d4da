//! Effects of a request on other items than the one it names need the same rights as a request for
//! them.

use std::fs;
use std::sync::Barrier;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tests::stores::TestDatabase;
use tests::{Answer, Request, Service, Store};

use crate::world::{Callers, database, on_each_store};

const PROPOSALS: &str = "/v1/proposals";

const PROPOSAL: &str = r#"{"proposal_type":"R&D Project","project_title":"Rapid test kit"}"#;

/// No caller may delete library items, and the clerk may not read them.
const A_RECORD: &str = "policies:
  - {id: chiefs, group: [proposals, lib], allow: [read, history, write], to: [chief]}
  - {id: clerks, group: proposals, allow: [read, write], to: [clerk]}
  - {id: library_is_a_record, group: lib, deny: [delete], to: [anyone]}
";

/// Callers delete the library items that they created, and any proposal.
const THEIR_OWN: &str = "policies:
  - {id: members, group: [proposals, lib], allow: [read, history, create], to: [member]}
  - {id: proposals_go, group: proposals, allow: [delete], to: [member]}
  - {id: their_own, group: lib, allow: [delete], to: [member], when: meta.created_by == caller.id}
";

/// Callers delete the library items that others created, and any proposal.
const THOSE_OF_OTHERS: &str = "policies:
  - {id: members, group: [proposals, lib], allow: [read, history, create, delete], to: [member]}
  - {id: ones_own_is_a_record, group: lib, deny: [delete], to: [member], when: meta.created_by == caller.id}
";

const WRITERS: usize = 8;

const ROUNDS: u32 = 24;

/// In each round the deletion begins later by it, and the writers earlier.
const STEP: Duration = Duration::from_millis(1);

struct World {
    callers: Callers,
    database: TestDatabase,
    service: Service,
    folder: TempDir,
}

impl World {
    fn new(store: Store, policies: &str, callers: &[(&str, &str)]) -> Self {
        let (callers, database) = (Callers::new(callers), database(store));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policies.yaml");
        fs::write(&path, policies).unwrap();
        let arguments = ["--policies", path.to_str().unwrap(), "--idempotency-ttl", "1h"];
        let service = callers.serve_on(&database, &arguments);
        Self { callers, database, service, folder }
    }

    fn send(&self, name: &str, request: Request) -> Answer {
        self.callers.sign(name, request).send()
    }

    /// Makes an item; returns its path.
    fn make(&self, name: &str, collection: &str, body: &str) -> String {
        let made = self.send(name, self.service.post(collection).json(body)).expect(201);
        format!("{collection}/{}", made.id())
    }

    fn evaluate(&self, name: &str, id: Option<&str>) -> Value {
        let id = id.map(|id| format!(",\"id\":\"{id}\"")).unwrap_or_default();
        let body = format!(
            "{{\"action\":{{\"name\":\"delete\"}},\"resource\":{{\"type\":\"proposals\"{id}}}}}"
        );
        let asked = self.service.post("/access/v1/evaluation").json(body);
        self.send(name, asked).expect(200).value()
    }

    fn extent(&self, name: &str) -> (Value, Value) {
        let access = self.send(name, self.service.get("/v1/access")).expect(200).value();
        let delete = &access["groups"]["proposals"]["delete"];
        (delete["extent"].clone(), delete["policies"].clone())
    }

    /// Runs `access check` for the deletion of proposals, or of one of them.
    fn check(&self, name: &str, role: &str, id: Option<&str>) -> (Option<i32>, String) {
        let caller = self.folder.path().join("caller.json");
        fs::write(&caller, format!("{{\"id\":\"key:{name}\",\"roles\":[\"{role}\"]}}")).unwrap();
        let policies = self.folder.path().join("policies.yaml");
        let [caller, policies] = [&caller, &policies].map(|path| path.to_str().unwrap());
        let mut words = vec!["access", "check", "--policies", policies, "--as", caller];
        words.extend(["--operation", "delete", "--group", "proposals"]);
        if let Some(id) = id {
            words.extend(["--item", id, "--database-url", self.database.url()]);
        }
        let output = tests::tool::tool(&words).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    }

    /// Asserts that the proposal is not deleted, with the policies that deny it, and that everything
    /// that tells so beforehand agrees.
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
            let id = child.rsplit('/').next().unwrap();
            assert!(!refused.text().contains(id), "it names the item: {refused}");
        }
        let told = self.evaluate(name, proposal.rsplit('/').next());
        let told = (&told["decision"], &told["context"]["reason"]);
        assert_eq!(told, (&false.into(), &"not-permitted".into()));
        assert_eq!(self.changes(), before);
    }

    /// Counts all writes.
    fn changes(&self) -> String {
        let counted = self.database.query("SELECT CAST(count(*) AS TEXT) FROM changes");
        counted[0][0].clone().unwrap()
    }

    fn assert_there(&self, name: &str, paths: &[&str]) {
        for path in paths {
            self.send(name, self.service.get(path)).expect(200);
        }
    }
}

#[test]
fn a_proposal_is_not_deleted_with_library_items_that_policies_keep() {
    on_each_store(|store| {
        let callers = [("chief", "chief"), ("clerk", "clerk")];
        let world = World::new(store, A_RECORD, &callers);
        let proposal = world.make("chief", PROPOSALS, PROPOSAL);
        let child = world.make("chief", &format!("{proposal}/lib"), "{}");
        let id = proposal.rsplit('/').next().unwrap();
        // The clerk lacks the right to read, which decides before the denial.
        for (name, policies) in [("chief", &["library_is_a_record"][..]), ("clerk", &[])] {
            world.assert_kept(name, &proposal, &child, policies);
            assert_eq!(world.extent(name), ("none".into(), policies.into()), "{name}");
            assert_eq!(world.evaluate(name, None)["decision"], false);
            let by = policies
                .first()
                .map_or(": no policy allows it".to_owned(), |id| format!(" by {id}"));
            let denied = format!("denied{by}, for items of `lib` that are deleted with it\n");
            for id in [None, Some(id)] {
                assert_eq!(world.check(name, name, id), (Some(1), denied.clone()), "{name}");
            }
        }
        world.assert_there("chief", &[&proposal, &child]);
        // The response shows neither whether the library exists nor whether the proposal exists.
        let empty = world.make("clerk", PROPOSALS, PROPOSAL);
        let absent = format!("{PROPOSALS}/01890a5d-ac96-774b-bcce-b302099a8050");
        let refusal = |path: &str| {
            let mut refusal = world.send("clerk", world.service.delete(path)).expect(403).value();
            refusal["instance"].take();
            refusal
        };
        assert_eq!(refusal(&empty), refusal(&absent));
        assert_eq!(refusal(&proposal), refusal(&absent));
    });
}

#[test]
fn a_proposal_is_deleted_with_ones_own_library_items_alone() {
    on_each_store(|store| {
        let callers = [("ana", "member"), ("ben", "member")];
        let world = World::new(store, THEIR_OWN, &callers);
        let proposal = world.make("ana", PROPOSALS, PROPOSAL);
        let library = format!("{proposal}/lib");
        let own = world.make("ana", &library, "{}");
        let theirs = world.make("ben", &library, "{}");
        let id = proposal.rsplit('/').next().unwrap();
        assert_eq!(world.extent("ana"), ("some".into(), serde_json::json!(["their_own"])));
        assert_eq!(world.evaluate("ana", None)["context"]["reason"], "some");
        let all = "allowed by proposals_go\n\
                   items of `lib` that are deleted with it that the caller created: allowed by their_own\n\
                   other items of `lib` that are deleted with it: denied: no policy allows it\n";
        assert_eq!(world.check("ana", "member", None), (Some(0), all.to_owned()));
        for name in ["ana", "ben"] {
            world.assert_kept(name, &proposal, &theirs, &[]);
            let denied =
                "denied: no policy allows it, for items of `lib` that are deleted with it\n";
            assert_eq!(world.check(name, "member", Some(id)), (Some(1), denied.to_owned()));
        }
        world.assert_there("ana", &[&proposal, &own, &theirs]);
        world.send("ben", world.service.delete(&theirs)).expect(204);
        assert_eq!(world.evaluate("ana", Some(id))["decision"], true);
        let allowed = "allowed by proposals_go\n";
        assert_eq!(world.check("ana", "member", Some(id)), (Some(0), allowed.to_owned()));
        let tried = world.service.delete(&format!("{proposal}?dry_run=true"));
        world.send("ana", tried).expect(204);
        world.assert_kept("ben", &proposal, &own, &[]);
        world.send("ana", world.service.delete(&proposal)).expect(204);
        world.send("ana", world.service.get(&own)).expect(404);
    });
}

#[test]
fn a_proposal_is_not_deleted_with_ones_own_library_items_where_those_are_kept() {
    on_each_store(|store| {
        let callers = [("ana", "member"), ("ben", "member")];
        let world = World::new(store, THOSE_OF_OTHERS, &callers);
        let proposal = world.make("ana", PROPOSALS, PROPOSAL);
        let own = world.make("ana", &format!("{proposal}/lib"), "{}");
        world.assert_kept("ana", &proposal, &own, &["ones_own_is_a_record"]);
        world.send("ben", world.service.delete(&proposal)).expect(204);
    });
}

#[test]
fn no_stranger_s_item_is_deleted_by_eight_who_add_it_while_its_proposal_is_deleted() {
    on_each_store(|store| {
        let names: Vec<_> = (0..WRITERS).map(|number| format!("writer{number}")).collect();
        let writers = names.iter().map(|name| (name.as_str(), "member"));
        let callers: Vec<_> = writers.chain([("ana", "member")]).collect();
        let world = World::new(store, THEIR_OWN, &callers);
        let mut outcomes = [0, 0];
        for round in 0..ROUNDS {
            let proposal = world.make("ana", PROPOSALS, PROPOSAL);
            let library = format!("{proposal}/lib");
            let own = world.make("ana", &library, "{}");
            let begin = Barrier::new(WRITERS + 1);
            let (deleted, added) = std::thread::scope(|scope| {
                let added: Vec<_> = names
                    .iter()
                    .map(|name| {
                        scope.spawn(|| {
                            begin.wait();
                            sleep(STEP * (ROUNDS - round));
                            let request = world.service.post(&library).json("{}");
                            world.callers.sign(name, request).send()
                        })
                    })
                    .collect();
                begin.wait();
                sleep(STEP * round);
                let deleted = world.send("ana", world.service.delete(&proposal));
                let added = added.into_iter().map(|added| added.join().unwrap());
                (deleted, added.collect::<Vec<_>>())
            });
            let made: Vec<_> = added.iter().filter(|added| added.status == 201).collect();
            match deleted.status {
                204 => assert!(made.is_empty(), "an item of a stranger is lost"),
                403 => {
                    assert!(!made.is_empty(), "refused because of nothing");
                    world.assert_there("ana", &[&proposal, &own]);
                    for made in &made {
                        world.assert_there("ana", &[&format!("{library}/{}", made.id())]);
                    }
                }
                _ => panic!("{deleted}"),
            }
            assert!(added.iter().all(|added| matches!(added.status, 201 | 404)));
            outcomes[usize::from(deleted.status == 403)] += 1;
        }
        println!("deleted {}, refused {}", outcomes[0], outcomes[1]);
    });
}

#[test]
fn a_library_of_more_than_a_thousand_items_is_examined_whole() {
    on_each_store(|store| {
        let callers = [("ana", "member"), ("ben", "member")];
        let world = World::new(store, THEIR_OWN, &callers);
        let proposal = world.make("ana", PROPOSALS, PROPOSAL);
        let id = proposal.rsplit('/').next().unwrap();
        let rows = format!("{{\"proposal\":\"{id}\"}}\n").repeat(1_200);
        let import = world.service.post("/imports/lib").body("application/x-ndjson", rows);
        world.send("ana", import).expect(200);
        let theirs = world.make("ben", &format!("{proposal}/lib"), "{}");
        world.assert_kept("ana", &proposal, &theirs, &[]);
        world.send("ben", world.service.delete(&theirs)).expect(204);
        world.send("ana", world.service.delete(&proposal)).expect(204);
        let left = world.send("ana", world.service.get("/lib")).expect(200).value();
        assert_eq!(left["total_items"], 0);
    });
}

/// Each may do a part of what continuing or restoring takes.
const PARTS: &str = "policies:
  - {id: chiefs, group: [proposals, lib], allow: [read, history, write], to: [chief]}
  - {id: depositors, group: [proposals, lib], allow: [create], to: [depositor]}
  - {id: readers, group: [proposals, lib], allow: [read, history], to: [reader]}
  - {id: librarians, group: lib, allow: [read, history, create], to: [librarian]}
";

#[test]
fn continuing_needs_to_read_the_old_item_and_to_create() {
    on_each_store(|store| {
        let callers = [("chief", "chief"), ("depositor", "depositor"), ("reader", "reader")];
        let world = World::new(store, PARTS, &callers);
        let proposal = world.make("chief", PROPOSALS, PROPOSAL);
        for query in ["", "?dry_run=true"] {
            for (name, status) in [("depositor", 403), ("reader", 403)] {
                let path = format!("{proposal}{query}");
                let request = world.service.post(&path).json(PROPOSAL);
                world.send(name, request).expect(status);
            }
        }
        assert_eq!(world.changes(), "1");
        world.send("chief", world.service.post(&proposal).json(PROPOSAL)).expect(201);
    });
}

#[test]
fn restoring_needs_the_rights_of_what_it_does() {
    on_each_store(|store| {
        let callers = [("chief", "chief"), ("reader", "reader"), ("librarian", "librarian")];
        let world = World::new(store, PARTS, &callers);
        let proposal = world.make("chief", PROPOSALS, PROPOSAL);
        let child = world.make("chief", &format!("{proposal}/lib"), r#"{"a":1}"#);
        let child = child.rsplit('/').next().map(|id| format!("/lib/{id}")).unwrap();
        let restored = |path: &str| world.service.post(&format!("{path}/versions/1"));
        // To replace an existing item.
        for name in ["reader", "librarian"] {
            world.send(name, restored(&child)).expect(403);
        }
        world.send("chief", restored(&child)).expect(200);
        world.send("chief", world.service.delete(&child)).expect(204);
        // To restore a removed item, below a proposal that the librarian may not read.
        for name in ["reader", "librarian"] {
            world.send(name, restored(&child)).expect(403);
            let condition = restored(&child).header("if-match", "\"1\"");
            world.send(name, condition).expect(403);
        }
        world.send("chief", restored(&child)).expect(201);
        world.send("chief", world.service.delete(&proposal)).expect(204);
        // The answer is the same where the proposal is gone.
        world.send("librarian", restored(&child)).expect(403);
        world.send("chief", restored(&child)).expect(404);
    });
}
