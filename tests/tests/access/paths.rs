//! Every path of the document, and the pages: who is let in before anything else is looked at. The table of
//! all paths that are mounted, with what they ask, is `adapters/http/src/app/paths.txt`.

use std::collections::BTreeSet;

use serde_json::Value;
use tests::{Service, Store};

use crate::world::{Callers, GROUPS};

/// The paths that are for everybody, by method; those of the explorer, of problems and of relations are
/// pages that show what the caller may see.
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

/// The paths that the document does not list, with their methods.
fn unlisted() -> Vec<String> {
    let pages = ["/docs", "/docs/oauth-receiver.html", "/docs/sign-in.json", "/guide", "/problems"];
    let mut paths: Vec<_> = pages.map(|page| format!("GET {page}")).into();
    let pages = ["", "/changes", "/rules", "/playground"];
    paths.extend(pages.iter().map(|page| format!("GET /explore{page}")));
    let id = DEMO_PROPOSAL;
    for group in GROUPS {
        for page in ["", "/new", "/import"] {
            paths.push(format!("GET /explore/{group}{page}"));
        }
        for page in ["", "/edit", "/history", "/diff?from=1&to=2"] {
            paths.push(format!("GET /explore/{group}/{id}{page}"));
        }
    }
    paths.push(format!("GET /explore/proposals/{id}/lib"));
    paths
}

/// Pages without anything of an item in them.
const OPEN_PAGES: [&str; 10] = [
    "/docs",
    "/docs/oauth-receiver.html",
    "/docs/sign-in.json",
    "/guide",
    "/problems",
    "/explore",
    "/explore/changes",
    "/explore/rules",
    "/explore/playground",
    "/new",
];

const DEMO_PROPOSAL: &str = "01890a5d-ac96-774b-bcce-b302099a8050";

/// Every operation of the document, with its path as it is documented and as it is sent.
fn documented(service: &Service) -> Vec<(String, String, String)> {
    let document = service.get("/openapi.json").send().expect(200);
    let document: Value = serde_json::from_str(document.text()).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, operations)| {
        let methods = operations.as_object().unwrap().keys();
        methods.filter(|method| *method != "parameters").map(move |method| (path, method))
    });
    let concrete = |path: &str| {
        let version = path.replace("{version}", "1").replace("{rule_id}", "none");
        let group = version.replace("{group}", "proposals").replace("{format}", "csv");
        let policy = group.replace("{policy_id}", "none");
        let mut sent = String::new();
        for part in policy.split_inclusive('/') {
            let is_id = part.starts_with('{');
            let end = if part.ends_with('/') { "/" } else { "" };
            sent.push_str(if is_id { DEMO_PROPOSAL } else { part });
            sent.push_str(if is_id { end } else { "" });
        }
        sent
    };
    operations.map(|(path, method)| (method.to_uppercase(), path.clone(), concrete(path))).collect()
}

#[test]
fn without_policies_nobody_gets_in_without_credentials_but_where_everybody_does() {
    let callers = Callers::new(&[("ana", "")]);
    let service = callers.serve(Store::Sqlite, &["--demo"]);
    let operations = documented(&service);
    let mut let_in = BTreeSet::new();
    for (method, path, target) in &operations {
        let request = || service.request(method, target).json("{}");
        let anonymous = request().send();
        if anonymous.status != 401 {
            let_in.insert(format!("{method} {path}"));
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
    assert_eq!(let_in, PUBLIC.iter().map(ToString::to_string).collect());
}

#[test]
fn pages_show_nothing_of_items_without_credentials() {
    let callers = Callers::new(&[("ana", "")]);
    let service = callers.serve(Store::Sqlite, &["--demo"]);
    let secret = "unmistakable-7f3a";
    let body = format!("{{\"title\":\"{secret}\"}}");
    let item = callers.sign("ana", service.post("/v1/files").json(body)).send().expect(201).id();
    let page = service.get(&format!("/explore/files/{item}"));
    let known = callers.sign("ana", page).send_unchecked().expect(200);
    assert!(known.text().contains(secret), "the test looks for what pages show: {known}");
    let own = ["", "/edit", "/history"];
    let own = own.map(|page| format!("GET /explore/files/{item}{page}"));
    for line in unlisted().into_iter().chain(own) {
        let (method, target) = line.split_once(' ').unwrap();
        let answer = service.request(method, target).accept("text/html").send_unchecked();
        assert!(!answer.text().contains(secret), "{answer}");
        let is_open =
            OPEN_PAGES.iter().any(|page| target.ends_with(page)) || target.ends_with("/import");
        assert_eq!(answer.status == 200, is_open, "{answer}");
        if !is_open {
            assert_eq!(answer.status, 401, "{answer}");
            assert!(answer.header("www-authenticate").is_some(), "{answer}");
        }
    }
}

#[test]
fn the_order_of_checks_is_that_of_the_contract() {
    let callers = Callers::new(&[("ana", ""), ("exporter", "exporter")]);
    let policies = crate::world::agency_policies();
    let service = callers.serve(Store::Sqlite, &["--demo", "--policies", &policies]);
    // 404 and 405 before 401, 401 and 403 before 406, 415, 400, 413 and 404 of an item.
    service.get("/v1/nothing").send().expect(404);
    service.request("BREW", "/v1/proposals").send().expect(405);
    service.request("OPTIONS", "/v1/proposals").send().expect(204);
    service.get("/v1/proposals").accept("image/png").send().expect(401);
    for (name, status) in [("nobody", 401), ("exporter", 403)] {
        let signed = |request| callers.sign(name, request);
        signed(service.post("/v1/proposals").accept("image/png")).send().expect(status);
        signed(service.post("/v1/proposals").body("text/plain", "a")).send().expect(status);
        signed(service.post("/v1/proposals").json("{")).send().expect(status);
        signed(service.post("/v1/proposals").json(vec![b' '; 9 << 20])).send().expect(status);
        for id in [DEMO_PROPOSAL, "01890a5d-ac96-774b-bcce-b302099a8fff", "nonsense"] {
            let path = format!("/v1/proposals/{id}");
            signed(service.put(&path).header("if-match", "\"none\"").json("{}"))
                .send()
                .expect(status);
            signed(service.delete(&path)).send().expect(status);
        }
    }
    // A caller without a right to the group is told the same of what is there and what is not.
    let ana = |id: &str| {
        let answer =
            callers.sign("ana", service.get(&format!("/v1/proposals/{id}"))).send().expect(403);
        answer.text().replace(id, "")
    };
    assert_eq!(ana(DEMO_PROPOSAL), ana("01890a5d-ac96-774b-bcce-b302099a8fff"));
}

#[test]
fn answers_that_depend_on_the_caller_say_so() {
    let callers = Callers::new(&[("ana", "")]);
    let service = callers.serve(Store::Sqlite, &["--cors-origin", "https://example.org"]);
    for (name, status) in [("ana", 200), ("nobody", 401)] {
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
    let open = Service::start(Store::Sqlite);
    let answer = open.get("/v1/proposals").send().expect(200);
    assert_eq!(answer.header("cache-control"), Some("no-cache"), "nobody is asked: {answer}");
}
