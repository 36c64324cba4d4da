//! The contents of files and library items: bytes that are stored, served and removed next to their
//! item, under the rules, policies and history of it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tests::{Answer, Item, Service, Store, send_bytes};

use crate::PROPOSAL;
use crate::rules::RuleFile;

tests::cases![
    content_is_stored_served_and_removed,
    every_version_keeps_its_content,
    a_write_is_made_on_condition_of_the_content,
    ranges_are_served_to_the_letter,
    a_read_is_answered_by_its_conditions,
    a_refused_upload_leaves_nothing,
    names_and_types_are_made_safe,
    concurrent_uploads_make_one_first_content,
    members_and_content_are_written_apart,
];

fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

fn content(item: &Item) -> String {
    format!("{}/content", item.path)
}

#[track_caller]
fn upload(service: &Service, item: &Item, bytes: &[u8]) -> Answer {
    service.put(&content(item)).body("application/pdf", bytes).send()
}

#[track_caller]
fn facts(answer: &Answer) -> Value {
    answer.value()["_meta"]["content"].clone()
}

/// Numbers that repeat late, so that a misplaced part is noticed.
fn bytes(length: usize) -> Vec<u8> {
    (0..=252_u8).map(|byte| byte.wrapping_mul(31)).cycle().take(length).collect()
}

