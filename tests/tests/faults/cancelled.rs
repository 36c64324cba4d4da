//! Statements of `PostgreSQL` that are cancelled at random, and a disk that fills up: the response to
//! a write is true, and no write is done twice.

use std::thread::{scope, sleep};
use std::time::Duration;

use serde_json::json;
use tests::Service;
use tests::stores::TestDatabase;

use crate::load::Load;
use crate::postgres_server::PostgresServer;
use crate::{FILES, until};

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

/// A database in a tablespace on a small disk.
fn on_small_disk() -> (PostgresServer, TestDatabase) {
    let server = PostgresServer::start_with_small_disk();
    let database = TestDatabase::on_server(server.url());
    let space = format!("CREATE TABLESPACE small LOCATION '{}'", server.small_disk().display());
    let _ = database.query(&space);
    database.set("default_tablespace", "small");
    (server, database)
}

#[test]
fn the_response_to_a_write_is_true_while_the_disk_fills() {
    let (_server, database) = on_small_disk();
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

/// The tablespace has no room for one write of a batch, and room for the others.
#[test]
fn the_neighbours_of_a_write_without_space_are_made() {
    const NEIGHBOURS: usize = 16;
    let (_server, database) = on_small_disk();
    let service = Service::start_on(&database);
    let kept = service.create(FILES, r#"{"n":0}"#);
    let large = json!({ "text": noise(3_000_000) }).to_string();
    for statement in FILL_EXCEPT_PAGES {
        let _ = database.query(statement);
    }
    let create = |body: &str| service.post(FILES).json(body.to_owned()).send_unchecked();
    let refused = create(&large).expect(507);
    assert!(refused.text().contains("store-full"), "{refused}");
    let mut stored = vec![kept.path];
    for round in 0..3 {
        scope(|scope| {
            // Until then all writes wait, and share the next batches.
            let hold = || database.while_no_write_goes_through(|| sleep(Duration::from_secs(1)));
            scope.spawn(hold);
            sleep(Duration::from_millis(300));
            let large = scope.spawn(|| create(&large).status);
            let small = |number| json!({ "round": round, "number": number }).to_string();
            let neighbours: Vec<_> = (0..NEIGHBOURS)
                .map(|number| scope.spawn(move || create(&small(number)).expect(201).id()))
                .collect();
            stored
                .extend(neighbours.into_iter().map(|it| format!("{FILES}/{}", it.join().unwrap())));
            assert_eq!(large.join().unwrap(), 507);
        });
    }
    let _ = database.query("DROP TABLE ballast");
    let made = create(&large).expect(201);
    let _ = service.get(&format!("{FILES}/{}", made.id())).send().expect(200).with_members(&large);
    for path in &stored {
        let _ = service.get(path).send().expect(200);
    }
    let total = service.list(FILES, "").value()["total_items"].as_u64();
    assert_eq!(total, Some(stored.len() as u64 + 1), "a refused write stored something");
}

/// Fills the disk, and leaves free pages in the tables of changes and items and their indexes. A write
/// that fails for lack of space keeps what its table took, so free space of the disk would be lost.
const FILL_EXCEPT_PAGES: [&str; 9] = [
    "INSERT INTO changes (sequence, collection, item_id, version, kind, time) \
     SELECT -number, 'none', gen_random_uuid(), 1, 'created', number FROM generate_series(1, 9000) AS number",
    "INSERT INTO items (id, collection, version, sequence, created_at, updated_at) \
     SELECT gen_random_uuid(), 'none', 1, -number, 1, 1 FROM generate_series(1, 9000) AS number",
    "DELETE FROM changes WHERE collection = 'none'",
    "DELETE FROM items WHERE collection = 'none'",
    "VACUUM (TRUNCATE false) changes, items",
    "VACUUM (TRUNCATE false) changes, items",
    "CREATE TABLE ballast (page text) WITH (autovacuum_enabled = off)",
    "ALTER TABLE ballast ALTER COLUMN page SET STORAGE PLAIN",
    "DO $$ BEGIN LOOP INSERT INTO ballast VALUES (repeat('x', 7000)); END LOOP; EXCEPTION WHEN disk_full THEN END $$",
];

fn noise(length: usize) -> String {
    let mut random = fastrand::Rng::with_seed(7);
    std::iter::repeat_with(|| random.alphanumeric()).take(length).collect()
}
