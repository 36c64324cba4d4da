//! Connections to `PostgreSQL` that fall silent without a reset, as after the failover of an address
//! or behind a firewall that forgot them: the service notices, is not ready, and recovers by itself.

use std::time::{Duration, Instant};

use tests::Gate;

use crate::{FILES, at_once, await_status};

/// Ten times the bounds for writes to be back, and for the service to be not ready.
const BACK: Duration = Duration::from_mins(5);
const NOTICED: Duration = Duration::from_secs(200);

#[test]
fn the_service_recovers_when_connections_or_the_server_fall_silent() {
    at_once([
        when_open_connections_fall_silent_writes_and_searches_come_back,
        while_the_server_is_silent_the_service_is_not_ready,
    ]);
}

fn when_open_connections_fall_silent_writes_and_searches_come_back() {
    let (gate, service) = Gate::before_service();
    for _ in 0..2 {
        let kept = service.create(FILES, r#"{"text":"xylophone"}"#);
        gate.silence_open_connections();
        let silent = Instant::now();
        for (method, path, status) in [
            ("POST", FILES, 201),
            ("DELETE", &kept.path, 204),
            ("GET", "/v1/files?q=xylophone", 200),
            ("GET", "/readyz", 200),
        ] {
            await_status(&service, method, path, status, BACK.saturating_sub(silent.elapsed()));
        }
    }
}

fn while_the_server_is_silent_the_service_is_not_ready() {
    let (gate, service) = Gate::before_service();
    service.create(FILES, "{}");
    gate.silence();
    await_status(&service, "GET", "/readyz", 503, NOTICED);
    let still_silent = Instant::now() + Duration::from_secs(12);
    while Instant::now() < still_silent {
        service.get("/readyz").send_in_vain();
        service.post(FILES).json("{}").send_in_vain();
    }
    gate.open();
    let open = Instant::now();
    await_status(&service, "GET", "/readyz", 200, BACK);
    await_status(&service, "POST", FILES, 201, BACK.saturating_sub(open.elapsed()));
}
