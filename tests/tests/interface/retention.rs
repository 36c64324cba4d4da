//! Versions whose bodies were removed, as clients see them.

use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::stores::TestDatabase;
use tests::tool::{done, refused, tool};
use tests::{Answer, Item, Service};

use crate::history::version;
use crate::{PROPOSAL, UNKNOWN_ID};

const DAY: i64 = 86_400_000_000;

/// Longer than `serve` waits after another instance removed bodies, or after an error.
const PATIENCE: Duration = Duration::from_secs(90);

pub fn on_each_database(test: impl Fn(&TestDatabase)) {
    for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
        println!("on {}:", database.url());
        test(&database);
    }
}

/// Moves everything that was written into the past.
pub fn age(database: &TestDatabase, days: i64) {
    let ago = days * DAY;
    let _ = database.query(&format!("UPDATE changes SET time = time - {ago}"));
    let _ = database.query(&format!(
        "UPDATE items SET created_at = created_at - {ago}, updated_at = updated_at - {ago}"
    ));
}

/// Runs `compact`, which must report this.
#[track_caller]
pub fn compact(database: &TestDatabase, arguments: &[&str], expected: &str) -> String {
    let arguments = [&["compact", "--database-url", database.url()], arguments].concat();
    let said = String::from_utf8(done(&arguments)).expect("text");
    assert!(said.starts_with(expected), "{said}");
    said
}

fn code(answer: Answer, status: u16) -> Value {
    answer.expect(status).value()["code"].clone()
}

/// A file with two superseded versions, all of that age in days.
fn with_history(database: &TestDatabase, days: i64) -> Item {
    let service = Service::start_on(database);
    let item = with_versions(&service, 3);
    drop(service);
    age(database, days);
    item
}

fn with_versions(service: &Service, count: usize) -> Item {
    let item = service.create("/v1/files", r#"{"n":1}"#);
    for number in 2..=count {
        service.replace(&item.path, format!("{{\"n\":{number}}}"));
    }
    // A search waits until everything is indexed.
    let _ = service.list("/v1/files", "q=x");
    item
}

#[test]
fn the_bytes_of_contents_are_removed_with_the_last_body_that_has_them() {
    on_each_database(|database| {
        let service = Service::start_on(database);
        let [replaced, other] = [1, 2].map(|_| service.create("/v1/files", "{}"));
        let put = |service: &Service, item: &Item, text: &'static str| {
            let _ = service.put(&format!("{}/content", item.path)).body("text/plain", text).send();
        };
        for text in ["old", "shared", "new"] {
            put(&service, &replaced, text);
        }
        put(&service, &other, "shared");
        let _ = service.list("/v1/files", "q=x");
        drop(service);
        age(database, 100);
        let _ = database.query("UPDATE contents SET lease_until = 0");
        compact(database, &["--history-keep", "90d"], "removed the bodies of 4 versions, ");
        let service = Service::start_on(database);
        let kept = || database.query("SELECT CAST(count(*) AS TEXT) FROM contents");
        tests::wait_until(|| kept() == [[Some("2".to_owned())]]);
        for (item, text) in [(&replaced, "new"), (&other, "shared")] {
            let content = service.get(&format!("{}/content", item.path)).accept("*/*").expect(200);
            assert_eq!(content.text(), text);
        }
        put(&service, &other, "old");
        let content = service.get(&format!("{}/content", other.path)).accept("*/*").expect(200);
        assert_eq!(content.text(), "old");
    });
}

fn entries(service: &Service, item: &Item) -> Vec<Value> {
    service.read(&format!("{}/versions", item.path)).embedded("versions")
}

