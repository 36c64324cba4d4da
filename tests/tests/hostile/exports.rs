//! Exports and dossiers whose clients read slowly or not at all.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use tests::{Service, Store, on_each_store};

use crate::attack::withstands;

/// A service that believes the proxy on this machine when it names the addresses of clients.
const BEHIND_A_PROXY: [&str; 2] = ["--trusted-proxies", "127.0.0.0/8"];

const FOUR_OF_ADDRESS: &str =
    "You are running 4 exports or dossiers, which is the limit. Wait until one has finished.";

/// How long it takes until an export that is read too slowly is given up: the time that its rate is
/// measured over, and the last bytes on their way.
const GIVEN_UP: Duration = Duration::from_secs(40);

/// Fills the files with more than the buffers of a connection hold.
fn fill(service: &Service) {
    let text = "x".repeat(1 << 20);
    for _ in 0..24 {
        service.create("/v1/files", &format!(r#"{{"text":"{text}"}}"#));
    }
}

const EXPORT: &str = "/exports/files.csv";

const SMALL_EXPORT: &str = "/exports/files.csv?fields=size";

/// A download that a client at an address begins and does not read.
fn begin(service: &Service, path: &str, address: &str) -> TcpStream {
    let mut client = TcpStream::connect(service.address()).unwrap();
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: {address}\r\n\r\n");
    client.write_all(request.as_bytes()).unwrap();
    let mut status = [0; 12];
    client.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 200");
    client
}

fn download(service: &Service, path: &str, address: &str) -> tests::Request {
    service.get(path).accept("*/*").header("x-forwarded-for", address)
}

#[test]
fn unread_exports_do_not_block_others() {
    on_each_store(|service| {
        fill(service);
        let stalled: Vec<_> = (0..3).map(|_| begin(service, EXPORT, "192.0.2.1")).collect();
        withstands(service, || {
            let whole = download(service, SMALL_EXPORT, "192.0.2.1").send().expect(200);
            assert_eq!(whole.text().lines().count(), 25);
        });
        drop(stalled);
    });
}

#[test]
fn a_caller_has_four_exports_in_progress_and_an_export_read_too_slowly_is_given_up() {
    let service = Service::start_with(Store::Sqlite, &BEHIND_A_PROXY);
    fill(&service);
    are_limited(&service, EXPORT, SMALL_EXPORT);
}

#[test]
fn a_caller_has_four_dossiers_in_progress_and_a_dossier_read_too_slowly_is_given_up() {
    let service = Service::start_with(Store::Sqlite, &BEHIND_A_PROXY);
    let [large, small] = [24 << 20, 1].map(|size| {
        let body = r#"{"proposal_type":"R&D Project","project_title":"Rapid test kit"}"#;
        let proposal = service.create("/v1/proposals", body);
        let file = service.create("/v1/files", &format!(r#"{{"proposal_id":"{}"}}"#, proposal.id));
        let content = service.put(&format!("{}/content", file.path));
        let _ = content.body("text/plain", vec![b'x'; size]).expect(201);
        format!("{}/dossier.zip", proposal.path)
    });
    are_limited(&service, &large, &small);
}

fn are_limited(service: &Service, large: &str, small: &str) {
    let mut stalled = Vec::new();
    withstands(service, || {
        for (address, same_party) in [
            ("192.0.2.1", "192.0.2.1"),
            ("192.0.2.2", "192.0.2.2"),
            // One machine has a network of 64 bits.
            ("2001:db8::1", "2001:db8::ffff:2"),
        ] {
            stalled.extend((0..4).map(|_| begin(service, large, address)));
            let refused = download(service, small, same_party).send_in_vain();
            assert_eq!(refused.value()["detail"], FOUR_OF_ADDRESS);
            download(service, small, "2001:db8:0:1::1").send().expect(200);
        }
    });
    // Other attacks run meanwhile: this one leaves the processors idle.
    let began = Instant::now();
    let mut part = vec![0; 4 << 10];
    // 16 KiB in a second: never still for long, and never done. The others read nothing.
    while began.elapsed() < GIVEN_UP {
        for _ in 0..8 {
            let _count = stalled[0].read(&mut part).unwrap_or_default();
            thread::sleep(Duration::from_millis(250));
        }
        download(service, small, "198.51.100.9").send().expect(200);
    }
    withstands(service, || {
        let again: Vec<_> = (0..4).map(|_| begin(service, large, "192.0.2.1")).collect();
        drop((stalled, again));
    });
}
