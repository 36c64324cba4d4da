//! The dossier of a proposal: an archive with all that belongs to it, of one state.

use std::collections::{BTreeMap, HashSet};
use std::io::{Cursor, Read};

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tests::{Answer, Item, Service};
use zip::{CompressionMethod, ZipArchive};

use crate::retention::{age, compact, on_each_database};
use crate::{PROPOSAL, UNKNOWN_ID};

tests::cases![
    a_dossier_has_all_that_belongs_to_a_proposal,
    a_state_always_has_the_same_bytes,
    an_item_is_in_the_dossier_that_it_named,
    parts_make_the_whole,
    conditions_and_refusals,
    names_of_clients_are_made_safe,
    long_texts_are_in_the_archive,
];

/// The entries by name, after a check of the manifest.
#[track_caller]
pub fn entries(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut read = ZipArchive::new(Cursor::new(archive)).expect("an archive");
    let mut entries = BTreeMap::new();
    for number in 0..read.len() {
        let mut entry = read.by_index(number).expect("an entry");
        assert_eq!(entry.compression(), CompressionMethod::Stored);
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).expect("the checksum of the bytes");
        let name = entry.name().expect("a name in UTF-8").into_owned();
        assert_eq!(entries.insert(name, bytes), None);
    }
    let manifest = text(&entries, "manifest-sha256.txt");
    let listed: BTreeMap<_, _> = manifest
        .lines()
        .map(|line| line.split_once("  ").expect("a digest and a name"))
        .map(|(digest, name)| (name.to_owned(), digest.to_owned()))
        .collect();
    let others = entries.iter().filter(|(name, _)| *name != "manifest-sha256.txt");
    let digests = others.map(|(name, bytes)| (name.clone(), hex::encode(Sha256::digest(bytes))));
    assert_eq!(listed, digests.collect());
    entries
}

#[track_caller]
fn text(entries: &BTreeMap<String, Vec<u8>>, name: &str) -> String {
    let bytes = entries.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", entries.keys()));
    String::from_utf8(bytes.clone()).expect("text")
}

#[track_caller]
fn value(entries: &BTreeMap<String, Vec<u8>>, name: &str) -> Value {
    serde_json::from_str(&text(entries, name)).expect("JSON")
}

fn dossier(proposal: &Item) -> String {
    format!("{}/dossier.zip", proposal.path)
}

