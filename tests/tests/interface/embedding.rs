//! `embed`: what an item links to, shown with it.

use serde_json::{Value, json};
use tests::{Answer, Item, Service, on_each_store};

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
            let id = service
                .create(&format!("{}/lib", proposal.path), &format!(r#"{{"title":"{title}"}}"#))
                .id;
            let path = format!("/lib/{id}");
            Item { etag: service.get(&path).send().etag(), path, id }
        });
        let lonely = service.create(PROPOSALS, PROPOSAL);
        Self { programme, proposal, library, lonely }
    }

    /// The proposal with `embed`.
    fn embedded(&self, service: &Service, embed: &str) -> Value {
        let shown = |item: &Item| service.get(&item.path).send().expect(200).value();
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

fn proposal_in(programme: &str) -> String {
    PROPOSAL.replacen('{', &format!(r#"{{"program_id":"{programme}","#), 1)
}

#[test]
fn a_proposal_shows_its_library_and_its_programme() {
    on_each_store(|service| {
        let related = Related::store(service);
        for embed in ["lib", "program", "lib,program", "program,lib", "lib%2Cprogram"] {
            let alone =
                service.get(&format!("{}?embed={embed}", related.proposal.path)).send().expect(200);
            assert_eq!(alone.value()["_embedded"], related.embedded(service, embed), "{alone}");
            let plain = service.get(&related.proposal.path).send().expect(200).value();
            assert_eq!(without_embedded(&alone.value()), plain, "{alone}");

            let listed = service.list(PROPOSALS, &format!("embed={embed}"));
            assert_eq!(
                listed.embedded(PROPOSALS.trim_start_matches("/v1/"))[0],
                alone.value(),
                "{listed}"
            );
        }
        let plain = service.get(&related.proposal.path).send().expect(200);
        assert_eq!(plain.value().get("_embedded"), None, "nothing is shown unasked: {plain}");
    });
}

#[test]
fn what_is_not_there_is_not_shown() {
    on_each_store(|service| {
        let related = Related::store(service);
        let alone =
            service.get(&format!("{}?embed=lib,program", related.lonely.path)).send().expect(200);
        assert_eq!(alone.value()["_embedded"], json!({"lib": []}), "{alone}");
        let listed = service.list(PROPOSALS, "embed=lib,program").embedded("proposals");
        assert_eq!(listed[1], alone.value());
        for other in [UNKNOWN_ID, "PRG-2025-004"] {
            let item = service.create(PROPOSALS, &proposal_in(other));
            let answer = service.get(&format!("{}?embed=program", item.path)).send().expect(200);
            assert_eq!(answer.value()["_embedded"]["program"], Value::Null, "{answer}");
        }
        let free = service.create("/lib", "{}");
        let answer = service.get(&format!("{}?embed=proposal", free.path)).send().expect(200);
        assert_eq!(answer.value()["_embedded"]["proposal"], Value::Null, "{answer}");
    });
}

#[test]
fn a_library_item_shows_its_proposal_under_either_path() {
    on_each_store(|service| {
        let related = Related::store(service);
        let proposal = service.get(&related.proposal.path).send().expect(200).value();
        let nested = format!("{}/lib", related.proposal.path);
        for collection in ["/lib", &nested] {
            let path = format!("{collection}/{}", related.library[0].id);
            let alone = service.get(&format!("{path}?embed=proposal")).send().expect(200);
            assert_eq!(alone.value()["_embedded"], json!({"proposal": proposal}), "{alone}");
            assert_eq!(
                without_embedded(&alone.value()),
                service.get(&path).send().expect(200).value(),
                "{alone}"
            );
            let listed = service.list(collection, "embed=proposal").embedded("lib");
            assert_eq!(listed[0], alone.value(), "{collection}");
            assert_eq!(listed[1]["_embedded"]["proposal"], proposal, "{collection}");
        }
    });
}

#[test]
fn an_item_with_many_neighbours_shows_each_to_its_own() {
    on_each_store(|service| {
        let programmes = ["A", "B"].map(|title| {
            service.create("/v1/proposedprograms", &format!(r#"{{"title":"{title}"}}"#))
        });
        let proposals: Vec<_> = (0..6)
            .map(|n| service.create(PROPOSALS, &proposal_in(&programmes[n % 2].id)))
            .collect();
        for n in 0..12 {
            service.create(&format!("{}/lib", proposals[n % 4].path), &format!(r#"{{"n":{n}}}"#));
        }
        let listed =
            service.list(PROPOSALS, "embed=lib,program&page_size=5&sort=-id").embedded("proposals");
        for (at, n) in [5, 4, 3, 2, 1].into_iter().enumerate() {
            let embedded = &listed[at]["_embedded"];
            assert_eq!(embedded["program"]["title"], ["A", "B"][n % 2], "{embedded}");
            let library: Vec<_> = embedded["lib"]
                .as_array()
                .unwrap()
                .iter()
                .map(|item| item["n"].as_u64().unwrap())
                .collect();
            let own = if n < 4 { vec![n as u64, n as u64 + 4, n as u64 + 8] } else { vec![] };
            assert_eq!(library, own, "of proposal {n}");
        }
        for item in service.list("/lib", "embed=proposal").embedded("lib") {
            let n = usize::try_from(item["n"].as_u64().unwrap()).unwrap();
            assert_eq!(item["_embedded"]["proposal"]["id"], proposals[n % 4].id, "{item}");
        }
    });
}

#[test]
fn embedding_goes_with_everything_else() {
    on_each_store(|service| {
        let related = Related::store(service);
        let query = "embed=lib,program&fields=project_title&filter[program_id][exists]=true&sort=-id&q=kit&total=none";
        let listed = service.list(PROPOSALS, query).embedded("proposals");
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0]["_embedded"], related.embedded(service, "lib,program"));
        assert_eq!(
            (&listed[0]["project_title"], listed[0].get("program_id")),
            (&json!("Rapid test kit"), None),
            "{}",
            listed[0]
        );

        let alone = service
            .get(&format!("{}?fields=proposal_type&embed=lib,program", related.proposal.path))
            .send()
            .expect(200);
        assert_eq!(alone.value()["_embedded"], related.embedded(service, "lib,program"), "{alone}");
        assert_eq!(alone.value().get("project_title"), None, "{alone}");
    });
}

#[test]
fn the_entity_tag_changes_when_what_is_shown_does() {
    on_each_store(|service| {
        let related = Related::store(service);
        let targets = [
            format!("{}?embed=lib,program", related.proposal.path),
            format!("{PROPOSALS}?embed=lib,program"),
        ];
        let library = format!("{}/lib", related.proposal.path);
        let steps: [(&str, &dyn Fn()); 6] = [
            ("a new library item", &|| drop(service.create(&library, r#"{"title":"three"}"#))),
            ("a changed library item", &|| {
                drop(
                    service
                        .patch(&related.library[0].path)
                        .json(r#"{"title":"1"}"#)
                        .send()
                        .expect(200),
                );
            }),
            ("a deleted library item", &|| {
                drop(service.delete(&related.library[1].path).send().expect(204));
            }),
            ("a changed programme", &|| {
                drop(
                    service
                        .put(&related.programme.path)
                        .json(r#"{"title":"Sea"}"#)
                        .send()
                        .expect(200),
                );
            }),
            ("a deleted programme", &|| {
                drop(service.delete(&related.programme.path).send().expect(204));
            }),
            ("a changed proposal", &|| {
                drop(
                    service
                        .patch(&related.proposal.path)
                        .json(r#"{"description":"x"}"#)
                        .send()
                        .expect(200),
                );
            }),
        ];
        for (step, write) in steps {
            tags_change_with(service, &targets, step, write);
        }
    });
}

#[test]
fn the_entity_tag_of_a_library_item_changes_with_its_proposal() {
    on_each_store(|service| {
        let related = Related::store(service);
        let nested = format!("{}/lib", related.proposal.path);
        let items = ["/lib", &nested]
            .map(|collection| format!("{collection}/{}?embed=proposal", related.library[0].id));
        let targets = [
            items[0].clone(),
            items[1].clone(),
            "/lib?embed=proposal".to_owned(),
            format!("{nested}?embed=proposal"),
        ];
        tags_change_with(service, &targets, "a changed proposal", &|| {
            service.patch(&related.proposal.path).json(r#"{"description":"x"}"#).send().expect(200);
        });
        tags_change_with(service, &targets, "a programme that the proposal's links show", &|| {
            service.delete(&related.programme.path).send().expect(204);
        });
        tags_change_with(service, &targets, "a proposal that continues it", &|| {
            service.post(&related.proposal.path).json(PROPOSAL).send().expect(201);
        });
    });
}

#[test]
fn what_was_not_asked_for_changes_no_tag() {
    on_each_store(|service| {
        let related = Related::store(service);
        let tag = |target: &str| service.get(target).send().expect(200).etag();
        let before = tag(&related.proposal.path);
        service.patch(&related.library[0].path).json(r#"{"title":"1"}"#).send().expect(200);
        service.patch(&related.programme.path).json(r#"{"title":"1"}"#).send().expect(200);
        assert_eq!(tag(&related.proposal.path), before);
        let embedding = format!("{}?embed=lib", related.proposal.path);
        let write = service
            .put(&related.proposal.path)
            .header("if-match", tag(&embedding))
            .json(PROPOSAL)
            .send();
        write.expect(200);
    });
}

#[test]
fn what_nobody_embeds_is_refused() {
    on_each_store(|service| {
        let related = Related::store(service);
        let nested = format!("{}/lib", related.proposal.path);
        let library_item = format!("{nested}/{}", related.library[0].id);
        for (targets, embed, mentioned) in [
            (
                [PROPOSALS, &related.proposal.path],
                "embed=programme",
                &["`embed`", "programme", "`program`"][..],
            ),
            (
                [PROPOSALS, &related.proposal.path],
                "embed=files",
                &["`embed`", "files", "`lib` or `program`"],
            ),
            ([PROPOSALS, &related.proposal.path], "embed=lib,lbi", &["`embed`", "lbi", "`lib`"]),
            ([PROPOSALS, &related.proposal.path], "embed=lib,lib", &["`embed`", "lib"]),
            ([PROPOSALS, &related.proposal.path], "embed=", &["`embed`"]),
            ([PROPOSALS, &related.proposal.path], "embed=lib,", &["`embed`"]),
            ([PROPOSALS, &related.proposal.path], "embed=proposal", &["`embed`", "proposal"]),
            (
                ["/lib", &related.library[0].path],
                "embed=proposals",
                &["`embed`", "proposals", "`proposal`"],
            ),
            ([&nested, &library_item], "embed=program", &["`embed`", "program", "`proposal`"]),
            (["/v1/proposedprograms", &related.programme.path], "embed=lib", &["`embed`"]),
        ] {
            for target in targets {
                service.get(&format!("{target}?{embed}")).send().refusing_query(mentioned);
            }
        }
    });
}

/// Asserts that a write changes the entity tags of all targets, and that 304 is answered before it
/// and not after.
#[track_caller]
fn tags_change_with(service: &Service, targets: &[String], step: &str, write: &dyn Fn()) {
    let get = |target: &String| service.get(target).send().expect(200);
    let before: Vec<Answer> = targets.iter().map(get).collect();
    let conditional =
        |at: usize| service.get(&targets[at]).header("if-none-match", before[at].etag());
    (0..targets.len()).for_each(|at| drop(conditional(at).send().expect(304)));
    write();
    for (at, target) in targets.iter().enumerate() {
        let after = conditional(at).send();
        assert_eq!(
            (after.status, after.etag() == before[at].etag()),
            (200, false),
            "{step}: {target} was {} and is {after}",
            before[at]
        );
    }
}

fn without_embedded(item: &Value) -> Value {
    let mut item = item.clone();
    item.as_object_mut().expect("an item").remove("_embedded");
    item
}
