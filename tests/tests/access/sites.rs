//! Other web sites, which reach the service through the browser of a person on this machine.

use std::fs;

use tests::{Answer, Service, Store, send_bytes};

use crate::world::Callers;

const EVIL: &str = "evil.example:8080";

#[track_caller]
fn refused(answer: Answer, status: u16, code: &str) {
    let answer = answer.expect(status);
    assert_eq!(answer.value()["code"], code, "{answer}");
    assert!(!answer.allowed().is_empty(), "the methods of the path: {answer}");
}

#[test]
fn a_name_that_another_site_gave_to_this_machine_reads_and_writes_nothing() {
    tests::on_each_store(|service| {
        let item = service.create("/v1/files", r#"{"a":1}"#);
        for target in ["/", "/v1/files", item.path.as_str(), "/v1/changes", "/explore", "/docs"] {
            refused(service.get(target).header("host", EVIL).send(), 421, "misdirected-request");
        }
        let creation = service.post("/v1/files").header("host", EVIL).json("{}");
        refused(creation.send(), 421, "misdirected-request");
        let delete = service.delete(&item.path).header("host", "localhost.evil.example");
        refused(delete.send(), 421, "misdirected-request");
        // Without identity a token is ignored, so it is no credential.
        let invented = service.get("/v1/files").header("host", EVIL);
        let invented = invented.header("authorization", "Bearer invented").send();
        refused(invented, 421, "misdirected-request");
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
    });
}

#[test]
fn the_target_of_a_request_names_its_host_before_the_header() {
    let service = Service::start(Store::Sqlite);
    for (target, host, status) in [
        ("http://evil.example/v1/files", "localhost", "421"),
        ("http://localhost/v1/files", "localhost", "200"),
        ("http://evil.example/healthz", "localhost", "200"),
    ] {
        let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let answer = send_bytes(service.address(), request.as_bytes());
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{target}: {answer}");
    }
    let old = send_bytes(service.address(), b"GET /v1/files HTTP/1.0\r\n\r\n");
    assert!(old.starts_with(b"HTTP/1.1 200") || old.starts_with(b"HTTP/1.0 200"), "no browser");
}

#[test]
fn the_host_of_the_base_url_and_allowed_hosts_are_served() {
    let arguments = [
        "--allow-anonymous",
        "--base-url",
        "https://proposals.example.org/api",
        "--allowed-host",
        "intranet,Proposals.Agency.example",
        "--allowed-host",
        "c.example",
    ];
    let service = Service::start_with(Store::Sqlite, &arguments);
    for host in
        ["proposals.example.org", "INTRANET:8080", "proposals.agency.example.", "c.example:1"]
    {
        service.get("/v1/files").header("host", host).send().expect(200);
    }
    refused(
        service.get("/v1/files").header("host", "d.example").send(),
        421,
        "misdirected-request",
    );
    // A proxy that ends TLS passes the host on, with or without the port.
    let post = |origin: &str| {
        let post = service.post("/v1/files").header("host", "proposals.example.org");
        post.header("origin", origin).json("{}").send()
    };
    post("https://proposals.example.org").expect(201);
    refused(post("http://proposals.example.org"), 403, "cross-site");
}

#[test]
fn a_form_of_another_site_restores_no_version() {
    tests::on_each_store(|service| {
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
            refused(form().header(name, value).send(), 403, "cross-site");
            let delete = service.delete(&item.path).header(name, value);
            refused(delete.send(), 403, "cross-site");
            service.get(&item.path).header(name, value).send().expect(200);
        }
        service.get(&item.path).send().expect(200).with_members(r#"{"a":2}"#);
        let own = format!("http://{}", service.address());
        let restore = service.post(&version).header("origin", own);
        restore.header("sec-fetch-site", "same-origin").send().expect(200);
        service.post(&version).send().expect(200).with_members(r#"{"a":1}"#);
    });
}

#[test]
fn pages_of_an_origin_that_operators_allow_write() {
    let app = "https://app.example.org";
    let service = Service::start_with(Store::Sqlite, &["--cors-origin", app]);
    let post = |origin: &str| {
        let post = service.post("/v1/files").header("origin", origin);
        post.header("sec-fetch-site", "cross-site").json("{}").send()
    };
    post(app).expect(201);
    refused(post("https://evil.example"), 403, "cross-site");
    let all = Service::start_with(Store::Sqlite, &["--cors-origin", "*"]);
    let post = |origin: &str| all.post("/v1/files").header("origin", origin).json("{}").send();
    post("https://evil.example").expect(201);
    refused(post("null"), 403, "cross-site");
}

#[test]
fn who_sends_credentials_names_hosts_and_origins_at_will() {
    let callers = Callers::new(&[("ana", "")]);
    let folder = tempfile::tempdir().unwrap();
    let policies = folder.path().join("policies.yaml");
    let open = "policies:\n- {id: all_read, group: files, allow: [read], to: [anyone]}\n- {id: known_write, group: files, allow: [read, write], to: [signed_in]}\n";
    fs::write(&policies, open).unwrap();
    let open = callers.serve(Store::Sqlite, &["--policies", policies.to_str().unwrap()]);
    let closed = callers.serve(Store::Sqlite, &[]);
    for service in [&open, &closed] {
        let get = service.get("/v1/files").header("host", EVIL);
        callers.sign("ana", get).send().expect(200);
        let post = service.post("/v1/files").header("origin", "https://evil.example").json("{}");
        callers.sign("ana", post).send().expect(201);
        let preflight = service.request("OPTIONS", "/v1/files").header("host", EVIL);
        let preflight = preflight.header("access-control-request-method", "POST");
        preflight.send().expect(204);
    }
    refused(open.get("/v1/files").header("host", EVIL).send(), 421, "misdirected-request");
    let post = open.post("/v1/files").header("sec-fetch-site", "cross-site").json("{}");
    refused(post.send(), 403, "cross-site");
    // Where no token is verified, an invented one counts for nothing.
    for path in ["/openapi.json", "/policies"] {
        let invented = open.get(path).header("host", EVIL).header("authorization", "Bearer x");
        refused(invented.send(), 421, "misdirected-request");
    }
    // Where anonymous callers may do nothing, there is nothing to protect.
    closed.get("/v1/files").header("host", EVIL).send().expect(401);
    closed.get("/docs").header("host", EVIL).send().expect(200);
}

#[test]
fn what_other_sites_try_is_in_the_audit_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit.jsonl");
    let service = Service::start_with(Store::Sqlite, &["--audit-log", log.to_str().unwrap()]);
    service.get("/v1/files").header("host", EVIL).send().expect(421);
    service.post("/v1/files").header("origin", "null").json("{}").send().expect(403);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    let lines = loop {
        let lines = fs::read_to_string(&log).unwrap();
        if lines.lines().count() >= 2 || std::time::Instant::now() > deadline {
            break lines;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    for part in ["\"status\":421", "\"status\":403", "\"operation\":\"create\""] {
        assert!(lines.contains(part), "{part} in {lines}");
    }
}
