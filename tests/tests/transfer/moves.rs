//! A store with its history moves between the kinds of databases without loss or change.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use tests::Service;
use tests::stores::TestDatabase;
use tests::tool::{done, tool};

use crate::history::{Rows, content, fill};

const ITEMS: usize = 10_000;

/// The last columns of a change, which the first version of the format did not have.
const ADDED: usize = 3;

#[test]
fn ten_thousand_items_move_to_postgresql_and_back() {
    let [pilot, back, server] =
        [TestDatabase::sqlite(), TestDatabase::sqlite(), TestDatabase::postgres()];
    fill(&pilot, ITEMS);
    let before = content(&pilot);
    let [items, changes, _] = &before;
    let (items, changes) = (items.len(), changes.len());
    assert!(items > 8_000 && changes > 2 * ITEMS, "{items} items, {changes} changes");
    let folder = tempfile::tempdir().unwrap();
    let [first, second, third] = ["first", "second", "third"]
        .map(|name| folder.path().join(name).to_str().unwrap().to_owned());

    done(&["export", &first, "--database-url", pilot.url()]);
    let said = done(&["import", &first, "--database-url", server.url()]);
    let said = String::from_utf8(said).unwrap();
    let stored = format!("stored {changes} changes in ");
    assert!(said.starts_with(&stored) && said.contains(" deleted)"), "{said}");
    assert_same(&content(&server), &before);

    done(&["export", &second, "--database-url", server.url()]);
    done(&["import", &second, "--database-url", back.url()]);
    assert_same(&content(&back), &before);

    done(&["export", &third, "--database-url", back.url()]);
    let exports = [&first, &second, &third].map(|file| std::fs::read(file).unwrap());
    assert!(exports[0] == exports[1] && exports[1] == exports[2], "the exports are identical");
    continues_the_log_of_the_pilot(&pilot, &server);
}

