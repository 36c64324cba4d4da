//! The admin listener.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use tests::stores::TestDatabase;
use tests::{Request, Service, Store, wait_until};

use super::Monitored;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";

#[test]
fn the_admin_listener() {
    let monitored = Monitored::start(Store::Sqlite, &["--log", "info"]);
    the_filter_of_the_log_can_be_set(&monitored);
    metrics_are_served_by_the_admin_listener_only(&monitored);
    probes_report_that_the_service_lives_serves_and_has_started(&monitored);
    a_connection_that_sends_nothing_is_closed_soon(&monitored);
}

fn metrics_are_served_by_the_admin_listener_only(monitored: &Monitored) {
    for path in ["/metrics", "/startupz"] {
        monitored.service.get(path).send().expect(404);
    }
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

fn probes_report_that_the_service_lives_serves_and_has_started(monitored: &Monitored) {
    for path in ["/healthz", "/readyz", "/startupz"] {
        monitored.ask("GET", path).send_unchecked().expect(200);
        let refused = monitored.ask("POST", path).send_unchecked().expect(405);
        assert_eq!(refused.needed_header("allow"), "GET, HEAD");
    }
    for path in ["/", "/metrics/", "/v1/proposals", "/openapi.json"] {
        // The document describes these paths of the other listener.
        monitored.ask("GET", path).try_send().expect("an answer").expect(404);
    }
    assert!(!monitored.service.get("/openapi.json").send().text().contains("startupz"));
}

#[test]
fn an_instance_that_still_migrates_has_not_started() {
    let database = TestDatabase::postgres();
    let admin = tests::free_address();
    let (url, address) = (database.url().to_owned(), admin.to_string());
    let ask = |path, status| Request::new(admin, "GET", path).send_unchecked().expect(status);
    let held = database.while_the_schema_is_locked(|| {
        let starting = std::thread::spawn(move || {
            Service::start_at(TestDatabase::existing(&url), &url, &["--admin-listen", &address])
        });
        wait_until(|| Request::new(admin, "GET", "/healthz").try_send().is_some());
        ask("/startupz", 503);
        ask("/readyz", 503);
        ask("/healthz", 200);
        assert!(ask("/metrics", 200).text().contains("process_cpu_seconds_total"));
        starting
    });
    let _service = held.join().unwrap();
    ask("/startupz", 200);
    ask("/readyz", 200);
}

fn the_filter_of_the_log_can_be_set(monitored: &Monitored) {
    let log_after_a_request = || {
        monitored.service.get("/v1/files").send().expect(200);
        monitored.service.log()
    };
    assert!(!log_after_a_request().contains("answered"));
    monitored.set_filter("http_adapter=debug\n");
    assert!(log_after_a_request().contains("answered"));
    monitored.set_filter("off");
    let before = monitored.service.log();
    assert_eq!(log_after_a_request(), before);

    let put = || monitored.ask("PUT", "/log");
    for bad in ["verbose", "", "info=a=b", "\u{0}", &"info,".repeat(2000)] {
        let refused = put().body("text/plain", bad).send_unchecked().expect(400);
        assert!(refused.text().len() < 300, "{refused}");
    }
    put().body("application/json", "info").send_unchecked().expect(415);
    put().untyped_body("info").send_unchecked().expect(415);
    put().body("text/plain", [0xff]).send_unchecked().expect(400);
    monitored.ask("GET", "/log").send_unchecked().expect(405);
}

fn a_connection_that_sends_nothing_is_closed_soon(monitored: &Monitored) {
    let sent: [&[u8]; 2] = [b"", b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n"];
    let clients = sent.map(|sent| {
        let mut client = TcpStream::connect(monitored.admin).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(9))).unwrap();
        client.write_all(sent).unwrap();
        client
    });
    for mut client in clients {
        client.read_to_string(&mut String::new()).expect("it is closed");
    }
}
