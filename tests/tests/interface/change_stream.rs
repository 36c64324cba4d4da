//! `/v1/changes/stream`: the changes as they happen, as server-sent events.

use serde_json::json;
use tests::event_stream::{Event, EventStream};
use tests::{Service, Store};

use crate::PROPOSAL;

tests::cases![
    changes_arrive_as_cloud_events_as_they_happen,
    a_reader_without_events_resumes_where_it_began,
    one_group_alone_can_be_followed,
    invalid_requests_are_refused,
    a_reader_resumes_after_its_last_event,
];

fn open(service: &Service, query: &str, headers: &str) -> EventStream {
    EventStream::open(service.address(), query, headers)
}

fn resume(service: &Service, id: &str) -> EventStream {
    open(service, "", &format!("Last-Event-ID: {id}\r\n"))
}

/// The subjects and kinds of the next events.
fn events(stream: &mut EventStream, count: usize) -> Vec<(String, String)> {
    let event = |_| {
        let data = stream.event().data;
        let [subject, kind] = [&data["subject"], &data["data"]["kind"]]
            .map(|value| value.as_str().expect("a string").to_owned());
        (subject, kind)
    };
    (0..count).map(event).collect()
}

fn created(path: &str) -> (String, String) {
    (path.to_owned(), "created".to_owned())
}

fn changes_arrive_as_cloud_events_as_they_happen(service: &Service) {
    service.create("/v1/files", "{}");
    let mut stream = open(service, "", "Accept: text/event-stream\r\n");
    let proposal = service.create("/v1/proposals", PROPOSAL);
    let Event { id, data } = stream.event();
    assert_eq!(data["data"]["cursor"], id.as_str());
    for (member, expected) in [
        ("specversion", json!("1.0")),
        ("id", json!(id)),
        ("subject", json!(proposal.path)),
        ("datacontenttype", json!("application/json")),
        ("type", json!("research-proposal-service.item.created")),
        ("time", data["data"]["time"].clone()),
    ] {
        assert_eq!(data[member], expected, "{member}");
    }
    assert!(data["source"].as_str().expect("a string").ends_with("/v1/changes"));
    let listed = service.read("/v1/changes?page_size=250").embedded("changes");
    assert_eq!(listed.last(), Some(&data["data"]), "the entry of the log; no event of the file");
    let item = service.create(&format!("{}/lib", proposal.path), "{}");
    service.remove(&proposal.path);
    let mut events = events(&mut stream, 3);
    events[1..].sort();
    let item = format!("/lib/{}", item.id);
    let deleted = |path: &str| (path.to_owned(), "deleted".to_owned());
    assert_eq!(events, [created(&item), deleted(&item), deleted(&proposal.path)]);
}

fn a_reader_resumes_after_its_last_event(service: &Service) {
    let mut stream = open(service, "", "");
    let items: Vec<_> = (0..600).map(|_| service.create("/v1/files", "{}").path).collect();
    let first = stream.event();
    assert_eq!(first.data["subject"], items[0].as_str());
    drop(stream);
    let mut resumed = resume(service, &first.id);
    let expected: Vec<_> = items[1..].iter().map(|path| created(path)).collect();
    assert_eq!(events(&mut resumed, 599), expected);
    let another = service.create("/status", "{}");
    assert_eq!(events(&mut resumed, 1), [created(&another.path)]);
}

fn a_reader_without_events_resumes_where_it_began(service: &Service) {
    service.create("/v1/files", "{}");
    let mut stream = open(service, "", "");
    assert_eq!(stream.content(), "retry: 2000");
    let begun = stream.content();
    drop(stream);
    let missed = service.create("/v1/files", "{}");
    let mut resumed = resume(service, begun.trim_start_matches("id: "));
    assert_eq!(events(&mut resumed, 1), [created(&missed.path)]);
}

fn one_group_alone_can_be_followed(service: &Service) {
    let mut stream = open(service, "?group=status", "");
    service.create("/v1/files", "{}");
    let wanted = service.create("/status", "{}");
    assert_eq!(events(&mut stream, 1), [created(&wanted.path)]);
}

fn invalid_requests_are_refused(service: &Service) {
    let stream = "/v1/changes/stream";
    for request in [
        service.get(&format!("{stream}?group=statusses")),
        service.get(&format!("{stream}?after=x")),
        service.get(stream).header("last-event-id", "x"),
    ] {
        request.send_unchecked().expect(400).of_type("application/json");
    }
    service.get(stream).accept("application/json").send_unchecked().expect(406);
    service.post(stream).json("{}").send_unchecked().expect(405);
}

#[test]
fn changes_of_another_instance_arrive_and_an_idle_stream_has_comments() {
    let service = Service::start(Store::Postgres);
    let other = service.start_another();
    let mut idle = open(&service, "?group=statuses", "Accept-Encoding: gzip\r\n");
    let mut streams = [open(&service, "", ""), open(&other, "", "")];
    let items = [&service, &other].map(|instance| instance.create("/v1/files", "{}").path);
    for stream in &mut streams {
        assert_eq!(events(stream, 2), items.each_ref().map(|path| created(path)));
    }
    assert_eq!(idle.content(), "retry: 2000");
    assert!(idle.content().starts_with("id: "), "where it begins");
    assert_eq!(idle.content(), ":");
}
