//! Limits on how fast requests come.

use tests::{Answer, Service, Store};

use crate::world::Callers;

#[track_caller]
fn expect_limit(answer: &Answer, policy: &str) {
    assert_eq!(answer.status, 429, "{answer}");
    assert!(answer.needed_header("retry-after").parse::<u64>().unwrap() > 0, "{answer}");
    assert_eq!(answer.needed_header("ratelimit-policy"), policy);
    assert!(answer.needed_header("ratelimit").contains("r=0"), "{answer}");
    assert!(answer.text().contains("\"code\":\"too-many-requests\""), "{answer}");
}

#[test]
fn callers_have_a_rate_each() {
    let callers = Callers::new(&[("ana", ""), ("ben", "")]);
    let service = callers.serve(Store::Sqlite, &["--rate", "1/h,burst=3"]);
    let get = |name: &str| callers.sign(name, service.get("/v1/files")).send();
    for _ in 0..3 {
        get("ana").expect(200);
    }
    expect_limit(&get("ana"), "\"caller\";q=3;w=10800");
    get("ben").expect(200);
    callers.sign("ana", service.get("/healthz")).send().expect(200);
}

#[test]
fn addresses_have_a_rate_each_also_behind_a_trusted_proxy() {
    let arguments = ["--address-rate", "1/h,burst=2", "--trusted-proxies", "127.0.0.0/8"];
    let service = Service::start_with(Store::Sqlite, &arguments);
    let get = |address: &str| service.get("/v1/files").header("x-forwarded-for", address).send();
    for _ in 0..2 {
        get("198.51.100.1").expect(200);
    }
    expect_limit(&get("198.51.100.1"), "\"address\";q=2;w=7200");
    get("198.51.100.2").expect(200);
    service.get("/readyz").send().expect(200);
    // Without a proxy that is trusted, the header of a client says nothing.
    let direct = Service::start_with(Store::Sqlite, &["--address-rate", "1/h,burst=2"]);
    let get = |address: &str| direct.get("/v1/files").header("x-forwarded-for", address).send();
    get("198.51.100.1").expect(200);
    get("198.51.100.2").expect(200);
    expect_limit(&get("198.51.100.3"), "\"address\";q=2;w=7200");
}

#[test]
fn proxies_add_ports_to_addresses_and_may_not_know_their_clients() {
    let arguments = ["--address-rate", "1/h,burst=2", "--trusted-proxies", "127.0.0.0/8"];
    let service = Service::start_with(Store::Sqlite, &arguments);
    let get = |address: &str| service.get("/v1/files").header("x-forwarded-for", address).send();
    for (address, other_port, other) in [
        ("198.51.100.1:5678", "198.51.100.1:5679", "198.51.100.2:5678"),
        ("[2001:db8::1]:5678", "[2001:db8::1]:5679", "[2001:db8:1::1]:5678"),
    ] {
        get(address).expect(200);
        get(other_port).expect(200);
        expect_limit(&get(address), "\"address\";q=2;w=7200");
        get(other).expect(200);
    }
    // All clients that the proxy does not name share a limit, which is 16 times as high.
    let unknown = ["unknown", "", "198.51.100.1, unknown", "198.51.100.1,"];
    for name in unknown.into_iter().cycle().take(32) {
        get(name).expect(200);
    }
    expect_limit(&get("unknown"), "\"address\";q=32;w=7200");
    get("198.51.100.3").expect(200);
    let log = service.log();
    let lines = log.lines().filter(|line| line.contains("does not name its client"));
    assert_eq!(lines.count(), 1, "once a minute: {log}");
}
