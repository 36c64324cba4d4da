//! The pages that explain the interface, `/docs` and `/guide`, and the files that pages load.

use std::io::Read as _;

use serde_json::Value;
use tests::{Answer, Service, Store};

const CHAPTERS: &str =
    "make find page files change-safely retry look-back follow rules errors limits";

/// The path that a page loads a file from.
fn asset(page: &Answer, name: &str) -> String {
    let end = page.text().find(&format!("/{name}\"")).unwrap_or_else(|| panic!("{name} in {page}"));
    let start = page.text()[..end].rfind('"').expect("a quoted path") + 1;
    format!("{}/{name}", &page.text()[start..end])
}

tests::cases![
    every_page_is_whole_and_runs_only_what_it_names,
    the_reference_lists_every_operation_and_proposals_first,
    a_file_is_sent_in_the_smallest_accepted_coding_and_kept_for_good,
    unknown_pages_and_files_are_404,
];

fn every_page_is_whole_and_runs_only_what_it_names(service: &Service) {
    let chapters = CHAPTERS.split(' ').map(|chapter| format!("/guide/{chapter}"));
    for path in ["/docs".to_owned(), "/guide".to_owned()].into_iter().chain(chapters) {
        let page = service.get(&path).accept("text/html").expect(200);
        assert_eq!(page.needed_header("content-type"), "text/html; charset=utf-8");
        let policy = page.needed_header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"));
        assert!(!policy.contains("unsafe") && policy.ends_with("frame-ancestors 'none'"));
        let current = "aria-current=\"page\"";
        for part in ["<title>", "name=\"viewport\"", "rel=\"icon\"", "<h1>", current] {
            assert!(page.text().contains(part), "{part} in {page}");
        }
        assert!(!page.text().contains("class=\"language\"></"), "every block has a label: {page}");
        for inline in ["<script>", "<style", " style=", "onclick="] {
            assert!(!page.text().contains(inline), "{inline} in {page}");
        }
        let head = service.request("HEAD", &path).expect(200);
        assert!(head.body.is_empty() && head.etag() == page.etag(), "{head}");
        let known = service.get(&path).header("if-none-match", page.etag()).expect(304);
        assert!(known.body.is_empty(), "{known}");
        let small = service.get(&path).header("accept-encoding", "br, gzip").expect(200);
        assert_eq!(small.header("content-encoding"), Some("gzip"), "made at each start");
        let refused = service.post(&path).json("{}").expect(405);
        assert_eq!(refused.needed_header("allow"), "GET, HEAD, OPTIONS");
        // There is one representation, so it is served for every `Accept`.
        service.get(&path).accept("application/json").expect(200);
    }
}

fn the_reference_lists_every_operation_and_proposals_first(service: &Service) {
    let document: Value = service.read("/openapi.json").value();
    let page = service.read("/docs");
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
            let summary = operation["summary"].as_str().expect("a summary").replace('\'', "&#39;");
            for part in [path, &method.to_uppercase(), &summary] {
                assert!(row.contains(part), "{part} in {row}");
            }
            operations += 1;
        }
    }
    assert_eq!(page.text().matches("<li id=").count(), operations);
    assert!(page.text().contains("response does not end"), "of the stream");
}

#[test]
fn pages_name_their_service() {
    let arguments = ["--allow-anonymous", "--base-url", "https://example.org/api"];
    let service = Service::start_with(Store::Sqlite, &arguments);
    let guide = service.read("/guide/find");
    for part in [
        "curl -sG https://example.org/api/v1/proposals",
        "href=\"/api/guide/page\"",
        "href=\"/api/docs\"",
        "href=\"/api/assets/",
    ] {
        assert!(guide.text().contains(part), "{part} in {guide}");
    }
    assert!(!guide.text().contains("127.0.0.1"), "{guide}");
    let reference = service.read("/docs");
    for part in ["data-server=\"/api\"", "data-document=\"/api/openapi.json\""] {
        assert!(reference.text().contains(part), "requests stay on the host: {reference}");
    }
}

fn a_file_is_sent_in_the_smallest_accepted_coding_and_kept_for_good(service: &Service) {
    let page = service.read("/docs");
    for name in
        ["frame.css", "reference.css", "reference.js", "swagger-ui-bundle.js", "swagger-ui.css"]
    {
        let path = asset(&page, name);
        let send =
            |accepted: &str| service.get(&path).header("accept-encoding", accepted).expect(200);
        let [plain, gzip, brotli] = ["", "gzip", "gzip, deflate, br, zstd"].map(send);
        let coding = |answer: &Answer| answer.header("content-encoding").map(str::to_owned);
        for (answer, expected) in [
            (&plain, None),
            (&gzip, Some("gzip")),
            (&brotli, Some("br")),
            (&send("br;q=0, gzip"), Some("gzip")),
            (&send("identity"), None),
        ] {
            assert_eq!(coding(answer).as_deref(), expected, "{name}");
            let kept = answer.needed_header("cache-control");
            assert_eq!(kept, "public, max-age=31536000, immutable");
            assert!(answer.needed_header("vary").to_lowercase().contains("accept-encoding"));
            let media = answer.needed_header("content-type");
            assert!(["text/css; charset=utf-8", "text/javascript; charset=utf-8"].contains(&media));
        }
        let sizes = [&plain, &gzip, &brotli].map(|answer| answer.body.len());
        assert!(sizes.is_sorted_by(|larger, smaller| larger > smaller), "{name}: {sizes:?}");
        let mut decoded = Vec::new();
        flate2::read::GzDecoder::new(&gzip.body[..]).read_to_end(&mut decoded).expect("gzip");
        assert!(decoded == plain.body, "gzip of {name}");
        decoded.clear();
        let mut reader = brotli::Decompressor::new(&brotli.body[..], 4096);
        reader.read_to_end(&mut decoded).expect("Brotli");
        assert!(decoded == plain.body, "Brotli of {name}");
        let tags = [&plain, &gzip, &brotli].map(Answer::etag);
        assert!(tags[0] != tags[1] && tags[1] != tags[2] && tags[0] != tags[2], "{tags:?}");
        let again = service.get(&path).header("accept-encoding", "br");
        let known = again.header("if-none-match", &tags[2]).expect(304);
        assert_eq!(known.header("content-encoding"), None, "{known}");
        let head = service.request("HEAD", &path).header("accept-encoding", "br").expect(200);
        assert!(head.body.is_empty() && coding(&head).as_deref() == Some("br"), "{head}");
        let refused = service.delete(&path).expect(405);
        assert_eq!(refused.needed_header("allow"), "GET, HEAD, OPTIONS");
    }
    // A file of another edition is not kept.
    let file = service.read("/assets/0123456789abcdef/frame.css");
    assert_eq!(file.needed_header("cache-control"), "no-cache");
}

fn unknown_pages_and_files_are_404(service: &Service) {
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
        let answer = service.get(path).accept("text/html").expect(404);
        assert!(!answer.text().contains("<script>"), "{answer}");
    }
    for query in ["?%3Cscript%3Ealert(1)%3C/script%3E", "?url=https://example.org/openapi.json"] {
        for path in ["/docs", "/guide/find"] {
            let page = service.read(&format!("{path}{query}"));
            assert!(!page.text().contains("<script>"), "{page}");
            assert!(!page.text().contains("example.org"), "{page}");
        }
    }
}
