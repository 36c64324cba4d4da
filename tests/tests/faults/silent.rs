//! Connections to `PostgreSQL` that fall silent without a reset, as after the failover of an address
//! or behind a firewall that forgot them: the service notices, says so, and goes on by itself.

use std::thread::sleep;
use std::time::{Duration, Instant};

use tests::{Gate, Service};

const FILES: &str = "/v1/files";

/// Ten times the bounds for writes to be back, and for the service to say that it is not ready.
const BACK: Duration = Duration::from_mins(5);
const NOTICED: Duration = Duration::from_secs(200);

#[test]
fn when_open_connections_fall_silent_writes_and_searches_come_back() {
    let (gate, service) = behind_a_gate();
    for round in 0..2 {
        let kept = service.create(FILES, r#"{"text":"xylophone"}"#);
        gate.silence_open_connections();
        let since = Instant::now();
        until("writes", since, BACK, || {
            service.post(FILES).json("{}").send_unchecked().status == 201
        });
        until("every kind of write", since, BACK, || {
            service.delete(&kept.path).send_unchecked().status == 204
        });
        until("searches", since, BACK, || {
            service.get("/v1/files?q=xylophone").send_unchecked().status == 200
        });
        until("readiness", since, BACK, || service.get("/readyz").send_unchecked().status == 200);
        println!("round {round}: back after {:?}", since.elapsed());
    }
}

#[test]
fn while_the_server_is_silent_the_service_is_not_ready() {
    let (gate, service) = behind_a_gate();
    gate.silence();
    let since = Instant::now();
    until("the silence", since, NOTICED, || service.get("/readyz").send_unchecked().status == 503);
    let still_silent = Instant::now() + Duration::from_secs(12);
    while Instant::now() < still_silent {
        service.get("/readyz").send_in_vain();
        service.post(FILES).json("{}").send_in_vain();
    }
    gate.open();
    let since = Instant::now();
    until("readiness", since, BACK, || service.get("/readyz").send_unchecked().status == 200);
    until("writes", since, BACK, || service.post(FILES).json("{}").send_unchecked().status == 201);
}

fn behind_a_gate() -> (Gate, Service) {
    let (gate, service) = Gate::before_service();
    service.create(FILES, "{}");
    (gate, service)
}

fn until(what: &str, since: Instant, bound: Duration, mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        assert!(since.elapsed() < bound, "{what}: not within {bound:?}");
        sleep(Duration::from_millis(50));
    }
    println!("{what} after {:?}", since.elapsed());
}
