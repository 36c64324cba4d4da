//! Standbys that are read next to their primary: what lags, stops and takes over.

use std::time::Duration;

use tests::stores::TestDatabase;
use tests::tool::refused;
use tests::{Answer, Request, Service};

use crate::postgres_server::PostgresServer;
use crate::{FILES, until};

const CASH: &str = "/v1/cashprogram";
pub const TOKEN: &str = "consistency-token";

const PATIENCE: Duration = Duration::from_mins(2);

/// A primary with a standby, and a service that reads both.
struct Cluster {
    service: Service,
    primary: PostgresServer,
    standby: PostgresServer,
}

impl Cluster {
    fn start() -> Self {
        let primary = PostgresServer::start();
        let standby = primary.start_standby();
        let url = standby.url();
        let arguments = ["--replica-url", url.as_str()];
        let service = Service::start_on_with(&primary.database(), &arguments);
        Self { service, primary, standby }
    }

    /// Waits until items are read at the standby.
    fn await_standby(&self) {
        let read = || is_of_standby(&self.service.get(FILES).send_unchecked());
        until("reads of the standby", PATIENCE, read);
    }

    /// A read that wants what is current.
    fn current(&self, path: &str) -> Request {
        self.service.get(path).header("cache-control", "max-age=0, no-cache")
    }
}

/// Reads that the primary answers have no age.
pub fn is_of_standby(answer: &Answer) -> bool {
    answer.status == 200 && answer.header("age").is_some()
}

#[test]
fn a_standby_that_is_named_twice_is_refused() {
    let database = TestDatabase::postgres();
    let standby = "postgres://me:secret@127.0.0.1:1/a";
    let arguments =
        ["--database-url", database.url(), "--replica-url", standby, "--replica-url", standby];
    let log = refused(&[&["serve", "--listen", "127.0.0.1:0"], &arguments[..]].concat(), 2);
    assert!(log.contains("127.0.0.1:1 is given more than once"), "{log}");
    assert!(!log.contains("secret"), "{log}");
}

#[test]
fn a_standby_is_read_where_it_can_be_as_long_as_it_follows() {
    let cluster = Cluster::start();
    cluster.await_standby();
    each_read_is_served_where_it_can_be(&cluster);
    cluster.standby.set("recovery_min_apply_delay", "200ms");
    a_read_with_the_token_of_a_write_sees_it_at_a_standby_that_lags(&cluster);
    cluster.standby.set("recovery_min_apply_delay", "0");
    a_standby_that_stops_or_takes_over_is_not_read_and_nothing_fails(&cluster);
}

fn a_read_with_the_token_of_a_write_sees_it_at_a_standby_that_lags(cluster: &Cluster) {
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

fn each_read_is_served_where_it_can_be(cluster: &Cluster) {
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
    until("a search at the standby", PATIENCE, || {
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

fn a_standby_that_stops_or_takes_over_is_not_read_and_nothing_fails(cluster: &Cluster) {
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
    until("a read with a token", PATIENCE, || is_of_standby(&with_token().send_unchecked()));

    // The primary is gone: what the standby has can be read.
    cluster.primary.kill();
    let refused = service.put(&item.path).json(r#"{"n":3}"#).send_in_vain();
    let doubtful = refused.needed_header(TOKEN).to_owned();
    assert!(is_of_standby(&service.get(&item.path).send_unchecked()));
    assert!(is_of_standby(&with_token().header("if-none-match", &tag).send_unchecked()));
    service.get(&item.path).header(TOKEN, &doubtful).send_in_vain();
    service.get("/readyz").send_in_vain();

    // It takes over elsewhere: for this service it is not a standby any more.
    cluster.standby.promote();
    let read = || is_of_standby(&service.get(&item.path).send_unchecked());
    until("the end of the standby", PATIENCE, || !read());
    service.get(&item.path).send_in_vain();
}
