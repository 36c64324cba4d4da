//! Downloads that break off, or run while their content changes, and instances that share a place.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest as _, Sha256};
use tests::stores::TestDatabase;
use tests::{End, Service};

use crate::PROPOSAL;

tests::cases![curl_resumes_after_random_cuts, a_replacement_is_not_mixed_into_downloads,];

const CUTS: usize = 20;

fn put(service: &Service, path: &str, bytes: Vec<u8>) -> u16 {
    let request = service.put(&format!("{path}/content")).body("application/pdf", bytes);
    request.header("if-none-match", "*").send().status
}

fn curl_resumes_after_random_cuts(service: &Service) {
    let proposal = service.create("/v1/proposals", PROPOSAL);
    let file = service.create("/v1/files", &format!(r#"{{"proposal_id":"{}"}}"#, proposal.id));
    let mut random = fastrand::Rng::with_seed(7);
    let bytes = std::iter::repeat_with(|| random.u8(..)).take(16 << 20).collect();
    assert_eq!(put(service, &file.path, bytes), 201);
    for path in [format!("{}/content", file.path), format!("{}/dossier.zip", proposal.path)] {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("http://{}{path}", service.address());
        let run = |command: &str| {
            let mut shell = Command::new("sh");
            shell.current_dir(&folder).args(["-c", &format!("curl -sSf {command}")]);
            assert!(shell.status().expect("curl runs").success(), "{command}");
        };
        let (mut size, most) = (0, random.usize(600_000..800_000));
        for _ in 0..CUTS {
            let cut = random.usize(1..most);
            run(&format!("-C {size} {url} 2>errors | head -c {cut} >>download"));
            size += cut;
        }
        run(&format!("-C - -o download {url}"));
        let found = std::fs::read(folder.path().join("download")).expect("a file");
        assert_eq!(Sha256::digest(&found), Sha256::digest(service.read(&path).body), "{path}");
    }
}

fn a_replacement_is_not_mixed_into_downloads(service: &Service) {
    let item = service.create("/v1/files", "{}");
    let path = format!("{}/content", item.path);
    let upload = |byte: u8| {
        let bytes = vec![byte; 2_000_000 + usize::from(byte)];
        let _ = service.put(&path).body("application/pdf", bytes).send();
    };
    upload(0);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let answer = service.read(&path);
                    let byte = answer.body[0];
                    assert_eq!(answer.body.len(), 2_000_000 + usize::from(byte));
                    assert!(answer.body.iter().all(|it| *it == byte), "a mixture");
                    let digest = hex::encode(Sha256::digest(&answer.body));
                    assert_eq!(answer.etag(), format!("\"{digest}\""));
                }
            });
        }
        let _end = End(&is_over);
        for byte in 1..=12 {
            upload(byte);
        }
    });
}

#[test]
fn instances_share_a_place() {
    let database = TestDatabase::postgres();
    let services = [Service::start_on(&database), Service::start_on(&database)];
    let [one, other] = &services;
    let item = one.create("/v1/files", "{}");
    let statuses = std::thread::scope(|scope| {
        let put = |number: usize| {
            let (service, path) = (&services[number % 2], &item.path);
            scope.spawn(move || put(service, path, format!("upload {number}").into()))
        };
        let all: Vec<_> = (0..32).map(put).collect();
        all.into_iter().map(|put| put.join().expect("an answer")).collect::<Vec<_>>()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1, "{statuses:?}");
    // The same bytes at both instances at once are stored once, and removed from neither.
    let items: Vec<_> = (0..32).map(|_| one.create("/lib", "{}")).collect();
    std::thread::scope(|scope| {
        for (item, service) in items.iter().zip(services.iter().cycle()) {
            scope.spawn(move || assert_eq!(put(service, &item.path, b"the same".into()), 201));
        }
    });
    for (item, service) in items.iter().zip(services.iter().rev().cycle()) {
        assert_eq!(service.read(&format!("{}/content", item.path)).text(), "the same");
    }
    let path = format!("{}/content", item.path);
    let read = other.read(&path);
    other.delete(&path).header("if-match", read.etag()).expect(204);
    one.get(&path).expect(404);
    one.get(&format!("{}/versions/2/content", item.path)).accept("*/*").expect(200);
}
