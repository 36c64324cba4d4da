//! The pages with the words of an agency (`--labels`), in the language of the reader.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use tests::{Answer, Service, Store, wait_until};

use crate::PROPOSAL;
use crate::explorer::{HOSTILE, has, page, require_harmless};

/// A label file that lasts as long as the test.
struct LabelFile {
    path: PathBuf,
    _folder: TempDir,
}

impl LabelFile {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = Self { path: folder.path().join("labels.yaml"), _folder: folder };
        file.change(text);
        file
    }

    fn change(&self, text: &str) {
        fs::write(&self.path, text).expect("a file");
    }

    fn start(&self) -> Service {
        start(&self.path)
    }
}

fn start(path: &Path) -> Service {
    let path = path.to_str().expect("a path of UTF-8");
    Service::start_with(Store::Sqlite, &["--labels", path, "--time-zone", "Asia/Manila"])
}

fn page_in(service: &Service, language: &str, path: &str) -> Answer {
    let path = format!("/explore{path}");
    service.get(&path).accept("text/html").header("accept-language", language).expect(200)
}

fn has_none(page: &Answer, parts: &[&str]) {
    let found: Vec<_> = parts.iter().filter(|part| page.text().contains(**part)).collect();
    assert!(found.is_empty(), "{found:?} in {page}");
}

/// The members of the schema of a body.
fn schema_with<'a>(document: &'a Value, member: &str) -> &'a Value {
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    let mut members = schemas.values().map(|schema| &schema["properties"][member]);
    members.find(|member| !member.is_null()).expect(member)
}

#[test]
fn the_pages_have_the_words_of_the_example_in_the_language_of_the_reader() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples/labels/agency.yaml");
    let service = start(Path::new(example));
    let item = service.create("/v1/proposals", PROPOSAL);
    service.create("/v1/gadscores", r#"{"rating": "passes", "total_score": "8.00"}"#);
    let logo = "<img src=\"/explore/logo\" alt=\"\"";
    let english = ["Bureau of Agricultural Research</a>", ">Programmes</a>", logo];
    let filipino = ["Kawanihan ng Pananaliksik sa Agrikultura</a>", ">Mga programa</a>", logo];
    let own = format!("/proposals/{}", item.id);
    for (path, in_english, in_filipino) in [
        ("", "Proposals", "Mga panukala"),
        ("/proposals", "Project title", "Pamagat ng proyekto"),
        (&own, "<dt>Proposal type</dt>", "<dt>Uri ng panukala</dt>"),
        (&format!("{own}/edit"), "without abbreviations.", "walang daglat."),
        (&format!("{own}/history"), "Bureau", "Kawanihan"),
        ("/proposals/new", ">R&#38;D project</option>", ">Proyektong R&#38;D</option>"),
        ("/proposals/new", ">Promotion of science<", ">Pagtataguyod ng agham<"),
        ("/gadscores", "Passes (8 to 14.99)", "Pasado (8 hanggang 14.99)"),
        ("/gadscores/new", "Fully gender-responsive (20)", "Ganap na tumutugon sa kasarian (20)"),
        ("/files/new", "Kind of document", "Uri ng dokumento"),
        ("/files/new", "Curriculum vitae", "Curriculum vitae"),
    ] {
        for language in ["", "en", "de", "fil;q=0", "en-US,en;q=0.9,fil;q=0.5", "x;y=1,,*"] {
            let page = page_in(&service, language, path);
            has(&page, &english);
            has(&page, &[in_english]);
            has_none(&page, &["Kawanihan"]);
        }
        for language in ["fil", "FIL-PH", "de,fil;q=0.5,en;q=0.4"] {
            let page = page_in(&service, language, path);
            has(&page, &filipino);
            has(&page, &[in_filipino]);
            has_none(&page, &["Bureau"]);
        }
    }
    let form = page_in(&service, "fil", "/proposals/new");
    has(
        &form,
        &["<option value=\"R&#38;D Project\">", "list=\"choices-", "<datalist id=\"choices-"],
    );
    // The OpenAPI document has the texts of the first language.
    let published = service.read("/openapi.json");
    let document = published.value();
    let title = schema_with(&document, "project_title");
    assert_eq!(title["title"], "Project title");
    assert_eq!(
        title["description"],
        "The title of the approved concept note, without abbreviations."
    );
    assert_eq!(schema_with(&document, "total_score")["title"], "Total score");
    has_none(&published, &["Pamagat"]);
}

#[test]
fn the_logo_is_an_image_that_runs_nothing() {
    let file = LabelFile::new("name: Bureau");
    let service = file.start();
    let without = page(&service, "/explore");
    has(&without, &["Bureau</a>"]);
    has_none(&without, &["<img"]);
    service.get("/explore/logo").expect(404);
    let logo = "<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"/>";
    fs::write(file.path.with_file_name("logo.svg"), logo).expect("a file");
    file.change("{name: Bureau, logo: logo.svg}");
    wait_until(|| service.get("/explore/logo").send().status == 200);
    let answer = service.get("/explore/logo").expect(200);
    assert_eq!(answer.text(), logo);
    assert_eq!(answer.needed_header("content-type"), "image/svg+xml");
    assert_eq!(answer.needed_header("x-content-type-options"), "nosniff");
    let policy = answer.needed_header("content-security-policy");
    assert!(policy.contains("default-src 'none'") && !policy.contains("script-src"), "{policy}");
    let tag = answer.needed_header("etag");
    service.get("/explore/logo").header("if-none-match", tag).expect(304);
}