#[test]
fn an_export_of_the_first_version_is_imported() {
    let [pilot, copy] = [TestDatabase::sqlite(), TestDatabase::sqlite()];
    fill(&pilot, 100);
    let export = String::from_utf8(done(&["export", "--database-url", pilot.url()])).unwrap();
    let first = export.replace("\"format_version\":3", "\"format_version\":1");
    let first: String = first.split_inclusive('\n').map(of_first_version).collect();
    let (lines, trailer) = first.trim_end().rsplit_once('\n').unwrap();
    assert!(!lines.contains("request_id") && trailer.contains("sha256"), "{trailer}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("first");
    std::fs::write(&file, format!("{lines}\n")).unwrap();
    let sum = Command::new("sha256sum").arg(&file).output().unwrap().stdout;
    let sum = String::from_utf8(sum[..64].to_vec()).unwrap();
    let changes = lines.lines().count() - 1;
    let whole = format!("{lines}\n{{\"changes\":{changes},\"sha256\":\"{sum}\"}}\n");
    std::fs::write(&file, whole).unwrap();
    done(&["import", file.to_str().unwrap(), "--database-url", copy.url()]);
    let mut expected = content(&pilot);
    let [_, changes, _] = &mut expected;
    assert!(changes.iter().any(|change| change.iter().rev().take(ADDED).all(Option::is_some)));
    for change in changes.iter_mut() {
        change.iter_mut().rev().take(ADDED).for_each(|value| *value = None);
    }
    changes.sort();
    assert_same(&content(&copy), &expected);
}

/// The line of a change without the members of later versions.
fn of_first_version(line: &str) -> String {
    let Some((before, rest)) = line.split_once("\"acting\":") else { return line.to_owned() };
    let (_, after) = rest.split_once("\"parent\":").unwrap();
    format!("{before}\"parent\":{after}").replace(",\"removed_at\":null", "")
}

#[track_caller]
fn assert_same(copy: &[Rows; 3], original: &[Rows; 3]) {
    for (copy, original) in copy.iter().zip(original) {
        assert_eq!(copy.len(), original.len());
        for (row, expected) in copy.iter().zip(original) {
            assert_eq!(row, expected);
        }
    }
}

/// Clients find the same items and changes. A client that follows the change log starts again: the
/// copy has a new log.
fn continues_the_log_of_the_pilot(pilot: &TestDatabase, server: &TestDatabase) {
    let services = [pilot, server].map(Service::start_on);
    let pages = |target| {
        services.each_ref().map(|service| {
            let mut page = service.get(target).send().expect(200).value();
            without_address(&mut page, &service.address().to_string());
            page
        })
    };
    for target in ["/v1/proposals?page_size=250", "/lib?page_size=250&page=3", "/v1/cashprogram"] {
        let [old, new] = pages(target);
        assert!(old == new && new["total_items"].as_u64().unwrap() > 200, "{target}");
    }
    let found = pages("/v1/proposals?q=numero").map(|page| page["total_items"].as_u64());
    assert!(found[0] == found[1] && found[0] > Some(200), "{found:?}");
    let latest = services.each_ref().map(|service| follow(service, "/v1/changes?page_size=250"));
    services[1].get(&latest[0]).send().expect(410);
    for (service, latest) in services.iter().zip(&latest) {
        let item = service.create("/v1/files", "{}");
        let news = service.get(latest).send().expect(200).embedded("changes");
        assert_eq!(news.len(), 1, "one change after all that were imported");
        assert_eq!(news[0]["item_id"], item.id);
    }
}

fn without_address(value: &mut Value, address: &str) {
    match value {
        Value::String(text) => *text = text.replace(address, "ADDRESS"),
        Value::Array(values) => values.iter_mut().for_each(|value| without_address(value, address)),
        Value::Object(members) => {
            members.values_mut().for_each(|value| without_address(value, address));
        }
        _ => {}
    }
}

/// The link after the last change of the log.
fn follow(service: &Service, from: &str) -> String {
    let mut target = from.to_owned();
    loop {
        let page = service.get(&target).send().expect(200);
        target = page.link("next").unwrap();
        if page.embedded("changes").is_empty() {
            return target;
        }
    }
}

#[test]
fn an_export_is_piped_into_an_import() {
    let [from, to] = [TestDatabase::sqlite(), TestDatabase::postgres()];
    fill(&from, 500);
    let mut export =
        tool(&["export", "--database-url", from.url()]).stdout(Stdio::piped()).spawn().unwrap();
    let mut import = tool(&["import", "--database-url", to.url()]);
    let imported = import.stdin(export.stdout.take().unwrap()).output().unwrap();
    assert!(export.wait().unwrap().success() && imported.status.success());
    assert_same(&content(&to), &content(&from));
}

/// The writes begin in a store that was imported without items.
#[test]
fn an_export_during_writes_is_the_store_at_one_moment() {
    let empty = TestDatabase::sqlite();
    done(&["migrate", "--database-url", empty.url()]);
    let export = done(&["export", "--database-url", empty.url()]);
    assert_eq!(export.split(|byte| *byte == b'\n').count(), 3, "header, trailer, and the end");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("export");
    std::fs::write(&file, &export).unwrap();
    for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
        done(&["import", file.to_str().unwrap(), "--database-url", database.url()]);
        let service = &Service::start_on(&database);
        let items = [(); 8].map(|()| service.create("/v1/files", r#"{"n":0}"#));
        let is_over = &AtomicBool::new(false);
        std::thread::scope(|scope| {
            for item in &items {
                scope.spawn(move || {
                    for number in 1.. {
                        if is_over.load(Ordering::Relaxed) {
                            break;
                        }
                        let body = format!("{{\"n\":{number}}}");
                        service.put(&item.path).json(body).send().expect(200);
                    }
                });
            }
            for _ in 0..10 {
                let export = done(&["export", "--database-url", database.url()]);
                every_version_has_its_number(&String::from_utf8(export).unwrap());
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }
}

/// The number in the members of version 1 is 0, of version 2 it is 1, and so on without a gap.
fn every_version_has_its_number(export: &str) {
    let mut versions = std::collections::HashMap::new();
    let lines: Vec<Value> =
        export.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &lines[1..lines.len() - 1] {
        let version = versions.entry(line["item_id"].to_string()).or_insert(0);
        *version += 1;
        assert_eq!(
            (line["version"].as_u64(), line["members"]["n"].as_u64()),
            (Some(*version), Some(*version - 1)),
            "{line}"
        );
    }
    assert_eq!(lines[lines.len() - 1]["changes"], lines.len() - 2);
}