#[test]
fn a_removed_body_is_reported_everywhere() {
    on_each_database(|database| {
        let item = with_history(database, 100);
        let service = Service::start_on(database);
        let time = entries(&service, &item)[1]["time"].as_str().expect("a time").to_owned();
        let before = service.read(&format!("{}?as_of={time}", item.path));
        let before = before.with_members(r#"{"n":2}"#).etag();
        drop(service);
        compact(database, &["--history-keep", "90d"], "removed the bodies of 2 versions, ");
        let copy = exports_and_imports_keep_the_record_of_a_removed_body(database);
        let service = Service::start_on(database);
        let [original, copied] = [&service, &Service::start_on(&copy)].map(|service| {
            let mut entries = entries(service, &item);
            // Links name the service.
            for entry in &mut entries {
                entry["_links"] = Value::Null;
            }
            entries
        });
        assert_eq!(original, copied);
        a_version_without_a_body_has_the_time_of_the_removal(&service, &item);
        the_past_shows_that_a_body_was_removed(&service, &item, &time, &before);
        // The last body of a deleted item.
        service.remove(&item.path);
        drop(service);
        age(database, 100);
        compact(database, &["--history-keep", "90d"], "removed the bodies of 1 versions, ");
        let service = Service::start_on(database);
        let restored = service.post(&format!("{}/versions/3", item.path)).send();
        assert_eq!(code(restored, 410), "body-removed");
        assert_eq!(code(version(&service, &item, 4), 410), "version-gone");
        let changes = service.list("/v1/changes", "").embedded("changes");
        assert_eq!(changes.len(), 4, "the feed keeps every change");
    });
}

fn a_version_without_a_body_has_the_time_of_the_removal(service: &Service, item: &Item) {
    let [newest, second, first] = entries(service, item).try_into().expect("three");
    assert_eq!(newest.get("removed_at"), None);
    let removed_at = &first["removed_at"];
    assert!(removed_at.is_string() && *removed_at == second["removed_at"], "{first}");
    assert_eq!(second["_links"].get("diff"), None, "{second}");
    assert!(newest["_links"].get("diff").is_some(), "{newest}");
    for path in ["1", "2", "1/diff?from=2", "3/diff", "3/diff?from=1"] {
        let answer = service.get(&format!("{}/versions/{path}", item.path)).expect(410);
        let problem = answer.value();
        let found = (&problem["code"], &problem["removed_at"]);
        assert_eq!(found, (&json!("body-removed"), removed_at));
        assert!(problem["detail"].as_str().expect("text").contains("was removed at"), "{problem}");
    }
    let restored = service.post(&format!("{}/versions/1", item.path)).send();
    assert_eq!(code(restored, 410), "body-removed");
    version(service, item, 3).expect(200).with_members(r#"{"n":3}"#);
    service.read(&item.path).with_members(r#"{"n":3}"#);
    assert!(service.read("/problems/body-removed").text().contains("removed_at"));
}

fn the_past_shows_that_a_body_was_removed(
    service: &Service,
    item: &Item,
    time: &str,
    before: &str,
) {
    let target = format!("{}?as_of={time}", item.path);
    for target in [target.clone(), format!("{target}&fields=n")] {
        let shown = service.get(&target).header("if-none-match", before).expect(200);
        let value = shown.value();
        let meta = &value["_meta"];
        assert_eq!((&meta["body"], &meta["version"]), (&json!("removed"), &json!(2)));
        assert_eq!(meta["removed_at"], entries(service, item)[1]["removed_at"]);
        assert_eq!((&value["id"], value.get("n")), (&json!(item.id), None));
        service.get(&target).header("if-none-match", shown.etag()).expect(304);
    }
    let listed = service.list("/v1/files", &format!("as_of={time}")).items();
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0]["_meta"]["body"], listed[0].get("n")), (&json!("removed"), None));
    assert_eq!(service.read(&item.path).value()["_meta"].get("body"), None);
    let page = |end: &str| {
        let path = format!("/explore/files/{}{end}", item.id);
        service.get(&path).accept("text/html").expect(200).text().to_owned()
    };
    let history = page("/history");
    assert_eq!(history.matches("Content removed on").count(), 2, "{history}");
    assert_eq!(history.matches("Restore…").count(), 0);
    let past = page(&format!("?as_of={time}"));
    assert!(past.contains("The content of this version was removed on"), "{past}");
}

/// Returns the copy.
fn exports_and_imports_keep_the_record_of_a_removed_body(database: &TestDatabase) -> TestDatabase {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).to_str().expect("a path").to_owned();
    let export = |name: &str, database: &TestDatabase| {
        done(&["export", &file(name), "--database-url", database.url()]);
        std::fs::read_to_string(file(name)).expect("an export")
    };
    let written = export("first", database);
    assert_eq!(written.matches("\"members\":null,\"removed_at\":\"").count(), 2, "{written}");
    let copy = TestDatabase::sqlite();
    done(&["import", &file("first"), "--database-url", copy.url()]);
    assert_eq!(export("second", &copy), written);
    // The last version of an item that exists has a body.
    let removed = "null,\"removed_at\":\"2026-11-25T12:00:00.000001Z\"";
    let edited = written.replacen("{\"n\":3},\"removed_at\":null", removed, 1);
    assert_ne!(edited, written);
    std::fs::write(file("third"), edited).expect("a file");
    let empty = TestDatabase::sqlite();
    let said = refused(&["import", &file("third"), "--database-url", empty.url()], 1);
    assert!(said.contains("has no `members`"), "{said}");
    copy
}

#[test]
fn ends_of_days_and_months_are_kept_for_longer() {
    on_each_database(|database| {
        let service = Service::start_on(database);
        with_versions(&service, 6);
        drop(service);
        for (version, time) in [
            (1, "2024-01-31T15:00:00Z"),
            (2, "2024-01-31T17:00:00Z"),
            (3, "2024-02-01T01:00:00Z"),
            (4, "2024-02-28T00:00:00Z"),
            (5, "2024-03-05T00:00:00Z"),
            (6, "2024-03-05T01:00:00Z"),
        ] {
            let time = time.parse::<jiff::Timestamp>().expect("a time").as_microsecond();
            let _ = database
                .query(&format!("UPDATE changes SET time = {time} WHERE version = {version}"));
        }
        // In Manila, February begins at 16:00 in UTC.
        let thin = ["--history-thin", "daily:90d,monthly:100y", "--time-zone", "Asia/Manila"];
        let dry = [&thin[..], &["--dry-run"]].concat();
        compact(database, &dry, "would remove the bodies of 3 versions, ");
        let bodies = || {
            database.query("SELECT CAST(version AS TEXT) FROM changes WHERE members IS NOT NULL ORDER BY version")
        };
        assert_eq!(bodies().len(), 6, "a dry run removes nothing");
        compact(database, &thin, "removed the bodies of 3 versions, ");
        let left: Vec<_> = bodies().into_iter().flatten().flatten().collect();
        assert_eq!(left, ["1", "4", "6"]);
        compact(database, &thin, "removed the bodies of 0 versions, 0 B");
    });
}

