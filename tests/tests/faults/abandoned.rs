//! A client that goes away during a slow statement: `PostgreSQL` does not run it any longer.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;

use tests::Service;
use tests::stores::TestDatabase;

use crate::{FILES, until};

/// A client that closed its half has a second to take a response; then the statement has a second to end.
/// The server itself ends a wait for a lock after 8 seconds.
const SOON: Duration = Duration::from_secs(2);

#[test]
fn the_statement_of_a_client_that_went_away_is_cancelled_on_the_server() {
    const LOCK: &str = "BEGIN; LOCK TABLE search_index IN ACCESS EXCLUSIVE MODE";
    const RUNNING: &str = "SELECT query FROM pg_stat_activity WHERE datname = current_database() \
                           AND state = 'active' AND pid <> pg_backend_pid() AND query LIKE '%search_index%'";
    let database = TestDatabase::postgres();
    let service = Service::start_on(&database);
    service.create(FILES, r#"{"text":"xylophone"}"#);
    let found = || service.list(FILES, "q=xylophone").items().len();
    assert_eq!(found(), 1);
    let running = || database.query(RUNNING).len();
    database.while_locked(LOCK, || {
        for number in 1..=5 {
            let mut client = TcpStream::connect(service.address()).unwrap();
            let target = format!("{FILES}?q=xylophone&page_size={number}");
            write!(client, "GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
            until("the search waits for the lock", 5 * SOON, || running() == 1);
            drop(client);
            until("its statement is cancelled", SOON, || running() == 0);
        }
    });
    assert_eq!(found(), 1, "the connection is used again");
}
