//! Every path of the document, and the pages: credentials are checked first. The table of all paths,
//! with the rights that they need, is `adapters/http/src/app/paths.txt`.

use std::collections::BTreeSet;

use tests::{Service, Store};

use crate::world::{Callers, DEMO_PROPOSAL, GROUPS};

/// The public paths, by method. The pages of the explorer, of problems and of relations show only what
/// the caller may see.
const PUBLIC: [&str; 10] = [
    "GET /",
    "GET /.well-known/oauth-protected-resource",
    "GET /healthz",
    "GET /policies",
    "GET /policies/{policy_id}",
    "GET /readyz",
    "GET /rules",
    "GET /rules/{rule_id}",
    "GET /schemas/rules.json",
    "GET /v1/access",
];

/// The pages that the document does not list.
fn unlisted() -> Vec<String> {
    let pages = ["/docs", "/docs/oauth-receiver.html", "/docs/sign-in.json", "/guide", "/problems"];
    let mut paths: Vec<_> = pages.map(str::to_owned).into();
    let pages = ["", "/changes", "/rules", "/playground"];
    paths.extend(pages.map(|page| format!("/explore{page}")));
    let id = DEMO_PROPOSAL;
    for group in GROUPS {
        paths.extend(["", "/new", "/import"].map(|page| format!("/explore/{group}{page}")));
        let pages = ["", "/edit", "/history", "/diff?from=1&to=2"];
        paths.extend(pages.map(|page| format!("/explore/{group}/{id}{page}")));
    }
    paths.push(format!("/explore/proposals/{id}/lib"));
    paths
}

/// Pages without anything of an item in them.
const OPEN_PAGES: [&str; 9] = [
    "/docs",
    "/docs/oauth-receiver.html",
    "/docs/sign-in.json",
    "/guide",
    "/problems",
    "/explore",
    "/explore/changes",
    "/explore/rules",
    "/explore/playground",
];

/// Every operation of the document, with its path as it is documented and as it is sent.
fn documented(service: &Service) -> Vec<(String, String, String)> {
    let document = service.get("/openapi.json").send().expect(200).value();
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, operations)| {
        let methods = operations.as_object().unwrap().keys();
        methods.filter(|method| *method != "parameters").map(move |method| (path, method))
    });
    let concrete = |path: &str| {
        let path = path.replace("{version}", "1").replace("{group}", "proposals");
        let path = path.replace("{format}", "csv").replace("{rule_id}", "none");
        let parts = path.replace("{policy_id}", "none");
        let parts = parts.split('/').map(|it| if it.starts_with('{') { DEMO_PROPOSAL } else { it });
        parts.collect::<Vec<_>>().join("/")
    };
    operations.map(|(path, method)| (method.to_uppercase(), path.clone(), concrete(path))).collect()
}

#[test]
fn without_policies_only_public_paths_are_open_without_credentials() {
    let callers = Callers::new(&[("ana", "")]);
    let more = ["--demo", "--cors-origin", "https://example.org"];
    let service = callers.serve(Store::Sqlite, &more);
    responses_that_depend_on_the_caller_are_private(&callers, &service);
    pages_show_nothing_of_items_without_credentials(&callers, &service);
    let mut public = BTreeSet::new();
    for (method, path, target) in &documented(&service) {
        let request = || service.request(method, target).json("{}");
        let anonymous = request().send();
        if anonymous.status != 401 {
            public.insert(format!("{method} {path}"));
            continue;
        }
        let challenge = anonymous.needed_header("www-authenticate");
        assert!(challenge.starts_with("Bearer realm="), "{challenge}");
        assert!(!challenge.contains("error="), "{challenge}");
        assert!(anonymous.text().contains("\"code\":\"credentials-required\""), "{anonymous}");
        let wrong = request().header("authorization", "Bearer psk_ana_wrong").send().expect(401);
        let challenge = wrong.needed_header("www-authenticate");
        assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
        let twice = callers.sign("ana", callers.sign("ana", request())).send().expect(400);
        assert!(twice.text().contains("\"code\":\"malformed-credentials\""), "{twice}");
        if path == "/v1/changes/stream" {
            continue; // Its answer does not end.
        }
        let known = callers.sign("ana", request()).send();
        assert!(!matches!(known.status, 401 | 403), "{known}");
    }
    assert_eq!(public, PUBLIC.iter().map(ToString::to_string).collect());
}

fn pages_show_nothing_of_items_without_credentials(callers: &Callers, service: &Service) {
    let secret = "unmistakable-7f3a";
    let body = format!("{{\"title\":\"{secret}\"}}");
    let item = callers.sign("ana", service.post("/v1/files").json(body)).send().expect(201).id();
    let own = ["", "/edit", "/history"].map(|page| format!("/explore/files/{item}{page}"));
    let known = callers.sign("ana", service.get(&format!("/explore/files/{item}")));
    let known = known.send_unchecked().expect(200);
    assert!(known.text().contains(secret), "the test looks for the content of pages: {known}");
    for target in unlisted().into_iter().chain(own) {
        let answer = service.get(&target).accept("text/html").send_unchecked();
        assert!(!answer.text().contains(secret), "{answer}");
        let is_open = OPEN_PAGES.iter().any(|page| target.ends_with(page));
        assert_eq!(answer.status, if is_open { 200 } else { 401 }, "{answer}");
        assert!(is_open || answer.header("www-authenticate").is_some(), "{answer}");
    }
}

fn responses_that_depend_on_the_caller_are_private(callers: &Callers, service: &Service) {
    for (name, status) in [("ana", 200), ("anonymous", 401)] {
        let request = service.get("/v1/proposals").header("origin", "https://example.org");
        let answer = callers.sign(name, request).send().expect(status);
        assert_eq!(answer.needed_header("cache-control"), "private, no-cache");
        let varies = answer.headers.get_all("vary").iter();
        let varies: Vec<_> = varies.map(|line| line.to_str().unwrap()).collect();
        assert!(varies.join(", ").contains("Authorization"), "{varies:?}");
        let exposed = answer.needed_header("access-control-expose-headers");
        assert!(exposed.contains("WWW-Authenticate"), "{exposed}");
    }
    let preflight = service
        .request("OPTIONS", "/v1/proposals")
        .header("origin", "https://example.org")
        .header("access-control-request-method", "GET")
        .header("access-control-request-headers", "authorization");
    let allowed = preflight.send().expect(204);
    let allowed = allowed.needed_header("access-control-allow-headers");
    assert!(allowed.contains("Authorization"), "{allowed}");
}