#[test]
fn legal_holds_keep_bodies_of_a_programme_and_what_belongs_to_it() {
    on_each_database(|database| {
        let service = Service::start_on(database);
        let programs = ["held", "free"].map(|title| {
            service.create("/v1/proposedprograms", &format!("{{\"title\":\"{title}\"}}"))
        });
        let mut items = Vec::new();
        for program in &programs {
            let members =
                PROPOSAL.replacen('{', &format!("{{\"program_id\":\"{}\",", program.id), 1);
            let proposal = service.create("/v1/proposals", &members);
            let about = format!("{{\"proposal_id\":\"{}\"}}", proposal.id);
            let sheet = service.create("/v1/gadscores", &about);
            let item = service.create(&format!("{}/lib", proposal.path), "{}");
            items.push([proposal, sheet, item]);
        }
        for item in items.iter().flatten().chain(&programs) {
            service.change(&item.path, r#"{"description":"x"}"#);
        }
        // A proposal that names another programme now and a deleted sheet are held as well.
        let change = format!("{{\"program_id\":\"{}\"}}", programs[1].id);
        service.change(&items[0][0].path, change);
        service.remove(&items[0][1].path);
        drop(service);
        age(database, 10);
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("holds.yaml");
        std::fs::write(&file, format!("- {}  # Audit\n- {UNKNOWN_ID}\n", programs[0].id))
            .expect("a file");
        let holds = ["--history-keep", "2d", "--legal-holds", file.to_str().expect("a path")];
        let arguments = [&["compact", "--database-url", database.url()], &holds[..]].concat();
        let output = tool(&arguments).output().expect("the binary runs");
        let (said, log) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(said.starts_with("removed the bodies of 4 versions, "), "{said}{log}");
        assert!(said.ends_with("; 6 more are kept for legal holds\n"), "{said}");
        assert!(
            log.contains("legal holds name items that never existed") && log.contains(UNKNOWN_ID),
            "{log}"
        );
        std::fs::write(&file, "- x\n").expect("a file");
        let said = refused(&arguments, 1);
        assert!(said.contains("holds.yaml:1:3: `x` is not an item id"), "{said}");
        std::fs::write(&file, "[]").expect("a file");
        compact(database, &holds, "removed the bodies of 6 versions, ");
    });
}

#[test]
fn a_service_removes_bodies_while_it_serves() {
    on_each_database(|database| {
        let item = with_history(database, 10);
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("holds.yaml");
        std::fs::write(&file, format!("- {}\n", item.id)).expect("a file");
        // Its first service has indexed the log.
        let holds = ["--legal-holds", file.to_str().expect("a path")];
        let arguments = [&["--history-keep", "2d"][..], &holds].concat();
        let service = Service::start_on_with(database, &arguments);
        wait_until(|| service.log().contains("old bodies removed"));
        assert!(entries(&service, &item).iter().all(|entry| entry.get("removed_at").is_none()));
        // A file with errors leaves the hold in force; one without it lifts it.
        std::fs::write(&file, "- x\n").expect("a file");
        service.hang_up();
        wait_until(|| service.log().contains("the legal holds are not reloaded"));
        std::fs::write(&file, "[]").expect("a file");
        service.hang_up();
        wait_until(|| service.log().contains("legal holds reloaded"));
        drop(service);
        // The next pass is a day later, or by another policy.
        let service = Service::start_on_with(database, &["--history-keep", "3d"]);
        wait_until(|| entries(&service, &item)[2].get("removed_at").is_some());
        service.replace(&item.path, r#"{"n":4}"#);
        if database.is_sqlite() {
            let arguments = ["compact", "--history-keep", "2d", "--database-url", database.url()];
            let said = refused(&arguments, 1);
            assert!(said.contains("in use by another process"), "{said}");
        } else {
            compact(database, &["--history-keep", "2d"], "removed the bodies of 0");
        }
        let dry = ["--history-keep", "2d", "--dry-run"];
        compact(database, &dry, "would remove the bodies of 0 versions");
    });
}

#[test]
fn one_of_several_instances_removes_the_bodies() {
    let database = TestDatabase::postgres();
    let item = with_history(&database, 10);
    let services = [(); 2].map(|()| Service::start_on_with(&database, &["--history-keep", "2d"]));
    wait_until(|| entries(&services[1], &item)[2].get("removed_at").is_some());
    sleep(Duration::from_secs(1));
    let passes = services.iter().map(|service| service.log().matches("old bodies removed").count());
    assert_eq!(passes.sum::<usize>(), 1, "one of them did it");
}

fn wait_until(is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "it takes too long");
        sleep(Duration::from_millis(50));
    }
}
