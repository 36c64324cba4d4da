//! Clients that keep streams of changes open.

use std::thread;
use std::time::{Duration, Instant};

use tests::{Service, Store};

use crate::attack::{Raw, statuses, withstands};

const STREAM: &str = "GET /v1/changes/stream HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// Ten times the bound for a response about health.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most memory that a stream may take.
const MOST_MEMORY: u64 = 16 << 10;

/// Opens a stream; the first bytes of the answer.
fn open(service: &Service) -> (Raw, String) {
    let mut stream = Raw::open(service).send(STREAM);
    let beginning = stream.beginning();
    (stream, beginning)
}

/// Opens as many streams as are allowed.
fn open_all(service: &Service, count: usize) -> Vec<Raw> {
    let opened = (0..count).map(|_| {
        let (stream, beginning) = open(service);
        assert_eq!(statuses(&beginning), [200]);
        stream
    });
    opened.collect()
}

#[test]
fn thousands_of_streams_take_little_memory() {
    const STREAMS: usize = 2_000;
    tests::raise_open_files(STREAMS as u64 + 500);
    let service = Service::start_with(Store::Sqlite, &["--max-streams", "2000"]);
    let before = service.memory();
    let mut streams = open_all(&service, STREAMS);
    for _ in 0..10 {
        service.create("/v1/files", "{}");
    }
    for stream in &mut streams {
        while !stream.beginning().contains("item.created") {}
    }
    let each = service.memory().saturating_sub(before) / STREAMS as u64;
    println!("memory of a stream: {each} bytes");
    assert!(each < MOST_MEMORY, "{each} bytes for a stream");
}

#[test]
fn streams_beyond_the_limit_are_refused_with_503_until_another_ends() {
    let service = Service::start_with(Store::Sqlite, &["--max-streams", "3"]);
    let mut streams = open_all(&service, 3);
    let (_, refused) = open(&service);
    assert_eq!(statuses(&refused), [503]);
    assert!(refused.contains("retry-after: "), "{refused}");
    drop(streams.pop());
    let begun = Instant::now();
    while statuses(&open(&service).1) != [200] {
        assert!(begun.elapsed() < PATIENCE, "the place of a stream that ended stays taken");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn streams_leave_connections_to_others_and_all_of_them_leave_health() {
    let service = Service::start_with(Store::Sqlite, &["--max-connections", "20"]);
    withstands(&service, || {
        let streams = open_all(&service, 10);
        assert_eq!(statuses(&open(&service).1), [503], "half of the connections are for others");
        drop(streams);
    });
    let _streams = open_all(&service, 10);
    let silent: Vec<_> = (0..200).map(|_| Raw::open(&service)).collect();
    // Clients that begin a request for it and do not continue delay no other.
    let slow: Vec<_> =
        (0..200).map(|_| Raw::open(&service).send("GET /healthz HTTP/1.1\r\n")).collect();
    for path in ["/healthz", "/readyz"].repeat(20) {
        let asked = Instant::now();
        let _ = service.get(path).send().expect(200);
        assert!(asked.elapsed() < PATIENCE, "{path} took {:?}", asked.elapsed());
    }
    drop((silent, slow));
}

#[test]
fn a_stream_ends_at_its_age_and_is_resumed() {
    let service = Service::start_with(Store::Sqlite, &["--stream-max-age", "2s"]);
    let begun = Instant::now();
    let (stream, _) = open(&service);
    let made = service.create("/v1/files", "{}");
    let rest = stream.rest();
    assert!(begun.elapsed() >= Duration::from_secs(1), "{rest}");
    assert!(rest.contains(&made.id) && rest.ends_with("0\r\n\r\n"), "{rest}");
    let missed = service.create("/v1/files", "{}");
    let id =
        rest.lines().rfind(|line| line.starts_with("id: ")).unwrap().replace("id", "Last-Event-ID");
    let resumed = STREAM.replace("\r\n\r\n", &format!("\r\n{id}\r\n\r\n"));
    let rest = Raw::open(&service).send(resumed).rest();
    assert!(rest.contains(&missed.id) && !rest.contains(&made.id), "{rest}");
}
