//! The pages that explain the interface, `/docs` and `/guide`, and the files that pages load.

use std::io::Read as _;

use serde_json::Value;
use tests::{Answer, Service, Store};

const CHAPTERS: [&str; 11] = [
    "make",
    "find",
    "page",
    "files",
    "change-safely",
    "retry",
    "look-back",
    "follow",
    "rules",
    "errors",
    "limits",
];

fn paths() -> Vec<String> {
    let chapters = CHAPTERS.map(|chapter| format!("/guide/{chapter}"));
    ["/docs".to_owned(), "/guide".to_owned()].into_iter().chain(chapters).collect()
}

/// The path that a page loads a file from.
fn asset(page: &Answer, name: &str) -> String {
    let end = page.text().find(&format!("/{name}\"")).unwrap_or_else(|| panic!("{name} in {page}"));
    let start = page.text()[..end].rfind('"').expect("a quoted path") + 1;
    format!("{}/{name}", &page.text()[start..end])
}

#[test]
fn every_page_is_whole_and_runs_only_what_it_names() {
    let service = Service::start(Store::Sqlite);
    for path in paths() {
        let page = service.get(&path).accept("text/html").send().expect(200);
        assert_eq!(page.needed_header("content-type"), "text/html; charset=utf-8");
        let policy = page.needed_header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"));
        assert!(!policy.contains("unsafe") && policy.ends_with("frame-ancestors 'none'"));
        for part in
            ["<title>", "name=\"viewport\"", "rel=\"icon\"", "<h1>", "aria-current=\"page\""]
        {
            assert!(page.text().contains(part), "{part} in {page}");
        }
        assert!(!page.text().contains("class=\"language\"></"), "every block has a label: {page}");
        for inline in ["<script>", "<style", " style=", "onclick="] {
            assert!(!page.text().contains(inline), "{inline} in {page}");
        }
        let head = service.request("HEAD", &path).send().expect(200);
        assert!(head.body.is_empty() && head.etag() == page.etag(), "{head}");
        let known = service.get(&path).header("if-none-match", page.etag()).send().expect(304);
        assert!(known.body.is_empty(), "{known}");
        let small = service.get(&path).header("accept-encoding", "br, gzip").send().expect(200);
        assert_eq!(small.header("content-encoding"), Some("gzip"), "made at each start");
        let refused = service.post(&path).json("{}").send().expect(405);
        assert_eq!(refused.needed_header("allow"), "GET, HEAD, OPTIONS");
        // There is one representation, so it is served whatever is accepted.
        service.get(&path).accept("application/json").send().expect(200);
    }
}

#[test]
fn the_reference_lists_every_operation_and_proposals_first() {
    let service = Service::start(Store::Sqlite);
    let document: Value = service.get("/openapi.json").send().expect(200).value();
    let page = service.get("/docs").send().expect(200);
    let groups: Vec<_> = page.text().split("<details ").skip(1).collect();
    let names: Vec<_> =
        document["tags"].as_array().expect("tags").iter().map(|tag| &tag["name"]).collect();
    assert_eq!(groups.len(), names.len());
    assert_eq!((names[0], names[1]), (&"proposals".into(), &"proposals lib".into()));
    for (group, name) in groups.iter().zip(names) {
        let name = name.as_str().expect("a name");
        assert!(group.contains(&format!("data-tag=\"{name}\"")), "{name} in {group}");
        let beginning = group.split('>').next().expect("its attributes");
        assert!(!beginning.contains("open"), "{name} is collapsed");
    }
    let mut operations = 0;
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("operations") {
            let tag = operation["tags"][0].as_str().expect("a tag").replace(' ', "%20");
            let id = operation["operationId"].as_str().expect("an id");
            let anchor = format!("<li id=\"/{tag}/{id}\"><a href=\"#/{tag}/{id}\">");
            let row = page.text().split(&anchor).nth(1).unwrap_or_else(|| panic!("{anchor}"));
            let row = row.split("</li>").next().expect("its end");
            for part in [
                path.as_str(),
                &method.to_uppercase(),
                operation["summary"].as_str().expect("a summary"),
            ] {
                assert!(row.contains(part), "{part} in {row}");
            }
            operations += 1;
        }
    }
    assert_eq!(page.text().matches("<li id=").count(), operations);
    assert!(page.text().contains("in an answer that does not end"), "of the stream");
}

