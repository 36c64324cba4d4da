//! Files that are refused as a whole, and what rules and limits say of rows.

use serde_json::{Value, json};
use tests::{Answer, Service, Store, on_each_store};

use crate::queries::FILES;
use crate::rules::RuleFile;
use crate::transfers::{FORMATS, counts, errors, export, import, import_csv, log_length};

#[test]
fn files_that_cannot_be_read_are_refused_as_a_whole() {
    let service = Service::start_with(Store::Sqlite, &["--max-import", "100KiB"]);
    let code = |answer: Answer| answer.value()["code"].as_str().unwrap_or_default().to_owned();
    let xlsx = FORMATS[2].1;
    for (media_type, body) in [
        ("text/csv", b"".to_vec()),
        ("text/csv", b"a\xff\n1\n".to_vec()),
        ("text/csv", b"a,a\n1,2\n".to_vec()),
        ("text/csv", b",a\n1,2\n".to_vec()),
        ("text/csv", b"\n\n".to_vec()),
        ("text/csv", b"x,'x\n1,2\n".to_vec()),
        ("text/csv", b"x,y\n1,\"a\n2,b\n".to_vec()),
        ("text/csv", b"x,y\n\"a,1\n\"b,2\n".to_vec()),
        ("text/csv", b"x,y\n\"a\" ,1\n".to_vec()),
        ("application/json", b"{}".to_vec()),
        ("application/json", b"[{]".to_vec()),
        (xlsx, b"no workbook".to_vec()),
        (xlsx, b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec()),
    ] {
        let answer = import(&service, "files", media_type, body.clone()).expect(400);
        assert_eq!(code(answer), "malformed-file", "{}", String::from_utf8_lossy(&body));
    }
    let too_many_columns = (0..1_010).map(|n| format!("c{n}")).collect::<Vec<_>>().join(",");
    let answer = import(&service, "files", "text/csv", too_many_columns).expect(413);
    assert_eq!(code(answer), "body-too-large");
    let large = "a\n".repeat(60_000);
    assert_eq!(code(import(&service, "files", "text/csv", large).expect(413)), "body-too-large");
    import(&service, "files", "application/pdf", "x").expect(415);
    service.post("/imports/files").untyped_body("x").send().expect(415);
    for (media_type, body, expected) in [
        (
            "application/x-ndjson",
            "{\"a\":1}\n{\n[1]\n",
            &["2  malformed_json", "3  not_an_object"][..],
        ),
        ("application/json", r#"[{"a":1},7]"#, &["2  not_an_object"]),
        ("text/csv", "a\n1\n1,2\n", &["2  too_many_cells"]),
        (
            "application/json",
            r#"[{"id":["x"]},{"x":1,"'x":2}]"#,
            &["1 id malformed_reference", "2  malformed_row"],
        ),
    ] {
        assert_eq!(errors(&import(&service, "files", media_type, body).expect(422)), expected);
    }
    for query in ["mode=some", "upsert=yes", "page=1", "dry_run"] {
        import_csv(&service, &format!("files?{query}"), "a\n1\n").refusing_query(&[]);
    }
    assert_eq!(log_length(&service), 0);
    // A workbook that unpacks to more than it says, or than may be, is not read.
    let items: Vec<_> = (0..3_000).map(|n| json!({ "a": n, "t": "x".repeat(20) })).collect();
    let bodies: Vec<_> = items.chunks(1_000).map(|items| json!(items).to_string()).collect();
    for body in bodies {
        import(&service, "files", "application/json", body).expect(200);
    }
    let workbook = export(&service, "files.xlsx");
    assert!(workbook.body.len() < 100 << 10, "{}", workbook.body.len());
    let answer = import(&service, "files?upsert=true", xlsx, workbook.body.clone()).expect(413);
    assert_eq!(code(answer), "body-too-large");
}

#[test]
fn what_an_export_may_hold_an_import_takes() {
    let service = Service::start(Store::Sqlite);
    let members: Vec<_> = (0..1_000).map(|n| format!("\"c{n}\":{n}")).collect();
    import(&service, "files", "application/x-ndjson", format!("{{{}}}\n", members.join(",")))
        .expect(200);
    for (extension, media_type) in FORMATS {
        let file = export(&service, &format!("files.{extension}")).body;
        let answer = import(&service, "files?upsert=true", media_type, file).expect(200);
        assert_eq!(counts(&answer), [0, 0, 1, 0], "{extension}");
    }
}

#[test]
fn rules_judge_rows_beside_each_other() {
    let rules = RuleFile::new(
        "rules:\n  - id: unique_name\n    group: files\n    lookup: {same: 'files[name = self.name]'}\n    check: size(same) == 0\n    message: Another file has this name.\n    field: /name\n",
    );
    let service = Service::start_with(Store::Sqlite, &rules.arguments());
    let refused = import_csv(&service, "files", "name\r\na\r\nb\r\na\r\n").expect(422);
    assert_eq!(errors(&refused), ["1 name unique_name", "3 name unique_name"]);
    assert_eq!(
        counts(&import_csv(&service, "files", "name\r\na\r\nb\r\n").expect(200)),
        [2, 0, 0, 0]
    );
    assert_eq!(
        errors(&import_csv(&service, "files", "name\r\nc\r\nb\r\n").expect(422)),
        ["2 name unique_name"]
    );
    // Two items may change their names with each other: both are judged as they will be.
    let file = export(&service, "files.csv")
        .text()
        .replace(",a\r", ",?\r")
        .replace(",b\r", ",a\r")
        .replace(",?\r", ",b\r");
    assert_eq!(counts(&import_csv(&service, "files?upsert=true", &file).expect(200)), [0, 2, 0, 0]);
}

/// Texts that are too long for a cell of a workbook, with quotation marks, ends of lines, a formula
/// and letters of two units in them; one that a user ended with the mark, and one that is as long as
/// may be.
fn long_texts() -> [String; 6] {
    [
        "x".repeat(41_203),
        format!("first\r\n{}", "\"🐟\" ".repeat(20_000)),
        format!("={}", "1+".repeat(30_000)),
        format!("{}… [truncated: 41,203 characters]", "y".repeat(50_000)),
        "whole… [truncated: 41,203 characters]".to_owned(),
        "z".repeat(32_767),
    ]
}

#[test]
fn what_is_too_long_for_a_cell_is_truncated_and_stays_as_it_is() {
    on_each_store(|service| {
        let list: Vec<_> = (0..9_000).map(|n| n + 1_000_000).collect();
        service.create(FILES, &json!({ "n": 0, "text": list }).to_string());
        for (n, text) in (1..).zip(long_texts()) {
            service.create(FILES, &json!({ "n": n, "text": text }).to_string());
        }
        let before = service.contents(FILES);
        let file = export(service, "files.xlsx").body;
        let (xlsx, length) = (FORMATS[2].1, log_length(service));
        let again = import(service, "files?upsert=true", xlsx, file).expect(200);
        assert_eq!(counts(&again), [0, 0, 7, 0]);
        assert_eq!((log_length(service), service.contents(FILES)), (length, before));
    });
}

#[test]
fn a_truncated_cell_is_the_text_that_is_stored_or_an_error_of_its_row() {
    on_each_store(|service| {
        let long = service.create(FILES, &json!({ "a": "x".repeat(41_203), "b": 1 }).to_string());
        let short = service.create(FILES, r#"{"a":"x"}"#);
        let own = service.create(FILES, r#"{"a":"x… [truncated: 41,203 characters]","b":1}"#);
        let row = |id: &str, cell: &str| {
            import_csv(service, "files?upsert=true", &format!("id,a,b\r\n{id},{cell},2\r\n"))
        };
        let kept = "xxx… [truncated: 41,203 characters]";
        let cell = |text: &str| format!("\"{text}\"");
        assert_eq!(counts(&row(&long.id, &cell(kept)).expect(200)), [0, 1, 0, 0]);
        let stored = service.get(&long.path).send().expect(200).value();
        assert_eq!(stored["a"].as_str().map(str::len), Some(41_203), "the whole text is kept");
        assert_eq!(stored["b"], 2);
        let mark = |length: &str| cell(&format!("xxx… [truncated: {length} characters]"));
        for (id, cell) in [
            (&*long.id, mark("41,204")),
            (&long.id, cell("xxy… [truncated: 41,203 characters]")),
            (&short.id, mark("1")),
            (&short.id, mark("41,203")),
            (&own.id, mark("41,203")),
            ("", mark("41,203")),
        ] {
            let refused = row(id, &cell).expect(422);
            assert_eq!(errors(&refused), ["1 a truncated_text"], "{id} {cell}");
        }
        let own_text = cell("x… [truncated: 41,203 characters]");
        assert_eq!(counts(&row(&own.id, &own_text).expect(200)), [0, 1, 0, 0]);
        let stored = service.get(&own.path).send().expect(200).value();
        assert_eq!(stored["a"], "x… [truncated: 41,203 characters]");
        let each = import_csv(
            service,
            "files?mode=each",
            &format!("a\r\n{}\r\nwhole\r\n", mark("41,203")),
        );
        assert_eq!(counts(&each.expect(200)), [1, 0, 0, 1]);
    });
}

#[test]
fn a_name_that_is_too_long_for_a_sheet_refuses_the_export() {
    let service = Service::start(Store::Sqlite);
    service.create(FILES, &format!(r#"{{"a":1,"{}":2}}"#, "x".repeat(32_768)));
    let refused = service.get("/exports/files.xlsx").accept("*/*").send().expect(422);
    let detail = refused.value()["detail"].to_string();
    assert!(detail.contains("`xxx") && detail.len() < 300, "{detail}");
    export(&service, "files.xlsx?fields=a");
}

/// Where the errors of an import stand: row, line and cell.
fn places(entries: &Value) -> Vec<String> {
    let text = |error: &Value, name: &str| error[name].to_string().replace('"', "");
    let entries = entries.as_array().into_iter().flatten();
    entries.map(|error| ["row", "line", "cell"].map(|name| text(error, name)).join(" ")).collect()
}

#[test]
fn errors_name_the_row_and_the_cell_of_the_sheet() {
    on_each_store(|service| {
        let [xlsx, csv] = [FORMATS[2].1, "text/csv"];
        for n in 0..3 {
            let members = json!({ "project_title": n.to_string(), "proposal_type": "A" });
            service.create("/v1/proposals", &members.to_string());
        }
        // The file as it was exported: the third row of the sheet is the second of its items.
        let sheet = export(service, "proposals.xlsx?fields=project_title,start_date").body;
        let refused = import(service, "proposals", xlsx, sheet.clone()).expect(422);
        assert_eq!(places(&refused.value()["errors"]), ["1 2 A2", "2 3 A3", "3 4 A4"]);
        let each = import(service, "proposals?mode=each", xlsx, sheet).expect(200);
        let row = &each.value()["rows"][2];
        assert_eq!((&row["row"], &row["line"]), (&json!(3), &json!(4)));
        assert_eq!(places(&row["errors"]), ["null 4 A4"]);
        let file =
            "project_title,proposal_type,start_date\r\n\"two\r\nlines\",A,\r\n\r\nx,A,soon\r\n";
        let refused = import(service, "proposals", csv, file).expect(422);
        assert_eq!(places(&refused.value()["errors"]), ["2 5 null"]);
        let refused = import(service, "files", "application/x-ndjson", "{}\n\n[]\n").expect(422);
        assert_eq!(places(&refused.value()["errors"]), ["3 3 null"]);
        let refused = import(service, "files", "application/json", "[{},[]]").expect(422);
        assert_eq!(places(&refused.value()["errors"]), ["2 null null"]);
    });
}

#[test]
fn conditions_that_are_required_are_required_of_rows() {
    let service = Service::start_with(Store::Sqlite, &["--require-if-match"]);
    let item = service.create(FILES, r#"{"a":1}"#);
    let file = format!("id,a\r\n{},2\r\n", item.id);
    let refused = import_csv(&service, "files?upsert=true", &file).expect(422);
    assert_eq!(errors(&refused), ["1 _version version_required"]);
    let file = format!("id,_version,a\r\n{},1,2\r\n", item.id);
    assert_eq!(counts(&import_csv(&service, "files?upsert=true", &file).expect(200)), [0, 1, 0, 0]);
}
