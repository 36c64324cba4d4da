//! Clients that hold connections and send nothing, or read nothing.

use std::thread;
use std::time::Duration;

use tests::{Service, Store};

use crate::attack::{GET, Raw, send_slowly, statuses, withstands};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn ten_thousand_idle_connections_do_not_block_others() {
    const CONNECTIONS: usize = 10_000;
    tests::raise_open_files(CONNECTIONS as u64 + 500);
    let service = Service::start(Store::Sqlite);
    withstands(&service, || {
        let asked = |_| {
            let mut client = Raw::open(&service).send(GET);
            assert_eq!(statuses(&client.beginning()), [200]);
            client
        };
        let kept: Vec<_> = (0..CONNECTIONS / 2).map(asked).collect();
        let silent: Vec<_> = (0..CONNECTIONS / 2).map(|_| Raw::open(&service)).collect();
        // Those that were opened last may still have to be accepted.
        thread::sleep(SECOND);
        assert!(service.open_files() >= CONNECTIONS, "{} files are open", service.open_files());
        for client in kept.into_iter().step_by(100) {
            let answer = client.send(GET).beginning();
            assert_eq!(statuses(&answer), [200], "an idle connection is served");
        }
        drop(silent);
    });
}

#[test]
fn heads_sent_by_halves_and_byte_by_byte_are_408() {
    let service = Service::start(Store::Sqlite);
    withstands(&service, || {
        let halves = std::iter::repeat_n("GET /v1/statuses HTTP/1.1\r\nHost: ", 500);
        send_slowly(&service, halves, &[408], ("", GET));
    });
}

#[test]
fn unread_responses_delay_no_other_client() {
    let service = Service::start(Store::Sqlite);
    let body = format!(r#"{{"text":"{}"}}"#, "x".repeat(60_000));
    for _ in 0..250 {
        service.create("/v1/files", &body);
    }
    let page = "/v1/files?page_size=250";
    withstands(&service, || {
        // 15 MB each: far more than the sockets' buffers take.
        let request = format!("GET {page} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let unread: Vec<_> = (0..64).map(|_| Raw::open(&service).send(&request)).collect();
        thread::sleep(5 * SECOND);
        drop(unread);
    });
    assert_eq!(service.get(page).send().expect(200).items().len(), 250);
}

#[test]
fn answers_to_many_pipelined_requests_are_made_as_they_are_read() {
    let service = Service::start(Store::Sqlite);
    withstands(&service, || {
        let last = "GET /v1/nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let answers = Raw::open(&service).send(GET.repeat(200)).send(last).done().rest();
        assert_eq!(statuses(&answers), [vec![200; 200], vec![404]].concat());
        // Some 70 MB of unread answers; the sending ends when the sockets' buffers are full.
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| drop(Raw::open(&service).send_for(GET.repeat(200_000), 2 * SECOND)));
            }
        });
    });
}