#[test]
fn pages_name_the_service_that_they_are_of() {
    let arguments = ["--allow-anonymous", "--base-url", "https://example.org/api"];
    let service = Service::start_with(Store::Sqlite, &arguments);
    let guide = service.get("/guide/find").send().expect(200);
    for part in [
        "curl -sG https://example.org/api/v1/proposals",
        "href=\"/api/guide/page\"",
        "href=\"/api/docs\"",
        "href=\"/api/assets/",
    ] {
        assert!(guide.text().contains(part), "{part} in {guide}");
    }
    assert!(!guide.text().contains("127.0.0.1"), "{guide}");
    let reference = service.get("/docs").send().expect(200);
    for part in ["data-server=\"/api\"", "data-document=\"/api/openapi.json\""] {
        assert!(reference.text().contains(part), "requests stay on the host: {reference}");
    }
}

#[test]
fn a_file_is_sent_in_the_smallest_coding_that_is_accepted_and_kept_for_good() {
    let service = Service::start(Store::Sqlite);
    let page = service.get("/docs").send().expect(200);
    for name in
        ["frame.css", "reference.css", "reference.js", "swagger-ui-bundle.js", "swagger-ui.css"]
    {
        let path = asset(&page, name);
        let send = |accepted: &str| {
            service.get(&path).header("accept-encoding", accepted).send().expect(200)
        };
        let [plain, gzip, brotli] = ["", "gzip", "gzip, deflate, br, zstd"].map(send);
        let coding = |answer: &Answer| answer.header("content-encoding").map(str::to_owned);
        assert_eq!(coding(&plain), None);
        assert_eq!(coding(&gzip).as_deref(), Some("gzip"));
        assert_eq!(coding(&brotli).as_deref(), Some("br"));
        assert_eq!(coding(&send("br;q=0, gzip")).as_deref(), Some("gzip"));
        assert_eq!(coding(&send("identity")), None);
        assert!(
            brotli.body.len() < gzip.body.len() && gzip.body.len() < plain.body.len(),
            "{name}"
        );
        let mut decoded = Vec::new();
        flate2::read::GzDecoder::new(&gzip.body[..]).read_to_end(&mut decoded).expect("gzip");
        assert!(decoded == plain.body, "gzip of {name}");
        let mut decoded = Vec::new();
        brotli::Decompressor::new(&brotli.body[..], 4096)
            .read_to_end(&mut decoded)
            .expect("Brotli");
        assert!(decoded == plain.body, "Brotli of {name}");
        for answer in [&plain, &gzip, &brotli] {
            assert_eq!(
                answer.needed_header("cache-control"),
                "public, max-age=31536000, immutable"
            );
            assert!(answer.needed_header("vary").to_lowercase().contains("accept-encoding"));
            let media = answer.needed_header("content-type");
            assert!(
                media == "text/css; charset=utf-8" || media == "text/javascript; charset=utf-8"
            );
        }
        let tags = [&plain, &gzip, &brotli].map(Answer::etag);
        assert!(tags[0] != tags[1] && tags[1] != tags[2] && tags[0] != tags[2], "{tags:?}");
        let again =
            service.get(&path).header("accept-encoding", "br").header("if-none-match", &tags[2]);
        let known = again.send().expect(304);
        assert_eq!(known.header("content-encoding"), None, "{known}");
        let head =
            service.request("HEAD", &path).header("accept-encoding", "br").send().expect(200);
        assert!(head.body.is_empty() && coding(&head).as_deref() == Some("br"), "{head}");
        let refused = service.delete(&path).send().expect(405);
        assert_eq!(refused.needed_header("allow"), "GET, HEAD, OPTIONS");
    }
}

#[test]
fn a_file_of_another_edition_is_not_kept() {
    let service = Service::start(Store::Sqlite);
    let file = service.get("/assets/0123456789abcdef/frame.css").send().expect(200);
    assert_eq!(file.needed_header("cache-control"), "no-cache");
}

#[test]
fn what_is_no_page_and_no_file_is_unknown() {
    let service = Service::start(Store::Sqlite);
    for path in [
        "/guide/",
        "/guide/nothing",
        "/guide/make.md",
        "/guide/%3Cscript%3Ealert(1)%3C%2Fscript%3E",
        "/guide/..%2fmake",
        "/assets",
        "/assets/x",
        "/assets/x/nothing.js",
        "/assets/x/..%2f..%2fCargo.toml",
        "/assets/x/swagger-ui-bundle.js.br",
        "/explore/assets/explorer.css",
    ] {
        let answer = service.get(path).accept("text/html").send().expect(404);
        assert!(!answer.text().contains("<script>"), "{answer}");
    }
    for query in ["?%3Cscript%3Ealert(1)%3C/script%3E", "?url=https://example.org/openapi.json"] {
        for path in ["/docs", "/guide/find"] {
            let page = service.get(&format!("{path}{query}")).send().expect(200);
            assert!(!page.text().contains("<script>"), "{page}");
            assert!(!page.text().contains("example.org"), "{page}");
        }
    }
}
