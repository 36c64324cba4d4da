//! Statements of `PostgreSQL` that are cancelled at random, and a disk that fills up: the response to
//! a write is true, and no write is done twice.

use std::time::Duration;

use tests::Service;
use tests::stores::TestDatabase;

use crate::load::Load;
use crate::postgres_server::PostgresServer;
use crate::until;

/// How long the disk may take to fill.
const PATIENCE: Duration = Duration::from_mins(2);

/// Cancels statements of others at random for some seconds, and returns how many.
const CANCEL: [&str; 2] = [
    "CREATE FUNCTION cancel_others(seconds float) RETURNS text LANGUAGE plpgsql AS $$ \
     DECLARE cancelled int := 0; until timestamptz := clock_timestamp() + make_interval(secs => seconds); \
     BEGIN WHILE clock_timestamp() < until LOOP \
       cancelled := cancelled + (SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'active' AND random() < 0.5); \
       PERFORM pg_stat_clear_snapshot(), pg_sleep(0.003); END LOOP; RETURN cancelled; END $$",
    "SELECT cancel_others(6)",
];

#[test]
fn the_response_to_a_write_is_true_while_statements_are_cancelled() {
    let database = TestDatabase::postgres();
    let service = Service::start_on(&database);
    let load = Load::new(&service);
    let mut cancelled = Vec::new();
    load.run(service.address(), "cancelled", || {
        cancelled = CANCEL.map(|statement| database.query(statement)).concat();
    });
    let cancelled: u64 = cancelled[0][0].as_ref().unwrap().parse().unwrap();
    println!("{cancelled} cancelled; {} refused", load.refused());
    assert!(cancelled > 20, "{cancelled} statements were cancelled");
    load.look(&service, usize::MAX);
    load.every_write_has_its_change(&database);
}

/// Most of the small disk; a table that is kept as it is.
const FILL: [&str; 3] = [
    "CREATE TABLE ballast (page text)",
    "ALTER TABLE ballast ALTER COLUMN page SET STORAGE PLAIN",
    "INSERT INTO ballast SELECT repeat(md5(CAST(number AS text)), 60) FROM generate_series(1, 13700) AS number",
];

#[test]
fn the_response_to_a_write_is_true_while_the_disk_fills() {
    let server = PostgresServer::start_with_small_disk();
    let database = TestDatabase::on_server(server.url());
    let space = format!("CREATE TABLESPACE small LOCATION '{}'", server.small_disk().display());
    let _ = database.query(&space);
    database.set("default_tablespace", "small");
    let service = Service::start_on(&database);
    for statement in FILL {
        let _ = database.query(statement);
    }
    let mut load = Load::new(&service);
    load.has_small_disk = true;
    load.run(service.address(), "full", || {
        until("a full disk", PATIENCE, || load.without_space() >= 20);
        let _ = database.query("DROP TABLE ballast");
        load.wait_for_more(100);
    });
    load.look(&service, usize::MAX);
    load.every_write_has_its_change(&database);
}
