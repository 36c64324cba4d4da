//! `contents verify` and `contents sweep`.

use std::path::{Path, PathBuf};

use application::ContentId;
use contents_adapter::Location;
use tests::stores::TestDatabase;
use tests::tool::{done, refused, tool};
use tests::{Item, S3Server, Service};
use tokio::runtime::Runtime;

use crate::text;

const PROPOSAL: &str = r#"{"proposal_type":"R&D Project","project_title":"Rapid test kit"}"#;

fn upload(service: &Service, proposal: &Item, bytes: &[u8]) -> Item {
    let item = service.create("/v1/files", &format!(r#"{{"proposal_id":"{}"}}"#, proposal.id));
    let path = format!("{}/content", item.path);
    let _ = service.put(&path).body("text/plain", bytes).expect(201);
    item
}

fn file_with(folder: &Path, bytes: &[u8]) -> PathBuf {
    let shards = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = shards
        .filter(|path| path.is_dir())
        .flat_map(|shard| std::fs::read_dir(shard).unwrap().map(|entry| entry.unwrap().path()));
    files.into_iter().find(|path| std::fs::read(path).unwrap() == bytes).expect("a file")
}

#[test]
fn damaged_contents_are_listed_by_kind_with_their_versions() {
    let database = TestDatabase::sqlite();
    let service = Service::start_on(&database);
    let folder = PathBuf::from(format!("{}.contents", database.file().display()));
    let url = database.url().to_owned();
    let texts = ["one", "two", "three", "four"].map(|text| text.repeat(1_000).into_bytes());
    let proposal = service.create("/v1/proposals", PROPOSAL);
    let items = texts.each_ref().map(|text| upload(&service, &proposal, text));
    let verify = ["contents", "verify", "--database-url", &url];
    let found = done(&verify);
    assert_eq!(text(&found), "contents verified: 4, with 15000 bytes; damaged: 0\n");
    let files = texts.each_ref().map(|text| file_with(&folder, text));
    std::fs::remove_file(&files[0]).unwrap();
    std::fs::write(&files[1], &texts[1][..10]).unwrap();
    let mut changed = texts[2].clone();
    changed[4_000] ^= 1;
    std::fs::write(&files[2], changed).unwrap();

    let output = tool(&verify).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let out = text(&output.stdout);
    for (kind, item) in ["missing", "truncated", "corrupted"].into_iter().zip(&items) {
        let from = out.find(kind).unwrap_or_else(|| panic!("no {kind} content in\n{out}"));
        let version = out[from..].lines().nth(1).unwrap();
        assert_eq!(version, format!("  files {}, version 2", item.id), "{out}");
    }
    assert!(out.ends_with("contents verified: 4, with 15000 bytes; damaged: 3\n"), "{out}");

    // The service finds them too, and never sends a damaged content as if it were whole.
    drop(service);
    let service = Service::start_on_with(&database, &["--content-verify", "1ms"]);
    for item in &items[..3] {
        let answer = service.get(&format!("{}/content", item.path)).accept("*/*").try_send();
        assert!(answer.is_none_or(|answer| answer.status == 500));
    }
    let _ = service.get(&format!("{}/content", items[3].path)).accept("*/*").expect(200);
    tests::wait_until(|| {
        let log = service.log();
        ["missing", "truncated", "corrupted"]
            .iter()
            .all(|kind| log.contains(&format!("damage=\"{kind}\"")))
    });
    // A part without damaged contents can be downloaded.
    let dossier = format!("{}/dossier.zip", proposal.path);
    for request in [service.get(&dossier), service.request("HEAD", &dossier)] {
        let answer = request.send_unchecked();
        assert_eq!(answer.status, 500);
    }
    let _ = service.get(&dossier).header("range", "bytes=-22").expect(206);

    // Another upload of the same bytes replaces damaged ones, for every item that has them.
    for (item, bytes) in items.iter().zip(&texts) {
        upload(&service, &proposal, bytes);
        let answer = service.get(&format!("{}/content", item.path)).accept("*/*").expect(200);
        assert_eq!(answer.body, *bytes);
    }
    let _ = service.get(&dossier).expect(200);
    drop(service);
    assert_eq!(text(&done(&verify)), "contents verified: 4, with 15000 bytes; damaged: 0\n");
}

#[test]
fn files_that_the_database_does_not_know_are_listed_and_removed() {
    let database = TestDatabase::sqlite();
    let service = Service::start_on(&database);
    let folder = PathBuf::from(format!("{}.contents", database.file().display()));
    upload(&service, &service.create("/v1/proposals", PROPOSAL), b"known");
    let known = file_with(&folder, b"known");
    // The names begin with the time of their creation, of 2024 and of today.
    let shard = folder.join("ab");
    std::fs::create_dir_all(&shard).unwrap();
    let old = shard.join("0190163d-8694-739b-aea5-966c26f8adab");
    let young = {
        let name = known.file_name().unwrap().to_str().unwrap();
        shard.join(format!("{}ab", &name[..name.len() - 2]))
    };
    for stray in [&old, &young] {
        std::fs::write(stray, "stray").unwrap();
    }
    let url = database.url().to_owned();
    let out = done(&["contents", "sweep", "--database-url", &url]);
    assert!(
        text(&out).starts_with("0190163d-8694-739b-aea5-966c26f8adab\n1 files"),
        "{}",
        text(&out)
    );
    assert!(old.exists());
    done(&["contents", "sweep", "--remove", "--database-url", &url]);
    assert_eq!([&old, &young, &known].map(|file| file.exists()), [false, true, true]);
    let error = refused(&["contents", "verify", "--contents", "s3://", "--database-url", &url], 1);
    assert!(error.contains("AWS_"), "{error}");
}

#[test]
fn a_bucket_is_verified_and_swept() {
    let database = TestDatabase::postgres();
    let service = Service::start_on(&database);
    upload(&service, &service.create("/v1/proposals", PROPOSAL), b"known");
    let place = S3Server::shared().address(database.url().rsplit_once('/').unwrap().1);
    let bucket = Location::open(&place, &std::env::temp_dir(), 0).unwrap().store();
    let stray = "0190163d-8694-739b-aea5-966c26f8adab";
    let tasks = Runtime::new().unwrap();
    let object = tasks.block_on(bucket.begin(ContentId(stray.parse().unwrap()), Some(0))).unwrap();
    tasks.block_on(object.finish()).unwrap();

    let options = ["--contents", &place, "--database-url", database.url()];
    let sweep = [&["contents", "sweep", "--remove"], &options[..]].concat();
    let removed = "files or objects that the database does not know removed\n";
    assert_eq!(text(&done(&sweep)), format!("{stray}\n1 {removed}"));
    assert_eq!(text(&done(&sweep)), format!("0 {removed}"));
    let verify = [&["contents", "verify"], &options[..]].concat();
    assert_eq!(text(&done(&verify)), "contents verified: 1, with 5 bytes; damaged: 0\n");

    let known = database.query("SELECT id::text FROM contents").remove(0).remove(0).unwrap();
    tasks.block_on(bucket.remove(ContentId(known.parse().unwrap()), None)).unwrap();
    let output = tool(&verify).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).starts_with(&format!("missing: {known}")), "{output:?}");
}
