//! The bucket with the contents is gone for a while.

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tests::stores::TestDatabase;
use tests::{Gate, S3Server, Service};

use crate::FILES;

/// Shorter than the service repeats a request to the bucket.
const SHORT: Duration = Duration::from_secs(5);

#[test]
fn without_its_bucket_transfers_wait_or_get_503_and_everything_else_continues() {
    let folder = tempfile::tempdir().unwrap();
    let server = S3Server::start(folder.path());
    let gate = Gate::to(server.server().to_owned());
    let place = server.address_through(gate.address(), "lost");
    let database = TestDatabase::sqlite();
    let service = Service::start_on_with(&database, &["--contents", &place]);
    let item = service.create(FILES, "{}");
    let path = format!("{}/content", item.path);
    let bytes: Vec<u8> = (0..=250_u8).cycle().take(64 << 20).collect();
    let _ = service.put(&path).body("application/pdf", &*bytes).expect(201);

    // A download in progress continues.
    let target = folder.path().join("download");
    let curl = Command::new("curl")
        .args(["--silent", "--show-error", "--fail", "--limit-rate", "20M", "--output"])
        .arg(&target)
        .arg(format!("http://{}{path}", service.address()))
        .spawn();
    sleep(Duration::from_secs(1));
    gate.shut();
    sleep(SHORT);
    gate.open();
    assert!(curl.unwrap().wait().unwrap().success());
    assert_eq!(Sha256::digest(std::fs::read(&target).unwrap()), Sha256::digest(&bytes));

    gate.shut();
    std::thread::scope(|scope| {
        let refused = |request: tests::Request| scope.spawn(|| drop(request.send_in_vain()));
        let refused = [
            refused(service.put(&path).body("application/pdf", "new")),
            refused(service.get(&path).accept("*/*")),
        ];
        while !refused.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            service.change(&item.path, r#"{"title":"written meanwhile"}"#);
            sleep(Duration::from_millis(100));
        }
    });
    gate.open();
    let answer = service.read(&path);
    assert_eq!(Sha256::digest(&answer.body), Sha256::digest(&bytes), "as before");
    let _ = service.put(&path).body("application/pdf", "new").expect(200);
}