fn content_is_stored_served_and_removed(service: &Service) {
    let proposal = service.create("/v1/proposals", PROPOSAL);
    for collection in ["/v1/files", "/lib", &format!("{}/lib", proposal.path)] {
        let item = service.create(collection, r#"{"note":1.50}"#);
        let path = content(&item);
        assert_eq!(item_link(service, &item, "edit-media"), Some(path.clone()));
        service.get(&path).expect(404);
        service.delete(&path).expect(404);
        for length in [0, 1, 300_000] {
            let bytes = bytes(length);
            let is_first = length == 0;
            let request = service.put(&path).body("application/pdf", &*bytes);
            let name = r#"attachment; filename="letter.pdf""#;
            let stored = request.header("content-disposition", name).expect(if is_first {
                201
            } else {
                200
            });
            let stored = stored.with_members(r#"{"note":1.50}"#);
            assert_eq!(stored.path_of(stored.needed_header("content-location")), item.path);
            assert_eq!(stored.etag(), format!("\"{}\"", digest(&bytes)));
            let meta = facts(&stored);
            let expected = json!({
                "media_type": "application/pdf", "filename": "letter.pdf", "size": length,
                "sha256": digest(&bytes), "stored_at": meta["stored_at"],
            });
            assert_eq!(meta, expected);
            let read = service.read(&path);
            assert_eq!(read.body, bytes);
            let head = service.request("HEAD", &path).expect(200);
            for (name, expected) in [
                ("content-type", "application/pdf".to_owned()),
                ("content-length", length.to_string()),
                ("etag", format!("\"{}\"", digest(&bytes))),
                ("content-disposition", r#"inline; filename="letter.pdf""#.to_owned()),
                ("accept-ranges", "bytes".to_owned()),
                ("cache-control", "private, no-cache".to_owned()),
                ("x-content-type-options", "nosniff".to_owned()),
                ("repr-digest", stored.needed_header("repr-digest").to_owned()),
            ] {
                assert_eq!(read.header(name), Some(&*expected), "{read}");
                assert_eq!(head.header(name), Some(&*expected), "{head}");
            }
            assert_eq!(item_link(service, &item, "enclosure"), Some(path.clone()));
            let gzip = service.get(&path).header("accept-encoding", "gzip").expect(200);
            assert_eq!((gzip.body, gzip.headers.get("content-encoding")), (read.body, None));
        }
        let page = service.list(collection, "fields=note&page_size=1");
        assert_eq!(page.items()[0]["_meta"]["content"]["size"], 300_000);
        service
            .request("OPTIONS", &path)
            .expect(204)
            .allowing(&["GET", "HEAD", "PUT", "DELETE", "OPTIONS"]);
        service.remove(&path);
        service.get(&path).expect(404);
        assert_eq!(item_link(service, &item, "enclosure"), None);
        service.remove(&item.path);
        service.get(&path).expect(404);
        service.put(&path).body("application/pdf", "x").expect(404);
    }
    service.get(&format!("{}/content", proposal.path)).expect(404);
}

fn item_link(service: &Service, item: &Item, relation: &str) -> Option<String> {
    service.read(&item.path).link(relation)
}

fn every_version_keeps_its_content(service: &Service) {
    let item = service.create("/v1/files", r#"{"a":1}"#);
    let version = |number: u32| format!("{}/versions/{number}/content", item.path);
    let first = upload(service, &item, b"one");
    let then = first.value()["_meta"]["updated_at"].as_str().expect("a time").to_owned();
    service.change(&item.path, r#"{"a":2}"#);
    upload(service, &item, b"two");
    service.remove(&content(&item));
    service.get(&version(1)).expect(404);
    for (number, expected) in [(2, "one"), (3, "one"), (4, "two")] {
        let read = service.read(&version(number));
        assert_eq!(read.text(), expected, "version {number}");
        assert!(read.needed_header("cache-control").contains("immutable"));
    }
    service.get(&version(5)).expect(404);
    service.get(&version(9)).expect(404);
    assert_eq!(service.read(&format!("{}?as_of={then}", content(&item))).text(), "one");
    let past = service.read(&format!("{}/versions/4", item.path));
    assert_eq!(past.link("enclosure"), Some(version(4)));
    let kinds = service.read(&format!("{}/versions", item.path)).embedded("versions");
    let kinds: Vec<_> = kinds.iter().map(|version| version["kind"].clone()).collect();
    assert_eq!(kinds, ["detached", "attached", "patched", "attached", "created"]);
    let restored = service.post(&format!("{}/versions/3", item.path)).expect(200);
    assert_eq!(facts(&restored)["sha256"], digest(b"one"));
    assert_eq!(service.read(&content(&item)).text(), "one");
    let replaced = service.replace(&item.path, r#"{"b":3,"_meta":{"content":{"size":7}}}"#);
    assert_eq!(
        (facts(&replaced)["size"].clone(), replaced.text().contains("\"b\":3")),
        (json!(3), true)
    );
    service.change(&item.path, r#"{"_meta":null}"#);
    assert_eq!(service.read(&content(&item)).text(), "one");
    service.remove(&item.path);
    assert_eq!(service.read(&version(4)).text(), "two");
    service.post(&format!("{}/versions/4", item.path)).expect(201);
    assert_eq!(service.read(&content(&item)).text(), "two");
}

fn a_write_is_made_on_condition_of_the_content(service: &Service) {
    let item = service.create("/v1/files", "{}");
    let path = content(&item);
    let tag = |bytes: &[u8]| format!("\"{}\"", digest(bytes));
    let put = |bytes: &str, name: &str, value: &str| {
        service.put(&path).body("text/plain", bytes).header(name, value).send().status
    };
    assert_eq!(put("a", "if-match", "*"), 412);
    assert_eq!(put("a", "if-match", &tag(b"a")), 412);
    assert_eq!(put("a", "if-none-match", "*"), 201);
    assert_eq!(put("b", "if-none-match", "*"), 412);
    assert_eq!(put("b", "if-none-match", &tag(b"a")), 412);
    assert_eq!(put("b", "if-match", &item.etag), 412);
    assert_eq!(put("b", "if-match", &tag(b"a")), 200);
    assert_eq!(put("b", "if-match", "*"), 200);
    assert_eq!(put("b", "if-match", "b"), 400);
    let versions = service.read(&format!("{}/versions", item.path)).embedded("versions").len();
    assert_eq!(versions, 3, "the same content again is no new version");
    service.put(&format!("{path}?dry_run=true")).body("text/plain", "c").expect(200);
    assert_eq!(service.read(&path).text(), "b");
    service.delete(&path).header("if-match", tag(b"a")).expect(412);
    service.delete(&path).header("if-match", tag(b"b")).expect(204);
    service.put(&path).body("text/plain", "d").header("prefer", "return=minimal").expect(201);
}

fn ranges_are_served_to_the_letter(service: &Service) {
    let (item, bytes) = (service.create("/v1/files", "{}"), bytes(1000));
    upload(service, &item, &bytes);
    let path = content(&item);
    let get = |range: &str| service.get(&path).header("range", range).send();
    for (range, from, to) in [
        ("bytes=0-0", 0, 1),
        ("bytes=-1", 999, 1000),
        ("bytes=-999999999999", 0, 1000),
        ("bytes=900-", 900, 1000),
        ("bytes=10-18446744073709551616", 10, 1000),
    ] {
        let part = get(range).expect(206);
        assert_eq!(part.body, bytes[from..to], "{range}");
        assert_eq!(part.needed_header("content-range"), format!("bytes {from}-{}/1000", to - 1));
        assert_eq!(part.needed_header("content-length"), (to - from).to_string());
    }
    for ignored in ["bytes=5-2", "bytes=", "lines=0-1", "bytes=a-b"] {
        assert_eq!(get(ignored).expect(200).body, bytes, "{ignored}");
    }
    let many: Vec<_> = (0..10_000).map(|_| "0-0,2-2").collect();
    assert_eq!(get(&format!("bytes={}", many[..4_000].join(","))).status, 206);
    let apart: Vec<_> = (0..100).map(|place| format!("{0}-{0}", place * 2)).collect();
    assert_eq!(get(&format!("bytes={}", apart.join(","))).expect(200).body, bytes);
    for none in ["bytes=1000-", "bytes=-0", "bytes=18446744073709551616-"] {
        assert_eq!(get(none).expect(416).needed_header("content-range"), "bytes */1000");
    }
    let several = get("bytes=0-1,500-501,-2").expect(206);
    let kind = several.needed_header("content-type").to_owned();
    let boundary = kind.strip_prefix("multipart/byteranges; boundary=").expect("several parts");
    let expected: Vec<u8> = [(0, 1), (500, 501), (998, 999)]
        .into_iter()
        .flat_map(|(first, last)| {
            let head = format!("\r\n--{boundary}\r\nContent-Type: application/pdf\r\nContent-Range: bytes {first}-{last}/1000\r\n\r\n");
            [head.as_bytes(), &bytes[first..=last]].concat()
        })
        .chain(format!("\r\n--{boundary}--\r\n").into_bytes())
        .collect();
    assert_eq!(several.body, expected);
    assert_eq!(several.needed_header("content-length"), expected.len().to_string());
    let tag = service.read(&path).etag();
    let if_range = |value: &str| {
        service.get(&path).header("range", "bytes=0-0").header("if-range", value).send()
    };
    assert_eq!(if_range(&tag).status, 206);
    assert_eq!(if_range(&format!("W/{tag}")).status, 200);
    assert_eq!(if_range("\"x\"").status, 200);
    let modified = service.read(&path).needed_header("last-modified").to_owned();
    // Another content could have the same second.
    assert_eq!(if_range(&modified).status, 200);
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(if_range(&modified).status, 206);
    assert_eq!(if_range("Mon, 16 Feb 2026 00:00:00 GMT").status, 200);
}

fn a_read_is_answered_by_its_conditions(service: &Service) {
    let item = service.create("/v1/files", "{}");
    upload(service, &item, b"abc");
    let path = content(&item);
    let tag = service.read(&path).etag();
    let (old, new) = ("Mon, 16 Feb 2026 00:00:00 GMT", "Mon, 16 Feb 2126 00:00:00 GMT");
    for (name, value, status) in [
        ("if-none-match", &*tag, 304),
        ("if-none-match", &format!("W/{tag}"), 304),
        ("if-none-match", "*", 304),
        ("if-none-match", "\"x\"", 200),
        ("if-match", &tag, 200),
        ("if-match", "*", 200),
        ("if-match", &format!("W/{tag}"), 412),
        ("if-match", "\"x\"", 412),
        ("if-unmodified-since", old, 412),
        ("if-unmodified-since", new, 200),
        ("if-unmodified-since", "soon", 200),
        ("if-modified-since", old, 200),
        ("accept", "application/pdf", 200),
        ("accept", "application/*;q=0.1, text/html", 200),
        ("accept", "text/html", 406),
        ("accept", "*/*, application/pdf;q=0", 406),
    ] {
        let answer = service.get(&path).header(name, value).send();
        assert_eq!(answer.status, status, "{name}: {value}");
        if status == 304 {
            assert_eq!(answer.etag(), tag);
            assert!(answer.header("content-disposition").is_some(), "{answer}");
        }
    }
}

fn a_refused_upload_leaves_nothing(service: &Service) {
    let item = service.create("/v1/files", "{}");
    let path = content(&item);
    let before = service.read(&item.path).text().to_owned();
    for content_type in [
        "multipart/form-data; boundary=x",
        "application/x-www-form-urlencoded",
        "pdf",
        "a/b; c",
        &format!("a/{}", "b".repeat(300)),
    ] {
        service.put(&path).body(content_type, "abc").expect(415);
    }
    service.put(&path).body("a/b", "abc").header("content-encoding", "gzip").expect(415);
    let digest =
        |value: &str| service.put(&path).body("a/b", "abc").header("repr-digest", value).send();
    digest("sha-256=:AAAA:").expect(400);
    digest("sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:").expect(400);
    service.put(&format!("{path}?fields=a")).body("a/b", "abc").expect(400);
    service.put(&format!("{}x/content", item.path)).body("a/b", "abc").expect(404);
    service
        .post(&path)
        .body("a/b", "abc")
        .expect(405)
        .allowing(&["GET", "HEAD", "PUT", "DELETE", "OPTIONS"]);
    assert_eq!(service.read(&item.path).text(), before);
    let whole = digest("sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:").expect(201);
    assert_eq!(
        whole.needed_header("repr-digest"),
        "sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:"
    );
    service.put(&path).untyped_body("abcd").chunked().expect(200);
    assert_eq!(service.read(&path).needed_header("content-type"), "application/octet-stream");
}

fn names_and_types_are_made_safe(service: &Service) {
    let item = service.create("/v1/files", "{}");
    let path = content(&item);
    for (name, expected) in [
        (
            r#"attachment; filename="Ñandú.pdf""#,
            "filename=\"_and_.pdf\"; filename*=UTF-8''%C3%91and%C3%BA.pdf",
        ),
        (
            r#"inline; filename*=UTF-8''%E6%96%87.txt; filename="x""#,
            "filename*=UTF-8''%E6%96%87.txt",
        ),
        (r#"attachment; filename="../../etc/passwd""#, "filename=\"passwd\""),
        (r#"attachment; filename="a\"b.txt""#, "filename*=UTF-8''a%22b.txt"),
    ] {
        service.put(&path).body("image/png", "x").header("content-disposition", name).send();
        let sent = service.read(&path).needed_header("content-disposition").to_owned();
        assert!(sent.starts_with("inline; ") && sent.ends_with(expected), "{name}: {sent}");
        let forced = service.read(&format!("{path}?disposition=attachment"));
        assert!(
            forced.needed_header("content-disposition").starts_with("attachment; "),
            "{forced}"
        );
    }
    for (media_type, is_inline, is_sandboxed) in [
        ("text/html", false, true),
        ("image/svg+xml", false, true),
        ("text/plain", true, true),
        ("application/pdf", true, false),
    ] {
        service.put(&path).body(media_type, "<script>1</script>").expect(200);
        let sent = service.read(&path);
        let disposition = sent.needed_header("content-disposition");
        assert_eq!(disposition.starts_with("inline"), is_inline, "{sent}");
        let policy = sent.header("content-security-policy");
        assert_eq!(policy.is_some_and(|policy| policy.starts_with("sandbox;")), is_sandboxed);
    }
}

fn concurrent_uploads_make_one_first_content(service: &Service) {
    let item = service.create("/v1/files", "{}");
    let statuses = std::thread::scope(|scope| {
        let one = |number: u32| {
            let path = content(&item);
            scope.spawn(move || {
                let body = format!("upload {number}");
                service.put(&path).body("a/b", body).header("if-none-match", "*").send().status
            })
        };
        let all: Vec<_> = (0..32).map(one).collect();
        let mut counts = BTreeMap::new();
        for status in all.into_iter().map(|one| one.join().expect("an answer")) {
            *counts.entry(status).or_insert(0) += 1;
        }
        counts
    });
    assert_eq!(statuses, BTreeMap::from([(201, 1), (412, 31)]));
    // The same bytes for many items at once are stored once.
    let items: Vec<_> = (0..16).map(|_| service.create("/lib", "{}")).collect();
    std::thread::scope(|scope| {
        for item in &items {
            scope.spawn(|| upload(service, item, b"the same").expect(201));
        }
    });
    for item in &items {
        assert_eq!(service.read(&content(item)).text(), "the same");
    }
}

fn members_and_content_are_written_apart(service: &Service) {
    let item = service.create("/v1/files", "{}");
    std::thread::scope(|scope| {
        for number in 0..8 {
            let item = &item;
            scope.spawn(move || service.change(&item.path, format!(r#"{{"m{number}":{number}}}"#)));
            scope.spawn(move || upload(service, item, format!("content {number}").as_bytes()));
        }
    });
    let item = service.read(&item.path).value();
    for number in 0..8 {
        assert_eq!(item[format!("m{number}")], number, "{item}");
    }
    assert_eq!(item["_meta"]["version"], 17);
    assert_eq!(item["_meta"]["content"]["size"], 9);
}

/// A client that waits for `100 Continue` sends no byte of a refused upload.
#[test]
fn a_refused_upload_is_refused_before_its_body() {
    let service = Service::start_with(Store::Sqlite, &["--max-content", "1KiB"]);
    let item = service.create("/v1/files", "{}");
    let put = |path: &str, headers: &str| {
        let host = service.address();
        let request = format!(
            "PUT {path} HTTP/1.1\r\nHost: {host}\r\nExpect: 100-continue\r\nConnection: close\r\n{headers}\r\n"
        );
        let answer = send_bytes(service.address(), request.as_bytes());
        String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned()
    };
    let path = content(&item);
    for (path, headers, status) in [
        (&*path, "Content-Length: 1025\r\n", "413"),
        (&path, "Content-Length: 3\r\nIf-Match: *\r\n", "412"),
        (&path, "Content-Length: 3\r\nContent-Type: multipart/form-data\r\n", "415"),
        ("/v1/files/01890a5d-ac96-774b-bcce-b302099a8057/content", "Content-Length: 3\r\n", "404"),
    ] {
        let line = put(path, headers);
        assert!(line.starts_with(&format!("HTTP/1.1 {status} ")), "{headers}: {line}");
    }
    assert_eq!(put(&path, "Content-Length: 3\r\n"), "HTTP/1.1 100 Continue");
    service.put(&path).untyped_body(vec![0; 1025]).chunked().expect(413);
    upload(&service, &item, &[0; 1024]).expect(201);
}

const RULES: &str = r#"
rules:
  - id: endorsement_is_pdf
    group: files
    when: has(self._meta)
    check: self._meta.content.media_type == "application/pdf" && self._meta.content.size <= 1000
    message: An endorsement must be a PDF of at most 1000 bytes.
    field: /_meta/content
  - id: approved_is_frozen
    group: files
    on: [patch]
    check: "!has(old.state) || old.state != 'approved'"
    message: An approved item is not changed.
"#;

#[test]
fn rules_judge_content_and_a_refused_one_leaves_nothing() {
    let file = RuleFile::new(RULES);
    let service = Service::start_with(Store::Sqlite, &file.arguments());
    let item = service.create("/v1/files", r#"{"a":1}"#);
    let put = |kind: &str, bytes: &[u8]| service.put(&content(&item)).body(kind, bytes).send();
    put("text/plain", b"abc").expect(422).refusing(&["/_meta/content"]);
    put("application/pdf", &[0; 1001]).expect(422);
    service.get(&content(&item)).expect(404);
    assert_eq!(service.read(&item.path).value()["_meta"]["version"], 1);
    put("application/pdf", &[0; 1000]).expect(201);
    service.change(&item.path, r#"{"state":"approved"}"#);
    put("application/pdf", b"other").expect(422);
    service.delete(&content(&item)).expect(422);
    let folder =
        service.database().expect("a database").file().with_file_name("proposals.db.contents");
    let stored = |folder: std::path::PathBuf| {
        let entries = std::fs::read_dir(folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").path());
        entries.filter(|path| path.is_file() || path.is_dir()).collect::<Vec<_>>()
    };
    let files: usize = stored(folder.clone())
        .into_iter()
        .filter(|path| path.is_dir())
        .map(|path| stored(path).len())
        .sum();
    assert_eq!(files, 1, "only the accepted bytes are left");
}
