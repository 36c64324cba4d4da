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
fn callers_and_addresses_have_a_rate_each() {
    let callers = Callers::new(&[("ana", ""), ("ben", "")]);
    let more = ["--rate", "1/h,burst=3", "--address-rate", "1/h,burst=5"];
    let service = callers.serve(Store::Sqlite, &more);
    // Without a proxy that is trusted, the header of a client has no effect.
    let get = |name: &str, address: u32| {
        let request = service.get("/v1/files");
        let request = request.header("x-forwarded-for", format!("198.51.100.{address}"));
        callers.sign(name, request).send()
    };
    for address in 0..3 {
        get("ana", address).expect(200);
    }
    expect_limit(&get("ana", 3), "\"caller\";q=3;w=10800");
    get("ben", 4).expect(200);
    expect_limit(&get("ben", 5), "\"address\";q=5;w=18000");
    callers.sign("ana", service.get("/healthz")).send().expect(200);
}

#[test]
fn a_trusted_proxy_names_addresses_with_ports_or_without_and_may_not_know_them() {
    let arguments = ["--address-rate", "1/h,burst=2", "--trusted-proxies", "127.0.0.0/8"];
    let service = Service::start_with(Store::Sqlite, &arguments);
    let get = |address: &str| service.get("/v1/files").header("x-forwarded-for", address).send();
    for (address, other_port, other) in [
        ("198.51.100.4", "198.51.100.4", "198.51.100.5"),
        ("198.51.100.1:5678", "198.51.100.1:5679", "198.51.100.2:5678"),
        ("[2001:db8::1]:5678", "[2001:db8::1]:5679", "[2001:db8:1::1]:5678"),
    ] {
        get(address).expect(200);
        get(other_port).expect(200);
        expect_limit(&get(address), "\"address\";q=2;w=7200");
        get(other).expect(200);
    }
    service.get("/readyz").send().expect(200);
    // All clients that the proxy does not name share a limit, which is 16 times as high.
    let unknown = ["unknown", "", "198.51.100.1, unknown", "198.51.100.1,"];
    for name in unknown.into_iter().cycle().take(32) {
        get(name).expect(200);
    }
    expect_limit(&get("unknown"), "\"address\";q=32;w=7200");
    get("198.51.100.3").expect(200);
    let log = service.log();
    let lines = log.lines().filter(|line| line.contains("does not send the client address"));
    assert_eq!(lines.count(), 1, "once a minute: {log}");
}
