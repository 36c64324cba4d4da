//! Other web sites, which reach the service through the browser of a person on this machine.

use std::fs;

use tests::{Answer, Service, Store, send_bytes};

use crate::world::{World, on_each_store, soon};

const EVIL: &str = "evil.example:8080";

#[track_caller]
fn misdirected(answer: Answer) {
    refused(&answer.expect(421), "misdirected-request");
}

#[track_caller]
fn cross_site(answer: Answer) {
    refused(&answer.expect(403), "cross-site");
}

#[track_caller]
fn refused(answer: &Answer, code: &str) {
    assert_eq!(answer.value()["code"], code, "{answer}");
    assert!(!answer.allowed().is_empty(), "the methods of the path: {answer}");
}

#[test]
fn another_site_reads_and_writes_nothing_through_a_person_s_browser() {
    on_each_store(|store| {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("audit.jsonl");
        let service = Service::start_with(store, &["--audit-log", log.to_str().unwrap()]);
        the_host_is_one_of_this_machine(&service);
        the_target_of_a_request_names_its_host_before_the_header(&service);
        a_form_restores_no_version(&service);
        service.post("/v1/files").header("origin", "null").json("{}").send().expect(403);
        let parts = ["\"status\":421", "\"status\":403", "\"operation\":\"create\""];
        soon("lines of the audit log", || {
            let lines = fs::read_to_string(&log).unwrap();
            parts.iter().all(|part| lines.contains(part))
        });
    });
}

fn the_host_is_one_of_this_machine(service: &Service) {
    let item = service.create("/v1/files", r#"{"a":1}"#);
    for target in ["/", "/v1/files", item.path.as_str(), "/v1/changes", "/explore", "/docs"] {
        misdirected(service.get(target).header("host", EVIL).send());
    }
    misdirected(service.post("/v1/files").header("host", EVIL).json("{}").send());
    misdirected(service.delete(&item.path).header("host", "localhost.evil.example").send());
    // Without identity a token is ignored, so it is no credential.
    let invented = service.get("/v1/files").header("host", EVIL);
    misdirected(invented.header("authorization", "Bearer invented").send());
    let port = service.address().port();
    for host in ["localhost", "LOCALHOST.", "127.0.0.1", "[::1]", "192.0.2.7"] {
        for host in [host.to_owned(), format!("{host}:{port}")] {
            service.get("/v1/files").header("host", host).send().expect(200);
        }
    }
    for probe in ["/healthz", "/readyz"] {
        service.get(probe).header("host", "10-0-0-1.pod.cluster.local").send().expect(200);
    }
    assert_eq!(service.get("/v1/files").send().expect(200).value()["total_items"], 1);
}

fn the_target_of_a_request_names_its_host_before_the_header(service: &Service) {
    for (target, status) in [
        ("http://evil.example/v1/files", "421"),
        ("http://localhost/v1/files", "200"),
        ("http://evil.example/healthz", "200"),
    ] {
        let request =
            format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let answer = send_bytes(service.address(), request.as_bytes());
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{target}: {answer}");
    }
    let old = send_bytes(service.address(), b"GET /v1/files HTTP/1.0\r\n\r\n");
    assert!(old.starts_with(b"HTTP/1.1 200") || old.starts_with(b"HTTP/1.0 200"), "no browser");
}

fn a_form_restores_no_version(service: &Service) {
    let item = service.create("/v1/files", r#"{"a":1}"#);
    service.put(&item.path).json(r#"{"a":2}"#).send().expect(200);
    let version = format!("{}/versions/1", item.path);
    let form = || service.post(&version).header("content-type", "text/plain");
    for (name, value) in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("origin", "http://127.0.0.1:1"),
        ("sec-fetch-site", "cross-site"),
    ] {
        cross_site(form().header(name, value).send());
        cross_site(service.delete(&item.path).header(name, value).send());
        service.get(&item.path).header(name, value).send().expect(200);
    }
    service.get(&item.path).send().expect(200).with_members(r#"{"a":2}"#);
    let own = format!("http://{}", service.address());
    let restore = service.post(&version).header("origin", own);
    restore.header("sec-fetch-site", "same-origin").send().expect(200);
    service.post(&version).send().expect(200).with_members(r#"{"a":1}"#);
}

#[test]
fn hosts_and_origins_that_operators_allow_are_served() {
    let app = "https://app.example.org";
    let base_url = ["--allow-anonymous", "--base-url=https://proposals.example.org/api"];
    let hosts = "--allowed-host=intranet,Proposals.Agency.example";
    let more = [hosts, "--allowed-host=c.example", "--cors-origin", app];
    let service = Service::start_with(Store::Sqlite, &[&base_url[..], &more].concat());
    let get = |host: &str| service.get("/v1/files").header("host", host).send();
    for host in
        ["proposals.example.org", "INTRANET:8080", "proposals.agency.example.", "c.example:1"]
    {
        get(host).expect(200);
    }
    misdirected(get("d.example"));
    // A proxy that ends TLS passes the host on, with or without the port.
    let post = |origin: &str| service.post("/v1/files").header("origin", origin).json("{}");
    let proxied = |origin: &str| post(origin).header("host", "proposals.example.org").send();
    proxied("https://proposals.example.org").expect(201);
    cross_site(proxied("http://proposals.example.org"));
    let scripted = |origin: &str| post(origin).header("sec-fetch-site", "cross-site").send();
    scripted(app).expect(201);
    cross_site(scripted("https://evil.example"));
    let all = Service::start_with(Store::Sqlite, &["--cors-origin", "*"]);
    let post = |origin: &str| all.post("/v1/files").header("origin", origin).json("{}").send();
    post("https://evil.example").expect(201);
    cross_site(post("null"));
}

#[test]
fn a_request_with_credentials_may_have_any_host_and_origin() {
    let policies = "policies:
- {id: all_read, group: files, allow: [read], to: [anyone]}
- {id: known_write, group: files, allow: [read, write], to: [signed_in]}
";
    let World { callers, service: open } = World::new(Store::Sqlite, &[("ana", "")], policies, &[]);
    let closed = callers.serve(Store::Sqlite, &[]);
    for service in [&open, &closed] {
        let get = service.get("/v1/files").header("host", EVIL);
        callers.sign("ana", get).send().expect(200);
        let post = service.post("/v1/files").header("origin", "https://evil.example").json("{}");
        callers.sign("ana", post).send().expect(201);
        let preflight = service.request("OPTIONS", "/v1/files").header("host", EVIL);
        preflight.header("access-control-request-method", "POST").send().expect(204);
    }
    misdirected(open.get("/v1/files").header("host", EVIL).send());
    cross_site(open.post("/v1/files").header("sec-fetch-site", "cross-site").json("{}").send());
    // On paths that verify no token, an invented token has no effect.
    for path in ["/openapi.json", "/policies"] {
        let invented = open.get(path).header("host", EVIL);
        misdirected(invented.header("authorization", "Bearer x").send());
    }
    // Without rights for anonymous callers every host is served.
    closed.get("/v1/files").header("host", EVIL).send().expect(401);
    closed.get("/docs").header("host", EVIL).send().expect(200);
}