#[test]
fn a_changed_file_is_in_force_soon_and_a_bad_one_changes_nothing() {
    let file = LabelFile::new("groups: {files: {fields: {document_type: {label: Dokumento}}}}");
    let service = file.start();
    let first = service.read("/openapi.json");
    has(&page(&service, "/explore/files/new"), &["Dokumento", "Research proposals</a>"]);
    file.change(
        "{name: Bureau, groups: {files: {label: Mga file, fields: {document_type: {label: Talaan}}}}}",
    );
    let shown = || page(&service, "/explore/files/new");
    wait_until(|| shown().text().contains("Talaan"));
    has(&shown(), &["Bureau</a>", ">Mga file</a>"]);
    has_none(&shown(), &["Dokumento"]);
    let changed = service.read("/openapi.json");
    assert_eq!(schema_with(&changed.value(), "document_type")["title"], "Talaan");
    assert_ne!(first.header("etag"), changed.header("etag"));
    file.change("{name: [, groups: {fils: {}}}");
    wait_until(|| service.log().contains("labels.yaml:1"));
    has(&shown(), &["Talaan"]);
    let failed = service.read("/readyz");
    assert_eq!(failed.value()["reload_failed"], json!(["labels"]), "{failed}");
    file.change("{}");
    wait_until(|| !shown().text().contains("Talaan"));
    has(&shown(), &["Kind of document", "Research proposals</a>"]);
}

#[test]
fn words_never_become_markup() {
    let file = LabelFile::new("{}");
    let service = file.start();
    let items = ["proposals", "files"].map(|group| {
        let item = service.create(&format!("/v1/{group}"), PROPOSAL);
        service.change(&item.path, r#"{"description":"x"}"#);
        format!("/{group}/{}", item.id)
    });
    for (number, hostile) in HOSTILE.into_iter().enumerate() {
        let text = json!({"en": hostile, "fil": format!("{hostile} {number}")});
        let choices =
            json!([{"value": hostile, "label": text}, {"value": "R&D Project", "label": text}]);
        let field = json!({"label": text, "help": text, "choices": choices});
        let fields = json!({
            "proposal_type": field, "project_title": field, "research_type": field, "start_date": field,
            "program_id": field, "description": field,
        });
        let mut of_files = fields.clone();
        of_files[hostile] = field;
        let groups = json!({
            "proposals": {"label": text, "fields": fields}, "files": {"label": text, "fields": of_files},
        });
        let labels = json!({"name": text, "languages": ["en", "fil"], "groups": groups});
        file.change(&labels.to_string());
        service.hang_up();
        let last = format!(" {number}</a>");
        wait_until(|| page_in(&service, "fil", "").text().contains(&last));
        for item in &items {
            let group = item.split('/').nth(1).expect("a group");
            for path in [
                "",
                &format!("/{group}"),
                &format!("/{group}/new"),
                &format!("/{group}?filter[proposal_type]=R%26D%20Project&count_by=proposal_type"),
                item,
                &format!("{item}/edit"),
                &format!("{item}/history"),
                &format!("{item}/diff?from=1&to=2"),
                "/search?q=rapid",
                "/changes",
            ] {
                require_harmless(&page_in(&service, "fil", path));
            }
        }
        service.read("/openapi.json");
    }
}

#[test]
fn dates_times_and_numbers_are_in_the_form_of_the_reader_and_the_time_zone() {
    let service = LabelFile::new("{}").start();
    let body = r#"{"proposal_type":"a","project_title":"Rice","start_date":"2026-01-01"}"#;
    let proposal = service.create("/v1/proposals", body);
    let own = format!("/proposals/{}", proposal.id);
    let programme = service.create(
        "/v1/proposedprograms",
        r#"{"title": "2026", "budget_total": "24500000.00 PHP", "start_date": "0000-01-01"}"#,
    );
    let programme = format!("/proposedprograms/{}", programme.id);
    let entry = service
        .create("/status", r#"{"message": "1,000.00", "timestamp": "2026-02-16T23:30:00Z"}"#);
    let entry = format!("/status/{}", entry.id);
    for (language, date, time, amount) in [
        ("", "Jan 1, 2026", "Feb 17, 2026, 7:30\u{202f}AM", "PHP 24,500,000.00"),
        ("de", "01.01.2026", "17.02.2026, 07:30", "PHP 24.500.000,00"),
        ("fil-PH, en", "Ene 1, 2026", "Peb 17, 2026, 7:30\u{202f}AM", "PHP 24,500,000.00"),
        ("tlh, en-GB;q=0.9", "1 Jan 2026", "17 Feb 2026, 07:30", "PHP 24,500,000.00"),
    ] {
        for path in ["/proposals", &own] {
            has(&page_in(&service, language, path), &[date, "Times are in Asia/Manila."]);
        }
        let form = page_in(&service, language, &format!("{own}/edit"));
        has(&form, &["type=\"date\" value=\"2026-01-01\""]);
        has(&page_in(&service, language, &entry), &[time, "1,000.00"]);
        has(&page_in(&service, language, &programme), &[amount, ">2026<", "0000-01-01"]);
    }
}
