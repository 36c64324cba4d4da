//! Entity tags of pages, to callers who may not read everything that the items are related to.

use tests::Answer;

use crate::world::{PROPOSAL, World, on_each_store};

/// The clerk may read neither proposals nor their libraries.
const POLICIES: &str = "policies:
  - {id: clerks, group: [files, cashprogram], allow: [read, write], to: [clerk]}
  - {id: chiefs, group: [files, cashprogram, proposals, lib], allow: [read, write], to: [chief]}
";

const PROMOTION: &str =
    "  - {id: clerks_see_proposals, group: proposals, allow: [read], to: [clerk]}\n";

const READERS: &str = "  - {id: readers, group: lib, allow: [read, write], to: [clerk]}\n";

const PAGE: &str = "/v1/files";

#[test]
fn callers_with_other_rights_have_other_tags() {
    on_each_store(|store| {
        let callers = [("clerk", "clerk"), ("chief", "chief")];
        let world = World::new(store, &callers, POLICIES, &[]);
        callers_with_other_rights_never_have_the_same_tag(&world);
        the_tag_of_a_page_counts_no_writes_to_what_its_caller_may_not_read(&world);
        a_collection_is_replaced_under_the_tag_that_its_caller_received(&world);
        the_tag_of_a_library_item_depends_on_whether_its_proposal_is_shown(&world);
    });
}

impl World {
    fn tag(&self, name: &str, path: &str) -> String {
        self.get(name, path).etag()
    }

    /// The status of a read with the tag of a representation that the caller has.
    fn status(&self, name: &str, path: &str, tag: &str) -> u16 {
        self.send(name, self.service.get(path).header("if-none-match", tag)).status
    }

    fn replace(&self, name: &str, tag: &str) -> Answer {
        let request = self.service.put("/v1/cashprogram").header("if-match", tag).json("[{}]");
        self.send(name, request)
    }
}

/// Comes first: as long as no proposal is written, all callers count the same writes.
fn callers_with_other_rights_never_have_the_same_tag(world: &World) {
    world.create("chief", PAGE, "{}");
    let (clerk, chief) = (world.tag("clerk", PAGE), world.tag("chief", PAGE));
    assert!(clerk.starts_with("\"r1-proposals.") && chief.starts_with("\"r1."), "{clerk} {chief}");
    assert_eq!(world.status("clerk", PAGE, &chief), 200);
    assert_eq!(world.status("chief", PAGE, &clerk), 200);
    let proposals = || world.status("clerk", "/v1/proposals", "\"none\"");
    world.reload(&format!("{POLICIES}{PROMOTION}"), || proposals() == 200);
    assert_eq!(world.status("clerk", PAGE, &clerk), 200, "the rights have changed");
    assert_eq!(world.tag("clerk", PAGE), chief);
    world.reload(POLICIES, || proposals() == 403);
}

fn the_tag_of_a_page_counts_no_writes_to_what_its_caller_may_not_read(world: &World) {
    let proposal = world.create("chief", "/v1/proposals", PROPOSAL).id();
    world.create("chief", PAGE, &format!("{{\"proposal_id\":\"{proposal}\"}}"));
    let views = ["", "?embed=proposal", "?q=rice", "?sort=-name", "?total=none"]
        .map(|query| format!("{PAGE}{query}"));
    let known = |name: &str| views.each_ref().map(|view| world.tag(name, view));
    let (clerk, chief) = (known("clerk"), known("chief"));
    world.create("chief", "/v1/proposals", PROPOSAL);
    assert_eq!(known("clerk"), clerk, "the page is unchanged");
    for (index, view) in views.iter().enumerate() {
        assert_eq!(world.status("clerk", view, &clerk[index]), 304, "{view}");
        assert_eq!(world.status("chief", view, &chief[index]), 200, "{view}");
    }
    world.create("chief", PAGE, "{}");
    for (view, tag) in views.iter().zip(&clerk) {
        assert_eq!(world.status("clerk", view, tag), 200, "{view}");
    }
}

fn a_collection_is_replaced_under_the_tag_that_its_caller_received(world: &World) {
    let path = "/v1/cashprogram";
    let made = world.replace("clerk", &world.tag("clerk", path)).expect(200).etag();
    assert_eq!(world.status("clerk", path, &made), 304);
    world.create("chief", "/v1/proposals", PROPOSAL);
    assert_eq!(world.status("clerk", path, &made), 304);
    let next = world.replace("clerk", &made).expect(200).etag();
    let refused = world.replace("clerk", &made).expect(412);
    assert_eq!((refused.etag(), world.tag("clerk", path)), (next.clone(), next));
    let chief = world.tag("chief", path);
    world.replace("clerk", &chief).expect(412);
    world.create("chief", "/v1/proposals", PROPOSAL);
    world.replace("chief", &chief).expect(412);
    let chief = world.replace("chief", &world.tag("chief", path)).expect(200).etag();
    assert_eq!(world.status("chief", path, &chief), 304);
}

fn the_tag_of_a_library_item_depends_on_whether_its_proposal_is_shown(world: &World) {
    world.reload(&format!("{POLICIES}{READERS}"), || {
        world.status("clerk", "/lib", "\"none\"") == 200
    });
    let proposal = world.create("chief", "/v1/proposals", PROPOSAL).id();
    let item = world.create("chief", &format!("/v1/proposals/{proposal}/lib"), "{}").id();
    let item = format!("/lib/{item}");
    for path in [item.as_str(), "/lib"] {
        let (clerk, chief) = (world.tag("clerk", path), world.tag("chief", path));
        assert_ne!(clerk, chief, "{path}");
        assert_eq!(world.status("clerk", path, &chief), 200, "{path}");
    }
    let patch = world.service.patch(&item).header("if-match", world.tag("clerk", &item));
    world.send("clerk", patch.json(r#"{"a":1}"#)).expect(200);
}
