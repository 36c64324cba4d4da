//! From the entry point a client reaches everything by links, and a person finds every name
//! explained.

use std::collections::BTreeSet;

use serde_json::Value;
use tests::{Answer, Service};

use crate::collections::COLLECTIONS;
use crate::{PROPOSAL, UNKNOWN_ID};

tests::cases![
    an_item_is_at_its_location_and_links_its_collection,
    a_proposal_links_its_library_and_its_programme_if_there_is_one,
    every_link_leads_somewhere,
    a_reference_is_a_link_and_an_embed_while_its_item_exists,
    the_entry_point_links_every_group,
    a_browser_gets_the_first_page_of_the_explorer,
    our_relations_are_explained_and_others_are_unknown,
];

fn the_entry_point_links_every_group(service: &Service) {
    for accept in ["application/hal+json", "application/json", "*/*"] {
        let entry = service.get("/").accept(accept).expect(200);
        let targets: BTreeSet<_> = hrefs(&entry).into_iter().collect();
        for (group, _) in COLLECTIONS {
            assert!(targets.contains(*group), "a link to {group} on {entry}");
        }
    }
}

fn a_browser_gets_the_first_page_of_the_explorer(service: &Service) {
    let page = service.get("/").accept("text/html,application/xhtml+xml,*/*;q=0.8").expect(200);
    assert!(page.needed_header("content-type").starts_with("text/html"), "{page}");
    assert!(page.text().contains("href=\"/docs\""), "{page}");
    assert!(service.get("/docs").accept("text/html").expect(200).text().contains("<html"));
}

fn our_relations_are_explained_and_others_are_unknown(service: &Service) {
    for relation in ["program", "lib", "proposal", "continues", "continued-by"] {
        let page = service.get(&format!("/rels/{relation}")).accept("text/html").expect(200);
        assert!(page.text().contains(relation), "{page}");
    }
    for unknown in ["/rels/nothing", "/problems/nothing", "/rels", "/rels/../rels/lib"] {
        service.get(unknown).expect(404);
    }
    let problems = service.read("/problems").value();
    let codes = problems["_links"]["item"].as_array().expect("a list").iter();
    assert!(codes.clone().any(|item| item["name"] == "invalid-members"), "{problems}");
}

fn an_item_is_at_its_location_and_links_its_collection(service: &Service) {
    for (collection, _) in COLLECTIONS {
        let created = service.post(collection).json(PROPOSAL).expect(201);
        let path = format!("{collection}/{}", created.id());
        assert!(created.needed_header("location").ends_with(&path), "{created}");
        let answer = service.read(&path);
        assert_eq!(answer.text(), created.text());
        assert_eq!(answer.link("self"), Some(path), "{answer}");
        assert_eq!(answer.link("collection").as_deref(), Some(*collection), "{answer}");
    }
}

fn a_proposal_links_its_library_and_its_programme_if_there_is_one(service: &Service) {
    let programme = service.create("/v1/proposedprograms", r#"{"title":"Fisheries"}"#);
    let with_programme = |id: &str| {
        let body = PROPOSAL.replacen('{', &format!(r#"{{"program_id":{id},"#), 1);
        let item = service.create("/v1/proposals", &body);
        let answer = service.read(&item.path);
        assert_eq!(answer.link("lib"), Some(format!("{}/lib", item.path)), "{answer}");
        answer.link("program")
    };
    assert_eq!(with_programme(&format!("\"{}\"", programme.id)), Some(programme.path.clone()));
    for other in [format!("\"{UNKNOWN_ID}\""), "\"PRG-2025-004\"".to_owned(), "7".to_owned()] {
        assert_eq!(with_programme(&other), None, "{other} is no programme's id");
    }
}

fn every_link_leads_somewhere(service: &Service) {
    let programme = service.create("/v1/proposedprograms", r#"{"title":"Fisheries"}"#);
    let body = PROPOSAL.replacen('{', &format!(r#"{{"program_id":"{}","#, programme.id), 1);
    let proposal = service.create("/v1/proposals", &body);
    service.create(&format!("{}/lib", proposal.path), r#"{"title":"HGDG"}"#);
    service.post(&proposal.path).json(PROPOSAL).expect(201);

    let (mut to_visit, mut visited) = (vec!["/".to_owned()], BTreeSet::new());
    while let Some(target) = to_visit.pop() {
        if visited.insert(target.clone()) {
            let answer = service.get(&target).accept("application/hal+json, */*;q=0.1").send();
            // The place to PUT a content exists before there is any.
            if target.ends_with("/content") && answer.status == 404 {
                service.request("OPTIONS", &target).expect(204);
                continue;
            }
            assert!(answer.status < 400, "a link leads to {answer}");
            if answer.needed_header("content-type") == "application/hal+json" {
                to_visit.extend(hrefs(&answer));
            }
        }
    }
    assert!(visited.contains(&proposal.path) && visited.len() > COLLECTIONS.len(), "{visited:?}");
}

/// The targets of all links of an answer that are no templates.
fn hrefs(answer: &Answer) -> Vec<String> {
    let value = answer.value();
    let members = |name: &str| value[name].as_object().into_iter().flat_map(|of| of.values());
    let links = members("_links")
        .flat_map(|link| link.as_array().cloned().unwrap_or_else(|| vec![link.clone()]))
        .filter(|link| link["templated"] != Value::Bool(true));
    let items = members("_embedded").filter_map(Value::as_array).flatten();
    links
        .chain(items.map(|item| item["_links"]["self"].clone()))
        .filter_map(|link| Some(answer.path_of(link["href"].as_str()?)))
        .collect()
}

/// The table of collections says which members refer to items of others.
fn a_reference_is_a_link_and_an_embed_while_its_item_exists(service: &Service) {
    for collection in ["/v1/gadscores", "/v1/files", "/v1/cashprogram"] {
        let proposal = service.create("/v1/proposals", PROPOSAL);
        let item = service.create(collection, &format!(r#"{{"proposal_id":"{}"}}"#, proposal.id));
        let embedded =
            || service.read(&format!("{}?embed=proposal", item.path)).value()["_embedded"].clone();
        let shown = service.read(&item.path);
        assert!(shown.link("proposal").unwrap_or_default().ends_with(&proposal.path), "{shown}");
        let whole = service.read(&proposal.path).value();
        assert_eq!(embedded()["proposal"], whole);
        let listed = service.list(collection, "embed=proposal").items();
        assert_eq!(listed[0]["_embedded"]["proposal"], whole, "{collection}");
        assert_eq!(listed[0]["_links"], shown.value()["_links"]);
        service.remove(&proposal.path);
        let request = service.get(&item.path).header("if-none-match", shown.etag());
        assert_eq!(request.expect(200).link("proposal"), None);
        assert_eq!(embedded(), serde_json::json!({}), "{collection}");
    }
}
