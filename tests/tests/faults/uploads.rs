//! The service is killed (SIGKILL) during uploads, again and again: an acknowledged content is there
//! whole, no version shows content without bytes, and no bytes are there that the database does not
//! know.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tests::stores::TestDatabase;
use tests::{Request, S3Server, Service, number};

use crate::{FILES, until};

/// Rounds, unless `TEST_KILLS` says otherwise.
const ROUNDS: u64 = 20;

const CLIENTS: usize = 16;

/// Uploads that are acknowledged in a round, at least.
const UPLOADED: usize = 20;

const PATIENCE: Duration = Duration::from_mins(1);

#[test]
fn in_a_folder_no_acknowledged_content_is_lost() {
    let database = TestDatabase::sqlite();
    let mut folder = database.file().as_os_str().to_owned();
    folder.push(".contents");
    kill_and_look(&database, "lower(hex(id))", || names_in(Path::new(&folder)));
}

#[test]
fn in_a_bucket_no_acknowledged_content_is_lost() {
    let database = TestDatabase::postgres();
    let (_, name) = database.url().rsplit_once('/').unwrap();
    kill_and_look(&database, "replace(id::text, '-', '')", || {
        let seen = S3Server::shared().seen_by_second_client(name);
        let keys = seen.lines().filter_map(|line| line.split_once(' '));
        keys.filter_map(|(key, _)| name_of(Path::new(key))).collect()
    });
}

/// Compares the names that `names` finds in the place with those that SQL finds in the database.
fn kill_and_look(database: &TestDatabase, name: &str, names: impl Fn() -> Vec<String>) {
    let acknowledged = Mutex::new(Vec::new());
    for round in 0..number("TEST_KILLS", ROUNDS) {
        let service = Service::start_on(database);
        let (address, is_over) = (service.address(), AtomicBool::new(false));
        let before = acknowledged.lock().unwrap().len();
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (acknowledged, is_over) = (&acknowledged, &is_over);
                let seed = round * CLIENTS as u64 + client as u64;
                scope.spawn(move || upload_until(is_over, address, seed, acknowledged));
            }
            until("more uploads", PATIENCE, || {
                acknowledged.lock().unwrap().len() >= before + UPLOADED
            });
            // At another moment in each round, during uploads of all clients.
            std::thread::sleep(Duration::from_millis(round * 37 % 190));
            drop(service);
            is_over.store(true, Ordering::Relaxed);
        });
    }
    let service = Service::start_on(database);
    for (path, digest) in acknowledged.into_inner().unwrap() {
        let answer = service.get(&path).accept("*/*").send().expect(200);
        assert_eq!(hex::encode(Sha256::digest(&answer.body)), digest, "{path}");
    }
    every_content_has_bytes(&service);
    let known = database.query(&format!("SELECT {name} FROM contents"));
    let known: BTreeSet<_> = known.into_iter().flatten().flatten().collect();
    let found = names();
    assert!(found.len() >= UPLOADED, "{found:?}");
    for file in found {
        assert!(known.contains(&file), "the database does not know {file}");
    }
}

fn upload_until(
    is_over: &AtomicBool,
    address: SocketAddr,
    seed: u64,
    acknowledged: &Mutex<Vec<(String, String)>>,
) {
    let mut random = fastrand::Rng::with_seed(seed);
    while !is_over.load(Ordering::Relaxed) {
        let Some(created) = Request::new(address, "POST", FILES).json("{}").try_send() else {
            return;
        };
        let path = format!("{FILES}/{}/content", created.id());
        // Some are as large as two parts of an upload to a bucket.
        let size = if random.u8(..) == 0 { 9 << 20 } else { random.usize(..300_000) };
        let bytes: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(size).collect();
        let digest = hex::encode(Sha256::digest(&bytes));
        match Request::new(address, "PUT", &path).body("application/pdf", bytes).try_send() {
            Some(answer) if answer.status == 201 => {
                acknowledged.lock().unwrap().push((path, digest));
            }
            Some(answer) => panic!("{answer}"),
            None => return,
        }
    }
}

fn every_content_has_bytes(service: &Service) {
    let mut page = Some(format!("{FILES}?page_size=250&total=none"));
    while let Some(path) = page {
        let answer = service.get(&path).send().expect(200);
        let value = answer.value();
        for item in value["_embedded"]["files"].as_array().unwrap() {
            if item["_meta"]["content"].is_object() {
                let path = format!("{FILES}/{}/content", item["id"].as_str().unwrap());
                let _ = service.get(&path).accept("*/*").send().expect(200);
            }
        }
        page = value["_links"]["next"]["href"].as_str().map(|next| answer.path_of(next));
    }
}

/// The names of all files below a folder that are UUIDs, without hyphens.
fn names_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let names = entries.flat_map(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return names_in(&path);
        }
        name_of(&path).into_iter().collect()
    });
    names.collect()
}

fn name_of(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?.parse::<uuid::Uuid>().ok()?;
    Some(name.simple().to_string())
}
