//! Engines and poolers on which something would go wrong silently: the service does not start, and
//! says why in one line.

use std::process::Command;

use tests::stores::TestDatabase;
use tests::{Service, binary};
use url::Url;

use crate::pooler::Pooler;

/// Statements that make a database like another engine's: its own functions and types come first.
fn with(statements: &[&str]) -> TestDatabase {
    let database = TestDatabase::postgres();
    drop(Service::start_on(&database));
    let name = &Url::parse(database.url()).unwrap().path()[1..].to_owned();
    let first = format!("ALTER DATABASE {name} SET search_path = other, pg_catalog, public");
    for statement in ["CREATE SCHEMA other"].iter().chain(statements).chain([&first.as_str()]) {
        let _ = database.query(statement);
    }
    database
}

#[test]
fn a_json_that_does_not_keep_what_was_sent_is_refused() {
    let database = with(&["CREATE DOMAIN other.json AS jsonb"]);
    refused(database.url(), "its type json does not keep members as they were sent");
}

#[test]
fn advisory_locks_that_are_none_are_refused() {
    let database = with(&[
        "CREATE FUNCTION other.pg_try_advisory_xact_lock(bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
    ]);
    refused(database.url(), "its advisory locks are no locks");
}

#[test]
fn sequences_that_are_cached_by_connection_are_refused() {
    let database = with(&[
        "CREATE FUNCTION other.nextval(regclass) RETURNS bigint LANGUAGE sql AS \
         $$ SELECT set_config('other.next', (coalesce(nullif(current_setting('other.next', true), ''), '0')::bigint + 1)::text, false)::bigint + pg_backend_pid() * 1000 $$",
    ]);
    refused(database.url(), "its sequences hand numbers out by connection, not in one order");
}

#[test]
fn a_pooler_that_loses_settings_is_refused_with_the_statements_that_help() {
    let database = TestDatabase::postgres();
    drop(Service::start_on(&database));
    let pooler = Pooler::to(&Url::parse(database.url()).unwrap());
    let said = refused(pooler.url().as_str(), "do not keep their settings");
    assert!(
        said.contains("ALTER ROLE \"postgres\" SET plan_cache_mode = 'force_generic_plan'"),
        "{said}"
    );
}

fn refused(url: &str, reason: &str) -> String {
    // A service that is not refused serves until it is ended.
    let output = Command::new("timeout")
        .arg("60")
        .arg(binary::path())
        .args(["--listen", "127.0.0.1:0", "--database-url", url])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.lines().any(|line| line.contains(reason)), "{said}");
    said
}
