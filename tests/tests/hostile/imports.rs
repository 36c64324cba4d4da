//! Imports of many rows in small files.

use std::thread;
use std::time::Duration;

use serde_json::json;
use tests::{Service, Store, on_each_store};

use crate::attack::{MOST_MEMORY, Raw, alone, withstands, withstands_alone};
use crate::files::{WORKBOOK, workbook};

/// The most rows of a file.
const ROWS: usize = 99_999;

/// Imports at once: each of the eight files in both modes. One alone takes 20 to 85 MiB more than an
/// idle service (44 MiB), so that without a bound all together would take some 700 MiB.
const IMPORTS: usize = 16;

/// A file of one digit in each row.
fn digits() -> String {
    format!("n\n{}", "1\n".repeat(ROWS))
}

/// A workbook of one digit in each row.
fn sheet(rows: usize) -> Vec<u8> {
    let row = |row| format!(r#"<row r="{row}"><c r="A{row}"><v>1</v></c></row>"#);
    let rows: String = (2..=rows).map(row).collect();
    workbook(&format!(r#"<row r="1"><c t="s"><v>0</v></c></row>{rows}"#), "<si><t>n</t></si>")
}

/// Small files with many rows: one column, many columns, objects, values that are not objects, and errors in
/// every row.
fn files() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let names: Vec<_> = (0..200).map(|column| format!("c{column}")).collect();
    let cells = format!("{}\n", vec!["1"; 200].join(","));
    let wide = format!("{}\n{}", names.join(","), cells.repeat(2_000));
    vec![
        ("files", "text/csv", digits().into_bytes()),
        ("files", "text/csv", wide.into_bytes()),
        ("files", "text/csv", format!("n\n{}", "1,2\n".repeat(ROWS)).into_bytes()),
        ("proposals", "text/csv", digits().into_bytes()),
        ("files", "application/x-ndjson", "{}\n".repeat(ROWS).into_bytes()),
        ("files", "application/json", format!("[{}1]", "1,".repeat(ROWS - 1)).into_bytes()),
        ("proposals", "application/json", format!("[{}{{}}]", "{},".repeat(ROWS - 1)).into_bytes()),
        ("files", WORKBOOK, sheet(20_000)),
    ]
}

/// Sends imports at once. Those that get no memory in time are refused with 503.
fn attack(service: &Service, target: impl Fn(usize, &str) -> String + Sync) {
    let files = files();
    thread::scope(|scope| {
        for number in 0..IMPORTS {
            let (group, media_type, body) = &files[number % files.len()];
            let request = service.post(&target(number, group));
            let request = request.header("idempotency-key", format!("\"{number}\""));
            let request = request.body(media_type, body.clone());
            scope.spawn(move || {
                // An import may take longer than a client waits.
                let answer = request.try_send();
                let status = answer.as_ref().map(|answer| answer.status);
                assert!(matches!(status, None | Some(200 | 422 | 503)), "{status:?}");
            });
        }
    });
}

/// Asserts that reads are served and that memory was bounded; other writes may wait for a transaction
/// of many rows.
fn require_bounded_memory(service: &Service) {
    let _ = service.list("/v1/files", "page_size=1");
    let (peak, log) = (service.peak_memory(), service.log());
    println!("peak memory: {} MiB", peak >> 20);
    assert!(peak < MOST_MEMORY, "{} MiB at the peak", peak >> 20);
    assert!(!log.contains("panicked"), "{log}");
}

#[test]
fn sixteen_imports_of_many_rows_take_a_bounded_memory() {
    let _alone = alone();
    on_each_store(|service| {
        attack(service, |number, group| {
            let mode = ["each", "all"][number / 8];
            format!("/imports/{group}?mode={mode}&dry_run={}", number % 3 == 0)
        });
        require_bounded_memory(service);
    });
}

#[test]
fn sixteen_dry_runs_of_many_rows_take_a_bounded_memory_and_delay_no_other_client() {
    let _alone = alone();
    let service = Service::start(Store::Sqlite);
    withstands_alone(&service, || {
        attack(&service, |_, group| format!("/imports/{group}?mode=all&dry_run=true"));
    });
}

#[test]
fn imports_whose_clients_hang_up_take_a_bounded_memory() {
    let _alone = alone();
    let service = Service::start(Store::Sqlite);
    let body = digits();
    let head = format!(
        "POST /imports/files?mode=all HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    for _ in 0..IMPORTS {
        let client = Raw::open(&service).send(&head).send(&body);
        thread::sleep(Duration::from_millis(200));
        drop(client);
    }
    require_bounded_memory(&service);
}

#[test]
fn a_small_import_does_not_wait_for_large_ones() {
    let service = Service::start(Store::Sqlite);
    withstands(&service, || {
        thread::scope(|scope| {
            let large = [("text/csv", digits().into_bytes()), (WORKBOOK, sheet(ROWS))];
            for (media_type, body) in large.iter().cycle().take(4) {
                let request = service.post("/imports/files?mode=each&dry_run=true");
                let request = request.body(media_type, body.clone());
                scope.spawn(move || {
                    let status = request.try_send().map(|answer| answer.status);
                    assert!(matches!(status, None | Some(200 | 503)), "{status:?}");
                });
            }
            for number in 0..20 {
                let file = json!([{ "n": number }]).to_string();
                let import = service.post("/imports/statuses").json(file).send().expect(200);
                assert_eq!(import.value()["created"], 1);
                let import = service.post("/imports/statuses").body(WORKBOOK, sheet(2));
                assert_eq!(import.send().expect(200).value()["created"], 1);
            }
        });
    });
}
