//! Full pages of large items are small when they are sent.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use tests::stores::TestDatabase;
use tests::{Service, binary};

const LARGEST: usize = 150_000;

/// Fields that have as many choices as a label file may have.
const FIELDS: [&str; 4] = ["research_type", "proposal_type", "project_id", "researcher_id"];
const CHOICES: u64 = 200;

const VERSIONS: u64 = 250;

/// Items that belong to a proposal; a page has at most 250.
const CHILDREN: u64 = 300;

/// One in twenty proposals has more than 88 KiB.
const SEEDED: [&str; 6] = ["--proposals", "300", "--library", "1", "--median-size", "22KiB"];

#[test]
fn full_pages_of_large_items_are_small() {
    let database = TestDatabase::sqlite();
    let mut seed = Command::new(binary::path());
    seed.arg("seed").args(SEEDED);
    let seeded = seed.args(["--database-url", database.url()]).output().unwrap();
    assert!(seeded.status.success(), "{seeded:?}");
    let folder = tempfile::tempdir().unwrap();
    let labels = folder.path().join("labels.yaml");
    fs::write(&labels, label_file()).unwrap();
    let service = Service::start_on_with(&database, &["--labels", labels.to_str().unwrap()]);
    let id = large_proposal(&service);
    let all = "fields=project_title,project_description,research_type,start_date,end_date,researcher_id,program_id,project_id";
    let mut sizes = Vec::new();
    for path in [
        "",
        "/changes",
        "/search?q=rice",
        "/rules",
        "/playground",
        "/proposals?page_size=250",
        &format!("/proposals?page_size=250&{all}"),
        "/proposals?q=rice&page_size=250",
        "/proposals?page_size=250&count_by=research_type",
        "/proposals/new",
        "/proposals/import",
        "/proposals/deleted",
        &format!("/proposals/{id}"),
        &format!("/proposals/{id}/edit"),
        &format!("/proposals/{id}/history?page_size=250"),
        &format!("/proposals/{id}/diff?from=1&to={VERSIONS}"),
        &format!("/proposals/{id}/lib?page_size=250"),
        &format!("/proposals/{id}/lib/new"),
        "/files?page_size=250",
        "/files/deleted",
        "/statuses/new",
    ] {
        let request = service.get(&format!("/explore{path}")).accept("text/html");
        let page = request.header("accept-encoding", "gzip, br").expect(200);
        assert!(page.header("content-encoding").is_some(), "not compressed: {path}");
        sizes.push((page.body.len(), path.replace(&id, "ID")));
    }
    sizes.sort_unstable();
    println!("{sizes:#?}");
    assert!(sizes.last().is_some_and(|(size, _)| *size <= LARGEST), "{:?}", sizes.last());
}

fn label_file() -> String {
    let mut text = "groups:\n  proposals:\n    fields:\n".to_owned();
    for field in FIELDS {
        writeln!(text, "      {field}:\n        choices:").unwrap();
        for number in 0..CHOICES {
            let label = format!("Choice number {number} of the field, with a label of many words");
            writeln!(text, "          - {{ value: \"{field} {number:x}\", label: \"{label}\" }}")
                .unwrap();
        }
    }
    text
}

/// The largest seeded proposal, with items, deleted files, and a long history.
fn large_proposal(service: &Service) -> String {
    let page = service.list("/v1/proposals", "page_size=250");
    let page: Value = serde_json::from_slice(&page.body).unwrap();
    let items = page["_embedded"]["items"].as_array().or(page["_embedded"]["proposals"].as_array());
    let largest = items.unwrap().iter().max_by_key(|item| item.to_string().len()).unwrap();
    let id = largest["id"].as_str().unwrap().to_owned();
    println!("the largest item has {} bytes", largest.to_string().len());
    for number in 0..CHILDREN {
        let title = format!("Laboratory analysis number {number}, {}", fastrand::u64(..));
        let body = json!({ "title": title, "filename": title, "proposal_id": id, "expense_class": "MOOE", "amount": "84000.00 PHP" });
        service.create(&format!("/v1/proposals/{id}/lib"), &body.to_string());
        let file = service.create("/v1/files", &body.to_string());
        if number < CHILDREN / 6 {
            service.remove(&file.path);
        }
    }
    for version in 2..=VERSIONS {
        service.change(
            &format!("/v1/proposals/{id}"),
            json!({ "project_id": format!("version {version}") }).to_string(),
        );
    }
    id
}
