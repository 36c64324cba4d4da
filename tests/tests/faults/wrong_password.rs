//! A password that PostgreSQL does not take: the service does not start, and says why at once.

use std::process::Command;
use std::time::{Duration, Instant};

use tests::binary;

use crate::postgres_server::PostgresServer;

/// Ten times the second within which the cause must be told.
const PATIENCE: Duration = Duration::from_secs(10);

#[test]
fn a_wrong_password_is_told_at_once_without_the_password() {
    let server = PostgresServer::start();
    server.require_passwords();
    let mut url = server.url();
    url.set_password(Some("open-sesame")).unwrap();
    let start = Instant::now();
    let output = Command::new(binary::path())
        .args(["--listen", "127.0.0.1:0", "--database-url", url.as_str()])
        .output()
        .unwrap();
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("password authentication failed for user \"postgres\""), "{said}");
    assert!(!said.contains("open-sesame") && !said.contains("timed out"), "{said}");
}
