//! `embed`: what an item links to, shown with it.

use serde_json::{Value, json};
use tests::{Item, Request, Service};

use crate::{PROPOSAL, UNKNOWN_ID};

const PROPOSALS: &str = "/v1/proposals";

/// A proposal with a programme and two library items, and one without either.
struct Related {
    programme: Item,
    proposal: Item,
    library: [Item; 2],
    lonely: Item,
}

impl Related {
    fn store(service: &Service) -> Self {
        let programme =
            service.create("/v1/proposedprograms", r#"{"title":"Fisheries","amount":100.10}"#);
        let proposal = service.create(PROPOSALS, &proposal_in(&programme.id));
        let library = ["one", "two"].map(|title| {
            let library = format!("{}/lib", proposal.path);
            let item = service.create(&library, &format!(r#"{{"title":"{title}"}}"#));
            Item { path: format!("/lib/{}", item.id), ..item }
        });
        let lonely = service.create(PROPOSALS, PROPOSAL);
        Self { programme, proposal, library, lonely }
    }

    /// The proposal with `embed`.
    fn embedded(&self, service: &Service, embed: &str) -> Value {
        let shown = |item: &Item| service.read(&item.path).value();
        let mut embedded = json!({});
        if embed.contains("lib") {
            embedded["lib"] = self.library.iter().map(shown).collect();
        }
        if embed.contains("program") {
            embedded["program"] = shown(&self.programme);
        }
        embedded
    }
}

tests::cases![
    a_proposal_shows_its_library_and_its_programme,
    missing_items_are_not_embedded,
    a_library_item_shows_its_proposal_under_either_path,
    every_item_of_a_page_shows_its_own,
    embedding_combines_with_other_parameters,
    the_entity_tag_changes_with_embedded_items,
    items_that_are_not_embedded_change_no_tag,
    other_names_are_refused,
];

fn proposal_in(programme: &str) -> String {
    PROPOSAL.replacen('{', &format!(r#"{{"program_id":"{programme}","#), 1)
}

fn a_proposal_shows_its_library_and_its_programme(service: &Service) {
    let related = Related::store(service);
    let plain = service.read(&related.proposal.path).value();
    assert_eq!(plain.get("_embedded"), None, "without `embed`");
    for embed in ["lib", "program", "lib,program", "program,lib", "lib%2Cprogram"] {
        let alone = service.read(&format!("{}?embed={embed}", related.proposal.path)).value();
        assert_eq!(alone["_embedded"], related.embedded(service, embed), "{embed}");
        assert_eq!(without_embedded(&alone), plain, "{embed}");
        let listed = service.list(PROPOSALS, &format!("embed={embed}"));
        assert_eq!(listed.embedded("proposals")[0], alone, "{listed}");
    }
}

fn missing_items_are_not_embedded(service: &Service) {
    let related = Related::store(service);
    let alone = service.read(&format!("{}?embed=lib,program", related.lonely.path)).value();
    assert_eq!(alone["_embedded"], json!({"lib": []}));
    let listed = service.list(PROPOSALS, "embed=lib,program").embedded("proposals");
    assert_eq!(listed[1], alone);
    let [unknown, foreign] =
        [UNKNOWN_ID, "PRG-2025-004"].map(|id| service.create(PROPOSALS, &proposal_in(id)));
    let free = service.create("/lib", "{}");
    for (item, embed) in [(unknown, "program"), (foreign, "program"), (free, "proposal")] {
        let answer = service.read(&format!("{}?embed={embed}", item.path));
        assert_eq!(answer.value()["_embedded"][embed], Value::Null, "{answer}");
    }
}

fn a_library_item_shows_its_proposal_under_either_path(service: &Service) {
    let related = Related::store(service);
    let proposal = service.read(&related.proposal.path).value();
    let nested = format!("{}/lib", related.proposal.path);
    for collection in ["/lib", &nested] {
        let path = format!("{collection}/{}", related.library[0].id);
        let alone = service.read(&format!("{path}?embed=proposal"));
        assert_eq!(alone.value()["_embedded"], json!({"proposal": proposal}), "{alone}");
        assert_eq!(without_embedded(&alone.value()), service.read(&path).value(), "{alone}");
        let listed = service.list(collection, "embed=proposal").embedded("lib");
        assert_eq!(listed[0], alone.value(), "{collection}");
        assert_eq!(listed[1]["_embedded"]["proposal"], proposal, "{collection}");
    }
}

fn every_item_of_a_page_shows_its_own(service: &Service) {
    let programmes = ["A", "B"]
        .map(|title| service.create("/v1/proposedprograms", &format!(r#"{{"title":"{title}"}}"#)));
    let proposals = [0, 1, 0, 1, 0, 1]
        .map(|programme: usize| service.create(PROPOSALS, &proposal_in(&programmes[programme].id)));
    for n in 0..12 {
        service.create(&format!("{}/lib", proposals[n % 4].path), &format!(r#"{{"n":{n}}}"#));
    }
    let query = "embed=lib,program&page_size=5&sort=-id";
    let listed = service.list(PROPOSALS, query).each("_embedded");
    for (embedded, n) in listed.iter().zip([5, 4, 3, 2, 1]) {
        assert_eq!(embedded["program"]["title"], ["A", "B"][n % 2], "{embedded}");
        let library = embedded["lib"].as_array().expect("a list");
        let library: Vec<_> = library.iter().map(|item| item["n"].clone()).collect();
        let own = if n < 4 { vec![n, n + 4, n + 8] } else { vec![] };
        assert_eq!(library, own, "of proposal {n}");
    }
    let items = service.list("/lib", "embed=proposal").embedded("lib");
    assert_eq!(items.len(), 12);
    for (item, proposal) in items.iter().zip(proposals[..4].iter().cycle()) {
        assert_eq!(item["_embedded"]["proposal"]["id"], proposal.id, "{item}");
    }
}

fn embedding_combines_with_other_parameters(service: &Service) {
    let related = Related::store(service);
    let query = "embed=lib,program&fields=project_title&filter[program_id][exists]=true&sort=-id&q=kit&total=none";
    let listed = service.list(PROPOSALS, query).embedded("proposals");
    let [item] = &listed[..] else { panic!("{listed:?}") };
    assert_eq!(item["_embedded"], related.embedded(service, "lib,program"));
    assert_eq!(item["project_title"], "Rapid test kit");
    assert_eq!(item.get("program_id"), None, "{item}");
    let target = format!("{}?fields=proposal_type&embed=lib,program", related.proposal.path);
    let alone = service.read(&target).value();
    assert_eq!(alone["_embedded"], related.embedded(service, "lib,program"));
    assert_eq!(alone.get("project_title"), None, "{alone}");
}

fn the_entity_tag_changes_with_embedded_items(service: &Service) {
    let related = Related::store(service);
    let (proposal, programme) = (&*related.proposal.path, &*related.programme.path);
    let library = &*format!("{proposal}/lib");
    let [first, second] = related.library.each_ref().map(|item| &*item.path);
    let of_proposal =
        [format!("{proposal}?embed=lib,program"), format!("{PROPOSALS}?embed=lib,program")];
    let of_items = [
        format!("{first}?embed=proposal"),
        format!("{library}/{}?embed=proposal", related.library[0].id),
        "/lib?embed=proposal".to_owned(),
        format!("{library}?embed=proposal"),
    ];
    let of_all = [&of_proposal[..], &of_items].concat();
    // The links of an embedded proposal show its programme and the proposal that continues it.
    for (targets, method, target, body) in [
        (&of_proposal[..], "POST", library, r#"{"title":"three"}"#),
        (&of_proposal, "PATCH", first, r#"{"title":"1"}"#),
        (&of_proposal, "DELETE", second, "{}"),
        (&of_proposal, "PUT", programme, r#"{"title":"Sea"}"#),
        (&of_all, "PATCH", proposal, r#"{"description":"x"}"#),
        (&of_all, "DELETE", programme, "{}"),
        (&of_items, "POST", proposal, PROPOSAL),
    ] {
        tags_change_with(service, targets, service.request(method, target).json(body));
    }
}

fn items_that_are_not_embedded_change_no_tag(service: &Service) {
    let related = Related::store(service);
    let proposal = &related.proposal.path;
    let before = service.read(proposal).etag();
    service.change(&related.library[0].path, r#"{"title":"1"}"#);
    service.change(&related.programme.path, r#"{"title":"1"}"#);
    assert_eq!(service.read(proposal).etag(), before);
    let embedding = service.read(&format!("{proposal}?embed=lib")).etag();
    service.put(proposal).header("if-match", embedding).json(PROPOSAL).expect(200);
}

fn other_names_are_refused(service: &Service) {
    let related = Related::store(service);
    let nested = format!("{}/lib", related.proposal.path);
    let library_item = format!("{nested}/{}", related.library[0].id);
    let proposals = [PROPOSALS, &related.proposal.path];
    for (targets, embed, mentioned) in [
        (proposals, "programme", &["programme", "`program`"][..]),
        (proposals, "files", &["files", "`lib` or `program`"]),
        (proposals, "lib,lbi", &["lbi", "`lib`"]),
        (proposals, "lib,lib", &["`lib` more than once"]),
        (proposals, "", &["Use `lib`"]),
        (proposals, "lib,", &[]),
        (proposals, "proposal", &["proposal"]),
        (["/lib", &related.library[0].path], "proposals", &["proposals", "`proposal`"]),
        ([&nested, &library_item], "program", &["program", "`proposal`"]),
        (["/v1/proposedprograms", &related.programme.path], "lib", &["is not supported"]),
    ] {
        for target in targets {
            let refused = service.get(&format!("{target}?embed={embed}")).send();
            refused.refusing_query(&[&["`embed`"], mentioned].concat());
        }
    }
}

/// Asserts that a write changes the entity tags of all targets, and that 304 is answered before it
/// and not after.
#[track_caller]
fn tags_change_with(service: &Service, targets: &[String], write: Request) {
    let before: Vec<_> = targets.iter().map(|target| service.read(target)).collect();
    let conditional =
        |at: usize| service.get(&targets[at]).header("if-none-match", before[at].etag());
    (0..targets.len()).for_each(|at| drop(conditional(at).expect(304)));
    let written = write.send();
    assert!(written.status < 300, "{written}");
    for (at, before) in before.iter().enumerate() {
        let after = conditional(at).expect(200);
        assert_ne!(after.etag(), before.etag(), "after {written}: {before} and {after}");
    }
}

fn without_embedded(item: &Value) -> Value {
    let mut item = item.clone();
    item.as_object_mut().expect("an item").remove("_embedded");
    item
}
