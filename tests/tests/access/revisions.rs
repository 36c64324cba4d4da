//! Entity tags of pages, to callers who may not read everything that the items are related to.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use tests::{Answer, Service, Store};

use crate::audit::soon;
use crate::world::{Callers, on_each_store};

const PROPOSAL: &str = r#"{"proposal_type":"Applied","project_title":"Rice"}"#;

/// The clerk may read neither proposals nor their libraries.
const POLICIES: &str = "policies:
  - {id: clerks, group: [files, cashprogram], allow: [read, write], to: [clerk]}
  - {id: chiefs, group: [files, cashprogram, proposals, lib], allow: [read, write], to: [chief]}
";

const PROMOTION: &str =
    "  - {id: clerks_see_proposals, group: proposals, allow: [read], to: [clerk]}\n";

struct World {
    callers: Callers,
    service: Service,
    folder: TempDir,
}

impl World {
    fn new(store: Store) -> Self {
        let callers = Callers::new(&[("clerk", "clerk"), ("chief", "chief")]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policies.yaml");
        fs::write(&path, POLICIES).unwrap();
        let service = callers.serve(store, &["--policies", path.to_str().unwrap()]);
        Self { callers, service, folder }
    }

    fn policies(&self) -> PathBuf {
        self.folder.path().join("policies.yaml")
    }

    fn create(&self, path: &str, body: &str) -> Answer {
        self.callers.sign("chief", self.service.post(path).json(body)).send().expect(201)
    }

    fn tag(&self, name: &str, path: &str) -> String {
        self.callers.sign(name, self.service.get(path)).send().expect(200).etag()
    }

    /// The status of a read by somebody who has the representation of this tag.
    fn status(&self, name: &str, path: &str, tag: &str) -> u16 {
        let request = self.service.get(path).header("if-none-match", tag);
        self.callers.sign(name, request).send().status
    }

    fn replace(&self, name: &str, tag: &str) -> Answer {
        let request = self.service.put("/v1/cashprogram").header("if-match", tag).json("[{}]");
        self.callers.sign(name, request).send()
    }
}

#[test]
fn the_tag_of_a_page_counts_no_writes_to_what_its_caller_may_not_read() {
    on_each_store(|store| {
        let world = World::new(store);
        let proposal = world.create("/v1/proposals", PROPOSAL).id();
        world.create("/v1/files", &format!("{{\"proposal_id\":\"{proposal}\"}}"));
        let views = ["", "?embed=proposal", "?q=rice", "?sort=-name", "?total=none"]
            .map(|query| format!("/v1/files{query}"));
        let known = |name: &str| views.each_ref().map(|view| world.tag(name, view));
        let (clerk, chief) = (known("clerk"), known("chief"));
        world.create("/v1/proposals", PROPOSAL);
        assert_eq!(known("clerk"), clerk, "it is as it was");
        for (index, view) in views.iter().enumerate() {
            assert_eq!(world.status("clerk", view, &clerk[index]), 304, "{view}");
            assert_eq!(world.status("chief", view, &chief[index]), 200, "{view}");
        }
        world.create("/v1/files", "{}");
        for (view, tag) in views.iter().zip(&clerk) {
            assert_eq!(world.status("clerk", view, tag), 200, "{view}");
        }
    });
}

#[test]
fn callers_with_other_rights_never_have_the_same_tag() {
    on_each_store(|store| {
        let world = World::new(store);
        // Nothing was written to proposals, so that all count the same writes.
        world.create("/v1/files", "{}");
        let path = "/v1/files";
        let (clerk, chief) = (world.tag("clerk", path), world.tag("chief", path));
        assert!(
            clerk.starts_with("\"r1-proposals.") && chief.starts_with("\"r1."),
            "{clerk} {chief}"
        );
        assert_eq!(world.status("clerk", path, &chief), 200);
        assert_eq!(world.status("chief", path, &clerk), 200);
        fs::write(world.policies(), format!("{POLICIES}{PROMOTION}")).unwrap();
        world.service.hang_up();
        soon(|| world.status("clerk", "/v1/proposals", "\"none\"") == 200);
        assert_eq!(world.status("clerk", path, &clerk), 200, "the rights have changed");
        assert_eq!(world.tag("clerk", path), chief);
    });
}

#[test]
fn the_tag_of_a_library_item_tells_if_its_proposal_is_shown() {
    on_each_store(|store| {
        let world = World::new(store);
        let readers = "  - {id: readers, group: lib, allow: [read, write], to: [clerk]}\n";
        fs::write(world.policies(), format!("{POLICIES}{readers}")).unwrap();
        world.service.hang_up();
        soon(|| world.status("clerk", "/lib", "\"none\"") == 200);
        let proposal = world.create("/v1/proposals", PROPOSAL).id();
        let item = world.create(&format!("/v1/proposals/{proposal}/lib"), "{}").id();
        for path in [format!("/lib/{item}"), "/lib".to_owned()] {
            let (clerk, chief) = (world.tag("clerk", &path), world.tag("chief", &path));
            assert_ne!(clerk, chief, "{path}");
            assert_eq!(world.status("clerk", &path, &chief), 200, "{path}");
        }
        let tag = world.tag("clerk", &format!("/lib/{item}"));
        let patch = world.service.patch(&format!("/lib/{item}")).header("if-match", tag);
        world.callers.sign("clerk", patch.json(r#"{"a":1}"#)).send().expect(200);
    });
}

#[test]
fn a_collection_is_replaced_under_the_tag_that_its_caller_was_given() {
    on_each_store(|store| {
        let world = World::new(store);
        let path = "/v1/cashprogram";
        let made = world.replace("clerk", &world.tag("clerk", path)).expect(200).etag();
        assert_eq!(world.status("clerk", path, &made), 304);
        world.create("/v1/proposals", PROPOSAL);
        assert_eq!(world.status("clerk", path, &made), 304);
        let next = world.replace("clerk", &made).expect(200).etag();
        let refused = world.replace("clerk", &made).expect(412);
        assert_eq!((refused.etag(), world.tag("clerk", path)), (next.clone(), next));
        let chief = world.tag("chief", path);
        world.replace("clerk", &chief).expect(412);
        world.create("/v1/proposals", PROPOSAL);
        world.replace("chief", &chief).expect(412);
        let chief = world.replace("chief", &world.tag("chief", path)).expect(200).etag();
        assert_eq!(world.status("chief", path, &chief), 304);
    });
}
