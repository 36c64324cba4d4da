//! Standbys that are read beside their primary: what lags, stops and takes over.

use std::thread::sleep;
use std::time::{Duration, Instant};

use tests::stores::TestDatabase;
use tests::tool::tool;
use tests::{Answer, Request, Service};

use crate::postgres_server::PostgresServer;

const FILES: &str = "/v1/files";
const CASH: &str = "/v1/cashprogram";
const TOKEN: &str = "consistency-token";

const PATIENCE: Duration = Duration::from_mins(2);

/// A primary with a standby that lags a little, and a service that reads both.
struct Cluster {
    service: Service,
    primary: PostgresServer,
    standby: PostgresServer,
}

impl Cluster {
    fn start(delay: &str) -> Self {
        let primary = PostgresServer::start();
        let database = TestDatabase::existing(primary.url().as_str());
        let standby = primary.start_standby();
        standby.set("recovery_min_apply_delay", delay);
        let url = standby.url();
        let service = Service::start_on_with(&database, &["--replica-url", url.as_str()]);
        let cluster = Self { service, primary, standby };
        cluster.await_standby();
        cluster
    }

    /// Waits until items are read at the standby.
    fn await_standby(&self) {
        until(|| is_of_standby(&self.service.get(FILES).send_unchecked()));
    }

    /// A read that wants what is current.
    fn current(&self, path: &str) -> Request {
        self.service.get(path).header("cache-control", "max-age=0, no-cache")
    }
}

/// Reads that the store itself answers have no age.
fn is_of_standby(answer: &Answer) -> bool {
    answer.status == 200 && answer.header("age").is_some()
}

#[test]
fn a_standby_that_is_named_twice_is_refused() {
    let database = TestDatabase::postgres();
    let standby = "postgres://me:secret@127.0.0.1:1/a";
    let arguments =
        ["--database-url", database.url(), "--replica-url", standby, "--replica-url", standby];
    let output =
        tool(&[&["serve", "--listen", "127.0.0.1:0"], &arguments[..]].concat()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("127.0.0.1:1 is named twice"), "{said}");
    assert!(!said.contains("secret"), "{said}");
}

