//! The admin listener.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use tests::stores::TestDatabase;
use tests::{Request, Service, Store};

use super::Monitored;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";

#[test]
fn metrics_are_served_to_those_who_reach_the_admin_listener_alone() {
    let monitored = Monitored::start(Store::Sqlite, &[]);
    monitored.service.get("/metrics").send().expect(404);
    monitored.service.get("/startupz").send().expect(404);
    for (accept, expected) in [
        (None, PLAIN),
        (Some("*/*"), PLAIN),
        (Some("text/plain;version=0.0.4"), PLAIN),
        (Some("application/json"), PLAIN),
        (
            Some(
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                 text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            ),
            OPEN_METRICS,
        ),
        (Some("application/openmetrics-text;q=0.2, text/plain;q=0.3"), PLAIN),
        (Some("application/openmetrics-text;q=0"), PLAIN),
    ] {
        let request = monitored.ask("GET", "/metrics");
        let request = match accept {
            Some(accept) => request.accept(accept),
            None => request,
        };
        let answer = request.send_unchecked().expect(200).of_type(expected);
        assert_eq!(answer.text().ends_with("# EOF\n"), expected == OPEN_METRICS, "{accept:?}");
    }
}

#[test]
fn probes_tell_whether_the_service_lives_serves_and_has_started() {
    let monitored = Monitored::start(Store::Sqlite, &[]);
    for path in ["/healthz", "/readyz", "/startupz"] {
        monitored.ask("GET", path).send_unchecked().expect(200);
        let refused = monitored.ask("POST", path).send_unchecked().expect(405);
        assert_eq!(refused.needed_header("allow"), "GET, HEAD");
    }
    for path in ["/", "/metrics/", "/v1/proposals", "/openapi.json"] {
        // The document describes these paths, and not this listener.
        monitored.ask("GET", path).try_send().expect("an answer").expect(404);
    }
    assert!(!monitored.service.get("/openapi.json").send().text().contains("startupz"));
}

#[test]
fn an_instance_that_still_migrates_has_not_started() {
    let database = TestDatabase::postgres();
    // Under this lock one instance prepares the schema.
    let admin = tests::free_address();
    let (url, address) = (database.url().to_owned(), admin.to_string());
    let held = database.while_the_schema_is_locked(|| {
        let starting = std::thread::spawn(move || {
            Service::start_at(TestDatabase::existing(&url), &url, &["--admin-listen", &address])
        });
        let began = Instant::now();
        let startup = loop {
            if let Some(answer) = Request::new(admin, "GET", "/startupz").try_send() {
                break answer;
            }
            assert!(began.elapsed() < Duration::from_secs(20), "nobody listens");
            std::thread::sleep(Duration::from_millis(20));
        };
        startup.expect(503);
        Request::new(admin, "GET", "/readyz").send_unchecked().expect(503);
        Request::new(admin, "GET", "/healthz").send_unchecked().expect(200);
        let metrics = Request::new(admin, "GET", "/metrics").send_unchecked().expect(200);
        assert!(metrics.text().contains("process_cpu_seconds_total"));
        starting
    });
    let service = held.join().unwrap();
    Request::new(admin, "GET", "/startupz").send_unchecked().expect(200);
    Request::new(admin, "GET", "/readyz").send_unchecked().expect(200);
    drop(service);
}

#[test]
fn the_filter_of_the_log_can_be_set() {
    let monitored = Monitored::start(Store::Sqlite, &["--log", "info"]);
    let set = |filter: &str| monitored.ask("PUT", "/log").body("text/plain", filter);
    monitored.service.get("/v1/files").send().expect(200);
    assert!(!monitored.service.log().contains("answered"));
    set("http_adapter=debug\n").send_unchecked().expect(204);
    monitored.service.get("/v1/files").send().expect(200);
    assert!(monitored.service.log().contains("answered"));
    set("off").send_unchecked().expect(204);
    let before = monitored.service.log();
    monitored.service.get("/v1/files").send().expect(200);
    assert_eq!(monitored.service.log(), before);

    for bad in ["verbose", "", "info=a=b", "\u{0}", &"info,".repeat(2000)] {
        let refused = set(bad).send_unchecked().expect(400);
        assert!(refused.text().len() < 300, "{refused}");
    }
    let info = "info".to_owned();
    monitored
        .ask("PUT", "/log")
        .body("application/json", info.clone())
        .send_unchecked()
        .expect(415);
    monitored.ask("PUT", "/log").untyped_body(info).send_unchecked().expect(415);
    monitored.ask("PUT", "/log").body("text/plain", [0xff]).send_unchecked().expect(400);
    monitored.ask("GET", "/log").send_unchecked().expect(405);
}

#[test]
fn a_connection_that_says_nothing_is_closed_soon() {
    let monitored = Monitored::start(Store::Sqlite, &[]);
    let connect = |sent: &[u8]| {
        let mut client = TcpStream::connect(monitored.admin).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(9))).unwrap();
        client.write_all(sent).unwrap();
        client
    };
    let (silent, idle) = (connect(b""), connect(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n"));
    for mut client in [silent, idle] {
        let mut answer = String::new();
        client.read_to_string(&mut answer).expect("it is closed");
    }
}
