//! Databases and poolers on which writes would silently fail, and a wrong password: the service does
//! not start, and gives the reason in one line.

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
