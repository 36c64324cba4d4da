//! Versions whose bodies were removed, as clients see them.

use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::stores::TestDatabase;
use tests::tool::{done, error_of, refused, tool};
use tests::{Item, Service};

use crate::PROPOSAL;
use crate::history::version;

const DAY: i64 = 86_400_000_000;

/// Longer than the task of `serve` rests after it found another at work, or an error.
const PATIENCE: Duration = Duration::from_secs(90);

fn on_each_database(test: impl Fn(&TestDatabase)) {
    for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
        println!("on {}:", database.url());
        test(&database);
    }
}

/// Moves everything that was written into the past.
fn age(database: &TestDatabase, days: i64) {
    let ago = days * DAY;
    let _ = database.query(&format!("UPDATE changes SET time = time - {ago}"));
    let _ = database.query(&format!(
        "UPDATE items SET created_at = created_at - {ago}, updated_at = updated_at - {ago}"
    ));
}

fn compact(database: &TestDatabase, arguments: &[&str]) -> String {
    let arguments = [&["compact", "--database-url", database.url()], arguments].concat();
    String::from_utf8(done(&arguments)).expect("text")
}

/// A file with two superseded versions, written so many days ago.
fn with_history(database: &TestDatabase, days: i64) -> Item {
    let service = Service::start_on(database);
    let item = service.create("/v1/files", r#"{"n":1}"#);
    for number in [2, 3] {
        service.put(&item.path).json(format!("{{\"n\":{number}}}")).send().expect(200);
    }
    // A search waits until everything is indexed.
    let _ = service.list("/v1/files", "q=x");
    drop(service);
    age(database, days);
    item
}

fn entries(service: &Service, item: &Item) -> Vec<Value> {
    service.get(&format!("{}/versions", item.path)).send().expect(200).embedded("versions")
}

#[test]
fn a_version_without_a_body_says_since_when() {
    on_each_database(|database| {
        let item = with_history(database, 100);
        let said = compact(database, &["--history-keep", "90d"]);
        assert!(said.starts_with("removed the bodies of 2 versions, "), "{said}");
        let service = Service::start_on(database);
        let [newest, second, first] = entries(&service, &item).try_into().expect("three");
        assert_eq!(newest.get("removed_at"), None);
        let removed_at = &first["removed_at"];
        assert!(removed_at.is_string() && *removed_at == second["removed_at"], "{first}");
        assert_eq!(second["_links"].get("diff"), None, "{second}");
        assert!(newest["_links"].get("diff").is_some(), "{newest}");
        for path in ["1", "2", "1/diff?from=2", "3/diff", "3/diff?from=1"] {
            let answer = service.get(&format!("{}/versions/{path}", item.path)).send().expect(410);
            let problem = answer.value();
            assert_eq!(
                (&problem["code"], &problem["removed_at"]),
                (&json!("body-removed"), removed_at)
            );
            assert!(
                problem["detail"].as_str().expect("text").contains("was removed at"),
                "{problem}"
            );
        }
        let restore = format!("{}/versions/1", item.path);
        assert_eq!(service.post(&restore).send().expect(410).value()["code"], "body-removed");
        let _ = version(&service, &item, 3).expect(200).with_members(r#"{"n":3}"#);
        let _ = service.get(&item.path).send().expect(200).with_members(r#"{"n":3}"#);
        let page = service.get("/problems/body-removed").send().expect(200);
        assert!(page.text().contains("removed_at"));
        // A deleted item whose last body is gone.
        service.delete(&item.path).send().expect(204);
        drop(service);
        age(database, 100);
        let said = compact(database, &["--history-keep", "90d"]);
        assert!(said.starts_with("removed the bodies of 1 versions, "), "{said}");
        let service = Service::start_on(database);
        let restore = format!("{}/versions/3", item.path);
        assert_eq!(service.post(&restore).send().expect(410).value()["code"], "body-removed");
        assert_eq!(version(&service, &item, 4).expect(410).value()["code"], "version-gone");
        let changes = service.list("/v1/changes", "").embedded("changes");
        assert_eq!(changes.len(), 4, "the feed keeps every change");
    });
}

#[test]
fn the_past_shows_that_a_body_was_removed() {
    on_each_database(|database| {
        let item = with_history(database, 100);
        let service = Service::start_on(database);
        let time = entries(&service, &item)[1]["time"].as_str().expect("a time").to_owned();
        let target = format!("{}?as_of={time}", item.path);
        let before = service.get(&target).send().expect(200).with_members(r#"{"n":2}"#).etag();
        drop(service);
        compact(database, &["--history-keep", "90d"]);
        let service = Service::start_on(database);
        for target in [target.clone(), format!("{target}&fields=n")] {
            let shown = service.get(&target).header("if-none-match", &before).send().expect(200);
            let value = shown.value();
            assert_eq!(value["_meta"]["body"], "removed");
            assert_eq!(value["_meta"]["version"], 2);
            assert_eq!(value["_meta"]["removed_at"], entries(&service, &item)[1]["removed_at"]);
            assert_eq!((&value["id"], value.get("n")), (&json!(item.id), None));
            let again = service.get(&target).header("if-none-match", shown.etag()).send();
            let _ = again.expect(304);
        }
        let listed = service.list("/v1/files", &format!("as_of={time}")).items();
        assert_eq!(listed.len(), 1);
        assert_eq!((&listed[0]["_meta"]["body"], listed[0].get("n")), (&json!("removed"), None));
        let now = service.get(&item.path).send().expect(200).value();
        assert_eq!(now["_meta"].get("body"), None);
        // People see it as well.
        let own = format!("/explore/files/{}", item.id);
        let history = service.get(&format!("{own}/history")).accept("text/html").send().expect(200);
        assert_eq!(history.text().matches("Body removed on").count(), 2, "{}", history.text());
        assert_eq!(history.text().matches("Restore…").count(), 0);
        let past =
            service.get(&format!("{own}?as_of={time}")).accept("text/html").send().expect(200);
        assert!(past.text().contains("The body of this version was removed on"));
    });
}

#[test]
fn exports_and_imports_keep_what_is_known_of_a_removed_body() {
    on_each_database(|database| {
        let item = with_history(database, 100);
        compact(database, &["--history-keep", "90d"]);
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str| folder.path().join(name).to_str().expect("a path").to_owned();
        done(&["export", &file("first"), "--database-url", database.url()]);
        let written = std::fs::read_to_string(file("first")).expect("an export");
        assert_eq!(written.matches("\"members\":null,\"removed_at\":\"").count(), 2, "{written}");
        let copy = TestDatabase::sqlite();
        done(&["import", &file("first"), "--database-url", copy.url()]);
        done(&["export", &file("second"), "--database-url", copy.url()]);
        assert_eq!(std::fs::read_to_string(file("second")).expect("an export"), written);
        let services = [Service::start_on(database), Service::start_on(&copy)];
        let [original, copied] = services.each_ref().map(|service| {
            let mut entries = entries(service, &item);
            // Links name the service.
            for entry in &mut entries {
                entry["_links"] = Value::Null;
            }
            entries
        });
        assert_eq!(original, copied);
        // The last version of an item that exists has a body.
        let lines: Vec<_> = written.lines().collect();
        let current = lines[3].replace(
            "{\"n\":3},\"removed_at\":null",
            "null,\"removed_at\":\"2026-11-25T12:00:00.000001Z\"",
        );
        assert_ne!(current, lines[3]);
        let edited = [lines[0], lines[1], lines[2], &current, lines[4]].join("\n") + "\n";
        std::fs::write(file("third"), edited).expect("a file");
        let empty = TestDatabase::sqlite();
        let said = refused(&["import", &file("third"), "--database-url", empty.url()], 1);
        assert!(said.contains("is left at a version without `members`"), "{said}");
    });
}

#[test]
fn ends_of_days_and_months_are_kept_for_longer() {
    on_each_database(|database| {
        let service = Service::start_on(database);
        let item = service.create("/v1/files", r#"{"n":1}"#);
        for number in 2..=6 {
            service.put(&item.path).json(format!("{{\"n\":{number}}}")).send().expect(200);
        }
        let _ = service.list("/v1/files", "q=x");
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
        let dry = compact(database, &[&thin[..], &["--dry-run"]].concat());
        assert!(dry.starts_with("would remove the bodies of 3 versions, "), "{dry}");
        let bodies = || {
            database.query("SELECT CAST(version AS TEXT) FROM changes WHERE members IS NOT NULL ORDER BY version")
        };
        assert_eq!(bodies().len(), 6, "a dry run removes nothing");
        let done = compact(database, &thin);
        assert!(done.starts_with("removed the bodies of 3 versions, "), "{done}");
        let left: Vec<_> = bodies().into_iter().flatten().flatten().collect();
        assert_eq!(left, ["1", "4", "6"]);
        assert!(compact(database, &thin).starts_with("removed the bodies of 0 versions, 0 B"));
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
            service.patch(&item.path).json(r#"{"description":"x"}"#).send().expect(200);
        }
        // One of them names another programme now, and one is deleted: both are held all the same.
        let change = format!("{{\"program_id\":\"{}\"}}", programs[1].id);
        service.patch(&items[0][0].path).json(change).send().expect(200);
        service.delete(&items[0][1].path).send().expect(204);
        drop(service);
        age(database, 10);
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("holds.yaml");
        let unknown = "01890a5d-ac96-774b-bcce-b302099a8057";
        std::fs::write(&file, format!("- {}  # Audit\n- {unknown}\n", programs[0].id))
            .expect("a file");
        let path = file.to_str().expect("a path");
        let arguments = [
            "compact",
            "--history-keep",
            "2d",
            "--legal-holds",
            path,
            "--database-url",
            database.url(),
        ];
        let output = tool(&arguments).output().expect("the binary runs");
        let (said, log) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(said.starts_with("removed the bodies of 4 versions, "), "{said}{log}");
        assert!(said.ends_with("; 6 more are kept for legal holds\n"), "{said}");
        assert!(
            log.contains("legal holds name items that never existed") && log.contains(unknown),
            "{log}"
        );
        std::fs::write(&file, "- x\n").expect("a file");
        let output = tool(&arguments).output().expect("the binary runs");
        let said = error_of(&output, 1);
        assert!(said.contains("holds.yaml:1:3: `x` is no id of an item"), "{said}");
        std::fs::write(&file, "[]").expect("a file");
        let said = compact(database, &["--history-keep", "2d", "--legal-holds", path]);
        assert!(said.starts_with("removed the bodies of 6 versions, "), "{said}");
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
        wait_until(|| service.log().contains("old bodies were removed"));
        assert!(entries(&service, &item).iter().all(|entry| entry.get("removed_at").is_none()));
        // A file with errors leaves the hold in force; one without it lifts it.
        std::fs::write(&file, "- x\n").expect("a file");
        service.hang_up();
        wait_until(|| service.log().contains("the legal holds stay as they were"));
        std::fs::write(&file, "[]").expect("a file");
        service.hang_up();
        wait_until(|| service.log().contains("the legal holds were read again"));
        drop(service);
        // The next pass is a day later, or by another policy.
        let service = Service::start_on_with(database, &["--history-keep", "3d"]);
        wait_until(|| entries(&service, &item)[2].get("removed_at").is_some());
        let _ = service.put(&item.path).json(r#"{"n":4}"#).send().expect(200);
        if database.is_sqlite() {
            let said =
                refused(&["compact", "--history-keep", "2d", "--database-url", database.url()], 1);
            assert!(said.contains("in use by another process"), "{said}");
        } else {
            assert!(
                compact(database, &["--history-keep", "2d"]).starts_with("removed the bodies of 0")
            );
        }
        let dry = compact(database, &["--history-keep", "2d", "--dry-run"]);
        assert!(dry.starts_with("would remove the bodies of 0 versions"), "{dry}");
    });
}

#[test]
fn several_instances_share_the_work() {
    let database = TestDatabase::postgres();
    let item = with_history(&database, 10);
    let services = [(); 2].map(|()| Service::start_on_with(&database, &["--history-keep", "2d"]));
    wait_until(|| entries(&services[1], &item)[2].get("removed_at").is_some());
    sleep(Duration::from_secs(1));
    let passes =
        services.iter().map(|service| service.log().matches("old bodies were removed").count());
    assert_eq!(passes.sum::<usize>(), 1, "one of them did it");
}

fn wait_until(is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "it takes too long");
        sleep(Duration::from_millis(50));
    }
}