fn naming(proposal: &Item, more: &str) -> String {
    format!(r#"{{"proposal_id":"{}"{more}}}"#, proposal.id)
}

fn upload(service: &Service, item: &Item, name: &str, bytes: &[u8]) -> Answer {
    let request = service.put(&format!("{}/content", item.path)).body("application/pdf", bytes);
    request.header("content-disposition", format!("attachment; filename=\"{name}\"")).send()
}

/// A proposal with a library, files with contents, a score sheet, a status and a cash programme.
fn submitted(service: &Service) -> (Item, Item) {
    let proposal = service.create("/v1/proposals", PROPOSAL);
    service
        .create(&format!("{}/lib", proposal.path), r#"{"title":"Rice & Water, 2nd ed.","n":1.50}"#);
    let file =
        service.create("/v1/files", &naming(&proposal, r#","filename":"Letter of Support""#));
    upload(service, &file, "letter.pdf", b"We support this project.");
    service.create("/v1/gadscores", &naming(&proposal, r#","rating":"good""#));
    service.create("/status", &format!(r#"{{"subject":"{}","message":"Submitted"}}"#, proposal.id));
    service.create("/v1/cashprogram", &naming(&proposal, r#","year":2026"#));
    let other = service.create("/v1/proposals", PROPOSAL);
    service.create("/v1/files", &naming(&other, ""));
    service.create("/lib", r#"{"title":"unrelated"}"#);
    (proposal, file)
}

fn a_dossier_has_all_that_belongs_to_a_proposal(service: &Service) {
    let (proposal, file) = submitted(service);
    let answer = service.read(&dossier(&proposal));
    let found = entries(&answer.body);
    let names: Vec<_> = found.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "cashprogram.json",
            "contents/files/letter.pdf",
            "dossier.json",
            "files.json",
            "library.json",
            "manifest-sha256.txt",
            "proposal.json",
            "scores.json",
            "status.json",
        ]
    );
    assert_eq!(found["contents/files/letter.pdf"], b"We support this project.");
    let shown = |path: &str| {
        let mut item = service.read(path).value();
        item.as_object_mut().expect("an object").remove("_links");
        item
    };
    assert_eq!(value(&found, "proposal.json"), shown(&proposal.path));
    assert_eq!(value(&found, "files.json"), Value::Array(vec![shown(&file.path)]));
    for name in ["cashprogram", "library", "scores", "status"] {
        let items = value(&found, &format!("{name}.json"));
        assert_eq!(items.as_array().map(Vec::len), Some(1), "{items}");
    }
    assert!(text(&found, "library.json").contains("\"n\":1.50"));
    let about = value(&found, "dossier.json");
    assert!(about["proposal"].as_str().expect("a link").ends_with(&proposal.path), "{about}");
    assert_eq!((&about["version"], &about["items"]["files"]), (&1.into(), &1.into()));
    assert_eq!((about.get("as_of"), &about["compacted"]), (None, &Value::Array(Vec::new())));
    assert_eq!(about["contents"]["contents/files/letter.pdf"], *file.id, "{about}");
    for (name, expected) in [
        ("content-type", "application/zip"),
        ("content-disposition", &format!("attachment; filename=\"proposal-{}.zip\"", proposal.id)),
        ("accept-ranges", "bytes"),
        ("cache-control", "private, no-cache"),
        ("x-content-type-options", "nosniff"),
        ("content-length", &answer.body.len().to_string()),
        ("repr-digest", &digest_field(&answer.body)),
    ] {
        assert_eq!(answer.header(name), Some(expected), "{name}");
    }
    let gzip = service.get(&dossier(&proposal)).header("accept-encoding", "gzip").expect(200);
    assert_eq!((gzip.body, gzip.headers.get("content-encoding")), (answer.body, None));
    let empty = service.create("/v1/proposals", PROPOSAL);
    let empty = entries(&service.read(&dossier(&empty)).body);
    assert_eq!((empty.len(), text(&empty, "files.json")), (8, "[]\n".to_owned()));
}

fn digest_field(bytes: &[u8]) -> String {
    let encoded = {
        use std::fmt::Write as _;
        // Base64 as openssl writes it.
        const LETTERS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut out = String::new();
        for group in Sha256::digest(bytes).chunks(3) {
            let mut bits = [0_u8; 3];
            bits[..group.len()].copy_from_slice(group);
            let bits = u32::from_be_bytes([0, bits[0], bits[1], bits[2]]);
            for place in 0..4 {
                let index = (bits >> (18 - 6 * place) & 63) as usize;
                let letter = if place > group.len() { '=' } else { LETTERS[index] as char };
                let _ = write!(out, "{letter}");
            }
        }
        out
    };
    format!("sha-256=:{encoded}:")
}

fn a_state_always_has_the_same_bytes(service: &Service) {
    let (proposal, file) = submitted(service);
    let path = dossier(&proposal);
    let first = service.read(&path);
    assert_eq!(service.read(&path).body, first.body);
    let changed_at = value(&entries(&first.body), "dossier.json")["changed_at"].clone();
    let then = format!("{path}?as_of={}", changed_at.as_str().expect("a time"));
    let past = service.read(&then);
    let mut found = entries(&past.body);
    assert_eq!(value(&found, "dossier.json")["as_of"], changed_at);
    for name in ["dossier.json", "manifest-sha256.txt"] {
        found.remove(name);
    }
    let now = entries(&first.body);
    assert!(found.iter().all(|(name, bytes)| now[name] == *bytes));
    let before = format!("{path}?version=1");
    let created = service.read(&before);
    assert_eq!(value(&entries(&created.body), "dossier.json")["items"]["files"], 0);

    // Everything changes.
    service.change(&proposal.path, r#"{"project_title":"Other title"}"#);
    upload(service, &file, "other.pdf", b"We do not.");
    service.remove(&file.path);
    service.create("/v1/files", &naming(&proposal, r#","filename":"New""#));
    let lib = service.list(&format!("{}/lib", proposal.path), "").items()[0]["id"].clone();
    service.remove(&format!("/lib/{}", lib.as_str().expect("an id")));
    let second = service.read(&path);
    assert_ne!(second.etag(), first.etag());
    let found = entries(&second.body);
    assert_eq!(value(&found, "files.json")[0]["filename"], "New");
    assert_eq!((text(&found, "library.json"), found.len()), ("[]\n".to_owned(), 8));
    for (path, expected) in [(&then, &past), (&before, &created)] {
        let again = service.read(path);
        assert_eq!((again.etag(), again.body), (expected.etag(), expected.body.clone()), "{path}");
    }
    let second_version = entries(&service.read(&format!("{path}?version=2")).body);
    assert_eq!(value(&second_version, "proposal.json")["project_title"], "Other title");
    assert!(second_version.contains_key("contents/files/letter.pdf"));

    service.remove(&proposal.path);
    service.get(&path).expect(404);
    assert_eq!(service.read(&then).body, past.body);
    service.get(&format!("{path}?version=3")).expect(410);
}

fn an_item_is_in_the_dossier_that_it_named(service: &Service) {
    let [old, new] = [0, 1].map(|_| service.create("/v1/proposals", PROPOSAL));
    let file = service.create("/v1/files", &naming(&old, r#","filename":"moved""#));
    let unrelated = service.create("/v1/files", &naming(&new, r#","filename":"unrelated""#));
    service.change(&unrelated.path, r#"{"n":1}"#);
    let time = service.read(&unrelated.path).value()["_meta"]["updated_at"].clone();
    let at = |proposal: &Item, time: &Value| {
        let path = format!("{}?as_of={}", dossier(proposal), time.as_str().expect("a time"));
        entries(&service.read(&path).body)
    };
    let moved = service.change(&file.path, &*naming(&new, ""));
    let later = moved.value()["_meta"]["updated_at"].clone();
    service.change(&file.path, r#"{"proposal_id":["no","reference"]}"#);
    assert_eq!(names(&at(&old, &time)), ["moved"]);
    assert_eq!(names(&at(&new, &time)), ["unrelated"]);
    assert_eq!(names(&at(&old, &later)), [""; 0]);
    assert_eq!(names(&at(&new, &later)), ["moved", "unrelated"]);
    let now = |proposal: &Item| names(&entries(&service.read(&dossier(proposal)).body));
    assert_eq!(now(&old), [""; 0]);
    assert_eq!(now(&new), ["unrelated"]);
}

/// The files of a dossier by their member `filename`.
fn names(found: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let files = value(found, "files.json");
    let files = files.as_array().expect("a list").iter();
    files.map(|file| file["filename"].as_str().unwrap_or_default().to_owned()).collect()
}

fn parts_make_the_whole(service: &Service) {
    let (proposal, file) = submitted(service);
    let bytes: Vec<u8> = (0..=250_u8).cycle().take(700_000).collect();
    upload(service, &file, "large.pdf", &bytes);
    let path = dossier(&proposal);
    let whole = service.read(&path);
    let (size, tag) = (whole.body.len(), whole.etag());
    let mut stitched = Vec::new();
    for step in [1, 7, 100, 30, 400_000, 123_456, 1_000_000] {
        let range = format!("bytes={}-{}", stitched.len(), stitched.len() + step - 1);
        let part = service.get(&path).header("range", &range).header("if-range", &tag).expect(206);
        stitched.extend(part.body);
    }
    assert_eq!(stitched, whole.body);
    let suffix = service.get(&path).header("range", "bytes=-1000").expect(206);
    assert_eq!(suffix.body, whole.body[size - 1000..]);
    let other = service.get(&path).header("range", "bytes=0-0").header("if-range", "\"x\"");
    assert_eq!(other.expect(200).body, whole.body);
    let several = service.get(&path).header("range", "bytes=0-9,500000-500009,-5").expect(206);
    assert!(several.needed_header("content-type").starts_with("multipart/byteranges"));
    let none = service.get(&path).header("range", format!("bytes={size}-")).expect(416);
    assert_eq!(none.needed_header("content-range"), format!("bytes */{size}"));
    let head = service.request("HEAD", &path).header("range", "bytes=0-9").expect(200);
    assert_eq!(head.needed_header("content-length"), size.to_string());
    assert_eq!(head.needed_header("repr-digest"), digest_field(&whole.body));
    assert_eq!((head.etag(), head.body.is_empty()), (tag, true));
}

fn conditions_and_refusals(service: &Service) {
    let (proposal, file) = submitted(service);
    let path = dossier(&proposal);
    let tag = service.read(&path).etag();
    for (name, value, status) in [
        ("if-none-match", &*tag, 304),
        ("if-none-match", "*", 304),
        ("if-none-match", "\"x\"", 200),
        ("if-match", &tag, 200),
        ("if-match", "\"x\"", 412),
        ("if-match", "x", 400),
        ("if-modified-since", "Mon, 16 Feb 2126 00:00:00 GMT", 200),
        ("accept", "application/zip", 200),
        ("accept", "application/json", 406),
        ("accept", "*/*", 200),
    ] {
        let answer = service.get(&path).header(name, value).send();
        assert_eq!(answer.status, status, "{name}: {value}");
    }
    for (query, status) in [
        ("version=1&as_of=2026-01-01T00:00:00Z", 400),
        ("version=0", 400),
        ("version=x", 400),
        ("as_of=yesterday", 400),
        ("as_of=9000-01-01T00:00:00Z", 400),
        ("fields=a", 400),
        ("version=9", 404),
        ("as_of=2001-01-01T00:00:00Z", 404),
    ] {
        service.get(&format!("{path}?{query}")).expect(status);
    }
    for path in [
        format!("/v1/proposals/{UNKNOWN_ID}/dossier.zip"),
        "/v1/proposals/x/dossier.zip".to_owned(),
        format!("{}/dossier.zip", file.path),
    ] {
        service.get(&path).expect(404);
    }
    for method in ["PUT", "POST", "PATCH", "DELETE"] {
        service.request(method, &path).json("{}").expect(405);
    }
    service.request("OPTIONS", &path).expect(204).allowing(&["GET", "HEAD", "OPTIONS"]);
}

fn names_of_clients_are_made_safe(service: &Service) {
    let proposal = service.create("/v1/proposals", PROPOSAL);
    for name in [
        "../../etc/passwd",
        "CON.pdf",
        "con.PDF",
        "a:b|c?.pdf",
        "invoice\u{202e}fdp.exe",
        "..",
        "Passwd",
    ] {
        let file = service.create("/v1/files", &naming(&proposal, ""));
        let encoded =
            name.bytes().fold(String::new(), |encoded, byte| encoded + &format!("%{byte:02x}"));
        let request = service.put(&format!("{}/content", file.path)).body("text/plain", "x");
        let value = format!("attachment; filename*=UTF-8''{encoded}");
        request.header("content-disposition", value).expect(201);
    }
    let found = entries(&service.read(&dossier(&proposal)).body);
    let names: Vec<_> =
        found.keys().filter_map(|name| name.strip_prefix("contents/files/")).collect();
    assert_eq!(
        names,
        [
            "Passwd (2)",
            "_CON.pdf",
            "_con (2).PDF",
            "a_b_c_.pdf",
            "content",
            "invoicefdp.exe",
            "passwd",
        ]
    );
    let folded: HashSet<_> = found.keys().map(|name| name.to_lowercase()).collect();
    assert_eq!(folded.len(), found.len());
}

/// The texts exceed the limit in memory, and the items exceed a page.
fn long_texts_are_in_the_archive(service: &Service) {
    let proposal = service.create("/v1/proposals", PROPOSAL);
    let long = "x".repeat(100_000);
    for number in 0..60 {
        let body = format!(r#"{{"n":{number},"long":"{}"}}"#, if number < 15 { &long } else { "" });
        service.create(&format!("{}/lib", proposal.path), &body);
    }
    let answer = service.read(&dossier(&proposal));
    let found = entries(&answer.body);
    let library = value(&found, "library.json");
    let numbers = library.as_array().expect("a list").iter().map(|item| item["n"].as_u64());
    assert!(numbers.eq((0..60).map(Some)));
    let part = service.get(&dossier(&proposal)).header("range", "bytes=700000-1300000").expect(206);
    assert_eq!(part.body, answer.body[700_000..=1_300_000]);
    assert_eq!(service.read(&dossier(&proposal)).body, answer.body);
}

#[test]
fn a_dossier_names_what_was_compacted() {
    on_each_database(|database| {
        let service = Service::start_on(database);
        let proposal = service.create("/v1/proposals", PROPOSAL);
        let [kept, removed, moved] = ["kept", "removed", "moved"].map(|name| {
            service.create("/v1/files", &naming(&proposal, &format!(r#","filename":"{name}""#)))
        });
        let lib = service.create(&format!("{}/lib", proposal.path), r#"{"title":"old"}"#);
        let time = service.read(&lib.path).value()["_meta"]["updated_at"].clone();
        for item in [&removed, &lib] {
            service.change(&item.path, r#"{"title":"new","filename":"new"}"#);
        }
        service.change(&moved.path, r#"{"proposal_id":null}"#);
        let _ = service.list("/v1/files", "q=x");
        drop(service);
        age(database, 100);
        compact(database, &["--history-keep", "90d"], "removed the bodies of 3 versions, ");
        let service = Service::start_on(database);
        let time: jiff::Timestamp = time.as_str().expect("a time").parse().expect("a time");
        let time = time - jiff::SignedDuration::from_hours(2400);
        let path = format!("{}?as_of={time}", dossier(&proposal));
        let found = entries(&service.read(&path).body);
        assert_eq!(names(&found), ["kept", ""]);
        let about = value(&found, "dossier.json");
        let compacted = about["compacted"].as_array().expect("a list");
        let ids: Vec<_> = compacted.iter().map(|item| item["id"].as_str()).collect();
        assert_eq!(ids, [Some(&*lib.id), Some(&*removed.id)]);
        assert!(compacted[0]["removed_at"].is_string(), "{about}");
        assert_eq!(value(&found, "files.json")[1]["_meta"]["body"], "removed");
        assert_eq!(entries(&service.read(&path).body), found);
        service.change(&proposal.path, r#"{"project_title":"New"}"#);
        let _ = service.list("/v1/proposals", "q=x");
        drop(service);
        age(database, 100);
        compact(database, &["--history-keep", "90d"], "removed the bodies of 1 versions, ");
        let service = Service::start_on(database);
        let gone = service.get(&format!("{}?version=1", dossier(&proposal))).expect(410);
        assert_eq!(gone.value()["code"], "body-removed");
        let _ = kept;
    });
}