#[test]
fn who_sends_the_token_of_a_write_sees_it_at_a_standby_that_lags() {
    let cluster = Cluster::start("200ms");
    let service = &cluster.service;
    let (mut of_standby, mut stale) = (0, 0);
    for _ in 0..20 {
        let created = service.post(FILES).json(r#"{"n":1}"#).send().expect(201);
        let path = created.path_of(created.needed_header("location"));
        let written = service.put(&path).json(r#"{"n":2}"#).send().expect(200);
        let token = written.needed_header(TOKEN);
        let read = service.get(&path).header(TOKEN, token).send().expect(200);
        assert_eq!((read.etag(), read.value()["n"].as_i64()), (written.etag(), Some(2)));
        of_standby += u32::from(is_of_standby(&read));
        let again = service.put(&path).json(r#"{"n":3}"#).send().expect(200);
        let without = service.get(&path).send().expect(200);
        stale += u32::from(without.etag() != again.etag());
        assert_eq!(cluster.current(&path).send().expect(200).etag(), again.etag());
        let token = again.needed_header(TOKEN);
        let known = service.get(&path).header(TOKEN, token).header("if-none-match", written.etag());
        assert_eq!(known.send().expect(200).etag(), again.etag(), "no wrong 304");
        let known = service.get(&path).header(TOKEN, token).header("if-none-match", again.etag());
        let _ = known.send().expect(304);
        let deleted = service.delete(&path).send().expect(204);
        let gone = service.get(&path).header(TOKEN, deleted.needed_header(TOKEN));
        let _ = gone.send().expect(404);
    }
    assert!(of_standby >= 15 && stale >= 15, "{of_standby} of the standby, {stale} stale");
}

#[test]
fn each_read_is_served_where_it_can_be() {
    let cluster = Cluster::start("0");
    let service = &cluster.service;
    let item = service.create(FILES, r#"{"name":"standby test","n":1}"#);
    let written =
        service.put(&item.path).json(r#"{"name":"standby test","n":2}"#).send().expect(200);
    let token = written.needed_header(TOKEN).to_owned();
    let read = |path: &str| service.get(path).header(TOKEN, &token).send().expect(200);
    for path in [
        item.path.clone(),
        format!("{}?fields=n", item.path),
        format!("{}?check=true", item.path),
        format!("{}/versions/1", item.path),
        format!("{}/versions/2/diff", item.path),
        format!("{FILES}?filter[n]=2&sort=-created_at&count_by=n"),
        format!("{FILES}?page=1&page_size=1"),
    ] {
        assert!(is_of_standby(&read(&path)), "{path}");
    }
    for path in [
        format!("{CASH}?as_of=2026-11-01T00:00:00Z"),
        format!("{}/versions", item.path),
        format!("{FILES}?sort=updated_at"),
        CASH.to_owned(),
        "/v1/changes".to_owned(),
        "/exports/files.csv".to_owned(),
    ] {
        assert!(!is_of_standby(&read(&path)), "{path}");
    }
    // The primary indexes; then the standby knows it, too.
    let search = format!("{FILES}?q=standby");
    assert_eq!(read(&search).items().len(), 1);
    until(|| {
        let found = read(&search);
        assert_eq!(found.items().len(), 1);
        is_of_standby(&found)
    });
    let (here, there) = (cluster.current(FILES).send().expect(200), read(FILES));
    assert!(is_of_standby(&there) && !is_of_standby(&here));
    assert_ne!(here.etag(), there.etag(), "revisions are not compared");
    let known = |tag: String| service.get(FILES).header(TOKEN, &token).header("if-none-match", tag);
    let _ = known(there.etag()).send().expect(304);
    let _ = known(here.etag()).send().expect(200);
    let _ = cluster.current(FILES).header("if-none-match", there.etag()).send().expect(200);
    for malformed in ["x", "", &token[1..], &format!("{token}, {token}")] {
        let refused = service.get(FILES).header(TOKEN, malformed).send().expect(400);
        assert_eq!(refused.value()["code"], "malformed-consistency-token");
        let _ = service.post(FILES).header(TOKEN, malformed).json("{}").send().expect(400);
    }
}

#[test]
fn a_standby_that_stops_or_takes_over_is_not_read_and_nothing_fails() {
    let cluster = Cluster::start("0");
    let service = &cluster.service;
    let item = service.create(FILES, r#"{"n":1}"#);
    let written = service.put(&item.path).json(r#"{"n":2}"#).send().expect(200);
    let (token, tag) = (written.needed_header(TOKEN).to_owned(), written.etag());
    let with_token = || service.get(&item.path).header(TOKEN, &token);
    cluster.standby.kill();
    for _ in 0..20 {
        assert_eq!(service.get(&item.path).send().expect(200).etag(), tag);
        assert_eq!(with_token().send().expect(200).etag(), tag);
    }
    cluster.standby.start_again();
    cluster.await_standby();
    until(|| is_of_standby(&with_token().send_unchecked()));

    // The primary is gone: what the standby has can be read.
    cluster.primary.kill();
    let refused = service.put(&item.path).json(r#"{"n":3}"#).send_in_vain();
    let doubtful = refused.needed_header(TOKEN).to_owned();
    assert!(is_of_standby(&service.get(&item.path).send_unchecked()));
    assert!(is_of_standby(&with_token().header("if-none-match", &tag).send_unchecked()));
    service.get(&item.path).header(TOKEN, &doubtful).send_in_vain();
    service.get("/readyz").send_in_vain();

    // It takes over elsewhere: for this service it is no standby any more.
    cluster.standby.promote();
    until(|| !is_of_standby(&service.get(&item.path).send_unchecked()));
    service.get(&item.path).send_in_vain();
}

#[test]
fn tokens_and_tags_of_a_timeline_that_ended_mean_nothing_and_nobody_waits() {
    let primary = PostgresServer::start();
    let database = TestDatabase::existing(primary.url().as_str());
    let (second, third) = (primary.start_standby(), primary.start_standby());
    let (second_url, third_url) = (second.url(), third.url());
    let arguments = ["--database-url", second_url.as_str(), "--replica-url", third_url.as_str()];
    let service = Service::start_on_with(&database, &arguments);
    until(|| is_of_standby(&service.get(FILES).send_unchecked()));
    let item = service.create(FILES, r#"{"n":1}"#);
    let third_database = TestDatabase::existing(third_url.as_str());
    let second_database = TestDatabase::existing(second_url.as_str());
    until(|| !second_database.query("SELECT CAST(id AS TEXT) FROM items").is_empty());
    // The third gets what the second never has.
    second.kill();
    let lost = service.put(&item.path).json(r#"{"n":"lost"}"#).send().expect(200);
    let (token, tag) = (lost.needed_header(TOKEN).to_owned(), lost.etag());
    until(|| {
        third_database.query("SELECT CAST(version AS TEXT) FROM items")[0][0].as_deref()
            == Some("2")
    });
    primary.kill();
    second.start_again();
    second.promote();
    until(|| service.get("/readyz").send_unchecked().status == 200);
    let begun = Instant::now();
    for _ in 0..10 {
        let read = service.get(&item.path).header(TOKEN, &token).send().expect(200);
        assert!(!is_of_standby(&read));
        assert_eq!(read.value()["n"], 1, "what was lost is not shown");
        let read = service.get(&item.path).header("if-none-match", &tag).send().expect(200);
        assert_eq!(read.value()["n"], 1, "what was lost is not shown");
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "nobody waits for what was lost");
    let again = service.put(&item.path).json(r#"{"n":"again"}"#).send().expect(200);
    assert_ne!(again.etag(), tag);
    let read = service.get(&item.path).header("if-none-match", &tag).send().expect(200);
    assert_eq!(read.value()["n"], "again");
}

fn until(mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}");
        sleep(Duration::from_millis(50));
    }
}
