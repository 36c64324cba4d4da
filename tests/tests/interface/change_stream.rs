//! `/v1/changes/stream`: the changes as they happen, as server-sent events.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::event_stream::{Event, EventStream};
use tests::{Service, Store, on_each_store};

use crate::PROPOSAL;

/// Longer than anything here may take but the heartbeat.
const PATIENCE: Duration = Duration::from_secs(30);

/// Opens the stream of a service.
fn open(service: &Service, query: &str, headers: &str) -> EventStream {
    EventStream::open(service.address(), query, headers)
}

/// The subjects and kinds of so many events.
fn told(stream: &mut EventStream, count: usize) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("a string").to_owned();
    let mut told = Vec::new();
    for _ in 0..count {
        let Event { data, .. } = stream.event();
        told.push((text(&data["subject"]), text(&data["data"]["kind"])));
    }
    told
}

#[test]
fn changes_are_told_as_cloud_events_as_they_happen() {
    on_each_store(|service| {
        service.create("/v1/files", "{}");
        let mut stream = open(service, "", "Accept: text/event-stream\r\n");
        let proposal = service.create("/v1/proposals", PROPOSAL);
        let Event { id, data } = stream.event();
        assert_eq!(data["data"]["cursor"], id.as_str());
        assert_eq!((&data["specversion"], &data["id"]), (&json!("1.0"), &json!(id)));
        assert_eq!(
            (&data["subject"], &data["datacontenttype"]),
            (&json!(proposal.path), &json!("application/json"))
        );
        assert_eq!(
            (&data["type"], &data["time"]),
            (&json!("research-proposal-service.item.created"), &data["data"]["time"])
        );
        assert!(data["source"].as_str().expect("a string").ends_with("/v1/changes"));
        let listed =
            service.get("/v1/changes?page_size=250").send().expect(200).embedded("changes");
        assert_eq!(
            listed.last(),
            Some(&data["data"]),
            "it is what the log tells, and the file before it is not told"
        );
        let item = service.create(&format!("{}/lib", proposal.path), "{}");
        service.delete(&proposal.path).send().expect(204);
        let mut told = told(&mut stream, 3);
        told[1..].sort();
        let expected = [
            (format!("/lib/{}", item.id), "created"),
            (format!("/lib/{}", item.id), "deleted"),
            (proposal.path, "deleted"),
        ];
        assert_eq!(told, expected.map(|(subject, kind)| (subject, kind.to_owned())));
    });
}

#[test]
fn a_reader_goes_on_where_it_was() {
    on_each_store(|service| {
        let mut stream = open(service, "", "");
        let items: Vec<_> = (0..600).map(|_| service.create("/v1/files", "{}").path).collect();
        let first = stream.event();
        assert_eq!(first.data["subject"], items[0].as_str());
        drop(stream);
        let mut resumed = open(service, "", &format!("Last-Event-ID: {}\r\n", first.id));
        let expected: Vec<_> =
            items[1..].iter().map(|path| (path.clone(), "created".to_owned())).collect();
        assert_eq!(told(&mut resumed, 599), expected);
        let another = service.create("/status", "{}");
        assert_eq!(told(&mut resumed, 1), [(another.path, "created".to_owned())]);
    });
}

#[test]
fn a_reader_who_was_told_nothing_yet_goes_on_where_it_began() {
    on_each_store(|service| {
        service.create("/v1/files", "{}");
        let mut stream = open(service, "", "");
        assert_eq!(stream.content(), "retry: 2000");
        let begun = stream.content();
        drop(stream);
        let missed = service.create("/v1/files", "{}");
        let mut resumed =
            open(service, "", &format!("Last-Event-ID: {}\r\n", begun.trim_start_matches("id: ")));
        assert_eq!(told(&mut resumed, 1), [(missed.path, "created".to_owned())]);
    });
}

#[test]
fn a_place_in_another_log_is_refused() {
    on_each_store(|service| {
        let other = Service::start(Store::Sqlite);
        for _ in 0..3 {
            other.create("/v1/files", "{}");
        }
        let last = other.list("/v1/changes", "page_size=250").embedded("changes")[2]["cursor"]
            .as_str()
            .expect("a cursor")
            .to_owned();
        let _ = service.get(&format!("/v1/changes?after={last}")).send().expect(410);
        let _ = service
            .get("/v1/changes/stream")
            .header("last-event-id", last)
            .send_unchecked()
            .expect(410);
    });
}

#[test]
fn one_group_alone_can_be_followed() {
    on_each_store(|service| {
        let mut stream = open(service, "?group=status", "");
        service.create("/v1/files", "{}");
        let wanted = service.create("/status", "{}");
        assert_eq!(told(&mut stream, 1), [(wanted.path, "created".to_owned())]);
    });
}

#[test]
fn what_another_instance_writes_is_told_too() {
    let service = Service::start(Store::Postgres);
    let other = service.start_another();
    let mut streams = [open(&service, "", ""), open(&other, "", "")];
    let items = [service.create("/v1/files", "{}").path, other.create("/v1/files", "{}").path];
    for stream in &mut streams {
        assert_eq!(told(stream, 2), items.clone().map(|path| (path, "created".to_owned())));
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    on_each_store(|service| {
        let stream = "/v1/changes/stream";
        for answer in [
            service.get(&format!("{stream}?group=statusses")).send_unchecked(),
            service.get(&format!("{stream}?after=x")).send_unchecked(),
            service.get(stream).header("last-event-id", "x").send_unchecked(),
        ] {
            let _ = answer.expect(400).of_type("application/json");
        }
        let _ = service.get(stream).accept("application/json").send_unchecked().expect(406);
        let _ = service.post(stream).json("{}").send_unchecked().expect(405);
    });
}

#[test]
fn a_comment_tells_that_the_stream_lives() {
    let service = Service::start(Store::Sqlite);
    let mut stream = open(&service, "", "Accept-Encoding: gzip\r\n");
    assert_eq!(stream.content(), "retry: 2000");
    assert!(stream.content().starts_with("id: "), "where it begins");
    let asked = Instant::now();
    assert_eq!(stream.content(), ":");
    assert!(asked.elapsed() < PATIENCE);
}
