//! Databases and poolers on which writes would silently fail, and a wrong password: the service does
//! not start, and gives the reason in one line.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use tests::Service;
use tests::stores::TestDatabase;

use crate::pooler::url_of_pooler;
use crate::postgres_server::PostgresServer;
use crate::refused_start;

/// Each statement replaces a function or a type of PostgreSQL, as another engine does.
#[test]
fn engines_that_do_not_keep_what_writes_need_are_refused() {
    for (statement, reason) in [
        ("CREATE DOMAIN other.json AS jsonb", "its type json does not preserve members as sent"),
        (
            "CREATE FUNCTION other.pg_try_advisory_xact_lock(bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
            "its advisory locks have no effect",
        ),
        (
            "CREATE FUNCTION other.nextval(regclass) RETURNS bigint LANGUAGE sql AS \
             $$ SELECT set_config('other.next', (coalesce(nullif(current_setting('other.next', true), ''), '0')::bigint + 1)::text, false)::bigint + pg_backend_pid() * 1000 $$",
            "its sequences assign numbers per connection, not in one order",
        ),
        (
            "CREATE FUNCTION other.version() RETURNS text LANGUAGE sql AS $$ SELECT 'CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu)' $$",
            "CockroachDB has no table locks, and its advisory locks have no effect",
        ),
        (
            "CREATE FUNCTION other.version() RETURNS text LANGUAGE sql AS $$ SELECT 'PostgreSQL 15.2-YB-2.25.0.0-b0 on x86_64-pc-linux-gnu' $$",
            "YugabyteDB does not make a write wait for the lock of a table",
        ),
        (
            "CREATE FUNCTION other.citus_version() RETURNS text LANGUAGE sql AS $$ SELECT 'Citus 12.1.5' $$",
            "Citus numbers and locks the rows of each node separately",
        ),
    ] {
        let database = TestDatabase::postgres();
        drop(Service::start_on(&database));
        for statement in ["CREATE SCHEMA other", statement] {
            let _ = database.query(statement);
        }
        database.set("search_path", "other, pg_catalog, public");
        refused_start(database.url(), reason);
    }
}

/// The proxy hides the lock from the server.
#[test]
fn an_engine_whose_table_locks_have_no_effect_is_refused() {
    let database = TestDatabase::postgres();
    drop(Service::start_on(&database));
    let url = url_of_proxy(&database, "LOCK TABLE write_fence IN SHARE MODE", "SELECT 1");
    refused_start(&url, "a lock of a table does not wait for a write in progress");
}

/// Settings that another engine does not know are not the reason that is given.
#[test]
fn an_engine_that_is_refused_by_name_may_know_none_of_the_settings() {
    let database = TestDatabase::postgres();
    for statement in [
        "CREATE SCHEMA other",
        "CREATE FUNCTION other.version() RETURNS text LANGUAGE sql AS $$ SELECT 'CockroachDB' $$",
    ] {
        let _ = database.query(statement);
    }
    database.set("search_path", "other, pg_catalog, public");
    let url = url_of_proxy(&database, "enable_seqscan", "unknown");
    refused_start(&url, "CockroachDB has no table locks");
}

/// A proxy to the server of a database that replaces a text in what clients send.
fn url_of_proxy(database: &TestDatabase, text: &'static str, other: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = database.url_through(listener.local_addr().unwrap());
    let (server, other) = (database.server(), format!("{other:width$}", width = text.len()));
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut server = TcpStream::connect(&server).unwrap();
            let (mut answers, mut answered) =
                (server.try_clone().unwrap(), client.try_clone().unwrap());
            thread::spawn(move || io::copy(&mut answers, &mut answered));
            let other = other.clone();
            thread::spawn(move || {
                let mut sent = [0; 16_384];
                while let Ok(length @ 1..) = client.read(&mut sent) {
                    let found = |place: &usize| sent[*place..length].starts_with(text.as_bytes());
                    for place in (0..length).filter(found).collect::<Vec<_>>() {
                        sent[place..place + text.len()].copy_from_slice(other.as_bytes());
                    }
                    server.write_all(&sent[..length])?;
                }
                server.shutdown(Shutdown::Both)
            });
        }
    });
    url
}

#[test]
fn a_pooler_that_loses_settings_is_refused_with_the_statements_that_help() {
    let database = TestDatabase::postgres();
    drop(Service::start_on(&database));
    let log = refused_start(&url_of_pooler(&database), "do not keep their settings");
    let help = "ALTER ROLE \"postgres\" SET plan_cache_mode = 'force_generic_plan'";
    assert!(log.contains(help), "{log}");
}

#[test]
fn a_wrong_password_is_reported_at_once_without_the_password() {
    let server = PostgresServer::start();
    server.require_passwords();
    let mut url = server.url();
    url.set_password(Some("open-sesame")).unwrap();
    let start = Instant::now();
    let log = refused_start(url.as_str(), "password authentication failed for user \"postgres\"");
    // Ten times the bound.
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert!(!log.contains("open-sesame") && !log.contains("timed out"), "{log}");
}
