//! From the entry point a client reaches everything by links, and a person finds every name
//! explained.

use std::collections::BTreeSet;

use serde_json::Value;
use tests::{Answer, Service, Store, on_each_store};

use crate::{PROPOSAL, UNKNOWN_ID};

const GROUPS: [&str; 8] = [
    "/v1/proposedprograms",
    "/v1/gadscores",
    "/v1/statuses",
    "/v1/files",
    "/lib",
    "/v1/proposals",
    "/v1/cashprogram",
    "/status",
];

#[test]
fn the_entry_point_links_every_group() {
    let service = Service::start(Store::Sqlite);
    for accept in ["application/hal+json", "application/json", "*/*"] {
        let entry = service.get("/").accept(accept).send().expect(200);
        let targets: BTreeSet<_> = hrefs(&entry).into_iter().collect();
        for group in GROUPS {
            assert!(targets.contains(group), "a link to {group} on {entry}");
        }
    }
}

#[test]
fn a_browser_gets_the_first_page_of_the_explorer() {
    let service = Service::start(Store::Sqlite);
    let answer = service.get("/").accept("text/html,application/xhtml+xml,*/*;q=0.8").send();
    let page = answer.expect(200);
    assert!(page.needed_header("content-type").starts_with("text/html"), "{page}");
    assert!(page.text().contains("href=\"/docs\""), "{page}");
    assert!(service.get("/docs").accept("text/html").send().expect(200).text().contains("<html"));
    assert!(service.get("/openapi.json").send().expect(200).value()["paths"].is_object());
}

#[test]
fn our_relations_are_explained_and_others_are_unknown() {
    let service = Service::start(Store::Sqlite);
    for relation in ["program", "lib", "proposal", "continues", "continued-by"] {
        let page = service.get(&format!("/rels/{relation}")).accept("text/html").send().expect(200);
        assert!(page.text().contains(relation), "{page}");
    }
    for unknown in ["/rels/nothing", "/problems/nothing", "/rels", "/rels/../rels/lib"] {
        service.get(unknown).send().expect(404);
    }
    let problems = service.get("/problems").send().expect(200).value();
    let codes = problems["_links"]["item"].as_array().expect("a list").iter();
    assert!(codes.clone().any(|item| item["name"] == "invalid-members"), "{problems}");
}

#[test]
fn an_item_links_itself_and_its_collection() {
    on_each_store(|service| {
        for collection in GROUPS {
            let item = service.create(collection, PROPOSAL);
            let answer = service.get(&item.path).send().expect(200);
            assert_eq!(answer.link("self"), Some(item.path.clone()), "{answer}");
            assert_eq!(answer.link("collection").as_deref(), Some(collection), "{answer}");
        }
    });
}

#[test]
fn a_creation_says_where_the_item_is() {
    on_each_store(|service| {
        for collection in GROUPS {
            let answer = service.post(collection).json(PROPOSAL).send().expect(201);
            let path = format!("{collection}/{}", answer.id());
            assert!(answer.needed_header("location").ends_with(&path), "{answer}");
            assert_eq!(service.get(&path).send().expect(200).text(), answer.text());
        }
    });
}

#[test]
fn a_proposal_links_its_library_and_its_programme_if_there_is_one() {
    on_each_store(|service| {
        let programme = service.create("/v1/proposedprograms", r#"{"title":"Fisheries"}"#);
        let with_programme = |id: &str| {
            let body = PROPOSAL.replacen('{', &format!(r#"{{"program_id":{id},"#), 1);
            let item = service.create("/v1/proposals", &body);
            let answer = service.get(&item.path).send().expect(200);
            assert_eq!(answer.link("lib"), Some(format!("{}/lib", item.path)), "{answer}");
            answer.link("program")
        };
        assert_eq!(with_programme(&format!("\"{}\"", programme.id)), Some(programme.path.clone()));
        for other in [format!("\"{UNKNOWN_ID}\""), "\"PRG-2025-004\"".to_owned(), "7".to_owned()] {
            assert_eq!(with_programme(&other), None, "{other} is no programme's id");
        }
    });
}

#[test]
fn every_link_leads_somewhere() {
    on_each_store(|service| {
        let programme = service.create("/v1/proposedprograms", r#"{"title":"Fisheries"}"#);
        let body = PROPOSAL.replacen('{', &format!(r#"{{"program_id":"{}","#, programme.id), 1);
        let proposal = service.create("/v1/proposals", &body);
        service.create(&format!("{}/lib", proposal.path), r#"{"title":"HGDG"}"#);
        service.post(&proposal.path).json(PROPOSAL).send().expect(201);

        let (mut to_visit, mut visited) = (vec!["/".to_owned()], BTreeSet::new());
        while let Some(target) = to_visit.pop() {
            if visited.insert(target.clone()) {
                let answer = service.get(&target).accept("application/hal+json, */*;q=0.1").send();
                assert!(answer.status < 400, "a link leads to {answer}");
                if answer.needed_header("content-type") == "application/hal+json" {
                    to_visit.extend(hrefs(&answer));
                }
            }
        }
        assert!(visited.contains(&proposal.path) && visited.len() > GROUPS.len(), "{visited:?}");
    });
}

/// The targets of all links of an answer that are no templates.
fn hrefs(answer: &Answer) -> Vec<String> {
    let value = answer.value();
    let links = value["_links"].as_object().into_iter().flat_map(|links| links.values());
    let targets =
        links.flat_map(|link| link.as_array().cloned().unwrap_or_else(|| vec![link.clone()]));
    let of_links = targets
        .filter(|link| link["templated"] != Value::Bool(true))
        .filter_map(|link| Some(answer.path_of(link["href"].as_str()?)));
    let embedded =
        value["_embedded"].as_object().into_iter().flat_map(|embedded| embedded.values());
    let items = embedded.filter_map(Value::as_array).flatten();
    let of_items =
        items.filter_map(|item| Some(answer.path_of(item["_links"]["self"]["href"].as_str()?)));
    of_links.chain(of_items).collect()
}

/// The table of collections says which members refer to items of others.
#[test]
fn a_reference_is_a_link_and_an_embed_while_its_item_exists() {
    on_each_store(|service| {
        for collection in ["gadscores", "files", "cashprogram"] {
            let proposal = service.create("/v1/proposals", PROPOSAL);
            let body = format!(r#"{{"proposal_id":"{}"}}"#, proposal.id);
            let item = service.create(&format!("/v1/{collection}"), &body);
            let with_embed = format!("{}?embed=proposal", item.path);

            let shown = service.get(&item.path).send().expect(200);
            let link = shown.link("proposal").unwrap_or_default();
            assert!(link.ends_with(&proposal.path), "{shown}");
            let whole = service.get(&proposal.path).send().expect(200).value();
            let embedding = service.get(&with_embed).send().expect(200);
            assert_eq!(embedding.value()["_embedded"]["proposal"], whole);
            let page = service.get(&format!("/v1/{collection}?embed=proposal")).send().expect(200);
            let listed = page.embedded(collection);
            assert_eq!(listed[0]["_embedded"]["proposal"], whole, "{page}");
            assert_eq!(listed[0]["_links"], shown.value()["_links"]);

            service.delete(&proposal.path).send().expect(204);
            let request = service.get(&item.path).header("if-none-match", shown.etag());
            assert_eq!(request.send().expect(200).link("proposal"), None);
            let embedding = service.get(&with_embed).send().expect(200);
            assert_eq!(embedding.value()["_embedded"], serde_json::json!({}), "{embedding}");
        }
    });
}
